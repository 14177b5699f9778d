"""arboretum itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.base import Model, Rival, RowPredictor, class_name, scikit_parameters
from benchmarks.task import Growth, Task


class Arboretum(Rival):
    """BoostedTreesClassifier and BoostedTreesRegressor; frames of strings are taken as they are."""

    name = "arboretum"
    module = "arboretum"
    growths: ClassVar[frozenset[Growth]] = frozenset({"leaf", "level", "symmetric"})

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        leafwise = wanted.growth == "leaf"
        return {
            "n_estimators": wanted.rounds,
            "learning_rate": wanted.learning_rate,
            "growth": wanted.growth,
            "max_leaf_nodes": wanted.leaves if leafwise else None,
            "max_depth": None if leafwise else wanted.depth,
            "min_samples_leaf": wanted.min_rows,
            "l2": 0.0,
            "max_bins": wanted.bins,
            "early_stopping": False,
            "n_jobs": wanted.threads,
            "random_state": wanted.seed,
        }

    def class_name(self, task: Task) -> str:
        """Return the name of the estimator."""
        return "BoostedTreesRegressor" if task.kind == "regression" else "BoostedTreesClassifier"

    def fit(self, task: Task) -> Model:
        import arboretum as arb

        estimator = getattr(arb, self.class_name(task))
        fitted = estimator(**self.settings(task)).fit(task.X, task.y, sample_weight=task.weight)
        return Model(fitted, task)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        if model.task.kind == "regression":
            return np.asarray(model.fitted.predict(X))
        probability = np.asarray(model.fitted.predict_proba(X))
        return probability[:, 1] if model.task.kind == "binary" else probability

    def save(self, model: Model, path: Path) -> None:
        model.fitted.save(path)

    def row_predictor(self, model: Model) -> RowPredictor:
        regression = model.task.kind == "regression"
        predict: RowPredictor = model.fitted.predict if regression else model.fitted.predict_proba
        return predict


class ArboretumForest(Arboretum):
    """RandomForest…, ExtraTrees… and DecisionTree…; frames of strings are taken as they are."""

    growths: ClassVar[frozenset[Growth]] = frozenset({"unlimited"})

    def class_name(self, task: Task) -> str:
        return class_name(task)

    def settings(self, task: Task) -> dict[str, Any]:
        return scikit_parameters(task) | {"max_bins": task.settings.bins, "n_jobs": task.settings.threads}
