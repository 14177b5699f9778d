"""The paths of rows through trees, found by climbing from their leaves: no row is routed again."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum.data.schema import Schema
from arboretum.model.forest import Forest
from arboretum.reading.conditions import Condition, condition
from arboretum.reading.nodes import nodes_of, parents


def decision_path(forest: Forest, leaves: ArrayLike) -> tuple[Any, NDArray[np.int64]]:
    """Mark the nodes that each row passes, as scikit-learn's forests do.

    Parameters
    ----------
    forest : Forest
        The trees.
    leaves : int array (rows, trees)
        What ``forest.apply`` returns: the leaf of each row in each tree, counted from the start of the tree.

    Returns
    -------
    indicator : scipy.sparse.csr_matrix (rows, nodes of all trees)
        1 where the row passes the node.
    n_nodes_ptr : int64 array (trees + 1)
        Columns ``n_nodes_ptr[t] : n_nodes_ptr[t + 1]`` are tree ``t``.

    Examples
    --------
    >>> import numpy as np
    >>> import arboretum as arb
    >>> X = np.array([[1.0], [2.0]])
    >>> model = arb.BoostedTreesRegressor(n_estimators=1, min_samples_leaf=1).fit(X, [0.0, 1.0])
    >>> indicator, n_nodes_ptr = decision_path(model.forest_, model.forest_.apply([X[:, 0]], 2))
    >>> indicator.toarray()
    array([[1, 1, 0],
           [1, 0, 1]])
    """
    from scipy.sparse import csr_matrix

    found = _global_leaves(forest, leaves)
    reached, which = np.unique(found, return_inverse=True)
    start, path = _climb(forest, reached)
    length = np.diff(start)[which].reshape(found.shape)
    # The columns of a row, tree by tree and root first:  │ root … leaf │ root … leaf │ …
    end = np.cumsum(length.ravel())
    total = int(end[-1]) if end.size else 0
    index = np.int32 if max(total, forest.n_nodes) < 2**31 else np.int64  # as scipy would choose, but without a copy
    shift = start[which.ravel()] - end + length.ravel()
    columns = path.astype(index)[np.arange(total) + np.repeat(shift, length.ravel())]
    row_start = np.append(0, np.cumsum(length.sum(axis=1))).astype(index)
    indicator = csr_matrix((np.ones(total, np.int64), columns, row_start), shape=(len(found), forest.n_nodes))
    return indicator, forest.tree_start.copy()


def _climb(forest: Forest, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the nodes from the root to the ``i``-th of some nodes: ``path[start[i] : start[i + 1]]``."""
    parent, depth = parents(forest), forest.depths
    start = np.append(0, np.cumsum(depth[nodes].astype(np.int64) + 1))
    path = np.empty(start[-1], np.int64)
    place = start[1:] - 1
    while nodes.size:
        path[place] = nodes
        climbs = depth[nodes] > 0
        nodes, place = parent[nodes[climbs]], place[climbs] - 1
    return start, path


def path_conditions(forest: Forest, leaf: int, tree: int = 0) -> list[Condition]:
    """Return the conditions that rows meet from the root to a leaf.

    Parameters
    ----------
    forest : Forest
        The trees.
    leaf : int
        Leaf, or other node, counted from the start of the tree.
    tree : int
        Which of the trees.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.BoostedTreesRegressor(n_estimators=1, min_samples_leaf=1).fit([[1.0], [2.0]], [0.0, 1.0])
    >>> path_conditions(model.forest_, 2)
    [Threshold(feature=0, threshold=1.5, missing_left=False, negated=True)]
    """
    nodes = nodes_of(forest, tree)
    if not 0 <= leaf < nodes.stop - nodes.start:
        raise ValueError(f"node {leaf} does not exist: tree {tree} has {nodes.stop - nodes.start} nodes")
    alone = forest[tree : tree + 1]
    path = _climb(alone, np.array([leaf]))[1].tolist()
    asked = [(condition(alone, node), alone.left[node] == child) for node, child in pairwise(path)]
    return [question if goes_left else ~question for question, goes_left in asked]


def explain_row(
    forest: Forest, schema: Schema, leaf: int, tree: int = 0, *, digits: int | None = None, limit: int | None = 5
) -> list[str]:
    """Write the conditions that a row meets on its way to its leaf, root first.

    Parameters
    ----------
    forest, leaf, tree
        As for :func:`path_conditions`; ``forest.apply`` gives the leaf of a row.
    schema, digits, limit
        As for :meth:`Condition.pretty`.

    Examples
    --------
    >>> import arboretum as arb
    >>> X, y = [[20.0], [30.0], [40.0], [50.0]], [1.0, 1.0, 4.0, 6.0]
    >>> model = arb.BoostedTreesRegressor(n_estimators=1, min_samples_leaf=1).fit(X, y)
    >>> explain_row(model.forest_, model.schema_, leaf=3)
    ['x0 > 35', 'x0 <= 45']
    """
    return [met.pretty(schema, digits=digits, limit=limit) for met in path_conditions(forest, leaf, tree)]


def _global_leaves(forest: Forest, leaves: ArrayLike) -> NDArray[np.int64]:
    found = np.asarray(leaves, np.int64)
    if found.ndim != 2 or found.shape[1] != forest.n_trees:
        raise ValueError(
            f"leaves has shape {found.shape}: expected a matrix with a column for each of {forest.n_trees} trees"
        )
    outside = (found < 0) | (found >= np.diff(forest.tree_start))
    if outside.any():
        row, tree = np.argwhere(outside)[0]
        raise ValueError(f"leaves[{row}, {tree}] = {found[row, tree]} is not a node of tree {tree}")
    return found + forest.tree_start[:-1]
