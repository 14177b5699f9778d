"""Grown trees against brute force: every split is a best one, every limit is kept, every sum is right."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import growing as slow

from arboretum import _kernel
from arboretum.growing.grower import TreeParams

SEEDS = st.integers(0, 2**32 - 1)
FREE = TreeParams(min_samples_leaf=1, max_leaf_nodes=1000)

params_of_trees = st.builds(
    TreeParams,
    growth=st.sampled_from(["leaf", "level"]),
    max_leaf_nodes=st.sampled_from([2, 3, 5, 8, 31, 1000]),
    max_depth=st.sampled_from([0, 0, 1, 2, 4]),
    min_samples_leaf=st.sampled_from([1, 1, 2, 5, 20]),
    min_child_weight=st.sampled_from([1e-3, 2.5, 11.5]),
    l1=st.sampled_from([0.0, 0.0, 2.5]),
    l2=st.sampled_from([0.0, 0.0, 1.0, 30.0]),
    min_gain=st.sampled_from([0.0, 0.0, 4.0]),
    max_delta_step=st.sampled_from([0.0, 0.0, 0.7]),
    max_onehot=st.sampled_from([0, 4]),
    max_category_set=st.sampled_from([2, 32]),
    category_smoothing=st.sampled_from([0.5, 10.0]),
    category_l2=st.sampled_from([0.0, 10.0]),
)


# ---- leaf- and level-wise trees ------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.sampled_from([2, 3, 10, 60, 200]), st.integers(1, 6), params_of_trees)
def test_trees_are_those_of_brute_force(seed, n_rows, n_features, params):
    data, g, h = slow.random_problem(seed, n_rows, n_features)
    grower, tree = slow.grow_tree(data, g, h, params)
    assert tree.packed
    slow.check_tree(data, grower, tree, g, h, params)


@pytest.mark.parametrize("growth", ["leaf", "level"])
@pytest.mark.parametrize("most_bins", [4, 60])
def test_larger_trees_are_those_of_brute_force(growth, most_bins):
    data, g, h = slow.random_problem(most_bins, 400, 6, most_bins)
    params = replace(FREE, growth=growth, max_leaf_nodes=40)
    grower, tree = slow.grow_tree(data, g, h, params)
    assert len(slow.check_tree(data, grower, tree, g, h, params)) == 79


@settings(max_examples=40, deadline=None)
@given(SEEDS, params_of_trees, st.floats(0.05, 0.95))
def test_trees_of_a_sample_see_only_its_rows(seed, params, share):
    data, g, h = slow.random_problem(seed, 120, 3)
    rows = _kernel.subsample_rows(120, share, seed, 1)
    grower, tree = slow.grow_tree(data, g, h, params, rows)
    slow.check_tree(data, grower, tree, g, h, params, rows)


def test_a_node_of_equal_rows_is_not_split():
    """Rounding must not look like a gain."""
    rng = np.random.default_rng(0)
    data = slow.Codes([rng.integers(0, 50, 400)], [50], [False])
    codes = data.to_kernel()
    sizes = []
    for _ in range(100):
        g, h = np.full(400, rng.normal()), np.full(400, rng.random() + 0.1)
        sizes.append(slow.grow_tree(codes, g, h, FREE)[1].n_nodes)
    assert set(sizes) == {1}


@pytest.mark.parametrize("growth", ["leaf", "level"])
def test_no_child_is_empty(growth):
    """Not even where min_child_weight allows it."""
    rng = np.random.default_rng(2)
    params = replace(FREE, growth=growth, min_child_weight=0.0, max_leaf_nodes=31)
    for _ in range(50):
        data = slow.Codes([rng.integers(5, 20, 100)], [25], [False])
        _, tree = slow.grow_tree(data, rng.normal(size=100), np.full(100, 0.3), params)
        assert tree.n_rows.min() > 0


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
def test_an_empty_side_gains_nothing(growth):
    """0² / 0 is no gain, whatever rounding leaves of both zeros."""
    rng = np.random.default_rng(3)
    params = replace(FREE, growth=growth, min_child_weight=0.0, max_leaf_nodes=32, max_depth=5)
    for _ in range(50):
        data = slow.Codes([rng.integers(5, 20, 100)], [25], [False])
        g = rng.normal(size=100)
        _, tree = slow.grow_tree(data, g, np.full(100, 0.3), params)
        assert tree.gain.sum() <= 0.5 * (g**2).sum() / 0.3


def test_pure_leaves_stay_leaves():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 30, 500)
    data = slow.Codes([x, rng.integers(0, 30, 500)], [30, 30], [False, False])
    g = np.where(x < 7, 0.3, -0.1)
    _, tree = slow.grow_tree(data, g, np.ones(500), FREE)
    assert tree.n_nodes == 3
    assert (tree.feature[0], tree.code[0]) == (0, 6)


@pytest.mark.parametrize("categorical", [False, True])
def test_rows_without_gradient_and_hessian_still_reach_their_leaf(categorical):
    """Their sums are 0, but they are not absent."""
    codes = np.repeat(np.arange(9), 50)
    data = slow.Codes([codes], [8], [categorical])
    g = np.where(codes < 6, -1.0, 1.0)
    h = np.ones(450)
    for silent in (5, 8):
        g[codes == silent] = h[codes == silent] = 0.0
    params = replace(FREE, category_smoothing=0.0, category_l2=0.0)
    grower, tree = slow.grow_tree(data, g, h, params)
    slow.check_routing(data, grower, tree, slow.walk(data, tree, np.arange(450), g, h, params))


@settings(max_examples=40, deadline=None)
@given(SEEDS, params_of_trees)
def test_the_order_of_rows_does_not_matter(seed, params):
    data, g, h = slow.random_problem(seed, 150, 4)
    order = np.random.default_rng(seed).permutation(150)
    grower, tree = slow.grow_tree(data, g, h, params)
    permuted_grower, permuted = slow.grow_tree(data.take(order), g[order], h[order], params)
    slow.assert_same_tree(tree, permuted)
    np.testing.assert_array_equal(permuted_grower.leaf_of_row, grower.leaf_of_row[order])


@settings(max_examples=60, deadline=None)
@given(SEEDS, params_of_trees, st.integers(20, 300), st.booleans())
def test_small_nodes_are_searched_as_large_ones(seed, params, n_rows, monotone):
    """A feature of many bins makes the kernel gather the codes that occur; one that is constant changes no tree."""
    data, g, h = slow.random_problem(seed, n_rows, 4, most_bins=6)
    if monotone:
        directions = np.random.default_rng(seed).integers(-1, 2, 4)
        free = np.array(data.categorical)
        params = replace(params, monotone=tuple(int(d) for d in np.where(free, 0, directions)))
    _, dense = slow.grow_tree(data, g, h, params)
    wide = data.with_feature(np.zeros(n_rows, int), 5000, True)
    if params.monotone:
        params = replace(params, monotone=(*params.monotone, 0))
    _, compact = slow.grow_tree(wide, g, h, params)
    slow.assert_same_tree(dense, compact)


@settings(max_examples=100, deadline=None)
@given(SEEDS, params_of_trees, st.integers(20, 400), st.integers(2, 60), st.sampled_from([5, 40, 900]))
def test_codes_far_apart_are_gathered_as_near_ones_are_summed(seed, params, n_rows, most_bins, factor):
    """Features with many bins are gathered in nodes where those with few are summed: a part of them is stretched."""
    data, g, h = slow.random_problem(seed, n_rows, 5, most_bins)
    far = [not categorical and bool(seed >> f & 1) for f, categorical in enumerate(data.categorical)]
    bins = [n * factor if stretched else n for n, stretched in zip(data.n_bins, far, strict=True)]
    columns = [c * factor if stretched else c for c, stretched in zip(data.columns, far, strict=True)]
    near_grower, near = slow.grow_tree(data, g, h, params)
    far_grower, stretched = slow.grow_tree(slow.Codes(columns, bins, data.categorical), g, h, params)
    for name in ("kind", "feature", "left", "right", "missing_left", "gain", "n_rows"):
        np.testing.assert_array_equal(getattr(near, name), getattr(stretched, name), err_msg=name)
    np.testing.assert_array_equal(near_grower.leaf_of_row, far_grower.leaf_of_row)


# ---- rules of a split ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [1.0, 0.5, 4.0])
def test_equal_hessians_meet_min_child_weight_exactly(h):
    codes = np.arange(24)
    g = np.where(codes < 12, -1.0, 1.0)
    for least, expected in ((12 * h, 3), (12.001 * h, 1)):
        params = replace(FREE, min_child_weight=least, max_leaf_nodes=2)
        _, tree = slow.grow_tree(slow.Codes([codes], [24], [False]), g, np.full(24, h), params)
        assert tree.n_nodes == expected


def test_the_direction_of_missing_values_is_learned():
    codes = np.array([0] * 10 + [1] * 10 + [2] * 10)  # 2: missing
    data = slow.Codes([codes], [2], [False])
    for like, missing_left in ((0, 1), (1, 0)):
        g = np.where((codes == like) | (codes == 2), -1.0, 1.0)
        _, tree = slow.grow_tree(data, g, np.ones(30), FREE)
        assert tree.n_nodes == 3
        assert (tree.code[0], tree.missing_left[0]) == (0, missing_left)


def test_missing_against_all_values():
    codes = np.array([0, 1, 2, 3] * 5)
    data = slow.Codes([codes], [3], [False])
    _, tree = slow.grow_tree(data, np.where(codes == 3, 1.0, -1.0), np.ones(20), FREE)
    assert tree.n_nodes == 3
    assert slow.left_codes(tree, 0, 3) == {0, 1, 2}


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(2, 4), st.booleans())
def test_few_categories_are_tried_one_by_one(seed, n_categories, holes):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_categories + holes, 40)
    g, h = rng.integers(-9, 10, 40).astype(float), np.ones(40)
    total = slow.sums(np.arange(40), g, h)
    leaf = slow.root_leaf(FREE)
    by_code = {c: slow.gain(slow.sums(np.flatnonzero(codes == c), g, h), total, leaf, 0, FREE) for c in codes}
    best = {c for c, gain in by_code.items() if gain >= max(by_code.values()) * (1 - 1e-4)}
    _, tree = slow.grow_tree(slow.Codes([codes], [n_categories], [True]), g, h, replace(FREE, max_leaf_nodes=2))
    if max(by_code.values()) < 1e-3:
        return
    alone = slow.left_codes(tree, 0, n_categories) & set(codes.tolist())
    assert len(alone) == 1
    assert alone <= best


def test_many_categories_split_into_the_best_of_all_subsets():
    """Sorted by gradient over hessian, the best subset is a prefix (Fisher 1958): try all 2^7 against it."""
    rng = np.random.default_rng(3)
    params = replace(FREE, max_leaf_nodes=2, category_smoothing=0.0, category_l2=0.0)
    for _ in range(10):
        codes = rng.integers(0, 8, 100)
        g, h = rng.integers(-9, 10, 100).astype(float), rng.integers(1, 4, 100).astype(float)
        bins = slow.histogram(codes, range(100), g, h)
        total = slow.sums(np.arange(100), g, h)
        subsets = [{c for c in range(8) if mask >> c & 1} for mask in range(1, 128)]
        free = replace(params, min_samples_leaf=0)
        gains = [
            slow.gain(sum((bins[c] for c in subset), slow.Sums()), total, slow.root_leaf(params), 0, free)
            for subset in subsets
        ]
        _, tree = slow.grow_tree(slow.Codes([codes], [8], [True]), g, h, params)
        assert tree.gain[0] == pytest.approx(max(gains), rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(SEEDS, params_of_trees, st.sampled_from(["leaf", "level", "symmetric"]))
def test_values_of_nodes(seed, params, growth):
    """Newton's step, with l1, l2 and max_delta_step."""
    params = replace(params, growth=growth, max_depth=params.max_depth or 5)
    data, g, h = slow.random_problem(seed, 100, 3)
    _, tree = slow.grow_tree(data, g, h, params)
    values = tree.values(params.to_kernel(), None)
    leaf = slow.root_leaf(params)
    for node in slow.walk(data, tree, np.arange(100), g, h, params):
        total = slow.sums(node.rows, g, h)
        enough = total.n >= params.min_samples_leaf and total.h >= params.min_child_weight
        if node.id == 0 or enough or growth != "symmetric":
            assert values[node.id] == pytest.approx(leaf.value(total), rel=1e-9, abs=1e-12)
        else:
            parent = int(np.flatnonzero((tree.left == node.id) | (tree.right == node.id))[0])
            assert values[node.id] == values[parent]
    renewed = np.linspace(-2, 2, tree.n_nodes)
    expected = np.clip(renewed, leaf.lower, leaf.upper)
    if growth != "symmetric":
        np.testing.assert_array_equal(tree.values(params.to_kernel(), renewed), expected)


# ---- monotone ------------------------------------------------------------------------------------------------------


def numeric_problem(seed, n_rows, n_features, holes=False):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 8 + holes, n_rows) for _ in range(n_features)]
    data = slow.Codes(columns, [8] * n_features, [False] * n_features)
    return data, *slow.random_statistics(rng, data)


def all_predictions(tree, values, n_features, n_bins):
    """Prediction at every combination of codes, as an array of n_features dimensions."""
    grid = np.stack(np.meshgrid(*[np.arange(n_bins)] * n_features, indexing="ij"), axis=-1).reshape(-1, n_features)
    data = slow.Codes(list(grid.T), [n_bins] * n_features, [False] * n_features)
    leaves = np.empty(len(grid), np.uint32)
    tree.leaves(data.to_kernel(), 1, leaves)
    return values[leaves].reshape([n_bins] * n_features)


@settings(max_examples=80, deadline=None)
@given(SEEDS, params_of_trees, st.tuples(*[st.sampled_from([-1, 0, 1])] * 3), st.booleans(), st.booleans())
def test_monotone_trees_are_monotone_and_of_best_splits(seed, params, monotone, symmetric, renew):
    data, g, h = numeric_problem(seed, 150, 3)
    params = replace(params, monotone=monotone, max_depth=params.max_depth or 5)
    if symmetric:
        params = replace(params, growth="symmetric")
    grower, tree = slow.grow_tree(data, g, h, params)
    renewed = np.random.default_rng(seed).normal(size=tree.n_nodes) if renew else None
    values = tree.values(params.to_kernel(), renewed)
    predictions = all_predictions(tree, values, 3, 8)
    for axis, direction in enumerate(monotone):
        assert np.all(direction * np.diff(predictions, axis=axis) >= 0)
    if not symmetric and any(monotone):
        slow.check_tree(data, grower, tree, g, h, params)


def test_a_monotone_constraint_forbids_the_better_split():
    codes = np.arange(8).repeat(4)
    data = slow.Codes([codes, (codes % 2)], [8, 2], [False, False])
    g = np.where(codes < 4, -5.0, 5.0) + (codes % 2)  # prediction falls with feature 0
    _, free = slow.grow_tree(data, g, np.ones(32), FREE)
    _, rising = slow.grow_tree(data, g, np.ones(32), replace(FREE, monotone=(1, 0)))
    _, falling = slow.grow_tree(data, g, np.ones(32), replace(FREE, monotone=(-1, 0)))
    assert free.feature[0] == falling.feature[0] == 0
    assert 0 not in rising.feature[rising.kind > 0]


# ---- interactions and column samples -------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([((0, 1), (2, 3)), ((0,), (1,), (2,), (3,)), ((0, 1, 2), (2, 3)), ((0, 1),)]))
def test_features_of_a_path_share_a_set(seed, sets):
    data, g, h = slow.random_problem(seed, 150, 4)
    params = replace(FREE, interaction_sets=sets, max_leaf_nodes=20)

    def allowed(node):
        return sorted({f for one in sets if set(node.path) <= set(one) for f in one})

    grower, tree = slow.grow_tree(data, g, h, params)
    for node in slow.check_tree(data, grower, tree, g, h, params, allowed=allowed):
        assert any(set(node.path) <= set(one) for one in sets)


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9])
def test_a_share_of_the_columns_for_each_tree(growth, share):
    data, g, h = numeric_problem(5, 400, 10)
    g = np.round(5 * np.random.default_rng(0).normal(size=400))
    params = replace(FREE, growth=growth, colsample_tree=share, max_depth=8)
    codes, used = data.to_kernel(), []
    for seed in range(12):
        _, tree = slow.grow_tree(codes, g, h, params, seed=seed)
        used.append(frozenset(tree.feature[tree.kind > 0].tolist()))
    k = max(1, round(share * 10))
    if growth == "symmetric":
        assert max(len(features) for features in used) <= k
    else:
        assert {len(features) for features in used} == {k}
    assert len(set(used)) > 3
    assert set().union(*used) == set(range(10)) or k == 1


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
def test_a_share_of_the_columns_for_each_level(growth):
    data, _, h = numeric_problem(6, 400, 10)
    g = np.round(5 * np.random.default_rng(1).normal(size=400))
    _, tree = slow.grow_tree(data, g, h, replace(FREE, growth=growth, colsample_level=0.1, max_depth=6), seed=3)
    nodes = slow.walk(data, tree, np.arange(400), g, h, FREE)
    by_depth = {}
    for node in nodes:
        if tree.kind[node.id] > 0:
            by_depth.setdefault(node.depth, set()).add(int(tree.feature[node.id]))
    assert all(len(features) == 1 for features in by_depth.values())
    assert len(set.union(*by_depth.values())) > 1


@pytest.mark.parametrize("growth", ["leaf", "level"])
def test_a_share_of_the_columns_for_each_node(growth):
    data, _, h = numeric_problem(7, 400, 10)
    g = np.round(5 * np.random.default_rng(2).normal(size=400))
    _, tree = slow.grow_tree(data, g, h, replace(FREE, growth=growth, max_features=0.1, max_depth=6), seed=3)
    nodes = slow.walk(data, tree, np.arange(400), g, h, FREE)
    deepest = [node for node in nodes if node.depth == 4 and tree.kind[node.id] > 0]
    assert len({int(tree.feature[node.id]) for node in deepest}) > 3
    best = slow.best_gain(data, np.arange(400), g, h, slow.root_leaf(FREE), 0, [int(tree.feature[0])], FREE)
    assert tree.gain[0] == pytest.approx(best, rel=1e-4)


# ---- symmetric trees -----------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(SEEDS, st.integers(1, 4), st.integers(1, 4), params_of_trees)
def test_symmetric_trees_are_those_of_brute_force(seed, n_features, max_depth, params):
    rng = np.random.default_rng(seed)
    data = slow.random_codes(rng, 100, n_features, most_bins=6)
    g, h = slow.random_statistics(rng, data)
    # Rows are counted where hessians count them: numeric features and equal hessians.
    least = params.min_samples_leaf if not any(data.categorical) and h.max() == 1 else 1
    params = replace(params, growth="symmetric", max_depth=max_depth, max_leaf_nodes=0, min_samples_leaf=least)
    counted = replace(params, min_samples_leaf=least if least > 1 else 0)
    grower, tree = slow.grow_tree(data, g, h, params)
    nodes = slow.walk(data, tree, np.arange(100), g, h, params)
    slow.check_sums(nodes, tree, g, h)
    slow.check_routing(data, grower, tree, nodes)
    depth = max(node.depth for node in nodes)
    assert len(nodes) == 2 ** (depth + 1) - 1
    for level in range(depth + 1):
        here = [node for node in nodes if node.depth == level]
        check_level(data, tree, here, g, h, counted, is_last=level == depth)


def check_level(data, tree, here, g, h, params, is_last):
    rows, leaves = [node.rows for node in here], [node.leaf for node in here]
    found = {
        (f, condition): total
        for f in range(len(data.columns))
        for total, condition in slow.shared_splits(data, f, rows, g, h, leaves, params)
    }
    best = max(found.values(), default=-math.inf)
    slack = sum(slow.tolerance(node, best, g, h) for node in here)
    if is_last:
        if here[0].depth < params.max_depth:
            assert best <= params.min_gain + slack
        return
    ids = [node.id for node in here]
    assert len(set(tree.feature[ids])) == len(set(tree.missing_left[ids])) == 1
    f = int(tree.feature[ids[0]])
    left = slow.left_codes(tree, ids[0], data.n_bins[f])
    assert all(slow.left_codes(tree, i, data.n_bins[f]) == left for i in ids)
    present = set(data.columns[f].tolist())
    chosen = [total for (g_, c), total in found.items() if g_ == f and c & present == left & present]
    assert max(chosen) >= best - slack
    assert tree.gain[ids].sum() >= best - slack


def test_symmetric_trees_keep_max_leaf_nodes():
    data, g, h = numeric_problem(8, 300, 4)
    for most, expected in ((2, 2), (3, 2), (4, 4), (15, 8), (16, 16)):
        _, tree = slow.grow_tree(data, g, h, replace(FREE, growth="symmetric", max_leaf_nodes=most))
        assert np.sum(tree.kind == 0) == expected


# ---- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outlier", [1e6, 1e9, 1e12])
def test_one_huge_gradient_does_not_blind_the_search(outlier):
    data, g, h = slow.random_problem(9, 300, 3, most_bins=8)
    g = g + 0.25
    g[17] = outlier
    rows = np.setdiff1d(np.arange(300), [17]).astype(np.uint32)
    params = replace(FREE, max_leaf_nodes=20)
    for sample in (None, rows):
        grower, tree = slow.grow_tree(data, g, h, params, sample)
        nodes = slow.walk(data, tree, np.arange(300) if sample is None else rows, g, h, params)
        slow.check_sums(nodes, tree, g, h)
        slow.check_routing(data, grower, tree, nodes)
        for node in nodes:
            if 17 in node.rows:
                continue
            best = slow.best_gain(data, node.rows, g, h, node.leaf, node.depth, range(3), params)
            if tree.kind[node.id] > 0:
                assert slow.chosen_gain(data, tree, node, g, h, params) >= best * (1 - 1e-3)
            elif tree.n_nodes < 39:
                assert best <= 1e-6


def test_one_huge_weight_does_not_blind_the_search():
    data, g, h = slow.random_problem(10, 300, 3, most_bins=8)
    h = h * 1.5
    g[17], h[17] = 1e9, 1e9
    rows = np.setdiff1d(np.arange(300), [17]).astype(np.uint32)
    params = replace(FREE, max_leaf_nodes=20, l2=1.0)
    _, tree = slow.grow_tree(data, g, h, params, rows)
    _, alone = slow.grow_tree(data.take(rows), g[rows], h[rows], params)
    for name in ("kind", "feature", "code", "n_rows"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(alone, name))


def test_large_tables_of_float32_have_nearly_the_trees_of_float64():
    data, g, h = slow.large_problem(70_000, 4)
    codes = data.to_kernel()
    params = TreeParams(max_leaf_nodes=16)
    trees = [slow.grow_tree(codes, g.astype(real), h.astype(real), params)[1] for real in (np.float32, np.float64)]
    assert all(tree.packed for tree in trees)
    assert trees[0].gain.sum() == pytest.approx(trees[1].gain.sum(), rel=1e-3)
    assert (trees[0].feature[0], trees[0].code[0]) == (trees[1].feature[0], trees[1].code[0])
    assert trees[0].gradient[0] == pytest.approx(math.fsum(g), abs=1e-6 * math.fsum(abs(g)))


def test_heavy_tails_in_a_large_table_take_wide_lanes():
    data, g, h = slow.large_problem(70_000, 4)
    g[5] = 1e6
    codes = data.to_kernel()
    for tail in (g, np.where(np.arange(70_000) % 7000 == 5, 1e8, g)):
        _, tree = slow.grow_tree(codes, tail.astype(np.float32), h.astype(np.float32), TreeParams(max_leaf_nodes=16))
        _, exact = slow.grow_tree(codes, tail, h, TreeParams(max_leaf_nodes=16))
        assert not tree.packed
        assert tree.gain.sum() == pytest.approx(exact.gain.sum(), rel=1e-3)


def test_statistics_of_no_size_grow_nothing():
    data, _, _ = numeric_problem(11, 50, 2)
    for h in (0.0, 1.0, 1e-250):
        _, tree = slow.grow_tree(data, np.zeros(50), np.full(50, h), FREE)
        assert tree.n_nodes == 1
        assert tree.values(FREE.to_kernel(), None)[0] == 0.0


@pytest.mark.parametrize("scale", [1e-120, 1e-30, 1e30, 1e100])
def test_the_unit_of_gradients_does_not_matter(scale):
    """Scaling by a power of two changes no split."""
    data, g, h = slow.random_problem(12, 200, 4)
    factor = 2.0 ** round(math.log2(scale))
    _, tree = slow.grow_tree(data, g, h, FREE)
    _, scaled = slow.grow_tree(data, g * factor, h, FREE)
    for name in ("kind", "feature", "code", "left", "missing_left", "n_rows"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(scaled, name))
    np.testing.assert_allclose(scaled.gradient, tree.gradient * factor, rtol=1e-12)


def test_a_grower_is_used_again():
    """Workspaces of earlier, larger trees leave no trace."""
    data, g, h = slow.random_problem(14, 300, 4, most_bins=40)
    grower = _kernel.Grower(data.to_kernel(), 1)
    rows = np.arange(0, 300, 3, dtype=np.uint32)
    for params in (FREE, replace(FREE, growth="symmetric", max_depth=3), replace(FREE, max_leaf_nodes=4)):
        for sample in (None, rows):
            for statistics in (g, np.where(np.arange(300) == 7, 1e15, g)):
                tree = grower.grow(statistics, h, sample, params.to_kernel(), 0)
                fresh, expected = slow.grow_tree(data, statistics, h, params, sample)
                slow.assert_same_tree(tree, expected)
                np.testing.assert_array_equal(grower.leaf_of_row, fresh.leaf_of_row)


def test_values_are_added_to_the_rows_of_each_leaf():
    data, g, h = slow.random_problem(15, 200, 3)
    grower, tree = slow.grow_tree(data, g, h, FREE)
    values, raw = np.linspace(0, 1, tree.n_nodes), np.arange(200.0)
    expected = raw + values[grower.leaf_of_row]
    grower.add_values(values, raw)
    np.testing.assert_array_equal(raw, expected)
