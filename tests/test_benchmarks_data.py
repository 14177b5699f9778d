"""The benchmark of training from a file: a small run."""

from __future__ import annotations

import json

import pytest
from benchmarks.__main__ import main

pytest.importorskip("duckdb")


def test_a_file_is_written_once_and_trained_from(tmp_path, capsys):
    arguments = ["data", "--folder", str(tmp_path), "--rows", "3000", "--rounds", "2", "--libraries", "arboretum"]
    assert main([*arguments, "--json", str(tmp_path / "numbers.json")]) == 0
    (table,) = json.loads((tmp_path / "numbers.json").read_text())["tables"]
    row = table["rows"]["arboretum"]
    assert row["auc"] > 0.6
    assert row["ratio"] == 1
    assert 10 < row["peak_mb"] < 2_000
    assert [path.name for path in tmp_path.glob("*.parquet")] == ["dense-3000.parquet"]
    assert "peak of the process" in capsys.readouterr().out


def test_an_unknown_library_is_named(tmp_path, capsys):
    assert main(["data", "--folder", str(tmp_path), "--libraries", "nobody"]) == 2
    assert "no library is called 'nobody'; there are: arboretum, lightgbm, xgboost" in capsys.readouterr().err
