"""Arboretum: every tree ensemble on one engine, fast, exact and reproducible to the bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arboretum.criteria import entropy, gain_ratio, gini, information_gain, variance_reduction
from arboretum.dataset import Dataset
from arboretum.ensembles.boosting import History, RoundReport
from arboretum.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from arboretum.estimators.additive import AdditiveBoostingClassifier, AdditiveBoostingRegressor
from arboretum.estimators.bagging import BaggingClassifier, BaggingRegressor
from arboretum.estimators.base import load
from arboretum.estimators.boosted_classifier import BoostedTreesClassifier
from arboretum.estimators.boosted_ranker import BoostedTreesRanker
from arboretum.estimators.boosted_regressor import BoostedTreesRegressor
from arboretum.estimators.boosted_survival import BoostedTreesSurvival
from arboretum.estimators.calibrated import CalibratedClassifier
from arboretum.estimators.checkpoints import Checkpoint
from arboretum.estimators.conformal import ConformalRegressor
from arboretum.estimators.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from arboretum.estimators.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from arboretum.estimators.isolation_forest import IsolationForest
from arboretum.estimators.random_forest import RandomForestClassifier, RandomForestRegressor
from arboretum.estimators.random_survival_forest import RandomSurvivalForest
from arboretum.estimators.uplift_boosting import UpliftBoostedTrees
from arboretum.estimators.uplift_forest import UpliftForest
from arboretum.forest import Forest
from arboretum.io.model_file import ModelFileError
from arboretum.losses import Loss
from arboretum.presets import presets

__version__: str

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AdditiveBoostingClassifier",
    "AdditiveBoostingRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BoostedTreesClassifier",
    "BoostedTreesRanker",
    "BoostedTreesRegressor",
    "BoostedTreesSurvival",
    "CalibratedClassifier",
    "Checkpoint",
    "ConformalRegressor",
    "Dataset",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "Forest",
    "History",
    "IsolationForest",
    "Loss",
    "ModelFileError",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSurvivalForest",
    "RoundReport",
    "UpliftBoostedTrees",
    "UpliftForest",
    "entropy",
    "gain_ratio",
    "gini",
    "information_gain",
    "load",
    "presets",
    "variance_reduction",
]


if not TYPE_CHECKING:  # a type checker would take any name for known

    def __getattr__(name: str) -> str:
        """Look the version up when it is asked for: importlib.metadata costs as much as half of NumPy."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version

        return version(__name__)
