"""Sums of floating-point numbers that do not depend on the order of the rows.

Rows may lie in any blocks, on one machine or on many, and the model stays the same to the bit. ARCHITECTURE.md lists
the sums that are computed here. There are three ways:

===================  ===================================================================================================
``exact_sum``        exact until it is rounded once, as ``math.fsum`` does; a part is an array of words: parts add up
``sum_by_group``     terms are rounded to whole numbers of 126 bits first, in units that the largest of them decides
``Units``            the same in 62 bits, for the loops that run most
===================  ===================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel

FloatArray: TypeAlias = NDArray[np.float64]
Words: TypeAlias = NDArray[np.int64]
"""An exact sum that is not rounded yet (kernel/base/exact_sum.hpp)."""

UNIT_STEP = 4  # powers of two between units: the last ones suit most later sums


def words_of(values: Any, weight: Any = None, threads: int = 1) -> Words:
    """Return what some rows add to a sum of values, or of values times weights.

    Examples
    --------
    >>> rounded(words_of([1e100, 1.0]) + words_of([-1e100]))
    1.0
    """
    words = np.empty(_kernel.EXACT_SUM_WORDS, np.int64)
    _kernel.exact_sum(*_terms(values, weight), threads, words)
    return words


def rounded(words: Words) -> float:
    """Return the float nearest to a sum."""
    return _kernel.rounded_sum(words)


def exact_sum(values: Any, weight: Any = None, threads: int = 1) -> float:
    """Return the sum of values, or of values times weights.

    Examples
    --------
    >>> exact_sum([0.1] * 10), exact_sum([1.0, 2.0], weight=[3.0, 0.5])
    (1.0, 4.0)
    """
    return rounded(words_of(values, weight, threads))


def exact_mean(values: Any, weight: Any = None, threads: int = 1) -> float:
    """Return the weighted mean; not a number if there are no rows or no weight.

    Examples
    --------
    >>> exact_mean([1.0, 3.0]), exact_mean([1.0, 3.0], weight=[3.0, 1.0])
    (2.0, 1.5)
    """
    total = float(len(values)) if weight is None else exact_sum(weight, threads=threads)
    return exact_sum(values, weight, threads) / total if total else np.nan


def sum_by_group(values: Any, group: NDArray[Any], n_groups: int, weight: Any = None) -> FloatArray:
    """Return the sum of values, or of values times weights, of each group; groups are numbers from 0.

    Examples
    --------
    >>> sum_by_group([1.0, 2.0, 4.0], np.array([1, 0, 1]), 3)
    array([2., 5., 0.])
    """
    sums = np.empty(n_groups)
    _kernel.group_sums(*_terms(values, weight), np.ascontiguousarray(group, np.uint32), sums)
    return sums


def weight_by_group(weight: FloatArray | None, group: NDArray[Any], n_groups: int) -> FloatArray:
    """Return the total weight of each group; without weights, its number of rows.

    Examples
    --------
    >>> group = np.array([1, 0, 1])
    >>> weight_by_group(None, group, 3), weight_by_group(np.array([0.5, 2.0, 1.0]), group, 2)
    (array([1., 2., 0.]), array([2. , 1.5]))
    """
    if weight is None:
        return np.bincount(np.asarray(group, np.intp), minlength=n_groups).astype(np.float64)
    return sum_by_group(weight, group, n_groups)


def _terms(values: Any, weight: Any) -> tuple[FloatArray, FloatArray | None]:
    factor = None if weight is None else np.ascontiguousarray(weight, np.float64)
    return np.ascontiguousarray(values, np.float64), factor


class Units:
    """What terms are multiplied by before they are rounded to whole numbers and summed up.

    Units follow from the largest term alone; those of the last sums are the first to be tried.

    Parameters
    ----------
    *shape : int
        One unit per kind of terms.

    Examples
    --------
    >>> terms = np.array([0.1, 0.2, 0.3])
    >>> def in_units(units):
    ...     return np.array([terms.max()]), np.rint(terms * units).astype(np.int64).sum()
    >>> Units(1).sums(len(terms), in_units).round(9)
    array([0.6])
    """

    def __init__(self, *shape: int) -> None:
        self.last = np.ones(shape)

    def sums(self, n_terms: int, sum_in: Callable[[FloatArray], tuple[FloatArray, NDArray[np.int64]]]) -> FloatArray:
        """Return sums of up to ``n_terms`` terms each.

        ``sum_in`` takes units. It returns the largest term of each kind, and the sums in these units; sums may have
        further leading axes. The sum of terms that are not finite is not a number.
        """
        largest, sums = sum_in(self.last)
        if _kernel.change_units(self.last.reshape(-1), largest.reshape(-1), n_terms, UNIT_STEP):
            largest, sums = sum_in(self.last)
        found = sums / self.last
        return found if np.isfinite(largest).all() else np.where(np.isfinite(largest), found, np.nan)
