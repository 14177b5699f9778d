"""A fitted model as it was while it grew: after its first rounds or trees, or with its trees cut at a depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.standing_in import with_raw
from arboretum.model.heads import MeanHead
from arboretum.model.model import Model
from arboretum.reading.nodes import parents
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]

MOST_TREES = 50  # that are cut at a depth


def by_rounds(model: GrownTrees, X: Any, *, most: int = 60) -> Iterator[tuple[int, Any]]:
    """Yield the model after its first rounds, or first trees of a forest, and their number.

    Parameters
    ----------
    model : GrownTrees
        Fitted, with raw predictions that determine all others.
    X : array-like, sparse matrix or data frame
        The rows that the stages predict, whatever rows they are given.
    most : int
        Most stages to yield, evenly spread; the last one is the whole model.

    Examples
    --------
    >>> import arboretum as arb
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0]
    >>> model = arb.BoostedTreesRegressor(n_estimators=2, learning_rate=0.5, min_samples_leaf=1, l2=0.0).fit(X, y)
    >>> [(number, stage.predict(X).tolist()) for number, stage in by_rounds(model, X)]
    [(1, [0.25, 0.25, 0.75, 0.75]), (2, [0.125, 0.125, 0.875, 0.875])]
    """
    inner = _summing(model)
    forest, threads = inner.summed, n_threads(model.n_jobs)
    rounds = np.atleast_1d(getattr(model, "n_iter_", forest.n_trees))
    if len(rounds) > 1 or rounds[0] < 1:
        raise ValueError(f"this {type(model).__name__} has no rounds that follow each other")
    table, step = inner.as_read(inner.conform(X), threads).dense(), forest.n_trees // int(rounds[0])
    asked: dict[str, Any] = {"threads": threads, "unknown": inner.routing}
    summed, done = np.zeros((table.n_rows, forest.n_outputs)), 0
    for number in evenly(int(rounds[0]), most).tolist():
        summed += forest.raw(table.columns, table.n_rows, first=done, last=number * step, **asked) - forest.base
        done = number * step
        yield number, with_raw(model, _raw_of(inner, summed, done))


def by_depth(model: GrownTrees, X: Any, *, most: int = 24) -> Iterator[tuple[int, Any]]:
    """Yield the model with its trees cut at rising depths; nodes where they are cut answer as leaves.

    Parameters
    ----------
    model : GrownTrees
        A fitted tree or a forest of independent ones.
    X : array-like, sparse matrix or data frame
        The rows that the stages are asked about.
    most : int
        Most stages to yield, evenly spread; the last one is the whole model. The first 50 trees stand for all of a
        larger forest, and an unknown category takes one side of a split.

    Examples
    --------
    >>> import arboretum as arb
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 2.0, 4.0]
    >>> model = arb.DecisionTreeRegressor().fit(X, y)
    >>> [(depth, stage.predict(X).tolist()) for depth, stage in by_depth(model, X)]
    [(1, [0.0, 0.0, 3.0, 3.0]), (2, [0.0, 0.0, 2.0, 4.0])]
    """
    inner, threads = _summing(model), n_threads(model.n_jobs)
    forest = inner.summed[:MOST_TREES]
    table = inner.as_read(inner.conform(X), threads).dense()
    node = forest.tree_start[:-1] + forest.apply(table.columns, table.n_rows, threads=threads, unknown=inner.routing)
    parent, depth = parents(forest), forest.depths
    deepest = int(depth[node].max(initial=0))
    stages = []
    for limit in evenly(deepest, most).tolist()[::-1]:
        while (below := depth[node] > limit).any():
            node = np.where(below, parent[node], node)
        stages.append((limit, forest.value[node].sum(axis=1)))
    yield from ((limit, with_raw(model, _raw_of(inner, summed, forest.n_trees))) for limit, summed in stages[::-1])


def _raw_of(inner: Model, summed: FloatArray, done: int) -> FloatArray:
    """Return the raw prediction of the first trees; a mean is given in units of that of all."""
    forest, head = inner.summed, inner.head
    if not isinstance(head, MeanHead):
        return forest.base + summed
    raw = head.with_prior(forest[:done]).base + summed
    return np.asarray(raw * (head.weight_of(forest.n_trees) / head.weight_of(done)))


def _summing(model: GrownTrees) -> Model:
    """Return the trees of a model; reject one whose predictions are not their sums."""
    inner = model.model_
    if not inner.head.determines:
        raise ValueError(f"predictions of this {type(model).__name__} are not sums of trees: it has no stages")
    return inner


def evenly(count: int, most: int) -> NDArray[np.intp]:
    """Return at most ``most`` of the numbers 1, 2, …, ``count``, evenly spread, with the last one.

    Examples
    --------
    >>> evenly(3, 60), evenly(100, 4)
    (array([1, 2, 3]), array([ 25,  50,  75, 100]))
    """
    return np.unique(np.ceil(np.arange(1, min(count, most) + 1) * count / max(min(count, most), 1)).astype(np.intp))
