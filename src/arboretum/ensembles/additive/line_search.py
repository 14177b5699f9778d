"""The line search: how far to go along a direction, for any loss.

    β = argmin_β Σ w·L(y, F + β·b)

With several outputs, the loss is the mean of theirs in units of their spreads, as ``EachOutput.value`` computes it.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.losses import EachOutput, Loss, SquaredError
from arboretum.losses.root_finding import zero_between

FloatArray: TypeAlias = NDArray[np.float64]

# Where classes are separated, or counts are all 0, the best step is infinite. In units of log odds or logarithms, a row
# moves by at most this much per stage; LogitBoost bounds its working response likewise (Friedman, Hastie and Tibshirani
# 2000).
LARGEST_MOVE = 4.0
LEAST_MOVE = 1e-6
LARGEST_STEP = 1e300
HALVINGS = 40


def line_search(
    loss: Loss,
    y: FloatArray,
    raw: FloatArray,
    direction: FloatArray,
    weight: FloatArray | None,
    *,
    reach: float = LARGEST_MOVE,
    slack: float = 0.0,
) -> tuple[float, float]:
    """Find β that minimises the mean loss at raw + β·direction; return it with that loss, 0 if nothing is lower.

    For the squared error it is the least-squares coefficient, Σ w·r·b / Σ w·b². For other losses it is where the slope
    along the direction changes its sign. With a link, no row moves by more than ``reach``.

    Parameters
    ----------
    loss : Loss
        What to minimise.
    y, raw, direction, weight : ndarray
        Targets, raw predictions, how these may move, and weights of the rows.
    reach : float
        How far a row may move, in units of log odds or logarithms.
    slack : float
        Share of the loss by which a step may seem to raise it: next to the minimum, rounding does.

    Examples
    --------
    >>> y, raw, direction = np.array([1.0, 2.0, 4.0]), np.zeros(3), np.array([1.0, 1.0, 2.0])
    >>> line_search(SquaredError(), y, raw, direction, None)[0].__round__(6)
    1.833333
    """
    here = loss.value(y, raw, weight)
    with np.errstate(over="ignore", invalid="ignore"):
        if type(loss) is SquaredError:
            beta = _least_squares(y - raw, direction, weight)
        else:
            beta = _where_slope_ends(loss, y, raw, direction, weight, reach)
        for _ in range(HALVINGS):  # rare: if a loss is not convex, or rounding decides
            if beta == 0:
                break
            value = loss.value(y, raw + beta * direction, weight)
            if value < here + slack * abs(here):
                return beta, value
            beta /= 2
    return 0.0, here


def derivatives(loss: Loss, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return gradients and hessians of what ``loss.value`` averages: several outputs are in units of their spreads."""
    gradient, hessian = loss.gradients(y, raw)
    units = loss.units if isinstance(loss, EachOutput) else None
    return (gradient, hessian) if units is None else (gradient / units, hessian / units)


def _least_squares(residual: FloatArray, direction: FloatArray, weight: FloatArray | None) -> float:
    scale = np.abs(direction).max()  # avoids overflow and underflow of squares
    if scale == 0:
        return 0.0
    unit = direction / scale
    return float(_weighted_sum(residual * unit, weight) / _weighted_sum(unit * unit, weight) / scale)


def _where_slope_ends(
    loss: Loss, y: FloatArray, raw: FloatArray, direction: FloatArray, weight: FloatArray | None, reach: float
) -> float:
    """Bracket the minimum by doubling, then close in on the zero of the slope."""
    farthest = float(np.abs(direction).max())
    is_bounded = loss.link != "identity"
    if farthest == 0 or (is_bounded and reach < LEAST_MOVE):
        return 0.0
    limit = reach / farthest if is_bounded else LARGEST_STEP

    def slope(beta: float) -> float:
        return _weighted_sum(derivatives(loss, y, raw + beta * direction)[0] * direction, weight)

    at_zero = slope(0.0)
    if at_zero == 0:
        return 0.0
    sign = -1.0 if at_zero > 0 else 1.0  # downhill

    def rising(step: float) -> float:
        return sign * slope(sign * step)

    low, at_low, high = 0.0, sign * at_zero, min(1.0, limit)
    at_high = rising(high)
    while at_high < 0 and high < limit:
        low, at_low, high = high, at_high, min(2 * high, limit)
        at_high = rising(high)
    return sign * (high if at_high <= 0 else zero_between(rising, low, at_low, high, at_high))


def _weighted_sum(values: FloatArray, weight: FloatArray | None) -> float:
    # Not a matrix product: BLAS may sum in another order with another number of threads.
    of_rows = values if values.ndim == 1 else values.sum(axis=1)
    return float(of_rows.sum() if weight is None else (of_rows * weight).sum())
