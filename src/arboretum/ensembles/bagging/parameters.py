"""The parameters of forests and single trees of impurity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arboretum.ensembles.bagging.out_of_bag import check_rule
from arboretum.growing.grower import NO_LIMIT
from arboretum.parameters.declaring import (
    COUNT,
    FLAG,
    MOST,
    Allowed,
    Anything,
    Choice,
    CountOrShare,
    Number,
    like,
    parameter,
    parameter_group,
)
from arboretum.parameters.shared import (
    Bins,
    Categories,
    ClassWeights,
    Monotone,
    Progress,
    Seed,
    Threads,
    Voting,
    WarmStart,
)

MOST_PROJECTIONS = 1_000_000


def features_a_node(max_features: Any, n_features: int) -> int:
    """Return how many features a node looks at: "sqrt", "log2", a share, a number, or None for all."""
    if max_features is None:
        return NO_LIMIT
    if isinstance(max_features, str):
        if max_features not in ("sqrt", "log2"):
            raise ValueError(f"max_features={max_features!r}: use 'sqrt', 'log2', a share, a number or None")
        return max(1, int((math.sqrt if max_features == "sqrt" else math.log2)(n_features)))
    if isinstance(max_features, float) and 0 < max_features <= 1:
        return max(1, int(max_features * n_features))
    if isinstance(max_features, int | np.integer) and not isinstance(max_features, bool) and max_features >= 1:
        return min(int(max_features), n_features)
    raise ValueError(
        f"max_features={max_features!r}: use 'sqrt', 'log2', a share above 0 and at most 1, a number of columns "
        "of at least 1, or None for all"
    )


class FeaturesOfNode(Allowed):
    """What ``features_a_node`` takes."""

    optional = True

    @property
    def text(self) -> str:
        """Words and types."""
        return '{"sqrt", "log2"}, float or int'

    def check(self, owner: Any, name: str) -> None:
        """Reject what is no number of columns."""
        features_a_node(getattr(owner, name), 1)


class OutOfBagRule(Allowed):
    """Whether and how to score rows by trees or members that have not seen them."""

    @property
    def text(self) -> str:
        """Types."""
        return "bool, str or callable"

    def check(self, owner: Any, name: str) -> None:
        """Reject what is no scorer."""
        check_rule(getattr(owner, name))


@parameter_group("Ensemble")
class Trees:
    """How many trees."""

    n_estimators: int = parameter(100, COUNT, "Number of trees.")


@parameter_group("Shape of trees")
class TreeLimits:
    """How large a tree grows."""

    max_depth: int | None = parameter(
        None,
        Number(1, 1_000_000, integer=True, optional=True),
        "Maximum number of conditions on a path; by default a tree grows until its leaves are pure or small.",
    )
    max_leaf_nodes: int | None = parameter(
        None,
        Number(2, MOST, integer=True, optional=True),
        "Maximum number of leaves of a tree; the node of largest gain is then split first. By default unlimited.",
    )
    min_samples_leaf: Any = parameter(
        1, CountOrShare(), "Minimum number of rows in a leaf, counted exactly; a float is a share of the rows."
    )


@parameter_group("Shape of trees")
class NodeLimits(TreeLimits):
    """Which nodes are split, too."""

    min_samples_split: int | float = parameter(
        2,
        CountOrShare(2),
        "Minimum number of rows in a node that is split; a float is a share of the rows.",
        before="min_samples_leaf",
    )
    min_weight_fraction_leaf: float = parameter(0.0, Number(0.0, 0.5), "Minimum share of the total weight in a leaf.")


@parameter_group("Splits")
class ImpurityLimit:
    """Which splits are worth it."""

    min_impurity_decrease: float = parameter(
        0.0,
        Number(0.0, 1e300),
        "Minimum decrease of impurity by a split, weighted by the node's share of the total weight.",
    )


@parameter_group("Splits")
class ClassCriterion:
    """Impurity of classes."""

    criterion: str = parameter(
        "gini",
        Choice("gini", "entropy", "log_loss"),
        'Impurity that splits reduce; "log_loss" is another name for "entropy".',
    )


@parameter_group("Splits")
class NumberCriterion:
    """Impurity of numbers."""

    criterion: str = parameter(
        "squared_error",
        Choice("squared_error", "absolute_error", "poisson"),
        'Impurity that splits reduce; leaves predict means, or medians for "absolute_error".',
    )


@parameter_group("Columns")
class NodeColumns:
    """Columns that compete for a split."""

    max_features: Any = parameter(
        "sqrt",
        FeaturesOfNode(),
        "Number or share of columns that each node considers; more if none of them can be split.",
    )


@parameter_group("Oblique splits")
class Oblique:
    """Conditions on sums of columns."""

    oblique: bool = parameter(
        False,
        FLAG,
        "Let nodes also consider sums of a few numeric columns, ``±x/s ± y/t <= threshold`` with each column's "
        "standard deviation; a missing value counts as the mean. Takes 8 bytes per row and numeric column during "
        "``fit``.",
    )
    n_projections: int | None = parameter(
        None,
        Number(1, MOST_PROJECTIONS, integer=True, optional=True),
        "Number of sums that each node considers besides its columns; by default as many as columns "
        "(``max_features``).",
    )
    projection_density: float | None = parameter(
        None,
        Number(0.0, 1.0, open_low=True, optional=True),
        "Probability that a numeric column takes part in a sum, given that at least two do; by default 2 / columns, "
        "about three columns in a sum.",
    )


@parameter_group("Rows of each tree")
class RowDraws:
    """Rows that a tree of a forest sees."""

    bootstrap: bool | str = parameter(
        True, FLAG, "Draw the rows of each tree with replacement, by weight. Otherwise every tree uses every row."
    )
    max_samples: float | int | None = parameter(
        None,
        CountOrShare(most=1e6, optional=True),
        "Number of rows that each tree draws, or their share; by default as many as there are rows.",
    )


@parameter_group("Rows of each tree")
class OutOfBag:
    """What is learned from rows that trees have not seen."""

    oob_score: Any = parameter(
        False,
        OutOfBagRule(),
        "Score every row by the trees that did not draw it: True uses <score>, a name one of scikit-learn's scorers, a "
        "function is called with (y, prediction).",
    )
    keep_bags: bool = parameter(
        False,
        FLAG,
        "Keep the leaf and the draws of every training row in every tree, some 5 bytes each, for ``proximity`` of "
        "training rows, ``predict_quantiles``, ``prediction_error`` and ``oob_permutation_importance``.",
    )


@parameter_group()
class ClassForest(
    Trees,
    ClassCriterion,
    NodeLimits,
    ImpurityLimit,
    NodeColumns,
    Bins,
    Oblique,
    RowDraws,
    OutOfBag,
    ClassWeights,
    Voting,
    Monotone,
    Categories,
    WarmStart,
    Seed,
    Threads,
    Progress,
):
    """Parameters of forests for classes."""

    min_samples_leaf: int | float = like(TreeLimits)
    bootstrap: bool | str = like(
        RowDraws,
        allowed=Choice(True, False, "balanced"),
        doc='Draw the rows of each tree with replacement, by weight; "balanced" draws equally often from each class. '
        "Otherwise every tree uses every row.",
    )
    oob_score: Any = like(OutOfBag, filled={"score": "accuracy"})
    class_weight: Any = like(
        ClassWeights,
        allowed=Anything('"balanced", "balanced_subsample" or dict'),
        doc='Weight of each class. "balanced": classes weigh the same in the whole table. "balanced_subsample": in the '
        "bag of every tree, which draws as often from each class.",
    )


@parameter_group()
class NumberForest(
    Trees,
    NumberCriterion,
    NodeLimits,
    ImpurityLimit,
    NodeColumns,
    Bins,
    Oblique,
    RowDraws,
    OutOfBag,
    Monotone,
    Categories,
    WarmStart,
    Seed,
    Threads,
    Progress,
):
    """Parameters of forests for numbers."""

    min_samples_leaf: int | float = like(TreeLimits)
    max_features: Any = like(NodeColumns, default=1 / 3)
    bootstrap: bool = like(RowDraws)
    oob_score: Any = like(OutOfBag, filled={"score": "R²"})


@parameter_group()
class TimesForest(Trees, NodeLimits, NodeColumns, Bins, RowDraws, Categories, WarmStart, Seed, Threads, Progress):
    """Parameters of forests for times to an event."""

    min_samples_split: int | float = like(NodeLimits, default=6)
    min_samples_leaf: int | float = like(NodeLimits, default=3)
    bootstrap: bool = like(RowDraws)


@parameter_group()
class EffectsForest(Trees, TreeLimits, NodeColumns, Bins, RowDraws, Categories, WarmStart, Seed, Threads, Progress):
    """Parameters of forests for uplift."""

    bootstrap: bool = like(RowDraws)


@parameter_group("Pruning")
class Pruning:
    """How a single tree is cut back."""

    pruning: str | None = parameter(
        "auto",
        Choice("auto", "cost_complexity", "reduced_error", None),
        "How the grown tree is pruned: by default by cost complexity if ``ccp_alpha`` is above 0. "
        '"reduced_error" uses the loss of the criterion on validation rows.',
    )
    ccp_alpha: float = parameter(
        0.0, Number(0.0, 1e300), "Price of a leaf in cost-complexity pruning; 0 prunes nothing."
    )
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
