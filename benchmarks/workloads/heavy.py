"""Heavy tails: a log-normal target, and one row that weighs as much as a million."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.measuring import Bench
from benchmarks.table import Table
from benchmarks.task import Task, split

ROWS, TEST_ROWS, COLUMNS = 200_000, 100_000, 10
SIGMA = 3.0


def task(bench: Bench) -> Task:
    """Draw log y with standard deviation 3, four fifths of its variance explained by the columns."""
    rng = np.random.default_rng(3)
    rows, test_rows = bench.scaled(ROWS), bench.scaled(TEST_ROWS)
    X = rng.standard_normal((rows + test_rows, COLUMNS), dtype=np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + 0.5 * X[:, 4]
    signal = (signal - signal.mean()) / signal.std()
    y = np.exp(SIGMA * (np.sqrt(0.8) * signal + np.sqrt(0.2) * rng.standard_normal(len(X))))
    return split("regression", X, y, rows, bench.settings())


def tail(bench: Bench) -> Iterator[Table]:
    yield bench.training_table("heavy-tail", task(bench))


def weight(bench: Bench) -> Iterator[Table]:
    plain = task(bench)
    weight = np.ones(len(plain.y))
    weight[0] = 1e6
    yield bench.training_table("heavy-weight", replace(plain, weight=weight))
