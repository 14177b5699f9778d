"""Split search and tree growth by brute force, on codes.

A node is a list of row numbers. A condition is the set of codes that go left; the code ``n_bins`` is a missing value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from arboretum import _kernel

TINY = 1e-300
NODE_ARRAYS = ("kind", "feature", "code", "left", "right", "missing_left", "gain", "n_rows", "gradient", "hessian")


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
    """Sum up every code that occurs."""
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


def frequent(bins, params):
    """Categories with as many rows as a leaf must have, judged by their share of the hessian."""
    total, least = sum(bins.values(), Sums()), params.min_samples_leaf
    return {c: s for c, s in bins.items() if least <= 1 or s.h * total.n >= (1 - 1e-6) * least * total.h}


def category_conditions(bins, n_bins, params):
    """One against the rest; or, sorted by gradient / (hessian + smoothing), the first or last few of those not rare."""
    if n_bins <= params.max_onehot:
        return [frozenset([code]) for code in bins]
    bins = frequent(bins, params)
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
    return max((found for f in features for found, _ in splits(data, f, rows, g, h, leaf, params)), default=-math.inf)


# ---- one condition for a whole level -----------------------------------------------------------------------------


def shared_conditions(data, feature, nodes, g, h, params):
    n_bins, codes = data.n_bins[feature], data.columns[feature]
    everything = histogram(codes, [row for rows in nodes for row in rows], g, h)
    if data.categorical[feature]:
        key = {c: s.g / (s.h + params.category_smoothing) for c, s in everything.items()}
        order = sorted(frequent(everything, params), key=lambda c: (key[c], c))
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


# ---- what must hold for every tree ---------------------------------------------------------------------------------


def check_sums(nodes, tree, g, h):
    for node in nodes:
        assert tree.n_rows[node.id] == len(node.rows)
        total = sums(node.rows, g, h)
        size = math.fsum(abs(g[node.rows]))
        assert tree.gradient[node.id] == pytest.approx(total.g, rel=1e-9, abs=1e-9 * size)
        assert tree.hessian[node.id] == pytest.approx(total.h, rel=1e-9)


def check_routing(data, grower, tree, nodes):
    leaves = np.empty(data.n_rows, np.uint32)
    tree.leaves(data.to_kernel(), 1, leaves)
    np.testing.assert_array_equal(grower.leaf_of_row, leaves)
    for node in nodes:
        if tree.kind[node.id] == 0:
            assert np.all(leaves[node.rows] == node.id)


def check_limits(nodes, tree, params, h):
    leaves = [node for node in nodes if tree.kind[node.id] == 0]
    if params.max_leaf_nodes:
        assert len(leaves) <= params.max_leaf_nodes
    if params.max_depth:
        assert max(node.depth for node in nodes) <= params.max_depth
    if len(nodes) > 1:
        assert min(len(leaf.rows) for leaf in leaves) >= params.min_samples_leaf
        assert min(h[leaf.rows].sum() for leaf in leaves) >= params.min_child_weight


def tolerance(node, size, g, h):
    """Gains are compared by 17 bits, and gradients are rounded to some 2^-20 of the largest."""
    total = sums(node.rows, abs(g), h)
    return 1e-4 * abs(size) + 1e-5 * total.g**2 / max(total.h, 1.0) + 1e-9


def chosen_gain(data, tree, node, g, h, params):
    """Gain of the split that the tree made, by the twin."""
    f = int(tree.feature[node.id])
    left = left_codes(tree, node.id, data.n_bins[f])
    present = frozenset(np.unique(data.columns[f][node.rows]).tolist())
    goes_left = np.isin(data.columns[f][node.rows], list(left))
    both = sums(node.rows[goes_left], g, h), sums(node.rows, g, h)
    extra = params.category_l2 if data.categorical[f] and data.n_bins[f] > params.max_onehot else 0.0
    direction = params.monotone[f] if params.monotone else 0
    if data.categorical[f]:
        check_category_set(histogram(data.columns[f], node.rows, g, h), left & present, data.n_bins[f], params)
    else:
        assert left & present in numeric_conditions(present, data.n_bins[f])
    return gain(*both, node.leaf, direction, params, extra)


def check_category_set(bins, left, n_bins, params):
    """One category, or the first or last few by gradient / (hessian + smoothing); those that tie in any order."""
    if n_bins <= params.max_onehot:
        assert len(left) == 1
        return
    bins = frequent(bins, params)
    assert left <= set(bins)
    assert 0 < len(left) <= min(params.max_category_set, len(bins) - 1)
    key = {code: s.g / (s.h + params.category_smoothing) for code, s in bins.items()}
    inside, outside = [key[c] for c in left], [key[c] for c in bins if c not in left]
    slack = 1e-5 * max(map(abs, key.values()))
    assert max(inside) <= min(outside) + slack or min(inside) >= max(outside) - slack


def check_gains(data, tree, nodes, g, h, params, allowed=None):
    """Give the largest gain of every node; inner nodes must have taken it."""
    gains = []
    for node in nodes:
        features = range(len(data.columns)) if allowed is None else allowed(node)
        best = best_gain(data, node.rows, g, h, node.leaf, node.depth, features, params)
        gains.append(best)
        if tree.kind[node.id] == 0:
            continue
        slack = tolerance(node, best, g, h)
        assert chosen_gain(data, tree, node, g, h, params) >= best - slack
        assert tree.gain[node.id] == pytest.approx(best, abs=slack)
        assert tree.gain[node.id] > params.min_gain
        assert tree.feature[node.id] in features
    return gains


def check_absent_values(data, tree, nodes):
    """Missing values and categories that a node never saw follow the larger child."""
    for node in nodes:
        if tree.kind[node.id] == 0:
            continue
        f = int(tree.feature[node.id])
        left = left_codes(tree, node.id, data.n_bins[f])
        left_larger = tree.n_rows[tree.left[node.id]] > tree.n_rows[tree.right[node.id]]
        codes = range(data.n_bins[f] + 1) if data.categorical[f] else [data.n_bins[f]]
        for code in set(codes) - set(data.columns[f][node.rows].tolist()):
            assert (code in left) == left_larger


def check_order(tree, nodes, gains, g, h, params):
    """Replay growth. Children of the k-th split are nodes 2k + 1 and 2k + 2."""
    parents = {int(tree.left[i]): i for i in range(tree.n_nodes) if tree.kind[i] > 0}
    open_nodes = [0]

    def priority(i):
        return (-nodes[i].depth if params.growth == "level" else 0), gains[i]

    for k in range(tree.n_nodes // 2):
        node = parents[2 * k + 1]
        assert node in open_nodes
        depth, gain = priority(node)
        for other in open_nodes:
            if gains[other] > params.min_gain + tolerance(nodes[other], gains[other], g, h):
                assert depth >= priority(other)[0]
                if depth == priority(other)[0]:
                    assert gain >= gains[other] - tolerance(nodes[other], gains[other], g, h)
        open_nodes.remove(node)
        open_nodes += [2 * k + 1, 2 * k + 2]
    if params.max_leaf_nodes and len(open_nodes) == params.max_leaf_nodes:
        return
    for leaf in open_nodes:
        assert gains[leaf] <= params.min_gain + tolerance(nodes[leaf], gains[leaf], g, h)


def check_tree(data, grower, tree, g, h, params, rows=None, allowed=None):
    rows = np.arange(data.n_rows) if rows is None else rows
    nodes = walk(data, tree, rows, g, h, params)
    check_sums(nodes, tree, g, h)
    check_routing(data, grower, tree, nodes)
    check_limits(nodes, tree, params, h)
    check_absent_values(data, tree, nodes)
    gains = check_gains(data, tree, nodes, g, h, params, allowed)
    check_order(tree, nodes, gains, g, h, params)
    return nodes


# ---- random problems -----------------------------------------------------------------------------------------------


def random_codes(rng, n_rows, n_features, most_bins=12):
    """Codes with ties, holes, categories and doubled columns."""
    columns, n_bins, categorical = [], [], []
    for feature in range(n_features):
        if feature and rng.integers(6) == 0:
            twin = int(rng.integers(feature))
            columns.append(columns[twin])
            n_bins.append(n_bins[twin])
            categorical.append(categorical[twin])
            continue
        n_bins.append(int(rng.integers(1, most_bins + 1)))
        categorical.append(bool(rng.integers(3) == 0))
        present = rng.integers(0, n_bins[-1], n_rows)
        holes = rng.random(n_rows) < rng.choice([0.0, 0.0, 0.2, 0.9])
        columns.append(np.where(holes, n_bins[-1], present))
    return Codes(columns, n_bins, categorical)


def random_statistics(rng, data):
    """Gradients in 64ths that follow the first features, and whole hessians: their sums are exact in float64."""
    signal = sum(np.sin(column * (f + 1)) for f, column in enumerate(data.columns[:3]))
    g = np.round(64 * (3 * signal + 2 * rng.normal(size=data.n_rows))) / 64
    h = np.ones(data.n_rows) if rng.integers(2) else rng.integers(1, 5, data.n_rows).astype(np.float64)
    return g, h


def random_problem(seed, n_rows, n_features, most_bins=12):
    rng = np.random.default_rng(seed)
    data = random_codes(rng, n_rows, n_features, most_bins)
    return data, *random_statistics(rng, data)


def large_problem(n_rows, n_features, seed=0):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 255, n_rows) for _ in range(n_features)]
    columns[1] = np.where(rng.random(n_rows) < 0.1, 255, columns[1])
    columns[2] = columns[2] % 40
    n_bins, categorical = [255] * n_features, [False] * n_features
    n_bins[2], categorical[2] = 40, True
    data = Codes(columns, n_bins, categorical)
    signal = np.sin(columns[0] / 20) + (columns[1] > 200) + np.cos(columns[2]) + columns[3] / 255
    return data, signal + rng.normal(size=n_rows), rng.random(n_rows) + 0.5


def grow_tree(data, g, h, params, rows=None, threads=1, seed=0):
    codes = data.to_kernel() if isinstance(data, Codes) else data
    grower = _kernel.Grower(codes, threads)
    return grower, grower.grow(g, h, rows, params.to_kernel(), seed)


def assert_same_tree(a, b):
    for name in NODE_ARRAYS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for part_a, part_b in zip(a.sets, b.sets, strict=True):
        np.testing.assert_array_equal(part_a, part_b)
