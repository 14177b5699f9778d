"""Laws of pruning: weakest links against scikit-learn and the textbook, plain recursion; pruned trees predict."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.datasets import make_classification, make_regression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.reference import prediction as slow

from arboretum.data.table import read_table
from arboretum.model.forest import LEAF
from arboretum.trees import (
    cost_complexity,
    grow_c45,
    grow_id3,
    parents,
    pessimistic,
    prune_forest,
    prune_multiway,
    prune_to_alpha,
    reduced_error,
    subtree_sums,
    upper_error_rate,
    validation_errors,
)

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ["numeric", "category", "numeric"]


def random_parents(rng, n_splits):
    """Two to four children a split, in any order in which parents come first."""
    parent, tips = [-1], [0]
    for _ in range(n_splits):
        node = tips.pop(int(rng.integers(len(tips))))
        for _ in range(int(rng.integers(2, 5))):
            tips.append(len(parent))
            parent.append(node)
    return np.array(parent)


def children_of(parent):
    return [np.flatnonzero(parent == node).tolist() for node in range(len(parent))]


def random_risks(rng, parent, whole):
    """Give each node the risk of its children and a little more: whole numbers, so that there are ties, or not."""
    amounts = rng.integers(0, 4, len(parent)).astype(float) if whole else rng.random(len(parent))
    return subtree_sums(parent, amounts)


def sklearn_parents(tree):
    parent = np.full(tree.node_count, -1)
    inner = np.flatnonzero(tree.children_left >= 0)
    parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
    return parent, tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]


# --------------------------------------------------------------------------------------- cost-complexity


@pytest.mark.parametrize("depth", [None, 6])
def test_the_path_of_scikit_learn_on_a_regression(depth):
    X, y = make_regression(200, 5, noise=20, random_state=0)
    model = DecisionTreeRegressor(random_state=0, max_depth=depth).fit(X, y)
    theirs = model.cost_complexity_pruning_path(X, y)
    path = cost_complexity(*sklearn_parents(model.tree_))
    assert len(path) == len(theirs.ccp_alphas) > 20
    np.testing.assert_allclose(path.alphas, theirs.ccp_alphas, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(path.risks, theirs.impurities, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_subtrees_of_scikit_learn_on_classes(criterion):
    """Counts make ties, which scikit-learn breaks by rounding errors: compare between the alphas."""
    X, y = make_classification(300, 6, n_informative=3, n_classes=3, flip_y=0.2, random_state=0)
    model = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
    parent, risk = sklearn_parents(model.tree_)
    path = cost_complexity(parent, risk)
    theirs = model.cost_complexity_pruning_path(X, y)
    levels = np.unique(theirs.ccp_alphas.round(10))
    for alpha in (levels[1:] + levels[:-1]) / 2:
        step = int(np.searchsorted(theirs.ccp_alphas, alpha)) - 1
        ours = int(np.searchsorted(path.alphas, alpha)) - 1
        assert path.risks[ours] == pytest.approx(theirs.impurities[step], abs=1e-12)
    alpha = float(levels[len(levels) // 2] + levels[len(levels) // 2 + 1]) / 2
    pruned = DecisionTreeClassifier(criterion=criterion, random_state=0, ccp_alpha=alpha).fit(X, y)
    mask = prune_to_alpha(parent, risk, alpha)
    assert leaves_left(parent, mask) == pruned.get_n_leaves()


def leaves_left(parent, mask):
    children = children_of(parent)

    def count(node):
        return 1 if mask[node] or not children[node] else sum(map(count, children[node]))

    return count(0)


def risk_left(parent, risk, mask):
    children = children_of(parent)

    def total(node):
        return risk[node] if mask[node] or not children[node] else sum(map(total, children[node]))

    return total(0)


def textbook_path(parent, risk):
    """Cut the weakest link, the topmost of equals, until the root is a leaf."""
    children, mask, steps = children_of(parent), np.zeros(len(parent), bool), []

    def below(node):
        if mask[node] or not children[node]:
            return risk[node], 1
        parts = [below(child) for child in children[node]]
        return sum(r for r, _ in parts), sum(n for _, n in parts)

    def strengths(node):
        if mask[node] or not children[node]:
            return
        r, n = below(node)
        yield max((risk[node] - r) / (n - 1), 0.0), node
        for child in children[node]:
            yield from strengths(child)

    while links := list(strengths(0)):
        alpha = min(g for g, _ in links)
        node = next(node for g, node in links if g <= alpha + 1e-12)
        mask[node] = True
        steps.append((alpha, below(0)[0]))
    return steps


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(0, 15), st.booleans())
def test_the_path_of_the_textbook(seed, n_splits, whole):
    rng = np.random.default_rng(seed)
    parent = random_parents(rng, n_splits)
    risk = random_risks(rng, parent, whole)
    path = cost_complexity(parent, risk)
    expected = textbook_path(parent, risk)
    merged = {round(alpha, 9): left for alpha, left in [(0.0, path.risks[0]), *expected]}  # the last of equal alphas
    ours = {round(float(alpha), 9): left for alpha, left in zip(path.alphas, path.risks, strict=True)}
    assert list(ours) == pytest.approx(list(merged), abs=2e-9)
    np.testing.assert_allclose(list(ours.values()), list(merged.values()), atol=1e-9)
    if not whole:
        assert len(path) == len(expected) + 1


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(0, 12), st.booleans())
def test_every_subtree_of_the_path_is_the_best(seed, n_splits, whole):
    rng = np.random.default_rng(seed)
    parent = random_parents(rng, n_splits)
    risk = random_risks(rng, parent, whole)
    children = children_of(parent)

    def least(node, alpha):
        own = risk[node] + alpha
        return own if not children[node] else min(own, sum(least(child, alpha) for child in children[node]))

    path = cost_complexity(parent, risk)
    for (alpha, mask), left in zip(path, path.risks, strict=True):
        assert risk_left(parent, risk, mask) == pytest.approx(left)
        assert left + alpha * leaves_left(parent, mask) == pytest.approx(least(0, alpha), abs=1e-9)
    for alpha in (0.0, 0.3, 1.0, 2.5, math.inf):
        mask = prune_to_alpha(parent, risk, alpha)
        if alpha < math.inf:
            cost = risk_left(parent, risk, mask) + alpha * leaves_left(parent, mask)
            assert cost == pytest.approx(least(0, alpha), abs=1e-9)
        assert not (mask & [not c for c in children]).any()
        assert not any(mask[parent[node]] for node in np.flatnonzero(mask) if node)
    assert leaves_left(parent, path[-1][1]) == 1


def test_a_subtree_that_is_worse_than_its_root_goes_at_once():
    path = cost_complexity([-1, 0, 0], [1.0, 2.0, 2.0])
    assert path.alphas.tolist() == [0.0, 0.0]
    assert path.risks.tolist() == [4.0, 1.0]


@pytest.mark.parametrize("shape", ["balanced", "chain"])
def test_large_trees_are_pruned_quickly(shape):
    n = 100_001
    step = np.arange(n // 2) if shape == "balanced" else np.arange(0, n - 1, 2)
    parent = np.append(-1, np.repeat(step, 2))
    risk = subtree_sums(parent, np.random.default_rng(0).random(n))
    start = time.perf_counter()
    path = cost_complexity(parent, risk)
    path.mask_at(float(path.alphas[len(path) // 2]))
    reduced_error(parent, risk)
    pessimistic(parent, np.zeros(n), risk)
    assert time.perf_counter() - start < 20  # about 1 s; a quadratic loop takes minutes


# --------------------------------------------------------------------------- reduced error and pessimistic


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(0, 12))
def test_reduced_error_equals_plain_recursion(seed, n_splits):
    rng = np.random.default_rng(seed)
    parent = random_parents(rng, n_splits)
    errors, stopped = rng.integers(0, 6, len(parent)), rng.integers(0, 2, len(parent))
    children = children_of(parent)
    expected = np.zeros(len(parent), bool)

    def visit(node):
        """Errors of the pruned subtree; marks may lie below others."""
        if not children[node]:
            return errors[node]
        subtree = stopped[node] + sum(visit(child) for child in children[node])
        expected[node] = errors[node] <= subtree
        return min(errors[node], subtree)

    visit(0)
    for node in range(len(parent)):
        up = parent[node]
        while up >= 0 and expected[node]:
            expected[node] &= not expected[up]
            up = parent[up]
    np.testing.assert_array_equal(reduced_error(parent, errors, stopped), expected)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_reduced_error_is_the_best_on_the_validation_rows(seed):
    """Rows with categories unseen at a node, and without: no other pruning of the tree makes fewer errors."""
    rng = np.random.default_rng(seed)
    table = read_table(rng.choice(list("abcd"), (40, 3)), categorical_features=None)
    y = rng.integers(0, 2, 40)
    tree = grow_id3(table.take(np.arange(20)), y[:20], n_classes=2, max_depth=2)
    held = table.take(np.arange(20, 40))

    def errors(pruned):
        return int((pruned.predict(held.columns, 20).argmax(axis=1) != y[20:]).sum())

    leaf_errors, stopped = validation_errors(tree, held.columns, y[20:])
    found = errors(prune_multiway(tree, reduced_error(tree.parent, leaf_errors, stopped)))
    inner = np.flatnonzero(tree.kind != LEAF)
    for chosen in itertools.product([False, True], repeat=len(inner)):
        mask = np.zeros(tree.n_nodes, bool)
        mask[inner] = chosen
        assert found <= errors(prune_multiway(tree, mask))
    assert found <= leaf_errors[0]


def test_validation_errors_of_weights_and_missing_values():
    table = read_table([[1.0], [2.0], [3.0], [4.0]])
    tree = grow_c45(table, [0, 0, 1, 1])
    leaf, stopped = validation_errors(tree, [np.array([1.0, 4.0, np.nan])], [1, 1, 1], [2.0, 1.0, 4.0])
    assert leaf.tolist() == [7.0, 4.0, 0.0]
    assert stopped.tolist() == [0.0, 0.0, 0.0]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.integers(0, 200), st.floats(0.01, 0.99))
def test_the_upper_limit_is_that_of_the_binomial(n, wrong, confidence):
    wrong = min(wrong, n)
    rate = float(upper_error_rate(wrong, n, confidence))
    if wrong == n:
        assert rate == 1.0
    else:
        assert binom.cdf(wrong, n, rate) == pytest.approx(confidence, rel=1e-6)


def test_quinlans_example():
    """Quinlan 1993, ch. 4: 6 × 0.206 + 9 × 0.143 + 1 × 0.750 = 3.273 > 16 × 0.157; ours is 16 × 0.160."""
    rates = upper_error_rate([0, 0, 0, 1], [6, 9, 1, 16])
    np.testing.assert_allclose(rates, [0.206, 0.143, 0.750, 0.160], atol=5e-4)
    assert rates[:3] @ [6, 9, 1] == pytest.approx(3.273, abs=5e-3)
    # Under a root with a sibling of 120 pure cases of another class, the subtree goes and the root stays.
    parent, weight, errors = [-1, 0, 0, 1, 1, 1], [136, 16, 120, 6, 9, 1], [16, 1, 0, 0, 0, 0]
    assert pessimistic(parent, errors, weight).tolist() == [False, True, False, False, False, False]


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(0, 12))
def test_pessimistic_minimises_the_expected_errors(seed, n_splits):
    rng = np.random.default_rng(seed)
    parent = random_parents(rng, n_splits)
    children = children_of(parent)
    is_leaf = np.array([not c for c in children])
    weight = subtree_sums(parent, np.where(is_leaf, rng.random(len(parent)) * 9 + 0.01, 0.0))
    errors = weight * rng.random(len(parent)) * 0.5
    expected = weight * upper_error_rate(errors, weight, 0.25)

    def least(node):
        return expected[node] if is_leaf[node] else min(expected[node], sum(map(least, children[node])))

    mask = pessimistic(parent, errors, weight)
    assert risk_left(parent, expected, mask) == pytest.approx(least(0))


# ------------------------------------------------------------------------------------- the trees themselves


def random_forest(rng, n_trees=4, vector_leaves=False):
    trees = [
        slow.random_tree(rng, int(rng.integers(1, 9)), lambda: slow.random_condition(rng, KINDS))
        for _ in range(n_trees)
    ]
    return slow.to_forest(rng, trees, 2, vector_leaves)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.booleans())
def test_a_pruned_forest_answers_by_the_marked_nodes(seed, vector_leaves):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, vector_leaves=vector_leaves)
    mask = rng.random(forest.n_nodes) < 0.3
    pruned = prune_forest(forest, mask)
    pruned.validate(3)
    columns = slow.random_columns(rng, KINDS, 25)
    reached = forest.apply(columns, 25, unknown="missing")
    expected = np.tile(forest.base, (25, 1))
    for t in range(forest.n_trees):
        start, up = int(forest.tree_start[t]), parents(forest, t)
        for r in range(25):
            path = [int(reached[r, t])]
            while up[path[-1]] >= 0:
                path.append(int(up[path[-1]]))
            end = next(node for node in reversed(path) if node == path[0] or mask[start + node])
            output = slice(None) if vector_leaves else forest.tree_output[t]
            expected[r, output] += forest.value[start + end] if vector_leaves else forest.value[start + end, 0]
    np.testing.assert_allclose(pruned.raw(columns, 25, unknown="missing"), expected, rtol=1e-12, atol=1e-12)


def test_nothing_or_everything_is_pruned():
    forest = random_forest(np.random.default_rng(3))
    same = prune_forest(forest, forest.kind == LEAF)
    for name, array in forest.to_arrays().items():
        np.testing.assert_array_equal(getattr(same, name), array, err_msg=name, strict=True)
    stumps = prune_forest(forest, np.ones(forest.n_nodes, bool))
    assert stumps.n_nodes == stumps.n_trees == 4
    np.testing.assert_array_equal(stumps.value, forest.value[forest.tree_start[:-1]])
    none = forest[:0]
    assert prune_forest(none, np.zeros(0, bool)).n_trees == 0


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_a_pruned_multiway_tree_stops_at_the_marked_nodes(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (60, 4)).astype(float)
    table, y = read_table(X, categorical_features=[0, 1]), rng.integers(0, 3, 60)
    tree = grow_c45(table, y, n_classes=3, min_samples_leaf=1, threshold_penalty=False, confidence=None)
    mask = rng.random(tree.n_nodes) < 0.2
    pruned = prune_multiway(tree, mask)
    pruned.validate([4, 4, -1, -1])
    found = pruned.counts[pruned.apply(table.columns, 60)]
    for r, node in enumerate(tree.apply(table.columns, 60).tolist()):
        path = [node]
        while path[-1]:
            path.append(int(tree.parent[path[-1]]))
        end = next(n for n in reversed(path) if n == node or mask[n])
        np.testing.assert_array_equal(found[r], tree.counts[end])


# ------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cost_complexity([], []), "parent must be a list of node numbers"),
        (lambda: cost_complexity([-1.0], [0.0]), "parent must be a list of node numbers"),
        (lambda: cost_complexity([0, 0, 0], [1, 1, 1]), r"parent\[0\] is 0; node 0 is the root"),
        (lambda: cost_complexity([-1, 2, 0], [1, 1, 1]), r"parent\[1\] is 2; a parent comes before its children"),
        (lambda: cost_complexity([-1, -1, 0], [1, 1, 1]), r"parent\[1\] is -1; a parent comes before"),
        (lambda: cost_complexity([-1, 0], [1, 1]), "node 0 has a single child; a split has at least two"),
        (lambda: cost_complexity([-1, 0, 0], [1, 1]), r"risk must have a number for each of the 3 nodes"),
        (lambda: cost_complexity([-1, 0, 0], [1, math.nan, 1]), r"risk\[1\] is nan; it must be finite"),
        (lambda: prune_to_alpha([-1], [1.0], -0.1), "ccp_alpha must not be negative, but is -0.1"),
        (lambda: prune_to_alpha([-1], [1.0], math.nan), "ccp_alpha must not be negative, but is nan"),
        (lambda: reduced_error([-1, 0, 0], [1, 1]), "leaf_errors must have a number for each"),
        (lambda: reduced_error([-1], [1], [math.inf]), r"stopped_errors\[0\] is inf"),
        (lambda: pessimistic([-1], [2], [1]), "errors must be between 0 and the weight of the node"),
        (lambda: pessimistic([-1], [0], [1], 1.0), "confidence must be between 0 and 1, not 1.0"),
        (lambda: prune_forest(random_forest(np.random.default_rng(0)), [True]), "mask must have a boolean for each"),
        (lambda: prune_forest(random_forest(np.random.default_rng(0))[:0], np.zeros(0)), "mask must have a boolean"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
