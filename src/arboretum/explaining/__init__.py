"""Seeing inside: what columns matter, how predictions depend on them and on training rows, what would change them."""

from __future__ import annotations

from arboretum.explaining.accumulated import accumulated_effects
from arboretum.explaining.counterfactuals import Change, Counterfactual, counterfactual
from arboretum.explaining.dependence import Dependence, ice, partial_dependence
from arboretum.explaining.explanation import Explanation
from arboretum.explaining.importances import Importances, importances
from arboretum.explaining.interaction import interaction_strength
from arboretum.explaining.permutation import by_bags, permutation_falls
from arboretum.explaining.row_influence import influence
from arboretum.explaining.shap import explain, shap_values
from arboretum.explaining.structure import Uses, gain_shares, normalised

__all__ = [
    "Change",
    "Counterfactual",
    "Dependence",
    "Explanation",
    "Importances",
    "Uses",
    "accumulated_effects",
    "by_bags",
    "counterfactual",
    "explain",
    "gain_shares",
    "ice",
    "importances",
    "influence",
    "interaction_strength",
    "normalised",
    "partial_dependence",
    "permutation_falls",
    "shap_values",
]
