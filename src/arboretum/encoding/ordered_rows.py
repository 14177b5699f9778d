"""Training rows in a random order, and means over the rows before each of them.

At one place the kernel walks through all rows. Among other places (``places.py``) the order is cut into as many equal
ranges as there are places. A row goes to the place that has its range, and its means come back::

    rows of place 0 ─┐ there ┌─ range 0   draws from 0            ─┐ back ┌─ means of the rows of place 0
    rows of place 1 ─┼───────┼─ range 1   draws from 1/3 · 2⁶⁴    ─┼──────┼─ …
    rows of place 2 ─┘       └─ range 2   draws from 2/3 · 2⁶⁴    ─┘      └─ …

Within a range rows are sorted by their draws; sums of levels begin with those of all earlier ranges
(``exchanging.added_before``). They are exact, so the means are those of one place, to the bit.

===================  =================================================================================================
bytes of a row       there 8 for its draw, 8 for its target, 8 for its weight if it has one, 4 for each column or
                     combination; back 8 for each mean
bytes of a level     for each range in which it occurs and each column or combination: there 4, and there and back 32
                     for its weight and 32 for each mean
===================  =================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.encoding.levels import Columns, Levels
from arboretum.encoding.statistic import FloatArray, Statistic
from arboretum.exact_sums import Words, largest_of_all, long_sums
from arboretum.exchanging import RoundTrip, added_before
from arboretum.selecting import row_draws

SumsBefore: TypeAlias = tuple[Words, Words, int, int]
"""Σ w and Σ w t of each level over the rows of earlier ranges, and the powers of their units."""


class Source(NamedTuple):
    """Level of each row, negative if it is unknown, and how many levels there are."""

    levels: Levels
    n_levels: int


class RowsHere:
    """Training rows in some random orders, all at one place.

    Parameters
    ----------
    y, w : float64 array
        Target and, if there are weights, weight of each row.
    orders : uint32 array (orders, rows)
        Permutations of the rows.
    """

    def __init__(self, y: FloatArray, w: FloatArray | None, orders: NDArray[np.uint32]) -> None:
        self.y, self.w, self.orders, self.n_orders = y, w, orders, len(orders)

    def fill(
        self, means: Mapping[int, Statistic], sources: Mapping[Columns, Source], threads: int, out: FloatArray
    ) -> None:
        """Compute means over earlier rows.

        Parameters
        ----------
        means : dict of int to Statistic
            What to compute, by the column of the results.
        sources : dict of tuple of int to Source
            Levels for all columns that the statistics read.
        threads : int
            Threads to use; the result does not depend on them.
        out : float64 array (orders, columns, rows)
            Results; other columns are not written.
        """
        number = {columns: i for i, columns in enumerate(sources)}
        wanted = [one.mean(number[one.columns], column) for column, one in means.items()]
        levels, n_levels = _side_by_side(sources.values())
        _kernel.ordered_means(wanted, levels, n_levels, self.y, self.w, self.orders, threads, out)


class RowsInPlaces:
    """Training rows of this place in one random order of the rows of all places.

    Parameters
    ----------
    y, w : float64 array
        Target and, if there are weights, weight of each row.
    key : int
        Of the draws that rows are sorted by.
    threads : int
        Threads to use; the result does not depend on them.
    """

    n_orders = 1

    def __init__(self, y: FloatArray, w: FloatArray | None, key: int, threads: int) -> None:
        draws = row_draws(len(y), key, threads)
        self.trip = RoundTrip((draws >> np.uint64(32)) * np.uint64(places.count()) >> np.uint64(32))
        draws, self.y, *weight = self.trip.there([draws, y] if w is None else [draws, y, w])
        self.w = weight[0] if weight else None
        self.order = np.argsort(draws, kind="stable").astype(np.uint32)[np.newaxis]
        self.row_weight = np.ones(len(self.y)) if self.w is None else self.w
        self.weight_power, self.value_power = _power(self.row_weight, None), _power(self.y, self.w)

    def fill(
        self, means: Mapping[int, Statistic], sources: Mapping[Columns, Source], threads: int, out: FloatArray
    ) -> None:
        """Compute means over earlier rows, as ``RowsHere.fill`` does; each comes back to the place of its row."""
        came = self.trip.there([source.levels for source in sources.values()])
        columns: list[int] = []
        wanted: list[_kernel.OrderedMean] = []
        before: list[SumsBefore] = []
        ranges: list[Source] = []
        for (name, source), of_rows in zip(sources.items(), came, strict=True):
            known, number = _occurring(of_rows, source.n_levels)
            of_source = {column: one for column, one in means.items() if one.columns == name}
            wanted += [one.mean(len(ranges), len(wanted) + i) for i, one in enumerate(of_source.values())]
            before += self._before(list(of_source.values()), known, number, source.n_levels)
            ranges.append(Source(number, len(known)))
            columns += of_source
        found = np.empty((1, len(wanted), len(self.y)))
        levels, n_levels = _side_by_side(ranges)
        _kernel.ordered_means(wanted, levels, n_levels, self.y, self.w, self.order, threads, found, before)
        for column, values in zip(columns, self.trip.back(found[0]), strict=True):
            out[0, column] = values

    def _before(self, statistics: list[Statistic], known: Levels, number: Levels, n_levels: int) -> list[SumsBefore]:
        """Return the sums of earlier ranges for statistics of the same levels."""
        slot, n_slots = (number + 2).astype(np.uint32), len(known) + 2  # an unknown level falls into slot 0
        powers = [self.value_power if one.kind == "number" else self.weight_power for one in statistics]
        terms = [long_sums(self.row_weight, None, slot, n_slots, self.weight_power)]
        for one, power in zip(statistics, powers, strict=True):
            terms.append(long_sums(one.part(self.y), self.w, slot, n_slots, power))
        sums = added_before(known, np.stack(terms, axis=1)[2:], n_levels)
        weight, *values = np.ascontiguousarray(sums.swapaxes(0, 1))
        return [(weight, value, self.weight_power, power) for value, power in zip(values, powers, strict=True)]


OrderedRows: TypeAlias = RowsHere | RowsInPlaces


def _side_by_side(sources: Iterable[Source]) -> tuple[list[Levels], list[int]]:
    found = list(sources)
    return [source.levels for source in found], [source.n_levels for source in found]


def _power(values: FloatArray, weight: FloatArray | None) -> int:
    """Return the power of units that one place would sum these terms in."""
    return _kernel.long_sum_power(*largest_of_all(_kernel.largest_size(values, weight), len(values)))


def _occurring(levels: Levels, n_levels: int) -> tuple[Levels, Levels]:
    """Return the levels that occur, and the number of each row's level among them; −2 if it is unknown."""
    seen = np.zeros(n_levels + 2, bool)  # −2 counts from the end
    seen[levels] = True
    known = np.flatnonzero(seen[:n_levels]).astype(np.int32)
    number = np.full(n_levels + 2, -2, np.int32)
    number[known] = np.arange(len(known))
    return known, number[levels]
