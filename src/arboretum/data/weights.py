"""What the weights of training rows mean: copies of rows, or shares.

::

    all whole      3 1 0 2          copies   a row of weight 3 is the same as the row three times
    others         0.6 0.2 0 0.4    shares   only their ratios matter: they are divided by their mean,  1.5 0.5 0 1

Parameters such as ``l2`` or ``min_child_weight`` count weight in rows. No rule can make both laws hold for such a
number at once: all weights 2 would have to be n rows by one law and 2 n rows by the other. So whole weights follow the
law of copies, all others the law of shares. Rows of weight 0 take no part in the mean, as they take no part in a fit.
Weights below 2⁻⁶⁰ of the mean are 0: no sum of float64 would notice such a row beside another, and a leaf of such rows
alone has no value that arithmetic could find.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.exact_sums import exact_mean, exact_sum, sum_by_group

FloatArray: TypeAlias = NDArray[np.float64]

FAINT = 2.0**-60
MOST_COPIES = 2.0**53  # beyond, every float is a whole number


def are_copies(weight: FloatArray) -> bool:
    """Whether weights are whole numbers, which count copies of their rows."""
    return bool((weight == np.floor(weight)).all() and weight.sum() <= MOST_COPIES)


def in_rows(weight: FloatArray | None) -> FloatArray | None:
    """Return weights in units of rows, of which at least one is above 0; None if all are 1.

    Examples
    --------
    >>> in_rows(np.array([3.0, 1.0, 0.0, 2.0]))
    array([3., 1., 0., 2.])
    >>> in_rows(np.array([0.6, 0.2, 0.0, 0.4]))
    array([1.5, 0.5, 0. , 1. ])
    >>> in_rows(np.array([1e-6, 1e-6])) is None
    True
    """
    if weight is None:
        return None
    whole = places.everywhere(bool((weight == np.floor(weight)).all()))
    if not (whole and exact_sum(weight) <= MOST_COPIES):
        weight = _shares(weight)
    return None if places.everywhere(bool((weight == 1).all())) else weight


def by_inverse_chance(weight: FloatArray | None, chance: FloatArray, arm: NDArray[Any], n_arms: int) -> FloatArray:
    """Return weights divided by the probability of the arm that each row got; the weight of each arm stays.

    So every arm stands for all rows (Horvitz & Thompson 1952, in the form of Hájek 1971).

    Examples
    --------
    >>> by_inverse_chance(None, np.array([0.5, 0.25, 0.5, 0.5]), np.array([1, 1, 0, 0]), 2).round(2)
    array([0.67, 1.33, 1.  , 1.  ])
    """
    whole = np.ones(len(arm)) if weight is None else weight
    inverse = whole / chance
    total, found = (sum_by_group(values, arm, n_arms) for values in (whole, inverse))
    scale = np.divide(total, found, out=np.zeros(n_arms), where=found > 0)
    return np.asarray(inverse * scale[arm])


def _shares(weight: FloatArray) -> FloatArray:
    """Divide weights by the mean of those above 0; faint ones become 0."""
    given = weight[weight > 0]
    if places.least(given.min(initial=np.inf)) == places.most(given.max(initial=-np.inf)):
        return np.asarray((weight > 0).astype(np.float64))
    shares = weight / exact_mean(given)
    faint = (weight > 0) & (shares < FAINT)
    return _shares(np.where(faint, 0.0, weight)) if places.anywhere(bool(faint.any())) else shares
