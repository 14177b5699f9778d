"""Categories of many levels as numbers: the table that trees read when columns become target statistics.

    table of the user                  table that trees read
    size     colour   street           colour   size     mean of y by street   frequency of street
    number   set      many levels      set      number   number                number

Columns come in the order of their names, so that nothing depends on the order in which they were given. Statistics of
training rows are ordered (target_statistics.py): every round of boosting reads them in one of a few random orders.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.cached import cached_property
from arboretum.data.schema import MISSING, UNKNOWN, ColumnSchema, Schema
from arboretum.data.table import Table
from arboretum.encoding.combinations import best_combinations
from arboretum.encoding.target_statistics import TargetStatistics, learn_statistics, rows_in_order

FloatArray: TypeAlias = NDArray[np.float64]

MAX_COMBINATIONS = 64

Entry = TypeVar("Entry")


@dataclass(frozen=True, eq=False)
class CategoryEncoding:
    """How the user's table becomes the table that trees read. Made by `learn_encoding`.

    Parameters
    ----------
    source : Schema
        Of the user's table.
    statistics : TargetStatistics
        Learned from the columns of the user's table in the order of their names.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> table = read_table([["oslo", 3.0], ["rome", 1.0], ["oslo", 4.0], ["bern", 1.0]])
    >>> encoding = learn_encoding(table, np.array([1.0, 0, 1, 0]), n_classes=2, category_levels=2)
    >>> encoding.schema.names
    ['x1', 'mean of class 1 by x0', 'frequency of x0']
    >>> encoding.transform(table).columns[1].round(2)
    array([0.83, 0.25, 0.83, 0.25])
    """

    source: Schema
    statistics: TargetStatistics

    @cached_property
    def replaced(self) -> frozenset[int]:
        """Columns, in the order of their names, that trees read only as statistics."""
        return frozenset(one.columns[0] for one in self.statistics.statistics if len(one.columns) == 1)

    @cached_property
    def kept(self) -> list[int]:
        """Columns, in the order of their names, that trees read as they are."""
        return [j for j in range(self.source.n_features) if j not in self.replaced]

    @cached_property
    def sources(self) -> list[tuple[int, ...]]:
        """Input columns behind each encoded column."""
        by_name = [(j,) for j in self.kept] + [one.columns for one in self.statistics.statistics]
        return [tuple(self.source.by_name[j] for j in columns) for columns in by_name]

    @cached_property
    def schema(self) -> Schema:
        """Columns that trees read."""
        columns = self.statistics.schema.columns
        made = [
            ColumnSchema(self.statistics.describe(i), "numeric", "number")
            for i in range(len(self.statistics.statistics))
        ]
        return Schema((*(columns[j] for j in self.kept), *made), self.source.named)

    def transform(self, table: Table, *, unknown_is_missing: bool = False, threads: int = 1) -> Table:
        """Encode rows to predict on.

        Parameters
        ----------
        table : Table
            Read by the schema of the user's table.
        unknown_is_missing : bool
            Whether categories not seen at fit count as missing; else their statistics are the priors.
        threads : int
            Threads to use; the result does not depend on them.
        """
        columns = self._sorted(table).columns
        known = [_without_unknown(column) for column in columns] if unknown_is_missing else columns
        sorted_table = Table(self.statistics.schema, known)
        return self._joined(sorted_table, self.statistics.transform(sorted_table, threads=threads))

    def ordered(
        self, table: Table, y: FloatArray, weight: FloatArray | None, number: int, *, seed: int, threads: int = 1
    ) -> Table:
        """Encode training rows: a statistic of a row is that of the rows before it in random order ``number``."""
        sorted_table = self._sorted(table)
        parts = self.ordered_parts(table, y, weight, number, seed=seed, threads=threads)
        return self._joined(sorted_table, [column for _, values in parts for column in values])

    def ordered_parts(
        self,
        table: Table,
        y: FloatArray,
        weight: FloatArray | None,
        number: int,
        *,
        seed: int,
        memory: float = math.inf,
        threads: int = 1,
    ) -> Iterator[tuple[list[int], list[FloatArray]]]:
        """Yield (columns that trees read, their values) for the statistics that ``ordered`` makes, some at a time."""
        rows = rows_in_order(y, weight, table.n_rows, seed=seed, number=number, threads=threads)
        parts = self.statistics.ordered_in_parts(self._sorted(table), rows, memory=memory, threads=threads)
        for made, (values,) in parts:
            yield [len(self.kept) + i for i in made], list(values)

    def _sorted(self, table: Table) -> Table:
        return Table(self.statistics.schema, [table.columns[j] for j in self.source.by_name])

    def _joined(self, sorted_table: Table, statistics: list[FloatArray]) -> Table:
        return Table(self.schema, [*(sorted_table.columns[j] for j in self.kept), *statistics])

    # ------------------------------------------------------------------------ from input columns to encoded ones

    def per_column(self, entries: Sequence[Entry], of_statistics: Entry) -> list[Entry]:
        """Return one entry per encoded column, from one per input column."""
        by_name = [entries[j] for j in self.source.by_name]
        return [*(by_name[j] for j in self.kept), *[of_statistics] * len(self.statistics.statistics)]

    def column_sets(self, sets: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Return sets of encoded columns; a statistic belongs to a set if all of its columns do."""
        return tuple(tuple(k for k, given in enumerate(self.sources) if set(given) <= set(one)) for one in sets)

    def shares(self) -> FloatArray:
        """Return the share of each input column in each encoded column; the columns of a statistic share equally."""
        shares = np.zeros((len(self.sources), self.source.n_features))
        for row, columns in zip(shares, self.sources, strict=True):
            row[list(columns)] = 1 / len(columns)
        return shares

    def has_missing(self, table: Table, of_read: Sequence[bool]) -> list[bool]:
        """Tell which input columns have missing values, from what is known of the encoded columns."""
        flags = [False] * self.source.n_features
        for k, j in enumerate(self.kept):
            flags[self.source.by_name[j]] = of_read[k]
        categories, replaced = table.categories(), (self.source.by_name[j] for j in self.replaced)
        own = {j for j in replaced if (categories.columns[j] == MISSING).any()}
        for j in places.joined(lambda: own, operator.or_):
            flags[j] = True
        return flags

    # --------------------------------------------------------------------------------------------------- files

    def to_json(self) -> dict[str, Any]:
        """Return what a header holds besides the schema."""
        return self.statistics.to_json()

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the statistics."""
        return self.statistics.to_arrays()

    @classmethod
    def from_arrays(cls, header: Any, arrays: Mapping[str, NDArray[Any]], source: Schema) -> CategoryEncoding:
        """Rebuild from untrusted results of `to_json` and `to_arrays`: any deviation is a ValueError."""
        return cls(source, TargetStatistics.from_arrays(header, arrays, _sorted_schema(source)))


def learn_encoding(
    table: Table,
    y: FloatArray,
    *,
    category_levels: int,
    n_classes: int | None = None,
    class_names: NDArray[Any] | None = None,
    weight: FloatArray | None = None,
    max_combination: int = 1,
    seed: int = 0,
    threads: int = 1,
) -> CategoryEncoding | None:
    """Learn statistics of columns with more than ``category_levels`` levels, and of combinations; None without any.

    Parameters
    ----------
    table, y, n_classes, class_names, weight, threads
        As for `learn_statistics`.
    category_levels : int
        Columns of at most this many levels stay as they are: trees split them by sets of categories.
    max_combination : int
        Most columns of a combination, all of more than ``category_levels`` levels; 1 combines none.
    seed : int
        For the choice of combinations.
    """
    columns = table.schema.columns
    if not any(len(columns[j].categories) + 1 > category_levels for j in table.schema.categorical):
        return None  # known from the schema: no column need be read
    table = table.categories()
    by_name = Table(_sorted_schema(table.schema), [table.columns[j] for j in table.schema.by_name])
    many = [j for j, n in _count_levels(by_name).items() if n > category_levels]
    if not many:
        return None
    with places.afresh():  # sums of all levels are too many to be kept
        combinations = _combine(
            by_name, y, many, max_combination, n_classes=n_classes, weight=weight, seed=seed, threads=threads
        )
        statistics = learn_statistics(
            by_name,
            y,
            n_classes=n_classes,
            weight=weight,
            n_target_borders=0,
            one_hot_max=category_levels,
            combinations=combinations,
            class_names=None if class_names is None else class_names.tolist(),
            threads=threads,
        )
    return CategoryEncoding(table.schema, statistics)


def _count_levels(table: Table) -> dict[int, int]:
    """Return how many levels of each categorical column occur: missing (code −1) is one, unknown (−2) is not."""
    categorical, columns = table.schema.categorical, table.schema.columns
    rows = places.summed(
        lambda: [np.bincount(table.columns[j] + 2, minlength=len(columns[j].categories) + 2) for j in categorical]
    )
    return {j: int(np.count_nonzero(of_column[1:])) for j, of_column in zip(categorical, rows, strict=True)}


def _combine(table: Table, y: FloatArray, columns: list[int], max_size: int, **options: Any) -> list[tuple[int, ...]]:
    """Return all combinations, smaller ones first, while there is room; of the first size beyond it, the best.

    A combination that is useless for all rows may be useful for some of them: trees are better judges.
    """
    found = list[tuple[int, ...]]()
    for size in range(2, min(max_size, len(columns)) + 1):
        room = MAX_COMBINATIONS - len(found)
        if math.comb(len(columns), size) > room:
            best = best_combinations(table, y, columns, max_size=size, max_count=room, **options)
            return found + [one for one in best if len(one) == size]
        found += itertools.combinations(columns, size)
    return found


def _sorted_schema(schema: Schema) -> Schema:
    return Schema(tuple(schema.columns[j] for j in schema.by_name), schema.named)


def _without_unknown(column: NDArray[Any]) -> NDArray[Any]:
    return np.where(column == UNKNOWN, np.int32(MISSING), column) if column.dtype == np.int32 else column
