"""Friedman's gradient boosting machine on Black Friday: the preset "gbm" against scikit-learn's, fold by fold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.duel import Problem, duel
from benchmarks.measuring import Bench
from benchmarks.real_sets import SETS, read_frame
from benchmarks.rivals.arboretum import preset
from benchmarks.rivals.base import by_target
from benchmarks.rivals.sklearn import ScikitLearn
from benchmarks.table import Table
from benchmarks.task import Settings, Task

ROWS, FOLDS, DEPTH = 10_000, 5, 10
BLACK_FRIDAY = SETS["black_friday"]


class ScikitLearnGradientBoosting(ScikitLearn):
    """GradientBoostingRegressor: every distinct value, one thread."""

    def class_name(self, task: Task) -> str:
        return by_target("GradientBoosting", task)

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        return {
            "n_estimators": wanted.rounds,
            "learning_rate": wanted.learning_rate,
            "max_depth": wanted.depth,
            "random_state": wanted.seed,
        }


def folds(folder: Path, rows: int, settings: Settings) -> Iterator[Problem]:
    """Yield unshuffled folds of the first rows, every column as the rank of its value; missing is −1."""
    from pandas import factorize
    from sklearn.model_selection import KFold

    frame = read_frame(folder / BLACK_FRIDAY.file).head(rows)
    y = frame.pop(BLACK_FRIDAY.target).to_numpy(dtype=np.float64)
    X = np.column_stack([factorize(frame[name], sort=True)[0] for name in frame.columns]).astype(np.float32)
    for fold, (train, test) in enumerate(KFold(FOLDS).split(X), start=1):
        yield f"fold {fold}", Task("regression", X[train], y[train], X[test], y[test], settings)


def run(bench: Bench) -> Iterator[Table]:
    """Compare the RMSE of every fold, and the time of all."""
    if not (bench.data and BLACK_FRIDAY.found(bench.data)):
        yield Table("gbm", "skipped: needs black_friday under --data", ())
        return
    rows, settings = bench.scaled(ROWS), bench.settings(growth="level", depth=DEPTH)
    ours = preset("gbm", n_estimators=settings.rounds, max_depth=settings.depth, learning_rate=settings.learning_rate)
    title = f"first {rows:,} rows of Black Friday, all columns as numbers, {settings.size}; RMSE"
    yield duel(bench, "gbm", title, ours, ScikitLearnGradientBoosting(), folds(bench.data, rows, settings))
