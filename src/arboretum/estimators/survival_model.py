"""What survival models share: risks that are scored by concordance, hazards and survival functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arboretum.data.targets import as_numbers, to_numpy
from arboretum.estimators.base import FloatArray
from arboretum.estimators.protocol import Estimator, not_fitted
from arboretum.metrics.survival import concordance_index
from arboretum.tasks import SURVIVAL, Task


class SurvivalModel(Estimator):
    """An estimator of times to an event; stands left of what else a class derives from.

    Attributes
    ----------
    event_times_ : ndarray
        Times of events of the training rows, rising.
    """

    predict: Callable[[Any], Any]
    task_: ClassVar[Task] = SURVIVAL
    event_times_: FloatArray  # times of events of the training rows, rising

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the concordance index of the risks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to predict.
        y : structured array, data frame or array-like (rows, 2)
            Their times and events.
        sample_weight : array-like, optional
            Weight of each row.
        """
        return concordance_index(y, self.predict(X), sample_weight=sample_weight)

    def predict_cumulative_hazard(self, X: Any, times: Any = None) -> FloatArray:
        """Cumulative hazard of each row at some times.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.
        times : array-like, optional
            At least 0; by default ``event_times_``.

        Returns
        -------
        ndarray of float64, (n_rows, n_times)
        """
        return self._cumulative_hazard(X, self._read_times(times))

    def predict_survival_function(self, X: Any, times: Any = None) -> FloatArray:
        """Probability of each row to outlive some times.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.
        times : array-like, optional
            At least 0; by default ``event_times_``.

        Returns
        -------
        ndarray of float64, (n_rows, n_times)
        """
        return self._survival(X, self._read_times(times))

    def _cumulative_hazard(self, X: Any, times: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _survival(self, X: Any, times: FloatArray) -> FloatArray:
        return np.exp(-self._cumulative_hazard(X, times))

    def _read_times(self, times: Any) -> FloatArray:
        if not hasattr(self, "event_times_"):
            raise not_fitted(self)
        if times is None:
            return self.event_times_
        given = to_numpy(times, "times")
        if given.ndim != 1:
            raise ValueError(f"times has shape {given.shape}: give a list of times")
        at = as_numbers(given, "times", "give numbers")
        if (at < 0).any():
            raise ValueError(f"times has {at.min():g}: times count from 0")
        return at

    def _last_events(self, times: FloatArray) -> NDArray[np.intp]:
        """Which time of an event is the last up to each time; −1 before the first."""
        return np.searchsorted(self.event_times_, times, side="right") - 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        return tags


def read_event_times(array: NDArray[Any]) -> FloatArray:
    """Take the times of events from a file."""
    if array.ndim != 1 or array.dtype != np.float64 or not len(array) or not np.isfinite(array).all():
        raise ValueError("times of events that are none")
    if array[0] < 0 or (np.diff(array) <= 0).any():
        raise ValueError("times of events that do not rise")
    return array
