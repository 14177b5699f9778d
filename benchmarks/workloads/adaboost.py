"""AdaBoost with stumps: 100,000 rows of the dense task, against scikit-learn's and error by error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import FIT, RATIO, SCORES, Bench, Row, score, timed
from benchmarks.rivals import Rival
from benchmarks.rivals.arboretum import Arboretum
from benchmarks.rivals.base import Model, by_target
from benchmarks.rivals.sklearn import ScikitLearn
from benchmarks.table import HOME, Column, Table
from benchmarks.task import Task, split
from benchmarks.workloads import dense

ROWS, TEST_ROWS = 100_000, 20_000
PATIENCE = 5.0
"""Seconds; scikit-learn takes about 45 for one turn at full size."""


class Stumps(Arboretum):
    """AdaBoostClassifier; ``bins`` of None try every distinct value, as scikit-learn does."""

    def class_name(self, task: Task) -> str:
        return by_target("AdaBoost", task)

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        return {"n_estimators": wanted.rounds, "max_bins": wanted.bins, "n_jobs": wanted.threads}


class ScikitLearnStumps(ScikitLearn):
    """AdaBoostClassifier on its default tree, a stump."""

    def class_name(self, task: Task) -> str:
        return by_target("AdaBoost", task)

    def settings(self, task: Task) -> dict[str, Any]:
        return {"n_estimators": task.settings.rounds, "random_state": task.settings.seed}


STUMPS: dict[str, Rival] = {rival.name: rival for rival in (Stumps(), ScikitLearnStumps())}


def staged_errors(model: Model) -> NDArray[np.float64]:
    """Return the share of wrong training rows after each round."""
    task = model.task
    return np.array([np.mean(labels != task.y) for labels in model.fitted.staged_predict(task.X)])


def largest_difference(errors: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
    """Return the largest relative difference over the rounds; infinity if one of them ended early."""
    if len(errors) != len(reference):
        return np.inf
    return float(np.max(np.abs(errors - reference) / reference))


def run(bench: Bench) -> Iterator[Table]:
    """Time both with our bins; compare staged errors with bins and with every distinct value."""
    rows = bench.scaled(ROWS)
    task = split("binary", *dense.generate(rows + bench.scaled(TEST_ROWS)), rows, bench.settings())
    errors: dict[str, NDArray[np.float64]] = {}

    def turn(rival: Rival) -> Row:
        stumps = STUMPS[rival.name]
        fit_s, model = timed(lambda: stumps.fit(task))
        errors[rival.name] = staged_errors(model)
        return {"fit_s": fit_s, **score(task, stumps.predict(model, task.X_test))}

    columns = (
        FIT,
        RATIO,
        *SCORES[task.kind],
        Column("staged_binned", "staged errors off, 255 bins"),
        Column("staged_exact", "every value"),
    )
    quick = replace(bench, patience=min(bench.patience, PATIENCE))
    title = f"{rows:,} × {task.X.shape[1]}, {task.settings.rounds} stumps"
    table = quick.table("adaboost", title, columns, turn, ratio_of="fit_s", among=tuple(STUMPS))
    home = table.rows.get(HOME)
    if isinstance(home, dict) and "sklearn" in errors:
        exact = staged_errors(STUMPS[HOME].fit(task.with_settings(bins=None)))
        home["staged_binned"] = largest_difference(errors[HOME], errors["sklearn"])
        home["staged_exact"] = largest_difference(exact, errors["sklearn"])
        table.notes.append("staged errors: largest relative difference of the training errors after each round")
    yield table
