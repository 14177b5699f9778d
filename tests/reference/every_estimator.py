"""Every public estimator with a small problem of its task, for laws that all of them keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import arboretum as arb
from arboretum.estimators.protocol import Estimator

Rows = dict[str, Any]
"""Arguments of ``fit``, each an array with an entry per row."""


def _rows(n_rows: int) -> tuple[np.random.Generator, Rows]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3)).round(1)  # with ties
    X[:, 2] = rng.integers(0, 5, n_rows)
    return rng, {"X": X}


def numbers(n_rows: int) -> Rows:
    """Numbers above 0."""
    rng, rows = _rows(n_rows)
    return {**rows, "y": np.exp(rows["X"][:, 0] / 2 + rng.normal(size=n_rows) / 4)}


def classes(n_rows: int) -> Rows:
    """Three classes."""
    rng, rows = _rows(n_rows)
    return {**rows, "y": np.array(["a", "b", "c"])[np.digitize(rows["X"][:, 0] + rng.normal(size=n_rows) / 4, [-1, 1])]}


def times(n_rows: int) -> Rows:
    """Survival times, some of them censored."""
    rng, rows = _rows(n_rows)
    time = rng.exponential(np.exp(rows["X"][:, 0])).round(1) + 0.1
    return {**rows, "y": np.column_stack([time, rng.random(n_rows) < 0.7])}


def grades(n_rows: int) -> Rows:
    """Grades of relevance, five rows per query."""
    rng, rows = _rows(n_rows)
    grade = np.digitize(rows["X"][:, 0] + rng.normal(size=n_rows) / 4, [-1, 0, 1])
    return {**rows, "y": grade, "group": np.arange(n_rows) // 5}


def effects(n_rows: int) -> Rows:
    """Outcomes of treated rows and of a control."""
    rng, rows = _rows(n_rows)
    treatment = rng.integers(0, 2, n_rows)
    outcome = rng.random(n_rows) < 0.3 + 0.4 * treatment * (rows["X"][:, 0] > 0)
    return {**rows, "y": outcome.astype(int), "treatment": treatment}


def anomalies(n_rows: int) -> Rows:
    """Rows without a target."""
    return _rows(n_rows)[1]


@dataclass(frozen=True)
class Case:
    """An estimator of a few trees and the rows of its task."""

    name: str
    params: dict[str, Any]
    problem: Callable[[int], Rows]

    def make(self, **params: Any) -> Any:
        """Return an unfitted model."""
        given = {**self.params, **params}
        return getattr(arb, self.name)(**{key: value() if callable(value) else value for key, value in given.items()})

    def fitted(self, rows: Rows, sample_weight: Any = None, **params: Any) -> Any:
        """Return a model of these rows."""
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.make(**params).fit(**rows, **weight)


def _boosted(cls: str) -> Callable[[], Any]:
    return lambda: getattr(arb, cls)(n_estimators=5)


FEW = {"n_estimators": 5}
CASES = [
    Case("AdaBoostClassifier", FEW, classes),
    Case("AdaBoostRegressor", FEW, numbers),
    Case("AdditiveBoostingClassifier", FEW, classes),
    Case("AdditiveBoostingRegressor", FEW, numbers),
    Case("BaggingClassifier", FEW, classes),
    Case("BaggingRegressor", FEW, numbers),
    Case("BoostedTreesClassifier", FEW, classes),
    Case("BoostedTreesRanker", FEW, grades),
    Case("BoostedTreesRegressor", FEW, numbers),
    Case("BoostedTreesSurvival", FEW, times),
    Case("CalibratedClassifier", {"estimator": _boosted("BoostedTreesClassifier"), "n_folds": 3}, classes),
    Case("ConformalRegressor", {"estimator": _boosted("BoostedTreesRegressor"), "n_folds": 3}, numbers),
    Case("DecisionTreeClassifier", {}, classes),
    Case("DecisionTreeRegressor", {}, numbers),
    Case("ExtraTreesClassifier", FEW, classes),
    Case("ExtraTreesRegressor", FEW, numbers),
    Case("IsolationForest", FEW, anomalies),
    Case("RandomForestClassifier", FEW, classes),
    Case("RandomForestRegressor", FEW, numbers),
    Case("RandomSurvivalForest", FEW, times),
    Case("UpliftBoostedTrees", {**FEW, "min_samples_leaf": 3}, effects),
    Case("UpliftForest", FEW, effects),
]
PUBLIC = [
    name for name in arb.__all__ if isinstance(getattr(arb, name), type) and issubclass(getattr(arb, name), Estimator)
]


def taken(rows: Rows, members: Any) -> Rows:
    """Return some of the rows, or some of them several times."""
    return {name: values[members] for name, values in rows.items()}


def answers(model: Any, X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return what a model says of rows: probabilities, scores, survival functions or predictions."""
    for method in ("predict_proba", "score_samples", "predict_survival_function", "predict"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), dtype=np.float64)
    raise AssertionError(type(model).__name__)
