"""Cosine scores of symmetric trees: the cut of every level is the best of all, by a plain twin."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.ensembles.boosting.test_score_noise import NOISE, draw, standard_normal
from tests.reference import growing as slow

import arboretum as arb
from arboretum import _kernel
from arboretum.ensembles.boosting.score_noise import noise_deviation
from arboretum.growing.grower import TreeParams

SEEDS = st.integers(0, 2**32 - 1)
SYMMETRIC = TreeParams(growth="symmetric", max_depth=3, max_leaf_nodes=0, min_samples_leaf=1, l2=3.0, cosine=True)


# ---- a plain twin --------------------------------------------------------------------------------------------------


def cosine(sides):
    """−Σ G w / √(Σ H w²) over (sums, value) of leaves."""
    square = math.fsum(s.h * w * w for s, w in sides)
    return -math.fsum(s.g * w for s, w in sides) / math.sqrt(square) if square > 0 else 0.0


def cuts_of_level(data, level, g, h, params):
    """{(feature, codes that go left): (gain, cosine)} of every cut that the nodes of a level share."""
    rows, found = [node.rows for node in level], {}
    for f in range(len(data.columns)):
        direction = params.monotone[f] if params.monotone else 0
        bins = [slow.histogram(data.columns[f], node.rows, g, h) for node in level]
        for condition in slow.shared_conditions(data, f, rows, g, h, params):
            gain, sides = 0.0, []
            for node, own in zip(level, bins, strict=True):
                whole = sum(own.values(), slow.Sums())
                left = sum((s for code, s in own.items() if code in condition), slow.Sums())
                own_gain = slow.gain(left, whole, node.leaf, direction, params)
                forbidden = own_gain == -math.inf
                gain += 0.0 if forbidden else own_gain
                parts = [whole] if forbidden else [left, whole - left]
                sides += [(part, node.leaf.value(part)) for part in parts]
            found[f, condition] = gain, cosine(sides)
    return found


def check_level(data, tree, level, g, h, params, key):
    """Assert that the cut of a level scores best, noise included, of those that gain enough."""
    found = cuts_of_level(data, level, g, h, replace(params, min_samples_leaf=0))
    before = cosine([(s, node.leaf.value(s)) for node in level for s in [slow.sums(node.rows, g, h)]])
    noise = [params.score_noise * standard_normal(draw(key, f)) for f in range(len(data.columns))]
    slack = 1e-4 * max((abs(c - before) for _, c in found.values()), default=0.0) + 1e-5 * before
    slack_gain = sum(slow.tolerance(node, max(gain for gain, _ in found.values()), g, h) for node in level)
    enough = {cut: c for cut, (gain, c) in found.items() if gain > params.min_gain + slack_gain}
    chosen = int(tree.feature[level[0].id])
    left, present = slow.left_codes(tree, level[0].id, data.n_bins[chosen]), set(data.columns[chosen].tolist())
    same = [both for (f, codes), both in found.items() if f == chosen and codes & present == left & present]
    assert same, "the tree cuts where the twin knows no cut"
    assert max(gain for gain, _ in same) > params.min_gain - slack_gain
    of_feature = max((c for (f, _), c in enough.items() if f == chosen), default=-math.inf)
    assert max(c for _, c in same) >= of_feature - slack
    best_of = [max((c for (f, _), c in enough.items() if f == i), default=-math.inf) + z for i, z in enumerate(noise)]
    assert max(c for _, c in same) + noise[chosen] >= max(best_of) - slack - 1e-12 * params.score_noise


# ---- trees ---------------------------------------------------------------------------------------------------------

params_of_cosine = st.builds(
    replace,
    st.just(SYMMETRIC),
    min_child_weight=st.sampled_from([0.0, 1e-3, 3.0]),
    l1=st.sampled_from([0.0, 0.5]),
    l2=st.sampled_from([0.0, 1.0, 30.0]),
    min_gain=st.sampled_from([0.0, 2.0]),
    max_delta_step=st.sampled_from([0.0, 0.3]),
    score_noise=st.sampled_from([0.0, 0.0, 1.0, 1e6]),
)


@hypothesis_settings(max_examples=120)
@given(SEEDS, st.sampled_from([5, 30, 100]), st.integers(1, 4), params_of_cosine, st.booleans())
def test_cuts_are_those_of_the_twin(seed, n_rows, n_features, params, monotone):
    rng = np.random.default_rng(seed)
    data = slow.random_codes(rng, n_rows, n_features, most_bins=6)
    g, h = slow.random_statistics(rng, data)
    if monotone:
        params = replace(params, monotone=tuple(0 if c else 1 for c in data.categorical))
    grower, tree = slow.grow_tree(data, g, h, params, seed=seed)
    nodes = slow.walk(data, tree, np.arange(n_rows), g, h, params)
    slow.check_sums(nodes, tree, g, h)
    slow.check_routing(data, grower, tree, nodes)
    for depth in range(max(node.depth for node in nodes)):
        level = [node for node in nodes if node.depth == depth]
        check_level(data, tree, level, g, h, params, _kernel.draw(seed, NOISE, depth))


@pytest.mark.parametrize("seed", range(20))
def test_gains_of_nodes_are_gains(seed):
    data, g, h = slow.random_problem(seed, 200, 4)
    _, tree = slow.grow_tree(data, g, h, SYMMETRIC)
    for node in slow.walk(data, tree, np.arange(200), g, h, SYMMETRIC):
        if tree.kind[node.id] == 0:
            continue
        parts = [slow.Sums(tree.gradient[i], tree.hessian[i]) for i in (tree.left[node.id], tree.right[node.id])]
        gain = 0.5 * (sum(map(node.leaf.score, parts)) - node.leaf.score(sum(parts, slow.Sums())))
        assert tree.gain[node.id] == pytest.approx(max(gain, 0.0), abs=slow.tolerance(node, gain, g, h))


def same_tree(a, b):
    return np.array_equal(a.feature, b.feature) and np.array_equal(a.code, b.code)


def test_without_l2_cosines_and_gains_agree_and_with_it_they_part():
    parted = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        codes = [rng.integers(0, 8, 300) for _ in range(4)]
        data, g, h = slow.Codes(codes, [8] * 4, [False] * 4), rng.normal(size=300), np.ones(300)
        trees = {
            (l2, by): slow.grow_tree(data, g, h, replace(SYMMETRIC, l2=l2, cosine=by))[1]
            for l2 in (0.0, 30.0)
            for by in (False, True)
        }
        assert same_tree(trees[0.0, False], trees[0.0, True])
        parted += not same_tree(trees[30.0, False], trees[30.0, True])
    assert parted > 5


@pytest.mark.parametrize("growth", ["leaf", "level"])
def test_other_growth_goes_by_gain(growth):
    data, g, h = slow.random_problem(2, 300, 5)
    params = TreeParams(growth=growth, min_samples_leaf=2, l2=3.0)
    slow.assert_same_tree(
        slow.grow_tree(data, g, h, params)[1], slow.grow_tree(data, g, h, replace(params, cosine=True))[1]
    )


def test_the_tree_ignores_the_unit_of_gradients():
    data, g, h = slow.random_problem(4, 300, 5)
    _, tree = slow.grow_tree(data, g, h, SYMMETRIC)
    for scale in (2.0**-30, 2.0**30):
        assert same_tree(tree, slow.grow_tree(data, g * scale, h, SYMMETRIC)[1])


# ---- models --------------------------------------------------------------------------------------------------------


def table(n_rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + np.nan_to_num(X[:, 2]) + rng.normal(size=n_rows)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_models_are_the_same_for_any_number_of_threads(noise):
    X, y = table()
    options = {"n_estimators": 10, "growth": "symmetric", "split_score": "cosine", "l2": 3.0, "score_noise": noise}
    prints = {arb.BoostedTreesRegressor(n_jobs=n, **options).fit(X, y).fingerprint() for n in (1, 2, 3, 8)}
    assert len(prints) == 1
    assert arb.BoostedTreesRegressor(**{**options, "split_score": "gain"}).fit(X, y).fingerprint() not in prints


@pytest.mark.parametrize("cls", [arb.BoostedTreesRegressor, arb.BoostedTreesClassifier])
@pytest.mark.parametrize("growth", ["leaf", "level"])
def test_cosine_needs_symmetric_growth(cls, growth):
    X, y = table(100)
    model = cls(split_score="cosine", growth=growth)
    with pytest.raises(ValueError, match=f"split_score='cosine' with growth='{growth}'.*use growth='symmetric'"):
        model.fit(X, y > 0)


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_odd_targets_still_learn(scale):
    X, y = table(500)
    model = arb.BoostedTreesRegressor(n_estimators=20, growth="symmetric", split_score="cosine").fit(X, y * scale)
    assert model.score(X, y * scale) > 0.3


def test_noise_of_cosines_is_that_of_the_root():
    g, h = np.array([3.0, -1.0, 2.0]), np.array([1.0, 0.5, 2.0])
    unit = noise_deviation(1.0, g, h, 0.7, n_rows=len(g))
    left = 3 * math.exp(-0.7)
    share = left / (1 + left)
    assert noise_deviation(2.0, g, h, 0.7, n_rows=len(g), cosine=True) == pytest.approx(
        2 * share * math.sqrt(unit / share)
    )
