"""scikit-learn's checks of survival models, which see their target as times of events."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.sklearn_checks import checks_of

from arboretum import BoostedTreesSurvival, RandomSurvivalForest
from arboretum.data import targets


def as_events(y):
    """Numbers of any sign as times, every one an event."""
    n_rows = len(np.asarray(y))
    time = targets.regression_target(targets.as_column(y, n_rows))
    return np.column_stack([time - time.min() + 1.0, np.ones(n_rows)])


class Uncensored:
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y if y is None else as_events(y), sample_weight)

    def score(self, X, y, sample_weight=None):
        return super().score(X, as_events(y), sample_weight)


class UncensoredBoosting(Uncensored, BoostedTreesSurvival):
    pass


class UncensoredForest(Uncensored, RandomSurvivalForest):
    pass


def name_of(case):
    return getattr(getattr(case, "func", case), "__name__", None) or type(case).__name__


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(
        UncensoredBoosting(n_estimators=3, min_samples_leaf=1),
        UncensoredBoosting(n_estimators=3, min_samples_leaf=1, loss="aft"),
        UncensoredForest(n_estimators=3, min_samples_leaf=1, min_samples_split=2),
    ),
    ids=name_of,
)
def test_scikit_learn_has_nothing_to_say(estimator, check):
    check(estimator)
