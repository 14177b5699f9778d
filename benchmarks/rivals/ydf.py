"""Yggdrasil Decision Forests."""

from __future__ import annotations

from pathlib import Path
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

    learner: str = "GradientBoostedTreesLearner"

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        shape: dict[str, Any] = {"growing_strategy": "LOCAL", "max_depth": wanted.depth + 1}
        if wanted.growth == "leaf":
            shape = {
                "growing_strategy": "BEST_FIRST_GLOBAL",
                "max_num_nodes": wanted.leaves,
                "max_depth": -1,
            }
        return {
            **self.problem(task),
            **shape,
            **({} if task.kind == "regression" else {"use_hessian_gain": True}),
            "shrinkage": wanted.learning_rate,
            "l2_regularization": 0.0,
            "discretize_numerical_columns": True,
            "num_discretized_numerical_bins": wanted.bins,
            "validation_ratio": 0.0,
            "early_stopping": "NONE",
            "sampling_method": "NONE",
        }

    def problem(self, task: Task) -> dict[str, Any]:
        """Return what all of its learners are told."""
        import ydf

        wanted = task.settings
        return {
            "label": LABEL,
            "task": ydf.Task.REGRESSION if task.kind == "regression" else ydf.Task.CLASSIFICATION,
            "weights": None if task.weight is None else WEIGHT,
            "num_trees": wanted.rounds,
            "min_examples": wanted.min_rows,
            "num_threads": wanted.threads,
            "random_seed": wanted.seed,
        }

    def fit(self, task: Task) -> Model:
        import ydf

        ydf.verbose(0)
        columns = as_columns(task.X) | {LABEL: task.y}
        if task.weight is not None:
            columns[WEIGHT] = task.weight
        return Model(getattr(ydf, self.learner)(**self.settings(task)).train(columns), task, as_columns)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        answer = model.fitted.predict(model.encode(X), num_threads=model.task.settings.threads)
        return np.asarray(answer)

    def save(self, model: Model, path: Path) -> None:
        model.fitted.save(str(path))


class YDFForest(YDF):
    """RandomForestLearner that averages probabilities, on exact columns: faster here than discretized ones."""

    growths: ClassVar[frozenset[Growth]] = frozenset({"unlimited"})
    unequal = (
        "ydf has no bins (it tries every distinct value), drops categories rarer than 5 rows or beyond the 2,000 most"
        " frequent, and sends missing values to the mean or mode"
    )
    learner = "RandomForestLearner"

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        return {
            **self.problem(task),
            "max_depth": -1,
            "num_candidate_attributes": wanted.columns_a_node(task.X.shape[1]),
            "bootstrap_training_dataset": wanted.bootstrap,
            "compute_oob_performances": False,
            **({} if task.kind == "regression" else {"winner_take_all": False}),
        }


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
