"""Influence of training rows on trees and forests of means: the values of leaves without a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.bagging.model_notes import notes_of
from arboretum.ensembles.bagging.preparation import GivenRows, Preparation
from arboretum.ensembles.bagging.shared_leaves import membership, number_leaves
from arboretum.estimators.averaged_trees import AveragedTrees
from arboretum.model.forest import LEAF, Forest
from arboretum.model.heads import ClassMeanHead, MeanHead
from arboretum.model.model import Model
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]

AGREEMENT = 1e-6  # of leaf values with those that the training rows give, as a share of the largest


def forest_influence(
    model: AveragedTrees, X: Any, y: Any, X_train: Any, y_train: Any, sample_weight: Any
) -> tuple[Callable[[slice, int], FloatArray], int, int, int]:
    """Return influence as a function of rows and an output, and the numbers of rows, training rows and outputs."""
    inner, preparation, threads = model.model_, model.recipe().preparation, n_threads(model.n_jobs)
    _reject_what_is_not_a_mean(inner, model.criterion)
    forest, goal = inner.forest, preparation.goal
    given = preparation.read(X_train, y_train, sample_weight)
    target = given.target.as_values
    leaves = inner.leaves(inner.conform(X_train), threads)[given.numbers]
    if target.shape[1] != forest.width:
        raise _other_rows()
    copies, weight = _copies(preparation, given, notes_of(inner).seed, threads), inner.explained()[1]
    removal = _removal(forest, leaves, target, copies, weight)
    new = inner.conform(X)
    (train, asked), n_leaves = number_leaves(leaves, inner.leaves(new, threads))
    left = membership(asked, n_leaves, np.float64(1.0))
    right = [membership(train, n_leaves, column.ravel()).T.tocsr() for column in np.moveaxis(removal, 2, 0)]

    def change(rows: slice, output: int) -> FloatArray:
        every = np.zeros((rows.stop - rows.start, given.n_given))
        every[:, given.numbers] = (left[rows] @ right[output]).toarray()
        return every

    if y is None:
        return change, new.n_rows, given.n_given, forest.width
    asked_for = goal.read_more(goal.as_columns(y, new.n_rows), None, given)
    residual = inner.head_as(MeanHead).mean(inner.raw(new, threads, forest)) - asked_for.as_values

    def change_of_loss(rows: slice, output: int) -> FloatArray:
        """Σ (r + Δ)² − r² over the outputs."""
        total = np.zeros((rows.stop - rows.start, given.n_given))
        for column in range(forest.width):
            moved = change(rows, column)
            total += moved * (2 * residual[rows, column, None] + moved)
        return total

    return change_of_loss, new.n_rows, given.n_given, 1


def _reject_what_is_not_a_mean(model: Model, criterion: str) -> None:
    reason, head = None, model.head
    if not head.determines:
        reason = "its tree has many branches per node: use method='cart'"
    elif criterion == "absolute_error":
        reason = "criterion='absolute_error' has medians in its leaves: use 'squared_error'"
    elif isinstance(head, ClassMeanHead) and head.voting == "hard":
        reason = "voting='hard' counts votes, which change by leaps: use voting='soft'"
    elif notes_of(model).is_averaged:
        reason = "its trees have the weights of an average: ask the models that it was made from"
    if reason is not None:
        raise ValueError(f"influence of training rows is not known for this model: {reason}")


def _other_rows() -> ValueError:
    return ValueError(
        "X_train, y_train and sample_weight do not give the leaves of the fitted trees: give the rows that the model "
        "was fitted on"
    )


def _copies(preparation: Preparation, given: GivenRows, seed: int, threads: int) -> Callable[[int], FloatArray]:
    """Return a function from a tree to the weight of each training row in it: copies in the bag, drawn once more."""
    weight = given.target.weight
    if preparation.settings.bootstrap is False:
        every = np.ones(given.table.n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
        return lambda tree: every
    training = preparation.cut(given, threads)
    return lambda tree: training.copies(seed, tree).astype(np.float64)


def _removal(
    forest: Forest, leaves: NDArray[np.int32], target: FloatArray, copies: Callable[[int], FloatArray], weight: float
) -> FloatArray:
    """Return what leaving out each row adds to the prediction of its leaf, (rows, trees, values of a leaf).

    ``weight`` is that of all trees in the mean.

    A mean μ of total weight W without a row of weight c and target y is μ + c (μ − y) / (W − c). A row that is alone in
    its leaf leaves none: what remains of the parent is the sibling.
    """
    removal = np.zeros((*leaves.shape, forest.width))
    sibling = _siblings(forest)
    for tree in range(forest.n_trees):
        node, amount = forest.tree_start[tree] + leaves[:, tree], copies(tree)
        total = np.bincount(node, amount, forest.n_nodes)[node]
        mean = forest.value[node]
        _check_means(forest, tree, node, amount, target)
        rest = total - amount
        alone = (rest <= 1e-12 * total) & (amount > 0)
        share = np.divide(amount, rest, out=np.zeros(len(node)), where=~alone & (amount > 0))
        removal[:, tree] = np.where(
            alone[:, None], forest.value[sibling[node]] - mean, share[:, None] * (mean - target)
        )
    return removal / weight


def _siblings(forest: Forest) -> NDArray[np.int64]:
    """Sibling of each node, a root being its own; nodes are counted over all trees."""
    sibling = np.arange(forest.n_nodes)
    inner = np.flatnonzero(forest.kind != LEAF)
    start = forest.tree_start[np.searchsorted(forest.tree_start, inner, side="right") - 1]
    left, right = start + forest.left[inner], start + forest.right[inner]
    sibling[left], sibling[right] = right, left
    return sibling


def _check_means(forest: Forest, tree: int, node: NDArray[np.int64], amount: FloatArray, target: FloatArray) -> None:
    """Reject rows whose means are not the values of the leaves: they are not the rows of the fit."""
    first, n_nodes = int(forest.tree_start[tree]), int(np.diff(forest.tree_start)[tree])
    total = np.bincount(node - first, amount, n_nodes)
    filled = total > 0
    is_leaf = forest.kind[first : first + n_nodes] == LEAF
    if not filled[is_leaf].all():
        raise _other_rows()
    for column in range(forest.width):
        sums = np.bincount(node - first, amount * target[:, column], n_nodes)
        said = forest.value[first : first + n_nodes, column][is_leaf]
        scale = max(float(np.abs(target[:, column]).max(initial=0.0)), 1e-300)
        if (np.abs(sums[is_leaf] / total[is_leaf] - said) > AGREEMENT * scale).any():
            raise _other_rows()
