"""scikit-learn's histogram gradient boosting."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.categories import OrdinalCodes
from benchmarks.rivals.base import Model, Rival, RowPredictor
from benchmarks.task import Growth, Task


class ScikitLearn(Rival):
    """HistGradientBoostingClassifier and HistGradientBoostingRegressor."""

    name = "sklearn"
    module = "sklearn"
    growths: ClassVar[frozenset[Growth]] = frozenset({"leaf"})
    unequal = "sklearn takes at most 255 categories a column: rarer ones are merged"

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

    def fit(self, task: Task) -> Model:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        regression = task.kind == "regression"
        estimator = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        codes = OrdinalCodes(task.categorical)
        fitted = estimator(**self.settings(task)).fit(codes.fit(task.X), task.y, sample_weight=task.weight)
        return Model(fitted, task, codes)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        if model.task.kind == "regression":
            return np.asarray(model.fitted.predict(model.encode(X)))
        probability = np.asarray(model.fitted.predict_proba(model.encode(X)))
        return probability[:, 1] if model.task.kind == "binary" else probability

    def row_predictor(self, model: Model) -> RowPredictor:
        regression = model.task.kind == "regression"
        predict: RowPredictor = model.fitted.predict if regression else model.fitted.predict_proba
        return predict
