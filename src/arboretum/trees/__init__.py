"""Single trees by the book: ID3 and C4.5 as multiway trees, and the pruning of any tree."""

from __future__ import annotations

from arboretum.trees.c45 import grow_c45
from arboretum.trees.id3 import grow_id3
from arboretum.trees.multiway import MultiwayTree
from arboretum.trees.pruning import (
    CostComplexityPath,
    cost_complexity,
    parents,
    pessimistic,
    prune_forest,
    prune_multiway,
    prune_to_alpha,
    reduced_error,
    subtree_sums,
    upper_error_rate,
    validation_errors,
)

__all__ = [
    "CostComplexityPath",
    "MultiwayTree",
    "cost_complexity",
    "grow_c45",
    "grow_id3",
    "parents",
    "pessimistic",
    "prune_forest",
    "prune_multiway",
    "prune_to_alpha",
    "reduced_error",
    "subtree_sums",
    "upper_error_rate",
    "validation_errors",
]
