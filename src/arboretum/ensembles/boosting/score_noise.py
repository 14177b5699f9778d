"""How much noise the scores of splits get, as CatBoost's ``random_strength``.

The best split of every feature competes with normal noise added to its gain, so that features which are nearly as good
as the best one are chosen too. Its standard deviation is::

    score_noise · Σ g² / Σ h · L / (1 + L)        L = rows · exp(−learning rate · rounds so far)

Σ g² / Σ h is about twice what a split on pure chance gains: a child that takes rows at random has E[G²] = Σ g² over its
rows, so E[½ G² / H] = ½ Σ g² / Σ h. It has the unit of a gain for any units of target and weights. L / (1 + L)
falls from 1 to 0 as the model grows; it is ½ when learning rate · rounds = ln rows.

Cosines have the unit of the root of a gain: their noise has √(Σ g² / Σ h) in the place of Σ g² / Σ h, as CatBoost's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.exact_sums import exact_sum

LARGEST = 1e300


def noise_deviation(
    strength: float,
    gradients: NDArray[Any],
    hessians: NDArray[Any],
    model_length: float,
    *,
    n_rows: int,
    cosine: bool = False,
    threads: int = 1,
) -> float:
    """Return the standard deviation of the noise, in units of the score.

    Parameters
    ----------
    strength : float
        The parameter ``score_noise``.
    gradients, hessians : ndarray
        Gradients and hessians of all rows, weights included.
    model_length : float
        Learning rate · rounds so far.
    n_rows : int
        Number of all rows, those of other places included.
    cosine : bool
        Whether scores are cosines instead of gains.
    threads : int
        Threads to use.

    Examples
    --------
    >>> noise_deviation(2.0, np.array([1.0, -1.0]), np.ones(2), model_length=math.log(2), n_rows=2)
    1.0
    """
    with np.errstate(all="ignore"):
        squares = exact_sum(np.square(gradients, dtype=np.float64), threads=threads)
    curvature = exact_sum(hessians, threads=threads)
    if not curvature > 0:
        return 0.0
    remaining = n_rows * math.exp(-model_length)
    chance = squares / curvature
    return min(strength * (math.sqrt(chance) if cosine else chance) * (remaining / (1.0 + remaining)), LARGEST)
