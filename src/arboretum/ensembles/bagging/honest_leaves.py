"""Honest leaves: rows that a tree has not seen determine what its leaves predict (Athey & Imbens 2016)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.bagging.trees import BaggedRows, BaggedTarget, FloatArray
from arboretum.model.forest import Forest


def fill_leaves(forest: Forest, rows: BaggedRows, target: BaggedTarget, first: int) -> Forest:
    """Return the forest with outcomes of arms from rows out of each tree's bag.

    An arm without such rows in a node has the outcome of the node's parent; other outcomes are shrunk towards it, as in
    growing (kernel/grow/impurity/uplift.hpp).

    Parameters
    ----------
    forest : Forest
        The trees, numbered from 0.
    rows : BaggedRows
        The training rows.
    target : BaggedTarget
        Their outcomes and arms.
    first : int
        The first tree to fill.
    """
    treatment, outcome = target.treatment, target.numbers
    assert treatment is not None
    assert outcome is not None
    weight = np.ones(target.n_rows) if target.weight is None else target.weight
    shape = forest.value.shape
    weights, sums = np.zeros(shape), np.zeros(shape)
    for tree, leaf in rows.leaves_of_trees(first, forest.n_trees):
        nodes = slice(forest.tree_start[tree], forest.tree_start[tree + 1])
        out = np.flatnonzero(rows.copies(tree) == 0)
        place = leaf[out] * treatment.n_arms + treatment.arms[out]
        size = (nodes.stop - nodes.start) * treatment.n_arms
        weights[nodes] = np.bincount(place, weight[out], size).reshape(-1, shape[1])
        sums[nodes] = np.bincount(place, weight[out] * outcome[out, 0], size).reshape(-1, shape[1])
    totals = (np.bincount(treatment.arms, values) for values in (weight * outcome[:, 0], weight))
    return replace(forest, value=_outcomes(forest, weights, sums, first, np.divide(*totals), treatment.parent_weight))


def _outcomes(
    forest: Forest, weights: FloatArray, sums: FloatArray, first: int, everywhere: FloatArray, parent_weight: float
) -> FloatArray:
    """Compute outcomes of nodes from the sums of their leaves; both arrays are filled for inner nodes.

    ``everywhere`` are the outcomes of all rows, towards which those of roots are shrunk.
    """
    levels = list(_levels(forest, first))
    for nodes, left, right in reversed(levels):
        for array in (weights, sums):
            array[nodes] = array[left] + array[right]
    value = forest.value.copy()
    roots = forest.tree_start[first:-1]
    value[roots] = _drawn(sums[roots], weights[roots], np.broadcast_to(everywhere, value[roots].shape), parent_weight)
    for nodes, left, right in levels:
        for child in (left, right):
            value[child] = _drawn(sums[child], weights[child], value[nodes], parent_weight)
    return value


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
