"""Trees as a data frame: one row per node."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.data.schema import Schema
from arboretum.model.forest import LEAF, NUMERIC, OBLIQUE, Forest
from arboretum.reading.conditions import condition
from arboretum.reading.node_values import node_values
from arboretum.reading.nodes import parents
from arboretum.reading.text import branch_text
from arboretum.trees.multiway import MultiwayTree

Backend = Literal["pandas", "polars", "pyarrow"]
Columns = dict[str, Any]

_SIDES = np.array(["right", "left", None], dtype=object)  # of missing values; None at a leaf
_MAKERS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


def as_frame(columns: Columns, backend: Backend) -> Any:
    """Make a data frame of the columns.

    Examples
    --------
    >>> as_frame({"node": [0, 1]}, "polars").shape
    (2, 1)
    """
    if not isinstance(backend, str) or backend not in _MAKERS:
        raise ValueError(f"backend={shown(backend)}: use one of {', '.join(map(repr, _MAKERS))}")
    try:
        library = import_module(backend)
    except ImportError:
        raise ImportError(f"to_frame(backend={backend!r}) needs {backend}: pip install {backend}") from None
    return getattr(library, _MAKERS[backend])(columns)


def forest_columns(
    forest: Forest, schema: Schema, *, class_names: Sequence[Any] | None = None, probabilities: bool | None = None
) -> Columns:
    """Describe every node of a forest.

    The parameters are those of ``tree_to_text``; the columns are described by ``to_frame`` of a model.
    """
    sizes = np.diff(forest.tree_start)
    start = np.repeat(forest.tree_start[:-1], sizes)
    node, parent = np.arange(forest.n_nodes) - start, parents(forest)
    conditions: list[str | None] = [None] * forest.n_nodes
    for place in np.flatnonzero(forest.kind != LEAF).tolist():
        asked = condition(forest, place)
        for child, side in ((forest.left, asked), (forest.right, ~asked)):
            conditions[start[place] + child[place]] = side.pretty(schema, limit=None)
    values = [node_values(forest, schema, tree, class_names, probabilities) for tree in range(forest.n_trees)]
    labels = values[0].labels if values else ()
    return {
        "tree": np.repeat(np.arange(forest.n_trees), sizes),
        "output": np.repeat([value.score_of or None for value in values], sizes),
        "node": node,
        "parent": np.where(parent < 0, -1, node[parent]),
        "depth": forest.depths,
        "condition": conditions,
        "left": forest.left,
        "right": forest.right,
        "feature": _names(schema, forest.feature),
        "threshold": np.where(np.isin(forest.kind, (NUMERIC, OBLIQUE)), forest.threshold, np.nan),
        "missing": _SIDES[np.where(forest.kind == LEAF, 2, forest.missing_left)],
        "gain": forest.gain,
        "rows": forest.n_rows,
        **_value_columns(np.concatenate([value.values for value in values]), labels),
    }


def multiway_columns(tree: MultiwayTree, schema: Schema, *, class_names: Sequence[Any]) -> Columns:
    """Describe every node of a tree with many branches per node; as ``forest_columns``, without left and right."""
    return {
        "tree": np.zeros(tree.n_nodes, np.int64),
        "node": np.arange(tree.n_nodes),
        "parent": tree.parent,
        "depth": tree.depths,
        "condition": [branch_text(tree, schema, node) if node else None for node in range(tree.n_nodes)],
        "feature": _names(schema, tree.feature),
        "threshold": tree.threshold,
        "gain": tree.gain,
        "rows": tree.weight,
        **_value_columns(tree.counts / tree.weight[:, np.newaxis], [str(name) for name in class_names]),
    }


def _names(schema: Schema, feature: NDArray[np.int32]) -> NDArray[np.object_]:
    names = np.array([*schema.names, None], dtype=object)
    return names[feature]  # −1, a leaf, takes the last


def _value_columns(values: NDArray[np.float64], labels: Sequence[str]) -> Columns:
    if values.shape[1] == 1:
        return {"value": values[:, 0]}
    names = labels or [str(place) for place in range(values.shape[1])]
    return {f"value of {name}": values[:, place] for place, name in enumerate(names)}
