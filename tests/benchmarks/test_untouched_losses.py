"""Quantiles, grades and counts by every library as it comes: their losses, and a small run."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from benchmarks.__main__ import main
from benchmarks.task import Task
from benchmarks.workloads import uncertainty, untouched_losses
from sklearn.metrics import log_loss, mean_poisson_deviance


def test_losses_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, predicted = rng.poisson(2.0, 60).astype(float), rng.uniform(0.1, 4, 60)
    assert untouched_losses.poisson_deviance(y, predicted).mean() == pytest.approx(mean_poisson_deviance(y, predicted))
    grade, proba = rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60)
    assert untouched_losses.log_loss(grade, proba).mean() == pytest.approx(log_loss(grade, proba, labels=[0, 1, 2]))
    levels = np.sort(rng.normal(size=(60, 5)), axis=1)
    wrong = levels[:, ::-1]
    assert untouched_losses.pinball(y, wrong).mean() == pytest.approx(uncertainty.pinball(y, levels))
    assert untouched_losses.coverage(np.array([1.0, 5.0]), np.array([[2.0, 0.0], [0.0, 2.0]])) == 0.5


def test_classes_are_put_in_their_order():
    graded = untouched_losses.Graded(untouched_losses.BIKE, ("low", "middle", "high"))  # sorted: high, low, middle
    task = graded.task_of(Task("multiclass", None, np.array([0, 1, 2]), None, np.array([2, 0])))
    np.testing.assert_array_equal(task.y, [2, 0, 1])
    np.testing.assert_array_equal(task.y_test, [1, 2])


def test_a_small_run(tmp_path, monkeypatch, capsys):
    (tmp_path / "bike").mkdir()
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
    frame = frame.assign(count=rng.poisson(np.exp(frame["a"])), instant=1, dateday="x", casual=0, registered=0)
    frame.to_csv(tmp_path / "bike/hour.csv", index=False)
    for answers in (untouched_losses.OF_QUANTILES, untouched_losses.OF_COUNTS):
        for name in [name for name in answers if name not in ("arboretum", "sklearn")]:
            monkeypatch.delitem(answers, name)
    file = tmp_path / "numbers.json"
    names = "untouched-quantiles,untouched-counts,untouched-ordinal"
    given = ["--rows", "1000", "--repeat", "1", "--libraries", "sklearn", "--data", str(tmp_path), "--json", str(file)]
    assert main(["tasks", "--workloads", names, *given]) == 0
    tables = {table["name"]: table for table in json.loads(file.read_text())["tables"]}
    for name in ("untouched-quantiles", "untouched-counts"):
        rows = tables[name]["rows"]
        assert rows["nmes_visits" if name == "untouched-counts" else "ames"] == "no data: give --data"
        assert rows["loss / arboretum's"]["arboretum"] == 1.0
        assert rows["loss / arboretum's"]["sklearn"] > 0
    assert 0.5 < tables["untouched-quantiles"]["rows"]["bike"]["arboretum covers"] <= 1
    assert set(tables["untouched-ordinal"]["rows"].values()) == {"no data: give --data"}
