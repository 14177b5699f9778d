"""Prediction: 100,000 rows at once, and one row at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measuring import PREDICT, RATIO, Bench, Row, one_row_us, single_rows, timed
from benchmarks.rivals import Model, Rival
from benchmarks.table import Column, Table
from benchmarks.task import Task
from benchmarks.workloads import dense

ROWS = 100_000
TURNS_PER_REPEAT = 5


def compare(bench: Bench, name: str, whole: Task) -> Table:
    """Fit once a library, then take turns predicting."""
    task = whole.head(bench.scaled(ROWS))
    X = task.X_test[: bench.scaled(ROWS)]
    rows32, rows64 = single_rows(X), single_rows(X, np.float64)
    models: dict[str, Model] = {}

    def turn(rival: Rival) -> Row:
        model = models.get(rival.name) or models.setdefault(rival.name, rival.fit(task))
        seconds, _ = timed(lambda: rival.predict(model, X))
        return {
            "predict_ms": 1000 * seconds,
            "row_us": one_row_us(rival, model, rows32),
            "row64_us": one_row_us(rival, model, rows64),
        }

    columns = (
        PREDICT,
        RATIO,
        Column("row_us", "one row µs, float32"),
        Column("row64_us", "one row µs, float64"),
    )
    title = f"{len(X):,} × {X.shape[1]} float32, {task.settings.rounds} trees of {task.settings.shape}"
    notes = list(bench.unequal(task.settings))
    repeat = TURNS_PER_REPEAT * bench.repeat
    return bench.table(name, title, columns, turn, ratio_of="predict_ms", repeat=repeat, notes=notes)


def leaves31(bench: Bench) -> Iterator[Table]:
    yield compare(bench, "predict-leaves31", dense.task(bench))


def symmetric6(bench: Bench) -> Iterator[Table]:
    yield compare(bench, "predict-symmetric6", dense.task(bench, growth="symmetric"))
