"""Where a function of one number changes its sign."""

from __future__ import annotations

import math
from collections.abc import Callable

TOLERANCE = 1e-10  # relative
LAST_STEP = 1e-5  # the error that secants leave is of a higher order
LONGEST_STEP = 1.0
MOST_STEPS = 200


def zero_between(
    function: Callable[[float], float],
    low: float,
    at_low: float,
    high: float,
    at_high: float,
    tolerance: float = TOLERANCE,
) -> float:
    """Where a function that is below 0 at ``low``, and not at ``high``, changes its sign.

    False position, by the Illinois rule (Dowell and Jarratt 1971). It needs no second derivatives, which half of the
    losses replace by bounds, and finds the kinks of absolute errors as well.

    Examples
    --------
    >>> round(zero_between(lambda x: x * x - 2.0, 0.0, -2.0, 2.0, 2.0), 6)
    1.414214
    """
    side = 0
    for _ in range(MOST_STEPS):
        if high - low <= tolerance * max(abs(low), abs(high)):
            break
        middle = low + (high - low) * (at_low / (at_low - at_high))
        if not low < middle < high:  # rounding, or an infinite value at an end
            middle = low + (high - low) / 2
        at_middle = function(middle)
        if at_middle == 0:
            return middle
        if at_middle < 0:
            low, at_low = middle, at_middle
            at_high, side = (at_high / 2, side) if side < 0 else (at_high, -1)
        else:
            high, at_high = middle, at_middle
            at_low, side = (at_low / 2, side) if side > 0 else (at_low, 1)
    return low + (high - low) / 2


def zero_near(function: Callable[[float], float], start: float, rise: float, low: float, high: float) -> float:
    """Where a function changes its sign from below 0, by a few secants from a guess of the place and of the rise there.

    Steps are at most 1 long and stay between ``low`` and ``high``; where the function falls, a whole step goes against
    its sign.

    Examples
    --------
    >>> round(zero_near(lambda x: x**3 - 1.0, 0.5, 1.0, -9.0, 9.0), 6)
    1.0
    """
    at, value = start, function(start)
    for _ in range(MOST_STEPS):
        wanted = -value / rise if rise > 0 else -math.copysign(LONGEST_STEP, value)
        there = min(max(at + min(max(wanted, -LONGEST_STEP), LONGEST_STEP), low), high)
        if not abs(there - at) > LAST_STEP:
            return there
        before, value = value, function(there)
        at, rise = there, (value - before) / (there - at)
    return at
