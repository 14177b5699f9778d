"""Every public estimator, and the options that take another way through the kernel, on one drawn problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arboretum as arb


@dataclass(frozen=True)
class Problem:
    """One table with a target for each task."""

    X: NDArray[np.float64]
    number: NDArray[np.float64]
    seed: int

    def arguments(self, task: str) -> dict[str, Any]:
        """Return what ``fit`` takes besides X."""
        rng, n = np.random.default_rng(self.seed), len(self.X)
        level = np.digitize(self.number, np.quantile(self.number, [0.3, 0.7]))
        if task == "numbers":
            return {"y": self.number}
        if task == "outputs":
            return {"y": np.column_stack([self.number, -self.number])}
        if task == "two classes":
            return {"y": level > 0}
        if task == "classes":
            return {"y": level}
        if task == "ranking":
            return {"y": level, "group": np.arange(n) // 10}
        if task == "survival":
            return {"y": np.column_stack([np.exp(-self.number / 4), rng.random(n) < 0.7])}
        if task == "uplift":
            return {"y": (level > 0) + 0.0, "treatment": rng.integers(0, 2, n)}
        return {}  # anomalies


def draw_problem(n_rows: int, n_columns: int, seed: int = 0) -> Problem:
    """Draw columns of numbers, the first two of few whole ones, and a target that depends on some of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :2] = np.abs(np.round(3 * X[:, :2]))
    number = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n_rows)
    return Problem(X, number, seed)


@dataclass(frozen=True)
class Case:
    """An estimator and the task that it is fitted for."""

    task: str
    make: Callable[[], Any]

    def fit(self, problem: Problem) -> Any:
        """Return the fitted estimator."""
        return self.make().fit(problem.X, **problem.arguments(self.task))


def _boosted(cls: Any, task: str, **params: Any) -> Case:
    return Case(task, lambda: cls(**{"n_estimators": 5, "n_jobs": 3, "early_stopping": False, **params}))


def _forest(cls: Any, task: str, **params: Any) -> Case:
    return Case(task, lambda: cls(**{"n_estimators": 5, "n_jobs": 3, **params}))


_REGRESSOR = _boosted(arb.BoostedTreesRegressor, "numbers")
_CLASSIFIER = _boosted(arb.BoostedTreesClassifier, "two classes")

CASES: dict[str, Case] = {
    "AdaBoostClassifier": _forest(arb.AdaBoostClassifier, "classes"),
    "AdaBoostRegressor": _forest(arb.AdaBoostRegressor, "numbers"),
    "AdditiveBoostingClassifier": Case("two classes", lambda: arb.AdditiveBoostingClassifier(n_estimators=3)),
    "AdditiveBoostingRegressor": Case("numbers", lambda: arb.AdditiveBoostingRegressor(n_estimators=3)),
    "BaggingClassifier": _forest(arb.BaggingClassifier, "two classes"),
    "BaggingRegressor": _forest(arb.BaggingRegressor, "numbers"),
    "BoostedTreesClassifier": _boosted(arb.BoostedTreesClassifier, "two classes", early_stopping=True),
    "BoostedTreesClassifier, classes": _boosted(arb.BoostedTreesClassifier, "classes"),
    "BoostedTreesClassifier, vector leaves": _boosted(arb.BoostedTreesClassifier, "classes", vector_leaves=True),
    "BoostedTreesClassifier, category statistics": _boosted(
        arb.BoostedTreesClassifier, "two classes", categorical_features=[0, 1], category_levels=2
    ),
    "BoostedTreesRanker": _boosted(arb.BoostedTreesRanker, "ranking"),
    "BoostedTreesRegressor": _REGRESSOR,
    "BoostedTreesRegressor, outputs": _boosted(arb.BoostedTreesRegressor, "outputs"),
    "BoostedTreesRegressor, symmetric": _boosted(arb.BoostedTreesRegressor, "numbers", growth="symmetric", max_depth=5),
    "BoostedTreesRegressor, exact": _boosted(arb.BoostedTreesRegressor, "numbers", max_bins=None, growth="level"),
    "BoostedTreesRegressor, linear leaves": _boosted(arb.BoostedTreesRegressor, "numbers", leaf_model="linear"),
    "BoostedTreesRegressor, ordered": _boosted(arb.BoostedTreesRegressor, "numbers", ordered_boosting=2),
    "BoostedTreesRegressor, gradient sampling": _boosted(arb.BoostedTreesRegressor, "numbers", sampling="goss"),
    "BoostedTreesRegressor, dropping trees": _boosted(arb.BoostedTreesRegressor, "numbers", dart_rate=0.5),
    "BoostedTreesRegressor, medians": _boosted(arb.BoostedTreesRegressor, "numbers", loss="absolute_error"),
    "BoostedTreesSurvival": _boosted(arb.BoostedTreesSurvival, "survival"),
    "CalibratedClassifier": Case(
        "two classes", lambda: arb.CalibratedClassifier(estimator=_CLASSIFIER.make(), n_folds=2)
    ),
    "CheckpointAverage": Case("two classes", lambda: arb.CheckpointAverage(estimator=_CLASSIFIER.make())),
    "ConformalRegressor": Case("numbers", lambda: arb.ConformalRegressor(estimator=_REGRESSOR.make(), n_folds=2)),
    "DecisionTreeClassifier": Case("classes", lambda: arb.DecisionTreeClassifier(n_jobs=3)),
    "DecisionTreeClassifier, c45": Case("classes", lambda: arb.DecisionTreeClassifier(method="c45", n_jobs=3)),
    "DecisionTreeRegressor": Case("numbers", lambda: arb.DecisionTreeRegressor(n_jobs=3, min_samples_leaf=5)),
    "ExtraTreesClassifier": _forest(arb.ExtraTreesClassifier, "classes"),
    "ExtraTreesRegressor": _forest(arb.ExtraTreesRegressor, "numbers"),
    "IsolationForest": _forest(arb.IsolationForest, "anomalies"),
    "RandomForestClassifier": _forest(arb.RandomForestClassifier, "classes", oob_score=True, n_estimators=20),
    "RandomForestClassifier, oblique": _forest(arb.RandomForestClassifier, "classes", oblique=True),
    "RandomForestRegressor": _forest(arb.RandomForestRegressor, "numbers"),
    "RandomForestRegressor, medians": _forest(
        arb.RandomForestRegressor, "numbers", criterion="absolute_error", max_depth=4
    ),
    "RandomSurvivalForest": _forest(arb.RandomSurvivalForest, "survival", max_depth=4),
    "UpliftBoostedTrees": _boosted(arb.UpliftBoostedTrees, "uplift"),
    "UpliftForest": _forest(arb.UpliftForest, "uplift"),
}
