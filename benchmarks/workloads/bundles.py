"""2,000 one-hot columns of 40 categories with 50 levels, as a compressed matrix and dense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measuring import FIT, PREDICT, RATIO, SCORES, Bench, Row, score, timed
from benchmarks.rivals import Rival
from benchmarks.table import Table
from benchmarks.task import Task, split

ROWS, TEST_ROWS, CATEGORIES, LEVELS = 200_000, 50_000, 40, 50
LIBRARIES = ("arboretum", "lightgbm", "xgboost")  # that take compressed matrices


def task(bench: Bench) -> Task:
    """Binary task; a third of the levels matter."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(2000)
    rows, test_rows = bench.scaled(ROWS), bench.scaled(TEST_ROWS)
    n, width = rows + test_rows, CATEGORIES * LEVELS
    columns = rng.integers(0, LEVELS, (n, CATEGORIES)) + LEVELS * np.arange(CATEGORIES)
    values = np.ones(n * CATEGORIES, dtype=np.float32)
    X: Any = csr_matrix((values, columns.ravel(), CATEGORIES * np.arange(n + 1)), shape=(n, width))
    signal = X @ (rng.normal(size=width) * (rng.random(width) < 1 / 3))
    y = (signal + rng.logistic(size=n) > 0).astype(np.int64)
    return split("binary", X, y, rows, bench.settings())


def compressed(bench: Bench) -> Iterator[Table]:
    yield compare(bench, "bundles", task(bench))


def dense(bench: Bench) -> Iterator[Table]:
    table = task(bench)
    full = Task(table.kind, table.X.toarray(), table.y, table.X_test.toarray(), table.y_test, table.settings)
    yield compare(bench, "bundles-dense", full)


def compare(bench: Bench, name: str, task: Task) -> Table:
    """Time training and prediction."""

    def turn(rival: Rival) -> Row:
        fit_s, model = timed(lambda: rival.fit(task))
        predict_s, predicted = timed(lambda: rival.predict(model, task.X_test))
        return {"fit_s": fit_s, "predict_ms": 1000 * predict_s, **score(task, predicted)}

    columns = (FIT, RATIO, PREDICT, *SCORES[task.kind])
    title = f"{task.shape}; predict {len(task.y_test):,} rows"
    notes = list(bench.unequal(task.settings))
    return bench.table(name, title, columns, turn, ratio_of="fit_s", among=LIBRARIES, notes=notes)
