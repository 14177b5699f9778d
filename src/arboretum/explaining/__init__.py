"""Seeing inside: what columns matter, and how predictions depend on them."""

from __future__ import annotations

from arboretum.explaining.accumulated import accumulated_effects
from arboretum.explaining.dependence import Dependence, ice, partial_dependence
from arboretum.explaining.explanation import Explanation
from arboretum.explaining.importances import Importances, importances
from arboretum.explaining.influence import influence
from arboretum.explaining.interaction import interaction_strength
from arboretum.explaining.shap import shap_values

__all__ = [
    "Dependence",
    "Explanation",
    "Importances",
    "accumulated_effects",
    "ice",
    "importances",
    "influence",
    "interaction_strength",
    "partial_dependence",
    "shap_values",
]
