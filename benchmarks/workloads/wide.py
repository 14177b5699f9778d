"""50,000 rows of 1,000 numbers: histograms that do not fit the first caches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measuring import Bench
from benchmarks.table import Table
from benchmarks.task import split

ROWS, TEST_ROWS, COLUMNS = 50_000, 20_000, 1_000


def run(bench: Bench) -> Iterator[Table]:
    """Binary task; 60 of the columns matter, alone and in pairs."""
    rng = np.random.default_rng(1000)
    rows, test_rows = bench.scaled(ROWS), bench.scaled(TEST_ROWS)
    X = rng.standard_normal((rows + test_rows, COLUMNS), dtype=np.float32)
    signal = X[:, 0:400:10] @ rng.normal(size=40) * 0.4 + (X[:, 1:201:20] * X[:, 2:202:20]).sum(axis=1) * 0.3
    y = (signal + rng.logistic(size=len(X)) > 0).astype(np.int64)
    yield bench.training_table("wide", split("binary", X, y, rows, bench.settings()))
