"""From raw predictions to predictions: the inverse links, safe against overflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.elementary import bounded_exp

FloatArray: TypeAlias = NDArray[np.float64]
LinkName: TypeAlias = Literal["identity", "exp", "sigmoid", "softmax"]


def sigmoid(raw: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-raw)).

    Examples
    --------
    >>> sigmoid(np.array([-1e6, 0.0, 1e6])).round(9)
    array([0. , 0.5, 1. ])
    """
    return 1.0 / (1.0 + bounded_exp(-raw))


def softmax(raw: FloatArray) -> FloatArray:
    """Return exp(raw_k) / Σ_j exp(raw_j) of each row.

    Examples
    --------
    >>> softmax(np.array([[1e6, 1e6, -1e6]])).round(9)
    array([[0.5, 0.5, 0. ]])
    """
    # The largest exponent of a row is 0: nothing can overflow, and the sum is at least 1.
    exponential = bounded_exp(raw - raw.max(axis=1, keepdims=True))
    return np.asarray(exponential / exponential.sum(axis=1, keepdims=True))


def identity(raw: FloatArray) -> FloatArray:
    """Return the raw prediction itself, not a copy."""
    return raw


INVERSE_LINKS: dict[LinkName, Callable[[FloatArray], FloatArray]] = {
    "identity": identity,
    "exp": bounded_exp,
    "sigmoid": sigmoid,
    "softmax": softmax,
}
# Least and largest prediction of each.
RANGES: dict[LinkName, tuple[float, float]] = {
    "identity": (-np.inf, np.inf),
    "exp": (0.0, np.inf),
    "sigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
}
