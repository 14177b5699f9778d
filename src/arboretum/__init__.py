"""Arboretum: every tree ensemble on one engine, fast, exact and reproducible to the bit."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from arboretum.running.forking import finish_imports

if TYPE_CHECKING:
    from arboretum.data.dataset import Dataset
    from arboretum.data.schema import TextColumnWarning
    from arboretum.ensembles.boosting.history import History
    from arboretum.ensembles.boosting.presets import presets
    from arboretum.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
    from arboretum.estimators.additive import AdditiveBoostingClassifier, AdditiveBoostingRegressor
    from arboretum.estimators.bagging import BaggingClassifier, BaggingRegressor
    from arboretum.estimators.boosted_trees import (
        BoostedTreesClassifier,
        BoostedTreesRanker,
        BoostedTreesRegressor,
        BoostedTreesSurvival,
    )
    from arboretum.estimators.calibrated import CalibratedClassifier
    from arboretum.estimators.checkpoints import Checkpoint
    from arboretum.estimators.conformal import ConformalRegressor
    from arboretum.estimators.cross_validation import CrossValidation, cross_validate
    from arboretum.estimators.decision_trees import DecisionTreeClassifier, DecisionTreeRegressor
    from arboretum.estimators.files import load
    from arboretum.estimators.forests import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from arboretum.estimators.isolation_forest import IsolationForest
    from arboretum.estimators.random_survival_forest import RandomSurvivalForest
    from arboretum.estimators.uplift_boosting import UpliftBoostedTrees
    from arboretum.estimators.uplift_forest import UpliftForest
    from arboretum.growing.criteria import entropy, gain_ratio, gini, information_gain, variance_reduction
    from arboretum.losses import Loss
    from arboretum.model.forest import Forest
    from arboretum.model.model_file import ModelFileError
    from arboretum.running.interruption import InterruptedFit
    from arboretum.running.progress import RoundReport

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
    "CrossValidation",
    "Dataset",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "Forest",
    "History",
    "InterruptedFit",
    "IsolationForest",
    "Loss",
    "ModelFileError",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSurvivalForest",
    "RoundReport",
    "TextColumnWarning",
    "UpliftBoostedTrees",
    "UpliftForest",
    "cross_validate",
    "entropy",
    "gain_ratio",
    "gini",
    "information_gain",
    "load",
    "presets",
    "variance_reduction",
]

# Where each of these names lives; it is imported when it is asked for, so that a process waits only for what it uses.
_PLACES = {
    "growing.criteria": ("entropy", "gain_ratio", "gini", "information_gain", "variance_reduction"),
    "data.dataset": ("Dataset",),
    "ensembles.boosting.history": ("History",),
    "estimators.adaboost": ("AdaBoostClassifier", "AdaBoostRegressor"),
    "estimators.additive": ("AdditiveBoostingClassifier", "AdditiveBoostingRegressor"),
    "estimators.bagging": ("BaggingClassifier", "BaggingRegressor"),
    "estimators.boosted_trees": (
        "BoostedTreesClassifier",
        "BoostedTreesRanker",
        "BoostedTreesRegressor",
        "BoostedTreesSurvival",
    ),
    "estimators.files": ("load",),
    "estimators.calibrated": ("CalibratedClassifier",),
    "estimators.checkpoints": ("Checkpoint",),
    "estimators.conformal": ("ConformalRegressor",),
    "estimators.cross_validation": ("CrossValidation", "cross_validate"),
    "estimators.decision_trees": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "estimators.forests": (
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ),
    "estimators.isolation_forest": ("IsolationForest",),
    "estimators.random_survival_forest": ("RandomSurvivalForest",),
    "estimators.uplift_boosting": ("UpliftBoostedTrees",),
    "estimators.uplift_forest": ("UpliftForest",),
    "model.forest": ("Forest",),
    "running.interruption": ("InterruptedFit",),
    "running.progress": ("RoundReport",),
    "model.model_file": ("ModelFileError",),
    "losses": ("Loss",),
    "ensembles.boosting.presets": ("presets",),
    "data.schema": ("TextColumnWarning",),
}
_PLACE = {name: place for place, names in _PLACES.items() for name in names}

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=finish_imports)


if not TYPE_CHECKING:  # a type checker would take any name for known

    def __getattr__(name: str) -> Any:
        """Import a public name, or a module of the package, when it is first asked for."""
        if name == "__version__":
            from importlib.metadata import version  # costs as much as half of NumPy

            value = version(__name__)
        elif name in _PLACE:
            value = getattr(import_module(f"{__name__}.{_PLACE[name]}"), name)
        elif name.startswith("_") or not _is_module(name):
            from arboretum.other_libraries import CLASSES, advice

            told = advice(CLASSES, name, __all__)
            if told and sys._getframe(1).f_code.co_name == "_handle_fromlist":  # which hides an AttributeError
                raise ImportError(f"cannot import {name!r} from {__name__!r}: {told}", name=__name__)
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{f': {told}' if told else ''}")
        else:
            value = import_module(f"{__name__}.{name}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """Return the public names, those not yet imported too."""
        return sorted({*globals(), *__all__})


def _is_module(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(f"{__name__}.{name}") is not None
