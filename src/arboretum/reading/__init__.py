"""Reading: conditions and trees as text and as tables; the paths of rows through them."""

from __future__ import annotations

from arboretum.reading.conditions import CategorySet, Condition, IsMissing, Oblique, Threshold, condition
from arboretum.reading.contributions import path_contributions
from arboretum.reading.description import model_to_html, model_to_text
from arboretum.reading.frame import as_frame, forest_columns, multiway_columns
from arboretum.reading.paths import decision_path, explain_row, path_conditions
from arboretum.reading.text import multiway_to_text, tree_to_text

__all__ = [
    "CategorySet",
    "Condition",
    "IsMissing",
    "Oblique",
    "Threshold",
    "as_frame",
    "condition",
    "decision_path",
    "explain_row",
    "forest_columns",
    "model_to_html",
    "model_to_text",
    "multiway_columns",
    "multiway_to_text",
    "path_conditions",
    "path_contributions",
    "tree_to_text",
]
