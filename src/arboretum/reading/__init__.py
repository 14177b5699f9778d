"""Reading: conditions and trees as text and as tables; the way of a row through them."""

from __future__ import annotations

from arboretum.reading.conditions import CategorySet, Condition, IsMissing, Oblique, Threshold, condition
from arboretum.reading.contributions import path_contributions
from arboretum.reading.paths import decision_path, explain_row, path_conditions
from arboretum.reading.text import tree_to_text

__all__ = [
    "CategorySet",
    "Condition",
    "IsMissing",
    "Oblique",
    "Threshold",
    "condition",
    "decision_path",
    "explain_row",
    "path_conditions",
    "path_contributions",
    "tree_to_text",
]
