"""Quantiles and standard errors against their definitions, row by row."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from arboretum.ensembles.bagging import leaf_statistics, shared_leaves
from arboretum.ensembles.bagging.leaf_statistics import forest_quantiles, infinitesimal_jackknife

# ---- quantiles -----------------------------------------------------------------------------------------------------


def plain_quantile(train_leaves, y, leaves, q, amount):
    """Follow the definition in exact arithmetic."""
    results = []
    for x in leaves:
        weights = [Fraction(0)] * len(y)
        for t, leaf in enumerate(x):
            members = [i for i in range(len(y)) if train_leaves[i, t] == leaf]
            size = sum((Fraction(amount[i, t]) for i in members), Fraction(0))
            for i in members:
                weights[i] += Fraction(amount[i, t]) / size if size else 0
        seen = sorted({y[i] for i in range(len(y)) if weights[i] > 0})
        upto = (v for v in seen if sum(w for w, own in zip(weights, y, strict=True) if own <= v) >= q * sum(weights))
        results.append(next(upto, np.nan))
    return np.array(results)


@st.composite
def forests(draw):
    """Leaves of training rows and new rows; some new rows reach leaves without training rows."""
    n, rows, trees = draw(st.integers(0, 8)), draw(st.integers(0, 4)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    nodes = draw(st.integers(1, 4))
    train, new = rng.integers(0, nodes, (n, trees)), rng.integers(0, nodes + 1, (rows, trees))
    y = draw(st.lists(st.sampled_from([-np.inf, -1e300, -1.0, 0.0, 1.0, 2.0, 3.0, np.inf]), min_size=n, max_size=n))
    copies = rng.integers(0, 3, (n, trees)) if draw(st.booleans()) else None
    weight = rng.integers(0, 4, n) if draw(st.booleans()) else None
    return train, y, new, copies, weight


@given(forests(), st.fractions(0, 1, max_denominator=12), st.sampled_from([1, 5, 1 << 20]), st.integers(1, 2))
@settings(max_examples=150)
def test_quantiles_are_the_definition_for_any_blocks(forest, q, most, threads):
    train, y, new, copies, weight = forest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_leaves, "MOST_ENTRIES", most)
        found = forest_quantiles(train, y, new, float(q), weight=weight, copies=copies, threads=threads)
    amount = np.ones(train.shape, dtype=int) if copies is None else copies
    if weight is not None:
        amount = amount * weight[:, np.newaxis]
    np.testing.assert_array_equal(found, plain_quantile(train, y, new, q, amount))


def test_one_quantile_or_several():
    train, y, new = np.array([[1], [1], [1], [1]]), [4.0, 1.0, 3.0, 2.0], np.array([[1], [2]])
    assert forest_quantiles(train, y, new, 0.5).shape == (2,)
    several = forest_quantiles(train, y, new, [0.0, 0.25, 0.26, 0.5, 0.75, 0.76, 1.0])
    np.testing.assert_array_equal(several, [[1, 1, 2, 2, 3, 4, 4], [np.nan] * 7])
    assert forest_quantiles(train, y, new[:0], [0.1, 0.2]).shape == (0, 2)
    assert forest_quantiles(train, y, new, []).shape == (2, 0)


def test_sums_of_thirds_and_sevenths_reach_what_they_are():
    """In 21 trees of leaves of 3 and 7 rows a half is a half, though no binary number is a third."""
    train = np.zeros((42, 2), dtype=int)
    train[:, 0], train[:, 1] = np.arange(42) // 3, np.arange(42) // 7
    for size, column in ((3, 0), (7, 1)):
        for k in range(1, size + 1):
            leaves, y = train[:1, [column] * 21], np.arange(42.0)
            assert forest_quantiles(train[:, [column] * 21], y, leaves, k / size)[0] == k - 1


@pytest.mark.parametrize("trees", [1000, 1024, 5000])
def test_weights_of_many_trees_do_not_overflow(trees):
    train, y = np.array([0, 0, 0, 1])[:, np.newaxis].repeat(trees, axis=1), [3.0, 1.0, 2.0, 9.0]
    found = forest_quantiles(train, y, train, [0.0, 0.3, 0.5, 0.9, 1.0])
    np.testing.assert_array_equal(found, [[1, 1, 2, 3, 3]] * 3 + [[9] * 5])


@pytest.fixture(scope="module")
def sine():
    """Noise that grows with x, and a forest of scikit-learn's."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 4, (3000, 1))
    y = np.sin(X[:, 0]) + (0.2 + X[:, 0] / 4) * rng.normal(size=3000)
    forest = RandomForestRegressor(30, min_samples_leaf=15, random_state=0).fit(X[:2000], y[:2000])
    return forest.apply(X[:2000]), y[:2000], forest.apply(X[2000:]), y[2000:], X[2000:, 0]


def test_intervals_cover_as_they_say_and_widen_with_the_noise(sine):
    train, y, new, truth, x = sine
    low, high = forest_quantiles(train, y, new, [0.1, 0.9], threads=2).T
    assert 0.75 < np.mean((low <= truth) & (truth <= high)) < 0.85
    assert np.mean((high - low)[x > 3]) > 2 * np.mean((high - low)[x < 1])


def test_quantiles_never_cross_and_do_not_depend_on_the_batch(sine):
    train, y, new, _, _ = sine
    grid = np.linspace(0, 1, 41)
    whole = forest_quantiles(train, y, new, grid)
    assert (np.diff(whole, axis=1) >= 0).all()
    assert np.isin(whole, y).all()
    np.testing.assert_array_equal(forest_quantiles(train, y, new[17:30], grid), whole[17:30])
    np.testing.assert_array_equal(forest_quantiles(train, y, new[[500]], 0.5), whole[[500], 20])


def test_order_of_rows_and_weights_as_repetitions(sine):
    train, y, new, _, _ = sine
    shuffled = np.random.default_rng(0).permutation(len(y))
    weight = np.arange(len(y)) % 3
    expected = forest_quantiles(train, y, new[:100], [0.2, 0.7], weight=weight)
    np.testing.assert_array_equal(
        forest_quantiles(train[shuffled], y[shuffled], new[:100], [0.2, 0.7], weight=weight[shuffled]), expected
    )
    repeated = np.repeat(np.arange(len(y)), weight)
    np.testing.assert_array_equal(forest_quantiles(train[repeated], y[repeated], new[:100], [0.2, 0.7]), expected)
    copies = np.repeat(weight[:, np.newaxis], train.shape[1], axis=1)
    np.testing.assert_array_equal(forest_quantiles(train, y, new[:100], [0.2, 0.7], copies=copies), expected)


@pytest.mark.parametrize("q", [-0.1, 1.1, np.nan, [0.5, 2], [[0.5]]])
def test_q_outside_of_its_range(q):
    with pytest.raises(ValueError, match=r"q=.*use a number from 0 to 1"):
        forest_quantiles(np.ones((1, 1), dtype=int), [1.0], np.ones((1, 1), dtype=int), q)


def test_tables_must_fit_each_other():
    train, new = np.ones((3, 2), dtype=int), np.ones((1, 2), dtype=int)
    with pytest.raises(ValueError, match="leaves has 1 trees, but train_leaves has 2"):
        forest_quantiles(train, [1, 2, 3], new[:, :1], 0.5)
    with pytest.raises(ValueError, match=r"y has the shape \(2,\): give one target for each of the 3"):
        forest_quantiles(train, [1, 2], new, 0.5)
    with pytest.raises(ValueError, match="y is missing in row 1"):
        forest_quantiles(train, [1, np.nan, 3], new, 0.5)
    with pytest.raises(ValueError, match=r"copies has the shape \(3, 1\).*\(3, 2\)"):
        forest_quantiles(train, [1, 2, 3], new, 0.5, copies=np.ones((3, 1)))
    for weight in ([1, 2], [1, 2, -1], [1, 2, np.inf]):
        with pytest.raises(ValueError, match="weight: expected a finite number of at least 0 for each of the 3"):
            forest_quantiles(train, [1, 2, 3], new, 0.5, weight=weight)


# ---- standard error ------------------------------------------------------------------------------------------------


def plain_jackknife(predictions, copies):
    n, n_trees = copies.shape
    results = []
    for t in predictions:
        covariances = [np.mean((copies[i] - copies[i].mean()) * (t - t.mean())) for i in range(n)]
        noise = sum(copies[i].var() for i in range(n)) * t.var() / n_trees
        results.append(np.sqrt(max(sum(c**2 for c in covariances) - noise, 0.0)))
    return np.array(results)


def draw_copies(rng, n, trees, draws=None):
    return np.stack([np.bincount(rng.integers(n, size=draws or n), minlength=n) for _ in range(trees)], axis=1)


@pytest.mark.parametrize(
    ("n", "trees", "kind"), [(1, 3, np.int64), (7, 2, np.uint8), (30, 50, np.uint8), (5, 200, int)]
)
def test_jackknife_is_the_definition_for_any_blocks(n, trees, kind, monkeypatch):
    rng = np.random.default_rng(n)
    copies = draw_copies(rng, n, trees) if n > 1 else np.array([[0, 2, 1]])
    predictions = copies.T[:, :1].T * 0.3 + rng.normal(size=(6, trees)) * 0.2 + 1e3
    expected = plain_jackknife(predictions, copies)
    for cells in (1, 4 * trees, 1 << 22):
        monkeypatch.setattr(leaf_statistics, "CELLS_AT_ONCE", cells)
        np.testing.assert_allclose(infinitesimal_jackknife(predictions, copies.astype(kind)), expected, atol=1e-9)
    both = infinitesimal_jackknife(np.stack([predictions, -3 * predictions], axis=2), copies.astype(kind))
    np.testing.assert_allclose(both, np.stack([expected, 3 * expected], axis=1), atol=1e-9)


@pytest.mark.parametrize("draws", [50, 25])
def test_the_mean_of_a_bootstrap_has_the_error_of_a_mean(draws):
    """Of trees that predict the mean of what they drew, the error is known: σ / √n."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    copies = draw_copies(rng, 50, 20_000, draws)
    se = infinitesimal_jackknife((y @ copies / draws)[np.newaxis], copies)
    assert se[0] == pytest.approx(y.std() / np.sqrt(50), rel=0.05)


def test_the_correction_takes_off_what_few_trees_add():
    """Trees that are noise have no error by their rows: uncorrected, it would be that of the noise."""
    rng = np.random.default_rng(0)
    copies, noise = draw_copies(rng, 100, 100), rng.normal(size=(200, 100))
    uncorrected = np.sqrt(np.sum((noise @ (copies - copies.mean(1, keepdims=True)).T / 100) ** 2, axis=1)).mean()
    assert infinitesimal_jackknife(noise, copies).mean() < 0.35 * uncorrected


def test_error_of_a_forest_is_how_it_varies_over_samples():
    rng = np.random.default_rng(5)
    at = np.linspace(-1.5, 1.5, 15)[:, np.newaxis]
    means, errors = [], []
    for _ in range(15):
        X = rng.uniform(-2, 2, (100, 1))
        y, copies = X[:, 0] + 0.5 * rng.normal(size=100), draw_copies(rng, 100, 120)
        trees = [DecisionTreeRegressor(min_samples_leaf=5).fit(X, y, drawn) for drawn in copies.T]
        predictions = np.stack([tree.predict(at) for tree in trees], axis=1)
        means.append(predictions.mean(axis=1))
        errors.append(infinitesimal_jackknife(predictions, copies))
    ratio = np.mean(errors) / np.std(means, axis=0, ddof=1).mean()
    assert 0.7 < ratio < 1.3
    covered = np.abs(np.array(means) - at[:, 0]) <= 1.96 * np.array(errors)
    assert 0.7 < covered.mean() < 0.98


def test_trees_that_saw_the_same_rows():
    with pytest.raises(ValueError, match=r"every tree has seen the same rows.*bootstrap=True"):
        infinitesimal_jackknife(np.ones((2, 3)), np.ones((4, 3), dtype=int))
    with pytest.raises(ValueError, match="every tree has seen the same rows"):
        infinitesimal_jackknife(np.ones((2, 1)), np.array([[1], [2]]))


@pytest.mark.parametrize("shapes", [((2, 3), (4, 2)), ((3,), (4, 3)), ((2, 3), (3,)), ((1, 3, 1, 1), (4, 3))])
def test_shapes_must_fit(shapes):
    with pytest.raises(ValueError, match=r"tree_predictions has the shape .* and copies .*of the same trees"):
        infinitesimal_jackknife(np.ones(shapes[0]), np.ones(shapes[1]))
