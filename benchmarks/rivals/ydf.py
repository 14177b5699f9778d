"""Yggdrasil Decision Forests."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.base import Model, Rival
from benchmarks.task import Growth, Task

LABEL, WEIGHT = "__label__", "__weight__"


class YDF(Rival):
    """GradientBoostedTreesLearner on discretized columns, without a validation part."""

    name = "ydf"
    module = "ydf"
    growths: ClassVar[frozenset[Growth]] = frozenset({"leaf", "level"})
    unequal = "ydf drops categories rarer than 5 rows and sends missing values to the mean or mode"

    def settings(self, task: Task) -> dict[str, Any]:
        import ydf

        wanted = task.settings
        shape: dict[str, Any] = {"growing_strategy": "LOCAL", "max_depth": wanted.depth + 1}
        if wanted.growth == "leaf":
            shape = {
                "growing_strategy": "BEST_FIRST_GLOBAL",
                "max_num_nodes": wanted.leaves,
                "max_depth": -1,
            }
        regression = task.kind == "regression"
        return {
            "label": LABEL,
            "task": ydf.Task.REGRESSION if regression else ydf.Task.CLASSIFICATION,
            "weights": None if task.weight is None else WEIGHT,
            **shape,
            **({} if regression else {"use_hessian_gain": True}),
            "num_trees": wanted.rounds,
            "shrinkage": wanted.learning_rate,
            "min_examples": wanted.min_rows,
            "l2_regularization": 0.0,
            "discretize_numerical_columns": True,
            "num_discretized_numerical_bins": wanted.bins,
            "validation_ratio": 0.0,
            "early_stopping": "NONE",
            "sampling_method": "NONE",
            "num_threads": wanted.threads,
            "random_seed": wanted.seed,
        }

    def fit(self, task: Task) -> Model:
        import ydf

        ydf.verbose(0)
        columns = as_columns(task.X) | {LABEL: task.y}
        if task.weight is not None:
            columns[WEIGHT] = task.weight
        return Model(ydf.GradientBoostedTreesLearner(**self.settings(task)).train(columns), task, as_columns)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        answer = model.fitted.predict(model.encode(X), num_threads=model.task.settings.threads)
        return np.asarray(answer)


def as_columns(X: Any) -> dict[str, Any]:
    """Return a dictionary of columns; a plain matrix stays one entry, which YDF unrolls itself."""
    if isinstance(X, np.ndarray):
        return {"x": X}
    return {name: column_values(X[name]) for name in X.columns}


def column_values(column: Any) -> NDArray[Any]:
    """Return numbers as they are, and text with "" for missing."""
    values = column.to_numpy()
    if values.dtype.kind in "biuf":
        return np.asarray(values)
    return np.asarray(["" if value != value else value for value in values], dtype=object)
