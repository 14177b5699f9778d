"""A tree as indented text, one line per node."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from arboretum.arguments import check_integer, holds_others, shown
from arboretum.data.schema import MISSING, Schema
from arboretum.model.forest import Forest
from arboretum.reading.conditions import Threshold, condition
from arboretum.reading.node_values import node_values
from arboretum.reading.nodes import branches_of, children_of, descendants, in_reading_order, nodes_of
from arboretum.reading.quantities import category_text, name_text, number_text, rows_text
from arboretum.trees import multiway
from arboretum.trees.multiway import MultiwayTree

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
        default they do if they are vectors without negative entries that all have the same sum, which need not be 1.
    max_depth : int, optional
        Deeper nodes are left out; the line of their ancestor counts them, and gives the value it would have as a leaf.
    digits : int
        Significant digits of values and gains. Thresholds are always exact.
    show : collection of {"value", "rows", "gain"}
        What to tell about a node: its value (of leaves), its training rows, the gain of its split.
    limit : int or None
        Most categories of a set to write out; None for all.

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
    if not holds_others(show) or any(not isinstance(fact, str) or fact not in _FACTS for fact in show):
        raise ValueError(f"show={shown(show)}: use a collection of {', '.join(map(repr, _FACTS))}")
    check_depth(max_depth)
    check_integer("digits", digits)
    values = node_values(forest, schema, tree, class_names, probabilities)
    children, nodes = children_of(forest, tree), nodes_of(forest, tree)
    rows, gain, below = forest.n_rows[nodes].tolist(), forest.gain[nodes].tolist(), descendants(children)
    leads = {0: f"tree {tree} of {forest.n_trees}" + (f", score of {values.score_of}" if values.score_of else "")}
    lines = []
    for node, is_last, is_tip in in_reading_order(children, max_depth):
        if not is_tip:
            question = condition(forest, nodes.start + node)
            for child, answer in zip(children[node], (question, ~question), strict=True):
                leads[child] = answer.pretty(schema, limit=limit)
        indent = "".join("    " if last else "│   " for last in is_last[:-1])
        branch = ("└── " if is_last[-1] else "├── ") if is_last else ""
        arrow = f" → {values.text(node, digits)}" if is_tip and "value" in show else ""
        facts = [rows_text(rows[node])] if "rows" in show else []
        facts += [f"gain {number_text(gain[node], digits)}"] if "gain" in show and not is_tip else []
        cut = f"{below[node]:,} nodes below" if is_tip and below[node] else ""
        told = "; ".join(part for part in (", ".join(facts), cut) if part)
        lines.append(f"{indent}{branch}{leads.pop(node)}{arrow}" + (f"  ({told})" if told else ""))
    return "\n".join(lines)


def check_depth(max_depth: int | None) -> None:
    """Reject a depth that is neither None nor an integer of at least 0."""
    check_integer("max_depth", max_depth, low=0, optional=True)


# ---- trees of many branches ------------------------------------------------------------------------------------------


def multiway_to_text(
    tree: MultiwayTree, schema: Schema, *, class_names: Sequence[Any], max_depth: int | None = None, digits: int = 4
) -> str:
    """Write a tree in the style of C4.5: one line per node, with the class and the rows of leaves.

    The number after a slash counts the rows of other classes.

    Parameters
    ----------
    tree : MultiwayTree
        The tree.
    schema, class_names, max_depth
        As for :func:`tree_to_text`.
    digits : int
        Significant digits of rows, which missing values break into fractions. Thresholds are always exact.

    Examples
    --------
    >>> import arboretum as arb
    >>> rows, plays = [["sun", 30], ["sun", 20], ["rain", 25], ["rain", 15]], ["no", "yes", "no", "no"]
    >>> model = arb.DecisionTreeClassifier(method="c45", pruning=None, min_samples_leaf=1).fit(rows, plays)
    >>> print(multiway_to_text(model.tree_, model.schema_, class_names=model.classes_))
    x0 = rain: no (2)
    x0 = sun
    |   x1 <= 25: yes (1)
    |   x1 > 25: no (1)
    """
    check_depth(max_depth)
    check_integer("digits", digits)
    children = branches_of(tree)
    below, lines = descendants(children), []
    for node, is_last, is_tip in in_reading_order(children, max_depth):
        parts = ["|   " * (len(is_last) - 1) + branch_text(tree, schema, node)] if node else []
        if is_tip:
            parts.append(_leaf_text(tree, node, class_names, digits, below[node]))
        if parts:
            lines.append(": ".join(parts))
    return "\n".join(lines)


def branch_text(tree: MultiwayTree, schema: Schema, node: int, digits: int | None = None) -> str:
    """Write the condition that leads to a node: ``humidity <= 75``, ``outlook = sunny``, ``outlook is missing``."""
    up, branch = int(tree.parent[node]), int(tree.branch[node])
    feature, is_above = int(tree.feature[up]), branch == multiway.ABOVE
    if tree.kind[up] == multiway.NUMERIC:  # a missing number takes both branches: nothing to tell
        question = Threshold(feature, float(tree.threshold[up]), missing_left=is_above, negated=is_above)
        return question.pretty(schema, digits=digits)
    column = schema.columns[feature]
    asked = "is missing" if branch == MISSING else f"= {category_text(column.categories[branch])}"
    return f"{name_text(column.name)} {asked}"


def _leaf_text(tree: MultiwayTree, node: int, class_names: Sequence[Any], digits: int, below: int) -> str:
    weight, errors = float(tree.weight[node]), float(tree.errors[node])
    wrong = f"/{number_text(errors, digits)}" if errors > 1e-9 * weight else ""
    cut = f"; {below:,} nodes below" if below else ""
    return f"{class_names[int(tree.majority[node])]} ({number_text(weight, digits)}{wrong}{cut})"
