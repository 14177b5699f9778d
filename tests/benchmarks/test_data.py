"""The benchmark of training from a file: a small run."""

from __future__ import annotations

import json

import pytest
from benchmarks.__main__ import main
from benchmarks.workloads import killed, limits

pytest.importorskip("duckdb")


def test_a_file_is_written_once_and_trained_from(tmp_path, capsys):
    arguments = ["data", "--workloads", "file", "--folder", str(tmp_path), "--rows", "3000", "--rounds", "2"]
    arguments += ["--libraries", "arboretum,arboretum train"]
    assert main([*arguments, "--json", str(tmp_path / "numbers.json")]) == 0
    (table,) = json.loads((tmp_path / "numbers.json").read_text())["tables"]
    library, command = table["rows"]["arboretum"], table["rows"]["arboretum train"]
    assert library["auc"] == command["auc"] > 0.6
    assert library["ratio"] == 1
    assert 10 < min(library["peak_mb"], command["peak_mb"]) < 2_000
    assert [path.name for path in tmp_path.glob("*.parquet")] == ["dense-3000.parquet"]
    out = capsys.readouterr().out
    assert "peak of the process" in out
    assert "peak of the command" in out


def test_a_killed_run_becomes_the_same_model(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(killed, "KILLS", 1)
    arguments = ["data", "--workloads", "killed", "--rows", "100000", "--rounds", "20"]
    assert main([*arguments, "--json", str(tmp_path / "numbers.json")]) == 0
    (table,) = json.loads((tmp_path / "numbers.json").read_text())["tables"]
    row = table["rows"]["arboretum"]
    assert (row["kills"], row["same"], row["unreadable"]) == (1, 1, 0)
    assert capsys.readouterr().out.count("reached") == 2


def test_commands_keep_the_least_limit_that_they_name(tmp_path, capsys, monkeypatch):
    """All rows are one row group."""
    monkeypatch.setattr(limits, "LIMITS", ())
    monkeypatch.setattr(limits, "COMMANDS", ("train", "predict"))
    monkeypatch.setattr(limits, "GROUPS", {"one group": None})
    monkeypatch.setattr(limits, "shapes", lambda rows: [limits.Shape("narrow", rows, 12)])
    arguments = ["data", "--workloads", "limits", "--folder", str(tmp_path), "--rows", "2000000", "--rounds", "2"]
    assert main([*arguments, "--json", str(tmp_path / "numbers.json")]) == 0
    (table,) = json.loads((tmp_path / "numbers.json").read_text())["tables"]
    for row in table["rows"].values():
        assert 40 < row["at_least"] < 1.15 * row["least"] < 250
    assert "peak at most 1.15 × the limit" in capsys.readouterr().out


def test_what_cannot_be_run_is_named(tmp_path, capsys):
    cases = {
        ("--folder", str(tmp_path), "--libraries", "nobody"): "no library is called 'nobody'; there are: arboretum, a",
        ("--workloads", "sleep"): "no workload is called 'sleep'; there are: file, killed, limits",
        (): "--workloads file: say where files are written, with --folder FOLDER",
        ("--workloads", "killed,limits"): "--workloads limits: say where files are written, with --folder FOLDER",
    }
    for words, message in cases.items():
        assert main(["data", *words]) == 2
        assert message in capsys.readouterr().err
