"""Exponentials and logarithms of arrays, the same to the bit everywhere.

NumPy's own depend on its version and on the instruction set of the processor. What reaches a model (start values,
weights, thresholds, gains) is computed by these functions, which the kernel shares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel

FloatArray: TypeAlias = NDArray[np.float64]

# exp(300) is about 1.9e130. Not 709, where float64 ends: the result is still multiplied by targets (up to
# LARGEST_TARGET), summed over rows and, in the gain of a split, squared.
EXP_LIMIT = 300.0
LN_2 = math.log(2)


def _mapped(function: Callable[[FloatArray, FloatArray], None], x: Any) -> FloatArray:
    x = np.asarray(x, np.float64, order="C")
    out = np.empty(x.shape)
    function(x.reshape(-1), out.reshape(-1))
    return out


def bounded_exp(x: Any) -> FloatArray:
    """Return exp(x) with x clipped to ±``EXP_LIMIT``: never 0, never infinite.

    Examples
    --------
    >>> bounded_exp(np.array([0.0, 1e6])) / np.exp([0.0, 300.0])
    array([1., 1.])
    """
    return _mapped(_kernel.exponentials, x)


def exp2(x: Any) -> FloatArray:
    """Return 2 to the power of x, for |x| < 1000; exact for whole numbers.

    Examples
    --------
    >>> exp2(np.array([-1.0, 0.5])).round(6)
    array([0.5     , 1.414214])
    """
    whole = np.rint(x)
    return np.asarray(np.ldexp(bounded_exp((x - whole) * LN_2), whole.astype(np.intc)))


def log(x: Any) -> FloatArray:
    """Return the natural logarithm of x > 0, not below 2.2e-308.

    Examples
    --------
    >>> log(np.array([1.0, 10.0])).round(6)
    array([0.      , 2.302585])
    """
    return _mapped(_kernel.logarithms, x)


def log2(x: Any) -> FloatArray:
    """Return the binary logarithm of x > 0; exact for powers of two.

    Examples
    --------
    >>> log2(np.array([8.0, 10.0])).round(6)
    array([3.      , 3.321928])
    """
    return _mapped(_kernel.logarithms2, x)


def log1p(x: Any) -> FloatArray:
    """Return log(1 + x) for x > −1, to the last digits for small x too (Kahan).

    Examples
    --------
    >>> log1p(np.array([0.0, 1e-20, 1.0])).round(25)
    array([0.00000000e+00, 1.00000000e-20, 6.93147181e-01])
    """
    one_more = 1.0 + np.asarray(x, np.float64)
    rounded = one_more - 1.0
    lost = rounded == 0
    return np.asarray(np.where(lost, x, log(one_more) * (x / np.where(lost, 1.0, rounded))))


def expm1(x: Any) -> FloatArray:
    """Return exp(x) − 1 with x clipped to ±``EXP_LIMIT``, to the last digits for small x too (Kahan).

    Examples
    --------
    >>> expm1(np.array([0.0, -1e-20, -1.0])).round(25)
    array([ 0.00000000e+00, -1.00000000e-20, -6.32120559e-01])
    """
    x = np.clip(x, -EXP_LIMIT, EXP_LIMIT)
    power = bounded_exp(x)
    logarithm = log(power)
    lost = logarithm == 0
    return np.asarray(np.where(lost, x, (power - 1.0) * (x / np.where(lost, 1.0, logarithm))))


def softplus(x: Any) -> FloatArray:
    """Return log(1 + exp(x)), which neither overflows nor loses digits.

    Examples
    --------
    >>> softplus(np.array([-1e6, 0.0, 1e3])).round(6)
    array([0.00000e+00, 6.93147e-01, 1.00000e+03])
    """
    return np.asarray(np.maximum(x, 0.0) + log1p(bounded_exp(-np.abs(x))))
