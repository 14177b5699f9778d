"""Laws of the model file: what is written comes back to the bit; anything else is refused."""

from __future__ import annotations

import json
import math
import pickle
import random
import struct
import time

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
import safetensors.numpy
from benchmarks.faults.mutations import mutate, mutate_json
from hypothesis import given
from tests.model.damage import join_file, peak_of, same_arrays, split_file

from arboretum.model import FORMAT_VERSION, ModelFileError, fingerprint, from_bytes, to_bytes
from arboretum.model.model_file import _digest

HEADER = {
    "model": "forest",
    "params": {"learning_rate": 0.1, "seed": 2**63 + 1, "max_depth": None, "early_stopping": True},
    "classes": ["ja", "nein", 'é\n"\\☃'],
    "history": [[0.69, 0.5], [float("inf"), -0.0]],
}
ARRAYS = {
    "tree_start": np.array([0, 3, 4]),
    "kind": np.array([1, 0, 0, 0], np.uint8),
    "threshold": np.array([0.1, 0.0, 0.0, -np.inf]),
    "left": np.array([1, -1, -1, -1], np.int32),
    "set_words": np.zeros(0, np.uint32),
    "value": np.linspace(-1, 1, 12).reshape(4, 3),
}
VALID = to_bytes(HEADER, ARRAYS)

DTYPES = ["<f8", ">f8", "<f4", "<i8", ">i8", "<i4", "<i2", "i1", "<u8", "<u4", ">u2", "u1"]
ANY_ARRAY = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def edited(edit) -> bytes:
    """Return the valid file with its layout changed by `edit`, checksum as it was."""
    layout, content = split_file(VALID)
    edit(layout)
    return join_file(layout, content)


def with_header(text: str) -> bytes:
    """Return the valid file with another header text and the checksum that belongs to it."""
    layout, content = split_file(VALID)
    checksum = _digest(text.encode(errors="surrogatepass"), from_bytes(VALID)[1])
    layout["__metadata__"] = {"arboretum": text, "sha256": checksum}
    return join_file(layout, content)


def stamped(**fields) -> bytes:
    header = {"format": "arboretum", "version": 1, "library": "0.1.0", "model": "forest", **fields}
    return with_header(json.dumps(header))


# What is written comes back


@given(st.dictionaries(ANY_TEXT, ANY_JSON, max_size=4), st.dictionaries(st.text("abc_", min_size=1), ANY_ARRAY))
def test_content_comes_back_to_the_bit(content, arrays):
    header = {**content, "model": "forest"}
    found, found_arrays = from_bytes(to_bytes(header, arrays))
    assert found.pop("format") == "arboretum"
    assert found.pop("version") in (1, 2)
    assert isinstance(found.pop("library"), str)
    for stamp in ("format", "version", "library"):
        header.pop(stamp, None)
    assert repr(sorted_keys(found)) == repr(sorted_keys(header))  # repr tells -0.0 from 0.0, 1 from True, and NaN
    assert same_arrays(found_arrays, arrays)


def sorted_keys(value):
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("value", [5e-324, 0.1 + 0.2, -0.0, 1.7976931348623157e308, math.inf, -math.inf, math.nan])
def test_floats_of_the_header_are_exact(value):
    found = from_bytes(to_bytes({"model": "m", "x": value}, {}))[0]["x"]
    assert struct.pack("<d", found) == struct.pack("<d", value)


@pytest.mark.parametrize("value", [2**53 + 1, -(2**64) - 1, 10**4299])
def test_integers_of_the_header_are_exact(value):
    found = from_bytes(to_bytes({"model": "m", "x": value}, {}))[0]["x"]
    assert type(found) is int
    assert found == value


def test_strided_arrays_are_stored_in_c_order():
    arrays = {"fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "stepped": np.arange(10)[::-3]}
    assert same_arrays(from_bytes(to_bytes(HEADER, arrays))[1], arrays)


def test_bytes_do_not_depend_on_the_order_of_dicts():
    def backwards(value):
        return {key: value[key] for key in reversed(value)}

    header = backwards({**HEADER, "params": backwards(HEADER["params"])})
    assert to_bytes(header, backwards(ARRAYS)) == VALID


def test_stamps_given_by_the_caller_are_replaced():
    given = {**HEADER, "format": "x", "version": 99, "library": "y", "encodings": "z"}
    assert to_bytes(given, ARRAYS) == VALID
    assert from_bytes(VALID)[0]["format"] == "arboretum"


def test_the_safetensors_package_reads_our_files():
    assert same_arrays(safetensors.numpy.load(VALID), ARRAYS)


def test_we_read_files_laid_out_by_the_safetensors_package():
    layout, _ = split_file(VALID)
    theirs = safetensors.numpy.save(ARRAYS, metadata=layout["__metadata__"])
    assert theirs != VALID
    header, arrays = from_bytes(theirs)
    assert header["params"] == HEADER["params"]
    assert same_arrays(arrays, ARRAYS)


@pytest.mark.parametrize("shift", range(8))
def test_arrays_are_aligned_wherever_the_buffer_starts(shift):
    shifted = memoryview(bytes(shift) + VALID)[shift:]
    arrays = from_bytes(shifted)[1]
    assert all(array.flags.aligned and not array.flags.writeable for array in arrays.values())
    assert same_arrays(arrays, ARRAYS)


def test_arrays_of_a_writable_buffer_are_read_only():
    arrays = from_bytes(bytearray(VALID))[1]
    with pytest.raises(ValueError, match="read-only"):
        arrays["value"][0, 0] = 1.0


# The fingerprint


def test_fingerprint_is_that_of_the_content():
    swapped = {name: array.astype(array.dtype.newbyteorder(">")) for name, array in reversed(ARRAYS.items())}
    expected = fingerprint(HEADER, ARRAYS)
    assert fingerprint(dict(reversed(HEADER.items())), swapped) == expected
    assert fingerprint(*from_bytes(VALID)) == expected
    assert fingerprint({**HEADER, "library": "9.9"}, ARRAYS) == expected


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({"a": 2}, {"x": np.zeros(2)}),
        ({"a": 1.0}, {"x": np.zeros(2)}),
        ({"a": 1}, {"y": np.zeros(2)}),
        ({"a": 1}, {"x": np.zeros((2, 1))}),
        ({"a": 1}, {"x": np.zeros(2, np.int64)}),
        ({"a": 1}, {"x": np.array([0.0, -0.0])}),
        ({"a": 1}, {"x": np.zeros(2), "y": np.zeros(0)}),
        ({"a": 1}, {}),
    ],
)
def test_fingerprint_tells_contents_apart(header, arrays):
    assert fingerprint(header, arrays) != fingerprint({"a": 1}, {"x": np.zeros(2)})


def test_fingerprint_is_pinned():
    """Fingerprints are written into logs and registries: they must never change."""
    expected = "0409d39b"
    assert fingerprint({"model": "forest"}, {"base": np.array([0.5])})[:8] == expected


# Content that cannot be written


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"a": (1, 2)}, r"header\['a'\] is of type tuple, which JSON would not give back\. Convert it"),
        ({"a": [np.int64(3)]}, r"header\['a'\]\[0\] is of type int64"),
        ({"a": {1: 2}}, r"header\['a'\] has the key 1, which is not a string\. Convert it with str"),
        ({"a": "\ud800"}, r"header\['a'\] is '\\ud800', which is not valid Unicode\. Replace"),
        ({"\ud800": 1}, r"the key of header is '\\ud800', which is not valid Unicode"),
        (
            {"a": {"__float__": "nan"}},
            r"header\['a'\] has the key '__float__', which is reserved\. Rename it",
        ),
        ({"a": 10**4300}, r"header\['a'\] is an integer of more than 4300 digits\. Store it as a string"),
        ({"a": json.loads("[" * 65 + "]" * 65)}, "nested deeper than 64 levels. Flatten it"),
        ({"model": None}, "needs the kind of the model, a string under 'model'"),
    ],
)
def test_header_that_would_not_come_back_is_refused(extra, message):
    with pytest.raises(ModelFileError, match=message):
        to_bytes({**HEADER, **extra}, ARRAYS)


def test_a_header_that_readers_would_refuse_is_not_written(monkeypatch):
    monkeypatch.setattr("arboretum.model.model_file._MAX_JSON_BYTES", 1_000)
    with pytest.raises(
        ModelFileError, match=r"The header takes \d+ bytes; a model file holds at most 1000\. Store long"
    ):
        to_bytes({**HEADER, "a": list(range(1_000))}, ARRAYS)


@pytest.mark.parametrize("deepest", [[], math.inf])
def test_deepest_header_comes_back(deepest):
    """As deep as may be written is as deep as may be read, the object that stands for infinity included."""
    nested = deepest
    for _ in range(62):
        nested = [nested]
    assert from_bytes(to_bytes({"model": "m", "a": nested}, {}))[0]["a"] == nested
    with pytest.raises(ModelFileError, match="nested deeper than 64 levels"):
        to_bytes({"model": "m", "a": [nested]}, {})


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        (
            "x",
            np.array(["a"]),
            "Array 'x' has dtype <U1, which a model file cannot hold. Convert it to float32",
        ),
        ("x", np.array([None]), "Array 'x' has dtype object"),
        ("x", np.array([True]), "Array 'x' has dtype bool"),
        ("x", np.zeros(2, np.float16), "Array 'x' has dtype float16"),
        ("x", np.zeros((1,) * 9), "Array 'x' has 9 dimensions; a model file holds at most 8. Reshape it"),
        ("", np.zeros(1), "Array name '' is not allowed"),
        ("\ud800", np.zeros(1), "is not allowed: use a string of 1 to 256 printable characters"),
        ("a" * 257, np.zeros(1), "is not allowed"),
        (7, np.zeros(1), "Array name 7 is not allowed"),
        ("__metadata__", np.zeros(1), "Array name '__metadata__' belongs to the container. Rename it"),
    ],
)
def test_array_that_cannot_be_stored_is_refused(name, array, message):
    for function in (to_bytes, fingerprint):
        with pytest.raises(ModelFileError, match=message):
            function(HEADER, {name: array})


# Files that are not ours


def lightgbm_text() -> bytes:
    return b"tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\n"


@pytest.mark.parametrize(
    ("data", "look"),
    [
        (b"", "it is empty"),
        (b"\x00", "it looks like random or damaged bytes"),
        (random.Random(0).randbytes(1000), "it looks like random or damaged bytes"),
        (lightgbm_text(), "it looks like a LightGBM text model"),
        *((pickle.dumps({"a": 1}, protocol), "it looks like a Python pickle") for protocol in range(2, 6)),
        (b'{"learner": {"attributes": {}}}', "it looks like JSON text"),
        (b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner", "it looks like an XGBoost UBJSON model"),
        (b"CBM1" + bytes(60), "it looks like a CatBoost model"),
        (b"PK\x03\x04" + bytes(60), "it looks like a zip archive"),
        (safetensors.numpy.save({"x": np.zeros(3)}), "it is a safetensors file of another program"),
    ],
)
def test_foreign_file_is_named(data, look):
    with pytest.raises(ModelFileError, match=f"Not an arboretum model file: {look}.*Give a file written by save"):
        from_bytes(data)


def test_newer_format_asks_to_upgrade():
    message = r"written by a newer arboretum \(format 3; this one reads up to 2\): upgrade"
    with pytest.raises(ModelFileError, match=message):
        from_bytes(stamped(version=FORMAT_VERSION + 1, anything={"new": 1}))


def test_newer_format_is_told_whatever_else_it_changed():
    def modernise(layout):
        header = json.loads(layout["__metadata__"]["arboretum"])
        layout["__metadata__"] = {"arboretum": json.dumps({**header, "version": 3}), "sha256": "another way"}
        layout["value"]["dtype"] = "F8_E4M3"

    with pytest.raises(ModelFileError, match=r"newer arboretum \(format 3"):
        from_bytes(edited(modernise))


@pytest.mark.parametrize("kept", [9, 40, 200, len(VALID) // 2, len(VALID) - 1])
def test_truncated_file_is_told(kept):
    with pytest.raises(ModelFileError, match=r"cut off|random or damaged"):
        from_bytes(VALID[:kept])


def test_every_truncation_is_refused():
    for kept in range(len(VALID)):
        with pytest.raises(ModelFileError, match="model file"):
            from_bytes(VALID[:kept])


def test_every_flipped_bit_of_the_arrays_is_detected():
    start = len(VALID) - sum(array.nbytes for array in ARRAYS.values())
    for position in range(start, len(VALID)):
        damaged = bytearray(VALID)
        damaged[position] ^= 1 << position % 8
        with pytest.raises(ModelFileError, match=r"content does not match its checksum\. Copy or download it again"):
            from_bytes(damaged)


def offsets_of(name, offsets):
    return lambda layout: layout[name].update(data_offsets=offsets)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda layout: layout["value"].update(dtype="F16"), "dtype of array 'value' is 'F16', expected one of F64"),
        (lambda layout: layout["value"].update(dtype=["F64"]), r"dtype of array 'value' is \['F64'\], expected one"),
        (lambda layout: layout["value"].update(shape=[4, -3]), r"shape of array 'value' is \[4, -3\], expected"),
        (lambda layout: layout["value"].update(shape=[True] * 12), r"shape of array 'value' is \[True"),
        (lambda layout: layout["value"].update(shape=12), "shape of array 'value' is 12, expected a list"),
        (lambda layout: layout["value"].update(shape=[2**62, 2**62]), "'value' has an impossible shape"),
        (lambda layout: layout["set_words"].update(shape=[0, 2**63]), "'set_words' has an impossible shape"),
        (lambda layout: layout["value"].update(shape=[1] * 9), "'value' has 9 dimensions"),
        (
            lambda layout: layout["value"].update(shape=[3, 5]),
            r"data_offsets of array 'value' is \[\d+, \d+\], expected \d+ bytes, by its shape and dtype",
        ),
        (lambda layout: layout["value"].update(extra=1), "entry of array 'value' is .*, expected an object with dtype"),
        (lambda layout: layout.update(value=7), "entry of array 'value' is 7, expected an object with dtype"),
        (offsets_of("kind", [0, 4]), r"first byte of array '\w+' is \d+, expected \d+, the end of the array before it"),
        (offsets_of("kind", [10**9, 10**9 + 4]), r"first byte of array 'kind' is 1000000000, expected \d+, the end"),
        (
            offsets_of("kind", [10**3000, 10**3000 + 4]),
            r"first byte of array 'kind' is an integer of \d+ bits, expected \d+, the end of the array before it",
        ),
        (offsets_of("kind", [1]), r"data_offsets of array 'kind' is \[1\], expected a list of two integers"),
        (lambda layout: layout.pop("kind"), "it has 4 bytes after its last array"),
        (
            lambda layout: layout.update({"a" * 300: layout.pop("kind")}),
            "Array name '(a{256})' is not allowed",
        ),
        (lambda layout: layout.update(__metadata__={"arboretum": 1}), "its header is 1, expected a string"),
        (lambda layout: layout["__metadata__"].pop("sha256"), "its checksum is None, expected a string"),
        (lambda layout: layout["__metadata__"].update(sha256="0" * 64), "does not match its checksum"),
    ],
)
def test_impossible_layout_is_refused(edit, message):
    with pytest.raises(ModelFileError, match=message):
        from_bytes(edited(edit))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 1}', "the key 'a' is repeated"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1e999}', "the number 1e999 is out of range"),
        ('{"a": ' + "9" * 5000 + "}", "a number has 5000 digits, expected at most 4300"),
        ('{"a": 0.' + "9" * 5000 + "}", r"the number 0\.9+ is out of range"),
        ('{"a": {"__float__": "1"}}', "'__float__' is '1', expected nan, inf, -inf and no other key"),
        ('{"a": {"__float__": ["nan"]}}', r"'__float__' is \['nan'\], expected nan"),
        ('{"a": {"__float__": "nan", "b": 1}}', "'__float__' is 'nan', expected .* and no other key"),
        ("[" * 100_000, "nested deeper than 64 levels"),
        ('{"]]]]\\"]\\\\": ' + "[" * 70 + "]" * 70 + "}", "nested deeper than 64 levels"),
        ('{"a": "\ud800"}', "not valid JSON"),
        ("[1]", r"its header is \[1\], expected a JSON object"),
        ('{"version": 1}', "'format' of its header is None, expected 'arboretum'"),
        ('{"format": "arboretum", "version": true}', "'version' of its header is True, expected an integer"),
        ('{"format": "arboretum", "version": 0}', "'version' of its header is 0, expected an integer"),
        ('{"format": "arboretum", "version": 1000000}', "'version' of its header is 1000000, expected an"),
        ('{"format": "arboretum", "version": 1, "library": "1"}', "'model' of its header is None, expected a string"),
    ],
)
def test_impossible_header_is_refused_though_signed(text, message):
    with pytest.raises(ModelFileError, match=message):
        from_bytes(with_header(text))


def test_huge_layout_length_is_refused_without_allocating():
    claims = [2**64 - 1, 2**63, 100_000_001, 99_999_999]
    for claim in claims:
        assert peak_of(struct.pack("<Q", claim) + VALID[8:]) < 20_000


# The fuzz law


def mutate_layout(rng: random.Random) -> bytes:
    layout, content = split_file(VALID)
    return join_file(mutate_json(rng, layout), content)


def mutate_signed_header(rng: random.Random) -> bytes:
    layout, _ = split_file(VALID)
    header = layout["__metadata__"]["arboretum"]
    if rng.random() < 0.5:
        return with_header(json.dumps(mutate_json(rng, json.loads(header))))
    return with_header(mutate(rng, header.encode()).decode(errors="surrogateescape"))


def test_fuzz_a_mutated_file_is_refused_or_unchanged():
    rng = random.Random(20240501)
    header, _ = from_bytes(VALID)
    refused = 0
    for _ in range(8_000):
        data = mutate_layout(rng) if rng.random() < 0.4 else mutate(rng, VALID)
        try:
            found, arrays = from_bytes(data)
        except ModelFileError:
            refused += 1
        else:
            assert repr(found) == repr(header)
            assert same_arrays(arrays, ARRAYS)
    assert 7_000 < refused < 8_000  # some edits change nothing, as a space for a space


def test_fuzz_a_signed_header_is_refused_or_comes_back():
    """Whoever signs a file can say anything in its header, as long as it can be saved again."""
    rng = random.Random(20240502)
    accepted = 0
    for _ in range(2_000):
        try:
            header, arrays = from_bytes(mutate_signed_header(rng))
        except ModelFileError:
            continue
        accepted += 1
        again, _ = from_bytes(to_bytes(header, arrays))
        assert repr(sorted_keys({**again, "library": header["library"]})) == repr(sorted_keys(header))
        assert same_arrays(arrays, ARRAYS)
    assert 100 < accepted < 1_900


def test_fuzz_memory_stays_near_the_size_of_the_file():
    rng = random.Random(20240503)
    for _ in range(300):
        data = rng.choice([mutate_layout, mutate_signed_header, lambda rng: mutate(rng, VALID)])(rng)
        assert peak_of(data) < 40 * len(data) + 20_000


@pytest.mark.parametrize(
    "piece",
    [b"[],", b"{},", b'"":1,', b'"",', b'"\\"",', b"1,", b"\\\\", b'"', b"[[[[]]]],", b"1e5,", b"\xc3\xa9"],
)
def test_hostile_json_takes_linear_time_and_memory(piece):
    text = b"[" + piece * (1_000_000 // len(piece))
    begin = time.perf_counter()
    with pytest.raises(ModelFileError, match="model file"):
        from_bytes(struct.pack("<Q", len(text)) + b"{" + text[1:])
    assert time.perf_counter() - begin < 5
    smaller = text[:100_000]
    assert peak_of(struct.pack("<Q", len(smaller)) + b"{" + smaller[1:]) < 40 * len(smaller)
