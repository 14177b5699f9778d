"""Which nodes a tree has, what is above and below each of them, and in which order people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_integer, shown
from arboretum.model.forest import LEAF, Forest
from arboretum.trees.multiway import MultiwayTree

Children: TypeAlias = list[list[int]]
"""Children of each node of a tree, which come after it; a binary tree has the left one first."""


def nodes_of(forest: Forest, tree: int) -> slice:
    """Return the nodes of a tree.

    Raises
    ------
    ValueError
        If there is no such tree.
    """
    check_integer("tree", tree, low=0)
    if tree >= forest.n_trees:
        raise ValueError(f"tree={shown(tree)} does not exist: the forest has {forest.n_trees} trees, counted from 0")
    return slice(int(forest.tree_start[tree]), int(forest.tree_start[tree + 1]))


def children_of(forest: Forest, tree: int) -> Children:
    """Return the children of each node of a tree of a forest.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.DecisionTreeRegressor().fit([[1.0], [2.0]], [0.0, 1.0])
    >>> children_of(model.forest_, 0)
    [[1, 2], [], []]
    """
    nodes = nodes_of(forest, tree)
    pairs = zip(forest.left[nodes].tolist(), forest.right[nodes].tolist(), strict=True)
    return [[left, right] if left >= 0 else [] for left, right in pairs]


def branches_of(tree: MultiwayTree) -> Children:
    """Return the children of each node of a tree with many branches per node."""
    children: Children = [[] for _ in range(tree.n_nodes)]
    for node, parent in enumerate(tree.parent[1:].tolist(), start=1):
        children[parent].append(node)
    return children


def parents(forest: Forest) -> NDArray[np.int64]:
    """Return the parent of every node, counted over all trees; −1 at a root."""
    start = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
    inner = np.flatnonzero(forest.kind != LEAF)
    parent = np.full(forest.n_nodes, -1, np.int64)
    for child in (forest.left, forest.right):
        parent[start[inner] + child[inner]] = inner
    return parent


def descendants(children: Sequence[Sequence[int]]) -> list[int]:
    """Count the nodes below each node.

    Examples
    --------
    >>> descendants([[1, 2], [], [3, 4], [], []])
    [4, 0, 2, 0, 0]
    """
    below = [0] * len(children)
    for node in reversed(range(len(children))):
        below[node] = sum(1 + below[child] for child in children[node])
    return below


def in_reading_order(children: Children, max_depth: int | None) -> Iterator[tuple[int, tuple[bool, ...], bool]]:
    """Walk a tree from the root down to a depth, each node before its children.

    Yields
    ------
    node : int
        Number of the node.
    is_last : tuple of bool
        Whether each node from below the root down to this one is the last child of its parent; as long as it is deep.
    is_tip : bool
        Whether nothing below it is walked: a leaf, or a node at ``max_depth``.

    Examples
    --------
    >>> list(in_reading_order([[1, 2], [], [3, 4], [], []], max_depth=1))
    [(0, (), False), (1, (False,), True), (2, (True,), True)]
    """
    stack: list[tuple[int, tuple[bool, ...]]] = [(0, ())]
    while stack:
        node, is_last = stack.pop()
        below = children[node] if len(is_last) != max_depth else []
        yield node, is_last, not below
        stack += [(child, (*is_last, child == below[-1])) for child in reversed(below)]
