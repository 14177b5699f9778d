"""Split search and tree growth by brute force, on codes.

A node is a list of row numbers. A condition is the set of codes that go left; the code ``n_bins`` is a missing value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from arboretum import _kernel

TINY = 1e-300


@dataclass(frozen=True)
class Codes:
    """Codes of a table, feature by feature."""

    columns: list
    n_bins: list
    categorical: list

    @property
    def n_rows(self):
        return len(self.columns[0])

    def to_kernel(self, threads=1):
        """Feed the codes to the kernel: numbers c with cuts at c + ½, categories as they are."""
        data = _kernel.BinnedData(self.n_rows, list(self.n_bins), list(self.categorical))
        data.attach(np.empty(data.size_bytes, np.uint8))
        raw, cuts = [], []
        for column, n_bins, categorical in zip(self.columns, self.n_bins, self.categorical, strict=True):
            if categorical:
                raw.append(np.where(column == n_bins, -1, column).astype(np.int32))
            else:
                raw.append(np.where(column == n_bins, np.nan, column).astype(np.float64))
            cuts.append([] if categorical else list(np.arange(n_bins - 1) + 0.5))
        data.assign(0, raw, cuts, threads)
        return data

    def take(self, rows):
        return replace(self, columns=[column[rows] for column in self.columns])

    def with_feature(self, column, n_bins, categorical):
        return Codes([*self.columns, column], [*self.n_bins, n_bins], [*self.categorical, categorical])


@dataclass(frozen=True)
class Sums:
    """Gradient, hessian and rows of a set of rows."""

    g: float = 0.0
    h: float = 0.0
    n: int = 0

    def __add__(self, other):
        return Sums(self.g + other.g, self.h + other.h, self.n + other.n)

    def __sub__(self, other):
        return Sums(self.g - other.g, self.h - other.h, self.n - other.n)


def sums(rows, g, h):
    return Sums(math.fsum(g[rows]), math.fsum(h[rows]), len(rows))


# ---- leaves --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaf:
    """The best value of a leaf, w = clip(−soft(G) / (H + l2)), and its score −(2Gw + (H + l2)w² + 2 l1 |w|)."""

    l1: float
    l2: float
    lower: float = -math.inf
    upper: float = math.inf

    def value(self, s):
        soft = math.copysign(max(abs(s.g) - self.l1, 0.0), s.g)
        return min(max(-soft / max(s.h + self.l2, TINY), self.lower), self.upper)

    def score(self, s):
        w = self.value(s)
        return -(2 * s.g * w + max(s.h + self.l2, TINY) * w * w + 2 * self.l1 * abs(w))


def root_leaf(params):
    step = params.max_delta_step or math.inf
    return Leaf(params.l1, params.l2, -step, step)


def child_leaves(leaf, direction, left, right):
    """Bounds of the children of a monotone split: the middle of their values lies between them."""
    if direction == 0:
        return leaf, leaf
    middle = (leaf.value(left) + leaf.value(right)) / 2
    low, high = replace(leaf, upper=middle), replace(leaf, lower=middle)
    return (low, high) if direction > 0 else (high, low)


# ---- splits --------------------------------------------------------------------------------------------------------


def histogram(codes, rows, g, h):
    """Sums of every code that occurs."""
    found = {}
    for row in rows:
        code = int(codes[row])
        found[code] = found.get(code, Sums()) + Sums(float(g[row]), float(h[row]), 1)
    return found


def numeric_conditions(present, n_bins):
    values = sorted(code for code in present if code < n_bins)
    prefixes = [frozenset(values[: i + 1]) for i in range(len(values))]
    if n_bins not in present:
        return prefixes[:-1]
    return prefixes + [prefix | {n_bins} for prefix in prefixes[:-1]]


def category_conditions(bins, n_bins, params):
    """One against the rest; or, sorted by gradient / (hessian + smoothing), the first or last few."""
    if n_bins <= params.max_onehot:
        return [frozenset([code]) for code in bins]
    order = sorted(bins, key=lambda c: (bins[c].g / (bins[c].h + params.category_smoothing), c))
    longest = min(params.max_category_set, len(order) - 1)
    ends = [order, order[::-1]]
    return [frozenset(end[: i + 1]) for end in ends for i in range(longest)]


def gain(left, total, leaf, direction, params, extra_l2=0.0):
    """½ [score(left) + score(right) − score(all)], or −inf where a rule forbids the split."""
    right = total - left
    if min(left.n, right.n) < params.min_samples_leaf or min(left.h, right.h) < params.min_child_weight:
        return -math.inf
    child = replace(leaf, l2=leaf.l2 + extra_l2)
    if direction * child.value(left) > direction * child.value(right):
        return -math.inf
    return 0.5 * (child.score(left) + child.score(right) - leaf.score(total))


def splits(data, feature, rows, g, h, leaf, params):
    """(gain, codes that go left) of every condition on a feature that a node may try."""
    bins = histogram(data.columns[feature], rows, g, h)
    total = sum(bins.values(), Sums())
    n_bins = data.n_bins[feature]
    direction = params.monotone[feature] if params.monotone else 0
    extra_l2 = 0.0
    if data.categorical[feature]:
        conditions = category_conditions(bins, n_bins, params)
        extra_l2 = params.category_l2 if n_bins > params.max_onehot else 0.0
    else:
        conditions = numeric_conditions(bins, n_bins)
    for condition in conditions:
        left = sum((bins[code] for code in condition), Sums())
        yield gain(left, total, leaf, direction, params, extra_l2), condition


def may_split(rows, h, depth, params):
    return (
        (params.max_depth <= 0 or depth < params.max_depth)
        and len(rows) >= max(2, 2 * params.min_samples_leaf)
        and math.fsum(h[rows]) >= 2 * params.min_child_weight
    )


def best_gain(data, rows, g, h, leaf, depth, features, params):
    """Largest gain of any allowed split; −inf if there is none."""
    if not may_split(rows, h, depth, params):
        return -math.inf
    return max(
        (found for f in features for found, _ in splits(data, f, rows, g, h, leaf, params)), default=-math.inf
    )


# ---- one condition for a whole level -----------------------------------------------------------------------------


def shared_conditions(data, feature, nodes, g, h, params):
    n_bins, codes = data.n_bins[feature], data.columns[feature]
    everything = histogram(codes, [row for rows in nodes for row in rows], g, h)
    if data.categorical[feature]:
        key = {c: s.g / (s.h + params.category_smoothing) for c, s in everything.items()}
        order = sorted(everything, key=lambda c: (key[c], c))
        return [frozenset(order[: i + 1]) for i in range(len(order) - 1)]
    prefixes = [frozenset(range(t + 1)) for t in range(n_bins)]
    if n_bins not in everything:
        return prefixes[:-1]
    return prefixes + [prefix | {n_bins} for prefix in prefixes[:-1]]


def shared_splits(data, feature, nodes, g, h, leaves, params):
    """(total gain, condition): a node that a condition would leave with too little on one side gains nothing."""
    direction = params.monotone[feature] if params.monotone else 0
    bins = [histogram(data.columns[feature], rows, g, h) for rows in nodes]
    for condition in shared_conditions(data, feature, nodes, g, h, params):
        total = 0.0
        for node_bins, leaf in zip(bins, leaves, strict=True):
            left = sum((s for code, s in node_bins.items() if code in condition), Sums())
            found = gain(left, sum(node_bins.values(), Sums()), leaf, direction, params)
            total += found if found > -math.inf else 0.0
        yield total, condition


# ---- reading a grown tree ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A node of a grown tree with what the twin knows of it."""

    id: int
    depth: int
    rows: np.ndarray
    leaf: Leaf
    path: tuple  # features on the way from the root


def left_codes(tree, node, n_bins):
    """Codes that go left at a node, missing included."""
    if tree.kind[node] == 1:
        chosen = set(range(int(tree.code[node]) + 1))
    else:
        starts, words = tree.sets
        own = words[starts[node] : starts[node + 1]]
        chosen = {code for code in range(n_bins) if int(own[code // 32]) >> (code % 32) & 1}
    return frozenset(chosen | ({n_bins} if tree.missing_left[node] else set()))


def walk(data, tree, rows, g, h, params):
    """All nodes with the rows that reach them."""
    kind, feature, left, right = tree.kind, tree.feature, tree.left, tree.right
    nodes = {0: Node(0, 0, np.asarray(rows), root_leaf(params), ())}
    for node in range(tree.n_nodes):
        if kind[node] == 0:
            continue
        here, f = nodes[node], int(feature[node])
        goes_left = np.isin(data.columns[f][here.rows], list(left_codes(tree, node, data.n_bins[f])))
        parts = here.rows[goes_left], here.rows[~goes_left]
        direction = params.monotone[f] if params.monotone else 0
        rules = child_leaves(here.leaf, direction, *(sums(part, g, h) for part in parts))
        for child, part, leaf in zip((left[node], right[node]), parts, rules, strict=True):
            nodes[int(child)] = Node(int(child), here.depth + 1, part, leaf, (*here.path, f))
    return [nodes[i] for i in range(tree.n_nodes)]
