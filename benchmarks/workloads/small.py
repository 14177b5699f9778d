"""1,000 rows: what is left when the data costs nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measuring import Bench
from benchmarks.table import Table
from benchmarks.task import Settings, Task, split

ROWS, TEST_ROWS, COLUMNS = 1_000, 1_000, 20
TURNS_PER_REPEAT = 5


def task(settings: Settings) -> Task:
    """Return the task; its size never changes."""
    rng = np.random.default_rng(20)
    X = rng.standard_normal((ROWS + TEST_ROWS, COLUMNS), dtype=np.float32)
    signal = 2 * X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3]
    y = (signal + 0.5 * rng.logistic(size=len(X)) > 0).astype(np.int64)
    return split("binary", X, y, ROWS, settings)


def run(bench: Bench) -> Iterator[Table]:
    """Take more turns than the long workloads: one turn is short and easily disturbed."""
    yield bench.training_table("small", task(bench.settings()), repeat=TURNS_PER_REPEAT * bench.repeat)
