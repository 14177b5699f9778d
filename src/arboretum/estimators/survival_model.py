"""What survival models share: risks that are scored by concordance, and times that users ask about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.data.targets import as_numbers, to_numpy
from arboretum.estimators.protocol import Estimator
from arboretum.metrics.survival import concordance_index
from arboretum.tasks import SURVIVAL, Task

FloatArray: TypeAlias = NDArray[np.float64]

ROUNDING = 1e-12  # of means of survival functions


class HasCurves(Protocol):
    """A fitted model with survival functions."""

    @property
    def event_times_(self) -> FloatArray:
        """Times of events of the training rows, rising."""

    def predict_survival_function(self, X: Any, times: Any = None) -> FloatArray:
        """Probability of each row to outlive some times, (n_rows, n_times)."""


class SurvivalModel(Estimator):
    """An estimator of times to an event; stands left of what else a class derives from.

    Attributes
    ----------
    event_times_ : ndarray
        Times of events of the training rows, rising.
    """

    predict: Callable[[Any], Any]
    task_: ClassVar[Task] = SURVIVAL

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the concordance index of the risks."""
        return concordance_index(y, self.predict(X), sample_weight=sample_weight)

    def predict_time(self: HasCurves, X: Any, quantile: float = 0.5) -> FloatArray:
        """Time by which the event of each row has come with this probability: by default the median.

        Parameters
        ----------
        X : array-like or data frame
        quantile : float, default=0.5
            Above 0, below 1.

        Returns
        -------
        ndarray of float64, (n_rows,)
            The first time of an event at which the survival function is not above 1 − quantile; inf where it stays
            above, because too few training rows were followed for so long.
        """
        level, times = read_level(quantile), self.event_times_
        return times_reached(self.predict_survival_function(X), times, level)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        return tags


def read_level(quantile: Any) -> float:
    """Check the probability by which the event shall have come.

    Examples
    --------
    >>> read_level(0.5)
    0.5
    """
    if not isinstance(quantile, float | np.floating) or not 0 < quantile < 1:
        raise ValueError(f"quantile={shown(quantile)}: give a probability above 0 and below 1; 0.5 is the median")
    return float(quantile)


def times_reached(survival: FloatArray, event_times: FloatArray, level: float) -> FloatArray:
    """Return the first time of an event by which each curve has fallen by a probability; inf if it never has.

    Examples
    --------
    >>> times_reached(np.array([[0.8, 0.4], [0.9, 0.7]]), np.array([1.0, 2.0]), 0.5)
    array([ 2., inf])
    """
    reached = survival <= 1.0 - level + ROUNDING
    return np.where(reached.any(axis=1), event_times[reached.argmax(axis=1)], np.inf)


def read_times(times: Any, event_times: FloatArray) -> FloatArray:
    """Check times that users ask about; None stands for those of events.

    Examples
    --------
    >>> read_times([0, 2.5], np.array([1.0]))
    array([0. , 2.5])
    """
    if times is None:
        return event_times
    given = to_numpy(times, "times")
    if given.ndim != 1:
        raise ValueError(f"times has shape {given.shape}: give a list of times")
    at = as_numbers(given, "times", "give numbers")
    if (at < 0).any():
        raise ValueError(f"times has {at.min():g}: times count from 0")
    return at
