"""Prediction as plain loops over nodes, and random forests to try it on."""

from __future__ import annotations

import math

import numpy as np

from arboretum.model.forest import CATEGORY, LEAF, LISTED, NUMERIC, OBLIQUE, Forest

# Few distinct numbers, so that values meet thresholds; 0.1 is not a float32.
NUMBERS = [-math.inf, -1e300, -3e38, -1.0, -0.0, 0.0, 1e-45, 0.1, 0.5, 1.0, 1 + 2**-30, 3e38, 1e300, math.inf]


def left_share(forest, start, i):
    """Give the share of the training rows at a node that went left."""
    n_left = float(forest.n_rows[start + forest.left[i]])
    n_right = float(forest.n_rows[start + forest.right[i]])
    return n_left / (n_left + n_right) if n_left + n_right > 0 else 0.5


def goes_left(forest, i, row, unknown):
    """Tell whether the row goes left at a node; None if it takes both children."""
    value = row[forest.feature[i]]
    missing_left = bool(forest.missing_left[i])
    if forest.kind[i] == NUMERIC:
        return missing_left if math.isnan(value) else float(value) <= forest.threshold[i]
    if forest.kind[i] == OBLIQUE:
        return projected(forest, i, row) <= forest.threshold[i]
    words = forest.set_words[forest.set_start[i] : forest.set_start[i + 1]]
    listed = forest.kind[i] == LISTED
    is_known = 0 <= value < (math.inf if listed else 32 * len(words))
    if value == -1 or (not is_known and unknown == "missing"):
        return missing_left
    if not is_known:
        return None
    return value in words.tolist() if listed else bool(int(words[value // 32]) >> int(value % 32) & 1)


def leaves(forest, tree, row, unknown):
    """Give (node of the tree, share) for every leaf the row reaches, from left to right."""

    def descend(node, share):
        i = start + node
        if forest.kind[i] == LEAF:
            return [(node, share)]
        left = goes_left(forest, i, row, unknown)
        if left is None:
            to_left = left_share(forest, start, i)
            return descend(forest.left[i], share * to_left) + descend(forest.right[i], share * (1.0 - to_left))
        return descend(forest.left[i] if left else forest.right[i], share)

    start = int(forest.tree_start[tree])
    return descend(0, 1.0)


def projected(forest, node, row):
    """Add up the terms of an oblique node, in their order."""
    total = 0.0
    for k in range(forest.projection_start[node], forest.projection_start[node + 1]):
        value = float(row[forest.projection_feature[k]])
        total += float(forest.projection_weight[k]) * (float(forest.projection_fill[k]) if math.isnan(value) else value)
    return total


def said(forest, leaf, output, row):
    """Tell what a leaf says of a row: its value, and the terms of its slopes in their order."""
    total = float(forest.value[leaf, output])
    for k in range(*forest.slope_start[leaf : leaf + 2]) if forest.has_slopes else ():
        x = float(row[forest.slope_feature[k]])
        if not math.isnan(x):
            inside = min(max(x, float(forest.slope_low[k])), float(forest.slope_high[k]))
            total += float(forest.slope_weight[k]) * (inside - float(forest.slope_centre[k]))
    return total


def raw(forest, columns, n_rows, unknown="average", first=0, last=None):
    last = forest.n_trees if last is None else last
    totals = np.empty((n_rows, forest.n_outputs))
    for r in range(n_rows):
        row = [column[r] for column in columns]
        totals[r] = forest.base
        for tree in range(first, last):
            reached = leaves(forest, tree, row, unknown)
            for j in range(forest.width):
                values = [said(forest, forest.tree_start[tree] + node, j, row) for node, _ in reached]
                mean = values[0]
                if len(reached) > 1:
                    mean = 0.0
                    for value, (_, share) in zip(values, reached, strict=True):
                        mean += share * value
                totals[r, max(forest.tree_output[tree], 0) + j] += mean
    return totals


def apply(forest, columns, n_rows, unknown="average"):
    found = np.empty((n_rows, forest.n_trees), np.int32)
    for r in range(n_rows):
        row = [column[r] for column in columns]
        for tree in range(forest.n_trees):
            found[r, tree] = max(leaves(forest, tree, row, unknown), key=lambda leaf: leaf[1])[0]
    return found


def random_condition(rng, kinds, numbers=NUMBERS, n_words=2):
    feature = int(rng.integers(len(kinds)))
    missing_left = int(rng.integers(2))
    if kinds[feature] == "numeric":
        return NUMERIC, feature, float(rng.choice(numbers)), missing_left, []
    if rng.integers(2):
        codes = rng.choice(32 * n_words, rng.integers(1, 4), replace=False)
        return LISTED, feature, 0.0, missing_left, sorted(codes.tolist())
    words = rng.integers(0, 2**32, rng.integers(1, n_words + 1), dtype=np.uint32)
    return CATEGORY, feature, 0.0, missing_left, list(words)


def random_projection(rng, kinds, numbers=NUMBERS):
    features = [j for j, kind in enumerate(kinds) if kind == "numeric"]
    features = rng.permutation(features)[: rng.integers(1, len(features) + 1)].tolist()
    weights = rng.choice([-2.0, -1.0, 0.1, 1.0, 3e10], len(features))
    terms = list(zip(features, weights, rng.choice([-1.0, 0.0, 0.5], len(features)), strict=True))
    return OBLIQUE, features[0], float(rng.choice(numbers)), 0, terms


def split(nodes, leaf, condition):
    nodes[leaf] = (*condition, len(nodes), len(nodes) + 1)
    nodes += [None, None]
    return [len(nodes) - 2, len(nodes) - 1]


def random_tree(rng, n_leaves, condition):
    nodes, tips = [None], [0]
    while len(tips) < n_leaves:
        tips += split(nodes, tips.pop(int(rng.integers(len(tips)))), condition())
    return nodes


def symmetric_tree(depth, condition):
    nodes, level = [None], [0]
    for _ in range(depth):
        rule = condition()
        level = [child for node in level for child in split(nodes, node, rule)]
    return nodes


def to_forest(rng, trees, n_outputs=1, vector_leaves=False):
    """Give the trees random values and row counts."""
    nodes = [node or (LEAF, -1, 0.0, 0, [], -1, -1) for tree in trees for node in tree]
    kind, feature, threshold, missing_left, words, left, right = zip(*nodes, strict=True) if nodes else [()] * 7
    outputs = np.full(len(trees), -1) if vector_leaves else rng.integers(0, n_outputs, len(trees))
    terms = [items if is_kind == OBLIQUE else [] for is_kind, items in zip(kind, words, strict=True)]
    words = [[] if is_kind == OBLIQUE else items for is_kind, items in zip(kind, words, strict=True)]
    return Forest(
        tree_start=np.cumsum([0, *map(len, trees)], dtype=np.int64),
        tree_output=outputs.astype(np.int32),
        kind=np.array(kind, np.uint8),
        feature=np.array(feature, np.int32),
        threshold=np.array(threshold, np.float64),
        left=np.array(left, np.int32),
        right=np.array(right, np.int32),
        missing_left=np.array(missing_left, np.uint8),
        set_start=np.cumsum([0, *map(len, words)], dtype=np.int64),
        set_words=np.array([word for one_set in words for word in one_set], np.uint32),
        value=rng.normal(size=(len(nodes), n_outputs if vector_leaves else 1)),
        gain=np.zeros(len(nodes)),
        n_rows=rng.integers(0, 4, len(nodes)),
        base=rng.normal(size=n_outputs),
        **(projection_arrays(terms) if OBLIQUE in kind else {}),
    )


def projection_arrays(terms):
    feature, weight, fill = zip(*(term for node in terms for term in node), strict=True)
    return {
        "projection_start": np.cumsum([0, *map(len, terms)], dtype=np.int64),
        "projection_feature": np.array(feature, np.int32),
        "projection_weight": np.array(weight),
        "projection_fill": np.array(fill),
    }


def random_columns(rng, kinds, n_rows, numbers=NUMBERS, n_words=2):
    """Draw values from the thresholds, missing and unknown ones; float32 or float64, of some stride."""
    columns = []
    for kind in kinds:
        if kind == "category":
            column = rng.integers(-2, 32 * n_words + 3, 2 * n_rows + 1).astype(np.int32)
        else:
            column = rng.choice([*numbers, math.nan], 2 * n_rows + 1)
            if rng.integers(2):
                column = np.clip(column, -3e38, 3e38, where=np.isfinite(column), out=column).astype(np.float32)
        columns.append([column[:n_rows], column[1::2], column[::-2][:n_rows]][rng.integers(3)])
    return columns
