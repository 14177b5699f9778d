"""What leaves of uplift trees predict: from the rows that the tree drew, or from all others (Athey & Imbens 2016).

Where expected outcomes were taken off before growing, leaves add their mean (``adjusting.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from arboretum.elementary import exp2, log
from arboretum.ensembles.bagging.trees import BaggedRows, BaggedTarget, FloatArray
from arboretum.exact_sums import exact_sum
from arboretum.model.forest import Forest

MOST_OF_WEIGHT = 0.5  # of a row, as far as its chance to be left out goes


def fill_leaves(forest: Forest, rows: BaggedRows, target: BaggedTarget, first: int, *, honest: bool) -> Forest:
    """Return the forest with outcomes of arms from rows out of each tree's bag, or in it.

    An arm without such rows in a node has the outcome of the node's parent; other outcomes are shrunk towards it, as in
    growing (kernel/grow/impurity/uplift.hpp).

    Parameters
    ----------
    forest : Forest
        The trees, numbered from 0.
    rows : BaggedRows
        The training rows.
    target : BaggedTarget
        Their outcomes and arms, and the expected outcomes that the former lack.
    first : int
        The first tree to fill.
    honest : bool
        Whether to take the rows that a tree has not drawn.
    """
    treatment, outcome = target.treatment, target.numbers
    assert treatment is not None
    assert outcome is not None
    weight, n_arms = np.ones(target.n_rows) if target.weight is None else target.weight, treatment.n_arms
    filling = _undrawn(weight, rows.bootstrap.n_draws) if honest and target.weight is not None else weight
    of_arms, of_all = _Sums(forest, first, n_arms), _Sums(forest, first, 1)
    for tree, leaf in rows.leaves_of_trees(first, forest.n_trees):
        used, counts = _used(rows, tree, filling, honest)
        by_arm = counts if treatment.inverse is None else counts * treatment.inverse[used]
        of_arms.add(tree, leaf[used], treatment.arms[used], outcome[used, 0], by_arm)
        if treatment.expected is not None:
            of_all.add(tree, leaf[used], np.zeros(len(used), np.int32), treatment.expected[used], counts)
    whole = weight if treatment.inverse is None else weight * treatment.inverse
    value = of_arms.outcomes(_means(outcome[:, 0], whole, treatment.arms), treatment.parent_weight)
    if treatment.expected is not None:
        everywhere = _means(treatment.expected, weight, np.zeros(target.n_rows, np.int32))
        value[of_arms.nodes] += of_all.outcomes(everywhere, treatment.parent_weight)[of_arms.nodes]
    return replace(forest, value=value)


def _undrawn(weight: FloatArray, n_draws: int) -> FloatArray:
    """Return weights divided by the probability that a tree leaves the row out, as a share of that of a mean weight.

    Rows are drawn by weight: those of large weight would hardly ever fill leaves.
    """
    share = np.minimum(weight / exact_sum(weight), MOST_OF_WEIGHT)
    times = log(np.array([1 - 1 / len(weight)])) - log(1 - share)
    return np.asarray(weight * exp2(n_draws / math.log(2) * times))


def _used(rows: BaggedRows, tree: int, weight: FloatArray, honest: bool) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the rows that fill the leaves of a tree, and how much each counts: draws follow the weights already."""
    if not rows.bootstrap.n_draws:
        return np.arange(len(weight)), weight
    copies = rows.copies(tree)
    used = np.flatnonzero(copies == 0 if honest else copies > 0)
    return used, weight[used] if honest else copies[used].astype(np.float64)


def _means(values: FloatArray, weight: FloatArray, group: NDArray[np.int32]) -> FloatArray:
    """Return the mean of each group of rows, towards which those of roots are shrunk."""
    sums, weights = np.bincount(group, weight * values), np.bincount(group, weight)
    return np.asarray(sums / weights)


class _Sums:
    """Weights and weighted sums of the nodes of the trees from ``first`` on, for each of some groups of rows."""

    def __init__(self, forest: Forest, first: int, n_groups: int) -> None:
        self.forest, self.first = forest, first
        self.nodes = slice(forest.tree_start[first], None)
        self.weights, self.sums = np.zeros((2, forest.n_nodes, n_groups))

    def add(
        self, tree: int, leaf: NDArray[np.int32], group: NDArray[np.int32], values: FloatArray, weight: FloatArray
    ) -> None:
        """Add rows to their leaves."""
        nodes, n_groups = slice(*self.forest.tree_start[tree : tree + 2]), self.sums.shape[1]
        place, size = leaf * n_groups + group, (nodes.stop - nodes.start) * n_groups
        self.weights[nodes] = np.bincount(place, weight, size).reshape(-1, n_groups)
        self.sums[nodes] = np.bincount(place, weight * values, size).reshape(-1, n_groups)

    def outcomes(self, everywhere: FloatArray, parent_weight: float) -> FloatArray:
        """Compute outcomes of nodes from the sums of their leaves; both arrays are filled for inner nodes."""
        weights, sums, forest = self.weights, self.sums, self.forest
        levels = list(_levels(forest, self.first))
        for nodes, left, right in reversed(levels):
            for array in (weights, sums):
                array[nodes] = array[left] + array[right]
        kept = forest.value.copy() if sums.shape[1] == forest.width else np.zeros(sums.shape)
        roots = forest.tree_start[self.first : -1]
        parents = np.broadcast_to(everywhere, kept[roots].shape)
        kept[roots] = _drawn(sums[roots], weights[roots], parents, parent_weight)
        for nodes, left, right in levels:
            for child in (left, right):
                kept[child] = _drawn(sums[child], weights[child], kept[nodes], parent_weight)
        return kept


def _drawn(sums: FloatArray, weights: FloatArray, parent: FloatArray, parent_weight: float) -> FloatArray:
    total = weights + parent_weight
    return np.divide(sums + parent_weight * parent, total, out=parent.copy(), where=total > 0)


def _levels(forest: Forest, first: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield inner nodes with their left and right children, from the roots down."""
    nodes = forest.tree_start[first:-1]
    start = nodes
    while True:
        inner = forest.kind[nodes] > 0
        nodes, start = nodes[inner], start[inner]
        if not len(nodes):
            return
        left, right = start + forest.left[nodes], start + forest.right[nodes]
        yield nodes, left, right
        nodes, start = np.concatenate([left, right]), np.concatenate([start, start])
