"""Partial dependence and permutation importance: arboretum's own way against scikit-learn's, on the same model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.family import Workload
from benchmarks.measuring import Bench, Row, timed
from benchmarks.table import Column, Table
from benchmarks.workloads import dense

ROWS, PERMUTED_ROWS, POINTS, REPEATS = 100_000, 10_000, 100, 5
COLUMNS = (
    Column("ours_s", "arboretum s"),
    Column("theirs_s", "scikit-learn s"),
    Column("ratio", "× faster"),
    Column("difference", "largest difference", 2),
)

Ask = Callable[[], Any]


def models(bench: Bench) -> Iterator[tuple[str, Any]]:
    """Yield a fitted classifier and regressor of boosting, and a forest."""
    import arboretum

    X, y = dense.generate(bench.scaled(ROWS))
    boosting = {
        "n_estimators": bench.rounds,
        "max_leaf_nodes": 31,
        "learning_rate": 0.1,
        "early_stopping": False,
        "n_jobs": bench.threads,
    }
    yield "boosting, probabilities", arboretum.BoostedTreesClassifier(**boosting).fit(X, y)
    yield "boosting, numbers", arboretum.BoostedTreesRegressor(**boosting).fit(X, X[:, 0] + y)
    forest = arboretum.RandomForestRegressor(n_estimators=bench.rounds, max_depth=10, n_jobs=bench.threads)
    yield "forest of depth 10", forest.fit(X[:20_000], y[:20_000])


def skipped(name: str) -> Table | None:
    """Return a table that says so if there is nothing to compare with."""
    return None if find_spec("sklearn") else Table(name, "skipped: needs sklearn", ())


def duel(bench: Bench, ours: Ask, theirs: Ask) -> Row:
    """Let both take turns; the best turn of each counts."""
    row: Row = {"ours_s": np.inf, "theirs_s": np.inf}
    for _ in range(bench.repeat):
        if row["theirs_s"] < bench.patience or row["theirs_s"] == np.inf:
            seconds, other = timed(theirs)
            row["theirs_s"] = min(row["theirs_s"], seconds)
        seconds, own = timed(ours)
        row["ours_s"] = min(row["ours_s"], seconds)
    return row | {"ratio": row["theirs_s"] / row["ours_s"], "difference": float(np.abs(own - other).max())}


def partial_dependence(bench: Bench) -> Iterator[Table]:
    """Compare curves of 100 points over all rows, of the same values."""
    if table := skipped("partial-dependence"):
        yield table
        return
    from sklearn import inspection

    X, _ = dense.generate(bench.scaled(ROWS))
    title = f"{len(X):,} × {X.shape[1]}, {bench.rounds} trees, {POINTS} points, scikit-learn's brute force on our model"
    table = Table("partial-dependence", title, COLUMNS, rows_are="model")
    for name, model in models(bench):

        def ours(model: Any = model) -> Any:
            return model.partial_dependence(X, 0, grid_resolution=POINTS).values[:, 0]

        def theirs(model: Any = model) -> Any:
            found = inspection.partial_dependence(model, X, [0], method="brute", grid_resolution=POINTS)
            return found["average"][0]

        table.rows[name] = duel(bench, ours, theirs)
    yield table


def permutation(bench: Bench) -> Iterator[Table]:
    """Compare importances of all columns; shuffles are drawn differently, so that the numbers differ a little."""
    if table := skipped("permutation"):
        yield table
        return
    from sklearn import inspection

    X, y = dense.generate(bench.scaled(PERMUTED_ROWS))
    title = f"{len(X):,} × {X.shape[1]}, {bench.rounds} trees, {REPEATS} shuffles a column, the same score"
    table = Table("permutation", title, COLUMNS, rows_are="model")
    for name, model in models(bench):
        target = y if hasattr(model, "classes_") else X[:, 0] + y

        def ours(model: Any = model, target: Any = target) -> Any:
            found = model.importances(X, target, n_repeats=REPEATS, max_rows=None, shap=False)
            return found.kinds["permutation"]

        def theirs(model: Any = model, target: Any = target) -> Any:
            found = inspection.permutation_importance(model, X, target, n_repeats=REPEATS, random_state=0)
            return found["importances_mean"]

        table.rows[name] = duel(bench, ours, theirs)
    yield table


WORKLOADS: dict[str, Workload] = {"partial-dependence": partial_dependence, "permutation": permutation}
