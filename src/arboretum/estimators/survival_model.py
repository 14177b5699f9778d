"""What survival models share: risks that are scored by concordance, and times that users ask about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.targets import as_numbers, to_numpy
from arboretum.estimators.protocol import Estimator
from arboretum.metrics.survival import concordance_index
from arboretum.tasks import SURVIVAL, Task

FloatArray: TypeAlias = NDArray[np.float64]


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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        return tags


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
