"""Shapley values by enumerating all coalitions of columns."""

from __future__ import annotations

import itertools
import math

import numpy as np
from tests.reference import prediction

from arboretum.model.forest import LEAF, OBLIQUE


def columns_of(forest, node):
    if forest.kind[node] == OBLIQUE:
        return set(forest.projection_feature[slice(*forest.projection_start[node : node + 2])].tolist())
    return {int(forest.feature[node])}


def sides(forest, start, node, row, unknown):
    """Children that a row takes, with its shares of them; by training rows if there is no row."""
    left, right = start + int(forest.left[node]), start + int(forest.right[node])
    goes_left = None if row is None else prediction.goes_left(forest, node, row, unknown)
    share = prediction.left_share(forest, start, node) if goes_left is None else float(goes_left)
    return [(left, share), (right, 1.0 - share)]


def said(forest, leaf, output, row, known, other):
    """Tell what a leaf says, with columns that are not known as in another row, or at the centre of the leaf."""
    total = float(forest.value[leaf, output])
    for k in range(*forest.slope_start[leaf : leaf + 2]) if forest.has_slopes else ():
        feature = int(forest.slope_feature[k])
        x = row[feature] if feature in known else math.nan if other is None else other[feature]
        if not math.isnan(x):
            inside = min(max(float(x), float(forest.slope_low[k])), float(forest.slope_high[k]))
            total += float(forest.slope_weight[k]) * (inside - float(forest.slope_centre[k]))
    return total


def worth(forest, row, known, other, unknown):
    """Raw prediction if only some columns are known; others are those of another row, or of the training rows."""
    totals = forest.base.copy()

    def descend(start, node, output, share):
        if share == 0:
            return
        if forest.kind[node] == LEAF:
            for j in range(forest.width):
                totals[output + j] += share * said(forest, node, j, row, known, other)
            return
        reader = row if columns_of(forest, node) <= known else other
        for child, part in sides(forest, start, node, reader, unknown):
            descend(start, child, output, share * part)

    for tree in range(forest.n_trees):
        start = int(forest.tree_start[tree])
        descend(start, start, max(int(forest.tree_output[tree]), 0), 1.0)
    return totals


def shapley(worths, n):
    """Values of n players, (players, outputs), from the worth of each frozenset of them."""
    values = np.zeros((n, len(worths[frozenset()])))
    for i in range(n):
        for coalition in subsets(set(range(n)) - {i}):
            weight = math.factorial(len(coalition)) * math.factorial(n - len(coalition) - 1) / math.factorial(n)
            values[i] += weight * (worths[coalition | {i}] - worths[coalition])
    return values


def pairs(worths, n):
    """Interaction values, (players, players, outputs); a row sums to the Shapley value of its player."""
    values = np.zeros((n, n, len(worths[frozenset()])))
    for i, j in itertools.permutations(range(n), 2):
        for rest in subsets(set(range(n)) - {i, j}):
            weight = math.factorial(len(rest)) * math.factorial(n - len(rest) - 2) / math.factorial(n - 1) / 2
            values[i, j] += weight * (worths[rest | {i, j}] - worths[rest | {i}] - worths[rest | {j}] + worths[rest])
    alone = shapley(worths, n) - values.sum(axis=1)
    values[np.arange(n), np.arange(n)] = alone
    return values


def subsets(players):
    return [frozenset(one) for size in range(len(players) + 1) for one in itertools.combinations(sorted(players), size)]


def values_of(forest, columns, row, *, background=None, unknown="average", interactions=False):
    """Shapley values of one row, and the worth of nobody; background: columns of other rows."""
    n = len(columns)
    this = [column[row] for column in columns]
    others = [None] if background is None else list(zip(*background, strict=True))
    worths = {
        known: np.mean([worth(forest, this, known, other, unknown) for other in others], axis=0)
        for known in subsets(set(range(n)))
    }
    return (pairs if interactions else shapley)(worths, n), worths[frozenset()]
