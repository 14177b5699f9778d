"""Plotting: trees, curves and explanations as drawings with matplotlib."""

from __future__ import annotations

from arboretum.plotting.class_curves import CalibrationDisplay, PrecisionRecallDisplay, RocDisplay
from arboretum.plotting.dependence import plot_dependence
from arboretum.plotting.drawing import plot_multiway, plot_tree
from arboretum.plotting.importances import plot_importances
from arboretum.plotting.learning_curve import plot_cross_validation, plot_learning_curve
from arboretum.plotting.outcomes import ConfusionDisplay, ResidualsDisplay
from arboretum.plotting.qini import QiniDisplay
from arboretum.plotting.shap import plot_shap

__all__ = [
    "CalibrationDisplay",
    "ConfusionDisplay",
    "PrecisionRecallDisplay",
    "QiniDisplay",
    "ResidualsDisplay",
    "RocDisplay",
    "plot_cross_validation",
    "plot_dependence",
    "plot_importances",
    "plot_learning_curve",
    "plot_multiway",
    "plot_shap",
    "plot_tree",
]
