"""Noise of split scores: who wins is decided with it, everything that is kept is true."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.reference import growing as slow

import arboretum as arb
from arboretum import _kernel
from arboretum.ensembles.boosting.score_noise import noise_deviation
from arboretum.growing.grower import TreeParams

SEEDS = st.integers(0, 2**32 - 1)
WORD = 2**64 - 1
ROOT, NOISE = 0x726F6F74, 0x6E6F6973  # "root", "nois"
GROWTHS = ["leaf", "level", "symmetric"]


# ---- a plain twin --------------------------------------------------------------------------------------------------


def mix(x):
    """SplitMix64's finaliser."""
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & WORD
    return x ^ x >> 31


def draw(seed, counter):
    return mix(seed ^ mix(counter))


def standard_normal(bits):
    u, v = (mix(bits) >> 11) * 2.0**-53, (bits >> 11) * 2.0**-53
    return math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)


def paths(tree, seed):
    """Hash of the way from the root to every node."""
    found = {0: draw(seed, ROOT)}
    for node in range(tree.n_nodes):
        if tree.kind[node] > 0:
            found[int(tree.left[node])] = draw(found[node], 1)
            found[int(tree.right[node])] = draw(found[node], 2)
    return found


def check_choice(gains, key, chosen, params, slack):
    """Of all features that gain enough, the chosen one scores best."""
    scores = {f: gain + params.score_noise * standard_normal(draw(key, f)) for f, gain in gains.items()}
    eligible = [scores[f] for f, gain in gains.items() if gain > params.min_gain + slack]
    assert gains[chosen] > params.min_gain - slack
    assert scores[chosen] >= max(eligible, default=-math.inf) - slack


def best_of(splits):
    return max((gain for gain, _ in splits), default=-math.inf)


def test_draws_are_those_of_the_kernel():
    for seed, a, b in ((0, 0, 0), (1, 2, 3), (WORD, ROOT, 17)):
        assert draw(draw(seed, a), b) == _kernel.draw(seed, a, b)


def test_noise_is_normal():
    noise = np.array([standard_normal(draw(7, i)) for i in range(20_000)])
    assert abs(noise.mean()) < 0.02
    assert abs(noise.var() - 1) < 0.04
    assert abs(np.mean(noise**3)) < 0.1
    assert abs(np.mean(noise**4) - 3) < 0.2
    assert 3.5 < np.abs(noise).max() < 6


# ---- trees ---------------------------------------------------------------------------------------------------------

noisy_params = st.builds(
    TreeParams,
    growth=st.sampled_from(["leaf", "level"]),
    max_leaf_nodes=st.sampled_from([2, 5, 31]),
    min_samples_leaf=st.sampled_from([1, 5, 20]),
    l1=st.sampled_from([0.0, 2.5]),
    l2=st.sampled_from([0.0, 1.0]),
    min_gain=st.sampled_from([0.0, 4.0]),
    score_noise=st.sampled_from([0.5, 10.0, 1e3, 1e9]),
)


@hypothesis_settings(max_examples=80)
@given(SEEDS, st.sampled_from([10, 60, 200]), st.integers(1, 6), noisy_params, st.booleans())
def test_trees_are_those_of_the_twin(seed, n_rows, n_features, params, monotone):
    data, g, h = slow.random_problem(seed, n_rows, n_features)
    if monotone:
        params = replace(params, monotone=tuple(0 if c else 1 for c in data.categorical))
    grower, tree = slow.grow_tree(data, g, h, params, seed=seed)
    nodes = slow.walk(data, tree, np.arange(n_rows), g, h, params)
    slow.check_sums(nodes, tree, g, h)
    slow.check_routing(data, grower, tree, nodes)
    slow.check_limits(nodes, tree, params, h)
    key_of = paths(tree, seed)
    for node in nodes:
        if tree.kind[node.id] == 0:
            continue
        chosen = int(tree.feature[node.id])
        gains = {f: best_of(slow.splits(data, f, node.rows, g, h, node.leaf, params)) for f in range(n_features)}
        slack = slow.tolerance(node, max(gains.values()), g, h) + 1e-12 * params.score_noise
        check_choice(gains, draw(key_of[node.id], NOISE), chosen, params, slack)
        assert tree.gain[node.id] == pytest.approx(gains[chosen], abs=slow.tolerance(node, gains[chosen], g, h))
        assert tree.gain[node.id] > params.min_gain


@hypothesis_settings(max_examples=40)
@given(SEEDS, st.integers(1, 5), st.sampled_from([0.5, 10.0, 1e9]))
def test_symmetric_trees_are_those_of_the_twin(seed, n_features, noise):
    rng = np.random.default_rng(seed)
    data = slow.random_codes(rng, 100, n_features, most_bins=6)
    g, h = slow.random_statistics(rng, data)
    params = TreeParams(growth="symmetric", max_depth=3, max_leaf_nodes=0, min_samples_leaf=1, score_noise=noise)
    counted = replace(params, min_samples_leaf=0)
    _, tree = slow.grow_tree(data, g, h, params, seed=seed)
    nodes = slow.walk(data, tree, np.arange(100), g, h, params)
    for depth in range(max(node.depth for node in nodes)):
        level = [node for node in nodes if node.depth == depth]
        rows, leaves = [node.rows for node in level], [node.leaf for node in level]
        gains = {f: best_of(slow.shared_splits(data, f, rows, g, h, leaves, counted)) for f in range(n_features)}
        slack = sum(slow.tolerance(node, gain, g, h) for node in level for gain in gains.values()) + 1e-12 * noise
        key = _kernel.draw(seed, NOISE, depth)
        check_choice(gains, key, int(tree.feature[level[0].id]), params, slack)


def test_the_next_node_is_that_of_the_largest_true_gain():
    data, g, h = slow.random_problem(3, 400, 6)
    params = TreeParams(min_samples_leaf=1, max_leaf_nodes=40, score_noise=100.0)
    _, tree = slow.grow_tree(data, g, h, params)
    parents = {int(tree.left[i]): i for i in range(tree.n_nodes) if tree.kind[i] > 0}
    waiting = {0}
    for k in range(tree.n_nodes // 2):
        node = parents[2 * k + 1]
        assert tree.gain[node] == max(tree.gain[i] for i in waiting)
        waiting = waiting - {node} | {i for i in (2 * k + 1, 2 * k + 2) if tree.kind[i] > 0}


@pytest.mark.parametrize("growth", GROWTHS)
def test_noise_too_small_to_matter_changes_no_bit(growth):
    """Doubled columns tie, and the first still wins: noise of 0 and noise that rounds away are the same search."""
    data, g, h = slow.random_problem(5, 300, 8)
    params = TreeParams(growth=growth, min_samples_leaf=2, max_leaf_nodes=32, max_depth=5)
    _, plain = slow.grow_tree(data, g, h, params)
    _, tiny = slow.grow_tree(data, g, h, replace(params, score_noise=1e-200))
    slow.assert_same_tree(plain, tiny)


def test_noise_breaks_ties_of_doubled_columns():
    data, g, h = slow.random_problem(1, 300, 1)
    for _ in range(3):
        data = data.with_feature(data.columns[0], data.n_bins[0], data.categorical[0])
    params = TreeParams(max_leaf_nodes=2, min_samples_leaf=1, score_noise=1e-3)
    chosen = [slow.grow_tree(data, g, h, params, seed=seed)[1].feature[0] for seed in range(200)]
    assert np.bincount(chosen, minlength=4).min() > 25


# ---- models --------------------------------------------------------------------------------------------------------


def table(n_rows=600, n_columns=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, 2 * X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=n_rows)


def chosen_features(model):
    forest = model.forest_
    return forest.feature[forest.kind > 0]


@pytest.mark.parametrize("growth", GROWTHS)
def test_huge_noise_chooses_every_feature_equally_often(growth):
    """Stumps where the largest true gain says which node is next: it favours nodes that drew a strong feature."""
    X, y = table(300, 8)
    most = 2 if growth == "leaf" else 4
    model = arb.BoostedTreesRegressor(
        n_estimators=400, growth=growth, max_leaf_nodes=most, learning_rate=1e-4, score_noise=1e9
    ).fit(X, y)
    counts = np.bincount(chosen_features(model), minlength=8)
    assert counts.sum() >= 400
    spread = 5 / 3 if growth == "symmetric" else 1  # variance / mean of draws that count 1 and 2
    mean = counts.mean()
    assert np.sum((counts - mean) ** 2) / (mean * spread) < 24.3  # chi-squared, 7 degrees of freedom: 0.1 %


def test_noise_fades_with_the_model():
    """At first the strong column wins against moderate noise only sometimes; once ln rows is passed, always."""
    X, y = table(200, 6)
    options = {"n_estimators": 60, "max_leaf_nodes": 2, "score_noise": 1e9, "l2": 1e6, "max_features": 1.0}
    model = arb.BoostedTreesRegressor(learning_rate=1.0, **options).fit(X, y)
    chosen = chosen_features(model)
    assert len(set(chosen[:6].tolist())) > 2
    assert set(chosen[-10:].tolist()) == {0}


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"monotonic_cst": {"x0": 1}},
        {"subsample": 0.5, "max_features": 0.5},
        {"sampling": "goss"},
        {"trees_per_round": 2, "subsample": 0.5},
        {"ordered_boosting": 1},
    ],
    ids=str,
)
def test_threads_do_not_matter(growth, options):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(6000, 5)), columns=[f"x{i}" for i in range(5)])
    X["city"] = pd.Categorical(rng.choice(list("abcdefgh"), 6000))
    X.loc[rng.random(6000) < 0.1, "x1"] = np.nan
    y = X["x0"] + np.sin(X["x2"]) + X["city"].cat.codes % 3 + rng.normal(size=6000)
    fits = [
        arb.BoostedTreesRegressor(n_estimators=3, growth=growth, score_noise=100.0, n_jobs=n_jobs, **options).fit(X, y)
        for n_jobs in (1, 2, 3, 8)
    ]
    assert len({model.fingerprint() for model in fits}) == 1
    without = arb.BoostedTreesRegressor(n_estimators=3, growth=growth, **options).fit(X, y)
    assert without.fingerprint() != fits[0].fingerprint()


def test_the_order_of_columns_does_not_matter():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = arb.BoostedTreesRegressor(n_estimators=5, score_noise=3.0)
    fingerprints = {model.fit(frame[list(order)], y).fingerprint() for order in ("abcdef", "fedcba", "cafebd")}
    assert len(fingerprints) == 1


def test_bundles_do_not_matter():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 12, 800)
    X = np.where(np.arange(12) == group[:, None], rng.normal(size=(800, 12)) + 2, 0.0)
    y = np.sin(group) + X.sum(axis=1) / 5 + rng.normal(size=800) / 4
    model = arb.BoostedTreesRegressor(n_estimators=5, score_noise=3.0)
    dense = model.fit(X, y).fingerprint()
    assert model.fit(scipy.sparse.csr_array(X), y).fingerprint() == dense


def test_a_constraint_holds_under_noise():
    X, y = table()
    model = arb.BoostedTreesRegressor(n_estimators=20, score_noise=5.0, monotonic_cst=[1, 0, 0, 0, 0, 0]).fit(X, y)
    grid = np.repeat(X[:20], 100, axis=0)
    grid[:, 0] = np.tile(np.linspace(-4, 4, 100), 20)
    assert (np.diff(model.predict(grid).reshape(20, 100), axis=1) >= 0).all()


def test_stopping_and_going_on_is_the_same_as_never_stopping():
    X, y = table()
    options = {"score_noise": 3.0, "learning_rate": 0.3}
    whole = arb.BoostedTreesRegressor(n_estimators=10, **options).fit(X, y)
    parts = arb.BoostedTreesRegressor(n_estimators=4, **options).fit(X, y).fit_more(X, y, n_estimators=6)
    np.testing.assert_array_equal(whole.forest_.feature, parts.forest_.feature)
    np.testing.assert_array_equal(whole.forest_.threshold, parts.forest_.threshold)


@pytest.mark.parametrize("what", ["target", "weight"])
def test_units_do_not_matter(what):
    """Powers of two: every sum is scaled exactly."""
    X, y = table()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    options = {"n_estimators": 8, "score_noise": 2.0, "min_child_weight": 0.0}
    plain = arb.BoostedTreesRegressor(**options).fit(X, y, weight)
    factors = (1024.0, 1.0) if what == "target" else (1.0, 1024.0)
    scaled = arb.BoostedTreesRegressor(**options).fit(X, y * factors[0], weight * factors[1])
    np.testing.assert_array_equal(plain.forest_.feature, scaled.forest_.feature)
    np.testing.assert_array_equal(plain.forest_.threshold, scaled.forest_.threshold)


def test_gains_of_noisy_models_exceed_the_least():
    X, y = table()
    model = arb.BoostedTreesRegressor(n_estimators=10, score_noise=1e6, min_gain=2.0).fit(X, y)
    gains = model.forest_.gain[model.forest_.kind > 0]
    assert len(gains)
    assert gains.min() > 2.0


# ---- the deviation -------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3)), min_size=1, max_size=30),
    st.floats(0.01, 100),
    st.floats(0, 50),
)
def test_the_deviation_is_that_of_the_equation(rows, strength, length):
    g, h = np.array(rows).T
    left = math.exp(math.log(len(g)) - length)
    expected = strength * math.fsum(g * g) / math.fsum(h) * left / (1 + left)
    assert noise_deviation(strength, g, h, length, n_rows=len(g)) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_odd_gradients_have_a_finite_deviation(real):
    assert noise_deviation(1.0, np.ones(3, real), np.zeros(3, real), 0.0, n_rows=3) == 0.0
    assert noise_deviation(1.0, np.zeros(3, real), np.ones(3, real), 0.0, n_rows=3) == 0.0
    assert noise_deviation(1e9, np.full(3, 1e30, real), np.full(3, 1e-30, real), 0.0, n_rows=3) <= 1e300
    assert noise_deviation(1.0, np.full(3, np.inf, real), np.ones(3, real), 0.0, n_rows=3) <= 1e300
    assert noise_deviation(1.0, np.ones(3, real), np.ones(3, real), np.inf, n_rows=3) == 0.0


def test_chance_gains_half_the_unit():
    """Σ g² / Σ h is twice the mean gain of a split at random."""
    rng = np.random.default_rng(0)
    g, h = rng.normal(size=400), rng.random(400) + 0.5
    g -= h * g.sum() / h.sum()
    gains = []
    for _ in range(4000):
        left = rng.random(400) < 0.5
        parts = (g[left].sum(), h[left].sum()), (g[~left].sum(), h[~left].sum())
        gains.append(0.5 * sum(a * a / b for a, b in parts))
    assert noise_deviation(1.0, g, h, 0.0, n_rows=len(g)) / 2 == pytest.approx(np.mean(gains), rel=0.1)
