"""The same members, folds and final estimators as scikit-learn's: the same predictions, up to rounding."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Bench
from benchmarks.rivals.base import by_target
from benchmarks.table import Column, Table
from benchmarks.task import Kind, Task, split
from benchmarks.workloads import dense
from benchmarks.workloads.combining.members import Member

ROWS, COLUMNS, FOLDS = 2_000, 8, 5
KINDS: tuple[Kind, ...] = ("binary", "multiclass", "regression")
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "voting": ("Voting", {}),
    "weighted voting": ("Voting", {"weights": [1, 2, 0.5, 3]}),
    "votes": ("Voting", {"voting": "hard"}),
    "stacking": ("Stacking", {}),
    "stacking with X": ("Stacking", {"passthrough": True}),
}


def draw(bench: Bench, kind: Kind) -> Task:
    """Draw rows whose target depends on products of columns, half of them to be predicted."""
    rows = bench.scaled(ROWS)
    X = dense.generate(2 * rows)[0][:, :COLUMNS].astype(np.float64)
    signal = X[:, 0] * X[:, 1] + X[:, 2] + np.random.default_rng(5).standard_normal(len(X)) / 2
    y = signal if kind == "regression" else np.digitize(signal, [0] if kind == "binary" else [-0.5, 0.5])
    return split(kind, X, y, rows, bench.settings())


def members(task: Task) -> list[Member]:
    """Return boosted trees and a forest of arboretum, and a tree and a linear model of scikit-learn."""
    from sklearn import linear_model, tree
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import arboretum as arb

    size = {"n_estimators": task.settings.rounds, "n_jobs": task.settings.threads, "random_state": 1}
    line = linear_model.Ridge() if task.kind == "regression" else linear_model.LogisticRegression()
    return [
        ("boosted", getattr(arb, by_target("BoostedTrees", task))(**size)),
        ("forest", getattr(arb, by_target("RandomForest", task))(**size)),
        ("tree", getattr(tree, by_target("DecisionTree", task))(max_depth=6, random_state=1)),
        ("line", make_pipeline(StandardScaler(), line)),
    ]


def combined(library: str, task: Task, way: str) -> Any:
    """Return the fitted model of one library, the folds and the final estimator of a stack given."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import KFold, StratifiedKFold

    name, settings = WAYS[way]
    if name == "Voting" and task.kind != "regression":
        settings = {"voting": "soft"} | settings
    if name == "Stacking":
        final, splitter = (Ridge, KFold) if task.kind == "regression" else (LogisticRegression, StratifiedKFold)
        settings = settings | {"final_estimator": final(), "cv": splitter(FOLDS)}
    model = getattr(import_module(library), by_target(name, task))(estimators=members(task), **settings)
    return model.fit(task.X, task.y)


def answers(model: Any, task: Task, way: str) -> NDArray[Any]:
    """Return numbers, labels of votes, or probabilities."""
    return np.asarray(
        (model.predict if task.kind == "regression" or way == "votes" else model.predict_proba)(task.X_test)
    )


def run(bench: Bench) -> Iterator[Table]:
    """Compare the predictions of both libraries for each way of combining."""
    title = f"largest difference from scikit-learn's predictions, {bench.scaled(ROWS):,} rows, {FOLDS} folds"
    table = Table("equal", title, [Column(kind, kind, 2) for kind in (*KINDS, "largest")], rows_are="combination")
    for way in WAYS:
        kinds = [kind for kind in KINDS if way != "votes" or kind != "regression"]
        row = {}
        for kind in kinds:
            task = draw(bench, kind)
            ours, theirs = (
                answers(combined(library, task, way), task, way) for library in ("arboretum", "sklearn.ensemble")
            )
            row[kind] = float(np.abs(ours - theirs).max())
        table.rows[way] = row | {"largest": max(row.values())}
    table.notes.append("votes: labels; numbers: in units of a target of standard deviation 1.5")
    yield table
