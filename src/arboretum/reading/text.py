"""A tree as indented text, one line a node."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_integer, holds_others, shown
from arboretum.data.schema import Schema
from arboretum.model.forest import LEAF, Forest
from arboretum.reading.conditions import condition
from arboretum.reading.node_values import node_values, nodes_of
from arboretum.reading.quantities import number_text, rows_text

_FACTS = ("value", "rows", "gain")


def tree_to_text(
    forest: Forest,
    schema: Schema,
    tree: int = 0,
    *,
    class_names: Sequence[Any] | None = None,
    probabilities: bool | None = None,
    max_depth: int | None = None,
    digits: int = 4,
    show: Collection[str] = _FACTS,
    limit: int | None = 5,
) -> str:
    """Write a tree: each line has the condition that leads to a node, and what is known of the node.

    Parameters
    ----------
    forest : Forest
        The trees.
    schema : Schema
        Columns that they read.
    tree : int
        Which of them.
    class_names : sequence, optional
        Names of all classes.
    probabilities : bool, optional
        Whether leaves hold shares of classes (of the second of two, if they hold one number) rather than scores. By
        default they do if they are vectors without negative entries and of one sum.
    max_depth : int, optional
        Deeper nodes are left out; the line of their ancestor counts them, and tells the value it would have as a leaf.
    digits : int
        Significant digits of values and gains. Thresholds are always exact.
    show : collection of {"value", "rows", "gain"}
        What to tell of a node: its value (of leaves), its training rows, the gain of its split.
    limit : int or None
        Categories of a set to write out at most; None for all.

    Returns
    -------
    str
        Without a line break at the end.

    Examples
    --------
    >>> import arboretum as arb
    >>> X, y = [[20.0], [30.0], [40.0], [50.0]], [1.0, 1.0, 4.0, 6.0]
    >>> model = arb.BoostedTreesRegressor(n_estimators=1, min_samples_leaf=1, learning_rate=1.0, l2=0.0).fit(X, y)
    >>> print(tree_to_text(model.forest_, model.schema_, max_depth=1))
    tree 0 of 1  (4 rows, gain 8)
    ├── x0 <= 35 → -2  (2 rows)
    └── x0 > 35 → 2  (2 rows; 2 nodes below)
    """
    _check(show, max_depth, digits)
    values = node_values(forest, schema, tree, class_names, probabilities)
    nodes = nodes_of(forest, tree)
    start = nodes.start
    kind, left, right = (a[nodes].tolist() for a in (forest.kind, forest.left, forest.right))
    rows, gain, below = forest.n_rows[nodes].tolist(), forest.gain[nodes].tolist(), descendants(forest, nodes).tolist()

    title = f"tree {tree} of {forest.n_trees}" + (f", score of {values.score_of}" if values.score_of else "")
    lines = []
    # (node, depth, indent of its line, indent of the lines below it, condition that leads to it)
    stack = [(0, 0, "", "", title)]
    while stack:
        node, depth, indent, inner_indent, lead = stack.pop()
        is_inner = kind[node] != LEAF
        is_cut = is_inner and depth == max_depth
        is_tip = is_cut or not is_inner
        arrow = f" → {values.text(node, digits)}" if is_tip and "value" in show else ""
        facts = [rows_text(rows[node])] if "rows" in show else []
        facts += [f"gain {number_text(gain[node], digits)}"] if "gain" in show and not is_tip else []
        told = (
            ", ".join(facts) + ("; " if facts and is_cut else "") + (f"{below[node]:,} nodes below" if is_cut else "")
        )
        lines.append(f"{indent}{lead}{arrow}" + (f"  ({told})" if told else ""))
        if is_tip:
            continue
        question = condition(forest, start + node)
        yes, no = (answer.pretty(schema, limit=limit) for answer in (question, ~question))
        stack.append((right[node], depth + 1, f"{inner_indent}└── ", f"{inner_indent}    ", no))
        stack.append((left[node], depth + 1, f"{inner_indent}├── ", f"{inner_indent}│   ", yes))
    return "\n".join(lines)


def descendants(forest: Forest, nodes: slice) -> NDArray[np.int64]:
    """Count the nodes below each node of a tree."""
    left, right = forest.left[nodes].tolist(), forest.right[nodes].tolist()
    below = [0] * len(left)
    for node in reversed(range(len(left))):  # children come after their parent
        if left[node] >= 0:
            below[node] = 2 + below[left[node]] + below[right[node]]
    return np.array(below, np.int64)


def _check(show: Collection[str], max_depth: int | None, digits: int) -> None:
    if not holds_others(show) or any(not isinstance(fact, str) or fact not in _FACTS for fact in show):
        raise ValueError(f"show={shown(show)}: use a collection of {', '.join(map(repr, _FACTS))}")
    check_depth(max_depth)
    check_integer("digits", digits)


def check_depth(max_depth: int | None) -> None:
    """Reject a depth that is neither None nor an integer of at least 0."""
    check_integer("max_depth", max_depth, low=0, optional=True)
