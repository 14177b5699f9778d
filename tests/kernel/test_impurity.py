"""Trees of impurity against brute force: every cut is a best one, every rule is kept, every path grows the same."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import impurity as slow
from tests.reference.growing import Codes

from arboretum import _kernel
from arboretum.growing.grower import SplitRules
from arboretum.model.forest import CATEGORY, LISTED

SEEDS = st.integers(0, 2**32 - 1)
WEIGHTS = st.sampled_from(["equal", "whole", "parts"])
KINDS = st.sampled_from(slow.KINDS)
FREE = SplitRules()
law = settings(max_examples=60, deadline=None)

rules_of_trees = st.builds(
    SplitRules,
    max_depth=st.sampled_from([0, 0, 1, 2, 4]),
    max_leaf_nodes=st.sampled_from([0, 0, 2, 3, 5, 9]),
    min_samples_split=st.sampled_from([2, 2, 7, 20]),
    min_samples_leaf=st.sampled_from([1, 1, 2, 5]),
    min_weight_leaf=st.sampled_from([0.0, 0.0, 3.0]),
    min_impurity_decrease=st.sampled_from([0.0, 0.0, 0.01, 0.05]),
)


# ---- best cuts -----------------------------------------------------------------------------------------------------


@law
@given(SEEDS, KINDS, WEIGHTS, st.sampled_from([2, 5, 20, 50]), st.integers(1, 4))
def test_trees_are_those_of_brute_force(seed, kind, weights, n_rows, n_features):
    problem = slow.random_problem(seed, max(n_rows, 3 if "classes" in kind[0] else 2), n_features, *kind, weights)
    (tree,) = slow.grow(problem)
    slow.check_tree(problem, FREE, tree)


@settings(max_examples=80, deadline=None)
@given(SEEDS, KINDS, WEIGHTS, rules_of_trees)
def test_rules_are_kept(seed, kind, weights, rules):
    """Numeric features: a rule may forbid the cut whose order makes the best subset a prefix."""
    problem = slow.random_problem(seed, 45, 3, *kind, weights, categories=False)
    (tree,) = slow.grow(problem, rules)
    slow.check_tree(problem, rules, tree)


@law
@given(SEEDS, st.sampled_from(["gini", "entropy", "squared_error", "poisson"]), WEIGHTS)
def test_categories_split_into_the_best_of_all_subsets(seed, criterion, weights):
    """Two classes and numbers: sorted by mean, the best subset is a prefix (Fisher 1958): try all of 2^7 against it."""
    rng = np.random.default_rng(seed)
    data = Codes([rng.integers(0, 8, 80)], [7], [True])  # 7: missing, a category like any other
    kind = "two classes" if criterion in slow.CLASSES else "number"
    problem = slow.Problem(
        data, criterion, slow.random_weight(rng, 80, weights), **slow.random_target(rng, data, kind, criterion)
    )
    if criterion == "poisson":
        problem = replace(problem, numbers=problem.numbers + 1.0)
    rows = np.arange(80)
    found = []
    for n in range(1, 5):
        for left in combinations(np.unique(data.columns[0]).tolist(), n):
            parts = slow.split_rows(problem, 0, rows, left)
            if min(map(len, parts)) > 0:
                found.append(slow.gain_of(problem, rows, *parts))
    (tree,) = slow.grow(problem, SplitRules(max_depth=1))
    assert tree.gain[0] == pytest.approx(max(found), rel=1e-9)


@given(SEEDS)
def test_pure_sides_of_rounded_weights_have_no_entropy(seed):
    """W − l and S − s of a side that holds one class only differ by rounding, either way; x·ln x must bear that."""
    rng = np.random.default_rng(seed)
    codes, last = rng.integers(0, 40, 200), int(rng.integers(1, 38))
    data = Codes([codes], [40], [False])
    classes = ((codes > last) | (rng.random(200) < 0.3))[:, None].astype(np.int32)
    problem = slow.Problem(data, "entropy", rng.random(200) + 1e-3, classes=classes, n_classes=(2,))
    (tree,) = slow.grow(problem, SplitRules(max_depth=1))
    slow.check_tree(problem, SplitRules(max_depth=1), tree)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("weight", [1.0, 0.7, 0.1, 0.3, math.pi, 1e-20, 1e20])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_cut_that_gains_nothing_is_taken(criterion, weight, n_classes):
    """The next one gains: exclusive or, in any unit of weight."""
    a, b = np.tile([0, 0, 1, 1], 25), np.tile([0, 1, 0, 1], 25)
    data = Codes([a, b], [2, 2], [False, False])
    classes = (a ^ b)[:, None].astype(np.int32)
    problem = slow.Problem(data, criterion, np.full(100, weight), classes=classes, n_classes=(n_classes,))
    (tree,) = slow.grow(problem)
    assert tree.n_nodes == 7
    assert tree.risk[tree.kind == 0].max() <= 1e-12 * weight


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "absolute_error"])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("unit", [1.0, 0.1, math.pi, 1e-9, 1e9])
def test_a_cut_of_numbers_that_gains_nothing_is_taken(criterion, n_outputs, unit):
    if criterion == "absolute_error" and n_outputs == 2:
        return
    a, b = np.tile([0, 0, 1, 1], 25), np.tile([0, 1, 0, 1], 25)
    y = np.repeat((a ^ b)[:, None] * unit + unit, n_outputs, axis=1)
    problem = slow.Problem(Codes([a, b], [2, 2], [False, False]), criterion, np.ones(100), numbers=y)
    assert slow.grow(problem)[0].n_nodes == 7


@pytest.mark.parametrize("kind", slow.KINDS)
@pytest.mark.parametrize("factor", [0.5, 2.0**-70, 2.0**70])
def test_the_unit_of_weights_does_not_matter(kind, factor):
    problem = slow.random_problem(3, 60, 3, *kind, "parts")
    (tree,) = slow.grow(problem)
    (scaled,) = slow.grow(replace(problem, weight=problem.weight * factor))
    for name in ("kind", "feature", "threshold", "left", "missing_left", "n_rows", "values"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(scaled, name), err_msg=name)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("shift", [2.0**20, -(2.0**30)])
def test_the_origin_of_numbers_does_not_matter(criterion, shift):
    problem = slow.random_problem(4, 80, 3, "number", criterion)
    (tree,) = slow.grow(problem)
    (shifted,) = slow.grow(replace(problem, numbers=problem.numbers + shift))
    for name in ("kind", "feature", "threshold", "left", "n_rows"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(shifted, name), err_msg=name)
    np.testing.assert_array_equal(shifted.values, tree.values + shift)


def test_a_light_category_does_not_blind_the_search():
    """Its weight may vanish beside the heavy ones; theirs must be told apart all the same."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 200, 3000)
    weight = np.where(codes % 5 < 2, 1e-30, 1e30)
    data = Codes([codes], [200], [True])
    problem = slow.Problem(data, "gini", weight, classes=(codes % 2)[:, None].astype(np.int32), n_classes=(2,))
    (tree,) = slow.grow(problem, SplitRules(max_depth=1))
    assert tree.gain[0] == pytest.approx(slow.risk(problem, np.arange(3000)), rel=1e-9)


# ---- every path gives the same tree --------------------------------------------------------------------------------


def same_but_for_codes(a, b, factor=1):
    """Trees of codes and of stretched codes: thresholds stretch with them, sets are compared by what reaches them."""
    for one, other in zip(a, b, strict=True):
        for name in ("feature", "left", "right", "missing_left", "gain", "risk", "weight", "n_rows", "values"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        kinds = [np.where(tree.kind == LISTED, CATEGORY, tree.kind) for tree in (one, other)]
        np.testing.assert_array_equal(*kinds)
        np.testing.assert_array_equal(one.threshold * factor, other.threshold)


@pytest.mark.parametrize("kind", slow.KINDS)
@pytest.mark.parametrize("weights", ["equal", "parts"])
@pytest.mark.parametrize("random", [False, True])
def test_columns_that_say_nothing_change_nothing(kind, weights, random):
    """32 and 64 codes a row, more of them, and codes of two bytes: four ways to keep the rows of a node."""
    problem = slow.random_problem(5, 300, 3, *kind, weights)
    rules = SplitRules(random_thresholds=random)
    expected = slow.grow(problem, rules, n=2, seed=1)
    assert max(tree.n_nodes for tree in expected) > 20
    zeros = np.zeros(300, int)
    for more, n_bins in ((30, 1), (61, 1), (80, 1), (1, 5000), (70, 5000)):
        wide = problem.data
        for _ in range(more):
            wide = wide.with_feature(zeros, n_bins, False)
        slow.assert_same_trees(expected, slow.grow(replace(problem, data=wide), rules, n=2, seed=1))


@pytest.mark.parametrize("kind", slow.KINDS)
@pytest.mark.parametrize("n_rows", [40, 700])
@pytest.mark.parametrize("factor", [50, 9000])
@pytest.mark.parametrize("max_features", [0, 2])
def test_codes_far_apart_are_searched_as_near_ones(kind, n_rows, factor, max_features):
    """Few rows in many bins are sorted, once for a branch that looks at all features; few bins are summed."""
    rules = SplitRules(max_features=max_features)
    problem = slow.random_problem(6, n_rows, 3, *kind, categories=False)
    data = problem.data
    bins = [n * factor for n in data.n_bins]
    columns = [np.where(c == n, n * factor, c * factor) for c, n in zip(data.columns, data.n_bins, strict=True)]
    far = replace(problem, data=Codes(columns, bins, data.categorical))
    same_but_for_codes(slow.grow(problem, rules), slow.grow(far, rules), factor)


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_categories_far_apart_are_searched_as_near_ones(criterion):
    kind = "three classes" if criterion == "gini" else "number"
    problem = slow.random_problem(7, 300, 2, kind, criterion)
    data = replace(problem.data, categorical=[True, True])
    far = Codes(
        [np.where(c == n, 3000, c * 400) for c, n in zip(data.columns, data.n_bins, strict=True)],
        [3000] * 2,
        [True] * 2,
    )
    near, stretched = slow.grow(replace(problem, data=data)), slow.grow(replace(problem, data=far))
    same_but_for_codes(near, stretched)


@pytest.mark.parametrize("kind", [("two classes", "gini"), ("three classes", "entropy"), ("number", "squared_error")])
@pytest.mark.parametrize("weights", ["equal", "parts"])
@pytest.mark.parametrize("random", [False, True])
def test_order_of_growth_and_threads_do_not_change_a_large_tree(kind, weights, random):
    """Best-first keeps no branch apart; several threads share features of large nodes, then branches."""
    problem = slow.random_problem(8, 12_000, 5, *kind, weights, most_bins=60)
    codes = problem.data.to_kernel()
    rules = SplitRules(random_thresholds=random, max_features=3)
    expected = slow.grow(problem, rules, codes=codes)
    for threads in (2, 3):
        slow.assert_same_trees(expected, slow.grow(problem, rules, codes=codes, threads=threads))
    (best_first,) = slow.grow(problem, replace(rules, max_leaf_nodes=10**6), codes=codes)
    slow.assert_same_trees(expected, [best_first])


@pytest.mark.parametrize("kind", [("two classes", "gini"), ("three classes", "entropy"), ("number", "squared_error")])
@pytest.mark.parametrize("weights", ["equal", "parts"])
def test_branches_that_list_their_rows_grow_the_tree_of_nodes_that_sort_them(kind, weights):
    """Best-first keeps no branch apart, so that each node sorts by itself."""
    problem = slow.random_problem(10, 3000, 4, *kind, weights, most_bins=2000)
    codes = problem.data.to_kernel()
    (expected,) = slow.grow(problem, SplitRules(max_leaf_nodes=10**6), codes=codes)
    for threads in (1, 2):
        slow.assert_same_trees([expected], slow.grow(problem, codes=codes, threads=threads))


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("holes", [False, True])
def test_threads_do_not_change_which_of_equal_cuts_is_taken(categorical, holes):
    """Random cuts of plain numbers are tried together, others one by one: the first column still wins."""
    rng = np.random.default_rng(9)
    x = rng.integers(0, 2, 70_000)
    copy = np.where((x == 1) & (rng.random(70_000) < 0.3), 2, x) if holes else x
    data = Codes([x, copy], [2, 2], [False, categorical])
    y = (x ^ (rng.random(70_000) < 0.2)).astype(np.int32)[:, None]
    problem = slow.Problem(data, "gini", np.ones(70_000), classes=y, n_classes=(2,))
    codes, rules = data.to_kernel(), SplitRules(random_thresholds=True, max_depth=2)
    for seed in range(6):
        expected = slow.grow(problem, rules, codes=codes, seed=seed)
        slow.assert_same_trees(expected, slow.grow(problem, rules, codes=codes, seed=seed, threads=2))


@law
@given(SEEDS, KINDS, WEIGHTS, st.booleans())
def test_the_order_of_rows_does_not_matter(seed, kind, weights, random):
    """Where sums are exact, to the bit."""
    problem = slow.random_problem(seed, 120, 4, *kind, weights)
    order = np.random.default_rng(seed).permutation(120)
    rules = SplitRules(random_thresholds=random, max_features=2)
    (tree,), (permuted,) = slow.grow(problem, rules), slow.grow(problem.take(order), rules)
    for name in ("kind", "feature", "threshold", "left", "right", "missing_left", "n_rows"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(permuted, name), err_msg=name)
    for name in ("gain", "risk", "values"):
        np.testing.assert_allclose(getattr(tree, name), getattr(permuted, name), rtol=1e-9, atol=1e-9)


@law
@given(SEEDS, KINDS, st.booleans())
def test_whole_weights_are_repetitions(seed, kind, random):
    problem = slow.random_problem(seed, 60, 3, *kind, "whole")
    rows = np.repeat(np.arange(60), problem.weight.astype(int))
    repeated = replace(problem.take(rows), weight=np.ones(len(rows)))
    rules = SplitRules(random_thresholds=random, max_depth=6)
    (tree,), (other,) = slow.grow(problem, rules), slow.grow(repeated, rules)
    for name in ("kind", "feature", "threshold", "left", "right"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)
    np.testing.assert_allclose(tree.values, other.values, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(tree.weight, other.weight, rtol=1e-12)
    np.testing.assert_allclose(tree.risk, other.risk, rtol=1e-9, atol=slow.tolerance(problem))


def test_rows_of_no_weight_take_no_part():
    problem = slow.random_problem(10, 100, 3, "number", "squared_error", "parts")
    weight = np.where(np.arange(100) % 3 == 0, 0.0, problem.weight)
    kept = np.flatnonzero(weight)
    slow.assert_same_trees(slow.grow(replace(problem, weight=weight)), slow.grow(problem.take(kept)))


def test_trees_of_a_forest_do_not_depend_on_how_many_are_grown():
    problem = slow.random_problem(11, 200, 6, "two classes", "gini")
    rules = SplitRules(max_features=2, random_thresholds=True)
    whole = slow.grow(problem, rules, n=7, seed=4, threads=3)
    slow.assert_same_trees(whole[:3], slow.grow(problem, rules, n=3, seed=4))
    assert len({tree.gain.tobytes() for tree in whole}) == 7


# ---- monotone ------------------------------------------------------------------------------------------------------


def predictions(tree, n_features, n_bins):
    """Prediction at every combination of codes, as an array of n_features dimensions."""
    grid = np.stack(np.meshgrid(*[np.arange(n_bins)] * n_features, indexing="ij"), axis=-1).reshape(-1, n_features)
    out = np.empty(len(grid))
    for i, row in enumerate(grid):
        node = 0
        while tree.kind[node]:
            node = (tree.left if row[tree.feature[node]] <= tree.threshold[node] else tree.right)[node]
        out[i] = tree.values[node, 0]
    return out.reshape([n_bins] * n_features)


@settings(max_examples=40, deadline=None)
@given(
    SEEDS,
    st.sampled_from(slow.NUMBERS + slow.CLASSES),
    WEIGHTS,
    st.tuples(*[st.sampled_from([-1, 0, 1])] * 3),
    st.booleans(),
)
def test_monotone_trees_are_monotone_and_of_best_cuts(seed, criterion, weights, monotone, random):
    rng = np.random.default_rng(seed)
    data = Codes([rng.integers(0, 6, 90) for _ in range(3)], [6] * 3, [False] * 3)
    kind = "two classes" if criterion in slow.CLASSES else "number"
    weight, target = slow.random_weight(rng, 90, weights), slow.random_target(rng, data, kind, criterion)
    problem = slow.Problem(data, criterion, weight, **target)
    rules = SplitRules(monotone=monotone, random_thresholds=random, max_leaf_nodes=int(rng.choice([0, 6])))
    (tree,) = slow.grow(problem, rules, seed=seed)
    found = predictions(tree, 3, 6)
    for axis, direction in enumerate(monotone):
        assert np.all(direction * np.diff(found, axis=axis) >= 0)
    if not random:
        slow.check_tree(problem, rules, tree)


# ---- random thresholds ---------------------------------------------------------------------------------------------


@law
@given(SEEDS, KINDS, WEIGHTS, st.integers(1, 4))
def test_random_cuts_split_until_leaves_are_pure(seed, kind, weights, n_features):
    problem = slow.random_problem(seed, 40, n_features, *kind, weights)
    rules = SplitRules(random_thresholds=True, max_features=1)
    (tree,) = slow.grow(problem, rules, seed=seed)
    nodes = slow.walk(problem, rules, tree)
    slow.check_sums(problem, rules, tree, nodes)
    for node in nodes:
        if tree.kind[node.id] == 0:
            draw_may_be_refused = problem.criterion == "poisson"  # all zeros on one side
            cuts = [] if draw_may_be_refused else list(slow.gains(problem, rules, node))
            assert slow.is_pure(problem, node.rows) or not cuts
        elif tree.kind[node.id] == 1:
            f = int(tree.feature[node.id])
            values = set(problem.data.columns[f][node.rows].tolist()) - {problem.data.n_bins[f]}
            assert min(values) <= tree.threshold[node.id]
            assert tree.threshold[node.id] < max(values) or tree.threshold[node.id] == math.inf


@pytest.mark.parametrize("kind", slow.KINDS)
def test_random_cuts_tell_missing_from_the_only_value(kind):
    """One value and holes: the only cut there is, for every criterion."""
    codes = np.tile([0, 1], 20)
    data = Codes([codes], [1], [False])
    rng = np.random.default_rng(0)
    target = slow.random_target(rng, data, *kind)
    if "n_classes" in target:
        target["classes"] = np.repeat(codes[:, None], len(target["n_classes"]), axis=1).astype(np.int32)
    else:
        target["numbers"] = np.repeat(codes[:, None] + 1.0, target["numbers"].shape[1], axis=1)
    problem = slow.Problem(data, kind[1], np.ones(40), **target)
    (tree,) = slow.grow(problem, SplitRules(random_thresholds=True))
    assert tree.n_nodes == 3


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "absolute_error"])
def test_random_thresholds_are_uniform_between_the_least_and_the_largest_value(holes, criterion):
    """Whatever the density of the rows: three in four lie in the first tenth of the range."""
    values = np.r_[np.arange(0, 1000, 4), np.arange(1000, 10_000, 100), 9999]
    codes = np.r_[values, [10_000] * 40] if holes else values
    rng = np.random.default_rng(0)
    data = Codes([codes], [10_000], [False])
    target = slow.random_target(rng, data, "two classes" if criterion == "gini" else "number", criterion)
    problem = slow.Problem(data, criterion, np.ones(len(codes)), **target)
    trees = slow.grow(problem, SplitRules(random_thresholds=True, max_depth=1), n=2000)
    drawn = np.array([tree.threshold[0] for tree in trees])
    assert drawn.min() >= 0
    assert drawn.max() < 9999
    counts = np.histogram(drawn, bins=10, range=(0, 9999))[0]
    assert ((counts - 200) ** 2 / 200).sum() < 33.7  # χ² of 9 degrees, 1 in 10,000
    if holes and criterion == "gini":
        assert 0.45 < np.mean([tree.missing_left[0] for tree in trees]) < 0.55


def test_random_thresholds_inside_a_bin_move_to_its_end():
    """Training knows bins only: both sides of a cut must be told apart by codes."""
    edges = _kernel.CodeEdges(np.zeros(1, np.int64), np.array([0.0, 10.0, 40.0]), np.array([10.0, 40.0, 100.0]))
    data = Codes([np.repeat([0, 1, 2], 10)], [3], [False])
    rng = np.random.default_rng(0)
    problem = slow.Problem(
        data, "gini", np.ones(30), classes=rng.integers(0, 2, (30, 1), dtype=np.int32), n_classes=(2,)
    )
    trees = slow.grow(problem, SplitRules(random_thresholds=True, max_depth=1), n=1000, edges=edges)
    thresholds = [tree.threshold[0] for tree in trees]
    assert set(thresholds) == {10.0, 40.0}  # middles 5, 25, 70: the draw passes 25 in 45 of 65 cases
    assert abs(thresholds.count(40.0) / 1000 - 45 / 65) < 0.06


@pytest.mark.parametrize("n_groups", [2, 5])
def test_random_subsets_of_categories_are_of_any_size(n_groups):
    rng = np.random.default_rng(1)
    data = Codes([np.tile(np.arange(n_groups), 30)], [n_groups], [True])
    classes = rng.integers(0, 2, (30 * n_groups, 1), dtype=np.int32)
    problem = slow.Problem(data, "gini", np.ones(len(classes)), classes=classes, n_classes=(2,))
    trees = slow.grow(problem, SplitRules(random_thresholds=True, max_depth=1), n=2000)
    sets = [tree.left_codes(0, n_groups) - {n_groups} for tree in trees]
    sizes = np.bincount([len(chosen) for chosen in sets], minlength=n_groups)
    largest = n_groups // 2  # the lighter side goes left
    assert sizes[0] == 0
    assert not sizes[largest + 1 :].any()
    np.testing.assert_allclose(sizes[1 : largest + 1], 2000 / largest, rtol=0.2)
    for code in range(n_groups):
        assert abs(np.mean([code in chosen for chosen in sets]) - (1 + largest) / 2 / n_groups) < 0.05


# ---- features of a node --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_features", "visited"), [(8, 1), (8, 3), (80, 30)])
def test_a_node_takes_the_best_of_the_features_it_draws(n_features, visited):
    """Columns from best to worst: the j-th is taken if it is drawn and none before it is."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 400)
    columns = [y ^ (rng.random(400) < 0.005 + 0.49 * j / n_features) for j in range(n_features)]
    good = np.argsort([-abs(np.corrcoef(c, y)[0, 1]) for c in columns])
    data = Codes([columns[j] for j in good], [2] * n_features, [False] * n_features)
    problem = slow.Problem(data, "gini", np.ones(400), classes=y[:, None].astype(np.int32), n_classes=(2,))
    n = 3000
    trees = slow.grow(problem, SplitRules(max_features=visited, max_depth=1), n=n)
    counts = np.bincount([tree.feature[0] for tree in trees], minlength=n_features)
    for j in range(4):
        expected = n * math.comb(n_features - 1 - j, visited - 1) / math.comb(n_features, visited)
        assert abs(counts[j] - expected) < 5 * math.sqrt(expected) + 1


def test_more_features_are_drawn_until_one_can_be_cut():
    rng = np.random.default_rng(3)
    columns = [np.zeros(50, int) for _ in range(40)]
    columns[17] = np.arange(50)
    data = Codes(columns, [50] * 40, [False] * 40)
    problem = slow.Problem(data, "squared_error", np.ones(50), numbers=rng.normal(size=(50, 1)))
    for random in (False, True):
        for tree in slow.grow(problem, SplitRules(max_features=1, random_thresholds=random), n=5):
            assert tree.n_nodes == 99
            assert set(tree.feature[tree.kind > 0]) == {17}


def test_nodes_draw_their_features_by_themselves():
    rng = np.random.default_rng(4)
    data = Codes([rng.integers(0, 50, 2000) for _ in range(10)], [50] * 10, [False] * 10)
    problem = slow.Problem(data, "squared_error", np.ones(2000), numbers=rng.normal(size=(2000, 1)))
    (tree,) = slow.grow(problem, SplitRules(max_features=1))
    counts = np.bincount(tree.feature[tree.kind > 0], minlength=10)
    assert counts.min() > 0.8 * counts.mean()


# ---- numbers that are odd ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-250, 1e-150, 1e-30, 1e30, 1e100])
@pytest.mark.parametrize("criterion", slow.NUMBERS)
def test_the_unit_of_numbers_does_not_matter(size, criterion):
    """Scaling by a power of two changes no cut."""
    problem = slow.random_problem(12, 80, 3, "number", criterion)
    factor = 2.0 ** round(math.log2(size))
    (tree,) = slow.grow(problem)
    (scaled,) = slow.grow(replace(problem, numbers=problem.numbers * factor))
    for name in ("kind", "feature", "threshold", "left", "n_rows"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(scaled, name), err_msg=name)
    np.testing.assert_allclose(scaled.values, tree.values * factor, rtol=1e-12)


@pytest.mark.parametrize("edge", [[-np.inf, -1e308, 0.0, 1e308, np.inf], [-1.7e308, -1e308, 0.0, 5e-324, 1.7e308]])
@pytest.mark.parametrize("random", [False, True])
def test_thresholds_between_extremes_tell_them_apart(edge, random):
    values = np.array(edge)
    data = Codes([np.repeat(np.arange(5), 4)], [5], [False])
    problem = slow.Problem(data, "squared_error", np.ones(20), numbers=np.repeat([3.0, 1.0, 4.0, 1.5, 9.0], 4)[:, None])
    edges = _kernel.CodeEdges(np.zeros(1, np.int64), values, values)
    for tree in slow.grow(problem, SplitRules(random_thresholds=random), n=20, edges=edges):
        assert tree.n_nodes == 9
        assert not np.isnan(tree.threshold).any()
        reached = []
        for value in values:
            node = 0
            while tree.kind[node]:
                node = (tree.left if value <= tree.threshold[node] else tree.right)[node]
            reached.append(tree.values[node, 0])
        assert reached == [3.0, 1.0, 4.0, 1.5, 9.0]


def test_a_pure_node_keeps_its_number_to_the_bit():
    problem = slow.Problem(
        Codes([np.repeat([0, 1], 50)], [2], [False]),
        "squared_error",
        np.ones(100),
        numbers=np.repeat([0.1, 0.7], 50)[:, None],
    )
    (tree,) = slow.grow(problem)
    np.testing.assert_array_equal(tree.values[tree.kind == 0].ravel(), [0.1, 0.7])
