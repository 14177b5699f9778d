"""Inspection: every condition reads as text; trees as text and as drawings; the way of a row through them."""

from __future__ import annotations

from arboretum.inspection.conditions import CategorySet, Condition, IsMissing, Oblique, Threshold, condition
from arboretum.inspection.contributions import path_contributions
from arboretum.inspection.drawing import plot_tree
from arboretum.inspection.paths import decision_path, explain_row, path_conditions
from arboretum.inspection.qini import QiniDisplay
from arboretum.inspection.text import tree_to_text

__all__ = [
    "CategorySet",
    "Condition",
    "IsMissing",
    "Oblique",
    "QiniDisplay",
    "Threshold",
    "condition",
    "decision_path",
    "explain_row",
    "path_conditions",
    "path_contributions",
    "plot_tree",
    "tree_to_text",
]
