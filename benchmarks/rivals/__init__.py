"""One file a library; ``BOOSTING``, ``FORESTS`` and ``UNTOUCHED`` are the registries."""

from __future__ import annotations

from benchmarks.rivals.arboretum import Arboretum, ArboretumDefaults, ArboretumForest
from benchmarks.rivals.base import Model, Rival
from benchmarks.rivals.catboost import CatBoost
from benchmarks.rivals.lightgbm import LightGBM, LightGBMForest
from benchmarks.rivals.sklearn import ScikitLearn, ScikitLearnForest
from benchmarks.rivals.untouched import (
    UntouchedCatBoost,
    UntouchedHistGradientBoosting,
    UntouchedLightGBM,
    UntouchedRandomForest,
    UntouchedXGBoost,
    UntouchedYDF,
)
from benchmarks.rivals.xgboost import XGBoost, XGBoostForest
from benchmarks.rivals.ydf import YDF, YDFForest

BOOSTING: dict[str, Rival] = {
    rival.name: rival for rival in (Arboretum(), LightGBM(), XGBoost(), CatBoost(), ScikitLearn(), YDF())
}
FORESTS: dict[str, Rival] = {
    rival.name: rival
    for rival in (ArboretumForest(), LightGBMForest(), XGBoostForest(), ScikitLearnForest(), YDFForest())
}
UNTOUCHED: dict[str, Rival] = {
    rival.name: rival
    for rival in (
        ArboretumDefaults(),
        UntouchedLightGBM(),
        UntouchedXGBoost(),
        UntouchedCatBoost(),
        UntouchedHistGradientBoosting(),
        UntouchedYDF(),
        UntouchedRandomForest(),
    )
}

__all__ = ["BOOSTING", "FORESTS", "UNTOUCHED", "Model", "Rival"]
