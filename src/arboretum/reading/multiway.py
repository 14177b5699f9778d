"""Trees of many branches as text: one line per branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arboretum.arguments import check_integer
from arboretum.data.schema import MISSING, Schema
from arboretum.reading.conditions import Threshold
from arboretum.reading.quantities import category_text, name_text, number_text
from arboretum.reading.text import check_depth
from arboretum.trees.multiway import ABOVE, LEAF, NUMERIC, MultiwayTree

if TYPE_CHECKING:
    pass


def branch_text(tree: MultiwayTree, schema: Schema, node: int, digits: int | None = None) -> str:
    """Write the condition that leads to a node: ``humidity <= 75``, ``outlook = sunny``, ``outlook is missing``."""
    up, branch = int(tree.parent[node]), int(tree.branch[node])
    feature = int(tree.feature[up])
    if tree.kind[up] == NUMERIC:  # a missing number takes both branches: nothing to tell
        question = Threshold(feature, float(tree.threshold[up]), missing_left=branch == ABOVE, negated=branch == ABOVE)
        return question.pretty(schema, digits=digits)
    column = schema.columns[feature]
    name = name_text(column.name)
    return f"{name} is missing" if branch == MISSING else f"{name} = {category_text(column.categories[branch])}"


def multiway_to_text(
    tree: MultiwayTree, schema: Schema, *, class_names: Sequence[Any], max_depth: int | None = None, digits: int = 4
) -> str:
    """Write a tree in the style of C4.5: a line a node, the class and the rows of leaves.

    After a slash stands how many of the rows are of other classes.

    Parameters
    ----------
    tree : MultiwayTree
        The tree.
    schema : Schema
        Columns that it reads.
    class_names : sequence
        Names of the classes.
    max_depth : int, optional
        Deeper nodes are left out and counted.
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
    depth, kind, size = tree.depths.tolist(), tree.kind.tolist(), subtree_sizes(tree)
    lines = []
    for node in range(tree.n_nodes):
        if max_depth is not None and depth[node] > max_depth:
            continue
        is_tip = kind[node] == LEAF or depth[node] == max_depth
        ending = _leaf_text(tree, node, class_names, digits, size[node] - 1) if is_tip else ""
        if node:
            condition = "|   " * (depth[node] - 1) + branch_text(tree, schema, node)
            lines.append(f"{condition}: {ending}" if is_tip else condition)
        elif is_tip:
            lines.append(ending)
    return "\n".join(lines)


def _leaf_text(tree: MultiwayTree, node: int, class_names: Sequence[Any], digits: int, below: int) -> str:
    weight, errors = float(tree.weight[node]), float(tree.errors[node])
    wrong = f"/{number_text(errors, digits)}" if errors > 1e-9 * weight else ""
    cut = f"; {below:,} nodes below" if below else ""
    return f"{class_names[int(tree.majority[node])]} ({number_text(weight, digits)}{wrong}{cut})"


def subtree_sizes(tree: MultiwayTree) -> list[int]:
    """Nodes of each subtree, its root counted."""
    size = [1] * tree.n_nodes
    for node, up in reversed(list(enumerate(tree.parent.tolist()))):
        if up >= 0:
            size[up] += size[node]
    return size
