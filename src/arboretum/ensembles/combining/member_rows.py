"""Rows in the form that each member reads, read once for all of them.

::

    X ──┬── Table       for members of arboretum that grow trees: read once, its bins cut once for all that share them
        └── container   for any other member: the user's own table

    all rows ──take──► rows of a fold: levels of categories are those of the fold, as if it had been given alone
"""

from __future__ import annotations

import threading
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data import selection
from arboretum.data.schema import ColumnSchema, Schema
from arboretum.data.table import Table, read_table

Positions: TypeAlias = NDArray[np.intp]


def reads_tables(member: Any) -> bool:
    """Whether a member takes a Table for X."""
    return bool(getattr(type(member), "reads_tables", False))


class MemberRows:
    """Rows that members are fitted to.

    Parameters
    ----------
    X : table
        The user's table.

    Examples
    --------
    >>> import arboretum as arb
    >>> rows = MemberRows([["a", 1.0], ["b", 2.0]])
    >>> rows.of(arb.DecisionTreeRegressor()) is rows.of(arb.RandomForestRegressor())
    True
    """

    def __init__(self, X: Any) -> None:
        self.container: Any = selection.as_container(X)
        self.n_rows, self.n_columns = selection.n_rows_of(self.container), selection.n_columns_of(self.container)
        if not self.n_rows:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required: X has no rows")
        self.whole: tuple[MemberRows, Positions] | None = None
        self.tables: dict[str, Table] = {}
        self.lock = threading.RLock()

    def of(self, member: Any) -> Any:
        """Return the rows as a member reads them in a fit."""
        if reads_tables(member):
            return self.table(member.categorical_features)
        with self.lock:
            if self.container is None:
                whole, places = self._taken
                self.container = selection.take_rows(whole.container, places)
            return self.container

    def to_predict(self, member: Any, places: Positions) -> Any:
        """Return some of the rows as a member reads them to predict: under the schema of all rows."""
        if reads_tables(member):
            return self.table(member.categorical_features).take(places)
        return selection.take_rows(self.container, places)

    def take(self, places: Positions) -> MemberRows:
        """Return the rows at these positions."""
        part = object.__new__(MemberRows)
        part.container, part.n_rows, part.n_columns = None, len(places), self.n_columns
        part.whole, part.tables, part.lock = (self, places), {}, threading.RLock()
        return part

    def table(self, categorical_features: Any = None) -> Table:
        """Return the rows as a Table, with the columns of categories that a member names."""
        key = repr(np.asarray(categorical_features).tolist())  # NumPy shortens what it shows of long arrays
        with self.lock:
            if key not in self.tables:
                self.tables[key] = self._read(categorical_features).keeping()
            return self.tables[key]

    def readable(self) -> Table | None:
        """Return the rows as a Table; None if they are documents or images, which only members can read."""
        try:
            return self.table()
        except (TypeError, ValueError):
            return None

    def schema(self) -> Schema | None:
        """Return the names of the columns, if there are columns; only members know what these hold."""
        table = self.readable()
        if table is None:
            return None
        names = tuple(ColumnSchema(name, "numeric", "number") for name in table.schema.names)
        return Schema(names, table.schema.named)

    def _read(self, categorical_features: Any) -> Table:
        if self.whole is None:
            return read_table(self.container, categorical_features=categorical_features)
        whole, places = self._taken
        return whole.table(categorical_features).take(places).relearn()

    @property
    def _taken(self) -> tuple[MemberRows, Positions]:
        assert self.whole is not None
        return self.whole
