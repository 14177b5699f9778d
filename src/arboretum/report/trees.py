"""Trees as a page can draw them: nodes with parents, as many as a budget of characters allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import Schema
from arboretum.model.forest import LEAF, Forest
from arboretum.reading.conditions import Condition, condition
from arboretum.reading.node_values import node_values, nodes_of
from arboretum.reading.quantities import category_text, name_text, threshold_text
from arboretum.report.subject import TEXT_DIGITS, Subject
from arboretum.trees.multiway import MultiwayTree

BUDGET = 600_000  # characters of all trees
FIELDS = ("id", "parent", "edge", "subject", "test", "rows", "gain", "value", "hidden")  # of a node
LARGEST = 400  # nodes of a tree; those that fewest rows reach are left out


def gather(subject: Subject) -> dict[str, Any]:
    """Write the first trees, as many as fit."""
    multiway = getattr(subject.model, "tree_", None)
    if isinstance(multiway, MultiwayTree):
        names = [str(label) for label in subject.model.classes_.tolist()]
        return {"trees": [_multiway_nodes(multiway, subject.schema, names)], "n_trees": 1}
    forest, size = subject.forest(), 0
    trees: list[dict[str, Any]] = []
    for tree in range(forest.n_trees):
        nodes = _nodes(subject.model, forest, tree)
        size += sum(len(text) for key in ("subject", "test", "value") for text in nodes[key]) + 40 * len(
            nodes["parent"]
        )
        if trees and size > BUDGET:
            break
        trees.append(nodes)
    return {"trees": trees, "n_trees": forest.n_trees}


def leaves(subject: Subject, X: Any, written: list[dict[str, Any]]) -> NDArray[np.int64]:
    """Where each row ends in each tree that is written: its leaf, or the node above it where the tree is cut."""
    found = np.asarray(subject.model.apply(X), np.int64).reshape(-1, subject.n_trees)[:, : len(written)]
    for at, tree in enumerate(written):
        kept = np.zeros(max(int(found[:, at].max(initial=0)), max(tree["id"])) + 1, bool)
        kept[tree["id"]] = True
        if not kept[found[:, at]].all():
            parent = _parents(subject, at)
            while not (ends := kept[found[:, at]]).all():
                found[:, at] = np.where(ends, found[:, at], parent[found[:, at]])
    return found


def _parents(subject: Subject, tree: int) -> NDArray[np.int64]:
    multiway = getattr(subject.model, "tree_", None)
    if isinstance(multiway, MultiwayTree):
        return multiway.parent.astype(np.int64)
    forest = subject.forest()
    span = nodes_of(forest, tree)
    left, right = forest.left[span], forest.right[span]
    inner = np.flatnonzero(left >= 0)
    parent = np.full(len(left), -1, np.int64)
    parent[left[inner]] = parent[right[inner]] = inner
    return parent


def _nodes(model: Any, forest: Forest, tree: int) -> dict[str, Any]:
    """Nodes of a tree, by falling number of rows while there is room; ``id`` is the node's number in the tree."""
    span, schema = nodes_of(forest, tree), model.model_.read_schema
    left, right, rows = (values[span].tolist() for values in (forest.left, forest.right, forest.n_rows))
    values = node_values(forest, schema, tree, **_meaning(model))
    below = _descendants(left, right)
    kept = _largest(left, right, rows, LARGEST)
    nodes: dict[str, Any] = {name: [] for name in FIELDS}
    place = {node: at for at, (node, _, _) in enumerate(kept)}
    for node, parent, edge in kept:
        is_leaf = forest.kind[span.start + node] == LEAF
        is_cut = not is_leaf and left[node] not in place
        ask = None if is_leaf else condition(forest, span.start + node)
        nodes["id"].append(node)
        nodes["parent"].append(place.get(parent, -1))
        nodes["edge"].append(edge)
        subject, test = ("", "") if ask is None else _question(ask, schema)
        nodes["subject"].append(subject)
        nodes["test"].append(test)
        nodes["rows"].append(rows[node])
        nodes["gain"].append(float(forest.gain[span.start + node]))
        nodes["value"].append(values.text(node, 4))
        nodes["hidden"].append(below[node] if is_cut else 0)
    return {
        "number": tree,
        "about": _about(values, forest, tree),
        "shade": _shades(values.values, nodes["id"]),
        **nodes,
    }


def _question(ask: Condition, schema: Schema) -> tuple[str, str]:
    """Split a condition into the name of its column and what is asked of it; a sum of columns has no one name."""
    text = ask.pretty(schema, digits=TEXT_DIGITS, limit=4)
    name = name_text(schema.columns[ask.reads[0]].name)
    return (name, text.removeprefix(name).strip()) if len(ask.reads) == 1 else ("", text)


def _meaning(model: Any) -> dict[str, Any]:
    return {"class_names": None, "probabilities": None, **model.model_.head.value_meaning}


def _about(values: Any, forest: Forest, tree: int) -> str:
    if values.are_shares:
        return "shares of classes"
    if forest.n_outputs > 1 and forest.tree_output[tree] >= 0:
        return f"adds to output {int(forest.tree_output[tree])}"
    return f"score of {values.score_of}" if values.score_of else ""


def _shades(values: NDArray[np.float64], kept: list[int]) -> list[float]:
    """Position of each node's value between the least (0) and the largest (1) of the tree; of vectors, the first."""
    first = values[kept, -1 if values.shape[1] == 2 else 0]
    low, high = float(first.min()), float(first.max())
    shade = (first - low) / (high - low) if high > low else np.full(len(first), 0.5)
    return [round(value, 3) for value in shade.tolist()]


def _descendants(left: list[int], right: list[int]) -> list[int]:
    below = [0] * len(left)
    for node in reversed(range(len(left))):  # children come after their parent
        if left[node] >= 0:
            below[node] = 2 + below[left[node]] + below[right[node]]
    return below


def _largest(left: list[int], right: list[int], rows: list[int], limit: int) -> list[tuple[int, int, str]]:
    """Return (node, parent, answer) of the nodes that most rows reach; both children of a node or none."""
    import heapq

    kept, queue = [(0, -1, "")], [(-rows[0], 0)]
    while queue and len(kept) + 2 <= limit:
        _, node = heapq.heappop(queue)
        if left[node] >= 0:
            for child, answer in ((left[node], "yes"), (right[node], "no")):
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
