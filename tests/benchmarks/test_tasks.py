"""The benchmark of other tasks: small runs of each workload."""

from __future__ import annotations

import json

import numpy as np
from benchmarks.__main__ import main


def run(tmp_path, *arguments):
    file = tmp_path / "numbers.json"
    common = ["--rows", "2000", "--rounds", "10", "--repeat", "1", "--libraries", "arboretum,sklearn"]
    assert main(["tasks", *common, *arguments, "--json", str(file)]) == 0
    return {table["name"]: table for table in json.loads(file.read_text())["tables"]}


def test_isolation_forests_are_compared(tmp_path, capsys):
    folder = tmp_path / "adbench_classical"
    folder.mkdir()
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[:3] += 9
    np.savez(folder / "1_made.npz", X=X, y=np.arange(60) < 3)
    tables = run(tmp_path, "--workloads", "isolation,isolation-sets,isolation-hyperplanes", "--data", str(tmp_path))
    timed = tables["isolation"]["rows"]
    assert timed["sklearn"]["ratio"] == timed["sklearn"]["fit_s"] / timed["arboretum"]["fit_s"]
    assert timed["sklearn"]["score_ratio"] > 0
    sets = tables["isolation-sets"]["rows"]
    assert set(sets) == {"1_made", "mean"}
    assert sets["mean"] == sets["1_made"]
    assert min(sets["mean"][f"{library} {key}"] for library in ("arboretum", "sklearn") for key in ("auc", "ap")) > 0.95
    assert sets["mean"]["arboretum auc ±"] < 0.05
    assert set(tables["isolation-hyperplanes"]["rows"]) == {"two blobs", "sinusoid"}


def test_sets_that_are_not_there_are_skipped(tmp_path, capsys):
    tables = run(tmp_path, "--workloads", "isolation-sets")
    assert tables["isolation-sets"]["title"].startswith("skipped: needs adbench_classical under --data")
