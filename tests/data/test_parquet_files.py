"""Parquet of any layout: the rows that were written come back, within the memory that the reader is given."""

from __future__ import annotations

import base64
import datetime
import decimal
import errno
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet.encryption as encryption
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import arboretum as arb
from arboretum import Dataset
from arboretum.data.memory_budget import MemoryLimitError, ReaderMemoryError
from arboretum.data.parquet_files import ParquetFiles

TABLE = pa.table({"a": [1.0, None, 3.0], "b": ["x", "y", None], "c": [True, None, False]})


def read(source: ParquetFiles, names=None, size: int = 2, memory: int | None = None) -> pa.Table:
    names = names or source.schema().names
    batches = list(source.batches(names, size, memory))
    assert all(0 < batch.num_rows <= size for batch in batches)
    schema = pa.schema([source.schema().field(name) for name in names])
    return pa.Table.from_batches(batches, schema)


@pytest.fixture(scope="module")
def numbers() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({f"x{j}": rng.normal(size=60_000) for j in range(12)})


@pytest.fixture
def _bytes_as_allocated(monkeypatch):
    """Plan with the bytes that pyarrow asks its allocator for, which are what these tests count."""
    monkeypatch.setattr("arboretum.data.parquet_files.overhead", lambda: 1.0)


# ---------------------------------------------------------------------------------------------------------- memory


@pytest.mark.usefixtures("_bytes_as_allocated")
@pytest.mark.parametrize("group", [1_000, 20_000, 60_000])
@pytest.mark.parametrize("memory", [4_000_000, 40_000_000])
def test_a_reader_holds_no_more_than_it_is_given_whatever_the_row_groups(tmp_path, numbers, group, memory):
    """The table has 6 MB, and pages of 0.5 MB each: four megabytes do not hold one of every column."""
    parquet.write_table(numbers, tmp_path / "rows.parquet", row_group_size=group)
    source = ParquetFiles([str(tmp_path / "rows.parquet")])
    before, first, held = pa.total_allocated_bytes(), 0, 0
    for batch in source.batches(numbers.column_names, 100_000, memory):
        assert batch.equals(pa.record_batch(numbers.slice(first, batch.num_rows).combine_chunks().to_batches()[0]))
        first += batch.num_rows
        held = max(held, pa.total_allocated_bytes() - before)
    assert first == numbers.num_rows
    assert held < memory


@pytest.mark.usefixtures("_bytes_as_allocated")
def test_columns_whose_pages_do_not_fit_together_are_written_to_temporary_files_once(tmp_path, numbers, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    parquet.write_table(numbers, tmp_path / "rows.parquet")
    source = ParquetFiles([str(tmp_path / "rows.parquet")])
    few = [name for name in reversed(numbers.column_names) if name != "x5"]
    for names in (numbers.column_names, few):
        assert read(source, names, 700, 4_000_000).equals(numbers.select(names))
    (folder,) = (tmp_path / "temporary").iterdir()
    assert len(list(folder.iterdir())) > 2
    assert read(source, few, 700).equals(numbers.select(few))  # without a limit the file itself is read
    del source
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.usefixtures("_bytes_as_allocated")
def test_a_page_that_does_not_fit_is_named_with_the_memory_it_needs(tmp_path):
    path = tmp_path / "rows.parquet"
    values = np.random.default_rng(0).normal(size=300_000)
    table = pa.table({"small": values > 0, "large": values})
    parquet.write_table(table, path, use_dictionary=False, compression="none", data_page_size=1 << 30)
    with pytest.raises(ReaderMemoryError, match=r"reading column 'large' of .*rows\.parquet") as raised:
        read(ParquetFiles([str(path)]), memory=300_000)
    assert read(ParquetFiles([str(path)]), size=10_000, memory=raised.value.needed).equals(table)
    with pytest.raises(
        MemoryLimitError, match=r"memory_limit=100KB is too small: reading column 'large' .* needs at least"
    ):
        list(Dataset.from_parquet(path, memory_limit="100KB").batches())


def test_a_footer_that_does_not_fit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    table = pa.table({f"c{j}": np.arange(300.0) for j in range(100)})
    parquet.write_table(table, path, row_group_size=1)
    dataset = Dataset.from_parquet(path, memory_limit="30MB")
    with monkeypatch.context() as patch:
        patch.setattr("pyarrow.parquet.ParquetFile", None)
        with pytest.raises(MemoryLimitError, match=r"reading the footer of .*rows\.parquet needs at least"):
            dataset.n_rows
    assert Dataset.from_parquet(path, memory_limit="1GB").to_frame().equals(table)


def test_a_file_that_was_written_again_is_read_as_it_is_now(tmp_path):
    source = ParquetFiles([str(tmp_path / "rows.parquet")])
    for table in (TABLE, pa.concat_tables([TABLE, TABLE])):
        parquet.write_table(table, tmp_path / "rows.parquet")
        assert read(source, TABLE.schema.names).equals(table)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_limit_counts_the_libraries_that_reading_loads(tmp_path):
    parquet.write_table(TABLE, tmp_path / "rows.parquet")
    reading = "import sys, arboretum as arb; list(arb.Dataset.from_parquet(sys.argv[1], memory_limit='10MB').batches())"
    words = [sys.executable, "-c", reading, str(tmp_path / "rows.parquet")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert "memory_limit=10MB is too small" in done.stderr


@pytest.mark.usefixtures("_bytes_as_allocated")
def test_batches_are_as_short_as_long_texts_ask_for(tmp_path):
    texts = pa.table({"t": [str(i) * 2_000 for i in range(5_000)]})
    parquet.write_table(texts, tmp_path / "rows.parquet")
    source = ParquetFiles([str(tmp_path / "rows.parquet")])
    batches = list(source.batches(["t"], 100_000, 16_000_000))
    assert max(batch.nbytes for batch in batches) < 4_000_000
    assert pa.Table.from_batches(batches).equals(texts)


# ------------------------------------------------------------------------------------------------------------- types


@given(
    rows=st.lists(
        st.tuples(st.none() | st.floats(), st.none() | st.text(), st.none() | st.integers(-5, 5)), max_size=30
    ),
    group=st.integers(1, 40),
    size=st.integers(1, 40),
    dictionary=st.booleans(),
)
def test_rows_are_those_that_were_written(tmp_path_factory, rows, group, size, dictionary):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    types = (pa.float64(), pa.string(), pa.int16())
    table = pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=["x", "t", "i"])
    parquet.write_table(table, path, row_group_size=group, use_dictionary=dictionary)
    source = ParquetFiles([str(path)])
    assert source.n_rows() == len(rows)
    assert repr(read(source, size=size).to_pydict()) == repr(table.to_pydict())
    assert repr(read(source, ["i", "x"], size).to_pydict()) == repr(table.select(["i", "x"]).to_pydict())


def test_values_are_read_whatever_way_they_are_stored(tmp_path):
    stored = {
        "dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
        "large": pa.array(["a", None, "b"], pa.large_string()),
        "half": pa.array(np.array([1, 2, 3], np.float16)),
        "decimal": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal(-3)], pa.decimal128(38, 10)),
        "time": pa.array([datetime.datetime(1500, 1, 1), None, datetime.datetime(2500, 1, 1)], pa.timestamp("us")),
        "a.b": pa.array([1, 2, 3]),
        "a": pa.array([4, 5, 6]),
    }
    parquet.write_table(pa.table(stored), tmp_path / "rows.parquet", use_deprecated_int96_timestamps=True)
    found = Dataset.from_parquet(tmp_path / "rows.parquet").to_frame()
    assert found.to_pydict() == {name: values.to_pylist() for name, values in stored.items()}
    assert [str(kind) for kind in found.schema.types[:3]] == ["string", "string", "float"]
    assert Dataset.from_parquet(tmp_path / "rows.parquet").select(["a"]).to_frame().to_pydict() == {"a": [4, 5, 6]}


def test_files_and_row_groups_may_be_empty(tmp_path):
    with parquet.ParquetWriter(tmp_path / "0.parquet", TABLE.schema) as writer:
        for part in (TABLE[:0], TABLE, TABLE[:0], TABLE):
            writer.write_table(part)
    parquet.write_table(TABLE[:0], tmp_path / "1.parquet")
    dataset = Dataset.from_parquet(tmp_path / "*.parquet")
    assert (dataset.n_rows, dataset.to_frame()) == (6, pa.concat_tables([TABLE, TABLE]))
    empty = Dataset.from_parquet(tmp_path / "1.parquet")
    assert (empty.n_rows, empty.to_frame(), list(empty.batches())) == (0, TABLE[:0], [])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        arb.BoostedTreesRegressor().fit(empty, target="a")


def test_nested_columns_are_named(tmp_path):
    table = TABLE.append_column("l", pa.array([[1], [2, 3], None])).append_column("s", pa.array([{"p": 1}] * 3))
    parquet.write_table(table, tmp_path / "rows.parquet")
    dataset = Dataset.from_parquet(tmp_path / "rows.parquet")
    assert dataset.to_frame() == table
    for name, kind in (("l", "list<element: int64>"), ("s", "struct<p: int64>")):
        message = f"column {name!r} holds values of type {kind}, which trees cannot split: leave it out with drop"
        with pytest.raises(TypeError, match=message):
            arb.BoostedTreesRegressor().fit(dataset.select(["c", name]), target="c")


# ------------------------------------------------------------------------------------------------------------- parts


def test_columns_of_parts_are_matched_by_name_and_share_a_type(tmp_path):
    parquet.write_table(pa.table({"i": [1, 2], "t": pa.nulls(2)}), tmp_path / "0.parquet")
    parquet.write_table(pa.table({"t": ["a", "b"], "i": [0.5, None]}), tmp_path / "1.parquet")
    found = Dataset.from_parquet(tmp_path / "*.parquet").to_frame()
    assert found.to_pydict() == {"i": [1.0, 2.0, 0.5, None], "t": [None, None, "a", "b"]}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"a": [1.0]}, r"1\.parquet has other columns than the first part: missing 'b'"),
        ({"a": [1.0], "b": ["x"], "z": [1]}, r"1\.parquet has other columns than the first part: unexpected 'z'"),
        ({"a": ["x"], "b": ["x"]}, r"column 'a' is double in the first part, but string in .*1\.parquet: convert it"),
        ({"a": [2**60 + 1], "b": ["x"]}, r"1\.parquet: column 'a' has values that double, its type in other parts"),
    ],
)
def test_parts_that_do_not_agree_are_named(tmp_path, part, message):
    parquet.write_table(TABLE.select(["a", "b"]), tmp_path / "0.parquet")
    parquet.write_table(pa.table(part), tmp_path / "1.parquet")
    with pytest.raises((ValueError, TypeError), match=message):
        Dataset.from_parquet(tmp_path / "*.parquet").to_frame()


def test_folders_that_name_values_are_columns(tmp_path):
    for number, folder in enumerate(["year=2023/day=2023-05-01/city=S%C3%A3o", "year=2024/day=2024-05-01/city=x"]):
        (tmp_path / folder).mkdir(parents=True)
        parquet.write_table(pa.table({"a": [number]}), tmp_path / folder / "part.parquet")
    (tmp_path / "year=2024" / "other=1").mkdir()
    dataset = Dataset.from_parquet(tmp_path / "**" / "part.parquet")
    assert dataset.to_frame().to_pydict() == {
        "a": [0, 1],
        "year": [2023, 2024],
        "day": [datetime.date(2023, 5, 1), datetime.date(2024, 5, 1)],
        "city": ["São", "x"],
    }
    assert dataset.select(["year"]).to_frame().to_pydict() == {"year": [2023, 2024]}
    (tmp_path / "year=__HIVE_DEFAULT_PARTITION__").mkdir()
    parquet.write_table(pa.table({"a": [2, 3]}), tmp_path / "year=__HIVE_DEFAULT_PARTITION__" / "part.parquet")
    assert Dataset.from_parquet(tmp_path / "**" / "part.parquet").to_frame()["year"].to_pylist() == [
        2023,
        2024,
        None,
        None,
    ]


# ------------------------------------------------------------------------------------------------------------ errors


def test_a_name_that_occurs_twice_is_told(tmp_path):
    parquet.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet: the column name 'a' occurs twice; rename one of the columns"):
        Dataset.from_parquet(tmp_path / "t.parquet").to_frame()


def test_broken_files_are_told_apart(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(TABLE, path)
    whole = path.read_bytes()
    flipped = bytes(byte ^ 0xFF for byte in whole[4:60])
    cases = {
        whole[: len(whole) // 2]: "is not a Parquet file, or its end is missing: write or copy it again",
        b"PA": "is not a Parquet file, or its end is missing",
        b"a,b\n1,2\n" * 9: "is not a Parquet file, or its end is missing",
        whole[:4] + flipped + whole[60:]: "is damaged: its data are not what its footer describes",
        whole[:-100] + flipped[:56] + whole[-44:]: "is damaged",
    }
    for content, message in cases.items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"^\S*rows\.parquet {message}"):
            Dataset.from_parquet(path).to_frame()


class _Keys(encryption.KmsClient):
    def __init__(self, config):
        super().__init__()

    def wrap_key(self, key_bytes, master_key_identifier):
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key, master_key_identifier):
        return base64.b64decode(wrapped_key)


@pytest.mark.parametrize("readable_footer", [False, True])
def test_encrypted_files_are_named_as_such(tmp_path, readable_footer):
    rules = encryption.EncryptionConfiguration(
        footer_key="k", column_keys={"c": ["a"]}, plaintext_footer=readable_footer
    )
    keys = encryption.CryptoFactory(_Keys).file_encryption_properties(encryption.KmsConnectionConfig(), rules)
    parquet.write_table(TABLE, tmp_path / "rows.parquet", encryption_properties=keys)
    with pytest.raises(ValueError, match=r"rows\.parquet is encrypted: decrypt it first$"):
        Dataset.from_parquet(tmp_path / "rows.parquet").to_frame()


@pytest.mark.parametrize(
    ("failure", "kind", "message"),
    [
        (
            pa.ArrowMemoryError("malloc of size 12 failed"),
            MemoryError,
            "there is not enough memory to read it; set mem",
        ),
        (
            pa.ArrowNotImplementedError("codec"),
            ValueError,
            "feature of Parquet that the installed pyarrow lacks: upgrade",
        ),
        (OSError(errno.EIO, "Input/output error"), OSError, "Input/output error"),
    ],
    ids=["memory", "feature", "disk"],
)
def test_what_a_reader_cannot_do_is_not_a_broken_file(tmp_path, monkeypatch, failure, kind, message):
    parquet.write_table(TABLE, tmp_path / "rows.parquet")
    dataset = Dataset.from_parquet(tmp_path / "rows.parquet")
    dataset.schema

    def fails(*_, **__):
        raise failure

    monkeypatch.setattr("pyarrow.parquet.ParquetFile.iter_batches", fails)
    with pytest.raises(kind, match=message):
        dataset.to_frame()


class Size(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.float64(), "arboretum.size")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


@pytest.fixture
def _known_to_readers():
    pa.register_extension_type(Size())
    yield
    pa.unregister_extension_type("arboretum.size")


@pytest.mark.usefixtures("_known_to_readers")
@pytest.mark.parametrize("limit", [None, "1GB"])
def test_types_of_others_are_read_as_what_they_store(tmp_path, limit):
    size, y = pa.array([1.0, 2.0, None, 4.0] * 9), np.arange(36.0)
    table = pa.table({"size": pa.ExtensionArray.from_storage(Size(), size), "void": pa.nulls(36), "y": y})
    parquet.write_table(table, tmp_path / "rows.parquet")
    expected = arb.DecisionTreeRegressor().fit(pa.table({"size": size, "void": pa.nulls(36, pa.float64())}), y)
    for source in (Dataset.from_parquet(tmp_path / "rows.parquet", memory_limit=limit), Dataset.from_frame(table)):
        model = arb.DecisionTreeRegressor().fit(source, target="y")
        assert model.predict(source).tolist() == expected.predict(table.drop_columns("y")).tolist()
