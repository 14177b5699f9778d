"""Trees of impurity by brute force, on codes: what a node is worth, which cut is best, what a grown tree must be.

A condition is the set of codes that go left; the code ``n_bins`` is a missing value. Weights and numbers of the random
problems are multiples of 1/64, so that their sums are exact in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from tests.reference.growing import Codes, numeric_conditions, random_codes

from arboretum import _kernel
from arboretum.growing.grower import SplitRules

CLASSES, NUMBERS = ("gini", "entropy"), ("squared_error", "poisson", "absolute_error")
NODE_ARRAYS = ("kind", "feature", "threshold", "left", "right", "missing_left", "gain", "risk", "weight", "n_rows")


@dataclass(frozen=True)
class Problem:
    """Codes with a target, (rows, outputs), and the weight of each row."""

    data: Codes
    criterion: str
    weight: np.ndarray
    classes: np.ndarray | None = None
    n_classes: tuple = ()
    numbers: np.ndarray | None = None

    @property
    def n_rows(self):
        return len(self.weight)

    @property
    def lanes(self):
        """Weight of each class of each output, or weight · number of each output, row by row."""
        if self.classes is None:
            return self.numbers * self.weight[:, None]
        one_hot = [np.eye(k)[codes] for k, codes in zip(self.n_classes, self.classes.T, strict=True)]
        return np.concatenate(one_hot, axis=1) * self.weight[:, None]

    @property
    def is_simple(self):
        """Two classes, or one number whose error is a sum: the best of all subsets of categories is found."""
        return self.n_classes == (2,) or (
            self.classes is None and self.numbers.shape[1] == 1 and self.criterion != "absolute_error"
        )

    def take(self, rows):
        """Give the problem of some of the rows, in this order."""
        classes, numbers = (None if a is None else a[rows] for a in (self.classes, self.numbers))
        return replace(self, data=self.data.take(rows), weight=self.weight[rows], classes=classes, numbers=numbers)


# ---- what a node is worth ------------------------------------------------------------------------------------------


def median(y, weight):
    """Smallest number with half of the weight at or below it; between two of equal halves, their middle."""
    order = np.argsort(y, kind="stable")
    below = np.cumsum(weight[order])
    i = int(np.searchsorted(below, below[-1] / 2))
    return (y[order][i] + y[order][i + 1]) / 2 if below[i] == below[-1] / 2 else y[order][i]


def x_log_x(x):
    return x * math.log(x) if x > 0 else 0.0


def output_risk(problem, rows, output):
    weight = problem.weight[rows]
    total = weight.sum()
    if problem.classes is not None:
        counts = np.bincount(problem.classes[rows, output], weight)
        if problem.criterion == "entropy":
            return x_log_x(total) - sum(map(x_log_x, counts))
        return total - sum(counts**2) / total
    y = problem.numbers[rows, output]
    if problem.criterion == "absolute_error":
        return (weight * abs(y - median(y, weight))).sum()
    mean = (weight * y).sum() / total
    if problem.criterion == "poisson":
        return sum(w * (v * math.log(v / mean) - v + mean if v > 0 else mean) for w, v in zip(weight, y, strict=True))
    return (weight * (y - mean) ** 2).sum()


def risk(problem, rows):
    """Weight · impurity, summed over outputs."""
    n_outputs = (problem.classes if problem.numbers is None else problem.numbers).shape[1]
    return float(sum(output_risk(problem, rows, output) for output in range(n_outputs)))


def value(problem, rows):
    """Values of a leaf: share of the second of two classes, of all classes, mean or median of each output."""
    weight = problem.weight[rows]
    if problem.criterion == "absolute_error":
        return np.array([median(y, weight) for y in problem.numbers[rows].T])
    means = problem.lanes[rows].sum(axis=0) / weight.sum()
    return means[1:] if problem.n_classes == (2,) else means


def is_pure(problem, rows):
    target = problem.classes if problem.numbers is None else problem.numbers
    return bool((target[rows] == target[rows[0]]).all())


# ---- cuts ----------------------------------------------------------------------------------------------------------


def mean_of(problem, rows):
    """Mean of a node as monotone constraints see it."""
    return lane_sum(problem, rows) / problem.weight[rows].sum()


def lane_sum(problem, rows):
    return problem.lanes[rows].sum(axis=0)[-1]


def category_conditions(problem, feature, rows):
    """Every subset where the kernel promises the best of them; else prefixes of an order by each lane."""
    codes = problem.data.columns[feature][rows]
    present = np.unique(codes).tolist()
    if problem.is_simple and len(present) <= 8 and problem.criterion != "poisson":
        first, *others = present  # a condition and its complement are one
        return [frozenset({first, *some}) for n in range(len(others)) for some in combinations(others, n)]
    lanes = problem.lanes[rows][:, -1:] if problem.is_simple else problem.lanes[rows]
    found = set()
    for lane in lanes.T[:8]:
        mean = {c: lane[codes == c].sum() / problem.weight[rows][codes == c].sum() for c in present}
        order = sorted(present, key=lambda c: (mean[c], c))
        found |= {frozenset(order[: i + 1]) for i in range(len(order) - 1)}
    return list(found)


def conditions(problem, feature, rows):
    present = set(problem.data.columns[feature][rows].tolist())
    if len(present) < 2:
        return []
    if problem.data.categorical[feature]:
        return category_conditions(problem, feature, rows)
    return numeric_conditions(present, problem.data.n_bins[feature])


@dataclass(frozen=True)
class Bounds:
    """Limits that monotone ancestors set to a node's value."""

    lower: float = -math.inf
    upper: float = math.inf


def child_bounds(problem, bounds, direction, left, right):
    if direction == 0:
        return bounds, bounds
    middle = (mean_of(problem, left) + mean_of(problem, right)) / 2
    low, high = replace(bounds, upper=middle), replace(bounds, lower=middle)
    return (low, high) if direction > 0 else (high, low)


def is_allowed(problem, rules, feature, bounds, left, right):
    if min(len(left), len(right)) < max(rules.min_samples_leaf, 1):
        return False
    if min(problem.weight[left].sum(), problem.weight[right].sum()) < rules.min_weight_leaf:
        return False
    if (
        problem.criterion == "poisson"
        and problem.is_simple
        and not (lane_sum(problem, left) and lane_sum(problem, right))
    ):
        return False
    if not rules.monotone:
        return True
    a, b = mean_of(problem, left), mean_of(problem, right)
    in_bounds = bounds.lower <= min(a, b) and max(a, b) <= bounds.upper
    return in_bounds and rules.monotone[feature] * (b - a) >= 0


def split_rows(problem, feature, rows, condition):
    goes_left = np.isin(problem.data.columns[feature][rows], list(condition))
    return rows[goes_left], rows[~goes_left]


def gain_of(problem, rows, left, right):
    return risk(problem, rows) - risk(problem, left) - risk(problem, right)


def gains(problem, rules, node, features=None):
    """Gain of every allowed cut of a node."""
    for feature in range(len(problem.data.columns)) if features is None else features:
        for condition in conditions(problem, feature, node.rows):
            left, right = split_rows(problem, feature, node.rows, condition)
            if is_allowed(problem, rules, feature, node.bounds, left, right):
                yield gain_of(problem, node.rows, left, right)


def may_split(problem, rules, node):
    return (
        (rules.max_depth <= 0 or node.depth < rules.max_depth)
        and len(node.rows) >= rules.min_samples_split
        and not is_pure(problem, node.rows)
    )


# ---- grown trees ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tree:
    """One tree of a grown forest."""

    kind: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    gain: np.ndarray
    risk: np.ndarray
    weight: np.ndarray
    n_rows: np.ndarray
    values: np.ndarray
    sets: list

    @property
    def n_nodes(self):
        return len(self.kind)

    def left_codes(self, node, n_bins):
        """Codes that go left at a node; codes are their own values."""
        if self.kind[node] == 1:
            chosen = {code for code in range(n_bins) if code <= self.threshold[node]}
        else:
            chosen = {code for code in range(n_bins) if int(self.sets[node][code // 32]) >> (code % 32) & 1}
        return frozenset(chosen | ({n_bins} if self.missing_left[node] else set()))


def trees_of(grown):
    """Give the trees of a grown forest one by one."""
    ends = np.cumsum(grown.sizes)
    joined = {**_kernel.join_trees(grown), "risk": grown.risk, "weight": grown.weight}
    start, words = joined["sets"]
    arrays = {name: joined[name] for name in NODE_ARRAYS}
    values = grown.values.reshape(-1, grown.width)
    for first, last in zip(ends - grown.sizes, ends, strict=True):
        yield Tree(
            **{name: array[first:last] for name, array in arrays.items()},
            values=values[first:last],
            sets=[words[start[i] : start[i + 1]] for i in range(first, last)],
        )


def assert_same_trees(a, b):
    for one, other in zip(a, b, strict=True):
        for name in (*NODE_ARRAYS, "values"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert [len(words) for words in one.sets] == [len(words) for words in other.sets]
        np.testing.assert_array_equal(np.concatenate(one.sets), np.concatenate(other.sets))


def exact_edges(data):
    """Every code is its own value."""
    start = np.concatenate([[0], np.cumsum(data.n_bins)])[:-1].astype(np.int64)
    values = np.concatenate([np.arange(n, dtype=np.float64) for n in data.n_bins])
    return _kernel.CodeEdges(start, values, values)


def grow(problem, rules=SplitRules(), *, n=1, seed=0, threads=1, bootstrap=None, codes=None, edges=None):  # noqa: B008
    """Grow trees by the kernel."""
    grower = _kernel.ForestGrower(
        problem.data.to_kernel() if codes is None else codes,
        getattr(_kernel.Criterion, problem.criterion),
        list(problem.n_classes),
        problem.classes,
        problem.numbers,
        None if (problem.weight == 1).all() else problem.weight,
        rules.to_kernel(),
        exact_edges(problem.data) if edges is None else edges,
        _kernel.Bootstrap() if bootstrap is None else bootstrap,
        threads,
    )
    return list(trees_of(grower.grow(0, n, seed, True)))


# ---- what must hold for every tree ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A node of a grown tree with what the twin knows of it."""

    id: int
    depth: int
    rows: np.ndarray
    bounds: Bounds = Bounds()


def walk(problem, rules, tree):
    """All nodes with the rows that reach them."""
    nodes = {0: Node(0, 0, np.arange(problem.n_rows))}
    for i in range(tree.n_nodes):
        if tree.kind[i] == 0:
            continue
        here, f = nodes[i], int(tree.feature[i])
        parts = split_rows(problem, f, here.rows, tree.left_codes(i, problem.data.n_bins[f]))
        direction = rules.monotone[f] if rules.monotone else 0
        bounds = child_bounds(problem, here.bounds, direction, *parts)
        for child, rows, limit in zip((tree.left[i], tree.right[i]), parts, bounds, strict=True):
            nodes[int(child)] = Node(int(child), here.depth + 1, rows, limit)
    return [nodes[i] for i in range(tree.n_nodes)]


def tolerance(problem):
    return 1e-9 * max(risk(problem, np.arange(problem.n_rows)), 1e-12)


def check_sums(problem, rules, tree, nodes):
    slack = tolerance(problem)
    for node in nodes:
        weight = problem.weight[node.rows]
        whole = (problem.weight == np.floor(problem.weight)).all()  # copies of rows
        assert tree.n_rows[node.id] == (weight.sum() if whole else len(weight)) > 0
        assert tree.weight[node.id] == pytest.approx(problem.weight[node.rows].sum(), rel=1e-12)
        assert tree.risk[node.id] == pytest.approx(risk(problem, node.rows), abs=slack)
        if not rules.monotone:
            np.testing.assert_allclose(tree.values[node.id], value(problem, node.rows), rtol=1e-12, atol=1e-13)
        if tree.kind[node.id] > 0:
            children = tree.risk[tree.left[node.id]] + tree.risk[tree.right[node.id]]
            assert tree.risk[node.id] == pytest.approx(children + tree.gain[node.id], abs=slack)
        else:
            assert tree.gain[node.id] == 0
            assert tree.feature[node.id] == tree.left[node.id] == tree.right[node.id] == -1


def check_places(problem, tree, nodes):
    """Preorder; thresholds in the middle between two values of the node; absent codes follow the larger child."""
    for node in nodes:
        if tree.kind[node.id] == 0:
            continue
        left, right, f = int(tree.left[node.id]), int(tree.right[node.id]), int(tree.feature[node.id])
        assert left == node.id + 1
        assert right > left
        n_bins = problem.data.n_bins[f]
        present = set(problem.data.columns[f][node.rows].tolist())
        chosen = tree.left_codes(node.id, n_bins)
        larger = np.sign(tree.weight[left] - tree.weight[right])
        if larger != np.sign(int(tree.n_rows[left]) - int(tree.n_rows[right])):
            larger = 0  # more rows, less weight
        absent = set(range(n_bins + 1) if problem.data.categorical[f] else [n_bins]) - present
        if larger:
            assert all((code in chosen) == (larger > 0) for code in absent)
        if tree.kind[node.id] == 1:
            check_threshold(tree, node, present - {n_bins})


def check_threshold(tree, node, values):
    below = [v for v in values if v <= tree.threshold[node.id]]
    above = [v for v in values if v > tree.threshold[node.id]]
    if above:
        assert tree.threshold[node.id] == (max(below) + min(above)) / 2
    else:
        assert tree.threshold[node.id] == math.inf


def check_cuts(problem, rules, tree, nodes):
    """Every inner node has the best cut, every leaf has none that it could take; gives the best of each."""
    slack, total = tolerance(problem), problem.weight.sum()
    least = rules.min_impurity_decrease * total if rules.min_impurity_decrease > 0 else -math.inf
    best = []
    for node in nodes:
        found = max(gains(problem, rules, node), default=-math.inf) if may_split(problem, rules, node) else -math.inf
        if tree.kind[node.id] > 0:
            # Categories of equal means may come in any order: the twin's need not be the best of them.
            assert tree.gain[node.id] >= max(found, least) - slack
            found = own_gain(problem, tree, node)
            assert tree.gain[node.id] == pytest.approx(found, abs=slack)
        elif not rules.max_leaf_nodes:
            assert found == -math.inf or found < least + slack
        best.append(found if found >= least else -math.inf)
    return best


def own_gain(problem, tree, node):
    """Gain of the cut that a node made."""
    f = int(tree.feature[node.id])
    chosen = tree.left_codes(node.id, problem.data.n_bins[f])
    return gain_of(problem, node.rows, *split_rows(problem, f, node.rows, chosen))


def check_best_first(problem, tree, best):
    """Replay growth: of the open nodes that can be split, the one of largest gain is."""
    slack, open_nodes = tolerance(problem), {0}
    while inner := [i for i in open_nodes if tree.kind[i] > 0]:
        node = max(inner, key=lambda i: best[i])
        assert best[node] >= max(best[i] for i in open_nodes) - slack
        open_nodes = (open_nodes - {node}) | {int(tree.left[node]), int(tree.right[node])}
    return len(open_nodes), any(best[i] > -math.inf for i in open_nodes)


def check_tree(problem, rules, tree):
    nodes = walk(problem, rules, tree)
    check_sums(problem, rules, tree, nodes)
    check_places(problem, tree, nodes)
    best = check_cuts(problem, rules, tree, nodes)
    if rules.max_leaf_nodes:
        n_leaves, more = check_best_first(problem, tree, best)
        assert n_leaves <= rules.max_leaf_nodes
        assert n_leaves == rules.max_leaf_nodes or not more
    return nodes


# ---- random problems -----------------------------------------------------------------------------------------------

TARGETS = {
    "two classes": ("gini", "entropy"),
    "three classes": ("gini", "entropy"),
    "outputs of classes": ("gini", "entropy"),
    "number": NUMBERS,
    "outputs of numbers": ("squared_error", "poisson"),
}
KINDS = [(kind, criterion) for kind, criteria in TARGETS.items() for criterion in criteria]


def random_target(rng, data, kind, criterion):
    """Targets that follow the first features."""
    signal = sum(np.sin(column * (f + 1.0)) for f, column in enumerate(data.columns[:3]))
    noisy = np.column_stack([signal + rng.normal(size=data.n_rows) for _ in range(2)])
    if criterion in CLASSES:
        n_classes = {"two classes": (2,), "three classes": (3,), "outputs of classes": (2, 3)}[kind]
        codes = [np.digitize(noisy[:, o], np.linspace(-1, 1, k + 1)[1:-1]) for o, k in enumerate(n_classes)]
        for o, k in enumerate(n_classes):  # every class occurs
            codes[o][:k] = np.arange(k)[: len(codes[o])]
        return {"classes": np.column_stack(codes).astype(np.int32), "n_classes": n_classes}
    numbers = np.round(64 * noisy[:, : 1 if kind == "number" else 2]) / 64
    if criterion == "poisson":
        numbers = np.round(np.exp(numbers))
        numbers[0] = 1.0
    return {"numbers": np.ascontiguousarray(numbers)}


def random_weight(rng, n_rows, weights):
    if weights == "equal":
        return np.ones(n_rows)
    if weights == "whole":
        return rng.integers(1, 5, n_rows).astype(np.float64)
    return rng.integers(1, 65, n_rows) / 64


def random_problem(seed, n_rows, n_features, kind, criterion, weights="equal", *, categories=True, most_bins=7):
    rng = np.random.default_rng(seed)
    data = random_codes(rng, n_rows, n_features, most_bins)
    if not categories:
        data = replace(data, categorical=[False] * n_features)
    target = random_target(rng, data, kind, criterion)
    return Problem(data, criterion, random_weight(rng, n_rows, weights), **target)
