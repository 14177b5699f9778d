"""Inspection: conditions and trees as text and as drawings; the way of a row through them; curves of models."""

from __future__ import annotations

from arboretum.inspection.class_curves import CalibrationDisplay, PrecisionRecallDisplay, RocDisplay
from arboretum.inspection.conditions import CategorySet, Condition, IsMissing, Oblique, Threshold, condition
from arboretum.inspection.contributions import path_contributions
from arboretum.inspection.dependence_plot import plot_dependence
from arboretum.inspection.drawing import plot_tree
from arboretum.inspection.importance_plot import plot_importances
from arboretum.inspection.learning_curve import plot_cross_validation, plot_learning_curve
from arboretum.inspection.outcome_plots import ConfusionDisplay, ResidualsDisplay
from arboretum.inspection.paths import decision_path, explain_row, path_conditions
from arboretum.inspection.qini import QiniDisplay
from arboretum.inspection.shap_plot import plot_shap
from arboretum.inspection.text import tree_to_text

__all__ = [
    "CalibrationDisplay",
    "CategorySet",
    "Condition",
    "ConfusionDisplay",
    "IsMissing",
    "Oblique",
    "PrecisionRecallDisplay",
    "QiniDisplay",
    "ResidualsDisplay",
    "RocDisplay",
    "Threshold",
    "condition",
    "decision_path",
    "explain_row",
    "path_conditions",
    "path_contributions",
    "plot_cross_validation",
    "plot_dependence",
    "plot_importances",
    "plot_learning_curve",
    "plot_shap",
    "plot_tree",
    "tree_to_text",
]
