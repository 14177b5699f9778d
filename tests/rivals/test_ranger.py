"""The benchmarks hand tables to ranger in R, and read its answers, in the right order."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.measuring import score
from benchmarks.rivals.ranger import UntouchedRanger
from benchmarks.task import Task

if not UntouchedRanger.available():
    pytest.skip("needs R and ranger, which are not on PyPI", allow_module_level=True)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_ranger_answers_in_the_order_of_rows_and_classes(kind: str) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.choice(["a", "b", "c"], 300), "x": rng.normal(size=300)})
    X.loc[::7, "x"] = np.nan
    y = np.searchsorted(["a", "b", "c"], X["town"]) * (1 if kind != "binary" else 0.5)
    task = Task(kind, X[:200], y[:200].astype(int), X[200:], y[200:].astype(int), categorical=("town",))
    rival = UntouchedRanger()
    scores = score(task, rival.predict(rival.fit(task), task.X_test))
    assert scores.get("accuracy", 1.0) > 0.99
    assert scores.get("r2", 1.0) > 0.95
