from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.tables import (
    FRAMES,
    MICROSECOND,
    NOON,
    SURE,
    any_float,
    as_columns,
    frames,
    holey_text,
    law,
    plain_encoding,
    row_of_data,
    same,
)

from arboretum import Dataset
from arboretum.data.schema import TextColumnWarning
from arboretum.data.table import SparseTable, Table, conform, read_table

UTC = dt.timezone.utc


# ------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_floats_are_views(dtype, order):
    X = np.asarray(np.arange(12).reshape(4, 3), dtype=dtype, order=order)
    table = read_table(X)
    same(table.columns, list(X.T))
    assert all(np.shares_memory(column, X) for column in table.columns)
    assert all(np.shares_memory(column, X) for column in conform(X, table.schema).columns)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", "i8", "f2", "g", ">f8", ">i4", ">f4"])
def test_other_numbers_become_native_float64(dtype):
    X = np.array([[1, 2], [3, 100]]).astype(dtype)
    table = read_table(X)
    same(table.columns, [np.array([1.0, 3.0]), np.array([2.0, 100.0])])
    same(conform(X, table.schema).columns, table.columns)
    assert all(column.dtype.isnative for column in conform(X, table.schema).columns)
    assert [column.source for column in table.schema.columns] == ["number", "number"]


@pytest.mark.parametrize("as_frame", [False, True])
def test_bool_is_zero_and_one(as_frame):
    X = np.array([[True], [False]])
    table = read_table(pd.DataFrame(X, columns=["b"]) if as_frame else X)
    same(table.columns, [np.array([1.0, 0.0])])
    assert table.schema.columns[0].kind == "numeric"
    assert table.schema.columns[0].source == "bool"


@law
@given(st.lists(any_float, min_size=1, max_size=20))
def test_infinities_and_nan_pass_through_every_format(values):
    expected = np.array(values)
    for X in (
        expected[:, None],
        [[v] for v in values],
        pd.DataFrame({"a": values}),
        pl.DataFrame({"a": values}),
    ):
        same(read_table(X).columns, [expected])


@pytest.mark.parametrize("kind", FRAMES)
def test_nulls_in_numbers_are_nan(kind):
    data = {
        "i": [1, None],
        "f": [None, 2.5],
        "b": [True, None],
        "d": [Decimal("1.5"), None],
        "n": [None, None],
    }
    table = read_table(frames(data)[kind])
    nan = np.nan
    wanted = [np.array(v) for v in ([1, nan], [nan, 2.5], [1, nan], [1.5, nan], [nan, nan])]
    for column, expected in zip(table.columns, wanted, strict=True):
        np.testing.assert_array_equal(column, expected)
    assert [column.kind for column in table.schema.columns] == ["numeric"] * 5


def test_nullable_dtypes():
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None], dtype="Int64"),
            "b": pd.array([True, None], dtype="boolean"),
            "f": pd.array([1.5, None], dtype="Float32"),
            "a": pd.array([2, None], dtype=pd.ArrowDtype(pa.int64())),
            "t": pd.array([True, None], dtype=pd.ArrowDtype(pa.bool_())),
            "s": pd.arrays.SparseArray([1.0, np.nan]),
        }
    )
    table = read_table(frame)
    same(table.columns[2:3], [np.array([1.5, np.nan], dtype=np.float32)])
    wanted = [[1, np.nan], [1, np.nan], [1.5, np.nan], [2, np.nan], [1, np.nan], [1, np.nan]]
    np.testing.assert_array_equal(np.array(table.columns), wanted)
    assert [c.source for c in table.schema.columns] == [
        "number",
        "bool",
        "number",
        "number",
        "bool",
        "number",
    ]


def test_small_integers_with_nulls_are_float64_in_every_library():
    for frame in (
        pl.DataFrame({"a": pl.Series([1, None], dtype=pl.Int8)}),
        pa.table({"a": pa.array([1, None], pa.int8())}),
        pd.DataFrame({"a": pd.array([1, None], dtype="Int8")}),
    ):
        same(read_table(frame).columns, [np.array([1.0, np.nan])])


def test_frames_without_nulls_are_not_copied():
    values = np.arange(5.0)
    series = pl.Series("a", values)
    assert np.shares_memory(read_table(pl.DataFrame([series])).columns[0], series.to_numpy())
    frame = pd.DataFrame({"a": values})
    assert np.shares_memory(read_table(frame).columns[0], frame["a"].to_numpy())
    arrow = pa.table({"a": values})
    assert np.shares_memory(read_table(arrow).columns[0], arrow["a"].chunk(0).to_numpy())


def test_big_integers_are_exact_below_two_to_the_53():
    ids = [20180131, 2**53 - 1, 2**53, -(2**53)]
    for X in (np.array(ids)[:, None], pl.DataFrame({"a": ids}), [[i] for i in ids]):
        assert [int(v) for v in read_table(X).columns[0]] == ids


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_bigger_integers_are_accepted(kind):
    (column,) = read_table(frames({"a": [2**53 + 1, 2**62]})[kind]).columns
    assert column.tolist() == [float(2**53 + 1), float(2**62)]


def test_objects_that_are_numbers():
    X = np.array([[1], [2.5], [True], [Decimal("0.5")], [Fraction(1, 4)], [np.int8(3)], [None], [np.nan]], dtype=object)
    same(read_table(X).columns, [np.array([1, 2.5, 1, 0.5, 0.25, 3, np.nan, np.nan])])
    assert read_table(X).schema.columns[0].source == "number"
    assert read_table(np.array([[True], [None]], dtype=object)).schema.columns[0].source == "bool"


def test_all_missing_objects_are_numeric():
    for X in (
        np.array([[None], [np.nan]], dtype=object),
        pd.DataFrame({"a": pd.Series([None, pd.NA], dtype=object)}),
    ):
        table = read_table(X)
        same(table.columns, [np.array([np.nan, np.nan])])
        assert table.schema.columns[0].kind == "numeric"


def test_integer_beyond_float64_is_named():
    with pytest.raises(ValueError, match="column 'x1' holds an integer beyond the range of float64"):
        read_table(np.array([[1, 10**400]], dtype=object))


def test_masked_values_are_missing():
    X = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    same(read_table(X).columns, [np.array([1.0, 3.0]), np.array([np.nan, 4.0])])


def test_array_likes():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1.0, 2.0]])

    same(read_table(Wrapped()).columns, [np.array([1.0]), np.array([2.0])])
    matrix = np.zeros((1, 2)).view(np.matrix)
    same(read_table(matrix).columns, [np.array([0.0]), np.array([0.0])])
    same(read_table(((1, 2), (3, 4))).columns, [np.array([1.0, 3.0]), np.array([2.0, 4.0])])


def test_structured_arrays_have_names():
    X = np.array([(1.5, "a"), (2.5, "b")], dtype=[("size", "f8"), ("kind", "U3")])
    table = read_table(X)
    assert read_table(np.zeros(2, dtype=[("a", "i1"), ("b", "f8")])).columns[1].flags.aligned
    assert table.schema.named
    assert table.schema.names == ["size", "kind"]
    same(table.columns, [np.array([1.5, 2.5]), np.array([0, 1], dtype=np.int32)])


def test_numpy_input_imports_neither_narwhals_nor_scipy(monkeypatch):
    for module in ("narwhals", "narwhals.stable.v1", "scipy", "scipy.sparse"):
        monkeypatch.setitem(sys.modules, module, None)  # importing it raises
    with pytest.raises(ModuleNotFoundError, match="narwhals"):
        read_table(pd.DataFrame({"a": [1.0]}))
    numbers = np.array([[1.0, np.nan], [2.0, 5.0]])
    for X in (numbers, numbers.tolist(), numbers.astype(object), numbers > 1, np.eye(2, dtype=int)):
        table = read_table(X, categorical_features=[1])
        same(conform(X, table.schema.with_missing([True, True])).columns, table.columns)


# --------------------------------------------------------------------------------------------------- dates


@pytest.mark.parametrize("kind", FRAMES)
def test_dates_are_microseconds(kind):
    day, duration = dt.date(1969, 12, 31), dt.timedelta(days=-1, microseconds=3)
    data = {"t": [NOON, None], "z": [NOON.replace(tzinfo=UTC), None], "d": [day, None], "l": [duration, None]}
    table = read_table(frames(data)[kind])
    noon = (NOON - dt.datetime(1970, 1, 1)) // MICROSECOND
    wanted = [noon, noon, -86_400_000_000, duration // MICROSECOND]
    assert [column[0] for column in table.columns] == wanted
    assert all(np.isnan(column[1]) for column in table.columns)
    assert [c.source for c in table.schema.columns] == ["datetime"] * 3 + ["duration"]


def test_time_zones_compare_as_instants():
    tokyo = pd.Series([NOON.replace(tzinfo=UTC)]).dt.tz_convert("Asia/Tokyo")
    objects = pd.DataFrame({"t": pd.Series([tokyo[0].to_pydatetime(), None], dtype=object)})
    frame = read_table(pd.DataFrame({"t": tokyo})).columns[0]
    assert frame[0] == read_table(objects).columns[0][0] == (NOON - dt.datetime(1970, 1, 1)) // MICROSECOND


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "25s", "2ns"])
@law
@given(ticks=st.lists(st.integers(-90_000, 90_000), min_size=1, max_size=5))
def test_numpy_dates_of_every_unit(unit, ticks):
    X = np.array([*ticks, "NaT"], dtype=f"datetime64[{unit}]")
    column = read_table(X[:, None]).columns[0]
    exact = (
        [Fraction(int(t), 10**6) for t in X[:-1].astype("datetime64[ps]").astype(np.int64)]
        if unit in ("ns", "ps", "2ns")
        else [int(t) for t in X[:-1].astype("datetime64[us]").astype(np.int64)]
    )
    np.testing.assert_allclose(column[:-1], [float(e) for e in exact], rtol=1e-15, atol=0)
    assert np.isnan(column[-1])


@law
@given(st.integers(-(2**62), 2**62))
def test_whole_microseconds_in_nanoseconds_are_exact(nanoseconds):
    microseconds = nanoseconds // 1000
    X = np.array([[microseconds * 1000]]).view("datetime64[ns]")
    assert int(read_table(X).columns[0][0]) == microseconds


def test_far_years_do_not_overflow():
    X = np.array([["300000-01-01"]], dtype="datetime64[D]")
    assert read_table(X).columns[0][0] == X[0, 0].astype(np.int64) * 86_400e6 > 2**63


def test_durations_without_a_unit():
    with pytest.raises(TypeError, match="column 'x0' holds values of type timedelta64"):
        read_table(np.array([[3]], dtype="timedelta64[Y]"))
    same(read_table(np.array([["NaT"]], dtype="datetime64")).columns, [np.array([np.nan])])


def test_objects_that_are_dates():
    X = np.array([[dt.date(1970, 1, 2)], [dt.datetime(1970, 1, 1, 0, 0, 1)], [pd.NaT], [np.datetime64("NaT")]], object)
    table = read_table(X)
    same(table.columns, [np.array([86_400e6, 1e6, np.nan, np.nan])])
    assert table.schema.columns[0].source == "datetime"
    lapse = read_table(np.array([[dt.timedelta(seconds=2)], [pd.Timedelta(seconds=1)], [None]], object))
    same(lapse.columns, [np.array([2e6, 1e6, np.nan])])
    assert lapse.schema.columns[0].source == "duration"


# ---------------------------------------------------------------------------------------------- categories


@law
@given(holey_text)
def test_text_is_encoded_as_the_twin_does_in_every_format(values):
    categories, codes = plain_encoding(values)
    frames_ = {
        "object": np.array([*values, None], dtype=object)[:-1, None],
        "pandas object": pd.DataFrame({"x0": pd.Series(values, dtype=object)}),
        "pandas": pd.DataFrame({"x0": pd.Series(values, dtype="string")}),
        "pandas category": pd.DataFrame({"x0": pd.Categorical(values)}),
        "polars": pl.DataFrame({"x0": pl.Series(values, dtype=pl.String)}),
        "polars category": pl.DataFrame({"x0": pl.Series(values, dtype=pl.Categorical)}),
        "arrow": pa.table({"x0": pa.array(values, pa.string())}),
        "arrow chunks": pa.table({"x0": pa.chunked_array([values[:3], values[3:]], pa.large_string())}),
        "arrow dictionary": pa.table({"x0": pa.array(values, pa.string()).dictionary_encode()}),
    }
    for name, X in frames_.items():
        table = read_table(X)
        if categories or name not in ("object", "pandas object"):
            assert table.schema.columns[0].kind == "categorical", name
            assert table.schema.columns[0].categories == categories, name
            assert table.schema.columns[0].has_missing == (None in values), name
            assert table.columns[0].tolist() == codes, name
            assert table.columns[0].dtype == np.int32


def test_a_dictionary_of_columns_is_a_table():
    columns = {"a": [1.0, None, 3.0], "t": ["x", float("nan"), "y"], "b": np.array([True, False, True])}
    table, expected = read_table(columns), read_table(pd.DataFrame(columns))
    assert table.schema == expected.schema
    for one, other in zip(table.columns, expected.columns, strict=True):
        np.testing.assert_array_equal(one, other)
    assert conform({"b": [True], "t": ["y"], "a": [2.0]}, table.schema).n_rows == 1


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (
            {"a": 1.0},
            TypeError,
            r"column 'a' of a dictionary: 'float' object is not iterable; give a list or 1-D array",
        ),
        ({"a": "text"}, TypeError, "column 'a' of a dictionary: a str is not a column; give a list or 1-D array"),
        ({"a": [1, "x"]}, TypeError, "column 'a' of a dictionary: .*'x'.*; give a list or 1-D array of values of one"),
        ({"a": np.zeros((2, 2))}, TypeError, "column 'a' of a dictionary: only handle 1-dimensional arrays; give"),
        ({1: [1.0]}, TypeError, "a dictionary of columns has the key 1: use text, the names of the columns"),
        (
            {"a": [1, 2], "b": [1]},
            ValueError,
            r"columns of a dictionary differ in length, \{'a': 2, 'b': 1\}: give one",
        ),
        ({}, ValueError, r"Found array with 0 sample\(s\)"),
    ],
    ids=str,
)
def test_dictionaries_that_are_no_table(columns, error, message):
    with pytest.raises(error, match=message):
        read_table(columns)


def test_chunks_with_different_dictionaries():
    chunks = [pa.array(["a", None]).dictionary_encode(), pa.array(["b", "a", "b", "b"]).dictionary_encode()]
    table = read_table(pa.table({"a": pa.chunked_array(chunks)}))
    assert table.schema.columns[0].categories == ("b", "a")
    assert table.columns[0].tolist() == [1, -1, 0, 1, 0, 0]


def test_null_inside_an_arrow_dictionary():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([None, "a"]))
    assert read_table(pa.table({"a": array})).columns[0].tolist() == [-1, 0, -1]


def test_numeric_categoricals_keep_their_numbers():
    frame = pd.DataFrame({"a": pd.Categorical([7, 3, 7, None], categories=[3, 5, 7])})
    arrow = pa.table({"a": pa.array([7, 3, 7, None]).dictionary_encode()})
    for X in (frame, arrow):
        column = read_table(X).schema.columns[0]
        assert column.categories == (7, 3)
        assert all(type(category) is int for category in column.categories)
    floats = read_table(pd.DataFrame({"a": pd.Categorical([0.5, 1.0])})).schema.columns[0]
    assert floats.categories == (0.5, 1.0)
    bools = read_table(pd.DataFrame({"a": pd.Categorical([True, False, True])})).schema.columns[0]
    assert bools.categories == (True, False)
    assert all(type(category) is bool for category in bools.categories)


@pytest.mark.parametrize("missing", [None, np.nan, float("nan"), pd.NA, pd.NaT, Decimal("NaN"), np.datetime64("NaT")])
def test_every_missing_marker_among_text(missing):
    X = np.array([["a"], [missing], ["b"], ["a"]], dtype=object)
    assert read_table(X).columns[0].tolist() == [0, -1, 1, 0]
    assert read_table(pd.DataFrame({"a": pd.Series(X[:, 0], dtype=object)})).columns[0].tolist() == [
        0,
        -1,
        1,
        0,
    ]


def test_empty_string_is_a_category():
    assert read_table([[""], ["a"], [""]]).schema.columns[0].categories == ("", "a")


@pytest.mark.parametrize("dtype", ["U2", "O", *(["T"] if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else [])])
def test_text_arrays(dtype):
    X = np.array([["b", "1"], ["a", "2"], ["b", "1"]], dtype="U2").astype("O" if dtype == "O" else dtype)
    table = read_table(X)
    same(table.columns, [np.array([0, 1, 0], dtype=np.int32)] * 2)
    assert table.schema.columns[1].categories == ("1", "2")


def test_lists_keep_their_types():
    table = read_table([[1, "a"], [2, "b"]])
    assert [column.kind for column in table.schema.columns] == ["numeric", "categorical"]


# --------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("value", [["list"], {"a": 1}, b"bytes", dt.time(1), (1,), object()])
def test_unsupported_values_are_named(value):
    X = np.empty((2, 2), dtype=object)
    X[:, 0], X[0, 1], X[1, 1] = 1.0, "a", value
    with pytest.raises(TypeError, match=rf"column 'x1' holds values of type {type(value).__name__}, such as"):
        read_table(X)
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):  # as scikit-learn checks
        read_table(X)


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"good": [1], "bad": [[1, 2]]}),
        pl.DataFrame({"good": [1], "bad": [{"a": 2}]}),
        pl.DataFrame({"good": [1], "bad": pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2))}),
        pa.table({"good": [1], "bad": [{"a": 2}]}),
        pa.table({"good": [1], "bad": [[1]]}),
        pd.DataFrame({"good": [1], "bad": [[1, 2]]}),
        pd.DataFrame({"good": range(200), "bad": pd.Series(["a"] * 199 + [[1]], dtype=object)}),
        pd.DataFrame({"good": [1], "bad": pd.period_range("2020", periods=1)}),
        pd.DataFrame({"good": [1], "bad": pd.interval_range(0, 1)}),
        pd.DataFrame({"good": [1], "bad": pd.Categorical(pd.interval_range(0, 1))}),
        pd.DataFrame({"good": [1], "bad": pd.Categorical([NOON])}),
        pl.DataFrame({"good": [1], "bad": [dt.time(1)]}),
        pl.DataFrame({"good": [1], "bad": [b"a"]}),
    ],
)
def test_unsupported_columns_are_named(frame):
    with pytest.raises(TypeError, match=r"column 'bad' holds values of type \w+.*convert the column"):
        read_table(frame)


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1j]]),
        np.array([[1j]], dtype=object),
        [[1j]],
        pd.DataFrame({"a": [1j]}),
        sp.csr_matrix(np.array([[1j]])),
    ],
)
def test_complex_numbers(X):
    with pytest.raises(ValueError, match="Complex data not supported"):
        read_table(X)


@pytest.mark.parametrize(
    ("values", "one", "other"),
    [
        (["a", 1], "'a' is a string", "1 is a number"),
        ([2.5, None, "b"], "2.5 is a number", "'b' is a string"),
        ([True, "b"], "True is a bool", "'b' is a string"),
        ([dt.date(2020, 1, 1), 3], "datetime.date(2020, 1, 1) is a datetime", "3 is a number"),
        ([dt.timedelta(1), dt.date(2020, 1, 1)], "datetime.timedelta(days=1) is a duration", "is a datetime"),
        (
            [np.datetime64("NaT"), dt.date(2020, 1, 1), "b"],
            "'b' is a string",
            "datetime.date(2020, 1, 1) is a datetime",
        ),
    ],
)
@pytest.mark.parametrize("as_frame", [False, True])
def test_mixed_columns_are_named(values, one, other, as_frame):
    X = np.array([*values, None], dtype=object)[:, None]
    with pytest.raises(TypeError, match="column 'x0'") as caught:
        read_table(pd.DataFrame(X, columns=["x0"]) if as_frame else X)
    assert one in str(caught.value)
    assert other in str(caught.value)
    assert "convert the column to one type" in str(caught.value)


def test_mixed_categoricals_are_named():
    with pytest.raises(TypeError, match=r"column 'a' mixes types: .*'x' is a string"):
        read_table(pd.DataFrame({"a": pd.Categorical([1, "x"])}))
    with pytest.raises(TypeError, match="column 'a' mixes types"):
        read_table(pl.DataFrame({"a": pl.Series([1, "x"], dtype=pl.Object)}))


# ------------------------------------------------------------------------------- shapes, as scikit-learn


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (
            np.zeros(3),
            r"Expected 2D array, got 1D array instead.*Reshape your data either using array.reshape\(-1, 1\)",
        ),
        ([1.0, 2.0], "Expected 2D array, got 1D array instead"),
        (pd.Series([1.0]), "Expected 2D array, got 1D array instead"),
        (pl.Series([1.0]), "Expected 2D array, got 1D array instead"),
        (np.float64(3.0), "Expected 2D array, got scalar array instead"),
        (
            np.zeros((0, 3)),
            r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required\.",
        ),
        (
            np.zeros((3, 0)),
            r"Found array with 0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required\.",
        ),
        (np.zeros((1, 2, 3)), "Found array with dim 3"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (pl.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (pd.DataFrame(index=[0, 1]), r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (sp.csr_matrix((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (sp.csr_matrix((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (sp.coo_array(np.ones(3)), "Expected 2D array, got 1D sparse array instead"),
        ([[1, 2], [3]], "rows differ in length"),
    ],
)
def test_shapes(X, message):
    with pytest.raises(ValueError, match=message):
        read_table(X)


# --------------------------------------------------------------------------------------------------- names


def test_names_are_kept_as_given():
    names = ["é", "a b", "[x]<y>", "ünï", '"q"', "x0\n"]
    for frame in (pd.DataFrame([[1.0] * 6], columns=names), pl.DataFrame([[1.0]] * 6, schema=names)):
        schema = read_table(frame).schema
        assert schema.names == names
        assert schema.named


def test_names_that_are_not_strings():
    frame = pd.DataFrame([[1.0, 2.0]])
    assert read_table(frame).schema == read_table(frame.to_numpy()).schema
    assert not read_table(frame).schema.named
    with pytest.raises(TypeError, match=r"all input features have string names.*\['int', 'str'\].*astype\(str\)"):
        read_table(pd.DataFrame([[1.0, 2.0]], columns=[0, "a"]))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
        pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "b", "a"]),
    ],
)
def test_duplicate_names(frame):
    with pytest.raises(ValueError, match=r"(?s)column names must be unique, rename the columns.*'a'") as caught:
        read_table(frame)
    assert "'b'" not in str(caught.value)


def test_any_object_with_an_arrow_stream():
    class Capsule:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"a": [1.0], "b": ["x"]}).__arrow_c_stream__(requested_schema)

    batch = pa.record_batch({"a": [1.0], "b": ["x"]})
    assert read_table(Capsule()).schema == read_table(batch).schema == read_table(batch.to_pandas()).schema


@law
@given(st.lists(row_of_data, max_size=12))
def test_libraries_agree(rows):
    tables = [read_table(frame) for frame in frames(as_columns([SURE, *rows])).values()]
    for table in tables[1:]:
        assert table.schema == tables[0].schema
        same(table.columns, tables[0].columns)


# -------------------------------------------------------------------------------------------------- sparse

SPARSE = [f"{kind}_{noun}" for kind in ("csr", "csc", "coo", "lil", "dok") for noun in ("matrix", "array")]


@pytest.mark.parametrize("format", SPARSE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_, np.uint8])
def test_sparse_equals_dense(format, dtype):
    make = getattr(sp, format)
    dense = np.random.default_rng(0).integers(0, 2, size=(7, 5)).astype(dtype)
    table = read_table(make(dense))
    assert isinstance(table, SparseTable)
    assert table.n_rows == 7
    assert table.schema == read_table(dense.astype(np.float64)).schema
    expected = list(dense.astype(np.float64).T)
    for size in (1, 2, 16):
        batches = list(table.column_batches(size))
        assert [start for start, _ in batches] == list(range(0, 5, size))
        same([column for _, batch in batches for column in batch], expected)
        rows = list(table.row_batches(size))
        assert [start for start, _ in rows] == list(range(0, 7, size))
        same(
            [np.concatenate(parts) for parts in zip(*(part.columns for _, part in rows), strict=True)],
            expected,
        )
    some = np.array([6, 0, 0, 3])
    ((_, taken),) = table.take(some).row_batches()
    same(taken.columns, [column[some] for column in expected])
    ((_, few),) = table.of_columns([4, 1]).row_batches()
    same(few.columns, [expected[4], expected[1]])
    assert few.schema.names == [table.schema.names[4], table.schema.names[1]]
    same([c for _, b in conform(make(dense), table.schema).column_batches() for c in b], expected)


def test_sparse_details():
    matrix = sp.coo_matrix(([1.0, 2.0, 0.0, np.nan], ([0, 0, 1, 1], [0, 0, 0, 1])), shape=(2, 2))
    ((_, columns),) = read_table(matrix).column_batches()
    same(columns, [np.array([3.0, 0.0]), np.array([0.0, np.nan])])
    assert columns[0].flags.c_contiguous
    with pytest.raises(TypeError, match=r"no dense columns; use column_batches\(\)"):
        read_table(matrix).columns
    with pytest.raises(ValueError, match="categorical_features needs a dense table"):
        read_table(matrix, categorical_features=[0])


def test_a_huge_sparse_matrix_is_never_dense():
    matrix = sp.csr_matrix((10_000_000, 50_000))
    schema = read_table(matrix).schema
    start, batch = next(conform(matrix, schema).row_batches(2))
    assert (start, batch.n_rows, len(batch.columns)) == (0, 2, 50_000)
    assert next(conform(matrix, schema).row_batches())[1].n_rows == 256
    assert next(conform(matrix[:, :64], read_table(matrix[:, :64]).schema).row_batches())[1].n_rows == 1 << 14


# --------------------------------------------------------------------------------------------------- dense


def test_dense_batches_are_the_table():
    table = read_table([[1.0, "a"], [2.0, "b"], [3.0, "a"]])
    assert table.n_rows == 3
    assert [start for start, _ in table.column_batches(1)] == [0]
    assert next(table.column_batches(1))[1] is table.columns
    assert list(table.row_batches(1)) == [(0, table)]
    taken = table.take(np.array([2, 0]))
    assert type(taken) is Table
    assert taken.schema is table.schema
    same(taken.columns, [np.array([3.0, 1.0]), np.array([0, 0], dtype=np.int32)])


def test_any_table_can_be_made_dense():
    sparse = read_table(sp.csr_matrix([[0.0, 3.0], [4.0, 0.0]]))
    assert [column.tolist() for column in sparse.dense().columns] == [[0.0, 4.0], [3.0, 0.0]]
    table = read_table([[1.0], [2.0]])
    assert table.dense() is table


def test_arrow_dictionaries_with_unsigned_indices_and_holes():
    indices = pa.array([1, None, 0, 1], pa.uint32())
    table = read_table(pa.table({"a": pa.DictionaryArray.from_arrays(indices, pa.array(["x", "y"]))}))
    assert table.schema.columns[0].categories == ("y", "x")
    np.testing.assert_array_equal(table.columns[0], [0, -1, 1, 0])


# ------------------------------------------------------------------------------------------- text that is more


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["29.85", "?", "108.15"],
            "column 'a' is text and becomes 3 categories, but it holds numbers, such as '108",
        ),
        (
            ["2024-01-31", None, "2024-02-01"],
            "2 categories, but it holds dates, such as '2024-01-31': convert it",
        ),
    ],
)
def test_text_that_holds_numbers_or_dates_is_told(values, message):
    frames = [pd.DataFrame({"a": values}), pl.DataFrame({"a": values}), Dataset.from_frame({"a": values})]
    for frame in frames:
        with pytest.warns(TextColumnWarning, match=message):
            table = read_table(frame)
        assert table.schema.columns[0].kind == "categorical"
        assert read_table(frame, categorical_features=["a"]).schema == table.schema  # they are meant, then
    assert read_table(frames[0].astype("category")).schema.columns[0].categories == table.schema.columns[0].categories


@pytest.mark.parametrize("values", [["94110", "10001"], ["01.5", "007"], ["a", "1.5"], ["?", "-"], ["true", "false"]])
def test_labels_are_left_alone(values):
    assert read_table(pd.DataFrame({"a": values})).schema.columns[0].source == "string"
