"""Minimisation of a smooth convex function of a few parameters, some of which must not be negative.

Newton's method on the parameters that are free to move (Bertsekas 1982): those at 0 whose gradient would push them
below stay there. Steps are halved until the value falls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.symmetric_systems import solved

FloatArray: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]
"""From parameters to value, gradient and Hessian."""

MOST_STEPS = 100
MOST_HALVINGS = 40
TOLERANCE = 1e-12


def minimise(function: Function, start: FloatArray, n_bounded: int) -> FloatArray:
    """Return the minimum over parameters of which the first ``n_bounded`` must not be negative.

    Examples
    --------
    >>> def bowl(at):  # around (-1, 2)
    ...     off = at - np.array([-1.0, 2.0])
    ...     return float((off * off).sum()), 2 * off, 2 * np.eye(2)
    >>> minimise(bowl, np.zeros(2), n_bounded=1)
    array([0., 2.])
    """
    at = start.astype(np.float64)
    bounded = np.arange(len(at)) < n_bounded
    value, gradient, hessian = function(at)
    for _ in range(MOST_STEPS):
        free = ~(bounded & (at <= 0) & (gradient > 0))
        if not free.any():
            break
        step = np.zeros(len(at))
        step[free] = solved(hessian[np.ix_(free, free)], gradient[free])
        moved = np.where(bounded, np.maximum(at - step, 0.0), at - step)
        for _ in range(MOST_HALVINGS):
            if function(moved)[0] < value:
                break
            step = step / 2
            moved = np.where(bounded, np.maximum(at - step, 0.0), at - step)
        else:
            break
        settled = np.abs(moved - at).max() <= TOLERANCE * (1 + np.abs(at).max())
        at = moved
        value, gradient, hessian = function(at)
        if settled:
            break
    return at
