"""The report: seconds and size of the page for large tables of several tasks; no rival writes one of a single call."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Bench, timed
from benchmarks.table import Column, Table

ROWS, COLUMNS = 100_000, 28
ROWS_A_QUERY = 20
Rows = NDArray[np.float64]


def run(bench: Bench) -> Iterator[Table]:
    """Write a report of each task, with training rows as many as those it is judged by."""
    columns = (Column("seconds", "s"), Column("megabytes", "MB"))
    n_rows = bench.scaled(ROWS)
    table = Table("report", f"{n_rows:,} × {COLUMNS} rows and as many to train on", columns, rows_are="task")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in TASKS.items():
            generator = np.random.default_rng(2024)
            X, X_train = (generator.normal(size=(n_rows, COLUMNS)) for _ in range(2))
            model, given = make(bench, generator, X, X_train)
            path = Path(folder) / f"{name}.html"
            seconds = min(timed(lambda: model.report(X, path=path, **given))[0] for _ in range(bench.repeat))  # noqa: B023
            table.rows[name] = {"seconds": seconds, "megabytes": path.stat().st_size / 1e6}
    yield table


def _signal(X: Rows) -> Rows:
    return np.asarray(X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]))


def _sized(bench: Bench) -> dict[str, Any]:
    return {"n_estimators": bench.rounds, "n_jobs": bench.threads}


def _two_classes(bench: Bench, generator: Any, X: Rows, X_train: Rows) -> tuple[Any, dict[str, Any]]:
    import arboretum

    y, y_train = (_signal(part) + generator.logistic(size=len(part)) > 0 for part in (X, X_train))
    model = arboretum.BoostedTreesClassifier(**_sized(bench)).fit(X_train, y_train)
    return model, {"y": y, "X_train": X_train, "y_train": y_train}


def _five_classes(bench: Bench, generator: Any, X: Rows, X_train: Rows) -> tuple[Any, dict[str, Any]]:
    import arboretum

    noisy = (_signal(part) + generator.normal(size=len(part)) for part in (X, X_train))
    y, y_train = (np.digitize(part, [-2, -0.5, 0.5, 2]) for part in noisy)
    model = arboretum.BoostedTreesClassifier(**_sized(bench)).fit(X_train, y_train)
    return model, {"y": y, "X_train": X_train, "y_train": y_train}


def _numbers(bench: Bench, generator: Any, X: Rows, X_train: Rows) -> tuple[Any, dict[str, Any]]:
    import arboretum

    y, y_train = (_signal(part) + generator.normal(size=len(part)) for part in (X, X_train))
    model = arboretum.BoostedTreesRegressor(**_sized(bench)).fit(X_train, y_train)
    return model, {"y": y, "X_train": X_train, "y_train": y_train}


def _queries(bench: Bench, generator: Any, X: Rows, X_train: Rows) -> tuple[Any, dict[str, Any]]:
    import arboretum

    noisy = (_signal(part) + generator.normal(size=len(part)) for part in (X, X_train))
    y, y_train = (np.digitize(part, [-1, 0, 1, 2]) for part in noisy)
    group = np.arange(len(X)) // ROWS_A_QUERY
    model = arboretum.BoostedTreesRanker(**_sized(bench)).fit(X_train, y_train, group)
    return model, {"y": y, "group": group, "X_train": X_train, "y_train": y_train, "group_train": group}


def _treatments(bench: Bench, generator: Any, X: Rows, X_train: Rows) -> tuple[Any, dict[str, Any]]:
    import arboretum

    arms = [generator.integers(0, 2, len(part)) for part in (X, X_train)]
    pairs = zip((X, X_train), arms, strict=True)
    y, y_train = (
        (generator.random(len(part)) < 0.2 + 0.2 * arm * (_signal(part) > 0)).astype(int) for part, arm in pairs
    )
    model = arboretum.UpliftForest(**_sized(bench)).fit(X_train, y_train, arms[1])
    train = {"X_train": X_train, "y_train": y_train, "treatment_train": arms[1]}
    return model, {"y": y, "treatment": arms[0], **train}


TASKS: dict[str, Callable[[Bench, Any, Rows, Rows], tuple[Any, dict[str, Any]]]] = {
    "binary": _two_classes,
    "multiclass": _five_classes,
    "regression": _numbers,
    "ranking": _queries,
    "uplift": _treatments,
}
