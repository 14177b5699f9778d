"""CatBoost without its stochastic parts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.categories import MissingAsText
from benchmarks.rivals.base import Model, Rival, RowPredictor
from benchmarks.task import Growth, Task

DEEPEST = 16


class CatBoost(Rival):
    """Plain boosting, no bootstrap, no random strength, one Newton step a leaf."""

    name = "catboost"
    module = "catboost"
    growths: ClassVar[frozenset[Growth]] = frozenset({"leaf", "level", "symmetric"})
    unequal = (
        "catboost grows leaf-wise at most 16 deep, symmetric trees have no minimum of rows,"
        " many classes share one tree with vector leaves, and categories are encoded by target statistics"
        " on its own symmetric trees"
    )

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        assert wanted.bins is not None
        loss = {"binary": "Logloss", "multiclass": "MultiClass", "regression": "RMSE"}[task.kind]
        return {
            "loss_function": loss,
            **self._shape(task),
            "iterations": wanted.rounds,
            "learning_rate": wanted.learning_rate,
            "border_count": wanted.bins - 1,
            "l2_leaf_reg": 0.0,
            "leaf_estimation_iterations": 1,
            "boosting_type": "Plain",
            "bootstrap_type": "No",
            "random_strength": 0.0,
            "boost_from_average": task.kind != "multiclass",
            "thread_count": wanted.threads,
            "random_seed": wanted.seed,
            "allow_writing_files": False,
            "logging_level": "Silent",
        }

    def _shape(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        if wanted.growth == "symmetric" or task.categorical:
            return {"grow_policy": "SymmetricTree", "depth": wanted.depth}
        if wanted.growth == "level":
            return {"grow_policy": "Depthwise", "depth": wanted.depth, "min_data_in_leaf": wanted.min_rows}
        return {
            "grow_policy": "Lossguide",
            "max_leaves": wanted.leaves,
            "depth": DEEPEST,
            "min_data_in_leaf": wanted.min_rows,
        }

    def fit(self, task: Task) -> Model:
        import catboost

        encode = MissingAsText(task.categorical)
        pool = catboost.Pool(
            encode(task.X),
            task.y,
            weight=task.weight,
            cat_features=list(task.categorical) or None,
            thread_count=task.settings.threads,
        )
        return Model(catboost.CatBoost(self.settings(task)).fit(pool), task, encode)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        kind = model.task.kind
        answer = model.fitted.predict(
            model.encode(X),
            prediction_type="RawFormulaVal" if kind == "regression" else "Probability",
            thread_count=model.task.settings.threads,
        )
        return np.asarray(answer[:, 1] if kind == "binary" else answer)

    def row_predictor(self, model: Model) -> RowPredictor:
        predict = model.fitted.predict
        wanted = "RawFormulaVal" if model.task.kind == "regression" else "Probability"
        return lambda row: predict(row, prediction_type=wanted, thread_count=1)
