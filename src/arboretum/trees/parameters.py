"""The parameters of single trees, and which of them a method of growing or pruning reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arboretum.ensembles.bagging.parameters import (
    ClassCriterion,
    ImpurityLimit,
    NodeColumns,
    NodeLimits,
    NumberCriterion,
    Oblique,
    TreeLimits,
    check_oblique,
)
from arboretum.parameters.declaring import Choice, CountOrShare, Number, like, parameter, parameter_group
from arboretum.parameters.shared import Bins, Categories, ClassWeights, Monotone, Seed, Threads

# Which pruning, and which method, reads a parameter; with another it must keep its default.
READ_BY_PRUNING = {
    "ccp_alpha": ("cost_complexity",),
    "confidence": ("pessimistic",),
    "validation_fraction": ("reduced_error",),
}
READ_BY_METHOD = {
    **dict.fromkeys(
        (
            "criterion",
            "max_bins",
            "max_leaf_nodes",
            "min_impurity_decrease",
            "max_features",
            "oblique",
            "monotonic_cst",
        ),
        ("cart",),
    ),
    "min_samples_split": ("cart", "id3"),
    "min_samples_leaf": ("cart", "c45"),
    "min_weight_fraction_leaf": ("cart", "c45"),
}


@parameter_group("Pruning")
class Pruning:
    """How a single tree is cut back."""

    pruning: str | None = parameter(
        "auto",
        Choice("auto", "cost_complexity", "reduced_error", None),
        "How the grown tree is pruned: by default by cost complexity if ``ccp_alpha`` is above 0. "
        '"reduced_error" uses the loss of the criterion on validation rows.',
    )
    ccp_alpha: float = parameter(0.0, Number(0.0, 1e300), "Cost per leaf in cost-complexity pruning; 0 prunes nothing.")
    validation_fraction: float = parameter(
        0.2,
        Number(0.0, 0.9, open_low=True),
        "Share of the rows that reduced-error pruning holds out, if ``fit`` is not given ``X_val``.",
    )


@parameter_group()
class SingleTree(NodeLimits, ImpurityLimit, NodeColumns, Oblique, Pruning, Monotone, Categories, Seed, Threads):
    """Parameters of single trees, without their criterion."""

    max_bins: int | None = like(
        Bins,
        default=None,
        doc="Maximum number of bins of a numeric column; by default every distinct value is tried, with thresholds "
        "half-way between.",
        before="max_depth",
    )
    max_features: Any = like(
        NodeColumns,
        default=None,
        doc="Number or share of columns that each node considers, drawn at random; by default all.",
    )


@parameter_group()
class NumberTree(NumberCriterion, SingleTree):
    """Parameters of single trees for numbers."""

    min_samples_leaf: int | float = like(TreeLimits)


@parameter_group()
class ClassTree(ClassCriterion, SingleTree):
    """Parameters of single trees for classes."""

    method: str = parameter(
        "cart",
        Choice("cart", "id3", "c45"),
        "How the tree is grown. CART: binary splits that minimise impurity. ID3: a branch for each category, by "
        "information gain; categorical columns only. C4.5: by gain ratio, a branch for each category, numbers by "
        "thresholds, missing values in fractions over all branches. A parameter that the method does not read must "
        "keep its default.",
        before="criterion",
    )
    min_samples_leaf: int | float | None = like(
        TreeLimits,
        default=None,
        allowed=CountOrShare(optional=True),
        doc="Minimum number of rows in a leaf, 1 by default (CART), or in two branches of a split, 2 by default "
        "(C4.5). A float is a share of the rows.",
    )
    pruning: str | None = like(
        Pruning,
        allowed=Choice("auto", "cost_complexity", "reduced_error", "pessimistic", None),
        doc="How the grown tree is pruned. By default C4.5 prunes pessimistically, by its training errors; the other "
        'methods prune by cost complexity if ``ccp_alpha`` is above 0. "reduced_error" uses validation rows.',
    )
    confidence: float = parameter(
        0.25,
        Number(0.0, 1.0, open_low=True),
        "For pessimistic pruning, between 0 and 1: a smaller value prunes more.",
        before="validation_fraction",
    )
    class_weight: Any = like(ClassWeights, before="monotonic_cst")


def pruning_of(given: SingleTree) -> str | None:
    """Return the pruning that "auto" stands for, or the one that was chosen."""
    if given.pruning != "auto":
        return given.pruning
    return "pessimistic" if isinstance(given, ClassTree) and given.method == "c45" else "cost_complexity"


def check_together(given: SingleTree, usual: Mapping[str, Any]) -> None:
    """Reject parameters that contradict each other, or are not read; ``usual`` are their defaults."""
    check_oblique(given)
    _reject_unread(given, usual, "pruning", pruning_of(given), READ_BY_PRUNING)
    if isinstance(given, ClassTree):
        _reject_unread(given, usual, "method", given.method, READ_BY_METHOD)


def _reject_unread(
    given: SingleTree, usual: Mapping[str, Any], setting: str, chosen: Any, readers: Mapping[str, tuple[str, ...]]
) -> None:
    """Reject parameters that were changed although the chosen method or pruning does not read them."""
    for name in [name for name in readers if name in usual]:
        value, default = getattr(given, name), usual[name]
        if chosen not in readers[name] and not _is_same(value, default):
            cures = " or ".join(f"{setting}={reader!r}" for reader in readers[name])
            raise ValueError(
                f"{name}={value!r} has no effect with {setting}={getattr(given, setting)!r}: "
                f"use {cures}, or leave {name}={default!r}"
            )


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str | int | float | np.generic) and bool(value == default))
