"""scikit-learn's checks of survival models, which see their target as times of events."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.sklearn_checks import checks_of

from arboretum import BoostedTreesSurvival, RandomSurvivalForest
from arboretum.data import targets
from arboretum.ensembles.boosting import goals


def as_events(y, n_rows):
    """Numbers of any sign as times, every one an event."""
    time = targets.regression_target(targets.as_column(y, n_rows))
    return np.column_stack([time - time.min() + 1.0, np.ones(n_rows)])


class Uncensored:
    def score(self, X, y, sample_weight=None):
        return super().score(X, as_events(y, len(y)), sample_weight)


class AllEvents(goals.Survival):
    def as_column(self, y, n_rows, name="y", table="X"):
        return super().as_column(as_events(y, n_rows), n_rows, name, table)


class UncensoredBoosting(Uncensored, BoostedTreesSurvival):
    def goal(self):
        return AllEvents(self.loss)


class UncensoredForest(Uncensored, RandomSurvivalForest):
    def _as_columns(self, y, n_rows):
        return super()._as_columns(as_events(y, n_rows), n_rows)


def name_of(case):
    return getattr(getattr(case, "func", case), "__name__", None) or type(case).__name__


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(
        UncensoredBoosting(n_estimators=3),
        UncensoredBoosting(n_estimators=3, loss="aft"),
        UncensoredForest(n_estimators=3, min_samples_leaf=1, min_samples_split=2),
    ),
    ids=name_of,
)
def test_scikit_learn_has_nothing_to_say(estimator, check):
    check(estimator)
