"""Histories of rounds, what judges them, and when patience ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arboretum import History
from arboretum.ensembles.boosting.history import Judge, Patience
from arboretum.losses import SquaredError

CURVES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)


@given(CURVES, st.integers(1, 5), st.sampled_from([0.0, 0.5, 1e7]))
def test_patience_ends_where_a_slow_twin_says(curve, rounds, tolerance):
    best, since = np.inf, 0
    for place, value in enumerate(curve):
        if value < best - tolerance or place == 0:
            since = 0
        else:
            since += 1
        best = min(best, value)
        if since == rounds:
            break
    over = [Patience(rounds, tolerance).is_over(curve[:n]) for n in range(1, len(curve) + 1)]
    if tolerance == 0:  # else small steps may add up to a large one, which the last rounds together then bring
        assert (over.index(True) if True in over else None) == (place if since == rounds else None)
    for n, is_over in enumerate(over, start=1):
        expected = n > rounds and not any(v < min(curve[: n - rounds]) - tolerance for v in curve[n - rounds : n])
        assert is_over == expected


@given(CURVES, st.booleans())
def test_the_best_round_has_the_best_score(scores, greater):
    history = History(validation_loss=[0.0], validation_score=scores, scoring="mine", greater_is_better=greater)
    best = max(scores) if greater else min(scores)
    assert history.best_round == scores.index(best) + 1
    assert History.from_json(history.to_json()) == history
    assert history.copy() == history
    assert history.first(1).validation_score == scores[:1]


def test_histories_are_joined_round_by_round():
    known = History([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert known.followed_by(History([7.0], [8.0]), 2) == History([1.0, 2.0, 7.0], [4.0, 5.0, 8.0])
    assert known.followed_by(History(), 2) == History([1.0, 2.0], [4.0, 5.0])
    joined = History().followed_by(History([], [8.0, 7.0]), 3)
    assert np.isnan(joined.validation_loss[:3]).all()
    assert (joined.validation_loss[3:], joined.best_round, joined.training_loss) == ([8.0, 7.0], 5, [])


def test_scores_of_another_metric_are_not_joined():
    first = History([], [1.0, 1.0], "rounds", [0.5, 0.6], "roc_auc", True)
    same = first.followed_by(History([], [1.0], "rounds", [0.4], "roc_auc", True), 2)
    assert (same.validation_score, same.best_round, same.greater_is_better) == ([0.5, 0.6, 0.4], 2, True)
    other = first.followed_by(History([], [1.0], "rounds", [0.4], "log_loss", False), 2)
    assert (other.scoring, other.greater_is_better, other.best_round) == ("log_loss", False, 3)
    assert np.isnan(other.validation_score[:2]).all()
    unjudged = first.followed_by(History([], [1.0]), 2)
    assert (unjudged.validation_score, unjudged.scoring) == ([0.5, 0.6], "roc_auc")


@pytest.mark.parametrize("found", [float("nan"), float("inf"), None, "good", ("auc", 0.5, True)])
def test_a_score_must_be_a_finite_number(found):
    judge = Judge("mine", True, lambda raw, loss: found)
    with pytest.raises(ValueError, match=r"scoring='mine' gives .* for the validation rows, but .* finite numbers"):
        judge.score(np.zeros(2), SquaredError())


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"validation_score": [1], "scoring": "a"}, r"expected lists of numbers, found \[1\]"),
        ({"validation_score": [1.0], "scoring": 5}, "expected a text, found 5"),
        ({"greater_is_better": 1}, "greater_is_better is 1, not true or false"),
        ({"stopped_by": None}, "expected a text, found None"),
        ({"more": 1}, "unexpected keyword argument 'more'"),
    ],
)
def test_malformed_entries_are_refused(entry, message):
    with pytest.raises((TypeError, ValueError), match=message):
        History.from_json({"training_loss": [], "validation_loss": [], "stopped_by": "rounds"} | entry)
