"""100,000 rows of 28 numbers with two classes, and a million of 20 with a number: unlimited trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measuring import Bench
from benchmarks.table import Table
from benchmarks.task import Settings, Task, split
from benchmarks.workloads import dense, memory

ROWS, TEST_ROWS = 100_000, 20_000
REGRESSION_ROWS, REGRESSION_TEST_ROWS, REGRESSION_COLUMNS = 1_000_000, 100_000, 20
STEEPNESS = 6.0
SETTINGS = Settings(growth="unlimited", min_rows=1, columns="sqrt", bootstrap=True)
SCIKIT = ("arboretum", "sklearn")


def task(bench: Bench, **changes: Any) -> Task:
    """Return the classes of the dense workload, so steep that scikit-learn's forest reaches an AUC of 0.89."""
    rows = bench.scaled(ROWS)
    return split("binary", *dense.generate(rows + bench.scaled(TEST_ROWS), STEEPNESS), rows, bench.settings(**changes))


def regression_task(bench: Bench) -> Task:
    """Draw uniform columns and, from ten of them, a number in the manner of Friedman (1991) with noise."""
    rng = np.random.default_rng(1991)
    rows, test_rows = bench.scaled(REGRESSION_ROWS), bench.scaled(REGRESSION_TEST_ROWS)
    X = rng.random((rows + test_rows, REGRESSION_COLUMNS), dtype=np.float32)
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    signal += 5 * (X[:, 5] > X[:, 6]) + 3 * np.cos(6 * X[:, 7]) * X[:, 8] + 2 * X[:, 9]
    y = signal + 0.3 * signal.std() * rng.standard_normal(len(X))
    settings = bench.settings(rounds=max(1, bench.rounds // 2), columns=1 / 3)
    return split("regression", X, y.astype(np.float64), rows, settings)


def forest(bench: Bench) -> Iterator[Table]:
    yield bench.training_table("forest", task(bench), file=True)


def peak(bench: Bench) -> Iterator[Table]:
    yield memory.compare(bench, "forest-memory", task(bench))


def extra_trees(bench: Bench) -> Iterator[Table]:
    random = task(bench, bootstrap=False, random_thresholds=True)
    yield bench.training_table("extra-trees", random, among=SCIKIT, file=True)


def exact_tree(bench: Bench) -> Iterator[Table]:
    """Every distinct value of every column, all rows."""
    exact = task(bench, rounds=1, bins=None, columns=1.0, bootstrap=False)
    yield bench.training_table("exact-tree", exact, among=SCIKIT, file=True)


def regression(bench: Bench) -> Iterator[Table]:
    yield bench.training_table("forest-regression", regression_task(bench), among=(*SCIKIT, "ydf"))
