"""Trees of many branches as drawings: one box per branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arboretum.data.schema import Schema
from arboretum.plotting.drawing import Orientation, Outline, draw, with_short_names
from arboretum.reading.multiway import branch_text
from arboretum.reading.node_values import NodeValues
from arboretum.reading.quantities import name_text, number_text, rows_text
from arboretum.trees.multiway import MultiwayTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_multiway(
    tree: MultiwayTree,
    schema: Schema,
    *,
    class_names: Sequence[Any],
    ax: Axes | None = None,
    max_depth: int | None = 4,
    orientation: Orientation | None = None,
) -> Axes:
    """Draw a tree: a box a node, headed by the condition that leads to it, with the shares of the classes.

    Parameters
    ----------
    tree : MultiwayTree
        The tree.
    schema : Schema
        Columns that it reads.
    class_names : sequence
        Names of the classes.
    ax, max_depth, orientation
        As for :func:`plot_tree`.

    Returns
    -------
    matplotlib Axes
    """
    children: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    for node, up in enumerate(tree.parent.tolist()):
        if up >= 0:
            children[up].append(node)

    def heading(node: int, asks: bool) -> str:
        if not node:
            return ""
        short = with_short_names(schema, (int(tree.feature[tree.parent[node]]),))
        return branch_text(tree, short, node, digits=4)

    labels = tuple(name_text(str(name)) for name in class_names)
    weight = tree.weight
    outline = Outline(
        title="decision tree",
        children=children,
        share=weight / weight[0],
        size=[_weight_text(float(w)) for w in weight],
        values=NodeValues(tree.counts / weight[:, np.newaxis], labels, are_shares=True, score_of=""),
        heading=heading,
        answers=("", ""),
    )
    return draw(outline, ax=ax, max_depth=max_depth, orientation=orientation)


def _weight_text(weight: float) -> str:
    return rows_text(int(weight)) if weight.is_integer() else f"{number_text(weight, 4)} rows"
