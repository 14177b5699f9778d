"""Metrics of survival models against pairs and sums by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
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


def bounds_of(time, event):
    return pd.DataFrame({"lower": time, "upper": np.where(event, time, np.inf)})


@law
@given(SEEDS, st.integers(2, 30), st.sampled_from([2, 8, 1000]), st.booleans())
def test_concordance_of_bounds_counts_pairs_that_cannot_overlap(seed, n, n_times, weighted):
    time, event, rng = problem(seed, n, n_times)
    upper = np.select([event, rng.random(n) < 0.5], [time, np.inf], time + rng.integers(0, 3, n))
    upper[0] = time[0] + 1.0
    risk, weight = rng.integers(0, 6, n) / 7, rng.integers(0, 4, n) + 0.5 if weighted else np.ones(n)
    expected = slow.concordance_of_bounds(time, upper, risk, weight, np.ones(n))
    y = pd.DataFrame({"lower": time, "upper": upper})
    if expected is None:
        with pytest.raises(ValueError, match=f"no two of {n} rows can be compared"):
            arb.metrics.concordance_index(y, risk, sample_weight=weight)
    else:
        found = arb.metrics.concordance_index(y, risk, sample_weight=weight if weighted else None)
        assert found == pytest.approx(expected, abs=1e-12)
    if event.any():
        by_event, by_bound = np.column_stack([time, event]), bounds_of(time, event)
        try:
            assert arb.metrics.concordance_index(by_event, risk) == arb.metrics.concordance_index(by_bound, risk)
        except ValueError as error:
            assert "can be compared" in str(error)  # noqa: PT017  # either may find no pair


def ending_in_censoring(seed, n, n_times):
    time, event, rng = problem(seed, n, n_times)
    time[:2], event[:2] = [1.0, n_times + 1.0], [True, False]
    return time, event, rng


@law
@given(SEEDS, st.integers(3, 30), st.sampled_from([2, 8, 1000]), st.booleans())
def test_weighted_concordance_counts_pairs_by_their_chance(seed, n, n_times, weighted):
    time, event, rng = ending_in_censoring(seed, n, n_times)
    risk, weight = rng.integers(0, 6, n) / 7, rng.integers(1, 4, n) if weighted else np.ones(n, int)
    rows = np.repeat(np.arange(n), weight)
    chance = np.array([slow.uncensored(time[rows], event[rows], t) for t in time])
    early = np.where(event, 1 / np.maximum(chance, 1e-9) ** 2, 0)
    y, lower, upper = np.column_stack([time, event]), time, np.where(event, time, np.inf)
    weights = {"sample_weight": weight} if weighted else {}
    found = arb.metrics.concordance_index_ipcw(y, risk, **weights)
    assert found == pytest.approx(slow.concordance_of_bounds(lower, upper, risk, weight, early), abs=1e-12)
    assert found == pytest.approx(arb.metrics.concordance_index_ipcw(y[rows], risk[rows]), abs=1e-12)
    up_to = arb.metrics.concordance_index_ipcw(y, risk, tau=1.5, **weights)
    expected = slow.concordance_of_bounds(lower, upper, risk, weight, early * (time < 1.5))
    assert up_to == pytest.approx(expected, abs=1e-12)


@law
@given(SEEDS, st.integers(3, 30), st.sampled_from([2, 8]), st.booleans())
def test_areas_count_pairs_of_cases_and_controls(seed, n, n_times, weighted):
    time, event, rng = ending_in_censoring(seed, n, n_times)
    risk, weight = rng.integers(0, 6, n) / 7, rng.integers(1, 4, n) if weighted else np.ones(n, int)
    rows, times = np.repeat(np.arange(n), weight), np.array([1.0, 1.5, n_times + 0.5])
    y = np.column_stack([time, event])
    areas, mean = arb.metrics.cumulative_dynamic_auc(y, risk, times, sample_weight=weight if weighted else None)
    expected = [slow.auc(time[rows], event[rows], risk[rows], t, np.ones(len(rows))) for t in times]
    np.testing.assert_allclose(areas, expected, rtol=1e-10)
    alive = slow.kaplan_meier(time[rows], event[rows], np.ones(len(rows)), times)
    share = -np.diff(alive, prepend=1.0)
    assert mean == pytest.approx((share * expected).sum() / share.sum(), rel=1e-10)
    by_time, _ = arb.metrics.cumulative_dynamic_auc(y, np.column_stack([risk, risk, -risk]), times)
    single, _ = arb.metrics.cumulative_dynamic_auc(y, risk, times)
    np.testing.assert_allclose(by_time, [*single[:2], 1 - single[2]], rtol=1e-10)


Y = [[1.0, 1], [2.0, 0], [3.0, 1]]
INTERVALS = pd.DataFrame({"lower": [1.0, 2.0], "upper": [2.0, np.inf]})


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
        (lambda: arb.metrics.cumulative_dynamic_auc(Y, [1.0, 2.0, 3.0], [2.0, 1.0]), "give them rising"),
        (
            lambda: arb.metrics.cumulative_dynamic_auc(Y, [[1.0], [2.0]], [1.0]),
            r"risk has shape \(2, 1\), expected \(3, 1\)",
        ),
        (
            lambda: arb.metrics.cumulative_dynamic_auc([[1.0, 0], [2.0, 1], [3.0, 0]], [1.0, 2.0, 3.0], [1.5]),
            "y has no event up to 1.5: leave out this time",
        ),
        (
            lambda: arb.metrics.concordance_index_ipcw(Y, [1.0, 2.0, 3.0], y_train=[[1.0, 1], [2.0, 0]]),
            "y has rows after the last time of y_train at which a row could be censored",
        ),
        (
            lambda: arb.metrics.concordance_index_ipcw(INTERVALS, [1.0, 2.0]),
            "y lies between 1 and 2 in row 0: only events and right-censored rows can be used here",
        ),
        (
            lambda: arb.metrics.brier_score(INTERVALS, [[0.5], [0.5]], [1.5]),
            "y lies between 1 and 2 in row 0: only events and right-censored rows can be used here",
        ),
    ],
)
def test_errors_tell_the_cure(call, message):
    with pytest.raises(ValueError, match=message):
        call()
