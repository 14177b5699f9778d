"""One row of plain values, as a server is asked about it, read at once.

Looking at the columns of a data frame one after the other takes longer than all trees.

::

    {"size": 7.0, "color": "red"}  ─┐                     ┌─► numbers   7.0   0.0
    a frame of one row              ├─► [7.0, "red"] ─────┤
    [[7.0, "red"]]                 ─┘                     └─► codes     0     1       of categories
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import holds_others
from arboretum.data.schema import MISSING, ColumnSchema, Schema

NUMBERS = frozenset({bool, int, float, np.bool_, np.int32, np.int64, np.float32, np.float64})
NUMBERS_OR_NONE = NUMBERS | {type(None)}  # NumPy makes NaN of None


class SingleRow:
    """Reads single rows under a schema; what is not plain, or calls for a warning or an error, is left to ``conform``.

    Parameters
    ----------
    schema : Schema
        Columns of the fit.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> reader = SingleRow(read_table([[7.0, "red"], [5.0, "blue"], [5.0, "blue"]]).schema)
    >>> reader.read([[6.0, "red"]])
    (array([[6., 0.]]), array([[0, 1]], dtype=int32))
    >>> reader.read([[6.0, "green"]]) is None
    True
    """

    def __init__(self, schema: Schema) -> None:
        self._names = [*schema.names] if schema.named else None
        self._width = schema.n_features
        self._never_missing = schema.never_missing
        self._categories = [(place, c) for place, c in enumerate(schema.columns) if c.kind == "categorical"]
        self._reads = all(column.kind == "categorical" or column.holds_numbers for column in schema.columns)

    def read(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.int32]] | None:
        """Return the numbers and the codes of a row, each (1, columns), or None."""
        values = self._values(X) if self._reads else None
        if values is None or len(values) != self._width:
            return None
        codes = [0] * self._width
        for place, column in self._categories:
            code = _code(values[place], column)
            if code is None:
                return None
            codes[place], values[place] = code, 0.0
        if not NUMBERS_OR_NONE.issuperset(map(type, values)):
            return None
        try:
            numbers = np.array([values], np.float64)
        except OverflowError:
            return None
        least = np.minimum.reduce(numbers, axis=None)  # NaN if any value is
        if least != least and (np.isnan(numbers[0]) & self._never_missing).any():
            return None
        return numbers, np.array([codes], np.int32)

    def _values(self, X: Any) -> list[Any] | None:
        """Return the values in the order of the fit, if there is one row and nothing is odd about its columns."""
        if type(X) is dict:
            return self._of_columns(X)
        if type(X) is list:
            return [*X[0]] if len(X) == 1 and isinstance(X[0], list | tuple) else None
        library = type(X).__module__.partition(".")[0]
        if self._names is None or library not in ("pandas", "polars"):
            return None
        # Lazy frames, which have no length, are of polars too.
        if type(X) is not getattr(sys.modules[library], "DataFrame", None) or len(X) != 1:
            return None
        if (X.columns if library == "polars" else X.columns.tolist()) != self._names:
            return None
        row: Any = X.row(0) if library == "polars" else X.to_numpy(dtype=object)[0].tolist()
        return [*row]

    def _of_columns(self, row: dict[Any, Any]) -> list[Any] | None:
        if self._names is None or len(row) != self._width:
            return None
        if not all(name in row for name in self._names):
            return None
        values = [row[name] for name in self._names]
        if type(values[0]) is not list:
            return values
        return [value[0] for value in values] if all(type(v) is list and len(v) == 1 for v in values) else None


def _code(value: Any, column: ColumnSchema) -> int | None:
    """Return the code of a category that the fit knew, or of a missing value if it had some."""
    kind = type(value)
    if value is None or (kind is float and value != value):
        return MISSING if column.has_missing else None
    is_text = kind is str
    if not (is_text or kind in NUMBERS) or (column.categories and isinstance(column.categories[0], str) is not is_text):
        return None
    return column.code.get(value)


def as_columns(X: dict[Any, Any]) -> dict[Any, Any]:
    """Return a dictionary of columns; one of single values is a row.

    Examples
    --------
    >>> as_columns({"size": 7.0, "color": "red"})
    {'size': [7.0], 'color': ['red']}
    """
    return X if any(map(holds_others, X.values())) else {name: [value] for name, value in X.items()}
