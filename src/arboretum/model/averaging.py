"""Means of sums of trees, which are sums of weighted trees.

::

    Σₘ wₘ · (baseₘ + Σₜ treeₘₜ)  =  Σₘ wₘ · baseₘ  +  Σₘ Σₜ wₘ · treeₘₜ            Σₘ wₘ = 1

The mean of models is one forest again, and costs no more than its trees. Snapshots of one boosted model share their
trees, so that a tree counts by the weights of all snapshots that have it (ensembles/boosting/average_rounds.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.model.forest import Forest

FloatArray: TypeAlias = NDArray[np.float64]


def weighted(forest: Forest, weights: FloatArray) -> Forest:
    """Multiply what each tree adds by its weight: values of all nodes, slopes of leaves, and gains.

    Parameters
    ----------
    forest : Forest
        The trees; their base stays as it is.
    weights : float64 array (trees)
        One weight per tree.

    Examples
    --------
    >>> import arboretum as arb
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 3.0]
    >>> trees = arb.BoostedTreesRegressor(n_estimators=2).fit(X, y).forest_
    >>> half = weighted(trees, np.array([1.0, 0.5]))
    >>> bool((half[1:].value == trees[1:].value / 2).all()), bool((half.base == trees.base).all())
    (True, True)
    """
    of_nodes = np.repeat(weights, np.diff(forest.tree_start))
    of_slopes = np.repeat(of_nodes, np.diff(forest.slope_start) if forest.has_slopes else 0)
    return replace(
        forest,
        value=forest.value * of_nodes[:, np.newaxis],
        gain=forest.gain * of_nodes,
        slope_weight=forest.slope_weight * of_slopes,
    )


def weighted_sum(forests: Sequence[Forest], weights: Sequence[float]) -> Forest:
    """Return one forest whose sums are the weighted sums of several forests with equal outputs.

    Examples
    --------
    >>> import arboretum as arb
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 3.0]
    >>> one, two = (arb.BoostedTreesRegressor(n_estimators=n).fit(X, y) for n in (2, 3))
    >>> both = weighted_sum([one.forest_, two.forest_], [0.25, 0.75])
    >>> both.n_trees, bool(np.allclose(both.base, 1.0))
    (5, True)
    """
    base = np.sum([forest.base * weight for forest, weight in zip(forests, weights, strict=True)], axis=0)
    parts = [
        replace(weighted(forest, np.full(forest.n_trees, weight)), base=np.zeros_like(base))
        for forest, weight in zip(forests, weights, strict=True)
    ]
    return replace(Forest.concat(parts), base=base)
