"""Tables that members are fitted to.

::

    X ──┬── SharedTable   read and cut into bins once, for members of ours that can (``fit_shared``)
        └── GivenTable    rows and columns taken from the user's own container, for any other
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data import selection
from arboretum.data.schema import ColumnSchema, Schema
from arboretum.data.table import Table, read_table
from arboretum.ensembles.bagging.resampling import Bag, Keys, Positions, columns_of_table, content_keys
from arboretum.ensembles.members.estimators import shares, takes_weights
from arboretum.running.interruption import inner_fits

FloatArray: TypeAlias = NDArray[np.float64]


class MemberTable(Protocol):
    """Rows that members are fitted to and predict."""

    takes_weights: bool
    n_rows: int
    n_columns: int | None

    @property
    def schema(self) -> Schema | None:
        """Columns, if they are known."""

    def prepare(self, y: NDArray[Any], weight: FloatArray | None, kept: Positions, threads: int) -> None:
        """Take the rows ``kept``, which have weight, with their targets."""

    def keys(self, target: FloatArray, kept: Positions) -> Keys:
        """Hash the content of each row that has weight."""

    def fit(self, model: Any, bag: Bag, threads: int) -> Any:
        """Fit a member to its bag."""

    def part(self, rows: Positions, columns: Positions | None) -> Any:
        """Return rows for a member to predict."""


class SharedTable:
    """A table that is read, and cut into bins, once for all members."""

    def __init__(self, base: Any, X: Any) -> None:
        self.base, self.takes_weights = base, True
        self.table = read_table(X, categorical_features=base.categorical_features)
        self.n_rows = self.table.n_rows
        self.n_columns: int | None = self.table.schema.n_features

    def prepare(self, y: NDArray[Any], weight: FloatArray | None, kept: Positions, threads: int) -> None:
        """Take the rows that have weight, with their targets."""
        table = self.table if len(kept) == self.n_rows else self.table.take(kept).relearn()
        self.place = np.zeros(self.n_rows, dtype=np.intp)
        self.place[kept] = np.arange(len(kept))
        self.shared = self.base.share_table(table, y, weight, threads)
        self.table = self.shared.problem.table

    @property
    def schema(self) -> Schema | None:
        """Names, kinds and categories of the columns."""
        return self.table.schema

    def keys(self, target: FloatArray, kept: Positions) -> Keys:
        """Hash the content of each row that has weight."""
        return content_keys(self.table, target)

    def fit(self, model: Any, bag: Bag, threads: int) -> Any:
        """Fit a member to its bag."""
        with inner_fits():
            return model.fit_shared(self.shared, replace(bag, rows=self.place[bag.rows]), threads)

    def part(self, rows: Positions, columns: Positions | None) -> Any:
        """Return rows for a member to predict."""
        return some_columns(self.table, columns).take(self.place[rows])


class GivenTable:
    """The user's table; members see rows and columns of it."""

    def __init__(self, base: Any, X: Any) -> None:
        self.X = selection.as_container(X)
        self.n_rows, self.n_columns = selection.n_rows_of(self.X), selection.n_columns_of(self.X)
        self.takes_weights = takes_weights(base)
        if not self.n_rows:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required: X has no rows")
        try:
            self.table: Table | None = read_table(X)
        except (TypeError, ValueError):  # documents, images: the member decides whether it accepts them
            self.table = None

    @property
    def schema(self) -> Schema | None:
        """Names of the columns, if any; only the members know what they hold."""
        if self.table is None:
            return None
        schema = self.table.schema
        return Schema(tuple(ColumnSchema(name, "numeric", "number") for name in schema.names), schema.named)

    def prepare(self, y: NDArray[Any], weight: FloatArray | None, kept: Positions, threads: int) -> None:
        """Take the targets of the rows that have weight."""
        self.y = np.zeros((self.n_rows, *y.shape[1:]), dtype=y.dtype)
        self.y[kept] = y

    def keys(self, target: FloatArray, kept: Positions) -> Keys:
        """Hash the content of each row that has weight."""
        if self.table is None:  # rows that cannot be read are drawn in their given order
            return np.arange(len(kept), dtype=np.uint64)
        table = self.table if len(kept) == self.n_rows else self.table.take(kept).relearn()
        return content_keys(table, target)

    def fit(self, model: Any, bag: Bag, threads: int) -> Any:
        """Fit a member to its bag."""
        whole = selection.take_columns(self.X, bag.columns)
        with inner_fits():
            if not self.takes_weights:
                rows = np.repeat(bag.rows, bag.copies)
                return model.fit(selection.take_rows(whole, rows), self.y[rows])
            weight = {} if (bag.weight == 1).all() else {"sample_weight": bag.weight}
            return model.fit(selection.take_rows(whole, bag.rows), self.y[bag.rows], **weight)

    def part(self, rows: Positions, columns: Positions | None) -> Any:
        """Return rows for a member to predict."""
        return selection.take_columns(selection.take_rows(self.X, rows), columns)


def table_for(base: Any, X: Any) -> MemberTable:
    """Return the kind of table that copies of an estimator can use."""
    return SharedTable(base, X) if shares(base) else GivenTable(base, X)


def some_columns(rows: Any, columns: Positions | None) -> Any:
    """Return these columns of a Table or of the user's container; None means all."""
    if not isinstance(rows, Table):
        return selection.take_columns(rows, columns)
    return rows if columns is None else columns_of_table(rows, columns)
