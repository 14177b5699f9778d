"""Races of what a fitted model does: single rows, unknown categories, importances, SHAP values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import perf_counter_ns
from typing import Any

import numpy as np

from benchmarks.table import HOME
from benchmarks.workloads import dense
from benchmarks.workloads.speed.racing import Options, Race, calls, within

ROW_CALLS = 2_000
LIMITS_US = {"array": 4.0, "dict": 25.0, "frame": 25.0}
LEVELS = 500
OBLIQUE_DEPTH = 4  # the games of a leaf can double with each oblique condition above it

Races = Iterator[tuple[str, Callable[[], Race]]]


def races(options: Options) -> Races:
    """Yield names, and what prepares each race."""
    for form in LIMITS_US:
        yield f"one row: {form}", partial(_one_row, options, form)
    yield "unknown categories against known ones", partial(_unknown, options)
    yield "permutation importances", partial(_permutation, options)
    yield "SHAP values: oblique forest against plain", partial(_oblique_shap, options)


def _one_row(options: Options, form: str) -> Race:
    import pandas as pd

    import arboretum as arb

    rng = np.random.default_rng(0)
    X, y = dense.generate(options.scaled(20_000))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["word"] = rng.choice(["a", "b", "c"], len(X))
    model = arb.BoostedTreesClassifier(n_estimators=100, early_stopping=False, n_jobs=options.threads)
    model.fit(X if form == "array" else frame, y)
    rows = {
        "array": [np.array(X[i : i + 1]) for i in range(100)],
        "dict": [{name: [value] for name, value in frame.iloc[i].items()} for i in range(100)],
        "frame": [frame.iloc[i : i + 1] for i in range(100)],
    }[form]
    predict: Callable[[Any], Any] = model.predict_proba

    def turn() -> dict[str, float]:
        times = []
        for number in range(ROW_CALLS):
            row = rows[number % len(rows)]
            start = perf_counter_ns()
            predict(row)
            times.append(perf_counter_ns() - start)
        return {"s": median(times) / 1e9}

    return within(LIMITS_US[form] / 1e6, turn)


def _unknown(options: Options) -> Race:
    """Predict words that training never saw, and words that it saw."""
    import pandas as pd

    import arboretum as arb

    rng, n = np.random.default_rng(1), options.scaled(20_000)
    known = pd.DataFrame({f"c{j}": rng.integers(0, LEVELS, n).astype(str) for j in range(5)})
    for j in range(5):
        known[f"x{j}"] = rng.standard_normal(n)
    effect = rng.standard_normal(LEVELS)
    y = (effect[known["c0"].astype(int)] + known["x0"] + rng.logistic(size=n) > 0).astype(int)
    deep: dict[str, Any] = {"max_features": "sqrt", "min_samples_leaf": 1}
    model = arb.RandomForestClassifier(n_estimators=100, n_jobs=options.threads, **deep).fit(known, y)
    unknown = known.assign(**{f"c{j}": known[f"c{j}"] + " new" for j in range(5)})
    model.predict_proba(known)
    return calls(1.0, **{HOME: lambda: model.predict_proba(unknown), "known": lambda: model.predict_proba(known)})


def _permutation(options: Options) -> Race:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.inspection import permutation_importance

    import arboretum as arb

    X, y = dense.generate(options.scaled(20_000), 6.0)
    same: dict[str, Any] = {"n_estimators": 100, "max_features": "sqrt", "min_samples_leaf": 1, "random_state": 0}
    ours = arb.RandomForestClassifier(**same, n_jobs=options.threads).fit(X, y)
    its = RandomForestClassifier(**same, n_jobs=options.threads).fit(X, y)
    few = slice(0, options.scaled(5_000))
    return calls(
        10.0,
        **{
            HOME: lambda: ours.importances(X[few], y[few], n_repeats=5, shap=False),
            "sklearn": lambda: permutation_importance(its, X[few], y[few], n_repeats=5, n_jobs=1, random_state=0),
        },
    )


def _oblique_shap(options: Options) -> Race:
    """Explain rows by two forests of as many nodes, with and without sums of columns."""
    import arboretum as arb

    X, y = dense.generate(options.scaled(20_000), 6.0)
    few = X[: options.scaled(500)]

    def explaining(oblique: bool) -> Callable[[], Any]:
        forest = arb.RandomForestClassifier(
            n_estimators=50, max_depth=OBLIQUE_DEPTH, oblique=oblique, n_jobs=options.threads, random_state=0
        )
        return partial(forest.fit(X, y).explain, few)

    return calls(None, **{HOME: explaining(True), "plain": explaining(False)})
