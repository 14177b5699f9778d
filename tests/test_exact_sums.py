"""Sums that do not depend on the order of the rows: against fractions and math.fsum, in any parts and any order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arboretum as arb
from arboretum import _kernel
from arboretum.ensembles.boosting.gradients import leaf_gradients
from arboretum.ensembles.boosting.rows import Rows
from arboretum.exact_sums import Units, exact_mean, exact_sum, rounded, sum_by_group, words_of
from arboretum.losses import Logistic, Multinomial, Poisson

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-200)
TERMS = st.lists(FINITE, max_size=60)
SEEDS = st.integers(0, 2**32 - 1)


def nearest(terms) -> float:
    """Return the float nearest to the true sum; infinite beyond the largest."""
    total = sum(map(Fraction, terms), Fraction(0))
    beyond = Fraction(2) ** 1024 - Fraction(2) ** 970  # from here on, the nearest float is no longer finite
    return float(total) if abs(total) < beyond else math.inf if total > 0 else -math.inf


@given(TERMS)
def test_a_sum_is_the_float_nearest_to_the_true_one(terms):
    assert exact_sum(terms) == nearest(terms)


@given(TERMS, st.randoms(use_true_random=False), st.integers(0, 60))
def test_neither_order_nor_parts_matter(terms, random, cut):
    shuffled = random.sample(terms, len(terms))
    parts = words_of(shuffled[cut:]) + words_of(shuffled[:cut])
    np.testing.assert_equal(rounded(parts), exact_sum(terms))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_terms_of_all_sizes(threads):
    rng = np.random.default_rng(0)
    terms = rng.normal(size=100_000) * 2.0 ** rng.integers(-1000, 900, 100_000)
    assert exact_sum(terms, threads=threads) == math.fsum(terms)
    assert exact_sum(np.r_[terms, -terms, 5e-324], threads=threads) == 5e-324


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([], 0.0),
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1.0], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, math.inf], math.nan),
        ([1.7e308, 1.7e308], math.inf),
        ([1.7e308, 1.7e308, -1.7e308], 1.7e308),
        ([5e-324, 5e-324], 1e-323),
        ([2.0**53, 1.0], 2.0**53),  # a tie, to even
        ([2.0**53, 1.0, 2.0**-60], 2.0**53 + 2),
        ([-0.0], 0.0),
    ],
)
def test_ends_of_the_range(terms, expected):
    np.testing.assert_equal(exact_sum(terms), expected)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e3)), min_size=1, max_size=30))
def test_means_are_weighted(pairs):
    values, weight = np.array(pairs).T
    total = math.fsum(weight)
    expected = math.fsum(values * weight) / total if total else math.nan
    np.testing.assert_equal(exact_mean(values, weight), expected)
    assert exact_mean(values) == math.fsum(values) / len(values)


# ---- whole numbers ---------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 4)), max_size=60), st.randoms(use_true_random=False))
def test_sums_of_groups(pairs, random):
    values, group = np.array([one for one, _ in pairs]), np.array([k for _, k in pairs], int)
    found = sum_by_group(values, group, 5)
    largest = np.max(np.abs(values), initial=0.0)
    for k in range(5):
        assert found[k] == pytest.approx(math.fsum(values[group == k]), rel=1e-12, abs=1e-12 * largest)
    order = np.array(random.sample(range(len(values)), len(values)), int)
    np.testing.assert_array_equal(sum_by_group(values[order], group[order], 5), found)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=50))
def test_whole_values_are_summed_exactly(values):
    assert sum_by_group(values, np.zeros(len(values)), 1)[0] == sum(values)


def test_groups_of_what_is_not_finite():
    assert np.isnan(sum_by_group([1.0, np.inf], np.array([0, 1]), 2)).all()


@given(st.floats(1e-300, 1e300), st.integers(1, 2**33), st.sampled_from([1, 8]))
def test_units_leave_room_for_all_terms(largest, n_terms, step):
    unit = _kernel.whole_unit(largest, n_terms, step)
    assert math.frexp(unit)[0] == 0.5
    assert largest * unit * n_terms < 2.0**62
    assert largest * unit < 2.0**51
    room = min(51, 62 - n_terms.bit_length())
    assert largest * unit >= 2.0 ** (room - 2 - (step - 1)) or unit == 2.0 ** (1000 // step * step)


def test_units_of_the_last_sums_do_not_change_the_next():
    rng = np.random.default_rng(0)

    def in_units(terms):
        def sum_in(units):
            whole = [round(term) for term in terms * units]
            return np.abs(terms).max(initial=0.0, keepdims=True), np.array(sum(whole), object)

        return sum_in

    used = Units(1)
    for scale in (1.0, 1e-9, 1e12, 0.0):
        terms = rng.normal(size=100) * scale
        assert used.sums(100, in_units(terms)) == Units(1).sums(100, in_units(terms))
        assert float(used.sums(100, in_units(terms))[0]) == pytest.approx(terms.sum(), abs=1e-10 * scale)


@pytest.mark.parametrize("loss", [Logistic(), Poisson(), Multinomial(3)], ids=lambda loss: type(loss).__name__)
@settings(max_examples=15)
@given(seed=SEEDS)
def test_sums_by_leaf_know_no_order(loss, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, max(loss.n_outputs, 2), 200).astype(float)
    raw, leaf = rng.normal(size=(loss.n_outputs, 200)) * 3, rng.integers(0, 5, 200).astype(np.uint32)
    order, values = rng.permutation(200), rng.normal(size=5)
    weight = rng.random(200)
    found = []
    for at, threads in ((np.arange(200), 1), (order, 3)):
        rows = Rows(None, y[at], weight[at], np.ascontiguousarray(raw[:, at]))
        found.append(leaf_gradients(loss, rows, leaf[at], values, 0, threads))
    np.testing.assert_array_equal(found[0], found[1])


# ---- models ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        arb.BoostedTreesRegressor(n_estimators=5, subsample=1.0),
        arb.BoostedTreesRegressor(n_estimators=5, subsample=1.0, loss="huber"),
        arb.BoostedTreesRegressor(n_estimators=5, subsample=1.0, score_noise=1.0),
        arb.BoostedTreesClassifier(n_estimators=5, subsample=1.0),
        arb.BoostedTreesClassifier(n_estimators=5, subsample=1.0, vector_leaves=True),
        arb.AdaBoostClassifier(n_estimators=5),
    ],
    ids=str,
)
def test_the_order_of_rows_does_not_matter_to_sums(model):
    """Samples and held-out rows go by row number; without them a model is that of the rows in any order."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(900, 4)), rng.normal(size=900)
    y = X[:, 0] * X[:, 1] + noise
    if "Classifier" in type(model).__name__:
        y = np.digitize(y, [-0.5, 0.5])
    weight, order = rng.random(900), rng.permutation(900)
    first = model.fit(X, y, sample_weight=weight).fingerprint()
    assert model.fit(X[order], y[order], sample_weight=weight[order]).fingerprint() == first
