"""The libraries as they come: nothing set but threads, seed and silence; categories natively where they can."""

from __future__ import annotations

from typing import Any, ClassVar

from benchmarks.categories import CategoryCodes, FewAsCategories, MissingAsText
from benchmarks.rivals.base import EstimatorRival, by_target
from benchmarks.rivals.sklearn import ScikitLearn
from benchmarks.rivals.ydf import YDF
from benchmarks.task import Growth, Task


class Untouched(EstimatorRival):
    """An estimator with its defaults."""

    growths: ClassVar[frozenset[Growth]] = frozenset()
    estimator: str

    def class_name(self, task: Task) -> str:
        return by_target(self.estimator, task)


class UntouchedXGBoost(Untouched):
    """XGBClassifier and XGBRegressor on ``category`` columns."""

    name = module = "xgboost"
    estimator = "XGB"

    def settings(self, task: Task) -> dict[str, Any]:
        run = {"n_jobs": task.settings.threads, "random_state": task.settings.seed}
        return {"enable_categorical": True, "verbosity": 0, **run}

    def encoder(self, task: Task) -> CategoryCodes:
        return CategoryCodes(task.categorical)


class UntouchedLightGBM(Untouched):
    """LGBMClassifier and LGBMRegressor on ``category`` columns."""

    name = module = "lightgbm"
    estimator = "LGBM"

    def settings(self, task: Task) -> dict[str, Any]:
        return {"verbose": -1, "n_jobs": task.settings.threads, "random_state": task.settings.seed}

    def encoder(self, task: Task) -> CategoryCodes:
        return CategoryCodes(task.categorical)


class UntouchedCatBoost(Untouched):
    """CatBoostClassifier and CatBoostRegressor on strings."""

    name = module = "catboost"
    estimator = "CatBoost"

    def settings(self, task: Task) -> dict[str, Any]:
        return {
            "cat_features": list(task.categorical),
            "thread_count": task.settings.threads,
            "random_seed": task.settings.seed,
            "allow_writing_files": False,
            "logging_level": "Silent",
        }

    def encoder(self, task: Task) -> MissingAsText:
        return MissingAsText(task.categorical)


class UntouchedHistGradientBoosting(ScikitLearn):
    """Columns of at most 255 levels as categories, the others as numbers."""

    def settings(self, task: Task) -> dict[str, Any]:
        return {"random_state": task.settings.seed}

    def encoder(self, task: Task) -> FewAsCategories:
        return FewAsCategories(task.categorical)


class UntouchedForest(Untouched):
    """RandomForest… or ExtraTrees… of arboretum, with nothing set but ``changes``."""

    module = "arboretum"

    def __init__(self, name: str, estimator: str, **changes: Any) -> None:
        self.name, self.estimator, self.changes = name, estimator, changes

    def settings(self, task: Task) -> dict[str, Any]:
        return {**self.changes, "n_jobs": task.settings.threads, "random_state": task.settings.seed}


class UntouchedRandomForest(ScikitLearn):
    """RandomForest… or ExtraTrees… on numbers in place of categories."""

    most_categories = None

    def __init__(self, name: str = "sklearn-forest", estimator: str = "RandomForest") -> None:
        self.name, self.estimator = name, estimator

    def class_name(self, task: Task) -> str:
        return by_target(self.estimator, task)

    def settings(self, task: Task) -> dict[str, Any]:
        return {"n_jobs": task.settings.threads, "random_state": task.settings.seed}


class UntouchedYDF(YDF):
    """GradientBoostedTreesLearner, or another one."""

    def __init__(self, name: str = "ydf", learner: str = "GradientBoostedTreesLearner") -> None:
        self.name, self.learner = name, learner

    def settings(self, task: Task) -> dict[str, Any]:
        shared = self.problem(task)
        return {key: shared[key] for key in ("label", "task", "weights", "num_threads", "random_seed")}
