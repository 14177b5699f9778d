"""scikit-learn: histogram gradient boosting, forests and trees."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.categories import OrdinalCodes
from benchmarks.rivals.base import Model, Rival, RowPredictor, class_name, scikit_parameters
from benchmarks.task import Growth, Task


class ScikitLearn(Rival):
    """HistGradientBoostingClassifier and HistGradientBoostingRegressor."""

    name = "sklearn"
    module = "sklearn"
    growths: ClassVar[frozenset[Growth]] = frozenset({"leaf"})
    unequal = "sklearn takes at most 255 categories a column: rarer ones are merged"
    most_categories: ClassVar[int | None] = 254

    def limited(self, threads: int) -> AbstractContextManager[Any]:
        from threadpoolctl import threadpool_limits

        limits: AbstractContextManager[Any] = threadpool_limits(threads, user_api="openmp")
        return limits

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        leafwise = wanted.growth == "leaf"
        return {
            "max_iter": wanted.rounds,
            "learning_rate": wanted.learning_rate,
            "max_leaf_nodes": wanted.leaves if leafwise else None,
            "max_depth": None if leafwise else wanted.depth,
            "min_samples_leaf": wanted.min_rows,
            "l2_regularization": 0.0,
            "max_bins": wanted.bins,
            "early_stopping": False,
            "categorical_features": list(task.categorical) or None,
            "random_state": wanted.seed,
        }

    def class_name(self, task: Task) -> str:
        """Return the name of the estimator."""
        return "HistGradientBoosting" + ("Regressor" if task.kind == "regression" else "Classifier")

    def fit(self, task: Task) -> Model:
        name = self.class_name(task)
        module = import_module("sklearn.tree" if name.startswith("DecisionTree") else "sklearn.ensemble")
        codes = OrdinalCodes(task.categorical, most=self.most_categories)
        estimator = getattr(module, name)(**self.settings(task))
        return Model(estimator.fit(codes.fit(task.X), task.y, sample_weight=task.weight), task, codes)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        if model.task.kind == "regression":
            return np.asarray(model.fitted.predict(model.encode(X)))
        probability = np.asarray(model.fitted.predict_proba(model.encode(X)))
        return probability[:, 1] if model.task.kind == "binary" else probability

    def row_predictor(self, model: Model) -> RowPredictor:
        regression = model.task.kind == "regression"
        predict: RowPredictor = model.fitted.predict if regression else model.fitted.predict_proba
        return predict


class ScikitLearnForest(ScikitLearn):
    """RandomForest…, ExtraTrees… and DecisionTree… on categories as numbers."""

    growths: ClassVar[frozenset[Growth]] = frozenset({"unlimited"})
    unequal = "sklearn has no bins (it tries every distinct value) and no categories: it splits their numbers"
    most_categories = None

    def class_name(self, task: Task) -> str:
        return class_name(task)

    def settings(self, task: Task) -> dict[str, Any]:
        return scikit_parameters(task)
