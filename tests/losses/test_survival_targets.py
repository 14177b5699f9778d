"""Survival targets in all their forms, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from arboretum.losses.survival_targets import event_times, survival_bounds

TIMES, EVENTS = [5.0, 3.0, 0.0], [True, False, True]
BOUNDS = np.array([[5.0, 5.0], [3.0, np.inf], [0.0, 0.0]])
COLUMNS = {"time": TIMES, "event": EVENTS}

FORMS = {
    "list": [list(pair) for pair in zip(TIMES, EVENTS, strict=True)],
    "array": np.column_stack([TIMES, EVENTS]),
    "event first": np.array(list(zip(EVENTS, TIMES, strict=True)), dtype=[("dead", bool), ("days", float)]),
    "time first": np.array(list(zip(TIMES, EVENTS, strict=True)), dtype=[("days", float), ("dead", bool)]),
    "pandas": pd.DataFrame(COLUMNS),
    "pandas by name": pd.DataFrame(COLUMNS)[["event", "time"]].astype({"event": int}),
    "pandas by type": pd.DataFrame({"dead": EVENTS, "days": TIMES}),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "bounds": pd.DataFrame(BOUNDS, columns=["lower", "upper"]),
    "bounds by name": pl.DataFrame({"upper": BOUNDS[:, 1], "lower": BOUNDS[:, 0]}),
    "structured bounds": np.array([tuple(row) for row in BOUNDS], dtype=[("lower", float), ("upper", float)]),
}


@pytest.mark.parametrize("y", FORMS.values(), ids=FORMS)
def test_all_forms_say_the_same(y):
    np.testing.assert_array_equal(survival_bounds(y, 3), BOUNDS, strict=True)
    time, event = event_times(y)
    np.testing.assert_array_equal(time, TIMES)
    np.testing.assert_array_equal(event, EVENTS)


NAMES = [
    ("time", "event"),
    ("duration", "event"),
    ("days", "status"),
    ("event_time", "event"),
    ("timeToEvent", "isDead"),
    ("T", "E"),
    ("Survival_in_days", "Status"),
    ("first", "event"),
    ("duration", "second"),
    ("first", "second"),
]


def as_structured(columns):
    dtype = [(name, np.asarray(values).dtype) for name, values in columns.items()]
    return np.array(list(zip(*columns.values(), strict=True)), dtype=dtype)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, as_structured])
@pytest.mark.parametrize("kind", [bool, np.int64, np.uint8, np.float64])
@pytest.mark.parametrize("names", NAMES, ids="-".join)
def test_named_columns_in_any_order(names, kind, make):
    """Type, name or values tell the event: a frame of (event, duration) was read as (time, event)."""
    time, event = np.array(TIMES), np.array(EVENTS).astype(kind)
    for columns in ({names[0]: time, names[1]: event}, {names[1]: event, names[0]: time}):
        np.testing.assert_array_equal(survival_bounds(make(columns), 3), BOUNDS, strict=True)


@pytest.mark.parametrize("kind", ["boolean", "object", "Int64", "bool[pyarrow]"])
def test_events_of_nullable_types(kind):
    frame = pd.DataFrame({"a": pd.Series(EVENTS, dtype=kind), "time": TIMES})
    np.testing.assert_array_equal(survival_bounds(frame, 3), BOUNDS, strict=True)


def test_a_boolean_is_the_event_whatever_its_name():
    """As in the data sets of scikit-survival, where cens=True is an event."""
    for event_name, time_name in (("time", "event"), ("cens", "x"), ("duration", "tenure")):
        np.testing.assert_array_equal(survival_bounds(pd.DataFrame({event_name: EVENTS, time_name: TIMES}), 3), BOUNDS)


def test_columns_numbered_by_pandas_go_by_place():
    np.testing.assert_array_equal(survival_bounds(pd.DataFrame(FORMS["array"]), 3), BOUNDS)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            {"a": [0, 1], "b": [1, 0]},
            "y has the columns 'a' and 'b', and nothing tells which of them is the event: name them 'time' and 'event'",
        ),
        ({"event": [0, 1], "status": [1, 0]}, "'event' and 'status', and nothing tells which of them is the event"),
        ({"x": [True, False], "y": [True, False]}, "'x' and 'y', and nothing tells which of them is the event"),
        ({"time": [5, 3], "Censoring": [0, 1]}, "a column 'Censoring', and an event could be meant by either"),
        (
            {"time": [5, 3], "is_censored": [True, False]},
            "a column 'is_censored', and an event could be meant by either",
        ),
        ({"status": [1, 2], "time": [5, 3]}, "y has the event 2 in row 1: use 1 or True for an event"),
        ({"x": [2, 3], "y": [5, 3]}, "'x' and 'y', and nothing tells which of them is the event"),
    ],
)
@pytest.mark.parametrize("make", [pd.DataFrame, as_structured])
def test_columns_that_tell_nothing_are_refused(y, message, make):
    with pytest.raises(ValueError, match=message):
        survival_bounds(make(y))


def test_events_before_times_without_names_are_refused():
    with pytest.raises(
        ValueError, match=r"has the event 5 in row 0: .*; events and times need names or the time first"
    ):
        survival_bounds([[1, 5.0], [0, 3.0]])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None: give a structured array"),
        ([1.0, 2.0], r"y has shape \(2,\), but a survival target has times and events: give a structured array"),
        ([[1.0, 1, 0]], "y has 3 columns, but a survival target has two"),
        ([[-1.0, 1]], "y has the time -1 in row 0: times count from 0"),
        ([[1.0, 1], [1e200, 1]], "y has the time 1e[+]200 in row 1: use a larger unit"),
        ([[np.nan, 1]], r"Input y \(time\) contains NaN: nan in row 0"),
        ([[np.inf, 1]], r"Input y \(time\) contains infinity"),
        ([[1.0, np.nan]], r"Input y \(event\) contains NaN"),
        ([[1.0, 2.0]], "y has the event 2 in row 0: use 1 or True .* bounds of times need columns named lower and"),
        ([["a", "b"]], r"y \(time\) has dtype <U1, which is not numeric; give times as numbers"),
        ([[1j, 1]], "Complex data not supported"),
        (np.zeros((0, 2)), "y is empty"),
        ([[1.0, 1]] * 3, "y has 3 values, but X has 2 rows"),
        (pd.DataFrame({"lower": [2.0], "upper": [1.0]}), "y has the lower bound 2 above the upper bound 1 in row 0"),
        (pd.DataFrame({"lower": [-2.0], "upper": [1.0]}), "y has the lower bound -2 in row 0: times count from 0"),
        (pd.DataFrame({"lower": [1.0], "upper": [np.nan]}), r"Input y \(upper\) contains NaN"),
        (pd.DataFrame({"lower": [np.inf], "upper": [np.inf]}), r"Input y \(lower\) contains infinity"),
        (pd.DataFrame({"lower": [1.0], "upper": ["x"]}), r"y \(upper\) has dtype .*: give bounds as numbers"),
    ],
)
def test_errors_tell_the_cure(y, message):
    with pytest.raises(ValueError, match=message):
        survival_bounds(y, 2)


def test_intervals_are_no_events():
    y = pd.DataFrame({"lower": [1.0, 1.0], "upper": [1.0, 2.0]})
    with pytest.raises(ValueError, match="y lies between 1 and 2 in row 1: only events and right-censored rows"):
        event_times(y)
