"""Averages of rounds: equal to the mean of their stages, as quick as any model, and what they bring."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Bench, timed
from benchmarks.table import Column, Table

ROWS, TABLES, ROUNDS, LAST, SEEDS = 1_000, 10, 200, 100, 5
PREDICTED, TURNS = 100_000, 21
RATES = (0.05, 0.1, 0.3)


def draw(rows: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw Friedman's first function of ten columns, with noise of standard deviation 2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, 10))
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, signal + 2 * rng.standard_normal(rows)


def steps(bench: Bench, rate: float) -> dict[str, Any]:
    """Return the settings of a boosted model that draws half of the rows for each tree."""
    rounds = max(2, ROUNDS * bench.settings().rounds // 100)
    return {"n_estimators": rounds, "learning_rate": rate, "subsample": 0.5, "early_stopping": False}


def run(bench: Bench) -> Iterator[Table]:
    """Measure the difference and the cost of an average, then the errors of averages."""
    yield cost(bench)
    yield errors(bench)


def cost(bench: Bench) -> Table:
    """Compare an average with the mean of its stages, and the time of its predictions with those of the model."""
    import arboretum as arb

    title = f"the last {LAST} of {ROUNDS} rounds against their mean; predictions of {bench.scaled(PREDICTED):,} rows"
    table = Table(
        "averages",
        title,
        [Column("difference", "largest difference", 2), Column("ratio", "time ×", 3)],
        rows_are="model",
    )
    X, y = draw(bench.scaled(ROWS), 0)
    new, _ = draw(bench.scaled(PREDICTED), 1)
    for name, more in {"constant leaves": {}, "linear leaves": {"leaf_model": "linear"}}.items():
        model = arb.BoostedTreesRegressor(**steps(bench, 0.1), **more, n_jobs=bench.settings().threads).fit(X, y)
        averaged = model.averaged_rounds(min(LAST, model.n_iter_))
        stages = np.array(list(model.staged_predict(X)))[-LAST:]
        expected = stages.mean(axis=0)
        times: dict[Any, list[float]] = {model: [], averaged: []}
        for _ in range(TURNS):
            for one, taken in times.items():
                taken.append(timed(partial(one.predict, new))[0])
        table.rows[name] = {
            "difference": float((np.abs(averaged.predict(X) - expected) / np.abs(expected)).max()),
            "ratio": float(np.median(times[averaged]) / np.median(times[model])),
        }
    return table


def errors(bench: Bench) -> Table:
    """Compare squared errors of averages with those of what they average."""
    from sklearn.linear_model import SGDRegressor

    import arboretum as arb

    title = f"change of the squared error in %, mean over {TABLES} tables of {bench.scaled(ROWS):,} rows, noise 2"
    table = Table("averages-errors", title, [Column("change", "change %", 3)], rows_are="average")
    changes: dict[str, list[float]] = {}

    def note(name: str, averaged: Any, plain: list[Any], new: NDArray[Any], truth: NDArray[Any]) -> None:
        before = float(np.mean([np.mean((one.predict(new) - truth) ** 2) for one in plain]))
        after = float(np.mean((averaged.predict(new) - truth) ** 2))
        changes.setdefault(name, []).append(100 * (after / before - 1))

    for number in range(TABLES):
        X, y = draw(bench.scaled(ROWS), 2 * number)
        new, noisy = draw(bench.scaled(5 * ROWS), 2 * number + 1)
        truth = noisy - 2 * _noise(len(noisy), 2 * number + 1)
        for rate in RATES:
            model = arb.BoostedTreesRegressor(**steps(bench, rate)).fit(X, y)
            name = f"last {LAST} of {ROUNDS} rounds, learning rate {rate}"
            note(name, model.averaged_rounds(min(LAST, model.n_iter_)), [model], new, truth)
        seeds = [arb.BoostedTreesRegressor(**steps(bench, 0.1), random_state=s).fit(X, y) for s in range(SEEDS)]
        note(f"{SEEDS} seeds, joined", arb.average(seeds), seeds, new, truth)
        line = SGDRegressor(learning_rate="constant", eta0=0.05, random_state=number)
        sgd = arb.CheckpointAverage(estimator=line, n_steps=60, n_snapshots=30).fit(X, y)
        note("30 snapshots of a line", sgd, [sgd.estimators_[-1]], new, truth)
    table.rows = {name: {"change": float(np.mean(found))} for name, found in changes.items()}
    return table


def _noise(rows: int, seed: int) -> NDArray[Any]:
    """Return the noise that ``draw`` adds with this seed."""
    rng = np.random.default_rng(seed)
    rng.uniform(size=(rows, 10))
    return np.asarray(rng.standard_normal(rows))
