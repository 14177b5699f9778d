"""AdaBoost: learners fitted one after the other to rows whose weight grows each time they are predicted wrongly.

::

    classes   SAMME (Zhu, Zou, Rosset and Hastie 2009); for K = 2 classes AdaBoost of Freund and Schapire (1997), whose
              learner weights are half of these
        each round:   learner = fitted to all rows, weighted by w, or to rows drawn by w (Freund and Schapire 1996)
                      ε = share of w that it gets wrong
                      ω = learning rate · (log((1 − ε) / ε) + log(K − 1))
                      w of wrong rows × exp(ω), then all to their old sum
        predict:      the class with the largest Σ ω of the learners that name it

    numbers   AdaBoost.R2 (Drucker 1997)
        each round:   learner = fitted to rows drawn by w, or to all rows, weighted by w
                      L = loss of |prediction − y| / the largest of them,   ε = mean of L, weighted by w
                      β = ε / (1 − ε),   ω = learning rate · log(1 / β)
                      w × β^(learning rate · (1 − L)), then all to their old sum
        predict:      the median of the learners, weighted by ω

The sum of the weights never changes: it is that of the sample weights, unless these are huge or tiny.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.data.binning import BinnedData
from arboretum.elementary import bounded_exp, expm1
from arboretum.ensembles.bagging.preparation import TrainingSet
from arboretum.ensembles.bagging.trees import SingleTree, grow_tree, is_whole
from arboretum.ensembles.boosting.rounds import EXACT_ROWS, TREE_PURPOSE
from arboretum.exact_sums import exact_mean, exact_sum
from arboretum.growing.grower import SplitRules, TreeParams, WeightedTree, to_forest
from arboretum.model.forest import Forest, majorities
from arboretum.running.interruption import keeps_part
from arboretum.running.progress import RoundReport, followers

FloatArray: TypeAlias = NDArray[np.float64]

# A learner that is nearer to chance has found nothing: weights would stay as they are, and so would the next learner.
LEAST_EDGE = 1e-7
# A smaller share of the weight is rounding.
LEAST_ERROR = 1e-13
MEDIAN_BLOCK = 16_384  # rows whose medians are computed at once

LOSSES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "linear": lambda errors: errors,
    "square": np.square,
    "exponential": lambda errors: -expm1(-errors),
}


def starting_weights(weight: FloatArray | None, n_rows: int) -> FloatArray:
    """Return the weights of the first round: 1, or those given; divided by their mean if products would overflow.

    Examples
    --------
    >>> starting_weights(np.array([1e-200, 3e-200]), 2)
    array([0.5, 1.5])
    """
    if weight is None:
        return np.ones(n_rows)
    mean = exact_mean(weight)
    return weight if 2.0**-60 < mean < 2.0**60 else weight / mean


@dataclass
class Votes:
    """Weights and errors of the learners that were kept, in order."""

    weights: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    interrupted: bool = False

    def add(self, weight: float, error: float) -> None:
        """Add a learner."""
        self.weights.append(weight)
        self.errors.append(error)


class Learners(Protocol):
    """Learners that are fitted one after the other to the same rows."""

    takes_weights: bool

    def content_order(self, weight: FloatArray) -> NDArray[np.uint32]:
        """Return the rows in an order that depends on their content and weight alone."""

    def fit(self, weight: FloatArray, number: int) -> NDArray[Any]:
        """Fit learner ``number`` to weighted rows; return what it predicts for them."""


class ClassRounds(Protocol):
    """Learners of classes, and the weights of the rows."""

    def fit(self, number: int) -> float:
        """Fit learner ``number``; return the share of the weight that it gets wrong."""

    def reweight(self, right: float, wrong: float) -> None:
        """Multiply the weights of the rows that the last learner got right, and of those it got wrong."""


# ---- the loops -------------------------------------------------------------------------------------------------------


def boost_classes(rounds: ClassRounds, *, n_classes: int, n_rounds: int, learning_rate: float) -> Votes:
    """Boost learners of classes.

    The run ends early if a learner gets all rows right, or all of them wrong: it is kept with the weight 1 or −1, since
    the formula would be infinite. It also ends at a learner that is no better and no worse than chance, which is
    dropped unless it is the first. One that is worse than chance has a negative weight: it votes against its class.
    """
    votes, chance = Votes(), 1 - 1 / n_classes
    try:
        for number in _followed(n_rounds):
            error = rounds.fit(number)
            if error <= LEAST_ERROR or error >= 1 - LEAST_ERROR:
                votes.add(1.0 if error <= LEAST_ERROR else -1.0, float(round(error)))
                break
            at_chance = abs(chance - error) < LEAST_EDGE
            if at_chance and number:
                break
            weight = learning_rate * (math.log((1 - error) / error) + math.log(n_classes - 1))
            votes.add(0.0 if at_chance else weight, error)
            if at_chance:
                break
            rounds.reweight(*_factors(error, weight))
    except KeyboardInterrupt:
        if not keeps_part(len(votes.weights)):
            raise
        votes.interrupted = True
    return votes


def _followed(n_rounds: int) -> Iterator[int]:
    """Yield the numbers of the rounds, and report each that is done."""
    started = time.monotonic()
    for number in range(n_rounds):
        yield number
        for callback in followers():
            callback(RoundReport(number + 1, n_rounds, time.monotonic() - started, None, None))


def _factors(error: float, weight: float) -> tuple[float, float]:
    """Return 1 and exp(weight), divided so that the sum of the row weights stays the same; neither can overflow."""
    up, down = (_exp(sign * weight) for sign in (1, -1))
    return 1 / (1 - error + error * up), 1 / ((1 - error) * down + error)


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


def boost_numbers(
    learners: Learners, y: FloatArray, weight: FloatArray, *, loss: str, n_rounds: int, learning_rate: float
) -> Votes:
    """Boost learners of numbers.

    The run ends early if a learner is exact, which is kept with the weight 1, or if its mean loss is ½ or more: then it
    is dropped, unless it is the first.
    """
    votes, weight, total = Votes(), weight.copy(), exact_sum(weight)
    try:
        for number in _followed(n_rounds):
            errors = np.abs(learners.fit(weight, number) - y)
            largest = float(errors.max())
            losses = LOSSES[loss](errors / largest) if largest > 0 else errors
            error = exact_sum(losses, weight) / total
            if error >= 0.5 and number:
                break
            if not 0 < error < 0.5:
                votes.add(1.0, error)
                break
            log_beta = learning_rate * (math.log(error) - math.log1p(-error))
            votes.add(-log_beta, error)
            exponents = log_beta * (1 - losses)
            weight *= bounded_exp(np.minimum(exponents - exponents[weight > 0].max(), 0.0))
            weight *= total / exact_sum(weight)
    except KeyboardInterrupt:
        if not keeps_part(len(votes.weights)):
            raise
        votes.interrupted = True
    return votes


# ---- rows drawn by weight --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DrawsByWeight:
    """Draws of rows with replacement from an order of content, a hash of (seed, round, draw) each.

    Examples
    --------
    >>> draws = DrawsByWeight.of(np.arange(3, dtype=np.uint32), np.ones(3), seed=0)
    >>> int(draws.copies(np.array([1.0, 0.0, 2.0]), 0).sum())
    3
    """

    order: NDArray[np.uint32]
    n_draws: int
    seed: int

    @classmethod
    def of(cls, order: NDArray[np.uint32], weight: FloatArray, seed: int) -> DrawsByWeight:
        """Make as many draws as there are rows; a row of weight 3 counts as three rows."""
        return cls(order, int(weight.sum()) if is_whole(weight) else len(order), seed)

    def copies(self, weight: FloatArray, number: int) -> FloatArray:
        """Return how often each row is drawn in round ``number``."""
        whole = np.array([0, len(self.order)], dtype=np.int64)
        bootstrap = _kernel.Bootstrap(self.n_draws, self.order, np.cumsum(weight[self.order]), whole)
        return bootstrap.copies(self.seed, number, len(weight)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Resampled:
    """Learners that are fitted to rows drawn by weight; the weight of a row is its number of copies."""

    learners: Learners
    draws: DrawsByWeight
    takes_weights = False

    def content_order(self, weight: FloatArray) -> NDArray[np.uint32]:
        """Return the rows in an order that depends on their content and first weight alone."""
        return self.draws.order

    def fit(self, weight: FloatArray, number: int) -> NDArray[Any]:
        """Fit learner ``number``; return what it predicts for all rows."""
        return self.learners.fit(self.draws.copies(weight, number), number)


def resampled(learners: Learners, weight: FloatArray, seed: int) -> Resampled:
    """Let learners see rows drawn by weight; ``weight`` is that of the start."""
    return Resampled(learners, DrawsByWeight.of(learners.content_order(weight), weight, seed))


@dataclass
class CodedRounds:
    """Rounds of any learners that predict codes of classes."""

    learners: Learners
    codes: NDArray[Any]
    weight: FloatArray

    def __post_init__(self) -> None:
        self.weight = self.weight.copy()

    def fit(self, number: int) -> float:
        """Fit learner ``number``; return the share of the weight that it gets wrong."""
        self.wrong = self.learners.fit(self.weight, number) != self.codes
        return exact_sum(self.weight[self.wrong]) / exact_sum(self.weight)

    def reweight(self, right: float, wrong: float) -> None:
        """Multiply the weights of the rows that the last learner got right, and of those it got wrong."""
        self.weight *= np.where(self.wrong, wrong, right)


# ---- trees of gradients ----------------------------------------------------------------------------------------------


class BinaryTrees:
    """Rounds of trees for two classes, on the gradient engine.

    With y = ±1, g = −w·y and h = w the gain of the engine, ½ Σ G² / H, is w times the fall of the Gini impurity, up to
    a factor: for two classes that is the fall of the variance of y. G and H of the leaves give the weights of both
    classes, (H − G) / 2 and (H + G) / 2, hence the error, without another pass over the rows.
    """

    def __init__(self, data: BinnedData, codes: NDArray[Any], weight: FloatArray, tree: TreeParams, threads: int):
        self.data, self.threads, self.weight = data, threads, weight.copy()
        self.hessians: NDArray[Any] = weight.astype(_real_for(data))
        self.gradients: NDArray[Any] = self.hessians * np.where(codes == 1, -1, 1).astype(self.hessians.dtype)
        self.grower = _kernel.Grower(data.codes, threads)
        self.params = tree.to_kernel()
        self.trees: list[WeightedTree] = []

    def fit(self, number: int) -> float:
        """Grow tree ``number``; return the share of the weight that it gets wrong."""
        tree = self.grower.grow(self.gradients, self.hessians, None, self.params, 0)
        gradient, hessian = tree.gradient, tree.hessian
        self.names_second = gradient < 0
        self.trees.append(WeightedTree(tree, _second_share(gradient, hessian), 0))
        wrong = np.maximum(hessian - np.abs(gradient), 0.0)[tree.left < 0].sum() / 2
        return float(wrong / hessian[0])

    def reweight(self, right: float, wrong: float) -> None:
        """Multiply the weights of the rows that the last tree got right, and of those it got wrong."""
        factors = np.where(self.names_second[:, None] == np.array([False, True]), right, wrong).ravel()
        _kernel.reweight(self.grower, factors, self.weight, self.gradients, self.hessians, self.threads)

    def forest(self, n_trees: int) -> Forest:
        """Freeze the first trees; values are shares of the second class."""
        return to_forest(self.trees[:n_trees], np.zeros(1), self.data.bin_map)


def _real_for(data: BinnedData) -> Any:
    """Return the dtype of the statistics that the engine takes for this number of rows."""
    return np.float32 if data.n_rows > EXACT_ROWS else np.float64


def _second_share(gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """Return the share of the second class in each node."""
    return np.asarray((1 - gradient / np.maximum(hessian, np.finfo(float).tiny)) / 2)


class NumberTrees:
    """Trees for numbers on the gradient engine: g = w·(c − y) and h = w give the decrease of the variance."""

    takes_weights = True

    def __init__(
        self,
        data: BinnedData,
        edges: _kernel.CodeEdges,
        y: FloatArray,
        weight: FloatArray,
        tree: TreeParams,
        threads: int,
    ) -> None:
        self.data, self.edges, self.y, self.threads = data, edges, y, threads
        self.centre = exact_mean(y, weight)
        self.scale = float(np.abs(y - self.centre).max()) or 1.0
        self.residual = (self.centre - y) / self.scale
        self.gradients, self.hessians = np.empty((2, len(y)), _real_for(data))
        self.grower = _kernel.Grower(data.codes, threads)
        self.params = tree.to_kernel()
        self.trees: list[WeightedTree] = []

    def content_order(self, weight: FloatArray) -> NDArray[np.uint32]:
        """Return the rows in an order that depends on their content and weight alone."""
        return _kernel.content_order(self.data.codes, self.edges, None, self.y[:, None], self.threads, None, weight)

    def fit(self, weight: FloatArray, number: int) -> FloatArray:
        """Grow tree ``number`` from weighted rows; return its predictions of all rows."""
        np.multiply(weight, self.residual, out=self.gradients, casting="same_kind")
        self.hessians[:] = weight
        tree = self.grower.grow(self.gradients, self.hessians, None, self.params, 0)
        values = tree.values(self.params, None) * self.scale + self.centre
        self.trees.append(WeightedTree(tree, values, 0))
        return np.asarray(values[self.grower.leaf_of_row])

    def forest(self, n_trees: int) -> Forest:
        """Freeze the first trees."""
        return to_forest(self.trees[:n_trees], np.zeros(1), self.data.bin_map)


# ---- trees of impurity -----------------------------------------------------------------------------------------------


@dataclass
class ImpurityTrees:
    """Trees for any criterion and any number of classes, all on one table that is read and cut into bins once."""

    training: TrainingSet
    rules: SplitRules
    prune: Callable[[SingleTree], Forest]
    seed: int
    threads: int
    trees: list[Forest] = field(default_factory=list)
    takes_weights = True

    def __post_init__(self) -> None:
        self.leaves = places.bound(self.training.leaves)  # rounds have all rows, but tables stay where they are

    def content_order(self, weight: FloatArray) -> NDArray[np.uint32]:
        """Return the rows in an order that depends on their content and weight alone."""
        rows, target = self.training, self.training.target
        return _kernel.content_order(
            rows.data.codes, rows.edges, target.classes, target.numbers, self.threads, rows.projections, weight
        )

    def fit(self, weight: FloatArray, number: int) -> NDArray[Any]:
        """Grow tree ``number`` from weighted rows; return codes of classes, or numbers, that it predicts for them."""
        rows, target = self.training, self.training.target
        tree = self.prune(
            grow_tree(
                rows.data,
                rows.edges,
                replace(target, weight=weight),
                self.rules,
                seed=_kernel.draw(self.seed, TREE_PURPOSE, number),
                threads=self.threads,
                projections=rows.projections,
            )
        )
        self.trees.append(tree)
        of_nodes = tree.value if target.classes is None else majorities(tree, target.n_classes)
        return np.asarray(of_nodes[self.leaves(tree, self.threads, 0, 1)[:, 0], 0])

    def forest(self, n_trees: int) -> Forest:
        """Join the first trees; values are shares of classes, or numbers."""
        return Forest.concat(self.trees[:n_trees])


# ---- what learners say together --------------------------------------------------------------------------------------


def class_code(n_classes: int) -> FloatArray:
    """Return what a vote for each class adds to the scores: 1 to its own, −1 / (K − 1) to the others.

    This is the code of Zhu et al. (2009, § 2). For two classes the score of the second is enough.

    Examples
    --------
    >>> class_code(2), class_code(3)
    (array([[-1.],
           [ 1.]]), array([[ 1. , -0.5, -0.5],
           [-0.5,  1. , -0.5],
           [-0.5, -0.5,  1. ]]))
    """
    if n_classes == 2:
        return np.array([[-1.0], [1.0]])
    return np.where(np.eye(n_classes) == 1, 1.0, -1 / (n_classes - 1))


def voting_forest(forest: Forest, weights: FloatArray, n_classes: int) -> Forest:
    """Turn trees of shares into trees whose leaves are votes, times the weights of the trees: scores are their sums."""
    named = majorities(forest, (n_classes,))[:, 0]
    of_nodes = np.repeat(weights, np.diff(forest.tree_start))
    return replace(forest, value=of_nodes[:, None] * class_code(n_classes)[named])


def weighted_median(predictions: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the median of each row of (rows, learners): the smallest prediction that reaches half of the weight.

    Examples
    --------
    >>> weighted_median(np.array([[3.0, 1.0, 2.0]]), np.array([1.0, 1.0, 3.0]))
    array([2.])
    """
    medians = np.empty(len(predictions))
    for first in range(0, len(predictions), MEDIAN_BLOCK):
        block = predictions[first : first + MEDIAN_BLOCK]
        order = np.argsort(block, axis=1, kind="stable")
        sums = np.cumsum(weights[order], axis=1)
        middle = np.argmax(sums >= 0.5 * sums[:, -1:], axis=1)
        rows = np.arange(len(block))
        medians[first : first + MEDIAN_BLOCK] = block[rows, order[rows, middle]]
    return medians


def shallow_tree(max_depth: int, category_ranks: tuple[tuple[int, ...], ...] = ()) -> TreeParams:
    """Return the growth parameters of the default learners: all cuts allowed, penalties only on large categories."""
    return TreeParams(
        growth="level",
        max_leaf_nodes=2**max_depth,
        max_depth=max_depth,
        min_samples_leaf=1,
        min_child_weight=0.0,
        category_ranks=category_ranks,
    )
