"""The benchmark of looking inside models: small runs of each workload."""

from __future__ import annotations

import json

import pytest
from benchmarks.__main__ import main


def test_shap_values_are_compared(tmp_path, capsys):
    pytest.importorskip("lightgbm")
    file = tmp_path / "numbers.json"
    small = ["--rows", "400", "--rounds", "3", "--repeat", "1", "--libraries", "arboretum,lightgbm"]
    assert main(["explaining", "--workloads", "shap,shap-forest,shap-interactions", *small, "--json", str(file)]) == 0
    tables = {table["name"]: table["rows"] for table in json.loads(file.read_text())["tables"]}
    timed = tables["shap"]
    assert timed["lightgbm"]["ratio"] == timed["lightgbm"]["explain_s"] / timed["arboretum"]["explain_s"]
    assert set(tables["shap-forest"]) == set(tables["shap-interactions"]) == {"arboretum"}


def test_reports_are_timed_and_weighed(tmp_path, capsys):
    file = tmp_path / "numbers.json"
    small = ["--rows", "2000", "--rounds", "3", "--repeat", "1", "--libraries", "arboretum"]
    assert main(["explaining", "--workloads", "report", *small, "--json", str(file)]) == 0
    (table,) = json.loads(file.read_text())["tables"]
    assert set(table["rows"]) == {"binary", "multiclass", "regression", "ranking", "uplift"}
    assert all(0.5 < row["megabytes"] < 3 and row["seconds"] > 0 for row in table["rows"].values())


def test_dependence_and_permutation_are_compared_on_one_model(tmp_path, capsys):
    file = tmp_path / "numbers.json"
    small = ["--rows", "2000", "--rounds", "5", "--repeat", "1", "--libraries", "arboretum"]
    assert main(["explaining", "--workloads", "partial-dependence,permutation", *small, "--json", str(file)]) == 0
    curves, falls = json.loads(file.read_text())["tables"]
    assert all(row["difference"] < 1e-12 and row["ratio"] > 0 for row in curves["rows"].values())
    assert all(row["difference"] < 0.1 for row in falls["rows"].values())
