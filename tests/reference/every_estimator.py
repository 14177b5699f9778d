"""Every public estimator with a small problem of its task, for laws that all of them keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import arboretum as arb
from arboretum.estimators.protocol import Estimator
from arboretum.losses import LambdaMart

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


def two_classes(n_rows: int) -> Rows:
    """Two classes."""
    rows = numbers(n_rows)
    return {**rows, "y": rows["y"] > 1}


def grades_alone(n_rows: int) -> Rows:
    """Classes that have an order."""
    rows = grades(n_rows)
    return {"X": rows["X"], "y": rows["y"]}


def several_numbers(n_rows: int) -> Rows:
    """Two numbers per row."""
    rows = numbers(n_rows)
    return {**rows, "y": np.column_stack([rows["y"], rows["X"][:, 1] - rows["y"]])}


def several_classes(n_rows: int) -> Rows:
    """Two labels per row."""
    rows = several_numbers(n_rows)
    return {**rows, "y": rows["y"] > 0.7}


def three_arms(n_rows: int) -> Rows:
    """Outcomes of two treatments and of a control."""
    rows = effects(n_rows)
    return {**rows, "treatment": np.array(["control", "mail", "visit"])[np.arange(n_rows) % 3]}


def anomalies(n_rows: int) -> Rows:
    """Rows without a target."""
    return _rows(n_rows)[1]


@dataclass(frozen=True)
class Case:
    """An estimator of a few trees and the rows of its task."""

    name: str
    params: dict[str, Any]
    problem: Callable[[int], Rows]

    def __str__(self) -> str:
        told = [f"{key}={value.__name__ if callable(value) else value}" for key, value in self.params.items()]
        return f"{self.name}-{self.problem.__name__}-{'-'.join(told)}"

    def takes(self, name: str) -> bool:
        """Whether the estimator has this parameter."""
        return name in self.make().get_params(deep=False)

    def make(self, **params: Any) -> Any:
        """Return an unfitted model."""
        given = {**self.params, **params}
        return getattr(arb, self.name)(**{key: value() if callable(value) else value for key, value in given.items()})

    def fitted(self, rows: Rows, sample_weight: Any = None, **params: Any) -> Any:
        """Return a model of these rows."""
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.make(**params).fit(**rows, **weight)


def _member(cls: str, **params: Any) -> Callable[[], Any]:
    def make() -> Any:
        return getattr(arb, cls)(**params)

    make.__name__ = cls
    return make


def _boosted(cls: str) -> Callable[[], Any]:
    return _member(cls, n_estimators=5)


def _pair(kind: str) -> Callable[[], Any]:
    """Return a maker of a tree and a few rounds of boosting."""

    def make() -> Any:
        boosted = getattr(arb, f"BoostedTrees{kind}")(n_estimators=5, min_samples_leaf=1)
        return [("tree", getattr(arb, f"DecisionTree{kind}")(max_depth=3)), ("boosted", boosted)]

    make.__name__ = f"pair of {kind}s"
    return make


def _combined(name: str, kind: str, problem: Callable[[int], Rows], **params: Any) -> Case:
    return Case(f"{name}{kind}", {"estimators": _pair(kind), **params}, problem)


def _selection(kind: str, problem: Callable[[int], Rows], **params: Any) -> Case:
    return Case(
        "EnsembleSelection", {"estimators": _pair(kind), "prefit": False, "cv": 3, "n_steps": 5, **params}, problem
    )


def _two_learners() -> list[Any]:
    """Return a learner of several outputs, and one that is fitted to each."""
    return [arb.DecisionTreeRegressor(max_leaf_nodes=4), arb.AdaBoostRegressor(n_estimators=2, bootstrap=False)]


_quantiles = _member("BoostedTreesRegressor", n_estimators=5, loss="quantile", quantile=[0.1, 0.9])

_forest = _boosted("RandomForestRegressor")


def _boosts() -> Any:
    shapes = {"leaf": {}, "symmetric": {"growth": "symmetric"}}
    return [(name, arb.BoostedTreesClassifier(n_estimators=5, **params)) for name, params in shapes.items()]


def _rankers() -> Any:
    return [(loss, arb.BoostedTreesRanker(n_estimators=5, loss=loss)) for loss in ("lambdamart", "listwise")]


def _survivals() -> Any:
    forest = arb.RandomSurvivalForest(n_estimators=5)
    return [("boosted", arb.BoostedTreesSurvival(n_estimators=5, min_samples_leaf=1)), ("forest", forest)]


def _failure_times() -> Any:
    return [*_survivals(), ("aft", arb.BoostedTreesSurvival(n_estimators=5, loss="aft"))]


FEW = {"n_estimators": 5}
CASES = [
    Case("AdaBoostClassifier", FEW, classes),
    Case("AdaBoostRegressor", FEW, numbers),
    Case("AdditiveBoostingClassifier", FEW, classes),
    Case("AdditiveBoostingRegressor", FEW, numbers),
    Case("BaggingClassifier", FEW, classes),
    Case("BaggingRegressor", FEW, numbers),
    _combined("Blending", "Classifier", classes),
    _combined("Blending", "Regressor", numbers),
    Case("BoostedTreesClassifier", FEW, classes),
    Case("BoostedTreesRanker", FEW, grades),
    Case("BoostedTreesRegressor", FEW, numbers),
    Case("BoostedTreesSurvival", FEW, times),
    Case("CalibratedClassifier", {"estimator": _boosted("BoostedTreesClassifier"), "n_folds": 3}, classes),
    Case("CheckpointAverage", {"estimator": _boosted("BoostedTreesClassifier"), "n_snapshots": 3}, classes),
    Case("ConformalRegressor", {"estimator": _boosted("BoostedTreesRegressor"), "n_folds": 3}, numbers),
    Case("DecisionTreeClassifier", {}, classes),
    Case("DecisionTreeRegressor", {}, numbers),
    _selection("Classifier", classes),
    Case("ExtraTreesClassifier", FEW, classes),
    Case("ExtraTreesRegressor", FEW, numbers),
    Case("IsolationForest", FEW, anomalies),
    Case("RandomForestClassifier", FEW, classes),
    Case("RandomForestRegressor", FEW, numbers),
    Case("RandomSurvivalForest", FEW, times),
    _combined("Stacking", "Classifier", classes, cv=3),
    Case("StackingRanker", {"estimators": _rankers, "cv": 3}, grades),
    _combined("Stacking", "Regressor", numbers, cv=3),
    Case("StackingSurvival", {"estimators": _survivals, "cv": 3}, times),
    Case("UpliftBoostedTrees", {**FEW, "min_samples_leaf": 3}, effects),
    Case("UpliftForest", FEW, effects),
    _combined("Voting", "Classifier", classes),
    _combined("Voting", "Regressor", numbers),
]


def _options(name: str, problem: Callable[[int], Rows], *options: dict[str, Any]) -> list[Case]:
    return [Case(name, {**FEW, **given}, problem) for given in options]


# Other targets and options, for laws that depend on what a model holds: losses, leaves, members, bags.
VARIANTS = [
    *_options("AdaBoostClassifier", two_classes, {}, {"estimator": _boosted("BoostedTreesClassifier")}),
    *_options("AdaBoostClassifier", two_classes, {"bootstrap": True}),
    *_options("AdaBoostClassifier", classes, {"bootstrap": True}),
    *_options("AdaBoostClassifier", classes, {"estimator": _boosted("BoostedTreesClassifier"), "bootstrap": True}),
    *_options("AdaBoostRegressor", numbers, {"bootstrap": False, "loss": "square"}),
    *_options("AdaBoostRegressor", numbers, {"estimator": _member("RandomForestRegressor", n_estimators=2)}),
    *_options("AdditiveBoostingClassifier", two_classes, {}, {"subsample": 0.7}, {"coefficients": "all"}),
    *_options("AdditiveBoostingClassifier", classes, {"coefficients": "all", "init": "zero"}),
    *_options("AdditiveBoostingRegressor", numbers, {"loss": "huber", "selection": "cycle"}, {"early_stopping": True}),
    *_options("AdditiveBoostingRegressor", numbers, {"coefficients": "all", "learning_rate": 1.0}, {"init": "zero"}),
    *_options("AdditiveBoostingRegressor", several_numbers, {}, {"estimators": _two_learners, "selection": "cycle"}),
    *_options("BaggingClassifier", classes, {"estimator": _boosted("BoostedTreesClassifier")}),
    *_options("BaggingRegressor", numbers, {"estimator": _boosted("BoostedTreesRegressor"), "max_features": 0.5}),
    *_options("BoostedTreesClassifier", two_classes, {}, {"growth": "symmetric", "subsample": 0.7}),
    *_options("BoostedTreesClassifier", classes, {"vector_leaves": True}, {"category_levels": 1}),
    *_options("BoostedTreesClassifier", grades_alone, {"loss": "ordinal"}),
    *_options("BoostedTreesClassifier", several_classes, {}, {"vector_leaves": False}),
    *_options("BoostedTreesClassifier", classes, {"leaf_model": "linear"}),
    *_options("BoostedTreesClassifier", grades_alone, {"loss": "ordinal", "average_rounds": 3}),
    *_options("BoostedTreesRanker", grades, {"loss": "pairwise"}, {"loss": "listwise", "subsample": 0.5}),
    *_options("BoostedTreesRanker", grades, {"loss": LambdaMart(metric="map", truncation=None)}),
    *_options("BoostedTreesRegressor", numbers, {"loss": "poisson"}, {"loss": "quantile", "quantile": [0.2, 0.8]}),
    *_options("BoostedTreesRegressor", numbers, {"leaf_model": "linear"}, {"category_levels": 1, "category_orders": 2}),
    *_options("BoostedTreesRegressor", numbers, {"early_stopping": True}, {"learning_rate": "auto"}),
    *_options("BoostedTreesRegressor", several_numbers, {}),
    *_options("BoostedTreesSurvival", times, {"loss": "aft"}, {"loss": "aft", "aft_distribution": "logistic"}),
    _combined("Blending", "Regressor", numbers, cv=0.3, refit=True),
    Case("CalibratedClassifier", {"estimator": _boosted("RandomForestClassifier"), "calibration": "split"}, classes),
    Case("CalibratedClassifier", {"estimator": _boosted("RandomForestClassifier"), "calibration": "oob"}, two_classes),
    Case("CheckpointAverage", {"estimator": _boosted("RandomForestClassifier"), "every": 2}, classes),
    Case("CheckpointAverage", {"estimator": _member("AdaBoostClassifier", n_estimators=5)}, two_classes),
    Case("ConformalRegressor", {"estimator": _boosted("BoostedTreesRegressor"), "calibration": "split"}, numbers),
    Case("ConformalRegressor", {"estimator": _boosted("RandomForestRegressor"), "calibration": "oob"}, numbers),
    Case("ConformalRegressor", {"estimator": _quantiles, "n_folds": 3}, numbers),
    Case("DecisionTreeClassifier", {"method": "c45"}, classes),
    Case("DecisionTreeClassifier", {"ccp_alpha": 0.01}, two_classes),
    Case("DecisionTreeRegressor", {"criterion": "absolute_error"}, numbers),
    *_options("ExtraTreesRegressor", numbers, {"bootstrap": True, "oblique": True}),
    *_options("IsolationForest", anomalies, {"extension": "full", "contamination": 0.1}),
    *_options("RandomForestClassifier", two_classes, {"bootstrap": "balanced", "voting": "hard"}, {"keep_bags": True}),
    *_options("RandomForestClassifier", several_classes, {"criterion": "entropy"}),
    *_options("RandomForestRegressor", numbers, {"oob_score": True, "n_estimators": 20}),
    *_options("RandomForestRegressor", several_numbers, {"bootstrap": False}),
    *_options("RandomSurvivalForest", times, {"bootstrap": False}),
    _selection("Regressor", numbers, n_bags=1),
    _combined("Stacking", "Classifier", two_classes, cv=3, stack_method="decision_function", estimators=_boosts),
    _combined("Stacking", "Classifier", classes, cv=2, final_estimator=_boosted("BoostedTreesClassifier")),
    _combined("Stacking", "Regressor", numbers, cv=2, refit=False, final_estimator=_forest, passthrough=True),
    _combined("Stacking", "Regressor", several_numbers, cv=2),
    Case("StackingRanker", {"estimators": _rankers, "cv": 2, "refit": False, "scoring": "map"}, grades),
    Case("StackingSurvival", {"estimators": _failure_times, "cv": 2, "refit": False}, times),
    Case("UpliftBoostedTrees", {**FEW, "min_samples_leaf": 3}, three_arms),
    *_options("UpliftForest", three_arms, {"honest": True}),
    _combined("Voting", "Classifier", two_classes, voting="hard", weights=(1, 2)),
]
PUBLIC = [
    name for name in arb.__all__ if isinstance(getattr(arb, name), type) and issubclass(getattr(arb, name), Estimator)
]


def taken(rows: Rows, members: Any) -> Rows:
    """Return some of the rows, or some of them several times."""
    return {name: values[members] for name, values in rows.items()}


def framed(rows: Rows) -> Rows:
    """Return the rows as a data frame: names that are not in order, a column of text, and holes."""
    X = np.asarray(rows["X"])
    frame = pd.DataFrame({"d": X[:, 0], "a": X[:, 1]})
    frame.loc[::7, "a"] = np.nan
    frame["town"] = np.array(["Oslo", "Rome", "Köln", "東京", None], dtype=object)[X[:, 2].astype(int)]
    return {**rows, "X": frame}


ANSWERS = ("predict_proba", "score_samples", "predict_survival_function", "predict")


def answers(model: Any, X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return what a model says of rows: probabilities, scores, survival functions or predictions."""
    for method in ANSWERS:
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), dtype=np.float64)
    raise AssertionError(type(model).__name__)
