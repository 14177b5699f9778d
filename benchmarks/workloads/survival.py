"""Survival on the data sets of scikit-survival: boosting by Cox's likelihood and random forests, beside its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.family import Workload
from benchmarks.measuring import FIT, RATIO, Bench, Row, better, timed
from benchmarks.table import HOME, Column, Table

RIVAL = "scikit-survival"
FOLDS = 5
SETS = {"gbsg2": "load_gbsg2", "whas500": "load_whas500", "veterans": "load_veterans_lung_cancer"}
COLUMNS = (FIT, RATIO, Column("concordance", "concordance", 4))

Maker = Callable[[int], Any]


def read(name: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return numbers, a column for each category but the first, and the structured target."""
    import pandas as pd
    from sksurv import datasets

    X, y = getattr(datasets, SETS[name])()
    return pd.get_dummies(X, drop_first=True).to_numpy(np.float64), y


def boosting(n_trees: int) -> dict[str, Maker]:
    """Return both, with trees of depth 3 on gradients and leaves of their means."""
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis

    import arboretum as arb

    def ours(seed: int) -> Any:
        return arb.BoostedTreesSurvival(
            n_estimators=n_trees,
            learning_rate=0.1,
            growth="level",
            max_depth=3,
            min_samples_leaf=1,
            min_child_weight=0.0,
            l2=0.0,
            subsample=1.0,
            max_features=1.0,
            second_order=False,
            leaf_steps=0,
            early_stopping=False,
            random_state=seed,
            n_jobs=1,
        )

    def theirs(seed: int) -> Any:
        return GradientBoostingSurvivalAnalysis(n_estimators=n_trees, learning_rate=0.1, max_depth=3, random_state=seed)

    return {HOME: ours, RIVAL: theirs}


def forests(n_trees: int) -> dict[str, Maker]:
    """Return both, with log-rank splits and leaves of three rows."""
    from sksurv.ensemble import RandomSurvivalForest

    import arboretum as arb

    settings = {"n_estimators": n_trees, "min_samples_split": 6, "min_samples_leaf": 3, "n_jobs": 1}
    return {
        HOME: lambda seed: arb.RandomSurvivalForest(**settings, random_state=seed),
        RIVAL: lambda seed: RandomSurvivalForest(**settings, random_state=seed),
    }


def turn(make: Maker, X: NDArray[np.float64], y: NDArray[Any], seed: int) -> Row:
    """Fit and judge every fold; the time of the quickest fold counts."""
    import arboretum as arb

    event = y[y.dtype.names[0]]
    order = np.lexsort((np.random.default_rng(seed).random(len(y)), event))
    fold = np.empty(len(y), dtype=np.int64)
    fold[order] = np.arange(len(y)) % FOLDS  # the same share of events in each
    seconds, concordance = [], []
    for k in range(FOLDS):
        kept, out = fold != k, fold == k
        spent, model = timed(lambda kept=kept: make(seed).fit(X[kept], y[kept]))
        seconds.append(spent)
        concordance.append(arb.metrics.concordance_index(y[out], model.predict(X[out])))
    return {"fit_s": min(seconds), "concordance": float(np.mean(concordance))}


def compare(makers: Callable[[int], dict[str, Maker]], what: str, bench: Bench) -> Iterator[Table]:
    """Let both take turns on each set."""
    if find_spec("sksurv") is None:
        title = f"{what}: {RIVAL} is not installed, and its data sets come with it"
        yield Table(f"survival-{what}", title, (), {RIVAL: "not installed"})
        return
    n_trees = bench.settings().rounds
    for name in SETS:
        X, y = read(name)
        best: dict[str, Row] = {}
        scores: dict[str, list[float]] = {}
        for seed in range(bench.repeat):
            for library, make in makers(n_trees).items():
                row = turn(make, X, y, seed)
                scores.setdefault(library, []).append(row["concordance"])
                best[library] = better(best.get(library, row), row)
        for library, row in best.items():
            row["concordance"] = float(np.mean(scores[library]))
        title = f"{name}, {len(y)} × {X.shape[1]}, {n_trees} trees, {FOLDS} folds, mean of {bench.repeat} splits"
        table = Table(f"survival-{what}-{name}", title, COLUMNS, dict(best))
        table.add_ratio("fit_s")
        yield table


WORKLOADS: dict[str, Workload] = {
    "survival-boosting": partial(compare, boosting, "boosting"),
    "survival-forests": partial(compare, forests, "forests"),
}
