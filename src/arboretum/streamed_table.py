"""Tables that are read from a Dataset in passes: what is needed of all rows at once is asked for batch by batch.

::

    Dataset ──(pass 1: columns of text alone)──► categories, frequencies ──► Schema
       │                                                                        │
       ├──(pass 2)──► a sample of the rows ──► cuts        binning.learn_bins   │
       └──(pass 3)──► row_batches ──► codes                binning.assign_bins ◄┘

Every batch goes through the same reading as a frame in memory (table.py), so the model is the same to the bit. Who asks
for ``columns`` gets all rows in memory: estimators that need raw values work as well, with more memory.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.dataset import Dataset
from arboretum.dataset_sources import BATCH_ROWS
from arboretum.schema import (
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
    user_level,
)
from arboretum.table import Table, has_missing, read_column

Positions: TypeAlias = NDArray[np.intp]


class StreamedTable(Table):
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
        As for ``table.conform``; at fit, where all is known, they say nothing.

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

    @cached_property
    def columns(self) -> list[Array]:  # type: ignore[override]
        """All rows in memory, with a warning if that is more than the limit of the dataset."""
        limit, needed = self.dataset.memory_limit, 4 * self.n_rows * self.schema.n_features
        if limit is not None and needed > limit:
            warnings.warn(
                f"{self.n_rows} rows of {self.schema.n_features} columns are read into memory, at least {needed} "
                f"bytes, more than memory_limit={limit}: what is fitted needs raw values of all rows",
                UserWarning,
                stacklevel=user_level(),
            )
        return self._read()

    def sample(self, rows: Array) -> list[Array]:
        """Return the columns of rising rows, which are few enough to be held."""
        return self._at(rows)._read()

    def _read(self) -> list[Array]:
        parts = [part.columns for _, part in self.row_batches()]
        empty = [
            np.zeros(0, np.int32 if column.kind == "categorical" else np.float64) for column in self.schema.columns
        ]
        return [np.concatenate(pieces) for pieces in zip(*parts, strict=True)] if parts else empty

    def row_batches(self, size: int = BATCH_ROWS) -> Iterator[tuple[int, Table]]:
        """Yield (first row, dense table of some of the next rows): one pass over the dataset."""
        found = np.zeros(self.schema.n_features, dtype=bool)
        first = 0
        for readings in _readings(self.dataset, self.rows, size):
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
        if len(rows) and (rows[0] < 0 or (np.diff(rows) <= 0).any()):
            return super().take(rows)
        return self._at(rows)

    def _at(self, rows: Array) -> StreamedTable:
        chosen = rows if self.rows is None else self.rows[rows]
        return StreamedTable(self.schema, self.dataset, chosen, unknown=self.unknown, missing=self.missing)

    def relearn(self) -> Table:
        """Return this table under the schema its own rows would have given: for a table made by ``take``."""
        categorical = self.schema.categorical
        if not categorical:
            return self
        counts = {j: np.zeros(len(self.schema.columns[j].categories) + 1, np.int64) for j in categorical}
        for _, part in self.row_batches():
            for j in categorical:
                counts[j] += np.bincount(part.columns[j] + 1, minlength=len(counts[j]))
        columns = list(self.schema.columns)
        for j in categorical:
            column = columns[j]
            missing, *others = counts[j].tolist()
            columns[j] = rank_counts(column.name, column.source, column.categories, others, missing > 0)[0]
        return StreamedTable(Schema(tuple(columns), self.schema.named), self.dataset, self.rows)


def _readings(dataset: Dataset, rows: Positions | None, size: int) -> Iterator[list[Reading]]:
    """Columns of each batch as they were found; of the rows asked for."""
    import pyarrow

    seen = 0
    for batch in dataset.batches(size):
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

    def column(self, reading: Reading) -> ColumnSchema:
        """Return what the column is; ``reading`` is one of no rows, which knows its type."""
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
    if not dataset.n_rows:
        raise ValueError("Found a dataset with 0 sample(s) while a minimum of 1 is required.")
    mask = categorical_mask(categorical_features, names, named=True)
    empty = _read_columns(dataset.schema.empty_table())
    levels = {
        name: _Levels(name)
        for name, reading, flag in zip(names, empty, mask, strict=True)
        if flag or reading.categories is not None
    }
    if levels:
        for readings in _readings(dataset.select(list(levels)), None, BATCH_ROWS):
            for one, reading in zip(levels.values(), readings, strict=True):
                one.add(reading)
    columns = (
        levels[name].column(reading) if name in levels else ColumnSchema(name, "numeric", reading.source)
        for name, reading in zip(names, empty, strict=True)
    )
    return StreamedTable(Schema(tuple(columns), named=True), dataset)


def conform_dataset(
    dataset: Dataset, schema: Schema, *, unknown: str, missing: Literal["warn", "error"], estimator_name: str
) -> StreamedTable:
    """Return a dataset to predict on, as the schema of the fit says; columns that the model does not know are left out.

    A dataset is predicted on as it lies in its file, with the target and whatever else there is beside the features.
    """
    names = dataset.names
    if schema.named:
        known = [name for name in names if name in set(schema.names)]
        schema.in_order(known, known)
        names = schema.names
    else:
        schema.check_width(len(names), estimator_name)
    if not dataset.n_rows:
        raise ValueError("Found a dataset with 0 sample(s) while a minimum of 1 is required.")
    return StreamedTable(schema, dataset.select(names), unknown=unknown, missing=missing)
