"""Which snapshots are averaged, and what share of them each round has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arboretum.ensembles.boosting.average_rounds import AverageRounds, RoundsToAverage, average_of

RULES = st.builds(
    AverageRounds,
    last=st.none() | st.integers(1, 40) | st.just(10**60),
    every=st.integers(1, 12) | st.just(10**60),
    decay=st.none() | st.floats(1e-300, 1.0),
)


def plain_weights(rule, n_rounds):
    """Walk back from the last round, one snapshot after the other."""
    weights, weight = [0.0] * n_rounds, 1.0
    for before in range(n_rounds):
        if before % rule.every == 0 and (rule.last is None or before < rule.last):
            weights[n_rounds - 1 - before] = weight
            weight *= 1.0 if rule.decay is None else rule.decay
    return np.array(weights) / sum(weights)


@given(RULES, st.integers(1, 50))
def test_weights_are_those_of_a_walk_back(rule, n_rounds):
    weights = rule.weights(n_rounds)
    np.testing.assert_allclose(weights, plain_weights(rule, n_rounds), rtol=1e-12, atol=0)
    assert weights[-1] == weights.max()
    assert weights.sum() == pytest.approx(1)


@given(RULES, st.integers(1, 50))
def test_shares_are_weights_of_the_snapshots_that_have_a_round(rule, n_rounds):
    shares, weights = rule.shares(n_rounds), rule.weights(n_rounds)
    assert shares[0] == 1
    assert (np.diff(shares) <= 0).all()
    np.testing.assert_allclose(shares, [weights[place:].sum() for place in range(n_rounds)], rtol=1e-12)


def test_no_rounds_have_no_weights():
    assert len(AverageRounds().weights(0)) == len(AverageRounds().shares(0)) == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"last": 0}, "last=0: use an integer at least 1, or None"),
        ({"last": 2.5}, "last=2.5: use an integer"),
        ({"every": None}, "every=None: use an integer at least 1"),
        ({"every": True}, "every=True: use an integer at least 1"),
        ({"decay": 0.0}, "decay=0.0: use a number above 0 and at most 1, or None"),
        ({"decay": 1.5}, "decay=1.5: use a number above 0"),
        ({"decay": float("nan")}, "decay=nan: use a number above 0"),
        ({"decay": "half"}, "decay='half': use a number above 0"),
    ],
)
def test_odd_fields_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        AverageRounds(**fields)


@pytest.mark.parametrize("odd", [0, -3, 2.0, True, "3", np.array(3), [3], {"last": 3}, print])
def test_odd_values_are_refused(odd):
    with pytest.raises(
        ValueError, match=r"average_rounds=.*: use the number of last rounds to average, at least 1, or an"
    ):
        average_of(odd)


def test_values_of_the_command():
    read = RoundsToAverage().read
    assert read("20") == 20
    assert read("none") is None
    assert read("{'every': 5, 'decay': 0.5}") == AverageRounds(every=5, decay=0.5)
    assert read("{'evry': 5}") == {"evry": 5}  # which the check of the parameter refuses


def test_numbers_of_numpy_are_kept_as_plain_ones():
    rule = AverageRounds(np.int64(3), np.uint8(2), np.float32(0.5))
    assert [type(value) for value in vars(rule).values()] == [int, int, float]
    assert average_of(np.int64(3)) == AverageRounds(last=3)
