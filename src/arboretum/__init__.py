"""Arboretum: every tree ensemble on one engine, fast, exact and reproducible to the bit."""

from __future__ import annotations

from importlib.metadata import version as _version

from arboretum.ensembles.boosting import History, RoundReport
from arboretum.estimators.base import load
from arboretum.estimators.boosted_classifier import BoostedTreesClassifier
from arboretum.estimators.boosted_regressor import BoostedTreesRegressor
from arboretum.forest import Forest
from arboretum.io.model_file import ModelFileError
from arboretum.losses import Loss

__version__ = _version("arboretum")

__all__ = [
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "Forest",
    "History",
    "Loss",
    "ModelFileError",
    "RoundReport",
    "load",
]
