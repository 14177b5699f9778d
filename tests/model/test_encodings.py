"""Laws of compact files: every array comes back to the bit, hostile encodings are refused before they take memory."""

from __future__ import annotations

import json
import pickle
import random
import warnings
from collections import Counter

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from benchmarks.faults.mutations import mutate, mutate_json
from hypothesis import example, given
from sklearn.ensemble import RandomForestClassifier
from tests.model.damage import peak_of, same_arrays, signed, split_file

from arboretum.model import ModelFileError, encodings, fingerprint, from_bytes, to_bytes
from arboretum.model.arrays import DTYPE_NAMES, DTYPES
from arboretum.model.forest import Forest

HEADER = {"model": "forest", "classes": ["ja", "nein"]}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 1.0, 2.0]


@pytest.fixture(autouse=True)
def _encode_small_arrays(monkeypatch):
    monkeypatch.setattr(encodings, "_MIN_SAVED", 1)


def scattered_tree(rng, n_inner):
    """Children of a tree whose siblings are neighbours, split in random order, as the kernel numbers nodes."""
    left, leaves = [-1], [0]
    for _ in range(n_inner):
        left[leaves.pop(rng.integers(len(leaves)))] = len(left)
        leaves += [len(left), len(left) + 1]
        left += [-1, -1]
    return np.array(left), np.where(np.array(left) < 0, -1, np.array(left) + 1)


def preorder_tree(rng, n_inner):
    """Children of a tree whose left ones follow their parents, as scikit-learn numbers nodes."""
    if n_inner == 0:
        return np.array([-1]), np.array([-1])
    n_left = int(rng.integers(n_inner))
    halves = [preorder_tree(rng, n_left), preorder_tree(rng, n_inner - 1 - n_left)]
    starts = [1, 1 + len(halves[0][0])]
    parts = [
        [np.where(child < 0, -1, child + start) for child in half] for half, start in zip(halves, starts, strict=True)
    ]
    return tuple(np.concatenate([[starts[side]], *(part[side] for part in parts)]) for side in (0, 1))


def make_forest(seed, sizes, tree=scattered_tree, width=1, n_distinct=7):
    """Return arrays of a valid forest: `sizes` inner nodes in each tree, some of them categorical."""
    rng = np.random.default_rng(seed)
    children = [tree(rng, size) for size in sizes]
    left, right = (np.concatenate([pair[side] for pair in children] or [[]]).astype(np.int32) for side in (0, 1))
    n, inner = len(left), left >= 0
    feature = rng.integers(0, 5, n).astype(np.int32)
    kind = np.where(inner, np.where(feature == 4, 2, 1), 0).astype(np.uint8)
    n_words = np.where(kind == 2, rng.integers(1, 4, n), 0)
    return {
        "tree_start": np.concatenate([[0], np.cumsum([len(pair[0]) for pair in children])]).astype(np.int64),
        "tree_output": np.full(len(sizes), 0 if width == 1 else -1, np.int32),
        "kind": kind,
        "feature": np.where(inner, feature, -1).astype(np.int32),
        "threshold": np.where(kind == 1, rng.choice([-0.0, 0.0, *rng.normal(size=n_distinct)], n), 0.0),
        "left": left,
        "right": right,
        "missing_left": (inner & (rng.random(n) < 0.5)).astype(np.uint8),
        "set_start": np.concatenate([[0], np.cumsum(n_words)]).astype(np.int64),
        "set_words": rng.integers(0, 2**32, n_words.sum()).astype(np.uint32),
        "value": rng.choice(rng.normal(size=n_distinct), (n, width)),
        "gain": np.where(inner, rng.random(n), 0.0),
        "n_rows": rng.choice(
            [1, 2, 3, 254, 255, 256, 10**6, 2**40], n, p=[0.4, 0.3, 0.2, 0.02, 0.02, 0.02, 0.02, 0.02]
        ),
        "base": np.zeros(width),
    }


def entry_of(array, steps):
    return {"dtype": DTYPE_NAMES[array.dtype], "shape": list(array.shape), "steps": list(steps)}


# ------------------------------------------------------------------------------ what is written comes back


def slow_decode(name, entry, stored, decoded):
    """Give the items of an array, one by one, as docs/format.md tells it."""
    items = stored[name].tolist()
    bits_of = 8 * DTYPES[entry["dtype"]].itemsize
    inner = [node for node, kind in enumerate(decoded.get("kind", [])) if kind]
    for step in reversed(entry["steps"]):
        match step["step"]:
            case "narrow":
                bits, wide = step["bits"], list(stored.get(f"{name}.wide", []))
                if bits == 1:
                    items = [byte >> (7 - place) & 1 for byte in items for place in range(8)]
                else:
                    items = [int(wide.pop(0)) if item == 2**bits - 1 else item for item in items]
                items = [item + step["minimum"] for item in items]
            case "dictionary":
                items = [stored[f"{name}.table"][item] for item in items if item < len(stored[f"{name}.table"])]
            case "after_node":
                start = [max(s for s in decoded["tree_start"] if s <= node) for node in inner]
                items = [item + node - s for item, node, s in zip(items, inner, start, strict=False)]
            case "after_left":
                items = [item + decoded["left"][node] for item, node in zip(items, inner, strict=False)]
            case "inner":
                given = dict(zip(inner, items, strict=False))
                items = [given.get(node, step["rest"]) for node in range(len(decoded["kind"]))]
            case "differences":
                items = [0] + [sum(items[: i + 1]) for i in range(len(items))]
    items = items[: int(np.prod(entry["shape"]))]  # spare bits of the last byte
    assert all(-(2**63) <= item < 2**bits_of for item in items if isinstance(item, int))
    return np.array(items, DTYPES[entry["dtype"]]).reshape(entry["shape"])


@pytest.mark.parametrize("tree", [scattered_tree, preorder_tree])
@pytest.mark.parametrize("width", [1, 3])
def test_slow_decoder_agrees(tree, width):
    for seed in range(10):
        arrays = make_forest(seed, [0, 7, 20, 0, 1], tree, width)
        stored, found = encodings.encode(arrays)
        assert {"feature", "threshold", "left", "right", "missing_left", "set_start", "gain"} <= set(found)
        for name, entry in found.items():
            assert same_arrays({name: slow_decode(name, entry, stored, arrays)}, {name: arrays[name]})
        assert same_arrays(encodings.decode(stored, found, 10**6), arrays)


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(0, 40), max_size=6),
    st.sampled_from([scattered_tree, preorder_tree]),
    st.integers(1, 3),
    st.integers(1, 400),
)
def test_forest_comes_back_to_the_bit(seed, sizes, tree, width, n_distinct):
    arrays = make_forest(seed, sizes, tree, width, n_distinct)
    data = to_bytes(HEADER, arrays)
    header, found = from_bytes(data)
    assert same_arrays(found, arrays)
    assert fingerprint(header, found) == fingerprint(HEADER, arrays)
    assert not any(array.flags.writeable for array in found.values())
    assert data == to_bytes(HEADER, dict(reversed(arrays.items())))
    assert data == to_bytes(header, found)
    if sizes:
        Forest.from_arrays(found).validate(5)


WHOLE = st.sampled_from([0, 1, 2, 254, 255, 256, 65534, 65535, 65536, 2**32 - 2, 2**32 - 1, 2**32, 2**63 - 1])


def any_items(n, dtype):
    if np.dtype(dtype).kind == "f":
        width = 8 * np.dtype(dtype).itemsize
        return hnp.arrays(dtype, n, elements=st.sampled_from(SPECIAL) | st.floats(width=width))
    limits = np.iinfo(dtype)
    few = WHOLE.map(lambda number: number % (int(limits.max) + 1))
    signs = few if limits.min == 0 else few.flatmap(lambda number: st.sampled_from([number, -number - 1]))
    return hnp.arrays(dtype, n, elements=st.sampled_from([0, 1]) | signs | st.integers(limits.min, limits.max))


def any_dtype():
    return st.sampled_from([str(dtype) for dtype in DTYPES.values()])


def any_array(min_size=0, max_size=40):
    return st.tuples(st.integers(min_size, max_size), any_dtype()).flatmap(lambda pair: any_items(*pair))


@given(any_array(min_size=1))
@example(np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max] * 20))
@example(np.arange(40) + np.iinfo(np.int64).min)
@example(np.full(40, 2**64 - 1, np.uint64))
@example(np.array([0x7FF0000000000001, 0x7FF8000000000001] * 20, np.uint64).view(np.float64))  # NaNs by their bits
def test_every_form_comes_back_to_the_bit(array):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forms = [encodings.narrow(array), encodings.float32(array), encodings.dictionary(array)]
        for form in filter(None, forms):
            stored = {"x": form.main, **{f"x.{suffix}": beside for suffix, beside in form.beside.items()}}
            found = encodings.decode(stored, {"x": entry_of(array, form.steps)}, 10**6)
            assert same_arrays(found, {"x": array})
        sizes = [array.nbytes, *(form.nbytes for form in forms if form is not None)]
        assert encodings.smallest(array).nbytes == min(sizes)


NAMES = ["kind", "tree_start", "left", "right", "feature", "set_start", "threshold", "value", "left.wide"]


@given(st.data(), st.integers(0, 12))
def test_arrays_that_are_no_forest_come_back_too(data, n):
    """Names and lengths of a forest, any types and numbers: files of damaged forests are written to test readers."""
    arrays = {}
    for name in data.draw(st.lists(st.sampled_from(NAMES), unique=True)):
        usual = "u1" if name == "kind" else "<i8" if "start" in name else "<i4"
        dtype = data.draw(st.just(usual) | any_dtype())
        array = data.draw(any_items(n + ("start" in name), dtype))
        if data.draw(st.booleans()):  # leaves that hold 0, sizes that rise
            array = np.where(np.arange(len(array)) % 3, np.zeros(1, dtype), array).astype(dtype)
        arrays[name] = array
    assert same_arrays(from_bytes(to_bytes(HEADER, arrays))[1], arrays)


def steps_of(array, name="x", **others):
    _, found = encodings.encode({name: array, **others})
    return [step["step"] for step in found[name]["steps"]] if name in found else []


def test_zeros_are_told_apart_by_their_sign():
    values = np.array([0.0, -0.0] * 50)
    assert steps_of(values) == ["dictionary", "narrow"]
    assert steps_of(np.array([1, 0] * 50, np.uint8), "kind") == ["narrow"]
    kind = np.array([1, 0] * 50, np.uint8)
    assert steps_of(np.array([0.5, 0.0] * 50), kind=kind) == ["inner", "dictionary", "narrow"]
    assert steps_of(np.array([0.5, -0.0] * 50), kind=kind) == ["dictionary", "narrow"]  # leaves are not 0.0


def test_the_smallest_form_is_chosen():
    rng = np.random.default_rng(0)
    assert steps_of(rng.normal(size=1000)) == []
    assert steps_of(rng.normal(size=1000).astype(np.float32).astype(float)) == ["float32"]
    assert steps_of(rng.choice(rng.normal(size=300), 1000)) == ["dictionary", "narrow"]
    assert steps_of(rng.permutation(1000.0 * np.arange(1000))) == ["float32"]
    assert steps_of(rng.integers(0, 2**63, 1000)) == []
    assert steps_of(rng.integers(-9, 9, 1000)) == ["narrow"]


@pytest.mark.parametrize(
    ("numbers", "bits", "n_wide"),
    [
        ([5] * 100, 1, 0),
        ([-1, 0] * 50, 1, 0),
        ([7, 7 + 254] * 50, 8, 0),
        ([0, 1, 2] * 50 + [255, 256, 10**9], 8, 3),  # the largest code is taken
        ([0, 65534] * 50, 16, 0),
        ([0] + [2**32 - 2] * 50, 32, 0),
        ([0, 2**32 - 1] * 50, 8, 50),  # half of them in 1 byte, half in 1 + 4
    ],
)
def test_integers_take_few_bits(numbers, bits, n_wide):
    form = encodings.narrow(np.array(numbers))
    assert form.steps == ({"step": "narrow", "bits": bits, "minimum": min(numbers)},)
    assert len(form.beside.get("wide", [])) == n_wide


def test_frequent_values_have_the_first_codes():
    form = encodings.dictionary(np.array([3.0] * 20 + [1.0] * 50 + [2.0] * 30))
    assert form.beside["table"].tolist() == [1.0, 2.0, 3.0]


# ------------------------------------------------------------------------------ files


def version_of(data):
    return from_bytes(data)[0]["version"]


def test_version_tells_whether_arrays_are_encoded(monkeypatch):
    arrays = make_forest(0, [5, 5])
    assert version_of(to_bytes(HEADER, arrays)) == 2
    assert version_of(to_bytes(HEADER, arrays, compact=False)) == 1
    assert "encodings" not in from_bytes(to_bytes(HEADER, arrays))[0]
    monkeypatch.setattr(encodings, "_MIN_SAVED", 10**6)
    assert to_bytes(HEADER, arrays) == to_bytes(HEADER, arrays, compact=False)


def test_files_of_both_kinds_hold_the_same():
    arrays = make_forest(0, [30, 5])
    compact, plain = (from_bytes(to_bytes(HEADER, arrays, compact=choice)) for choice in (True, False))
    assert same_arrays(compact[1], plain[1])
    assert fingerprint(*compact) == fingerprint(*plain)


def test_arrays_beside_do_not_hide_arrays_of_the_caller():
    arrays = {"x": np.arange(300) % 9, "x.wide": np.arange(4)}
    assert same_arrays(from_bytes(to_bytes(HEADER, arrays))[1], arrays)


def test_nothing_is_encoded_that_could_not_be_read():
    """Zeros of many arrays on top of few bytes would look like an attack."""
    kind = np.zeros(4000, np.uint8)
    arrays = {"kind": kind, **{f"x{i}": np.zeros(4000) for i in range(100)}}
    data = to_bytes(HEADER, arrays)
    assert version_of(data) == 1
    assert same_arrays(from_bytes(data)[1], arrays)


def test_random_forest_takes_a_third_of_its_pickle():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 10))
    y = X[:, 0] * X[:, 1] + rng.normal(size=4000) > 0
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    trees = [tree.tree_ for tree in model.estimators_]
    n = sum(tree.node_count for tree in trees)

    def joined(field, dtype):
        return np.concatenate([getattr(tree, field) for tree in trees]).astype(dtype)

    left = joined("children_left", np.int32)
    arrays = {
        "tree_start": np.cumsum([0] + [tree.node_count for tree in trees]),
        "tree_output": np.zeros(5, np.int32),
        "kind": (left >= 0).astype(np.uint8),
        "feature": np.where(left < 0, -1, joined("feature", np.int32)).astype(np.int32),
        "threshold": np.where(left < 0, 0.0, joined("threshold", float)),
        "left": left,
        "right": joined("children_right", np.int32),
        "missing_left": np.zeros(n, np.uint8),
        "set_start": np.zeros(n + 1, np.int64),
        "set_words": np.zeros(0, np.uint32),
        "value": np.ascontiguousarray(joined("value", float)[:, 0, 1:]),
        "gain": np.where(left < 0, 0.0, rng.random(n)),
        "n_rows": joined("n_node_samples", np.int64),
        "base": np.zeros(1),
    }
    Forest.from_arrays(arrays).validate(10)
    data = to_bytes(HEADER, arrays)
    assert same_arrays(from_bytes(data)[1], arrays)
    assert len(data) < 16 * n
    assert len(data) < len(pickle.dumps(model)) / 4


# ------------------------------------------------------------------------------ hostile encodings

FOREST = {
    "kind": np.array([1, 0, 2, 0, 0], np.uint8),
    "tree_start": np.array([0, 5]),
    "left": np.array([1, -1, 3, -1, -1], np.int32),
}
INNER, NARROW = {"step": "inner", "rest": 0}, {"step": "narrow", "bits": 8, "minimum": 0}
DICTIONARY, DIFFERENCES = {"step": "dictionary"}, {"step": "differences"}
AFTER_NODE, AFTER_LEFT = {"step": "after_node"}, {"step": "after_left"}
UNKNOWN_STEP = "an encoding step of array 'x' is .*, expected one of differences; inner with rest"


def u1(*items):
    return np.array(items, np.uint8)


HOSTILE = {
    "no steps": ([], {"x": u1(1)}, "F64", [1], "expected a list of 1 to 5 steps"),
    "many steps": ([INNER] * 6, {"x": u1(1)}, "F64", [1], "expected a list of 1 to 5 steps"),
    "steps of another type": ({"step": "inner"}, {"x": u1(1)}, "F64", [1], "expected a list of 1 to 5 steps"),
    "unknown step": ([{"step": "zlib"}], {"x": u1(1)}, "F64", [1], UNKNOWN_STEP),
    "step is a list": (
        [{"step": ["inner"]}],
        {"x": u1(1)},
        "F64",
        [1],
        UNKNOWN_STEP,
    ),
    "step is a name": (
        ["inner"],
        {"x": u1(1)},
        "F64",
        [1],
        UNKNOWN_STEP,
    ),
    "step lacks a number": (
        [{"step": "narrow", "bits": 8}],
        {"x": u1(1)},
        "I64",
        [1],
        UNKNOWN_STEP,
    ),
    "number of another type": (
        [{**NARROW, "bits": True}],
        {"x": u1(1)},
        "I64",
        [1],
        UNKNOWN_STEP,
    ),
    "step of more": (
        [{**INNER, "more": 1}],
        {"x": u1(1)},
        "F64",
        [1],
        UNKNOWN_STEP,
    ),
    "no type": ([INNER], {"x": u1(1)}, "F16", [1], "dtype of array 'x' is 'F16', expected one of F64"),
    "no shape": ([INNER], {"x": u1(1)}, "F64", [-1], r"shape of array 'x' is \[-1\], expected a list of integers"),
    "impossible shape": ([INNER], {"x": u1(1)}, "F64", [0, 2**63], "impossible shape"),
    "array is lost": ([NARROW], {}, "I64", [1], "'x' is missing or not 1-D"),
    "two dimensions": ([NARROW], {"x": np.zeros((1, 1), np.uint8)}, "I64", [1], "'x' is missing or not 1-D"),
    "too few items": ([NARROW], {"x": u1(1)}, "I64", [2], "has 1 items of uint8, not 2 of uint8"),
    "items of another type": ([NARROW], {"x": np.zeros(2)}, "I64", [2], "2 items of float64, not 2 of uint8"),
    "narrow floats": ([NARROW], {"x": u1(1)}, "F64", [1], "float64 is not an integer type"),
    "narrow to nothing": ([{**NARROW, "bits": 0}], {"x": u1(1)}, "I64", [1], "cannot be narrowed to 0 bits"),
    "narrow to more": ([{**NARROW, "bits": 10**30}], {"x": u1(1)}, "I64", [1], "cannot be narrowed to 1000"),
    "narrow to the same": ([NARROW], {"x": u1(1), "x.wide": u1()}, "I8", [1], "int8 cannot be narrowed to 8 bits"),
    "no wide items": ([NARROW], {"x": u1(1)}, "I64", [1], "'x.wide' is missing"),
    "too few wide items": ([NARROW], {"x": u1(255, 255), "x.wide": u1(1)}, "I64", [2], "2 wide items are needed"),
    "too many wide items": ([NARROW], {"x": u1(3), "x.wide": u1(1)}, "I64", [1], "0 wide items are needed"),
    "wide floats": ([NARROW], {"x": u1(255), "x.wide": np.zeros(1)}, "I64", [1], "not 1 of float64"),
    "wider than the array": (
        [NARROW],
        {"x": u1(255), "x.wide": np.zeros(1, np.uint64)},
        "I32",
        [1],
        "1 wide items are needed, not 1 of uint64",
    ),
    "too few bits": ([{**NARROW, "bits": 1}], {"x": u1(1)}, "I64", [9], "has 1 items of uint8, not 2"),
    "code beyond the table": (
        [DICTIONARY, NARROW],
        {"x": u1(0, 2), "x.wide": u1(), "x.table": np.zeros(2)},
        "F64",
        [2],
        "codes reach 2, but its table has 2 items",
    ),
    "empty table": (
        [DICTIONARY, NARROW],
        {"x": u1(0), "x.wide": u1(), "x.table": np.zeros(0)},
        "F64",
        [1],
        "its table has 0 items",
    ),
    "table of another type": ([DICTIONARY], {"x": u1(0), "x.table": np.zeros(1, np.float32)}, "F64", [1], "of float32"),
    "no table": ([DICTIONARY], {"x": u1(0)}, "F64", [1], "'x.table' is missing"),
    "the same table twice": (
        [DICTIONARY, DICTIONARY],
        {"x": u1(0), "x.table": np.zeros(1)},
        "F64",
        [1],
        "'x.table' is missing",
    ),
    "integers of float32": (
        [{"step": "float32"}],
        {"x": np.zeros(1, np.float32)},
        "I64",
        [1],
        "dtype is int64, expected",
    ),
    "differences of nothing": (
        [DIFFERENCES],
        {"x": np.zeros(0, np.int64)},
        "I64",
        [0],
        "it has 0 items, expected",
    ),
    "differences of floats": ([DIFFERENCES], {"x": np.zeros(1)}, "F64", [2], "float64 is not an integer type"),
    "more nodes than there are": ([INNER], {"x": np.zeros(2)}, "F64", [6], "it has 6 items, but there are 5 nodes"),
    "fewer inner nodes": ([INNER], {"x": np.zeros(1)}, "F64", [5], "has 1 items of float64, not 2 of float64"),
    "leaves of another number": (
        [{**INNER, "rest": 7}],
        {"x": np.zeros(2)},
        "F64",
        [5],
        "is 7, expected 0 or −1",
    ),
    "leaves below zero": ([{**INNER, "rest": -1}], {"x": u1(1, 1)}, "U8", [5], "leaves is -1, expected 0"),
    "child of all nodes": ([AFTER_NODE], {"x": np.zeros(5, np.int32)}, "I32", [5], "but there are 2 inner nodes"),
    "floating child": ([INNER, AFTER_LEFT], {"x": np.zeros(2)}, "F64", [5], "float64 is not an integer type"),
}


@pytest.mark.parametrize(("steps", "stored", "dtype", "shape", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_impossible_encoding_is_refused(steps, stored, dtype, shape, message):
    claims = {"x": {"dtype": dtype, "shape": shape, "steps": steps}}
    with pytest.raises(ModelFileError, match=message) as caught:
        encodings.decode({**FOREST, **stored}, claims, 1000)
    assert "'x'" in str(caught.value)


NEEDS = {
    "no kind": ({"kind": None}, "it needs 'kind', a 1-D array of U8"),
    "kind of another type": ({"kind": np.zeros(5)}, "it needs 'kind', a 1-D array of U8"),
    "kind of two dimensions": ({"kind": np.zeros((5, 1), np.uint8)}, "it needs 'kind', a 1-D array of U8"),
    "no trees": ({"tree_start": None}, "it needs 'tree_start', a 1-D array of I64"),
    "start of no tree": ({"tree_start": np.zeros(0, np.int64)}, "'tree_start' to rise from 0 to the number of nodes"),
    "trees that fall": ({"tree_start": np.array([0, 10**15, 5])}, "'tree_start' to rise from 0"),
    "trees below zero": ({"tree_start": np.array([0, -(10**15), 5])}, "'tree_start' to rise from 0"),
    "trees beyond the nodes": ({"tree_start": np.array([0, 10**15])}, "'tree_start' to rise from 0"),
    "no left child": ({"left": None}, "it needs 'left', a 1-D array of I32"),
    "left of fewer nodes": ({"left": np.zeros(2, np.int32)}, "it needs 'left' to be as long as 'kind'"),
}


@pytest.mark.parametrize(("change", "message"), NEEDS.values(), ids=NEEDS.keys())
def test_steps_on_trees_need_trees(change, message):
    step = AFTER_NODE if "tree_start" in change else AFTER_LEFT
    stored = {**FOREST, "x": np.ones(2, np.int32), **change}
    stored = {name: array for name, array in stored.items() if array is not None}
    claims = {"x": {"dtype": "I32", "shape": [5], "steps": [INNER, step]}}
    with pytest.raises(ModelFileError, match=message):
        encodings.decode(stored, claims, 1000)


@pytest.mark.parametrize("name", ["kind", "left"])
def test_arrays_cannot_be_decoded_by_themselves(name):
    claims = {name: {"dtype": DTYPE_NAMES[FOREST[name].dtype], "shape": [5], "steps": [INNER, AFTER_LEFT]}}
    with pytest.raises(ModelFileError, match=f"array '{name}' cannot be decoded: it needs '{name}'"):
        encodings.decode({**FOREST, name: np.ones(2, FOREST[name].dtype)}, claims, 1000)


@pytest.mark.parametrize("claims", [None, [], "x", {"x": 1}, {"x": {"dtype": "F64", "steps": [INNER]}}])
def test_encodings_of_another_form_are_refused(claims):
    with pytest.raises(
        ModelFileError,
        match=r"'encodings' of its header is .*, expected a|expected an object with dtype",
    ):
        encodings.decode({"x": np.zeros(1)}, claims, 1000)


def test_arrays_that_would_fill_the_memory_are_refused_before_they_are_made():
    stored, found = {"kind": np.zeros(10**5, np.uint8)}, {}
    for i in range(1000):
        stored[f"x{i}"] = np.zeros(0)
        found[f"x{i}"] = {"dtype": "F64", "shape": [10**5], "steps": [INNER]}
    header = {**HEADER, "format": "arboretum", "version": 2, "library": "1", "encodings": found}
    layout, content = split_file(to_bytes(HEADER, stored, compact=False))
    layout["__metadata__"]["arboretum"] = json.dumps(header)
    data = signed(layout, content)
    with pytest.raises(ModelFileError, match=r"its arrays would take \d+ bytes, more than 64 times the file"):
        from_bytes(data)
    assert peak_of(data) < 40 * len(data)


# ------------------------------------------------------------------------------ mutations


def small_file(seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "_MIN_SAVED", 1)
        return to_bytes(HEADER, make_forest(seed, [3, 0, 9], n_distinct=3))


def mutate_parts(rng, data):
    """Change the layout, the encodings or a byte of the arrays; with a valid checksum if the rest allows it."""
    layout, content = split_file(data)
    metadata = layout["__metadata__"]
    header = json.loads(metadata["arboretum"])
    for _ in range(rng.randint(1, 2)):
        match rng.randrange(4):
            case 0:
                place = rng.randrange(len(content))
                content = content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :]
            case 1:
                layout = {**mutate_json(rng, {k: v for k, v in layout.items() if k != "__metadata__"})}
            case _:
                header["encodings"] = mutate_json(rng, header["encodings"])
    layout["__metadata__"] = {**metadata, "arboretum": json.dumps(header)}
    return signed(layout, content)


def outcome_of(data):
    try:
        _, arrays = from_bytes(data)
    except ModelFileError:
        return "refused"
    assert sum(array.nbytes for array in arrays.values()) <= encodings.MAX_EXPANSION * len(data)
    try:
        forest = Forest.from_arrays(arrays)
        forest.validate(5)
    except ValueError:
        return "no forest"
    forest.raw([np.zeros(3)] * 4 + [np.zeros(3, np.int32)], 3)
    return "predicted"


def test_fuzz_ten_thousand_signed_mutations_are_refused_or_predict():
    rng = random.Random(20240504)
    valid, seen = small_file(1), Counter()
    for _ in range(10_000):
        try:
            data = mutate_parts(rng, valid)
        except (ModelFileError, TypeError):  # not a layout any more
            seen["unsigned"] += 1
            continue
        seen[outcome_of(data)] += 1
    assert seen.total() == 10_000
    assert min(seen[kind] for kind in ("refused", "no forest", "predicted")) > 200


def test_fuzz_a_mutated_compact_file_is_refused_or_unchanged():
    rng = random.Random(20240505)
    valid = small_file(2)
    expected = from_bytes(valid)[1]
    for _ in range(5_000):
        try:
            _, arrays = from_bytes(mutate(rng, valid))
        except ModelFileError:
            continue
        assert same_arrays(arrays, expected)


def test_fuzz_memory_stays_near_the_size_of_the_file():
    rng = random.Random(20240506)
    valid = small_file(3)
    for _ in range(300):
        try:
            data = mutate_parts(rng, valid)
        except (ModelFileError, TypeError):
            continue
        assert peak_of(data) < 100 * len(data) + 20_000
