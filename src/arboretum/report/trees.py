"""Trees as a page can draw them: nodes with parents, as many as a budget of characters allows."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import Schema
from arboretum.model.forest import Forest
from arboretum.reading.conditions import ColumnCondition, Condition, condition
from arboretum.reading.node_values import node_values
from arboretum.reading.nodes import Children, children_of, descendants, nodes_of, parents
from arboretum.reading.quantities import category_text, name_text, threshold_text
from arboretum.report.subject import TEXT_DIGITS, Subject
from arboretum.trees.multiway import MultiwayTree

BUDGET = 600_000  # characters of all trees
FIELDS = ("id", "parent", "edge", "subject", "test", "rows", "gain", "value", "hidden")  # of a node
WRITTEN = ("subject", "test", "value")  # fields of text
LARGEST = 400  # nodes of a tree; those that fewest rows reach are left out


def gather(subject: Subject) -> dict[str, Any]:
    """Write the first trees, as many as fit."""
    multiway = subject.multiway
    if multiway is not None:
        names = [str(label) for label in subject.model.classes_.tolist()]
        return {"trees": [_multiway_nodes(multiway, subject.schema, names)], "n_trees": 1}
    forest, size = subject.forest(), 0
    trees: list[dict[str, Any]] = []
    for tree in range(forest.n_trees):
        nodes = _nodes(subject.model, forest, tree)
        size += sum(40 + len("".join(texts)) for texts in zip(*(nodes[key] for key in WRITTEN), strict=True))
        if trees and size > BUDGET:
            break
        trees.append(nodes)
    return {"trees": trees, "n_trees": forest.n_trees}


def leaves(subject: Subject, X: Any, written: list[dict[str, Any]]) -> NDArray[np.int64]:
    """Return where each row ends in each tree that is written: its leaf, or the node above it where the tree is cut."""
    found = np.asarray(subject.model.apply(X), np.int64).reshape(-1, subject.n_trees)[:, : len(written)]
    for at, tree in enumerate(written):
        kept = np.zeros(max(int(found[:, at].max(initial=0)), max(tree["id"])) + 1, bool)
        kept[tree["id"]] = True
        if not kept[found[:, at]].all():
            parent = parents(subject.forest()[at : at + 1]) if subject.multiway is None else subject.multiway.parent
            while not (ends := kept[found[:, at]]).all():
                found[:, at] = np.where(ends, found[:, at], parent[found[:, at]])
    return found


def _nodes(model: Any, forest: Forest, tree: int) -> dict[str, Any]:
    """Nodes of a tree, by falling number of rows while there is room; ``id`` is the node's number in the tree."""
    span, schema = nodes_of(forest, tree), model.model_.read_schema
    rows, gain, children = forest.n_rows[span].tolist(), forest.gain[span], children_of(forest, tree)
    values = node_values(forest, schema, tree, **model.model_.head.value_meaning)
    below = descendants(children)
    kept = _largest(children, rows, LARGEST)
    place = {node: at for at, (node, _, _) in enumerate(kept)}
    written = []
    for node, parent, edge in kept:
        column, test = _question(condition(forest, span.start + node), schema) if children[node] else ("", "")
        hidden = below[node] if children[node] and children[node][0] not in place else 0
        text = values.text(node, 4)
        written.append((node, place.get(parent, -1), edge, column, test, rows[node], float(gain[node]), text, hidden))
    return {
        "number": tree,
        "about": _about(values, forest, tree),
        "shade": _shades(values.values, list(place)),
        **dict(zip(FIELDS, map(list, zip(*written, strict=True)), strict=True)),
    }


def _question(ask: Condition, schema: Schema) -> tuple[str, str]:
    """Split a condition into the name of its column and what is asked of it; a sum of columns has no single name."""
    if not isinstance(ask, ColumnCondition):
        return "", ask.pretty(schema, digits=TEXT_DIGITS, limit=4)
    column = schema.columns[ask.feature]
    return name_text(column.name), ask.asked(column, TEXT_DIGITS, 4)


def _about(values: Any, forest: Forest, tree: int) -> str:
    if values.are_shares:
        return "shares of classes"
    if forest.n_outputs > 1 and forest.tree_output[tree] >= 0:
        return f"adds to output {int(forest.tree_output[tree])}"
    return f"score of {values.score_of}" if values.score_of else ""


def _shades(values: NDArray[np.float64], kept: list[int]) -> list[float]:
    """Return where the value of each node, or its first number, lies between the least (0) and the largest (1)."""
    first = values[kept, -1 if values.shape[1] == 2 else 0]
    low, high = float(first.min()), float(first.max())
    shade = (first - low) / (high - low) if high > low else np.full(len(first), 0.5)
    return [round(value, 3) for value in shade.tolist()]


def _largest(children: Children, rows: list[int], limit: int) -> list[tuple[int, int, str]]:
    """Return (node, parent, answer) of the nodes that most rows reach; both children of a node or none."""
    kept, queue = [(0, -1, "")], [(-rows[0], 0)]
    while queue and len(kept) + 2 <= limit:
        _, node = heapq.heappop(queue)
        for child, answer in zip(children[node], ("yes", "no"), strict=False):
            kept.append((child, node, answer))
            heapq.heappush(queue, (-rows[child], child))
    return kept


def _multiway_nodes(tree: MultiwayTree, schema: Schema, classes: list[str]) -> dict[str, Any]:
    """Nodes of an ID3 or C4.5 tree, which may have a child for each category."""
    kept = list(range(min(tree.n_nodes, LARGEST)))  # pre-order: a parent comes before its children
    children = np.bincount(tree.parent[1:], minlength=tree.n_nodes)
    shown = np.bincount(tree.parent[1 : len(kept)], minlength=tree.n_nodes)
    nodes = {
        "id": kept,
        "parent": tree.parent[kept].tolist(),
        "edge": list(_branches(tree, schema, kept)),
        "subject": ["" if tree.kind[k] == 0 else name_text(schema.names[tree.feature[k]]) for k in kept],
        "test": [_test(tree, schema, k) for k in kept],
        "rows": np.round(tree.counts[kept].sum(axis=1), 3).tolist(),
        "gain": tree.gain[kept].tolist(),
        "value": [", ".join(f"{classes[c]} {p:.3g}" for c, p in _shares(tree, k)) for k in kept],
        "hidden": (children[kept] - shown[kept]).tolist(),
        "shade": [round(max((p for _, p in _shares(tree, k)), default=0.5), 3) for k in kept],
    }
    return {"number": 0, "about": "shares of classes", **nodes}


def _test(tree: MultiwayTree, schema: Schema, node: int) -> str:
    if tree.kind[node] != 1:
        return "" if tree.kind[node] == 0 else "is which category?"
    source = schema.columns[tree.feature[node]].source
    return f"<= {threshold_text(float(tree.threshold[node]), source, TEXT_DIGITS)}"


def _branches(tree: MultiwayTree, schema: Schema, kept: list[int]) -> Iterator[str]:
    for node in kept:
        parent, branch = int(tree.parent[node]), int(tree.branch[node])
        if parent < 0:
            yield ""
        elif tree.kind[parent] == 1:
            yield "no" if branch else "yes"
        else:
            yield "missing" if branch < 0 else category_text(schema.columns[tree.feature[parent]].categories[branch])


def _shares(tree: MultiwayTree, node: int) -> list[tuple[int, float]]:
    counts = np.asarray(tree.counts[node], np.float64)
    total = counts.sum()
    order = np.argsort(-counts, kind="stable")[:4]
    return [(int(k), float(counts[k] / total)) for k in order if counts[k] > 0] if total > 0 else []
