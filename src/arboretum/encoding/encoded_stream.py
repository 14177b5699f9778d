"""Rows of a Dataset as trees read them when categories become target statistics (category_encoding.py).

::

    to predict    batch ──► the statistics of its categories ──► batch that trees read               TransformedStream
    to train      categories of all rows, in memory ──► a few statistics of all rows at a time  ┐
                  kept columns ──► batches                                                      ┴─► OrderedStream

A statistic of a training row depends on the rows before it in a random order, so it is made of all rows at once; the
values of a column become codes before those of the next are made. Among other places all statistics are made together
with the stream, and held: rows travel for them, and a place that has its codes already does not read the stream.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arboretum.data.memory_budget import BATCH_SHARE, MemoryBudget
from arboretum.data.row_stream import Pass, RowStream
from arboretum.data.schema import Array
from arboretum.data.sources import BATCH_ROWS
from arboretum.data.streamed_table import StreamedTable
from arboretum.data.table import Table
from arboretum.encoding.category_encoding import CategoryEncoding
from arboretum.places import here

STATISTIC_BYTES = 32  # of a row while it is encoded: key, level and value


@dataclass(eq=False)
class EncodedStream(RowStream):
    """Encoded rows."""

    source: StreamedTable  # rows as they were given
    encoding: CategoryEncoding

    def __post_init__(self) -> None:
        self.schema = self.encoding.schema  # columns that are kept, then statistics

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    @property
    def budget(self) -> MemoryBudget | None:
        """What is left of the memory limit of the dataset."""
        return self.source.budget


@dataclass(eq=False)
class TransformedStream(EncodedStream):
    """Rows to predict on; the fields are arguments of ``CategoryEncoding.transform``."""

    unknown_is_missing: bool
    threads: int

    def row_batches(self, size: int | None = None, *, beside: int = 0) -> Iterator[tuple[int, Table]]:
        """Encode batch by batch."""
        of_row = STATISTIC_BYTES * len(self.encoding.statistics.statistics)
        room = BATCH_SHARE * (self.free_memory() - beside)
        size = max(1, int(min(size or BATCH_ROWS, room / of_row)))
        for first, part in self.source.row_batches(size, beside=beside):
            yield first, self.encoding.transform(part, unknown_is_missing=self.unknown_is_missing, threads=self.threads)


@dataclass(eq=False)
class OrderedStream(EncodedStream):
    """Training rows in one random order; the fields are arguments of ``CategoryEncoding.ordered``."""

    categories_of_rows: Table  # in memory
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    number: int
    seed: int
    threads: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._held = None if here() is None else list(self._made(math.inf))

    @property
    def _kept(self) -> StreamedTable:
        return self.source.of_columns([self.encoding.source.by_name[j] for j in self.encoding.kept])

    def _statistics(self, beside: int) -> Iterable[tuple[list[int], list[NDArray[np.float64]]]]:
        return self._made((self.free_memory() - beside) / 2) if self._held is None else self._held

    def _made(self, memory: float) -> Iterator[tuple[list[int], list[NDArray[np.float64]]]]:
        return self.encoding.ordered_parts(
            self.categories_of_rows,
            self.y,
            self.weight,
            self.number,
            seed=self.seed,
            memory=memory,
            threads=self.threads,
        )

    def values(self, places: Sequence[int], rows: Array | None = None) -> list[Array]:
        """Read kept columns, and look up the statistics."""
        kept = [place for place in places if place < len(self.encoding.kept)]
        found = dict(zip(kept, self._kept.values(kept, rows), strict=True)) if kept else {}
        for made, values in self._statistics(0):
            found |= {
                place: of_rows if rows is None else of_rows[rows] for place, of_rows in zip(made, values, strict=True)
            }
        return [found[place] for place in places]

    def passes(self, places: Sequence[int], *, beside: int = 0) -> Iterator[Pass]:
        """Yield the columns that are kept, then statistics, some at a time."""
        n_kept = len(self.encoding.kept)
        if n_kept:
            yield from self._kept.passes([place for place in places if place < n_kept], beside=beside)
        for made, values in self._statistics(beside):
            yield made, iter([(0, list[Array](values))])

    def samples(self, rows: Array, held: int) -> Iterator[tuple[Sequence[int], list[Array]]]:
        """Yield the columns that are kept, then statistics, some at a time."""
        if self.encoding.kept:
            yield from self._kept.samples(rows, held)
        for made, values in self._statistics(0):
            yield made, [of_rows[rows] for of_rows in values]

    def row_batches(self, size: int | None = None, *, beside: int = 0) -> Iterator[tuple[int, Table]]:
        """Yield rows of all columns; the statistics of all rows are held meanwhile."""
        statistics = [of_rows for _, values in self._statistics(beside) for of_rows in values]
        if not self.encoding.kept:
            yield 0, Table(self.schema, list[Array](statistics))
            return
        for first, part in self._kept.row_batches(size, beside=beside):
            made = [of_rows[first : first + part.n_rows] for of_rows in statistics]
            yield first, Table(self.schema, [*part.columns, *made])
