"""The package shap, which explains the models of other libraries."""

from __future__ import annotations

from importlib.util import find_spec

from benchmarks.rivals.lightgbm import LightGBM


class Shap(LightGBM):
    """``shap.TreeExplainer`` on a model of LightGBM."""

    name = "shap"
    module = "shap"
    unequal = "shap explains models of LightGBM, and forests of scikit-learn, with one thread"

    @classmethod
    def available(cls) -> bool:
        return all(find_spec(module) is not None for module in (cls.module, "lightgbm"))
