"""Metrics of survival models against pairs and sums by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import survival as slow

import arboretum as arb

law = settings(max_examples=60, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def problem(seed, n, n_times=8):
    rng = np.random.default_rng(seed)
    return rng.integers(1, n_times + 1, n).astype(float), rng.random(n) < 0.6, rng


@law
@given(SEEDS, st.integers(2, 40), st.sampled_from([2, 8, 1000]), st.sampled_from([2, 6, 1000]), st.booleans())
def test_concordance_counts_pairs(seed, n, n_times, n_risks, weighted):
    time, event, rng = problem(seed, n, n_times)
    risk = rng.integers(0, n_risks, n) / 7
    risk += rng.choice([0.0, 1e-9, -1e-9], n)  # ties but for rounding
    weight = rng.integers(0, 4, n) + 0.5 if weighted else np.ones(n)
    expected = slow.concordance(time, event, risk, weight)
    y = np.column_stack([time, event])
    if expected is None:
        with pytest.raises(ValueError, match=f"no two of {n} rows can be compared"):
            arb.metrics.concordance_index(y, risk)
    else:
        found = arb.metrics.concordance_index(y, risk, sample_weight=weight if weighted else None)
        assert found == pytest.approx(expected, abs=1e-12)


@law
@given(SEEDS, st.integers(5, 40))
def test_brier_score_by_hand(seed, n):
    time, event, rng = problem(seed, n)
    time[0], time[1] = 1.0, 9.0
    times = np.array([1.0, 2.5, 4.0, 7.9])
    survival = rng.random((n, len(times)))
    y = np.column_stack([time, event])
    found = arb.metrics.brier_score(y, survival, times)
    expected = [slow.brier(time, event, survival[:, k], t) for k, t in enumerate(times)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    area = np.trapezoid(found, times) if hasattr(np, "trapezoid") else np.trapz(found, times)
    assert arb.metrics.integrated_brier_score(y, survival, times) == pytest.approx(area / (7.9 - 1.0), rel=1e-12)


def test_censoring_may_come_from_other_rows():
    y_train = [[1.0, 1], [2.0, 0], [3.0, 0], [4.0, 1]]
    y = [[1.0, 1], [3.5, 1], [4.0, 0]]
    # Uncensored up to 3: 2/3 · 1/2; the first row had its event before anybody was censored.
    expected = (0.5**2 / 1 + 0.5**2 / (1 / 3) * 2) / 3
    assert arb.metrics.brier_score(y, [[0.5]] * 3, [3.0], y_train=y_train)[0] == pytest.approx(expected)
    with pytest.raises(ValueError, match="y has rows after the last time of y_train at which a row could be censored"):
        arb.metrics.brier_score(y, [[0.5]] * 3, [3.0], y_train=[[1.0, 1], [2.0, 0]])


Y = [[1.0, 1], [2.0, 0], [3.0, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: arb.metrics.concordance_index(Y, [1.0]), r"risk has shape \(1,\), expected \(3,\)"),
        (lambda: arb.metrics.concordance_index(Y, [1.0, np.nan, 2.0]), "Input risk contains NaN"),
        (lambda: arb.metrics.concordance_index(Y, ["a", "b", "c"]), "risk has dtype <U1, which is not numeric"),
        (lambda: arb.metrics.brier_score(Y, [[0.5]] * 3, [3.0]), "times must lie within those of y, from 1 to below 3"),
        (lambda: arb.metrics.brier_score(Y, [[0.5]] * 3, [0.5]), "times must lie within those of y"),
        (lambda: arb.metrics.brier_score(Y, [[1.5]] * 3, [1.0]), "survival ranges from 1.5 to 1.5: give probabilities"),
        (
            lambda: arb.metrics.integrated_brier_score(Y, [[0.5]] * 3, [1.0]),
            r"times=\[1.0\]: give at least two, rising",
        ),
        (lambda: arb.metrics.integrated_brier_score(Y, [[0.5, 0.5]] * 3, [2.0, 1.0]), "give at least two, rising"),
    ],
)
def test_errors_tell_the_cure(call, message):
    with pytest.raises(ValueError, match=message):
        call()
