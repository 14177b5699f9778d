"""One file a library; ``BOOSTING`` and ``FORESTS`` are the registries."""

from __future__ import annotations

from benchmarks.rivals.arboretum import Arboretum, ArboretumForest
from benchmarks.rivals.base import Model, Rival
from benchmarks.rivals.catboost import CatBoost
from benchmarks.rivals.lightgbm import LightGBM, LightGBMForest
from benchmarks.rivals.sklearn import ScikitLearn, ScikitLearnForest
from benchmarks.rivals.xgboost import XGBoost, XGBoostForest
from benchmarks.rivals.ydf import YDF, YDFForest

BOOSTING: dict[str, Rival] = {
    rival.name: rival for rival in (Arboretum(), LightGBM(), XGBoost(), CatBoost(), ScikitLearn(), YDF())
}
FORESTS: dict[str, Rival] = {
    rival.name: rival
    for rival in (ArboretumForest(), LightGBMForest(), XGBoostForest(), ScikitLearnForest(), YDFForest())
}

__all__ = ["BOOSTING", "FORESTS", "Model", "Rival"]
