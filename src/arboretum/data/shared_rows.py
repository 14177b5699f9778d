"""Rows of all places at every place, for trees that are grown from all rows by one place alone.

Tables stay where they are. What is made of their rows goes to every place, once::

    place 0    table ──► target, weight, codes ──┐     ┌──► those of all rows, that of place 0 first
    place 1    table ──► target, weight, codes ──┴─────┴──► those of all rows
               own 5:9                                       0 1 2 3 4|5 6 7 8
"""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.data.binning import BinnedData
from arboretum.data.memory_budget import as_text, available_bytes, grouped
from arboretum.data.table import Table

BYTES_AT_ONCE = 1 << 26  # of the codes of all places in one exchange
MEGABYTE = 10**6


@dataclass(frozen=True, eq=False)
class PlacedTable:
    """The table of this place, and where its rows stand among those of all places.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> placed = PlacedTable.of(read_table([[1.0], [2.0], [3.0]]))
    >>> placed.own, placed.take(np.array([0, 2])).own
    (slice(0, 3, None), slice(0, 2, None))
    """

    table: Table
    own: slice

    @classmethod
    def of(cls, table: Table) -> PlacedTable:
        """Return a table, whose rows are numbered after those of the places before this one."""
        first = places.numbered(table.n_rows).first
        return cls(table, slice(first, first + table.n_rows))

    def take(self, rows: NDArray[np.intp]) -> PlacedTable:
        """Return some rows of all places, by their numbers; these must rise if there are several places."""
        own = slice(0, len(rows))
        if places.here() is not None:
            own = slice(*np.searchsorted(rows, (self.own.start, self.own.stop)).tolist())
        return PlacedTable(self.table.take(rows[own] - self.own.start), own)

    def relearn(self) -> PlacedTable:
        """Return the same rows under the schema that those of all places give: after ``take``."""
        return PlacedTable(self.table.relearn(), self.own)


def shared_codes(data: BinnedData, reserve: int, threads: int) -> BinnedData:
    """Return the codes of the rows of all places, from those of this one.

    Parameters
    ----------
    data : BinnedData
        Codes of this place; the map is that of all.
    reserve : int
        Bytes that training will need besides the codes.
    threads : int
        Threads to use.
    """
    if places.here() is None:
        return data
    n_rows, bins = places.total(data.n_rows), data.bin_map.n_bins
    codes = _kernel.BinnedData(n_rows, list(bins), list(data.bin_map.categorical))
    require_room(
        codes.size_bytes + reserve, f"growing trees from the codes of all {n_rows} rows of {len(bins)} columns"
    )
    codes.attach(np.zeros(codes.size_bytes, dtype=np.uint8))
    widths = [np.min_scalar_type(n_bins) for n_bins in bins]
    for features in grouped([n_rows * width.itemsize for width in widths], BYTES_AT_ONCE):
        own = [data.codes.codes(feature).astype(widths[feature]) for feature in features]
        with places.afresh():
            parts: list[list[NDArray[Any]]] = places.gathered(own.copy)
        for feature, whole in zip(features, zip(*parts, strict=True), strict=True):
            codes.put_codes(feature, np.concatenate(whole).astype(np.uint32), threads)
    return BinnedData(data.bin_map, codes, data.has_missing)


def require_room(needed: int, what: str) -> None:
    """Reject places with less memory than each of them needs; those of one machine share its memory."""
    found = places.gathered(lambda: (platform.node(), available_bytes()))
    hosts = [host for host, _ in found]
    host, free = min(((host, free / hosts.count(host)) for host, free in found), key=lambda one: one[1])
    if needed > free:
        wanted, left = math.ceil(needed / MEGABYTE) * MEGABYTE, int(free / MEGABYTE) * MEGABYTE
        raise MemoryError(
            f"{what} takes {as_text(wanted)} at every worker, but a worker on {host} has {as_text(left)}: use fewer "
            "rows, workers with more memory, or boosted trees, whose rows stay where they are"
        )
