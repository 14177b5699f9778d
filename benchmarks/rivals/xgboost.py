"""XGBoost, histogram method on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.categories import CategoryCodes
from benchmarks.rivals.base import DISTINCT_DRAWN, Model, Rival, RowPredictor
from benchmarks.task import Growth, Task


class XGBoost(Rival):
    """``xgb.train`` on a ``QuantileDMatrix``, whose construction is part of the time."""

    name = "xgboost"
    module = "xgboost"
    growths: ClassVar[frozenset[Growth]] = frozenset({"leaf", "level"})
    unequal = "xgboost bounds a leaf by its hessian (min_child_weight 1e-3), not by rows"

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        shape: dict[str, Any] = {"grow_policy": "depthwise", "max_depth": wanted.depth}
        if wanted.growth == "leaf":
            shape = {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": wanted.leaves}
        objective = {
            "binary": "binary:logistic",
            "multiclass": "multi:softprob",
            "regression": "reg:squarederror",
        }[task.kind]
        classes = {"num_class": task.n_classes} if task.kind == "multiclass" else {}
        return {
            "objective": objective,
            **classes,
            **shape,
            "tree_method": "hist",
            "eta": wanted.learning_rate,
            "min_child_weight": 1e-3,
            "lambda": 0.0,
            "max_bin": wanted.bins,
            "nthread": wanted.threads,
            "seed": wanted.seed,
            "verbosity": 0,
        }

    def rounds(self, task: Task) -> int:
        """Return how often gradients are taken."""
        return task.settings.rounds

    def fit(self, task: Task) -> Model:
        import xgboost as xgb

        codes = CategoryCodes(task.categorical)
        data = xgb.QuantileDMatrix(
            codes.fit(task.X),
            task.y,
            weight=task.weight,
            max_bin=task.settings.bins,
            nthread=task.settings.threads,
            enable_categorical=True,
        )
        booster = xgb.train(self.settings(task), data, num_boost_round=self.rounds(task))
        return Model(booster, task, codes)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        return np.asarray(model.fitted.inplace_predict(model.encode(X)))

    def save(self, model: Model, path: Path) -> None:
        path.write_bytes(model.fitted.save_raw("ubj"))

    def row_predictor(self, model: Model) -> RowPredictor:
        booster = model.fitted.copy()
        booster.set_param({"nthread": 1})
        predict: RowPredictor = booster.inplace_predict
        return predict


class XGBoostForest(XGBoost):
    """One round of many parallel trees, as XGBRFClassifier grows them."""

    growths: ClassVar[frozenset[Growth]] = frozenset({"unlimited"})
    unequal = "xgboost draws 63.2 % of the rows without replacement and adds Newton steps from one constant"

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        return super().settings(task) | {
            "grow_policy": "depthwise",
            "max_depth": 0,
            "num_parallel_tree": wanted.rounds,
            "eta": 1.0,
            "subsample": DISTINCT_DRAWN if wanted.bootstrap else 1.0,
            "colsample_bynode": wanted.columns_a_node(task.X.shape[1]) / task.X.shape[1],
        }

    def rounds(self, task: Task) -> int:
        return 1
