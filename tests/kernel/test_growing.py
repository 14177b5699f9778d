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
from arboretum.growing import TreeParams

SEEDS = st.integers(0, 2**32 - 1)
NODE_ARRAYS = ("kind", "feature", "code", "left", "right", "missing_left", "gain", "n_rows", "gradient", "hessian")
FREE = TreeParams(min_samples_leaf=1, max_leaf_nodes=1000)

params_of_trees = st.builds(
    TreeParams,
    growth=st.sampled_from(["leaf", "level"]),
    max_leaf_nodes=st.sampled_from([2, 3, 5, 8, 31, 1000]),
    max_depth=st.sampled_from([0, 0, 1, 2, 4]),
    min_samples_leaf=st.sampled_from([1, 1, 2, 5, 20]),
    min_child_weight=st.sampled_from([1e-3, 3.0, 12.0]),
    l1=st.sampled_from([0.0, 0.0, 2.5]),
    l2=st.sampled_from([0.0, 0.0, 1.0, 30.0]),
    min_gain=st.sampled_from([0.0, 0.0, 4.0]),
    max_delta_step=st.sampled_from([0.0, 0.0, 0.7]),
    max_onehot=st.sampled_from([0, 4]),
    max_category_set=st.sampled_from([2, 32]),
    category_smoothing=st.sampled_from([0.5, 10.0]),
    category_l2=st.sampled_from([0.0, 10.0]),
)


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
    return slow.Codes(columns, n_bins, categorical)


def random_statistics(rng, data):
    """Integer gradients that follow the first features, and hessians: their sums are exact in float64."""
    signal = sum(np.sin(column * (f + 1)) for f, column in enumerate(data.columns[:3]))
    g = np.round(3 * signal + 2 * rng.normal(size=data.n_rows))
    h = np.ones(data.n_rows) if rng.integers(2) else rng.integers(1, 5, data.n_rows).astype(np.float64)
    return g, h


def random_problem(seed, n_rows, n_features, most_bins=12):
    rng = np.random.default_rng(seed)
    data = random_codes(rng, n_rows, n_features, most_bins)
    return data, *random_statistics(rng, data)


def grow(data, g, h, params, rows=None, threads=1, seed=0):
    codes = data.to_kernel() if isinstance(data, slow.Codes) else data
    grower = _kernel.Grower(codes, threads)
    return grower, grower.grow(g, h, rows, params.to_kernel(), seed)


def assert_same_tree(a, b):
    for name in NODE_ARRAYS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for part_a, part_b in zip(a.sets, b.sets, strict=True):
        np.testing.assert_array_equal(part_a, part_b)


# ---- what must hold for every tree ---------------------------------------------------------------------------------


def check_sums(nodes, tree, g, h):
    for node in nodes:
        assert tree.n_rows[node.id] == len(node.rows)
        total = slow.sums(node.rows, g, h)
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


def tolerance(node, gain, g, h):
    """Gains are compared by 17 bits, and gradients are rounded to some 2^-20 of the largest."""
    total = slow.sums(node.rows, abs(g), h)
    return 1e-4 * abs(gain) + 1e-5 * total.g**2 / max(total.h, 1.0) + 1e-9


def chosen_gain(data, tree, node, g, h, params):
    """Gain of the split that the tree made, by the twin."""
    f = int(tree.feature[node.id])
    left = slow.left_codes(tree, node.id, data.n_bins[f])
    present = frozenset(np.unique(data.columns[f][node.rows]).tolist())
    goes_left = np.isin(data.columns[f][node.rows], list(left))
    sums = slow.sums(node.rows[goes_left], g, h), slow.sums(node.rows, g, h)
    extra = params.category_l2 if data.categorical[f] and data.n_bins[f] > params.max_onehot else 0.0
    gain = slow.gain(*sums, node.leaf, params.monotone[f] if params.monotone else 0, params, extra)
    tried = [condition for _, condition in slow.splits(data, f, node.rows, g, h, node.leaf, params)]
    assert left & present in tried, "a condition that the rules do not know"
    return gain


def check_gains(data, tree, nodes, g, h, params, allowed=None):
    """Give the largest gain of every node; inner nodes must have taken it."""
    gains = []
    for node in nodes:
        features = range(len(data.columns)) if allowed is None else allowed(node)
        best = slow.best_gain(data, node.rows, g, h, node.leaf, node.depth, features, params)
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
        left = slow.left_codes(tree, node.id, data.n_bins[f])
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
    nodes = slow.walk(data, tree, rows, g, h, params)
    check_sums(nodes, tree, g, h)
    check_routing(data, grower, tree, nodes)
    check_limits(nodes, tree, params, h)
    check_absent_values(data, tree, nodes)
    gains = check_gains(data, tree, nodes, g, h, params, allowed)
    check_order(tree, nodes, gains, g, h, params)
    return nodes


# ---- leaf- and level-wise trees ------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.sampled_from([2, 3, 10, 60, 200]), st.integers(1, 6), params_of_trees)
def test_trees_are_those_of_brute_force(seed, n_rows, n_features, params):
    data, g, h = random_problem(seed, n_rows, n_features)
    grower, tree = grow(data, g, h, params)
    assert tree.packed
    check_tree(data, grower, tree, g, h, params)


@pytest.mark.parametrize("growth", ["leaf", "level"])
@pytest.mark.parametrize("most_bins", [4, 60])
def test_larger_trees_are_those_of_brute_force(growth, most_bins):
    data, g, h = random_problem(most_bins, 400, 6, most_bins)
    params = replace(FREE, growth=growth, max_leaf_nodes=40)
    grower, tree = grow(data, g, h, params)
    assert len(check_tree(data, grower, tree, g, h, params)) == 79


@settings(max_examples=40, deadline=None)
@given(SEEDS, params_of_trees, st.floats(0.05, 0.95))
def test_trees_of_a_sample_see_only_its_rows(seed, params, share):
    data, g, h = random_problem(seed, 120, 3)
    rows = _kernel.subsample_rows(120, share, seed, 1)
    grower, tree = grow(data, g, h, params, rows)
    check_tree(data, grower, tree, g, h, params, rows)
    # The rows outside may hold anything of the same size.
    outside = np.setdiff1d(np.arange(120), rows)
    g[outside], h[outside] = -g[outside], h[outside][::-1]
    _, other = grow(data, g, h, params, rows)
    for name in ("kind", "feature", "code", "left", "n_rows"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name))


def test_a_node_of_equal_rows_is_not_split():
    """Rounding must not look like a gain."""
    rng = np.random.default_rng(0)
    data = slow.Codes([rng.integers(0, 50, 400)], [50], [False])
    codes = data.to_kernel()
    sizes = []
    for _ in range(100):
        g, h = np.full(400, rng.normal()), np.full(400, rng.random() + 0.1)
        sizes.append(grow(codes, g, h, FREE)[1].n_nodes)
    assert set(sizes) == {1}


@pytest.mark.parametrize("growth", ["leaf", "level"])
def test_no_child_is_empty(growth):
    """Not even where min_child_weight allows it and rounding gains from it."""
    rng = np.random.default_rng(2)
    params = replace(FREE, growth=growth, min_child_weight=0.0, max_leaf_nodes=31)
    for _ in range(50):
        data = slow.Codes([rng.integers(5, 20, 100)], [25], [False])
        _, tree = grow(data, np.full(100, rng.normal()), np.full(100, 0.3), params)
        assert tree.n_rows.min() > 0


def test_pure_leaves_stay_leaves():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 30, 500)
    data = slow.Codes([x, rng.integers(0, 30, 500)], [30, 30], [False, False])
    g = np.where(x < 7, 0.3, -0.1)
    _, tree = grow(data, g, np.ones(500), FREE)
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
    grower, tree = grow(data, g, h, params)
    check_routing(data, grower, tree, slow.walk(data, tree, np.arange(450), g, h, params))


@settings(max_examples=40, deadline=None)
@given(SEEDS, params_of_trees)
def test_the_order_of_rows_does_not_matter(seed, params):
    data, g, h = random_problem(seed, 150, 4)
    order = np.random.default_rng(seed).permutation(150)
    grower, tree = grow(data, g, h, params)
    permuted_grower, permuted = grow(data.take(order), g[order], h[order], params)
    assert_same_tree(tree, permuted)
    np.testing.assert_array_equal(permuted_grower.leaf_of_row, grower.leaf_of_row[order])


@settings(max_examples=60, deadline=None)
@given(SEEDS, params_of_trees, st.integers(20, 300), st.booleans())
def test_small_nodes_are_searched_as_large_ones(seed, params, n_rows, monotone):
    """A feature of many bins makes the kernel gather the codes that occur; one that is constant changes no tree."""
    data, g, h = random_problem(seed, n_rows, 4, most_bins=6)
    if monotone:
        directions = np.random.default_rng(seed).integers(-1, 2, 4)
        free = np.array(data.categorical)
        params = replace(params, monotone=tuple(int(d) for d in np.where(free, 0, directions)))
    _, dense = grow(data, g, h, params)
    wide = data.with_feature(np.zeros(n_rows, int), 5000, True)
    if params.monotone:
        params = replace(params, monotone=(*params.monotone, 0))
    _, compact = grow(wide, g, h, params)
    assert_same_tree(dense, compact)


# ---- rules of a split ----------------------------------------------------------------------------------------------


def test_the_direction_of_missing_values_is_learned():
    codes = np.array([0] * 10 + [1] * 10 + [2] * 10)  # 2: missing
    data = slow.Codes([codes], [2], [False])
    for like, missing_left in ((0, 1), (1, 0)):
        g = np.where((codes == like) | (codes == 2), -1.0, 1.0)
        _, tree = grow(data, g, np.ones(30), FREE)
        assert tree.n_nodes == 3
        assert (tree.code[0], tree.missing_left[0]) == (0, missing_left)


def test_missing_against_all_values():
    codes = np.array([0, 1, 2, 3] * 5)
    data = slow.Codes([codes], [3], [False])
    _, tree = grow(data, np.where(codes == 3, 1.0, -1.0), np.ones(20), FREE)
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
    by_code = {c: slow.gain(slow.sums(codes == c, g, h), total, leaf, 0, replace(FREE, min_samples_leaf=0)) for c in codes}
    best = {c for c, gain in by_code.items() if gain >= max(by_code.values()) * (1 - 1e-4)}
    _, tree = grow(slow.Codes([codes], [n_categories], [True]), g, h, replace(FREE, max_leaf_nodes=2))
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
        _, tree = grow(slow.Codes([codes], [8], [True]), g, h, params)
        assert tree.gain[0] == pytest.approx(max(gains), rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(SEEDS, params_of_trees, st.sampled_from(["leaf", "level", "symmetric"]))
def test_values_of_nodes(seed, params, growth):
    """Newton's step, with l1, l2 and max_delta_step."""
    params = replace(params, growth=growth, max_depth=params.max_depth or 5)
    data, g, h = random_problem(seed, 100, 3)
    _, tree = grow(data, g, h, params)
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
    return data, *random_statistics(rng, data)


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
    grower, tree = grow(data, g, h, params)
    renewed = np.random.default_rng(seed).normal(size=tree.n_nodes) if renew else None
    values = tree.values(params.to_kernel(), renewed)
    predictions = all_predictions(tree, values, 3, 8)
    for axis, direction in enumerate(monotone):
        assert np.all(direction * np.diff(predictions, axis=axis) >= 0)
    if not symmetric and any(monotone):
        check_tree(data, grower, tree, g, h, params)


def test_a_monotone_constraint_forbids_the_better_split():
    codes = np.arange(8).repeat(4)
    data = slow.Codes([codes, (codes % 2)], [8, 2], [False, False])
    g = np.where(codes < 4, -5.0, 5.0) + (codes % 2)  # prediction falls with feature 0
    _, free = grow(data, g, np.ones(32), FREE)
    _, rising = grow(data, g, np.ones(32), replace(FREE, monotone=(1, 0)))
    _, falling = grow(data, g, np.ones(32), replace(FREE, monotone=(-1, 0)))
    assert free.feature[0] == falling.feature[0] == 0
    assert 0 not in rising.feature[rising.kind > 0]


# ---- interactions and column samples -------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([((0, 1), (2, 3)), ((0,), (1,), (2,), (3,)), ((0, 1, 2), (2, 3)), ((0, 1),)]))
def test_features_of_a_path_share_a_set(seed, sets):
    data, g, h = random_problem(seed, 150, 4)
    params = replace(FREE, interaction_sets=sets, max_leaf_nodes=20)

    def allowed(node):
        return sorted({f for one in sets if set(node.path) <= set(one) for f in one})

    grower, tree = grow(data, g, h, params)
    for node in check_tree(data, grower, tree, g, h, params, allowed=allowed):
        assert any(set(node.path) <= set(one) for one in sets)


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9])
def test_a_share_of_the_columns_for_each_tree(growth, share):
    data, g, h = numeric_problem(5, 400, 10)
    g = np.round(5 * np.random.default_rng(0).normal(size=400))
    params = replace(FREE, growth=growth, colsample_tree=share, max_depth=8)
    codes, used = data.to_kernel(), []
    for seed in range(12):
        _, tree = grow(codes, g, h, params, seed=seed)
        used.append(frozenset(tree.feature[tree.kind > 0].tolist()))
    k = max(1, round(share * 10))
    assert max(len(features) for features in used) == k
    if growth != "symmetric":
        assert {len(features) for features in used} == {k}
    assert len(set(used)) > 3
    assert set().union(*used) == set(range(10)) or k == 1


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
def test_a_share_of_the_columns_for_each_level(growth):
    data, _, h = numeric_problem(6, 400, 10)
    g = np.round(5 * np.random.default_rng(1).normal(size=400))
    _, tree = grow(data, g, h, replace(FREE, growth=growth, colsample_level=0.1, max_depth=6), seed=3)
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
    _, tree = grow(data, g, h, replace(FREE, growth=growth, max_features=0.1, max_depth=6), seed=3)
    nodes = slow.walk(data, tree, np.arange(400), g, h, FREE)
    deepest = [node for node in nodes if node.depth == 4 and tree.kind[node.id] > 0]
    assert len({int(tree.feature[node.id]) for node in deepest}) > 3
    one_feature = [f for f in range(10) if tree.feature[0] == f]
    best = slow.best_gain(data, np.arange(400), g, h, slow.root_leaf(FREE), 0, one_feature, FREE)
    assert tree.gain[0] == pytest.approx(best, rel=1e-4)


# ---- symmetric trees -----------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(SEEDS, st.integers(1, 4), st.integers(1, 4), params_of_trees)
def test_symmetric_trees_are_those_of_brute_force(seed, n_features, max_depth, params):
    rng = np.random.default_rng(seed)
    data = random_codes(rng, 100, n_features, most_bins=6)
    g, h = random_statistics(rng, data)
    # Rows are counted where hessians count them: numeric features and equal hessians.
    least = params.min_samples_leaf if not any(data.categorical) and h.max() == 1 else 1
    params = replace(
        params, growth="symmetric", max_depth=max_depth, max_leaf_nodes=0, min_samples_leaf=least, min_child_weight=0.0
    )
    counted = replace(params, min_samples_leaf=least if least > 1 else 0)
    grower, tree = grow(data, g, h, params)
    nodes = slow.walk(data, tree, np.arange(100), g, h, params)
    check_sums(nodes, tree, g, h)
    check_routing(data, grower, tree, nodes)
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
    slack = sum(tolerance(node, best, g, h) for node in here)
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
        _, tree = grow(data, g, h, replace(FREE, growth="symmetric", max_leaf_nodes=most))
        assert np.sum(tree.kind == 0) == expected


# ---- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outlier", [1e6, 1e9, 1e12])
def test_one_huge_gradient_does_not_blind_the_search(outlier):
    data, g, h = random_problem(9, 300, 3, most_bins=8)
    g = g + 0.25
    g[17] = outlier
    rows = np.setdiff1d(np.arange(300), [17]).astype(np.uint32)
    params = replace(FREE, max_leaf_nodes=20)
    for sample in (None, rows):
        grower, tree = grow(data, g, h, params, sample)
        nodes = slow.walk(data, tree, np.arange(300) if sample is None else rows, g, h, params)
        check_sums(nodes, tree, g, h)
        check_routing(data, grower, tree, nodes)
        for node in nodes:
            if 17 in node.rows:
                continue
            best = slow.best_gain(data, node.rows, g, h, node.leaf, node.depth, range(3), params)
            if tree.kind[node.id] > 0:
                assert chosen_gain(data, tree, node, g, h, params) >= best * (1 - 1e-3)
            elif tree.n_nodes < 39:
                assert best <= 1e-6


def test_one_huge_weight_does_not_blind_the_search():
    data, g, h = random_problem(10, 300, 3, most_bins=8)
    h = h * 1.5
    g[17], h[17] = 1e9, 1e9
    rows = np.setdiff1d(np.arange(300), [17]).astype(np.uint32)
    params = replace(FREE, max_leaf_nodes=20, l2=1.0)
    _, tree = grow(data, g, h, params, rows)
    _, alone = grow(data.take(rows), g[rows], h[rows], params)
    for name in ("kind", "feature", "code", "n_rows"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(alone, name))


def large_problem(n_rows, n_features, seed=0):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 255, n_rows) for _ in range(n_features)]
    columns[1] = np.where(rng.random(n_rows) < 0.1, 255, columns[1])
    columns[2] = columns[2] % 40
    data = slow.Codes(columns, [255, 255, 40] + [255] * (n_features - 3), [False, False, True] + [False] * (n_features - 3))
    signal = np.sin(columns[0] / 20) + (columns[1] > 200) + np.cos(columns[2]) + columns[3] / 255
    return data, signal + rng.normal(size=n_rows), rng.random(n_rows) + 0.5


def test_large_tables_of_float32_have_nearly_the_trees_of_float64():
    data, g, h = large_problem(70_000, 4)
    codes = data.to_kernel()
    params = TreeParams(max_leaf_nodes=16)
    trees = [grow(codes, g.astype(real), h.astype(real), params)[1] for real in (np.float32, np.float64)]
    assert all(tree.packed for tree in trees)
    assert trees[0].gain.sum() == pytest.approx(trees[1].gain.sum(), rel=1e-3)
    assert (trees[0].feature[0], trees[0].code[0]) == (trees[1].feature[0], trees[1].code[0])
    assert trees[0].gradient[0] == pytest.approx(math.fsum(g), abs=1e-6 * math.fsum(abs(g)))


def test_heavy_tails_in_a_large_table_take_wide_lanes():
    data, g, h = large_problem(70_000, 4)
    g[5] = 1e6
    codes = data.to_kernel()
    for tail in (g, np.where(np.arange(70_000) % 7000 == 5, 1e8, g)):
        _, tree = grow(codes, tail.astype(np.float32), h.astype(np.float32), TreeParams(max_leaf_nodes=16))
        _, exact = grow(codes, tail, h, TreeParams(max_leaf_nodes=16))
        assert not tree.packed
        assert tree.gain.sum() == pytest.approx(exact.gain.sum(), rel=1e-3)


def test_statistics_of_no_size_grow_nothing():
    data, _, _ = numeric_problem(11, 50, 2)
    for h in (0.0, 1.0, 1e-250):
        _, tree = grow(data, np.zeros(50), np.full(50, h), FREE)
        assert tree.n_nodes == 1
        assert tree.values(FREE.to_kernel(), None)[0] == 0.0


@pytest.mark.parametrize("scale", [1e-120, 1e-30, 1e30, 1e100])
def test_the_unit_of_gradients_does_not_matter(scale):
    """Scaling by a power of two changes no split."""
    data, g, h = random_problem(12, 200, 4)
    factor = 2.0 ** round(math.log2(scale))
    _, tree = grow(data, g, h, FREE)
    _, scaled = grow(data, g * factor, h, FREE)
    for name in ("kind", "feature", "code", "left", "missing_left", "n_rows"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(scaled, name))
    np.testing.assert_allclose(scaled.gradient, tree.gradient * factor, rtol=1e-12)


# ---- threads -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize("n_features", [4, 20])
def test_trees_do_not_depend_on_threads(growth, n_features):
    data, g, h = large_problem(60_000, n_features)
    codes = data.to_kernel()
    params = TreeParams(growth=growth, max_leaf_nodes=64, max_depth=8, min_samples_leaf=50, max_features=0.7)
    rows = _kernel.subsample_rows(60_000, 0.9, 1, 1)
    for sample in (None, rows):
        grower, tree = grow(codes, g, h, params, sample)
        for threads in (2, 3, 8):
            other_grower, other = grow(codes, g, h, params, sample, threads)
            assert_same_tree(tree, other)
            np.testing.assert_array_equal(grower.leaf_of_row, other_grower.leaf_of_row)


def test_many_blocks_of_features_do_not_depend_on_threads():
    rng = np.random.default_rng(13)
    n_bins = [int(n) for n in rng.choice([3, 100, 300, 1000], 150)]
    data = slow.Codes([rng.integers(0, n, 3000) for n in n_bins], n_bins, [False] * 150)
    g = np.round(data.columns[70] % 7 - 3 + data.columns[140] / n_bins[140] * 6)
    codes, h = data.to_kernel(), np.ones(3000)
    _, tree = grow(codes, g, h, replace(FREE, max_leaf_nodes=10))
    for threads in (2, 3):
        assert_same_tree(tree, grow(codes, g, h, replace(FREE, max_leaf_nodes=10), threads=threads)[1])
    best = slow.best_gain(data, np.arange(3000), g, h, slow.root_leaf(FREE), 0, [int(tree.feature[0])], FREE)
    assert tree.gain[0] == pytest.approx(best, rel=1e-4)


def test_a_grower_is_used_again():
    """Workspaces of earlier, larger trees leave no trace."""
    data, g, h = random_problem(14, 300, 4, most_bins=40)
    grower = _kernel.Grower(data.to_kernel(), 1)
    rows = np.arange(0, 300, 3, dtype=np.uint32)
    for params in (FREE, replace(FREE, growth="symmetric", max_depth=3), replace(FREE, max_leaf_nodes=4)):
        for sample in (None, rows):
            for statistics in (g, np.where(np.arange(300) == 7, 1e15, g)):
                tree = grower.grow(statistics, h, sample, params.to_kernel(), 0)
                fresh, expected = grow(data, statistics, h, params, sample)
                assert_same_tree(tree, expected)
                np.testing.assert_array_equal(grower.leaf_of_row, fresh.leaf_of_row)


def test_values_are_added_to_the_rows_of_each_leaf():
    data, g, h = random_problem(15, 200, 3)
    grower, tree = grow(data, g, h, FREE)
    values, raw = np.linspace(0, 1, tree.n_nodes), np.arange(200.0)
    expected = raw + values[grower.leaf_of_row]
    grower.add_values(values, raw)
    np.testing.assert_array_equal(raw, expected)
