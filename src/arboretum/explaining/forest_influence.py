"""Influence of training rows on trees and forests of means: the values of leaves without a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.data.labels import typed_column
from arboretum.ensembles.bagging.shared_leaves import membership, number_leaves
from arboretum.explaining.reading import class_lists
from arboretum.model.forest import LEAF, Forest
from arboretum.model.heads import MeanHead, MultiwayHead
from arboretum.running.threads import n_threads

if TYPE_CHECKING:
    from arboretum.estimators.bagged_tasks import BaggedClassifier, BaggedRegressor
    from arboretum.estimators.bagged_trees import GivenRows

FloatArray: TypeAlias = NDArray[np.float64]

AGREEMENT = 1e-6  # of leaf values with those that the training rows give, as a share of the largest


def forest_influence(
    model: BaggedRegressor | BaggedClassifier, X: Any, y: Any, X_train: Any, y_train: Any, sample_weight: Any
) -> tuple[Callable[[slice, int], FloatArray], int, int, int]:
    """Return influence as a function of rows and an output, and the numbers of rows, training rows and outputs."""
    _reject_what_is_not_a_mean(model)
    inner, threads = model.model_, n_threads(model.n_jobs)
    forest = inner.forest
    given, _ = model._read_rows(X_train, y_train, sample_weight)
    read = given.target
    target = _indicators(read.classes, read.n_classes) if read.numbers is None else read.numbers
    leaves = inner.leaves(inner.conform(X_train), threads)[given.numbers]
    if target.shape[1] != forest.width:
        raise _other_rows()
    removal = _removal(forest, leaves, target, _copies(model, given, forest.n_trees, threads))
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
    residual = inner.raw(new, threads, forest) / forest.n_trees - _target_of(model, y, new.n_rows)

    def change_of_loss(rows: slice, output: int) -> FloatArray:
        """Σ (r + Δ)² − r² over the outputs."""
        total = np.zeros((rows.stop - rows.start, given.n_given))
        for column in range(forest.width):
            moved = change(rows, column)
            total += moved * (2 * residual[rows, column, None] + moved)
        return total

    return change_of_loss, new.n_rows, given.n_given, 1


def _reject_what_is_not_a_mean(model: BaggedRegressor | BaggedClassifier) -> None:
    head, reason = cast(MeanHead, model.model_.head), None
    if isinstance(head, MultiwayHead):
        reason = "its tree has many branches per node: use method='cart'"
    elif model.criterion == "absolute_error":
        reason = "criterion='absolute_error' has medians in its leaves: use 'squared_error'"
    elif head.votes is not None:
        reason = "voting='hard' counts votes, which change by leaps: use voting='soft'"
    if reason is not None:
        raise ValueError(f"influence of training rows is not known for this model: {reason}")


def _other_rows() -> ValueError:
    return ValueError(
        "X_train, y_train and sample_weight do not give the leaves of the fitted trees: give the rows that the model "
        "was fitted on"
    )


def _indicators(codes: NDArray[Any] | None, n_classes: Sequence[int]) -> FloatArray:
    """Return whether each row is of each class of each output; for two classes, of the second alone."""
    assert codes is not None
    columns = np.column_stack(
        [of_output[:, None] == np.arange(n) for of_output, n in zip(codes.T, n_classes, strict=True)]
    )
    return (columns[:, 1:] if columns.shape[1] == 2 else columns).astype(np.float64)


def _target_of(model: BaggedRegressor | BaggedClassifier, y: Any, n_rows: int) -> FloatArray:
    """Return the target of new rows in the form of leaf values, (rows, values of a leaf)."""
    columns = model._as_columns(y, n_rows)
    if columns.shape[1] != model.n_outputs_:
        raise ValueError(f"y has {columns.shape[1]} outputs, but the model has {model.n_outputs_}")
    if model.task_.has_numbers:
        return np.column_stack([targets.regression_target(column) for column in columns.T])
    lists = class_lists(model)
    codes = [
        targets.encode_classes(typed_column(column) if len(lists) > 1 else column, classes, "y")
        for column, classes in zip(columns.T, lists, strict=True)
    ]
    return _indicators(np.column_stack(codes), [len(classes) for classes in lists])


def _copies(
    model: BaggedRegressor | BaggedClassifier, given: GivenRows, n_trees: int, threads: int
) -> Callable[[int], FloatArray]:
    """Return a function from a tree to the weight of each training row in it: copies in the bag, drawn once more."""
    weight = given.target.weight
    n = given.table.n_rows
    if model.bootstrap is False:
        every = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
        return lambda tree: every
    bootstrap = model._bin(given, threads).bootstrap
    return lambda tree: bootstrap.copies(model._seed, tree, n).astype(np.float64)


def _removal(
    forest: Forest, leaves: NDArray[np.int32], target: FloatArray, copies: Callable[[int], FloatArray]
) -> FloatArray:
    """Return what leaving out each row adds to the prediction of its leaf, (rows, trees, values of a leaf).

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
    return removal / forest.n_trees


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
