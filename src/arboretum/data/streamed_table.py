"""Tables that are read from a Dataset in passes: what is needed from all rows is gathered batch by batch.

::

    Dataset ──(pass 1: columns of text alone)──► categories, frequencies ──► Schema
       │                                                                        │
       ├──(pass 2)──► a sample of the rows ──► cuts        binning.learn_bins   │
       └──(pass 3)──► row_batches ──► codes                binning.assign_bins ◄┘

Passes 2 and 3 take the columns in as many groups as the memory limit requires; a pass reads only its own columns.
Every batch is read as a frame in memory is (table.py), so the model is the same to the bit. ``columns`` gives all rows
in memory: estimators that need raw values work as well, with more memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.data.dataset import Dataset
from arboretum.data.memory_budget import MemoryBudget
from arboretum.data.row_stream import Pass, RowStream
from arboretum.data.schema import (
    MISSING,
    Array,
    Category,
    ColumnSchema,
    Reading,
    Schema,
    apply_column,
    as_categories,
    categorical_mask,
    rank_counts,
    warn_of_text,
)
from arboretum.data.sources import BATCH_ROWS
from arboretum.data.table import Table, has_missing, read_column

LEVEL_BYTES = 200  # of a category besides its text: its count, its code and its place in the schema
Positions: TypeAlias = NDArray[np.unsignedinteger[Any]]


class StreamedTable(RowStream):
    """Rows of a Dataset under a schema.

    Parameters
    ----------
    schema : Schema
        What the columns are.
    dataset : Dataset
        Its columns are those of the schema, in their order.
    rows : ndarray, optional
        Rising numbers of the rows of the dataset that the table has; all by default.
    unknown, missing : str
        As for ``table.conform``; at fit, where everything is known, they have no effect.

    Examples
    --------
    >>> table = read_dataset(Dataset.from_frame({"size": [3.0, 1.0, 2.0], "color": ["red", "blue", "blue"]}))
    >>> table.n_rows, table.schema.columns[1].categories
    (3, ('blue', 'red'))
    >>> [part.columns for _, part in table.take(np.array([0, 2])).row_batches()]
    [[array([3., 2.]), array([1, 0], dtype=int32)]]
    """

    def __init__(
        self,
        schema: Schema,
        dataset: Dataset,
        rows: Positions | None = None,
        *,
        unknown: str = "average",
        missing: Literal["warn", "error"] | None = None,
    ) -> None:
        self.schema = schema
        self.dataset = dataset
        self.rows = rows
        self.unknown = unknown
        self.missing = missing

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.dataset.n_rows if self.rows is None else len(self.rows)

    @property
    def budget(self) -> MemoryBudget | None:
        """What is left of the memory limit of the dataset."""
        return self.dataset.budget

    def of_columns(self, places: Sequence[int]) -> StreamedTable:
        """Return the table of some of the columns."""
        columns = tuple(self.schema.columns[place] for place in places)
        dataset = self.dataset.select([self.dataset.names[place] for place in places])
        schema = Schema(columns, self.schema.named)
        return StreamedTable(schema, dataset, self.rows, unknown=self.unknown, missing=self.missing)

    def passes(self, places: Sequence[int], *, beside: int = 0) -> Iterator[Pass]:
        """Yield columns in groups, each read by itself."""
        for group in self.of_columns(places).dataset.column_groups(beside=beside):
            chosen = [places[place] for place in group]
            batches = self.of_columns(chosen).row_batches(beside=beside)
            yield chosen, ((first, part.columns) for first, part in batches)

    def samples(self, rows: Array, held: int) -> Iterator[tuple[Sequence[int], list[Array]]]:
        """Yield columns in groups, each read by itself."""
        for group in self.dataset.column_groups(held * len(rows)):
            yield group, self.of_columns(group).at(rows).read()

    def categories(self) -> Table:
        """Read the categorical columns; others are missing values that take up no memory."""
        categorical = self.schema.categorical
        read = dict(zip(categorical, self.of_columns(categorical).columns, strict=True)) if categorical else {}
        nothing = np.broadcast_to(np.float64(np.nan), self.n_rows)
        return Table(self.schema, [read.get(j, nothing) for j in range(self.schema.n_features)])

    def row_batches(self, size: int | None = None, *, beside: int = 0) -> Iterator[tuple[int, Table]]:
        """Yield (first row, dense table of some of the next rows): one pass over the dataset."""
        found = np.zeros(self.schema.n_features, dtype=bool)
        first = 0
        for readings in _readings(self.dataset, self.rows, size or BATCH_ROWS, beside=beside):
            columns = [
                apply_column(column, reading, self.unknown)
                for column, reading in zip(self.schema.columns, readings, strict=True)
            ]
            if self.missing is not None:
                found |= [has_missing(values) for values in columns]
            if self.unknown == "missing":
                columns = [np.maximum(v, MISSING) if v.dtype == np.int32 else v for v in columns]
            yield first, Table(self.schema, columns)
            first += len(columns[0])
        if self.missing is not None:
            self.schema.judge_missing(found, self.missing)

    def take(self, rows: Array) -> Table:
        """Return the table of the rows at these positions; in memory, if they do not rise."""
        rows = np.asarray(rows)
        if len(rows) and (rows[0] < 0 or (rows[1:] <= rows[:-1]).any()):
            return super().take(rows)
        return self.at(rows)

    def at(self, rows: Array) -> StreamedTable:
        """Return the rows at these rising places, without checking them."""
        chosen = rows if self.rows is None else self.rows[rows]
        chosen = chosen.astype(np.uint32 if self.dataset.n_rows < 2**32 else np.uint64, copy=False)
        return StreamedTable(self.schema, self.dataset, chosen, unknown=self.unknown, missing=self.missing)

    def relearn(self) -> Table:
        """Return this table under the schema that its own rows would give: for a table made by ``take``."""
        categorical = self.schema.categorical
        if not categorical:
            return self
        counts = places.summed(lambda: self._counts(categorical))
        columns = list(self.schema.columns)
        for j, of_column in zip(categorical, counts, strict=True):
            column = columns[j]
            missing, *others = of_column.tolist()
            columns[j] = rank_counts(column.name, column.source, column.categories, others, missing > 0)[0]
        return StreamedTable(Schema(tuple(columns), self.schema.named), self.dataset, self.rows)

    def _counts(self, categorical: Sequence[int]) -> list[NDArray[np.int64]]:
        """Count missing values and the rows of each category."""
        counts = [np.zeros(len(self.schema.columns[j].categories) + 1, np.int64) for j in categorical]
        for _, part in self.of_columns(categorical).row_batches():
            for of_column, codes in zip(counts, part.columns, strict=True):
                of_column += np.bincount(codes + 1, minlength=len(of_column))
        return counts


def _readings(dataset: Dataset, rows: Positions | None, size: int, *, beside: int = 0) -> Iterator[list[Reading]]:
    """Yield the columns of each batch as they were found, for the rows asked for."""
    import pyarrow

    seen = 0
    for batch in dataset.batches_beside(beside, size):
        begin, seen = seen, seen + batch.num_rows
        frame = pyarrow.Table.from_batches([batch])
        if rows is not None:
            wanted = rows[slice(*np.searchsorted(rows, (begin, seen)))]
            if not len(wanted):
                continue
            if len(wanted) < batch.num_rows:
                frame = frame.take(pyarrow.array(wanted - begin))
        yield _read_columns(frame)
    pyarrow.default_memory_pool().release_unused()  # what a pass took is not needed by the training after it
    if seen != dataset.n_rows:
        raise ValueError(
            f"the dataset had {dataset.n_rows} rows and now has {seen}: it changed while it was read; read it again"
        )


def _read_columns(frame: Any) -> list[Reading]:
    import narwhals.stable.v1 as nw

    return [read_column(column, column.name) for column in nw.from_native(frame, eager_only=True).iter_columns()]


# --------------------------------------------------------------------------------------------- learning the schema


@dataclass
class _Levels:
    """Values of a column of categories, and how often each was seen."""

    name: str
    counts: Counter[Category] = field(default_factory=Counter)
    has_missing: bool = False

    def add(self, reading: Reading) -> None:
        if reading.categories is None:
            values, counts = np.unique(reading.values[~np.isnan(reading.values)], return_counts=True)
            categories: list[Category] = values.tolist()
            n_missing = len(reading.values) - int(counts.sum())
        else:
            categories = reading.categories
            n_missing, *counts = np.bincount(reading.values + 1, minlength=len(categories) + 1).tolist()
        self.has_missing |= n_missing > 0
        for category, count in zip(categories, counts, strict=True):
            self.counts[category] += int(count)

    def __add__(self, other: _Levels) -> _Levels:
        return _Levels(self.name, self.counts + other.counts, self.has_missing or other.has_missing)

    def column(self, reading: Reading) -> ColumnSchema:
        """Return the schema of the column; ``reading`` has no rows, but knows the type."""
        found: list[Category] = list(self.counts)
        if reading.categories is None:
            found = as_categories(np.sort(np.array(found, dtype=np.float64)), reading.source)
        counts = [self.counts[category] for category in found]
        return rank_counts(self.name, reading.source, found, counts, self.has_missing)[0]


def read_dataset(dataset: Dataset, *, categorical_features: object = None) -> StreamedTable:
    """Learn the schema of a dataset that a model is fitted on; columns of numbers are not read for it.

    Parameters
    ----------
    dataset : Dataset
        Training rows, without the target.
    categorical_features : None, "from_dtype" or sequence of names, positions or booleans
        As for ``table.read_table``.
    """
    names = dataset.names
    if not names:
        raise ValueError("the dataset has no column besides the target: give at least one")
    if not places.total(dataset.n_rows):
        raise ValueError("Found a dataset with 0 sample(s) while a minimum of 1 is required.")
    _refuse_nested(dataset)
    mask = categorical_mask(categorical_features, names, named=dataset.named)
    empty = _read_columns(dataset.schema.empty_table())
    is_listed = [flag or reading.categories is not None for reading, flag in zip(empty, mask, strict=True)]
    found = places.summed(lambda: _levels_of(dataset, list(compress(names, is_listed))))
    levels = {one.name: one for one in found}
    columns = []
    for name, reading, flag in zip(names, empty, mask, strict=True):
        if name not in levels:
            columns.append(ColumnSchema(name, "numeric", reading.source))
            continue
        if reading.source == "string" and not flag:
            warn_of_text(name, list(levels[name].counts))
        columns.append(levels[name].column(reading))
    return StreamedTable(Schema(tuple(columns), dataset.named), dataset)


def _levels_of(dataset: Dataset, names: Sequence[str]) -> list[_Levels]:
    """Count the values of columns of categories."""
    levels = [_Levels(name) for name in names]
    seen = 0
    for readings in _readings(dataset.select(names), None, BATCH_ROWS) if names else ():
        for one, reading in zip(levels, readings, strict=True):
            one.add(reading)
        seen += len(readings[0].values)
        _check_levels(dataset, levels, seen)
    return levels


def _refuse_nested(dataset: Dataset) -> None:
    import pyarrow

    for column in dataset.schema:
        if pyarrow.types.is_nested(column.type):
            raise TypeError(
                f"column {column.name!r} holds values of type {column.type}, which trees cannot split: leave it out "
                "with drop, or choose parts of it with Dataset.from_sql"
            )


def _check_levels(dataset: Dataset, levels: Sequence[_Levels], seen: int) -> None:
    """Reject a memory limit that the values of text columns have used up."""
    budget = None if dataset.budget is None else dataset.budget.begun()
    if budget is None or budget.keep():
        return
    held = sum(LEVEL_BYTES + len(str(category)) for one in levels for category in one.counts)
    longest = max(levels, key=lambda one: len(one.counts))
    what = f"to know the values of column {longest.name!r}, {len(longest.counts)} in the first {seen} rows,"
    raise budget.too_small(budget.limit + held * (dataset.n_rows - seen) // seen, what)


def conform_dataset(
    dataset: Dataset, schema: Schema, *, unknown: str, missing: Literal["warn", "error"], estimator_name: str
) -> StreamedTable:
    """Return a dataset to predict on, according to the schema of the fit; columns unknown to the model are left out.

    A dataset may have the target and other columns besides the features, as it lies in its file.
    """
    names = dataset.names
    if schema.named:
        learned = set(schema.names)
        known = [name for name in names if name in learned]
        schema.in_order(known, known)
        names = schema.names
    else:
        schema.check_width(len(names), estimator_name)
    kinds = {name: column.read_as for name, column in zip(names, schema.columns, strict=True)}
    dataset = dataset.read_as({name: kind for name, kind in kinds.items() if kind is not None})
    if not places.total(dataset.n_rows):
        raise ValueError("Found a dataset with 0 sample(s) while a minimum of 1 is required.")
    return StreamedTable(schema, dataset.select(names), unknown=unknown, missing=missing)
