"""Survival targets: times and events, or bounds, of any container, read once into bounds (rows, 2).

::

    time 5, event          (5, 5)           lower 2, upper 7       (2, 7)    it happened between two looks
    time 5, censored       (5, inf)         lower 0, upper 7       (0, 7)    it happened before the first look
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.arguments import first_true
from arboretum.data.targets import FloatArray, as_numbers, refuse_missing, to_numpy
from arboretum.losses.base import LARGEST_TARGET
from arboretum.losses.survival import check_bounds, first_interval, is_event

# Words in the names of columns. One that names neither a time nor an event decides nothing.
TIME_WORDS = {"time", "times", "duration", "durations", "tenure", "age", "stop", "survival", "lifetime", "t"} | {
    *("hours", "day", "days", "week", "weeks", "month", "months", "year", "years", "futime", "survtime", "followup")
}
EVENT_WORDS = {"event", "events", "status", "observed", "happened", "outcome", "cens", "e"} | {
    *("death", "deaths", "dead", "died", "fail", "failed", "failure", "churn", "churned", "relapse", "fstat")
}
CENSORED_WORDS = {"censor", "censored", "censoring", "uncensored"}

FORMS = (
    "give a structured array of (event, time), two columns time and event, or columns named lower and upper as a "
    "data frame or structured array"
)


def survival_bounds(y: Any, n_rows: int | None = None, name: str = "y", table: str = "X") -> FloatArray:
    """Read a survival target.

    Parameters
    ----------
    y : structured array, data frame or array-like (rows, 2)
        Times and events, or columns named ``lower`` and ``upper``.
    n_rows : int, optional
        Rows that it must have.
    name, table : str
        What errors call it and the rows it belongs to.

    Returns
    -------
    ndarray of float64, (rows, 2)
        Bounds of each time: equal for an event, the upper one infinite for a censored row.

    Examples
    --------
    >>> survival_bounds([[5.0, 1], [3.0, 0]])
    array([[ 5.,  5.],
           [ 3., inf]])
    >>> survival_bounds(np.array([(True, 5.0), (False, 3.0)], dtype=[("dead", bool), ("days", float)]))
    array([[ 5.,  5.],
           [ 3., inf]])
    """
    if y is None:
        raise ValueError(f"this estimator requires {name} to be passed, but the target {name} is None: {FORMS}")
    columns = _columns(y, name)
    bounds = (
        _from_bounds(columns["lower"], columns["upper"], name)
        if set(columns) == {"lower", "upper"}
        else _from_events(*_time_and_event(columns, name), name)
    )
    if not places.total(len(bounds)):
        raise ValueError(f"{name} is empty: give at least one time")
    if n_rows is not None and len(bounds) != n_rows:
        raise ValueError(f"{name} has {len(bounds)} values, but {table} has {n_rows} rows: give one time per row")
    return bounds


def event_times(y: Any, n_rows: int | None = None, name: str = "y") -> tuple[FloatArray, NDArray[np.bool_]]:
    """Read a target of events and right-censored rows: times, and whether each is an event.

    Examples
    --------
    >>> event_times([[5.0, 1], [3.0, 0]])
    (array([5., 3.]), array([ True, False]))
    """
    return events_of_bounds(survival_bounds(y, n_rows, name), name)


def events_of_bounds(bounds: FloatArray, name: str = "y") -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return times, and whether each is an event, from bounds of times; intervals are rejected."""
    if (row := first_interval(bounds)) is not None:
        raise ValueError(
            f"{name} lies between {bounds[row, 0]:g} and {bounds[row, 1]:g} in row {row}: only events and "
            "right-censored rows can be used here; BoostedTreesSurvival(loss='aft') takes intervals"
        )
    return np.ascontiguousarray(bounds[:, 0]), is_event(bounds)


def _columns(y: Any, name: str) -> dict[Any, NDArray[Any]]:
    """Two columns by name, or by place if they have none."""
    labels = getattr(y, "column_names", getattr(y, "columns", None))
    if labels is not None:
        columns = {label: to_numpy(y[label], name) for label in list(labels)}
    else:
        array = to_numpy(y, name)
        if array.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: {name} has dtype {array.dtype}")
        if array.dtype.names is not None and array.ndim == 1:
            columns = {label: array[label] for label in array.dtype.names}
        elif array.ndim == 2:
            columns = dict(enumerate(array.T))
        else:
            raise ValueError(f"{name} has shape {array.shape}, but a survival target has times and events: {FORMS}")
    if len(columns) != 2:
        raise ValueError(f"{name} has {len(columns)} columns, but a survival target has two: {FORMS}")
    return columns


def _time_and_event(columns: dict[Any, NDArray[Any]], name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Tell the time from the event: by type, then by name, then by values; without names the time comes first."""
    (first, one), (second, other) = columns.items()
    named = isinstance(first, str) and isinstance(second, str)
    for label in columns if named else ():
        if _words(label) & CENSORED_WORDS:
            raise ValueError(
                f"{name} has a column {label!r}, and an event could be meant by either of its values: rename it to "
                "'event', 1 or True where the event was seen"
            )
    for likeness in (_is_boolean, _sounds_like_event, _is_indicator) if named else (_is_boolean,):
        of_first, of_second = likeness(first, one), likeness(second, other)
        if of_first != of_second:
            return (other, one) if of_first > of_second else (one, other)
    if named:
        raise ValueError(
            f"{name} has the columns {first!r} and {second!r}, and nothing tells which of them is the event: name them "
            "'time' and 'event', or make the event boolean"
        )
    return one, other


def _words(label: str) -> set[str]:
    """Words of a column's name.

    Examples
    --------
    >>> sorted(_words("timeToEvent.2"))
    ['event', 'time', 'to']
    """
    return set(re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", label).lower()))


def _is_boolean(label: Any, values: NDArray[Any]) -> int:
    if values.dtype == object:
        return int(len(values) > 0 and all(isinstance(value, bool | np.bool_) for value in values))
    return int(values.dtype.kind == "b")


def _sounds_like_event(label: str, values: NDArray[Any]) -> int:
    """Return 1 for the name of an event, "is_dead"; −1 for that of a time, "event_time"; 0 for any other."""
    words = _words(label)
    return -1 if words & TIME_WORDS else int(bool(words & EVENT_WORDS))


def _is_indicator(label: Any, values: NDArray[Any]) -> int:
    """Return 1 if all values are 0 or 1."""
    return int(values.dtype.kind in "biuf" and bool(np.isin(values, (0, 1)).all()))


def _from_events(time: NDArray[Any], event: NDArray[Any], name: str) -> FloatArray:
    times = as_numbers(time, f"{name} (time)", "give times as numbers")
    happened = as_numbers(event, f"{name} (event)", "give 1 or True for an event, 0 or False for a censored row")
    if (row := first_true((happened != 0) & (happened != 1))) is not None:
        swapped = "; events and times need names or the time first" if _is_indicator(None, times) else ""
        raise ValueError(
            f"{name} has the event {happened[row]:g} in row {row}: use 1 or True for an event, 0 or False for a "
            f"censored row{swapped}; bounds of times need columns named lower and upper"
        )
    _refuse_range(times, name, "time")
    return np.column_stack([times, np.where(happened == 1, times, np.inf)])


def _from_bounds(lower: NDArray[Any], upper: NDArray[Any], name: str) -> FloatArray:
    low = as_numbers(lower, f"{name} (lower)", "give bounds as numbers")
    if upper.dtype.kind not in "biuf":
        raise ValueError(f"{name} (upper) has dtype {upper.dtype}: give bounds as numbers, inf where there is none")
    refuse_missing(np.where(np.isposinf(upper), 0.0, upper), f"{name} (upper)")
    _refuse_range(low, name, "lower bound")
    bounds = np.column_stack([low, upper.astype(np.float64)])
    if (row := first_true(bounds[:, 0] > bounds[:, 1])) is not None:
        raise ValueError(
            f"{name} has the lower bound {bounds[row, 0]:g} above the upper bound {bounds[row, 1]:g} in row {row}: "
            "swap them; inf says that there is no upper bound"
        )
    check_bounds(bounds)
    return bounds


def _refuse_range(times: FloatArray, name: str, what: str) -> None:
    if (row := first_true((times < 0) | (times > LARGEST_TARGET))) is not None:
        cure = "times count from 0, the start of each row's observation" if times[row] < 0 else "use a larger unit"
        raise ValueError(f"{name} has the {what} {times[row]:g} in row {row}: {cure}")
