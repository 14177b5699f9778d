"""Files of a pattern or a folder come in one order: that of their names, with digits compared as numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet

from arboretum import Dataset
from arboretum.cli.file_formats import files_named
from arboretum.data.file_order import in_natural_order

NUMBERS = [10, 9, 100, 1, 2]
NAMES = st.text("0123456789٣²ab./-_ ", max_size=12) | st.from_regex(r"part\.?[0-9]{1,3}\.csv", fullmatch=True)


def natural_sort_key(name):
    """Return the key of ``dask.utils.natural_sort_key``, which asks for ``isdigit`` and so rejects '1²3'."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


@given(st.lists(NAMES, unique=True))
@example(["1²3", "1²2"])
@example(["part.1", "part.01", "part.001"])
def test_the_order_is_that_of_dask_and_ties_are_broken_by_text(names):
    expected = sorted(sorted(names), key=natural_sort_key)
    assert in_natural_order(names) == in_natural_order(reversed(names)) == expected
    assert in_natural_order(map(Path, names)) == in_natural_order(map(Path, reversed(names)))


@pytest.fixture
def folder(tmp_path):
    for number in NUMBERS:
        rows = pa.table({"i": [number]})
        parquet.write_table(rows, tmp_path / f"part.{number}.parquet")
        (tmp_path / f"part.{number}.csv").write_text(f"i\n{number}\n")
        (tmp_path / f"part.{number}.jsonl").write_text(f'{{"i": {number}}}\n')
    return tmp_path


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_rows_of_a_pattern_come_in_the_order_of_its_files(folder, kind):
    suffix = "jsonl" if kind == "json" else kind
    dataset = getattr(Dataset, f"from_{kind}")(folder / f"*.{suffix}")
    assert dataset.to_frame()["i"].to_pylist() == sorted(NUMBERS)
    listed = [folder / f"part.{number}.{suffix}" for number in NUMBERS]
    assert getattr(Dataset, f"from_{kind}")(listed).to_frame()["i"].to_pylist() == NUMBERS


def test_the_command_lists_patterns_and_folders_in_the_same_order(folder):
    expected = [folder / f"part.{number}.csv" for number in sorted(NUMBERS)]
    assert files_named(f"{folder}/*.csv") == expected
    assert [file for file in files_named(str(folder)) if file.suffix == ".csv"] == expected
