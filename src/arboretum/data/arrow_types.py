"""Types of Arrow columns: the plain ones that rows are read as, those that several parts share, and their widths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.cached import cached_property
from arboretum.data.schema import listed


def plain_type(kind: Any) -> Any:
    """Return the type that values are read as, whatever the storage: text in a dictionary, for instance, is text.

    Examples
    --------
    >>> import pyarrow
    >>> plain_type(pyarrow.dictionary(pyarrow.int8(), pyarrow.large_string()))
    DataType(string)
    """
    import pyarrow
    from pyarrow import types

    if isinstance(kind, pyarrow.BaseExtensionType):
        return plain_type(kind.storage_type)
    if types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if types.is_float16(kind):
        return pyarrow.float32()
    stored = {"large_string": "string", "string_view": "string", "large_binary": "binary", "binary_view": "binary"}
    return getattr(pyarrow, stored[str(kind)])() if str(kind) in stored else kind


def as_type(column: Any, kind: Any) -> Any:
    """Return an Arrow array as another type, from which all its values can be got back."""
    import pyarrow

    if isinstance(column.type, pyarrow.BaseExtensionType):
        column = column.storage
    return column if column.type == kind else column.cast(kind)


def as_numpy(column: Any) -> NDArray[Any]:
    """Return an Arrow array, or several chunks of one, as a NumPy array; equal texts are one object.

    Examples
    --------
    >>> import pyarrow
    >>> as_numpy(pyarrow.array(["no", "yes", None, "no"]))
    array(['no', 'yes', None, 'no'], dtype=object)
    """
    import pyarrow

    if isinstance(column, pyarrow.ChunkedArray):
        parts = [as_numpy(chunk) for chunk in column.chunks]
        return np.concatenate(parts) if parts else as_numpy(pyarrow.array([], column.type))
    if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
        column = column.dictionary_encode()
    if not pyarrow.types.is_dictionary(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    values = np.array([*column.dictionary.to_pylist(), None], dtype=object)
    return np.asarray(values[column.indices.fill_null(len(values) - 1).to_numpy()])


def joined(schema: Any, other: Any, where: str) -> Any:
    """Return types that hold the values of two parts, such as numbers in one and only missing values in the other.

    Parameters
    ----------
    schema, other : pyarrow.Schema
        Those of the parts so far, and of the next one.
    where : str
        What messages call the next part.
    """
    import pyarrow

    mine, theirs = ({field.name: field.remove_metadata() for field in one} for one in (schema, other))
    missing = [name for name in mine if name not in theirs]
    extra = [name for name in theirs if name not in mine]
    if missing or extra:
        parts = [f"{word} {listed(names)}" for word, names in (("missing", missing), ("unexpected", extra)) if names]
        raise ValueError(f"{where} has other columns than the first part: {'; '.join(parts)}")
    fields = []
    for name, field in mine.items():
        pair = [pyarrow.schema([field]), pyarrow.schema([theirs[name]])]
        try:
            fields += pyarrow.unify_schemas(pair, promote_options="permissive")
        except (pyarrow.ArrowTypeError, pyarrow.ArrowInvalid):
            raise TypeError(
                f"column {name!r} is {field.type} in the first part, but {theirs[name].type} in {where}: convert it to "
                "one type"
            ) from None
    return pyarrow.schema(fields)


class Parts(ABC):
    """Rows in several parts, one below the other; the types of a column are joined."""

    @abstractmethod
    def survey(self) -> Iterator[tuple[Any, int, str]]:
        """Yield the schema of each part, the number of its rows, and what messages call it."""

    @cached_property
    def surveyed(self) -> tuple[Any, int]:
        """Names and types that hold the values of all parts, and the number of rows."""
        parts = places.kept(lambda: [(found.remove_metadata(), count, where) for found, count, where in self.survey()])
        schema = None
        for found, _, where in chain.from_iterable(places.gathered(lambda: parts)):
            schema = found if schema is None else joined(schema, found, where)
        if schema is None:
            raise ValueError("there is no batch: give at least one, with its columns")
        return schema, sum(count for _, count, _ in parts)

    def schema(self) -> Any:
        """Return names and types."""
        return self.surveyed[0]

    def n_rows(self) -> int:
        """Return the number of rows."""
        return self.surveyed[1]


def width_of(kind: Any) -> float | None:
    """Return the bytes of a value of an Arrow type, with its bit of validity; None for text, lists and the like.

    Examples
    --------
    >>> import pyarrow
    >>> width_of(pyarrow.float64()), width_of(pyarrow.string())
    (8.125, None)
    """
    import pyarrow

    if pyarrow.types.is_null(kind):
        return 0.0
    try:
        return float(kind.bit_width) / 8 + 1 / 8
    except ValueError:
        return None
