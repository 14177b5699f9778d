"""Rows and columns of a table of any kind, by position: the container stays what it is.

For estimators that hand parts of the user's table to other people's estimators; ours read a Table instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data.dataset import Dataset
from arboretum.data.table import as_frame, checked_sparse

Positions = NDArray[np.intp]


def as_container(X: Any) -> Any:
    """Return X if it is an array, a list, a data frame or sparse (in rows), else as one of them.

    A Dataset is read into memory, a lazy frame is collected, and a dictionary of columns becomes an Arrow table.
    """
    if isinstance(X, Dataset):
        return X.to_frame()
    if _is_sparse(X):
        return checked_sparse(X).tocsr()
    if isinstance(X, np.ndarray | list | tuple):
        return X
    frame = as_frame(X)
    return np.asarray(X) if frame is None else frame.to_native()


def n_rows_of(X: Any) -> int:
    """Return the number of rows."""
    if isinstance(X, np.ndarray) and X.ndim == 0:
        raise ValueError("Expected 2D array, got scalar array instead: give one row per sample")
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def n_columns_of(X: Any) -> int | None:
    """Return the number of columns; None if the rows are not lists of values but, say, documents."""
    if _is_structured(X):
        return len(X.dtype.names)
    if hasattr(X, "shape"):
        return int(X.shape[1]) if len(X.shape) == 2 else None
    return len(X[0]) if len(X) and hasattr(X[0], "__len__") and not isinstance(X[0], str | bytes) else None


def names_of(X: Any) -> list[str] | None:
    """Return the names of columns; None if they have none, or names that are not text."""
    frame = _as_frame(X)
    names = list(X.dtype.names) if _is_structured(X) else [] if frame is None else list(frame.columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def column_of(X: Any, name: str) -> Any:
    """Return the values of a named column, as the library of the table holds them.

    Examples
    --------
    >>> column_of(np.array([(1, "a"), (2, "b")], dtype=[("i", int), ("t", "U1")]), "t")
    array(['a', 'b'], dtype='<U1')
    """
    frame = _as_frame(X)
    return X[name] if frame is None else frame[name].to_native()


def take_rows(X: Any, rows: Positions) -> Any:
    """Return the rows at these positions, in this order, perhaps repeated.

    Examples
    --------
    >>> take_rows([["a", 1], ["b", 2]], np.array([1, 1]))
    [['b', 2], ['b', 2]]
    """
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    if _is_sparse(X):
        return X[rows]
    frame = _as_frame(X)
    return X[rows] if frame is None else frame[rows].to_native()


def take_values(column: Any, rows: Positions) -> Any:
    """Return values of a column, or rows of a target of several; a series of a data frame library stays one.

    Examples
    --------
    >>> take_values(["a", "b"], np.array([1, 1]))
    array(['b', 'b'], dtype='<U1')
    """
    if hasattr(column, "iloc"):
        return column.iloc[rows]
    if type(column).__module__.partition(".")[0] == "polars":
        return column[rows]
    return np.asarray(column)[rows] if _as_frame(column) is None else take_rows(column, rows)


def take_columns(X: Any, columns: Positions | None) -> Any:
    """Return the columns at these positions, each once; None is all of them.

    Examples
    --------
    >>> take_columns([["a", 1], ["b", 2]], np.array([1]))
    [[1], [2]]
    """
    if columns is None:
        return X
    if isinstance(X, list | tuple):
        return [[row[column] for column in columns] for row in X]
    if _is_sparse(X):
        return X.tocsc()[:, columns]
    if _is_structured(X):
        return X[[X.dtype.names[column] for column in columns]]
    frame = _as_frame(X)
    return X[:, columns] if frame is None else frame[:, columns.tolist()].to_native()


def _is_structured(X: Any) -> bool:
    """Whether X is an array of named fields."""
    return isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.names is not None


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def _as_frame(X: Any) -> Any | None:
    """Return a narwhals frame, or None if X is not a data frame."""
    return None if isinstance(X, np.ndarray | list | tuple) or _is_sparse(X) else as_frame(X)


def beside(columns: NDArray[np.float64], names: list[str], X: Any) -> Any:
    """Return columns of numbers followed by those of a table, as a table of its kind.

    A name that the table has already gets a prime.

    Examples
    --------
    >>> beside(np.array([[0.5], [0.7]]), ["a"], [["x", 1], ["y", 2]])
    array([[0.5, 'x', 1],
           [0.7, 'y', 2]], dtype=object)
    """
    if _is_sparse(X):
        from scipy.sparse import csr_matrix, hstack

        return hstack([csr_matrix(columns), X], format="csr")
    frame = _as_frame(X)
    if frame is None:
        rows = np.asarray(X)
        if rows.dtype.kind not in "biuf" and not _is_structured(X):
            rows = np.array(X, dtype=object)
        if rows.ndim != 2:
            raise ValueError("the columns of X can be passed through only if X is a table of rows and columns")
        return np.concatenate([columns, rows], axis=1)
    import narwhals.stable.v1 as nw

    backend = nw.get_native_namespace(frame)
    taken, made = set(frame.columns), []
    for name, values in zip(names, columns.T, strict=True):
        while name in taken:
            name += "′"
        made.append(nw.new_series(name, values, backend=backend))
    if hasattr(X, "index"):  # pandas aligns columns by it
        made = [nw.from_native(_indexed(series.to_native(), X.index), series_only=True) for series in made]
    return frame.select(*made, *(frame[name] for name in frame.columns)).to_native()


def _indexed(series: Any, index: Any) -> Any:
    series.index = index
    return series
