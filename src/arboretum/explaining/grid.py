"""Points at which a column is examined, in the units of the Table and in those of the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import MISSING, ColumnSchema

FloatArray = NDArray[np.float64]

_TIMES = {"datetime": "datetime64[us]", "duration": "timedelta64[us]"}


@dataclass(frozen=True, eq=False)
class Axis:
    """Points of one column.

    Parameters
    ----------
    values : array
        As a Table holds them: float64, or int32 codes of categories.
    shown : array
        As users know them: numbers, labels, dates.
    """

    values: NDArray[Any]
    shown: NDArray[Any]


def axis_of(
    column: ColumnSchema,
    values: NDArray[Any],
    *,
    resolution: int,
    percentiles: tuple[float, float],
    with_missing: bool,
) -> Axis:
    """Choose points for a column.

    Categories that occur, or the distinct values if there are fewer than ``resolution``; else ``resolution`` numbers,
    equally spaced between two percentiles (of Cunnane's kind, as scikit-learn's grid).

    Parameters
    ----------
    column : ColumnSchema
        Which column it is.
    values : array
        Those of the rows, as a Table holds them.
    resolution : int
        Most points of a column of numbers.
    percentiles : pair of float
        Shares of the rows below the first and the last point.
    with_missing : bool
        Whether to add a point for a missing value.

    Examples
    --------
    >>> column = ColumnSchema("size", "numeric", "number")
    >>> axis_of(column, np.array([3.0, 1.0, np.nan, 3.0]), resolution=5, percentiles=(0, 1), with_missing=True).shown
    array([ 1.,  3., nan])
    """
    if column.kind == "categorical":
        known = np.unique(values[values >= 0]).astype(np.int32)
        return _labelled(column, np.append(known, np.int32(MISSING)) if with_missing else known)
    numbers = np.unique(values[np.isfinite(values)]).astype(np.float64)
    if not len(numbers) and not with_missing:
        raise ValueError(f"column {column.name!r} has no finite value in X: give grid=")
    if len(numbers) >= resolution:
        finite = values[np.isfinite(values)].astype(np.float64)
        low, high = _cunnane(finite, percentiles)
        if not low < high:
            raise ValueError(
                f"percentiles={percentiles} of column {column.name!r} are both {low!r}: take them further apart, "
                "or give grid="
            )
        numbers = np.linspace(low, high, resolution)
    numbers = np.append(numbers, np.nan) if with_missing else numbers
    return Axis(numbers, as_known(column, numbers))


def given_axis(column: ColumnSchema, given: Any, with_missing: bool) -> Axis:
    """Read points that the user chose: numbers, labels or dates."""
    if column.kind == "categorical":
        items = np.asarray(given, dtype=object).ravel().tolist()
        unknown = [item for item in items if not _is_missing(item) and item not in column.code]
        if unknown:
            raise ValueError(f"grid has {unknown[0]!r}, which is not a category of column {column.name!r}")
        codes = [MISSING if _is_missing(item) else column.code[item] for item in items]
        codes += [MISSING] * (with_missing and MISSING not in codes)
        return _labelled(column, np.array(codes, dtype=np.int32))
    array = np.asarray(given)
    if column.source in _TIMES:
        array = array.astype(_TIMES[column.source])
        numbers = np.where(np.isnat(array), np.nan, array.astype(np.int64).astype(np.float64))
    else:
        numbers = array.astype(np.float64)
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError(f"grid of column {column.name!r} has the shape {numbers.shape}: give a list of values")
    numbers = np.append(numbers, np.nan) if with_missing else numbers
    return Axis(numbers, as_known(column, numbers))


def _cunnane(values: FloatArray, shares: tuple[float, float]) -> FloatArray:
    """Quantiles by linear interpolation at (k − 0.4) / (n + 0.2)."""
    rising, n = np.sort(values), len(values)
    place = np.clip(n * np.asarray(shares) + 0.4 + 0.2 * np.asarray(shares), 1, n)
    return np.interp(place, np.arange(1, n + 1), rising)


def _is_missing(item: Any) -> bool:
    return item is None or item != item


def _labelled(column: ColumnSchema, codes: NDArray[np.int32]) -> Axis:
    if not len(codes):
        raise ValueError(f"column {column.name!r} has no known category in X: give grid=")
    return Axis(codes, as_known(column, codes))


def as_known(column: ColumnSchema, values: NDArray[Any]) -> NDArray[Any]:
    """Return values of a Table as users know them: numbers, labels or times; None or NaT where they are missing.

    Examples
    --------
    >>> as_known(ColumnSchema("day", "numeric", "datetime"), np.array([86_400e6, np.nan]))
    array(['1970-01-02T00:00:00.000000',                        'NaT'],
          dtype='datetime64[us]')
    """
    if column.kind == "categorical":
        labels = np.array([*column.categories, None], dtype=object)
        return np.asarray(labels[np.where(values < 0, len(column.categories), values)])
    if column.source not in _TIMES:
        return values
    times = np.full(len(values), "NaT", dtype=_TIMES[column.source])
    known = ~np.isnan(values)
    times[known] = values[known].astype(np.int64).astype(times.dtype)
    return times
