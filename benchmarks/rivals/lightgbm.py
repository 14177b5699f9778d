"""LightGBM through ``lgb.train``, its leanest door."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.categories import CategoryCodes
from benchmarks.rivals.base import DISTINCT_DRAWN, Model, Rival, RowPredictor
from benchmarks.task import Growth, Task

MOST_LEAVES = 131_072


class LightGBM(Rival):
    """``lgb.train`` on ``lgb.Dataset``, whose construction is part of the time."""

    name = "lightgbm"
    module = "lightgbm"
    growths: ClassVar[frozenset[Growth]] = frozenset({"leaf"})
    unequal = "lightgbm also asks for a hessian sum of 1e-3 a leaf; depth-limited trees grow leaf-wise to 2^depth"

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        leafwise = wanted.growth == "leaf"
        objective = {"binary": "binary", "multiclass": "multiclass", "regression": "regression"}[task.kind]
        classes = {"num_class": task.n_classes} if task.kind == "multiclass" else {}
        return {
            "objective": objective,
            **classes,
            "learning_rate": wanted.learning_rate,
            "num_leaves": wanted.leaves if leafwise else 2**wanted.depth,
            "max_depth": -1 if leafwise else wanted.depth,
            "min_data_in_leaf": wanted.min_rows,
            "min_sum_hessian_in_leaf": 1e-3,
            "lambda_l2": 0.0,
            "max_bin": wanted.bins,
            "num_threads": wanted.threads,
            "seed": wanted.seed,
            "verbosity": -1,
        }

    def fit(self, task: Task) -> Model:
        import lightgbm as lgb

        codes = CategoryCodes(task.categorical)
        data = lgb.Dataset(codes.fit(task.X), task.y, weight=task.weight)
        booster = lgb.train(self.settings(task), data, num_boost_round=task.settings.rounds)
        return Model(booster, task, codes)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        return np.asarray(model.fitted.predict(model.encode(X), num_threads=model.task.settings.threads))

    def save(self, model: Model, path: Path) -> None:
        model.fitted.save_model(path)

    def row_predictor(self, model: Model) -> RowPredictor:
        predict = model.fitted.predict
        return lambda row: predict(row, num_threads=1)


class LightGBMForest(LightGBM):
    """Its ``rf`` mode: every tree fits the gradients of the same constant, the outputs are averaged."""

    growths: ClassVar[frozenset[Growth]] = frozenset({"unlimited"})
    unequal = (
        "lightgbm draws 63.2 % of the rows without replacement and averages log-odds; it pays for every leaf that it is"
        " allowed, so it is allowed a quarter of the rows and no more than its limit of 131,072"
    )

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        return super().settings(task) | {
            "boosting": "rf",
            "bagging_fraction": DISTINCT_DRAWN,
            "bagging_freq": 1,
            "feature_fraction_bynode": wanted.columns_a_node(task.X.shape[1]) / task.X.shape[1],
            "num_leaves": max(2, min(MOST_LEAVES, len(task.y) // 4)),
            "max_depth": -1,
            "histogram_pool_size": 1024,
        }
