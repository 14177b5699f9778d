"""A row that is read at once gives what the ordinary way gives, errors and warnings included."""

from __future__ import annotations

import datetime
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arboretum as arb
from arboretum.data.single_row import SingleRow
from arboretum.data.table import conform, read_table

FRAME = pd.DataFrame(
    {
        "size": [1.0, 2.0, math.nan, 4.0, 5.0, 6.0],
        "count": [1, 2, 3, 4, 5, 6],
        "color": ["red", "blue", "red", "green", "blue", "red"],
        "shape": ["round", None, "square", "round", "round", None],
        "ripe": [True, False, True, True, False, False],
        "grade": pd.Categorical([3, 1, 2, 2, 1, 3]),
    }
)
SCHEMA = read_table(FRAME).schema.with_missing(np.array([True, False, False, True, False, False]))
READER = SingleRow(SCHEMA)

VALUES: dict[str, list[Any]] = {
    "size": [1.5, 0, True, math.nan, None, math.inf, -0.0, 1e308, np.float32(0.1), np.int64(7), 10**400, "1.5", "x"],
    "count": [3, 2.5, math.nan, None, 2**63 - 1, np.float64(1e300)],
    "color": ["red", "green", "violet", "Red", "", None, math.nan, 1, np.str_("blue")],
    "shape": ["round", "square", "oval", None, math.nan, 2.0],
    "ripe": [True, False, 1, 0.5, None, np.bool_(True)],
    "grade": [1, 2.0, 3, 4, True, math.nan, None, "1", np.int32(2)],
}

ROWS = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in VALUES.items()})
CONTAINERS: dict[str, Any] = {
    "scalars": dict,
    "columns": lambda row: {name: [value] for name, value in row.items()},
    "list": lambda row: [list(row.values())],
    "pandas": lambda row: pd.DataFrame([row]),
    "objects": lambda row: pd.DataFrame([row], dtype=object),
    "polars": lambda row: polars.DataFrame({name: [value] for name, value in row.items()}, strict=False),
}


def _ordinary(X: Any) -> tuple[list[Any] | None, bool]:
    """Columns by the ordinary way, None if it raises, and whether it warned."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            table = conform(X, SCHEMA)
        except (TypeError, ValueError, OverflowError):
            return None, False
    return [column.tolist()[0] for column in table.columns], bool(told)


@pytest.mark.parametrize("container", CONTAINERS)
@settings(max_examples=150)
@given(row=ROWS)
def test_a_row_is_what_the_ordinary_way_reads(container: str, row: dict[str, Any]) -> None:
    try:
        X = CONTAINERS[container](row)
    except (TypeError, OverflowError):  # polars has no column of such values
        return
    read = READER.read(X)
    if read is None:
        return
    numbers, codes = read
    expected, warned = _ordinary(X)
    assert expected is not None, "the ordinary way refuses the row"
    assert not warned
    found = [(numbers if column.kind == "numeric" else codes)[0, j] for j, column in enumerate(SCHEMA.columns)]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("container", CONTAINERS)
def test_plain_rows_are_read(container: str) -> None:
    plain = {"size": math.nan, "count": 3, "color": "blue", "shape": None, "ripe": True, "grade": 2}
    assert READER.read(CONTAINERS[container](plain)) is not None


@pytest.mark.parametrize(
    "X",
    [
        {"size": 1.0},
        {"size": 1.0, "count": 1, "color": "red", "shape": "round", "ripe": True, "other": 2},
        FRAME[:1][FRAME.columns[::-1]],
        FRAME[:1].rename(columns={"size": "Size"}),
        FRAME[:2],
        FRAME[:0],
        FRAME["size"][:1],
        {name: FRAME[name][:2].to_numpy() for name in FRAME},
        {name: FRAME[name][:1] for name in FRAME},
        polars.LazyFrame({"size": [1.0]}),
        polars.Series([1.0]),
        [1.0, 2.0],
        [],
        [[1.0]],
        "text",
        None,
        datetime.date(2020, 1, 1),
        {"size": [1.0, 2.0], "count": [1, 2], "color": ["red"], "shape": ["round"], "ripe": [True], "grade": [1]},
    ],
    ids=str,
)
def test_what_is_odd_is_left_to_the_ordinary_way(X: Any) -> None:
    assert READER.read(X) is None


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("container", CONTAINERS)
def test_predictions_of_rows_are_those_of_their_table(container: str, encoded: bool) -> None:
    rng, n_levels = np.random.default_rng(3), 40 if encoded else 3
    frame = pd.DataFrame({"x": rng.random(300), "word": rng.choice([f"w{i}" for i in range(n_levels)], 300)})
    y = frame["x"] + frame["word"].str[1:].astype(int) / n_levels
    model = arb.BoostedTreesRegressor(n_estimators=5, early_stopping=False).fit(frame, y)
    assert (model.encoding_ is not None) is encoded
    rows = [dict(zip(frame.columns, row, strict=True)) for row in frame[:20].itertuples(index=False)]
    single = [model.predict(CONTAINERS[container](row))[0] for row in rows]
    np.testing.assert_array_equal(single, model.predict(frame[:20]))


def test_a_dictionary_of_values_is_a_row_to_predict_and_never_a_table_to_fit() -> None:
    model = arb.DecisionTreeRegressor().fit(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), [0.0, 1.0])
    assert model.predict({"a": 2.0, "b": "y"}).tolist() == [1.0]
    with pytest.raises(TypeError, match="column 'b' of a dictionary: a str is not a column"):
        arb.DecisionTreeRegressor().fit({"b": "x"}, [0.0])
    with pytest.raises(ValueError, match="missing: 'b'"):
        model.predict({"a": 2.0})
