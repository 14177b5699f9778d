"""Scores and the intervals that they make."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arboretum.correcting.conformal import Scores, nonconformity


@given(st.integers(1, 60), st.integers(1, 99))
def test_one_model_takes_the_score_of_the_exact_rank(n, hundredths):
    coverage = hundredths / 100
    scores = Scores.of([(np.arange(n, 0, -1.0), np.ones(n))])
    rank = math.ceil(hundredths * (n + 1) / 100)  # whole numbers: no rounding
    point = np.array([[10.0]])
    if rank > n:
        least = math.ceil(hundredths / (100 - hundredths))
        with pytest.raises(
            ValueError, match=rf"needs scores of at least {least} rows, but there are {n}: calibrate on mo"
        ):
            scores.intervals(point, point, coverage)
    else:
        np.testing.assert_array_equal(scores.intervals(point, point, coverage), [[10.0 - rank, 10.0 + rank]])


def test_the_least_number_of_rows_that_the_error_names_is_enough():
    point = np.zeros((1, 1))
    for coverage in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999):
        least = round(coverage / (1 - coverage))
        Scores.of([(np.zeros(least), np.ones(least))]).intervals(point, point, coverage)
        with pytest.raises(ValueError, match=f"at least {least} rows"):
            Scores.of([(np.zeros(least - 1), np.ones(least - 1))]).intervals(point, point, coverage)


def test_split_is_exactly_valid_over_all_draws():
    """The rank of a new score among n + 1 exchangeable ones is uniform: coverage lies in [c, c + 1 / (n + 1)]."""
    rng, n, coverage = np.random.default_rng(0), 19, 0.83
    held = 0
    for _ in range(4000):
        scores = rng.exponential(size=n + 1)
        ((low, high),) = Scores.of([(scores[:n], np.ones(n))]).intervals(np.zeros((1, 1)), np.zeros((1, 1)), coverage)
        held += low <= scores[n] <= high
    assert coverage - 0.02 < held / 4000 < coverage + 1 / (n + 1) + 0.02


def test_weights_are_repetitions():
    rng = np.random.default_rng(1)
    lists = [rng.normal(size=30), rng.normal(size=20)]
    weights = [rng.integers(1, 4, len(part)) for part in lists]
    low = rng.normal(size=(50, 2))
    high = low + 1
    weighted = Scores.of([(part, w.astype(float)) for part, w in zip(lists, weights, strict=True)])
    repeated = Scores.of([(np.repeat(part, w), np.ones(w.sum())) for part, w in zip(lists, weights, strict=True)])
    for coverage in (0.3, 0.9, 0.97):
        np.testing.assert_array_equal(weighted.intervals(low, high, coverage), repeated.intervals(low, high, coverage))


def test_equal_lists_are_one_list_and_a_spread_is_a_unit():
    rng = np.random.default_rng(2)
    scores, point, spread = rng.exponential(size=40), rng.normal(size=(9, 1)), rng.uniform(1, 3, (9, 1))
    one = Scores.of([(scores, np.ones(40))])
    two = Scores.of([(scores[:15], np.ones(15)), (scores[15:], np.ones(25))])
    doubled = np.repeat(point, 2, axis=1)
    np.testing.assert_array_equal(one.intervals(point, point, 0.9), two.intervals(doubled, doubled, 0.9))
    scaled = one.intervals(point, point, 0.9, spread=spread)
    half = np.diff(one.intervals(point, point, 0.9), axis=1)
    np.testing.assert_allclose(np.diff(scaled, axis=1), half * spread)


def test_negative_scores_shrink_and_never_turn_inside_out():
    scores = Scores.of([(np.full(20, -3.0), np.ones(20))])
    ends = scores.intervals(np.array([[0.0], [0.0]]), np.array([[10.0], [2.0]]), 0.9)
    np.testing.assert_array_equal(ends, [[3.0, 7.0], [-1.0, 3.0]])


def test_scores_of_quantiles_and_points():
    ends, y = np.array([[1.0, 3.0]] * 3 + [[2.0, 2.0]]), np.array([0.0, 2.5, 7.0, 1.0])
    np.testing.assert_array_equal(nonconformity(ends, y), [1.0, -0.5, 4.0, 1.0])


def damaged(**changes):
    arrays = Scores.of([(np.array([1.0, 2.0]), np.ones(2)), (np.array([0.5]), np.ones(1))]).to_arrays()
    return {**arrays, **changes}


def test_files_come_back():
    again = Scores.from_arrays(damaged())
    assert again.n_lists == 2
    assert again.needed(0.5) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score": np.zeros(3, np.float32)}, "values must be a 1-D float64 array, not 1-D float32"),
        ({"score_mass": np.ones(2)}, "mass must have length 3, not 2"),
        ({"score_start": np.array([0, 2, 4])}, r"start\[2\] = 4 must be 3"),
        ({"score_start": np.array([0, 3, 3, 2])}, r"start\[3\] = 2 must not be less than the one before"),
        ({"score": np.array([1.0, np.nan, 0.5])}, r"values\[1\] = nan must be finite"),
        ({"score": np.array([np.inf, np.inf, 0.5])}, r"values\[0\] = inf must be finite"),
        ({"score": np.array([2.0, 1.0, 0.5])}, r"values\[1\] = 1.0 must not be less than the one before"),
        ({"score_mass": np.array([1.0, 1.0, 1.0])}, r"mass\[1\] = 1.0 must be greater than the one before"),
        ({"score_mass": np.array([-1.0, 1.0, 1.0])}, r"mass\[0\] = -1.0 must be finite and more than 0"),
    ],
)
def test_damaged_files(changes, message):
    with pytest.raises(ValueError, match=f"invalid scores: {message}"):
        Scores.from_arrays(damaged(**changes))
