"""The same model for any number of threads: every preset, every sampling, every option that draws or adds up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measuring import Bench, Row
from benchmarks.rivals import Rival
from benchmarks.rivals.arboretum import ArboretumDefaults
from benchmarks.table import HOME, Column, Table
from benchmarks.task import Task

ROWS = (20_000, 80_000)
"""Sums of up to 65,536 rows are kept in another form than those of more."""
FEWEST_ROWS = 3_000
"""Fewer would be fitted by one thread whatever is asked."""
NUMBERS, LEVELS = 10, (4, 40, 400)
THREADS = (1, 2, 3, 8)
WITHOUT_SHARE = ("goss", "bayesian")
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "columns": {"max_features": 0.5, "colsample_tree": 0.8, "colsample_level": 0.8},
    "dart": {"dart_rate": 0.2, "dart_skip": 0.0},
    "trees_per_round": {"trees_per_round": 3, "subsample": 0.5},
    "prune": {"prune": True, "min_gain": 1.0},
    "second_order=False": {"second_order": False},
    "leaf_steps": {"leaf_steps": 5},
    "ordered_boosting": {"ordered_boosting": 2},
    "score_noise": {"score_noise": 1.0},
    "category statistics": {"category_levels": 5, "category_combinations": 2},
    "linear leaves": {"leaf_model": "linear"},
}


def variants(rounds: int) -> dict[str, dict[str, Any]]:
    """Return the settings of every row of the table."""
    from arboretum import presets
    from arboretum.ensembles.boosting.row_sampling import SAMPLINGS

    samplings = {name: {"sampling": name} | ({} if name in WITHOUT_SHARE else {"subsample": 0.5}) for name in SAMPLINGS}
    named = {
        **{f"preset {name}": switches for name, switches in presets().items()},
        **{f"sampling {name}": settings for name, settings in samplings.items()},
        **OPTIONS,
    }
    return {name: settings | {"n_estimators": rounds} for name, settings in named.items()}


def draw(bench: Bench, rows: int) -> dict[str, Task]:
    """Draw numbers with holes and strings of few and of many levels; a class and a number that depend on both."""
    import pandas as pd

    rng = np.random.default_rng(8)
    numbers = rng.standard_normal((rows, NUMBERS)).astype(np.float32)
    codes = {count: rng.integers(0, count, rows) for count in LEVELS}
    signal = numbers[:, 0] * numbers[:, 1] + sum(rng.standard_normal(count)[code] for count, code in codes.items())
    numbers[rng.random(numbers.shape) < 0.05] = np.nan
    X = pd.DataFrame(numbers, columns=[f"number {i}" for i in range(NUMBERS)])
    X = X.assign(**{f"one of {count}": [f"level {i}" for i in code] for count, code in codes.items()})
    y = signal + rng.logistic(size=rows)
    return {
        f"classes, {rows:,}": Task("binary", X, (y > 0).astype(np.int64), X[:1], y[:1], bench.settings()),
        f"numbers, {rows:,}": Task("regression", X, y, X[:1], y[:1], bench.settings()),
    }


def run(bench: Bench) -> Iterator[Table]:
    """Count the different fingerprints of one model over all numbers of threads."""
    if not bench.installed((HOME,)):
        yield Table("determinism", f"skipped: {HOME} is not among --libraries", ())
        return
    tasks: dict[str, Task] = {}
    for rows in ROWS:
        tasks |= draw(bench, max(FEWEST_ROWS, bench.scaled(rows)))

    def turn(rival: Rival) -> Row:
        def marks(task: Task) -> set[str]:
            return {rival.fit(task.with_settings(threads=threads)).fitted.fingerprint() for threads in THREADS}

        counts = {name: float(len(marks(task))) for name, task in tasks.items()}
        return counts | {"most": max(counts.values())}

    title = f"different fingerprints over {', '.join(map(str, THREADS))} threads, by target and rows"
    table = Table("determinism", title, [Column(name, name, 1) for name in tasks], rows_are="settings")
    for name, settings in variants(bench.rounds).items():
        rival = ArboretumDefaults(**settings)
        table.rows[name] = bench.measure(f"determinism {name}", [rival], 1, turn, bench.threads)[HOME]
    yield table
