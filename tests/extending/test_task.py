"""A new task in a few lines: the command trains, evaluates and predicts by its name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.cli.shop import Run

from arboretum import tasks


class Counts(tasks.Numbers):
    """Numbers of events: neither targets nor answers are below 0."""

    def answers(self, model, X, **given):
        return np.maximum(super().answers(model, X, **given), 0.0)

    def check_target(self, y):
        wrong = super().check_target(y)
        return wrong or ("holds numbers below 0, which are not counts" if (y < 0).any() else None)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> tasks.Task:
    task = Counts(
        "counts", "counts of events", "regression", {"mae": False}, "numbers", answer="count", scored_as="regression"
    )
    monkeypatch.setitem(tasks.TASKS, task.name, task)
    return tasks.register(task)


def test_the_command_knows_a_task_by_its_name(counts: tasks.Task, run: Run, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    size = random.random(500)
    table = pa.table({"size": size, "claims": random.poisson(3 * size), "debt": -size})
    pa.parquet.write_table(table, tmp_path / "claims.parquet")
    words = ["claims.parquet", "--task", "counts", "--set", "n_estimators=20"]
    ran = run("train", *words, "-t", "claims", "--ignore", "debt", "-o", "m.arb", "--json")
    assert ran.code == 0, ran.json
    assert ran.json["task"] == "counts"
    assert "mae" in ran.json["scores"]
    assert run("evaluate", "m.arb", "claims.parquet", "--json").json["task"] == "counts"
    run("predict", "m.arb", "claims.parquet", "-o", "p.parquet")
    assert pa.parquet.read_table(tmp_path / "p.parquet")["count"].to_numpy().min() >= 0
    below = run("train", *words, "-t", "debt", "-o", "n.arb")
    assert (below.code, "the target 'debt' holds numbers below 0, which are not counts" in below.err) == (3, True)
