"""Selection among the rows of all places: the k smallest keys, and quantiles, without gathering the rows.

Keys are unsigned integers. They are sought digit by digit, from the highest: places count the keys with each digit, or
add up their weights, and the digit where the sum reaches what is wanted is the next of the key::

    keys       place 0:  91 23 75      place 1:  23 58 23 84          the 3rd smallest
    digit 1    0 0 1 0 0 0 0 1 0 1  +  0 0 2 0 0 1 0 0 1 0            three have a 2: the 3rd is one of them
    digit 2    of 23         +         of 23 23                       three have a 3: the key is 23, none is below

Once few rows have the digits found so far, they are gathered, and every place finds the remaining digits by itself.
Groups of rows are searched side by side, in the same exchanges. Results are those of all rows in one place, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.exact_sums import FloatArray, largest_of_all, long_sums, rounded_long_sums

Keys: TypeAlias = NDArray[np.unsignedinteger[Any]]

MOST_SUMS = 1 << 17  # of one exchange
MOST_BITS, FEWEST_BITS = 13, 4  # of a digit
FEW_ROWS = 1 << 15  # may be gathered
SIGN = np.uint64(1 << 63)
EPSILON = 2.0**-52


class Candidates(NamedTuple):
    """Rows of this place to choose from; without weights, each counts as 1."""

    key: Keys
    group: NDArray[np.uint32]
    weight: FloatArray | None

    def part(self, chosen: NDArray[np.bool_]) -> Candidates:
        """Return some of the rows."""
        return Candidates(self.key[chosen], self.group[chosen], None if self.weight is None else self.weight[chosen])

    def gathered(self) -> Candidates:
        """Return the rows of all places."""
        key, group, weight = zip(*places.gathered(lambda: self), strict=True)
        joined = None if self.weight is None else np.concatenate(weight)
        return Candidates(np.concatenate(key), np.concatenate(group), joined)

    def sums(self, bucket: NDArray[np.int64], n_buckets: int, power: int | None) -> NDArray[np.int64]:
        """Return the rows in each bucket and, with a power, the words of their weight: (n_buckets, 1 or 5)."""
        counts: NDArray[np.int64] = np.bincount(bucket, minlength=n_buckets)[:, np.newaxis]
        if power is None or self.weight is None:
            return counts
        words = long_sums(self.weight, None, bucket.astype(np.uint32), n_buckets, power)
        return np.concatenate([counts, words], axis=1)


class Crossing(NamedTuple):
    """Where the sum over the keys of each group, from the smallest up, reaches what is wanted."""

    key: NDArray[np.uint64]
    below: FloatArray  # sum over smaller keys
    up_to: FloatArray  # sum over keys that are not larger
    total: FloatArray
    n_rows: NDArray[np.int64]


def crossing(
    rows: Candidates, n_groups: int, wanted: Callable[[FloatArray], FloatArray], power: int | None = None
) -> Crossing:
    """Find the smallest key of each group up to which the rows, or their weights, sum up to what is wanted.

    Parameters
    ----------
    rows : Candidates
        Those of this place.
    n_groups : int
        Groups are numbers from 0.
    wanted : callable
        From the total of each group to what is wanted of it.
    power : int, optional
        That of long sums of all weights.
    """

    def number(sums: NDArray[np.int64]) -> FloatArray:
        return sums[..., 0].astype(np.float64) if power is None else rounded_long_sums(sums[..., 1:], power)

    bits = min(MOST_BITS, max(FEWEST_BITS, (MOST_SUMS // n_groups).bit_length() - 1))
    each, key, below = np.arange(n_groups), np.zeros(n_groups, np.uint64), np.zeros((n_groups, 1, 1), np.int64)
    target: FloatArray | None = None
    open_bits, gathered = 8 * rows.key.itemsize, False
    while open_bits:
        bits = min(bits, open_bits)
        open_bits -= bits
        bucket = (rows.key >> open_bits & ((1 << bits) - 1)).astype(np.int64)
        bucket |= rows.group.astype(np.int64) << bits
        own = rows.sums(bucket, n_groups << bits, power)
        sums = (own if gathered else places.added(own)).reshape(n_groups, 1 << bits, -1)
        running = below + sums.cumsum(axis=1)
        reached = number(running)
        if target is None:
            total, n_rows, target = reached[:, -1], running[:, -1, 0], wanted(reached[:, -1])
        chosen = (reached >= target[:, np.newaxis]).argmax(axis=1)
        at = each, chosen
        key |= chosen.astype(np.uint64) << open_bits
        below = (running[at] - sums[at])[:, np.newaxis]
        rows = rows.part(bucket == (each << bits | chosen)[rows.group])
        if open_bits and not gathered and sums[at][:, 0].sum() <= FEW_ROWS:
            rows, gathered, bits = rows.gathered(), True, FEWEST_BITS
    return Crossing(key, number(below[:, 0]), reached[at], total, n_rows)


def smallest(
    key: Keys, wanted: Callable[[FloatArray], FloatArray], group: NDArray[Any] | None = None, n_groups: int = 1
) -> NDArray[np.bool_]:
    """Mark the rows of this place that are among the smallest of all; of equal ones, the first of all rows.

    Parameters
    ----------
    key : ndarray of unsigned integers
        Of each row; within a group in the order of the rows.
    wanted : callable
        From the number of rows of each group, at all places, to how many of them to choose.
    group : ndarray, optional
        Number of the group of each row; by default all rows are one.
    n_groups : int
        How many groups there are.

    Examples
    --------
    >>> smallest(np.array([9, 2, 7, 2], np.uint64), lambda n: n / 2)
    array([False,  True, False,  True])
    """
    own = np.zeros(len(key), np.uint32) if group is None else group.astype(np.uint32)
    found = crossing(Candidates(key, own, None), n_groups, wanted)
    limit, room = found.key[own], wanted(found.total) - found.below
    marked = np.asarray(key < limit)
    ties = np.flatnonzero(key == limit)
    if np.any(room < found.up_to - found.below):
        number = _number_in_group(own[ties], n_groups)
        ties = ties[number < room[own[ties]]]
    marked[ties] = True
    return marked


def row_draws(n_rows: int, key: int, threads: int) -> NDArray[np.uint64]:
    """Return a random number for each row of this place: the hash of the key and its number among all rows.

    Examples
    --------
    >>> row_draws(2, key=1, threads=1)
    array([  627405149472732430, 16860738450190168606], dtype=uint64)
    """
    draws = np.empty(n_rows, np.uint64)
    _kernel.row_draws(key, threads, places.numbered(n_rows).first, draws)
    return draws


def _number_in_group(group: NDArray[np.uint32], n_groups: int) -> NDArray[np.int64]:
    """Return the number of each row within its group, those of earlier places first."""
    here, own = places.here(), np.bincount(group, minlength=n_groups)
    counts = places.gathered(lambda: own)
    earlier = sum(counts[: 0 if here is None else here.index], np.zeros(n_groups, np.int64))
    order = np.argsort(group, kind="stable")
    number = np.empty(len(group), np.int64)
    number[order] = np.arange(len(group)) + (earlier - np.cumsum(own) + own)[group[order]]
    return number


def quantiles(
    values: FloatArray, weight: FloatArray | None, group: NDArray[np.uint32], n_groups: int, q: float
) -> FloatArray:
    """Return the lower weighted quantile of each group, as ``_kernel.group_quantiles`` defines it.

    That function adds up weights in the order of the values, and rounds each sum. Here sums are rounded once; where
    this could give another row, the rows of the group are gathered. Sums of whole weights are exact either way.

    Examples
    --------
    >>> group = np.array([0, 0, 0, 1], np.uint32)
    >>> quantiles(np.array([3.0, 1.0, 2.0, 7.0]), None, group, 3, q=0.5)
    array([2., 7., 0.])
    """
    rows = Candidates(_keys_of(values), group, weight)
    if weight is None:
        found = crossing(rows, n_groups, lambda n: np.maximum(np.ceil(q * n), 1.0))
        return np.where(found.n_rows > 0, _values_of(found.key), 0.0)
    rows = rows.part(weight > 0)
    assert rows.weight is not None
    largest, n_terms = largest_of_all(float(rows.weight.max(initial=0.0)), len(rows.weight))
    power = _kernel.long_sum_power(largest, n_terms)
    found = crossing(rows, n_groups, lambda total: q * total, power)
    result = np.where(found.n_rows > 0, _values_of(found.key), 0.0)
    rounding = (found.n_rows + 4) * EPSILON * found.total + found.n_rows * np.ldexp(1.0, -power)
    target = q * found.total
    unsure = (found.n_rows > 0) & (np.minimum(found.up_to - target, target - found.below) <= rounding)
    if unsure.any() and not (np.all(found.total < 2.0**53) and places.everywhere(_are_whole(rows.weight))):
        result[unsure] = _quantiles_of_gathered(rows.part(unsure[rows.group]).gathered(), np.flatnonzero(unsure), q)
    return result


def _are_whole(weight: FloatArray) -> bool:
    return bool((weight == np.rint(weight)).all())


def _quantiles_of_gathered(rows: Candidates, groups: NDArray[np.intp], q: float) -> FloatArray:
    """Return the quantiles of these groups from all their rows."""
    order = np.argsort(rows.group, kind="stable").astype(np.uint32)
    start = np.append(np.searchsorted(rows.group[order], groups), len(order)).astype(np.int64)
    result = np.empty(len(groups))
    _kernel.group_quantiles(_values_of(rows.key), rows.weight, order, start, q, 1, result)
    return result


def _keys_of(values: FloatArray) -> NDArray[np.uint64]:
    """Return integers in the order of the values: their bits, with the sign or, of negative ones, all bits flipped."""
    bits = np.ascontiguousarray(values, np.float64).view(np.uint64)
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def _values_of(keys: Keys) -> FloatArray:
    """Return the numbers that have these keys."""
    return np.where(keys & SIGN, keys ^ SIGN, ~keys).view(np.float64)
