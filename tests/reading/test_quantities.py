"""Numbers, dates and durations read back as what they were."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arboretum.reading.quantities import category_text, listing, name_text, number_text, rows_text, threshold_text

SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
WHOLE_MICROSECONDS = st.integers(-(2**53), 2**53)


@given(st.floats(allow_nan=False))
def test_numbers_are_exact_and_no_longer_than_repr(value):
    text = number_text(value)
    assert float(text) == value
    assert len(text) <= len(repr(value))


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 15))
def test_rounded_numbers_are_near(value, digits):
    assert math.isclose(float(number_text(value, digits)), value, rel_tol=0.5 * 10.0 ** (1 - digits) * 1.001)


@given(WHOLE_MICROSECONDS)
def test_dates_read_back(microseconds):
    text = threshold_text(float(microseconds), "datetime")
    assert np.datetime64(text, "us").astype(np.int64) == microseconds


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0.0, "1970-01-01"),
        (1e6, "1970-01-01T00:00:01"),
        (90e6, "1970-01-01T00:01:30"),
        (60e6, "1970-01-01T00:01"),
        (0.5, "1970-01-01T00:00:00.0000005"),
        (1_500_000.25, "1970-01-01T00:00:01.50000025"),
        (-0.5, "1969-12-31T23:59:59.9999995"),
        (math.inf, "inf"),
        (-1e300, "-1e+300"),
    ],
)
def test_dates(microseconds, text):
    assert threshold_text(microseconds, "datetime") == text


@given(WHOLE_MICROSECONDS)
def test_durations_add_up(microseconds):
    text = threshold_text(float(microseconds), "duration")
    parts = re.findall(r"([\d.e-]+)([dhms])", text.removeprefix("-"))
    total = sum(round(float(count) * 10**6) * SECONDS[unit] for count, unit in parts)
    assert (-total if text.startswith("-") else total) == microseconds


@pytest.mark.parametrize(
    ("microseconds", "text"), [(0.0, "0s"), (90.5e6, "1m 30.5s"), (-86_400e6, "-1d"), (math.inf, "inf")]
)
def test_durations(microseconds, text):
    assert threshold_text(microseconds, "duration") == text


def test_names_and_counts():
    assert [name_text(name) for name in ("a b", "é", "", "\t")] == ["a b", "é", "''", "'\\t'"]
    assert [category_text(c) for c in ("a", "a}", "missing", "… 2 more", 1, 1.0, True)] == [
        "a",
        "'a}'",
        "'missing'",
        "'… 2 more'",
        "1",
        "1",
        "True",
    ]
    assert [rows_text(n) for n in (0, 1, 1000)] == ["0 rows", "1 row", "1,000 rows"]


@given(st.integers(0, 9), st.none() | st.integers(0, 9))
def test_listings_lose_no_item(n, limit):
    items = [f"i{j}" for j in range(n)]
    shown = listing(items, limit)
    hidden = int(shown[-1].split()[1]) if shown and shown[-1].startswith("…") else 0
    assert hidden != 1
    assert shown[: n - hidden] == items[: n - hidden]
    assert len(shown) == n - hidden + bool(hidden)
    assert limit is None or len(shown) <= limit + 1
