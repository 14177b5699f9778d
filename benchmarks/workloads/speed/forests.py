"""Races of forests, single trees and stage-wise machines, beside scikit-learn's."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import timed
from benchmarks.rivals import FORESTS
from benchmarks.rivals.arboretum import preset
from benchmarks.table import HOME
from benchmarks.task import Settings, Task, split
from benchmarks.workloads import adaboost, dense, forests, gbm
from benchmarks.workloads.speed.racing import Options, Race, calls, fits

OURS, SCIKIT = FORESTS["arboretum"], FORESTS["sklearn"]
STUMPS_ROWS = 20_000
C45_ROWS, C45_COLUMNS, MISSING_SHARE = 20_000, 10, 0.1

Races = Iterator[tuple[str, Callable[[], Race]]]


def races(options: Options) -> Races:
    """Yield names, and what prepares each race."""
    yield "random forest: classes", lambda: fits(20.0, _classes(options), OURS, SCIKIT)
    yield "random forest: 1,000,000 numbers", lambda: fits(20.0, _numbers(options, 1_000_000, 20, 50), OURS, SCIKIT)
    yield "random forest: 20,000 numbers", lambda: fits(20.0, _numbers(options, 20_000, 28, 100), OURS, SCIKIT)
    random = {"bootstrap": False, "random_thresholds": True}
    yield "extra trees: classes", lambda: fits(8.0, _classes(options, **random), OURS, SCIKIT)
    yield "extra trees: numbers", lambda: fits(8.0, _numbers(options, 100_000, 28, 100, **random), OURS, SCIKIT)
    for rows, columns in ((4_000, 6), (100_000, 28)):
        yield f"exact tree: {rows:,} × {columns}", partial(_exact_tree, options, rows, columns)
    if options.data is not None:
        yield "exact boosting: Black Friday", partial(_exact_boosting, options)
    yield "AdaBoost: 100 stumps", partial(_stumps, options)
    yield "C4.5: missing values against none", partial(_missing, options)
    for name in ("first", "later"):
        yield f"deep forest: {name} prediction", partial(_deep, options, name == "first")


def _settings(options: Options, **changes: Any) -> Settings:
    common = {"growth": "unlimited", "min_rows": 1, "columns": "sqrt", "bootstrap": True}
    return options.settings(**{**common, **changes})


def _classes(options: Options, rows: int = forests.ROWS, **changes: Any) -> Task:
    n = options.scaled(rows)
    data = dense.generate(n + options.scaled(forests.TEST_ROWS), forests.STEEPNESS)
    return split("binary", *data, n, _settings(options, **changes))


def _numbers(options: Options, rows: int, columns: int, trees: int, **changes: Any) -> Task:
    rng, n = np.random.default_rng(1991), options.scaled(rows)
    X = rng.random((n + options.scaled(20_000), columns), dtype=np.float32)
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    y = signal + 1.5 * rng.standard_normal(len(X))
    settings = _settings(options, rounds=trees, **{"columns": 1 / 3, **changes})
    return split("regression", X, y.astype(np.float64), n, settings)


def _exact_tree(options: Options, rows: int, columns: int) -> Race:
    task = _classes(options, rows, rounds=1, bins=None, columns=1.0, bootstrap=False)
    chosen = {name: np.ascontiguousarray(getattr(task, name)[:, :columns]) for name in ("X", "X_test")}
    return fits(12.0, replace(task, **chosen), OURS, SCIKIT)


def _exact_boosting(options: Options) -> Race:
    assert options.data is not None
    settings = options.settings(growth="level", depth=gbm.DEPTH)
    _, task = next(gbm.folds(options.data, options.scaled(gbm.ROWS), settings))
    assert isinstance(task, Task)
    ours = preset("gbm", n_estimators=settings.rounds, max_depth=settings.depth, learning_rate=settings.learning_rate)
    return fits(30.0, task, ours, gbm.ScikitLearnGradientBoosting())


def _stumps(options: Options) -> Race:
    task = _classes(options, STUMPS_ROWS, growth="leaf")
    return fits(100.0, task, *adaboost.STUMPS.values())


def _missing(options: Options) -> Race:
    """Ask that C4.5, which sends a missing value down all branches, takes at most twice as long with them."""
    import arboretum as arb

    X, y = dense.generate(options.scaled(C45_ROWS), forests.STEEPNESS)
    whole = X[:, :C45_COLUMNS]
    holes = np.where(np.random.default_rng(45).random(whole.shape) < MISSING_SHARE, np.nan, whole)
    tree = arb.DecisionTreeClassifier(method="c45")
    return calls(0.5, **{HOME: partial(tree.fit, holes, y), "none": partial(tree.fit, whole, y)})


def _deep(options: Options, first: bool) -> Race:
    """Predict 20,000 rows by 100 unlimited trees, fresh from their file or warm."""
    task = _classes(options)
    X: NDArray[Any] = task.X_test[: options.scaled(20_000)]
    models = {rival.name: rival.fit(task).fitted for rival in (OURS, SCIKIT)}
    if not first:
        for model in models.values():
            model.predict_proba(X)
        return calls(6.0, **{name: partial(model.predict_proba, X) for name, model in models.items()})
    files = {name: pickle.dumps(model) for name, model in models.items()}

    def turn(file: bytes) -> dict[str, float]:
        model = pickle.loads(file)
        return {"s": timed(lambda: model.predict_proba(X))[0]}

    return Race(4.0, {name: partial(turn, file) for name, file in files.items()})
