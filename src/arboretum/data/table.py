"""Tables: any array, sparse matrix or data frame as columns of numbers and category codes.

This is the last module that knows data frames. A column is read in two steps, then left to schema.py::

    X ──_open──► raw columns ──read_column──► Reading ──learn_column──► ColumnSchema + column    (read_table, at fit)
                 ndarray | Series             floats or  └─apply_column──► column                (conform, at predict)
                                              codes + values

A Dataset is read the same way, a batch at a time (streamed_table.py). Members of an ensemble share what is read: a
Table takes the place of X in their fits, and ReadRows in their predictions.

narwhals and scipy are imported only for tables that are theirs: NumPy input needs neither.
"""

from __future__ import annotations

import datetime
import numbers
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeVar

import numpy as np

from arboretum import _kernel
from arboretum.cached import cached_property
from arboretum.data.dataset import Dataset
from arboretum.data.schema import (
    MISSING,
    Array,
    Category,
    ColumnSchema,
    Reading,
    Schema,
    Source,
    apply_column,
    categorical_mask,
    learn_column,
    listed,
    positional_names,
    rank_categories,
    warn_of_text,
)
from arboretum.data.single_row import as_columns
from arboretum.data.sources import as_arrow

Made = TypeVar("Made")


class Kept:
    """What several fits of one table make of it: each thing is made once, by the first that asks."""

    def __init__(self) -> None:
        self.made: dict[Hashable, Any] = {}
        self.lock = threading.Lock()  # the others wait rather than make it again

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made under a key, or make it."""
        with self.lock:
            if key not in self.made:
                self.made[key] = make()
            found: Made = self.made[key]
            return found


class Table:
    """Columns of equal length under a schema.

    Parameters
    ----------
    schema : Schema
        One entry per column.
    columns : list of ndarray
        numeric: float32 or float64 of any stride, possibly read-only, NaN = missing;
        categorical: int32 codes, −1 = missing, −2 = unknown.

    Examples
    --------
    >>> table = read_table([[1.0, "a"], [2.0, "b"], [float("nan"), "a"]])
    >>> table.columns
    [array([ 1.,  2., nan]), array([0, 1, 0], dtype=int32)]
    >>> table.take(np.array([1])).columns
    [array([2.]), array([1], dtype=int32)]
    """

    kept: Kept | None = None  # bins that fits of the same table share; none unless ``keeping`` says so

    def __init__(self, schema: Schema, columns: list[Array]) -> None:
        self.schema = schema
        self.columns = columns

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0])

    def keeping(self) -> Table:
        """Return the same table, which keeps the bins that fits cut it into."""
        table = copy(self)
        table.kept = Kept()
        return table

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what ``make`` makes; a table that keeps bins asks it only once for each key."""
        return make() if self.kept is None else self.kept.once(key, make)

    def column_batches(self, size: int = 16) -> Iterator[tuple[int, list[Array]]]:
        """Yield (first column, columns); a dense table has a single batch."""
        yield 0, self.columns

    def row_batches(self, size: int | None = None) -> Iterator[tuple[int, Table]]:
        """Yield (first row, dense table); a dense table has a single batch."""
        yield 0, self

    def take(self, rows: Array) -> Table:
        """Return the table of the rows at these positions."""
        return Table(self.schema, [column[rows] for column in self.columns])

    def of_columns(self, places: Sequence[int]) -> Table:
        """Return the table of some of the columns."""
        columns = tuple(self.schema.columns[place] for place in places)
        return Table(Schema(columns, self.schema.named), [self.columns[place] for place in places])

    def values(self, places: Sequence[int], rows: Array | None = None) -> list[Array]:
        """Return some of the columns: all rows, or those at these rising positions."""
        part = self.of_columns(places)
        return (part if rows is None else part.take(rows)).columns

    def dense(self) -> Table:
        """Return the table with all its columns dense."""
        return self

    def categories(self) -> Table:
        """Return the table with all its categorical columns in memory; others may be left out, as missing values."""
        return self

    def require_memory(self, needed: int, what: str = "") -> None:
        """Reject a memory limit that leaves fewer bytes than needed; a table in memory has no limit."""

    def as_rows(self) -> ReadRows:
        """Return the rows as if they had just been read, so that they conform to the schema of other rows."""
        pairs = zip(self.schema.columns, self.columns, strict=True)
        return ReadRows(
            self.schema.names if self.schema.named else None,
            [Reading(column.source, v) if column.kind == "numeric" else _occurring(column, v) for column, v in pairs],
        )

    def relearn(self) -> Table:
        """Return this table under the schema that its own rows would give: for a table made by ``take``."""
        pairs = [
            (column, values)
            if column.kind == "numeric"
            else rank_categories(column.name, column.source, values, column.categories)
            for column, values in zip(self.schema.columns, self.columns, strict=True)
        ]
        return Table(Schema(tuple(c for c, _ in pairs), self.schema.named), [values for _, values in pairs])


@dataclass(frozen=True, eq=False)
class ReadRows:
    """Rows that are read, and then conform to the schemas of several models.

    Parameters
    ----------
    names : list of str or None
        Names of the columns; None if they go by position.
    columns : list of Reading
        What was read.
    """

    names: list[str] | None
    columns: list[Reading]


def read_rows(X: Any) -> Any:
    """Read a data frame, an array of objects or a list once for several models; other rows need no reading.

    Examples
    --------
    >>> rows = read_rows([["a", 1.0], ["b", 2.0]])
    >>> conform(rows, read_table([["b", 0.0]]).schema).columns
    [array([-2,  0], dtype=int32), array([1., 2.])]
    """
    if isinstance(X, ReadRows | Dataset) or _is_sparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):
        return X
    names, raw = _open(X)
    shown = names or positional_names(len(raw))
    return ReadRows(names, [read_column(values, name) for name, values in zip(shown, raw, strict=True)])


def _occurring(column: ColumnSchema, codes: Array) -> Reading:
    """Return the categories of a column that occur in some of its rows, and their codes."""
    present = np.flatnonzero(np.bincount(codes + 1, minlength=len(column.categories) + 1)[1:])
    place = np.full(len(column.categories) + 1, MISSING, dtype=np.int32)  # code −1 reads the last slot
    place[present] = np.arange(len(present), dtype=np.int32)
    return Reading(column.source, place[codes], [column.categories[code] for code in present])


BATCH_CELLS = 1 << 20  # of sparse rows that are dense at a time: they stay in the second-level cache
LEAST_BATCH_ROWS = 256


def mostly_zero(table: Table) -> bool:
    """Return whether more than half of the values are the number 0, as is expected of every sparse table.

    Examples
    --------
    >>> mostly_zero(read_table([[0.0, 0.0], [0.0, 1.0]])), mostly_zero(read_table([[1.0, 2.0], [0.0, 0.0]]))
    (True, False)
    """
    if isinstance(table, SparseTable):
        return True
    zeros = sum(
        len(values) - int(np.count_nonzero(values))
        for _, batch in table.column_batches()
        for values in batch
        if values.dtype.kind == "f"
    )
    return 2 * zeros > table.n_rows * table.schema.n_features


class SparseTable(Table):
    """A scipy.sparse matrix under a schema of numbers; only batches of it are ever dense.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> table = read_table(csr_matrix([[0.0, 3.0], [4.0, 0.0]]))
    >>> [(start, batch) for start, batch in table.column_batches(size=1)]
    [(0, [array([0., 4.])]), (1, [array([3., 0.])])]
    """

    def __init__(self, schema: Schema, matrix: Any) -> None:
        self.schema = schema
        self.matrix = matrix

    @property
    def columns(self) -> list[Array]:  # type: ignore[override]
        """Raise TypeError: it would make the whole matrix dense."""
        raise TypeError("a sparse table has no dense columns; use column_batches() or row_batches()")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    def column_batches(self, size: int = 16) -> Iterator[tuple[int, list[Array]]]:
        """Yield (first column, `size` dense float64 columns)."""
        matrix = self.matrix.tocsc()
        for start in range(0, self.schema.n_features, size):
            dense = matrix[:, start : start + size].toarray(order="F")
            yield start, list(dense.astype(np.float64, copy=False).T)

    @cached_property
    def by_column(self) -> _kernel.SparseMatrix:
        """The entries column by column, for the kernel."""
        matrix = self.matrix.tocsc()
        if not _rises_in_columns(matrix):  # duplicates stand for their sum
            matrix = matrix.copy() if matrix is self.matrix else matrix
            matrix.has_sorted_indices = matrix.has_canonical_format = False  # its own flags may be stale
            matrix.sum_duplicates()
        rows = np.ascontiguousarray(matrix.indices).astype(np.uint32, copy=False)
        values = np.ascontiguousarray(matrix.data).astype(np.float64, copy=False)
        return _kernel.SparseMatrix(matrix.indptr.astype(np.int64), rows, values, self.n_rows)

    def row_batches(self, size: int | None = None) -> Iterator[tuple[int, Table]]:
        """Yield (first row, dense float64 table of `size` rows); by default, of about ``BATCH_CELLS`` cells."""
        matrix = self.matrix.tocsr()
        size = size or max(LEAST_BATCH_ROWS, BATCH_CELLS // max(1, self.schema.n_features))
        for start in range(0, self.n_rows, size):
            dense = matrix[start : start + size].toarray()
            yield start, Table(self.schema, list(dense.astype(np.float64, copy=False).T))

    def take(self, rows: Array) -> Table:
        """Return the sparse table of the rows at these positions."""
        return SparseTable(self.schema, self.matrix.tocsr()[rows])

    def of_columns(self, places: Sequence[int]) -> Table:
        """Return the sparse table of some of the columns."""
        columns = tuple(self.schema.columns[place] for place in places)
        return SparseTable(Schema(columns, self.schema.named), self.matrix.tocsr()[:, list(places)])

    def dense(self) -> Table:
        """Return the table with all its columns dense."""
        return Table(self.schema, [values for _, batch in self.column_batches() for values in batch])

    def relearn(self) -> Table:
        """Return itself: a sparse table has no categories."""
        return self


def read_table(X: Any, *, categorical_features: Any = None) -> Table:
    """Read the table that a model is fitted on and learn its schema.

    Parameters
    ----------
    X : array, sparse matrix, list of rows, data frame, dictionary of columns, Dataset or Table
        NumPy, scipy.sparse, pandas, polars, Arrow or anything narwhals knows. float32 and float64 are not
        copied. Text and categoricals become codes; dates and durations become microseconds. A Table is returned as it
        is: it was read with the same ``categorical_features``.
    categorical_features : None, "from_dtype" or sequence of names, positions or booleans
        Numeric columns to treat as categories, besides those that have a categorical type.

    Returns
    -------
    Table
        `has_missing` is only known for categorical columns; see `Schema.with_missing`.

    Examples
    --------
    >>> read_table([[3], [1], [3]], categorical_features=[0]).schema.columns[0].categories
    (3, 1)
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, Dataset):
        from arboretum.data.streamed_table import read_dataset

        return read_dataset(X, categorical_features=categorical_features)
    if _is_sparse(X):
        X = checked_sparse(X)
        names = positional_names(X.shape[1])
        if any(categorical_mask(categorical_features, names, named=False)):
            raise ValueError("categorical_features needs a dense table; use X.toarray() or a data frame")
        return SparseTable(Schema(tuple(ColumnSchema(n, "numeric", "number") for n in names), False), X)
    found, raw = _open(X)
    names = found or positional_names(len(raw))
    mask = categorical_mask(categorical_features, names, named=found is not None)
    learned = []
    for name, column, flag in zip(names, raw, mask, strict=True):
        reading = read_column(column, name)
        if reading.source == "string" and not flag:
            warn_of_text(name, reading.categories or [])
        learned.append(learn_column(name, reading, flag))
    schema = Schema(tuple(column for column, _ in learned), found is not None)
    return Table(schema, [values for _, values in learned])


def conform(
    X: Any,
    schema: Schema,
    *,
    unknown: Literal["average", "missing", "error"] = "average",
    missing: Literal["warn", "error"] = "warn",
    estimator_name: str = "this model",
) -> Table:
    """Read a table to predict on, according to the schema of the fit.

    Parameters
    ----------
    X : array, sparse matrix, list of rows, data frame, Table or ReadRows
        Named columns are found by name in any order, others by position.
    schema : Schema
        Learned by `read_table`.
    unknown : {"average", "missing", "error"}
        A category not seen at fit becomes −2, becomes −1, or is an error.
    missing : {"warn", "error"}
        What to do about missing values in a column that had none at fit.
    estimator_name : str
        The name that the error about the number of features gives.

    Examples
    --------
    >>> schema = read_table([["a"], ["b"]]).schema
    >>> conform([["b"], ["c"]], schema).columns
    [array([ 1, -2], dtype=int32)]
    """
    is_plain = type(X) is np.ndarray and X.ndim == 2 and lies_ready(X)
    if is_plain and schema.all_numbers and X.shape[1] == schema.n_features and len(X):
        if schema.watches_missing and _has_nan(X):
            schema.judge_missing(np.isnan(X).any(axis=0), missing)
        return Table(schema, list(X.T))
    if isinstance(X, Dataset):
        from arboretum.data.streamed_table import conform_dataset

        return conform_dataset(X, schema, unknown=unknown, missing=missing, estimator_name=estimator_name)
    if isinstance(X, SparseTable):
        X = X.matrix
    if _is_sparse(X):
        return _conform_sparse(X, schema, missing, estimator_name)
    if isinstance(X, Table):
        X = X.as_rows()
    if isinstance(X, dict):
        X = as_columns(X)
    found, raw = (X.names, X.columns) if isinstance(X, ReadRows) else _open(X)
    if schema.named and found is not None:
        raw = schema.in_order(found, raw)
    else:
        schema.check_width(len(raw), estimator_name)
    columns = []
    for column, values in zip(schema.columns, raw, strict=True):
        reading = values if isinstance(values, Reading) else read_column(values, column.name)
        columns.append(apply_column(column, reading, unknown))
    watched = zip(columns, schema.never_missing, strict=True)
    schema.judge_missing(np.array([never and has_missing(values) for values, never in watched]), missing)
    if unknown == "missing":
        columns = [np.maximum(v, MISSING) if v.dtype == np.int32 else v for v in columns]
    return Table(schema, columns)


def values_as_given(X: Any, schema: Schema) -> Array:
    """Return the values of a table that conforms to the schema as a matrix: numbers, or objects if there are others.

    Examples
    --------
    >>> values_as_given([["b", 1], [None, 2]], read_table([["a", 1.0]]).schema)
    array([['b', 1],
           [None, 2]], dtype=object)
    """
    if _is_sparse(X):
        return np.asarray(X.toarray())
    found, raw = _open(X)
    if schema.named and found is not None:
        raw = schema.in_order(found, raw)
    kind = np.float64 if schema.all_numbers else object
    columns = [np.asarray(column if isinstance(column, np.ndarray) else column.to_list(), kind) for column in raw]
    return np.column_stack(columns)


# ------------------------------------------------------------------- opening: X -> names and raw columns


def _open(X: Any) -> tuple[list[str] | None, list[Any]]:
    """Names (None if columns go by position) and columns, each an ndarray or a narwhals Series."""
    if isinstance(X, list | tuple):
        X = _array_of_rows(X)
    elif not isinstance(X, np.ndarray):
        frame = as_frame(X)
        if frame is not None:
            _check_shape(frame.shape)
            return _column_names(frame.columns), _frame_columns(frame)
        X = np.asarray(X)
    if X.dtype.names is not None and X.ndim == 1:
        _check_shape((len(X), len(X.dtype.names)))
        if inner := [name for name in X.dtype.names if X.dtype[name].shape]:
            raise _unsupported(inner[0], f"array, {X.dtype[inner[0]]}")
        return list(X.dtype.names), [X[name] for name in X.dtype.names]
    return None, _open_array(X)


def _frame_columns(frame: Any) -> list[Any]:
    """Return the columns of a narwhals frame; those of pandas as arrays where they are, since a Series takes 15 µs."""
    if not frame.implementation.is_pandas():
        return list(frame.iter_columns())
    columns: list[Any] = []
    for place, (_, series) in enumerate(frame.to_native().items()):
        kind = series.dtype.kind if isinstance(series.dtype, np.dtype) else "O"
        if kind in "fb" or series.dtype == object:
            columns.append(series.to_numpy())
        elif kind in "iu":
            columns.append(series.to_numpy().astype(np.float64))
        else:
            columns.append(frame[:, place])
    return columns


def _open_array(X: Array) -> list[Array]:
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X has dtype {X.dtype}; give real and imaginary parts")
    check_matrix(X)
    mask = np.ma.getmaskarray(X) if isinstance(X, np.ma.MaskedArray) else None
    X = np.asarray(X)  # np.matrix has no 1-D columns, and a masked array would lose its mask
    if mask is not None and mask.any():
        X = X.astype(object)
        X[mask] = None
    return list((_to_float(X) if X.dtype.kind in "iuf" else X).T)


def check_matrix(X: Array) -> None:
    """Reject an array that is not a matrix with rows and columns, in scikit-learn's words."""
    if X.ndim < 2:
        got = "scalar" if X.ndim == 0 else "1D"
        raise ValueError(
            f"Expected 2D array, got {got} array instead. Reshape your data either using "
            "array.reshape(-1, 1) if it has a single feature or array.reshape(1, -1) if it is one sample."
        )
    _check_shape(X.shape)


def _array_of_rows(X: Sequence[Any]) -> Array:
    try:
        array = np.asarray(X)
        return array if array.dtype.kind not in "US" else np.array(X, dtype=object)  # [1, "a"] is not text
    except ValueError as error:
        raise ValueError(f"X is a list whose rows differ in length, not a table: {error}") from error


def as_frame(X: Any) -> Any | None:
    """Return an eager narwhals frame of a data frame or a dictionary of columns, or None if X is neither.

    Examples
    --------
    >>> as_frame({"size": [1.0, 2.0]}).columns, as_frame(np.zeros((1, 1)))
    (['size'], None)
    """
    import narwhals.stable.v1 as nw
    from narwhals.exceptions import DuplicateError

    if isinstance(X, dict):
        X = as_arrow(X)
    try:
        frame: Any = nw.from_native(X, pass_through=True, allow_series=True)
        if isinstance(frame, nw.LazyFrame):
            return frame.collect()
        if isinstance(frame, nw.Series):
            return None
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame) and hasattr(X, "__arrow_c_stream__"):
            import pyarrow

            frame = nw.from_native(pyarrow.table(X), eager_only=True)
        return frame if isinstance(frame, nw.DataFrame) else None
    except DuplicateError as error:
        raise ValueError(f"column names must be unique, rename the columns: {error}") from None


def _column_names(names: list[Any]) -> list[str] | None:
    kinds = {type(name) if not isinstance(name, str) else str for name in names}
    if kinds == {str}:
        return [str(name) for name in names]
    if str in kinds:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but X has names of "
            f"types {sorted(kind.__name__ for kind in kinds)}; use X.columns = X.columns.astype(str)"
        )
    return None


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) > 2:
        raise ValueError(f"Found array with dim {len(shape)}, while dim <= 2 is required: reshape it to rows")
    for count, noun in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(f"Found array with 0 {noun}(s) (shape={shape}) while a minimum of 1 is required.")


# ------------------------------------------------------------------------ reading: raw column -> Reading


def read_column(raw: Any, name: str) -> Reading:
    """Read an ndarray or a narwhals Series."""
    return _read_array(raw, name) if isinstance(raw, np.ndarray) else _read_series(raw, name)


def _read_array(values: Array, name: str) -> Reading:
    kind = values.dtype.kind
    if kind in "iuf":
        return Reading("number", _to_float(values))
    if kind == "b":
        return Reading("bool", values.astype(np.float64))
    if kind in "Mm":
        return Reading("datetime" if kind == "M" else "duration", _microseconds(values, name))
    if kind == "c":
        raise _unsupported(name, "complex")
    if kind == "O" and (text := _text_by_pandas(values)) is not None:
        return text
    return _read_objects(values.astype(object, copy=False).tolist(), name)


def _text_by_pandas(values: Array) -> Reading | None:
    """Read an array of objects that are text or missing by pandas, if that is there: it takes a quarter of the time."""
    factorize = getattr(sys.modules.get("pandas"), "factorize", None)
    if factorize is None:
        return None
    try:
        codes, distinct = factorize(values)
    except TypeError:  # of values without a hash
        return None
    categories = distinct.tolist()
    return Reading("string", codes.astype(np.int32), categories) if set(map(type, categories)) == {str} else None


def _read_series(series: Any, name: str) -> Reading:
    import narwhals.stable.v1 as nw

    native, dtype = series.to_native(), series.dtype
    if dtype.is_nested():
        raise _unsupported(name, str(dtype))
    is_object = series.implementation.is_pandas_like() and native.dtype == object
    if is_object or dtype not in (nw.String, nw.Categorical, nw.Enum):
        values = series.to_numpy()
        # Arrays of small integers with nulls come as float32 from some libraries and float64 from others.
        return _read_array(values.astype(np.float64) if dtype.is_integer() else values, name)
    codes, values = _dictionary(series)
    codes, categories = _compact(np.asarray(codes), values, name)
    return Reading("string" if dtype == nw.String else "category", codes, categories)


def _dictionary(series: Any) -> tuple[Array, list[Any]]:
    """Codes (−1 = null) and their values, found by the library that owns the text."""
    native, library = series.to_native(), series.implementation
    if library.is_pandas_like():
        codes, values = native.factorize()
        return codes, values.tolist()
    if library.is_pyarrow() and len(native):  # older releases cannot combine no chunks of large_string
        encoded = native.dictionary_encode().combine_chunks()
        # Indices may be unsigned, which have no −1.
        return encoded.indices.cast("int64").fill_null(MISSING).to_numpy(), encoded.dictionary.to_pylist()
    if library.is_polars():
        import polars

        text = native.cast(polars.String)
        values = text.drop_nulls().unique()
        codes = np.arange(len(values), dtype=np.int32)
        return text.replace_strict(values, codes, default=MISSING, return_dtype=polars.Int32), values.to_list()
    return _encode_objects(series.to_list())


TEXT_OR_NAN = (str, np.str_, float, np.float64)
"""Types of a text column; floats are missing values, or an error."""


def _encode_objects(items: list[Any]) -> tuple[Array, list[Any]]:
    index = dict.fromkeys(items)
    for code, value in enumerate(index):
        index[value] = code
    return np.fromiter(map(index.__getitem__, items), np.int32, len(items)), list(index)


def _read_objects(items: list[Any], name: str) -> Reading:
    sources = {kind: _source_of(kind) for kind in set(map(type, items))}
    for kind, source in sources.items():
        if source is None:
            raise _unsupported(name, kind.__name__, next(item for item in items if type(item) is kind))
    if "string" in sources.values() and all(kind in TEXT_OR_NAN or sources[kind] == "missing" for kind in sources):
        codes, distinct = _encode_objects(items)
        if all(value != value for value in distinct if isinstance(value, float)):
            return Reading("string", *_compact(codes, distinct, name))
    # `==` finds NaN and NaT of every type left; pandas.NA, which has no truth value, is known by its type.
    is_there = [sources[type(item)] != "missing" and bool(item == item) for item in items]
    present = [item for item, there in zip(items, is_there, strict=True) if there]
    found = {sources[type(item)] for item in present}
    if len(found) > 1 and found != {"number", "bool"}:
        raise _mixed(name, present)
    if found == {"string"}:
        items = [item if there else None for item, there in zip(items, is_there, strict=True)]
        return Reading("string", *_compact(*_encode_objects(items), name))
    values = np.full(len(items), np.nan)
    if found <= {"number", "bool"}:
        values[is_there] = _floats(present, name)
        return Reading("bool" if found == {"bool"} else "number", values)
    unit = "datetime64[us]" if found == {"datetime"} else "timedelta64[us]"
    values[is_there] = _microseconds(np.array([_in_utc(item) for item in present], dtype=unit), name)
    return Reading("datetime" if found == {"datetime"} else "duration", values)


def _source_of(kind: type) -> Source | Literal["missing"] | None:
    # The order matters: pandas.NaT is a datetime and numpy.timedelta64 an integer.
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "missing"
    families: tuple[tuple[Source, tuple[type, ...]], ...] = (
        ("string", (str,)),
        ("bool", (bool, np.bool_)),
        ("datetime", (datetime.date, np.datetime64)),
        ("duration", (datetime.timedelta, np.timedelta64)),
        ("number", (numbers.Real, Decimal)),
    )
    return next((source for source, kinds in families if issubclass(kind, kinds)), None)


def _compact(codes: Array, values: list[Any], name: str) -> tuple[Array, list[Category]]:
    """Renumber to the values that occur, as plain Python scalars, with missing ones as −1."""
    occurs = np.bincount(codes + 1, minlength=len(values) + 1)[1:] > 0
    rank = np.full(len(values) + 1, MISSING, dtype=np.int32)  # code −1 reads the last slot
    index: dict[Category, int] = {}
    for code in np.flatnonzero(occurs).tolist():
        value = _plain(values[code], name)
        if value is not None:
            rank[code] = index.setdefault(value, len(index))
    categories = list(index)
    if len({isinstance(category, str) for category in categories}) > 1:
        raise _mixed(name, categories)
    return rank[codes], categories


def _plain(value: Any, name: str) -> Category | None:
    if type(value) is str:
        return value
    source = _source_of(type(value))
    if source == "missing" or (source == "number" and value != value):
        return None
    if source == "string":
        return str(value)
    if source == "bool":
        return bool(value)
    if source == "number":
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    raise _unsupported(name, type(value).__name__, value)


def _floats(present: list[Any], name: str) -> Array:
    try:
        return np.array(present, dtype=object).astype(np.float64)
    except OverflowError as error:
        raise ValueError(f"column {name!r} holds an integer beyond the range of float64; scale it") from error


def lies_ready(values: Array) -> bool:
    """Whether the kernel can read an array in place: native, aligned floats of 4 or 8 bytes.

    Examples
    --------
    >>> lies_ready(np.zeros((4, 2))[::-2]), lies_ready(np.zeros(2, ">f8")), lies_ready(np.zeros(2, "i1,f8")["f1"])
    (True, False, False)
    """
    return values.dtype.char in "fd" and values.dtype.isnative and values.flags.aligned


def _to_float(values: Array) -> Array:
    return values if lies_ready(values) else values.astype(np.float64)


def _in_utc(value: Any) -> Any:
    is_aware = isinstance(value, datetime.datetime) and value.tzinfo is not None
    return value.astimezone(datetime.timezone.utc).replace(tzinfo=None) if is_aware else value


_MICROSECONDS = {"W": 604_800e6, "D": 86_400e6, "h": 3_600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1.0}
_PER_MICROSECOND = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}


def _microseconds(values: Array, name: str) -> Array:
    """Microseconds as float64: exact for whole ones below 2**53 (the year 2255), never overflowing."""
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in ("Y", "M"):
        values = values.astype("datetime64[D]")
    unit, count = np.datetime_data(values.dtype)
    ticks = values.astype(np.int64)
    result: Array
    if unit in _PER_MICROSECOND:
        per = _PER_MICROSECOND[unit]
        rest = np.fmod(ticks * count, per)
        result = (ticks * count - rest) // per + rest / per  # ticks / per would round the ticks first
    elif unit in _MICROSECONDS:
        result = ticks * (_MICROSECONDS[unit] * count)
    elif np.isnat(values).all():
        result = np.empty(len(values))
    else:
        raise _unsupported(name, str(values.dtype))
    result[np.isnat(values)] = np.nan
    return result


def _unsupported(name: str, kind: str, *value: Any) -> Exception:
    if "complex" in kind:
        return ValueError(f"Complex data not supported: column {name!r}; give real and imaginary parts")
    shown = "".join(f", such as {item!r:.60}" for item in value)
    return TypeError(
        f"column {name!r} holds values of type {kind}{shown}; argument must be a string, a number, a bool, "
        "a date, a duration or missing: convert the column, for instance with .astype(str)"
    )


def _mixed(name: str, values: Sequence[Any]) -> TypeError:
    first = values[0]
    one = _source_of(type(first))
    other = next(value for value in values if _source_of(type(value)) != one)
    return TypeError(
        f"column {name!r} mixes types: {first!r} is a {one}, {other!r} is a {_source_of(type(other))}; "
        "convert the column to one type"
    )


def has_missing(values: Array) -> bool:
    """Whether a column of a table has a missing value."""
    return bool((values == MISSING).any() if values.dtype == np.int32 else np.isnan(values).any())


def _has_nan(X: Array) -> bool:
    blocks = (X[start : start + 8192] for start in range(0, len(X), 8192))  # the mask stays in cache
    return any(np.isnan(block).any() for block in blocks)


# ----------------------------------------------------------------------------------------- sparse matrices


def _is_sparse(X: Any) -> bool:
    # Before scipy.sparse is imported, or while another thread imports it, no matrix of its own can exist.
    is_its_own = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
    return is_its_own is not None and bool(is_its_own(X))


def checked_sparse(X: Any) -> Any:
    """Return a sparse matrix whose indices have been checked: scipy trusts them, and would crash.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> X = csr_matrix([[0.0, 3.0], [4.0, 0.0]])
    >>> X.indices[1] = 7
    >>> checked_sparse(X)
    Traceback (most recent call last):
        ...
    ValueError: X is a damaged sparse matrix: an entry in column 7 of 2; build it again from its entries
    """
    if X.ndim != 2:
        raise ValueError("Expected 2D array, got 1D sparse array instead. Reshape your data.")
    _check_shape(X.shape)
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X has dtype {X.dtype}; give real and imaginary parts")
    if X.format not in ("csr", "csc", "bsr", "coo"):
        X = X.tocsr()
    if not X.dtype.isnative:  # which scipy neither converts nor takes rows of
        X = copy(X)
        X.data = X.data.astype(X.dtype.newbyteorder("="))
    n_rows, n_columns = X.shape
    if X.format == "coo":
        _check_lengths(len(X.row) == len(X.col) == len(X.data))
        _check_places(X.row, n_rows, "row")
        _check_places(X.col, n_columns, "column")
        return X
    height, width = X.blocksize if X.format == "bsr" else (1, 1)
    rows, columns = (n_rows // height, "row"), (n_columns // width, "column")
    (n_major, _), (n_minor, noun) = (columns, rows) if X.format == "csc" else (rows, columns)
    start, places = X.indptr, X.indices
    fits = start.shape == (n_major + 1,) and start.dtype.kind == "i" and start[0] == 0
    # Compared, not subtracted: differences of int32 may wrap around.
    _check_lengths(fits and (start[1:] >= start[:-1]).all() and start[-1] <= min(len(places), len(X.data)))
    _check_places(places[: start[-1]], n_minor, noun)
    return X


def _check_lengths(fit: bool | np.bool_) -> None:
    if not fit:
        raise _damaged("its arrays do not fit each other")


def _check_places(places: Array, n: int, noun: str) -> None:
    if places.dtype.kind != "i" or places.ndim != 1:
        raise _damaged(f"its indices have dtype {places.dtype}")
    if len(places) and not (places.min() >= 0 and places.max() < n):
        raise _damaged(f"an entry in {noun} {places.min() if places.min() < 0 else places.max()} of {n}")


def _damaged(reason: str) -> ValueError:
    return ValueError(f"X is a damaged sparse matrix: {reason}; build it again from its entries")


def _rises_in_columns(matrix: Any) -> bool:
    """Whether the rows of each column of a CSC matrix rise."""
    n = matrix.indptr[-1]
    rising = np.diff(matrix.indices[:n]) > 0
    first = matrix.indptr[1:-1]
    rising[first[(first > 0) & (first < n)] - 1] = True  # from one column to the next
    return bool(rising.all())


def _conform_sparse(X: Any, schema: Schema, missing: Literal["warn", "error"], estimator_name: str) -> SparseTable:
    X = checked_sparse(X)
    schema.check_width(X.shape[1], estimator_name)
    if not schema.all_numbers:
        odd = [column.name for column in schema.columns if not column.holds_numbers]
        raise TypeError(f"a sparse matrix holds only numbers, but these columns do not: {listed(odd)}")
    if X.dtype.kind == "f":
        entries = X.tocoo()
        found = np.zeros(schema.n_features, dtype=np.bool_)
        found[entries.col[np.isnan(entries.data)]] = True
        schema.judge_missing(found, missing)
    return SparseTable(schema, X)
