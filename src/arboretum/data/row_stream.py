"""Tables whose rows are read in passes, whatever makes the rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from arboretum.cached import cached_property
from arboretum.data.memory_budget import MemoryBudget
from arboretum.data.schema import Array
from arboretum.data.table import Table

Pass: TypeAlias = tuple[Sequence[int], Iterator[tuple[int, list[Array]]]]


class RowStream(Table, ABC):
    """Rows that are made a batch at a time.

    A kind of stream defines ``schema``, ``n_rows`` and ``row_batches``, and ``budget`` if memory may be limited; one
    that can read columns without the others also defines ``passes`` and ``samples``.
    """

    @property
    def budget(self) -> MemoryBudget | None:
        """What is left of the memory limit; None if there is none."""
        return None

    @abstractmethod
    def row_batches(self, size: int | None = None, *, beside: int = 0) -> Iterator[tuple[int, Table]]:
        """Yield (first row, dense table of some of the next rows): one pass.

        ``beside`` is how many bytes the caller will allocate while it reads.
        """

    def passes(self, places: Sequence[int], *, beside: int = 0) -> Iterator[Pass]:
        """Yield (some of these columns, an iterator of first rows and values): one pass after the other."""
        batches = self.row_batches(beside=beside)
        yield places, ((first, [part.columns[place] for place in places]) for first, part in batches)

    def samples(self, rows: Array, held: int) -> Iterator[tuple[Sequence[int], list[Array]]]:
        """Yield (some columns, their values in these rising rows); the caller keeps ``held`` bytes of each value."""
        yield range(self.schema.n_features), [column[rows] for column in self.columns]

    @cached_property
    def columns(self) -> list[Array]:
        """All rows in memory; a memory limit that is too small for them is rejected."""
        if self.budget is not None:
            needed = sum(4 if column.kind == "categorical" else 8 for column in self.schema.columns) * self.n_rows
            what = f"a fit that needs all {self.n_rows} rows of {self.schema.n_features} columns in memory"
            self.budget.begun().require(needed, what)
        return self.read()

    def read(self) -> list[Array]:
        """Return all rows; columns are filled as batches come, so that no row is held twice."""
        batches = ((first, part.columns) for first, part in self.row_batches())
        empty = [np.zeros(0, np.int32 if one.kind == "categorical" else np.float64) for one in self.schema.columns]
        return _filled(batches, self.n_rows, empty)

    def free_memory(self) -> float:
        """Return the bytes that are left of the memory limit."""
        return math.inf if self.budget is None else self.budget.begun().free()

    def require_memory(self, needed: int, what: str = "") -> None:
        """Reject a memory limit that leaves fewer bytes than needed by ``what``, by default the training."""
        if self.budget is not None:
            what = what or f"training from {self.n_rows} rows of {self.schema.n_features} columns"
            self.budget.begun().require(needed, what)


def _filled(batches: Iterator[tuple[int, list[Array]]], n_rows: int, whole: list[Array]) -> list[Array]:
    """Return columns of all rows; of an empty stream, which has no batches, those that are given."""
    for first, columns in batches:
        for j, values in enumerate(columns):
            if first == 0:
                whole[j] = np.empty(n_rows, values.dtype)
            elif not np.can_cast(values.dtype, whole[j].dtype):
                whole[j] = whole[j].astype(values.dtype)
            whole[j][first : first + len(values)] = values
    return whole
