"""One file a library; ``RIVALS`` is the one registry."""

from __future__ import annotations

from benchmarks.rivals.arboretum import Arboretum
from benchmarks.rivals.base import Model, Rival
from benchmarks.rivals.catboost import CatBoost
from benchmarks.rivals.lightgbm import LightGBM
from benchmarks.rivals.sklearn import ScikitLearn
from benchmarks.rivals.xgboost import XGBoost
from benchmarks.rivals.ydf import YDF

RIVALS: dict[str, Rival] = {
    rival.name: rival for rival in (Arboretum(), LightGBM(), XGBoost(), CatBoost(), ScikitLearn(), YDF())
}

__all__ = ["RIVALS", "Model", "Rival"]
