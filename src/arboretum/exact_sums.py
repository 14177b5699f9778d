"""Sums of floating-point numbers that do not depend on the order of the rows.

Rows may lie in any blocks, on one machine or on many, and the model stays the same to the bit. ARCHITECTURE.md lists
the sums that are computed here. There are three ways:

===================  ===================================================================================================
``exact_sum``        exact until it is rounded once, as ``math.fsum`` does; a part is an array of words: parts add up
``sum_by_group``     terms are rounded to whole numbers of 126 bits first, in units that the largest of them decides
``Units``            the same in 62 bits, for the loops that run most
===================  ===================================================================================================

Among other places (``places.py``) these are sums over the rows of all of them; only ``words_of``, ``rounded`` and the
functions of long sums look at what they are given alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places

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
    return rounded(places.joined(lambda: words_of(values, weight, threads), np.add))


def sums_and_weight(
    columns: Sequence[Any], n_rows: int, weight: Any = None, threads: int = 1
) -> tuple[FloatArray, float]:
    """Return the sum of each column, or of its values times weights, and the total weight; without weights, the rows.

    Examples
    --------
    >>> sums_and_weight([[1.0, 3.0], [0.5, 0.5]], 2)
    (array([4., 1.]), 2.0)
    """

    def own_words() -> Words:
        total = words_of([n_rows]) if weight is None else words_of(weight, None, threads)
        return np.stack([total, *(words_of(column, weight, threads) for column in columns)])

    total, *sums = (rounded(words) for words in places.joined(own_words, np.add))
    return np.array(sums), total


def exact_mean(values: Any, weight: Any = None, threads: int = 1) -> float:
    """Return the weighted mean; not a number if there are no rows or no weight.

    Examples
    --------
    >>> exact_mean([1.0, 3.0]), exact_mean([1.0, 3.0], weight=[3.0, 1.0])
    (2.0, 1.5)
    """
    (summed,), total = sums_and_weight([values], len(values), weight, threads)
    return float(summed) / total if total else np.nan


def sum_by_group(
    values: Any, group: NDArray[Any], n_groups: int, weight: Any = None, *, shared: bool = True
) -> FloatArray:
    """Return the sum of values, or of values times weights, of each group; groups are numbers from 0.

    With ``shared=False`` each place has groups of its own, such as queries, and gets the sums of these.

    Examples
    --------
    >>> sum_by_group([1.0, 2.0, 4.0], np.array([1, 0, 1]), 3)
    array([2., 5., 0.])
    """
    terms, group = _terms(values, weight), np.ascontiguousarray(group, np.uint32)
    if places.here() is None:
        sums = np.empty(n_groups)
        _kernel.group_sums(*terms, group, sums)
        return sums
    largest, n_terms = largest_of_all(_kernel.largest_size(*terms), len(terms[0]))
    if not np.isfinite(largest):
        return np.full(n_groups, np.nan)
    power = _kernel.long_sum_power(largest, n_terms)
    words = long_sums(*terms, group, n_groups, power)
    if not shared:
        return rounded_long_sums(words, power)
    return places.decided(lambda: words, np.add, lambda sums: rounded_long_sums(sums, power))


def largest_of_all(largest: float, n_terms: int) -> tuple[float, int]:
    """Return the largest term at any place, and the number of terms at all of them."""
    return places.joined(lambda: (largest, n_terms), lambda a, b: (float(np.maximum(a[0], b[0])), a[1] + b[1]))


def long_sums(
    values: FloatArray, weight: FloatArray | None, group: NDArray[np.uint32], n_groups: int, power: int
) -> Words:
    """Return what these rows add to the sums of groups, (n_groups, words): whole numbers of 2^−power.

    The power follows from the largest term and the number of terms (``_kernel.long_sum_power``). Words of parts add up.
    """
    words = np.empty((n_groups, _kernel.LONG_SUM_WORDS), np.int64)
    _kernel.group_sum_words(values, weight, group, power, words)
    return words


def rounded_long_sums(words: Words, power: int) -> FloatArray:
    """Return the floats nearest to long sums, (…, words)."""
    sums = np.empty(words.shape[:-1])
    _kernel.rounded_group_sums(np.ascontiguousarray(words).reshape(-1, words.shape[-1]), power, sums.reshape(-1))
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
        counts = np.bincount(np.asarray(group, np.intp), minlength=n_groups)
        return places.added(counts).astype(np.float64)
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
        """Return sums of up to ``n_terms`` terms each, of those at this place.

        ``sum_in`` takes units. It returns the largest term of each kind, and the sums in these units; sums may have
        further leading axes. The sum of terms that are not finite is not a number.
        """
        largest, sums, n_all = places.joined(
            lambda: (*sum_in(self.last), n_terms),
            lambda a, b: (np.maximum(a[0], b[0]), np.add(a[1], b[1]), a[2] + b[2]),
        )
        if _kernel.change_units(self.last.reshape(-1), largest.reshape(-1), n_all, UNIT_STEP):
            sums = places.joined(lambda: sum_in(self.last)[1], np.add)
        found = sums / self.last
        return found if np.isfinite(largest).all() else np.where(np.isfinite(largest), found, np.nan)
