"""scikit-learn: histogram gradient boosting, forests and trees."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, ClassVar

from benchmarks.categories import OrdinalCodes
from benchmarks.rivals.base import EstimatorRival, by_target, class_name, scikit_parameters
from benchmarks.task import Growth, Task


class ScikitLearn(EstimatorRival):
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
        return by_target("HistGradientBoosting", task)

    def home(self, task: Task) -> str:
        return "sklearn.tree" if self.class_name(task).startswith("DecisionTree") else "sklearn.ensemble"

    def encoder(self, task: Task) -> Any:
        return OrdinalCodes(task.categorical, most=self.most_categories)


class ScikitLearnForest(ScikitLearn):
    """RandomForest…, ExtraTrees… and DecisionTree… on categories as numbers."""

    growths: ClassVar[frozenset[Growth]] = frozenset({"unlimited"})
    unequal = "sklearn has no bins (it tries every distinct value) and no categories: it splits their numbers"
    most_categories = None

    def class_name(self, task: Task) -> str:
        return class_name(task)

    def settings(self, task: Task) -> dict[str, Any]:
        return scikit_parameters(task)
