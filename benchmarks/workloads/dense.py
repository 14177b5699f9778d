"""A million rows of 28 numbers with two classes: the everyday problem, in the manner of HIGGS."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Bench
from benchmarks.table import Table
from benchmarks.task import Scale, Settings, Task, split

ROWS, TEST_ROWS = 1_000_000, 200_000
SETTINGS = Settings()


@cache
def generate(rows: int, steepness: float = 1.2, seed: int = 28) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw normal, skewed, angular and counted columns; log-odds of products, steps, waves and noise.

    The steeper, the nearer are the classes to a function of the columns.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 28), dtype=np.float32)
    X[:, 10:16] = np.exp(0.6 * X[:, 10:16])
    X[:, 16:20] = rng.uniform(-np.pi, np.pi, (rows, 4))
    X[:, 20:22] = rng.poisson(2.0, (rows, 2))
    mass = np.sqrt(2 * X[:, 10] * X[:, 11] * (1.05 - np.cos(X[:, 16] - X[:, 17])))
    log_odds = (
        0.9 * (X[:, 0] + 0.6) * (X[:, 1] - 0.6)
        + 0.7 * np.sin(2 * X[:, 2]) * (X[:, 3] + 0.8)
        + 1.2 * ((X[:, 4] > 0.3) & (X[:, 5] < 0.5))
        + 0.8 * np.abs(X[:, 6] - X[:, 7] + 0.5)
        - 1.1 * np.abs(mass - 1.3)
        + 0.3 * (X[:, 20] - X[:, 21])
        + 0.4 * X[:, 12] * (X[:, 8] > 0)
        - 0.1
        + 0.5 * rng.standard_normal(rows, dtype=np.float32)
    )
    return X, (rng.random(rows) < 1 / (1 + np.exp(-steepness * log_odds))).astype(np.int64)


def task(run: Scale, **changes: Any) -> Task:
    """Return the task at the scale of this run."""
    rows = run.scaled(ROWS)
    return split("binary", *generate(rows + run.scaled(TEST_ROWS)), rows, run.settings(**changes))


def leaves31(bench: Bench) -> Iterator[Table]:
    yield bench.training_table("dense-leaves31", task(bench, leaves=31))


def leaves255(bench: Bench) -> Iterator[Table]:
    yield bench.training_table("dense-leaves255", task(bench, leaves=255))


def symmetric6(bench: Bench) -> Iterator[Table]:
    yield bench.training_table("dense-symmetric6", task(bench, growth="symmetric", depth=6))
