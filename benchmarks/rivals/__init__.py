"""One file a library; ``BOOSTING``, ``FORESTS``, ``UNTOUCHED`` and ``UNTOUCHED_FORESTS`` are the registries."""

from __future__ import annotations

from benchmarks.rivals.arboretum import Arboretum, ArboretumDefaults, ArboretumForest
from benchmarks.rivals.base import Model, Rival
from benchmarks.rivals.catboost import CatBoost
from benchmarks.rivals.lightgbm import LightGBM, LightGBMForest
from benchmarks.rivals.ranger import UntouchedRanger
from benchmarks.rivals.sklearn import ScikitLearn, ScikitLearnForest
from benchmarks.rivals.untouched import (
    UntouchedCatBoost,
    UntouchedForest,
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
UNTOUCHED_FORESTS: dict[str, Rival] = {
    rival.name: rival
    for rival in (
        UntouchedForest("arboretum", "RandomForest"),
        UntouchedForest("arboretum-extra", "ExtraTrees"),
        UntouchedRandomForest("sklearn", "RandomForest"),
        UntouchedRandomForest("sklearn-extra", "ExtraTrees"),
        UntouchedRanger("ranger"),
        UntouchedRanger("ranger-extra", "extratrees"),
        UntouchedYDF("ydf", "RandomForestLearner"),
    )
}

__all__ = ["BOOSTING", "FORESTS", "UNTOUCHED", "UNTOUCHED_FORESTS", "Model", "Rival"]
