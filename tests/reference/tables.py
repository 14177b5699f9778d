"""Tables for the tests of tables and schemas: the same columns in each library, and how a dictionary is made."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 7)
MICROSECOND = dt.timedelta(microseconds=1)

# Frames are slow to build, and the first call imports their library: no clock.
law = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def plain_encoding(values):
    """Slow twin: falling count, ties by value."""
    counts = Counter(value for value in values if value is not None)
    categories = tuple(sorted(counts, key=lambda value: (-counts[value], value)))
    return categories, [-1 if value is None else categories.index(value) for value in values]


def same(left, right):
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def frames(data):
    """Build the same columns in each library."""
    arrow = pa.table({name: pa.array(values) for name, values in data.items()})
    polars = pl.DataFrame(data, strict=False)
    return {"pandas": pd.DataFrame(data), "polars": polars, "lazy": polars.lazy(), "arrow": arrow}


FRAMES = ["pandas", "polars", "lazy", "arrow"]
text = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=3)
holey_text = st.lists(st.none() | text, min_size=1, max_size=20)
any_float = st.floats(allow_nan=True, allow_infinity=True)

row_of_data = st.fixed_dictionaries(
    {
        "float": any_float,
        "maybe": st.none() | st.integers(-(2**53), 2**53),
        "flag": st.booleans(),
        "text": st.none() | text,
        "when": st.none() | st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)),
        "lapse": st.timedeltas(dt.timedelta(-9), dt.timedelta(9)),
    }
)


def as_columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


SURE = {"float": 0.0, "maybe": 1, "flag": True, "text": "t", "when": NOON, "lapse": MICROSECOND}
