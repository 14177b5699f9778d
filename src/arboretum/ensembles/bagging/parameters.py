"""The parameters of forests; single trees have some of them (``trees/parameters.py``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arboretum.arguments import shown
from arboretum.ensembles.bagging import criteria
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
    Treatments,
    Voting,
    WarmStart,
)

MOST_PROJECTIONS = 1_000_000
AUTO = "auto"
TREES_BY_PRIOR = 200  # for each tree without a split


def features_a_node(max_features: Any, n_features: int) -> int:
    """Return how many features a node considers, given "sqrt", "log2", a share, a number, or None for all."""
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


def is_auto(value: Any) -> bool:
    """Whether a value, which may be an array, is the word "auto"."""
    return isinstance(value, str) and value == AUTO


class FeaturesOfNode(Allowed):
    """Values that ``features_a_node`` accepts."""

    optional = True
    text = '{"sqrt", "log2"}, float or int'

    def check(self, owner: Any, name: str) -> None:
        """Reject a value that does not mean a number of columns."""
        features_a_node(getattr(owner, name), 1)


class ChosenFeaturesOfNode(FeaturesOfNode):
    """The same, or "auto"."""

    text = '{"auto", "sqrt", "log2"}, float or int'

    def check(self, owner: Any, name: str) -> None:
        """Reject a value that does not mean a number of columns."""
        if not is_auto(getattr(owner, name)):
            super().check(owner, name)


class OutOfBagRule(Allowed):
    """Whether and how to score rows by trees or members that have not seen them."""

    text = "bool, str or callable"

    def check(self, owner: Any, name: str) -> None:
        """Reject a value that is not a scorer."""
        check_rule(getattr(owner, name))


class ConcordanceFlag(Allowed):
    """Whether to score rows by trees that have not seen them; for times there is a single score."""

    text = "bool"

    def check(self, owner: Any, name: str) -> None:
        """Reject other scores."""
        value = getattr(owner, name)
        if not isinstance(value, bool):
            raise ValueError(f"{name}={shown(value)}: use True for the concordance index, or False")


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
        "Maximum number of leaves of a tree; the node with the largest gain is then split first. By default unlimited.",
    )
    min_samples_leaf: Any = parameter(
        1, CountOrShare(), "Minimum number of rows in a leaf, counted exactly; a float is a share of the rows."
    )


@parameter_group("Shape of trees")
class NodeLimits(TreeLimits):
    """Further limits on which nodes are split."""

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
        "gini", Choice(*criteria.OF_CLASSES), 'Impurity that splits reduce; "log_loss" is another name for "entropy".'
    )


@parameter_group("Splits")
class NumberCriterion:
    """Impurity of numbers."""

    criterion: str = parameter(
        "squared_error",
        Choice(*criteria.OF_NUMBERS),
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
class OutOfBagScore:
    """Whether rows are scored by trees that have not seen them."""

    oob_score: Any = parameter(
        False,
        OutOfBagRule(),
        "Score every row by the trees that did not draw it: True uses <score>, a name uses that scorer of "
        "scikit-learn, a function is called with (y, prediction).",
    )


@parameter_group("Rows of each tree")
class KeptBags:
    """Whether the bags of trees are kept."""

    keep_bags: bool = parameter(
        False,
        FLAG,
        "Keep the leaf and the draws of every training row in every tree, some 5 bytes each, for ``proximity`` of "
        "training rows, ``predict_quantiles``, ``prediction_error`` and ``oob_permutation_importance``.",
    )


class ForestParameters:
    """Parameters that the recipe reads of every kind of forest."""

    n_estimators: int
    bootstrap: Any  # bool; for classes, perhaps "balanced"
    max_samples: float | int | None
    warm_start: bool
    random_state: Any
    n_jobs: int | None
    verbose: int


@parameter_group()
class ForestRunning(Categories, WarmStart, Seed, Threads, Progress, ForestParameters):
    """The last parameters of every forest."""


@parameter_group()
class ImpurityTrees(NodeLimits, ImpurityLimit, NodeColumns, Bins, Oblique, RowDraws, OutOfBagScore, KeptBags):
    """Parameters of trees that reduce an impurity, and of their bags."""


@parameter_group("Shape of trees")
class ChosenTrees(ImpurityTrees):
    """Parameters of trees whose shape may be chosen by rows out of the bag (``choosing.py``)."""

    min_samples_leaf: int | float | str = like(
        TreeLimits,
        default=AUTO,
        allowed=CountOrShare(words=(AUTO,)),
        doc='Minimum number of rows in a leaf, counted exactly; a float is a share of the rows. "auto" bounds the '
        "number of draws instead, and chooses it by the rows that trees have not drawn (docs/forest-defaults.md).",
    )
    max_features: Any = like(
        NodeColumns,
        default=AUTO,
        allowed=ChosenFeaturesOfNode(),
        doc='Number or share of columns that each node considers; more if none of them can be split. "auto" chooses '
        "among the square root, half and all of them by the rows that trees have not drawn.",
    )


@parameter_group("Ensemble")
class PriorTrees:
    """Shares of classes that no leaf has the last word on."""

    prior_trees: float | str = parameter(
        "auto",
        Number(0.0, 1e6, words=("auto",)),
        "Number of trees without a split that are averaged with the others, so that no probability is 0 only because "
        'leaves have not seen the class. "auto" is a two-hundredth of ``n_estimators``. Without effect for '
        '``voting="hard"``.',
    )


@parameter_group()
class ClassForest(Trees, PriorTrees, ClassCriterion, ChosenTrees, ClassWeights, Voting, Monotone, ForestRunning):
    """Parameters of forests for classes."""

    n_estimators: int = like(Trees, default=200)
    bootstrap: bool | str = like(
        RowDraws,
        allowed=Choice(True, False, "balanced"),
        doc='Draw the rows of each tree with replacement, by weight; "balanced" draws equally often from each class. '
        "Otherwise every tree uses every row.",
    )
    oob_score: Any = like(OutOfBagScore, filled={"score": "accuracy"})
    class_weight: Any = like(
        ClassWeights,
        allowed=Anything('"balanced", "balanced_subsample" or dict'),
        doc='Weight of each class. "balanced": classes have equal weight in the whole table. "balanced_subsample": '
        "in the bag of every tree, which draws equally often from each class.",
    )


@parameter_group()
class NumberForest(Trees, NumberCriterion, ChosenTrees, Monotone, ForestRunning):
    """Parameters of forests for numbers."""

    n_estimators: int = like(Trees, default=200)
    bootstrap: bool = like(RowDraws)
    oob_score: Any = like(OutOfBagScore, filled={"score": "R²"})


@parameter_group()
class TimesForest(Trees, NodeLimits, NodeColumns, Bins, RowDraws, OutOfBagScore, ForestRunning):
    """Parameters of forests for times to an event."""

    min_samples_split: int | float = like(NodeLimits, default=6)
    min_samples_leaf: int | float = like(NodeLimits, default=3)
    bootstrap: bool = like(RowDraws)
    oob_score: bool = like(
        OutOfBagScore,
        allowed=ConcordanceFlag(),
        doc="Compute the concordance index of risks that are predicted by trees that did not draw the row.",
    )


@parameter_group("Splits")
class Divergence:
    """The divergence that splits increase, and limits per arm of the experiment."""

    criterion: str = parameter(
        "auto",
        Choice("auto", *criteria.OF_EFFECTS),
        "Divergence between the outcomes of treated and control rows that splits increase: Kullback-Leibler, squared "
        'difference, or chi-squared. Outcomes that are numbers, or adjusted, need "euclidean". "auto" is that, or "kl" '
        "for two outcomes that are not adjusted.",
    )
    normalise: bool = parameter(
        True, FLAG, "Divide gains by a measure of how unevenly a split deals out treated and control rows."
    )


@parameter_group("Shape of trees")
class ArmLimits:
    """Rows of each arm in a leaf."""

    min_samples_treatment: int | str = parameter(
        "auto",
        Number(1, MOST, integer=True, words=("auto",)),
        'Minimum number of rows of the control, and of each treatment, in a leaf. "auto" is 5, of two outcomes so many '
        "that 5 have the rarer one; or a fifth of the smallest of these groups among the rows of a tree, if that is "
        "less.",
    )
    parent_weight: float = parameter(
        1.0,
        Number(0.0, 1e15),
        "Number of rows that the outcome of a node's parent counts as in the outcome of the node.",
    )


@parameter_group()
class EffectsForest(Trees, Divergence, Treatments, TreeLimits, ArmLimits, NodeColumns, Bins, RowDraws, ForestRunning):
    """Parameters of forests for uplift."""

    min_samples_leaf: int | float | str = like(
        TreeLimits,
        default="auto",
        allowed=CountOrShare(words=("auto",)),
        doc='Minimum number of rows in a leaf, counted exactly; a float is a share of the rows. "auto" is 20, or a '
        "fifth of the rows that a tree draws if that is less: effects are differences of means, and small leaves "
        "mostly show noise.",
    )
    max_features: Any = like(NodeColumns, default=0.5)
    bootstrap: bool = like(RowDraws)
    max_samples: float | int | None = like(
        RowDraws,
        doc="Number of rows that each tree draws, or their share; by default as many as there are rows, or half of "
        "that with ``honest``.",
    )
    honest: bool | str = parameter(
        "auto",
        Choice("auto", True, False),
        "Let rows that a tree has not drawn determine what its leaves predict, so that the search for splits does not "
        'exaggerate effects. "auto": with ``bootstrap``.',
        before="categorical_features",
    )
    adjust: bool | str = parameter(
        "auto",
        Choice("auto", True, False),
        "Grow trees on outcomes less those that a forest expects of the columns, so that effects stand out, and adjust "
        'leaves for the rows that each arm has in them. "auto": unless ``criterion`` is "kl" or "chi2", which need '
        "outcomes as they are.",
        before="categorical_features",
    )


def check_together(given: ForestParameters) -> None:
    """Reject parameters that contradict each other."""
    if isinstance(given, OutOfBagScore) and given.bootstrap is False and given.oob_score is not False:
        raise ValueError(
            f"oob_score={given.oob_score!r} without bootstrap: every tree sees every row, so none is out of bag; "
            "set bootstrap=True or oob_score=False"
        )
    if isinstance(given, Oblique):
        check_oblique(given)
    if given.bootstrap is False and given.max_samples is not None:
        raise ValueError(f"max_samples={given.max_samples!r} without bootstrap: set bootstrap=True or leave it None")
    if isinstance(given, EffectsForest):
        check_effects(given)


def check_effects(given: EffectsForest) -> None:
    """Reject honest leaves without rows left for them, and divergences of outcomes that are no longer 0 and 1."""
    if given.adjust is True and criteria.OF_EFFECTS.get(given.criterion, False):
        raise ValueError(
            f"adjust=True with criterion={given.criterion!r}, which needs outcomes 0 and 1: use criterion='euclidean' "
            "or adjust=False"
        )
    if given.honest is True and given.bootstrap is False:
        raise ValueError(
            "honest=True without bootstrap: every tree sees every row, none is left to fill its leaves; "
            "set bootstrap=True or honest=False"
        )


def check_oblique(given: Oblique) -> None:
    """Reject ``n_projections`` and ``projection_density`` without ``oblique``."""
    for name in ("n_projections", "projection_density"):
        if not given.oblique and getattr(given, name) is not None:
            raise ValueError(f"{name}={getattr(given, name)!r} without oblique: set oblique=True or leave it None")
