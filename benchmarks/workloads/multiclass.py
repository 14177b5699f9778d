"""200,000 rows of 30 numbers, ten classes: a thousand trees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measuring import Bench
from benchmarks.table import Table
from benchmarks.task import split

ROWS, TEST_ROWS, COLUMNS, CLASSES = 200_000, 50_000, 30, 10


def run(bench: Bench) -> Iterator[Table]:
    """Each class has its own score of linear parts and products; the largest noisy score is the label."""
    rng = np.random.default_rng(10)
    rows, test_rows = bench.scaled(ROWS), bench.scaled(TEST_ROWS)
    X = rng.standard_normal((rows + test_rows, COLUMNS), dtype=np.float32)
    scores = X @ rng.normal(size=(COLUMNS, CLASSES)) * 0.4
    scores += (X[:, :15] * X[:, 15:]) @ rng.normal(size=(15, CLASSES)) * 0.4
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    y[:CLASSES] = np.arange(CLASSES)
    yield bench.training_table("multiclass", split("multiclass", X, y, rows, bench.settings()))
