from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import example, given
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
    text,
)

from arboretum.data.schema import ColumnSchema, Schema
from arboretum.data.table import conform, read_table

# ------------------------------------------------------------------------------------- order of categories


@law
@given(holey_text, st.randoms(use_true_random=False))
def test_order_of_rows_never_matters(values, random):
    shuffled = values.copy()
    random.shuffle(shuffled)
    for kind in FRAMES:
        schema = read_table(frames({"a": [*values, "z"]})[kind]).schema
        assert schema == read_table(frames({"a": ["z", *shuffled]})[kind]).schema


def test_order_of_the_dictionary_never_matters():
    values = ["b", "a", "c", "b"]
    one = pd.DataFrame({"a": pd.Categorical(values, categories=["a", "b", "c", "unused"])})
    two = pd.DataFrame({"a": pd.Categorical(values, categories=["unused", "c", "b", "a"], ordered=True)})
    enum = pl.DataFrame({"a": pl.Series(values, dtype=pl.Enum(["c", "unused", "a", "b"]))})
    schemas = [read_table(X).schema for X in (one, two, enum)]
    assert schemas[0] == schemas[1] == schemas[2]
    assert schemas[0].columns[0].categories == ("b", "a", "c")
    assert schemas[0].columns[0].source == "category"


# ------------------------------------------------------------------------------------ categorical_features


@pytest.mark.parametrize("spec", [["b"], [1], (1,), np.array([1]), [False, True], np.array([False, True]), ["b", 1]])
def test_categorical_features(spec):
    frame = pd.DataFrame({"a": [1, 2, 3, 3], "b": [5.0, 9.0, np.nan, 9.0]})
    table = read_table(frame, categorical_features=spec)
    expected = ColumnSchema("b", "categorical", "number", (9, 5), has_missing=True)
    assert table.schema.columns[1] == expected
    assert all(type(category) is int for category in table.schema.columns[1].categories)
    assert table.schema.categorical == [1]
    assert table.columns[1].tolist() == [1, 0, -1, 0]


@pytest.mark.parametrize("spec", [None, "from_dtype", [], [False, False]])
def test_no_categorical_features(spec):
    assert read_table([[1.0, 2.0]], categorical_features=spec).schema.categorical == []


@law
@given(st.lists(any_float, min_size=1, max_size=20))
@example([np.inf, 1.0, -np.inf])
def test_numbers_as_categories_are_encoded_as_the_twin_does(values):
    table = read_table(np.array(values)[:, None], categorical_features=[0])
    categories, codes = plain_encoding([None if v != v else v for v in values])
    assert table.schema.columns[0].categories == categories
    assert table.columns[0].tolist() == codes
    assert Schema.from_json(json.loads(json.dumps(table.schema.to_json(), allow_nan=False))) == table.schema


def test_numbers_as_categories_have_plain_types():
    X = pd.DataFrame({"f": [0.5, 1.0], "i": [2.0, 3.0], "b": [True, False]})
    columns = read_table(X, categorical_features=[0, 1, 2]).schema.columns
    assert [type(column.categories[0]) for column in columns] == [float, int, bool]
    assert columns[2].source == "bool"


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (["colour"], ValueError, "'colour', which is not a column of X .did you mean 'color'"),
        ("color", ValueError, r"'color' is a single name; give a list, as \['color'\]"),
        (5, ValueError, "categorical_features=5: use a list of names or positions, a mask, or None"),
        ([2], ValueError, "position 2, but X has columns 0 to 1"),
        ([-1], ValueError, "position -1, but X has columns 0 to 1"),
        ([True], ValueError, "masks 1 columns, but X has 2"),
        ([1.5], TypeError, "names, positions or booleans only; found 1.5"),
        ([0, True], TypeError, "names, positions or booleans only; found True"),
    ],
)
def test_bad_categorical_features(spec, error, message):
    with pytest.raises(error, match=message):
        read_table(pd.DataFrame({"color": [1, 2], "size": [1, 2]}), categorical_features=spec)


def test_names_for_an_array_without_names():
    with pytest.raises(ValueError, match="has 'x0', but X has no column names: give positions"):
        read_table([[1.0]], categorical_features=["x0"])


# ----------------------------------------------------------------------------- names and widths at predict


def test_shapes_at_predict():
    schema = read_table(np.zeros((2, 3))).schema
    for X, message in (
        (np.zeros((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (np.zeros(3), "Expected 2D array, got 1D array"),
        (np.zeros((4, 2)), "X has 2 features, but this model is expecting 3 features as input"),
        (sp.csr_matrix((4, 2)), "X has 2 features, but this model is expecting 3 features as input"),
        (pd.DataFrame({"a": [1.0]}), "X has 1 features, but this model is expecting 3 features as input"),
    ):
        with pytest.raises(ValueError, match=message):
            conform(X, schema)
    with pytest.raises(ValueError, match=r"X has 1 features, but \w+ is expecting 3 features as input"):
        conform(np.zeros((4, 1)), schema, estimator_name="BoostedTreesRegressor")


def test_names_must_match():
    schema = read_table(pd.DataFrame({"age": [1.0], "city": ["x"], "size": [2.0]})).schema
    for frame in (pd.DataFrame({"agee": [1.0], "size": [2.0]}), pl.DataFrame({"agee": [1.0], "size": [2.0]})):
        with pytest.raises(ValueError, match="the columns of X are not those of the fit") as caught:
            conform(frame, schema)
        assert "missing: 'age' (did you mean 'agee'?), 'city'\nunexpected: 'agee'" in str(caught.value)
    with pytest.raises(ValueError, match="missing: none\nunexpected: 'more'"):
        conform(pd.DataFrame({"age": [1.0], "city": ["x"], "size": [2.0], "more": [1]}), schema)


def test_arrays_and_frames_mix_by_position():
    named = read_table(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})).schema
    same(conform([[5.0, "y"]], named).columns, [np.array([5.0]), np.array([1], dtype=np.int32)])
    unnamed = read_table([[1.0, "x"], [2.0, "y"]]).schema
    frame = pd.DataFrame({"p": [5.0], "q": ["y"]})
    same(conform(frame, unnamed).columns, [np.array([5.0]), np.array([1], dtype=np.int32)])


# ------------------------------------------------------------------------- types and categories at predict


@law
@given(st.lists(row_of_data, max_size=12), st.permutations(list(SURE)))
def test_conforming_the_training_table_changes_nothing(rows, order):
    data = as_columns([SURE, *rows])
    permuted = {name: data[name] for name in order}
    for kind, frame in frames(data).items():
        table = read_table(frame)
        schema = table.schema.with_missing([True] * 6)
        same(conform(frame, schema).columns, table.columns)
        same(conform(frames(permuted)[kind], schema).columns, table.columns)
        same(conform(frames(data)["arrow"], schema).columns, table.columns)


@pytest.mark.parametrize(
    ("fitted", "found", "message"),
    [
        ([1.0, 2.0], ["oops", None], "column 'a' was number at fit but holds text now, such as 'oops'"),
        ([True, False], ["oops", None], "column 'a' was number at fit but holds text now, such as 'oops'"),
        (["x", "y"], [3.5, np.nan], "column 'a' was text at fit but holds number now, such as 3.5"),
        ([NOON, NOON], [3.5, np.nan], "column 'a' was datetime at fit but holds number now, such as 3.5"),
        ([1, 2], [NOON, NOON], "column 'a' was number at fit but holds datetime now"),
        ([NOON, NOON], [MICROSECOND, None], "column 'a' was datetime at fit but holds duration now"),
    ],
)
def test_types_must_match(fitted, found, message):
    schema = read_table(pd.DataFrame({"a": fitted})).schema
    with pytest.raises(TypeError, match=f"{message}.*convert it to the type it had at fit"):
        conform(pd.DataFrame({"a": found}), schema)


@pytest.mark.parametrize("fitted", [[1.0, 2.0], ["x", "y"], [NOON, NOON], [True, False]])
@pytest.mark.parametrize("dtype", ["float64", object, "str", "datetime64[us]", "timedelta64[us]", "category", "Int64"])
def test_all_missing_columns_of_any_type_fit(fitted, dtype):
    schema = read_table(pd.DataFrame({"a": fitted})).schema.with_missing([True])
    (column,) = conform(pd.DataFrame({"a": pd.Series([None, None], dtype=dtype)}), schema).columns
    assert (column == -1).all() if column.dtype == np.int32 else np.isnan(column).all()
    assert (column.dtype == np.int32) == (schema.columns[0].kind == "categorical")


def test_numbers_meet_numeric_categories_by_value():
    schema = read_table(pd.DataFrame({"a": pd.Categorical([7, 3, 7, 1])})).schema
    for values in ([7.0, 1.0, 2.0], [7, 1, 2], [7, True, 2]):
        frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
        assert conform(frame, schema).columns[0].tolist() == [0, 1, -2]
    frame = pd.DataFrame({"a": pd.Categorical([7.0, 1.0, 2.0])})
    assert conform(frame, schema).columns[0].tolist() == [0, 1, -2]
    flags = read_table(pd.DataFrame({"a": [True, False, True]}), categorical_features=["a"]).schema
    assert conform(pd.DataFrame({"a": [0, 1, 2]}), flags).columns[0].tolist() == [1, 0, -2]
    numeric = read_table(pd.DataFrame({"a": [1.0, 2.0]})).schema.with_missing([True])
    same(conform(pd.DataFrame({"a": pd.Categorical([5, None])}), numeric).columns, [np.array([5.0, np.nan])])


def test_a_column_without_categories_knows_nothing():
    schema = read_table(pl.DataFrame({"a": pl.Series([None], dtype=pl.String)})).schema
    assert schema.columns[0] == ColumnSchema("a", "categorical", "string", (), has_missing=True)
    assert conform(pl.DataFrame({"a": ["b", None]}), schema).columns[0].tolist() == [-2, -1]
    assert conform(pl.DataFrame({"a": [1.0, None]}), schema).columns[0].tolist() == [-2, -1]


@pytest.mark.parametrize("kind", FRAMES)
def test_unknown_categories(kind):
    schema = read_table(pd.DataFrame({"a": ["x", "y", None]})).schema
    frame = frames({"a": ["y", "new", None]})[kind]
    assert conform(frame, schema).columns[0].tolist() == [1, -2, -1]
    assert conform(frame, schema, unknown="missing").columns[0].tolist() == [1, -1, -1]
    with pytest.raises(ValueError, match=r"column 'a' has categories not seen at fit: 'new'; map them"):
        conform(frame, schema, unknown="error")
    assert conform(frames({"a": ["y", None]})[kind], schema, unknown="error").columns[0].tolist() == [1, -1]


def test_five_unknown_categories_are_shown():
    schema = read_table([["x"]]).schema
    with pytest.raises(ValueError, match="'a', 'b', 'c', 'd', 'e' and 2 more;"):
        conform([[letter] for letter in "gfedcbax"], schema, unknown="error")
    with pytest.raises(ValueError, match="not seen at fit: 3, 4;"):
        conform([[4], [3]], read_table([[1]], categorical_features=[0]).schema, unknown="error")


def test_unused_categories_are_not_unknown():
    schema = read_table([["x"]]).schema
    frame = pd.DataFrame({"a": pd.Categorical(["x"], categories=["x", "never"])})
    assert conform(frame, schema, unknown="error").columns[0].tolist() == [0]
    arrow = pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["x", "never"]))})
    assert conform(arrow, schema, unknown="error").columns[0].tolist() == [0]


def test_sparse_for_columns_that_are_not_numbers():
    schema = read_table([["a", 1.0, NOON]]).schema
    with pytest.raises(TypeError, match="holds only numbers, but these columns do not: 'x0', 'x2'"):
        conform(sp.csr_matrix((2, 3)), schema)


# ------------------------------------------------------------------------------ missing values at predict


HOLEY = np.array([[1.0, np.nan, np.nan], [2.0, 1.0, 1.0]])


@pytest.mark.parametrize(
    "X",
    [
        HOLEY,
        np.asfortranarray(HOLEY.astype(np.float32)),
        HOLEY.tolist(),
        pd.DataFrame(HOLEY),
        sp.csr_matrix(HOLEY),
        sp.csc_array(HOLEY),
    ],
)
def test_new_missing_values(X):
    schema = read_table(np.ones((2, 3))).schema.with_missing([False, True, False])
    message = "missing values in columns that had none at fit: 'x2'; fill them"
    with pytest.warns(UserWarning, match=message) as caught:
        conform(X, schema)
    assert len(caught) == 1
    with pytest.raises(ValueError, match=message):
        conform(X, schema, missing="error")
    conform(X, schema.with_missing([False, False, True]), missing="error")


def test_new_missing_values_beyond_the_first_block():
    X = np.zeros((20_000, 7))
    schema = read_table(X).schema
    conform(X, schema, missing="error")
    X[-1] = np.nan
    with pytest.raises(ValueError, match="'x0', 'x1', 'x2', 'x3', 'x4' and 2 more;"):
        conform(X, schema, missing="error")


def test_new_missing_categories():
    schema = read_table([["a"], ["b"]]).schema
    with pytest.warns(UserWarning, match="missing values in columns that had none at fit: 'x0'"):
        conform([["a"], [None]], schema)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conform([["a"], ["unseen"]], schema, unknown="missing", missing="error")  # unknown is not missing


def test_infinity_is_not_missing():
    X = np.array([[np.inf, -np.inf], [-np.inf, np.inf]])
    same(conform(X, read_table(X).schema, missing="error").columns, list(X.T))


# ---------------------------------------------------------------------------------------------------- JSON


@law
@given(st.lists(row_of_data, max_size=12))
def test_schema_survives_json(rows):
    schema = read_table(frames(as_columns([SURE, *rows]))["polars"], categorical_features=["float", "flag"]).schema
    stored = json.dumps(schema.to_json(), allow_nan=False)
    again = Schema.from_json(json.loads(stored))
    assert again == schema
    types = [[type(c) for c in column.categories] for column in again.columns]
    assert types == [[type(c) for c in column.categories] for column in schema.columns]


def test_with_missing_adds_marks():
    schema = read_table([[1.0, None], [2.0, "a"]]).schema
    assert [c.has_missing for c in schema.columns] == [False, True]
    assert [c.has_missing for c in schema.with_missing([True, False]).columns] == [True, True]
    with pytest.raises(ValueError, match="zip"):
        schema.with_missing([True])


def good_json():
    return read_table([[1.0, "a"], [2.0, "b"]]).schema.to_json()


def broken(change):
    data = good_json()
    change(data)
    return data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("named"), "schema must be an object with"),
        (lambda d: d.update(more=1), "schema must be an object with"),
        (lambda d: d.update(named=1), "named is 1, expected true or false"),
        (lambda d: d.update(columns=[]), r"columns is \[\], expected a list of at least one column"),
        (lambda d: d.update(columns={}), r"columns is \{\}, expected a list of at least one column"),
        (lambda d: d["columns"].append(3), "column 2 must be an object with"),
        (lambda d: d["columns"][0].pop("kind"), "column 0 must be an object with"),
        (lambda d: d["columns"][0].update(name=3), "name of column 0 is 3, expected a string"),
        (lambda d: d["columns"][0].update(name="x1"), r"names of columns is \['x1', 'x1'\], expected distinct names"),
        (lambda d: d["columns"][0].update(name="y"), r"names of unnamed columns is \['y', 'x1'\], expected x0, x1"),
        (lambda d: d["columns"][0].update(kind="odd"), "kind of column 0 is 'odd', expected one of"),
        (lambda d: d["columns"][0].update(kind=[]), r"kind of column 0 is \[\], expected one of"),
        (lambda d: d["columns"][0].update(source="odd"), "source of column 0 is 'odd', expected one of"),
        (
            lambda d: d["columns"][0].update(source="string"),
            "source of column 0 is 'string', expected a source",
        ),
        (lambda d: d["columns"][0].update(categories=[1]), r"categories of column 0 is \[1\], expected none"),
        (lambda d: d["columns"][0].update(has_missing=0), "has_missing of column 0 is 0, expected true or false"),
        (lambda d: d["columns"][1].update(categories="ab"), "categories of column 1 is 'ab', expected a list"),
        (
            lambda d: d["columns"][1].update(categories=["a", "a"]),
            r"categories of column 1 is \['a', 'a'\], expected distinct",
        ),
        (
            lambda d: d["columns"][1].update(source="category", categories=[1, True]),
            r"categories of column 1 is \[1, True\], expected distinct",
        ),
        (
            lambda d: d["columns"][1].update(source="category", categories=["a", 1]),
            r"categories of column 1 is \['a', 1\], expected either text or numbers",
        ),
        (
            lambda d: d["columns"][1].update(categories=[1]),
            r"categories of column 1 is \[1\], expected .* source 'string'",
        ),
        (lambda d: d["columns"][1].update(categories=[None]), "category of column 1 is None, expected text"),
        (lambda d: d["columns"][1].update(categories=[["a"]]), r"category of column 1 is \['a'\], expected text"),
        (lambda d: d["columns"][1].update(categories=[float("nan")]), "category of column 1 is nan, expected text"),
        (
            lambda d: d["columns"][1].update(categories=[{"float": "nan"}]),
            r"category of column 1 is \{'float': 'nan'\}, expected text",
        ),
        (lambda d: d.update(set_aside="y"), "set_aside is 'y', expected a list of names that are not those of columns"),
        (lambda d: d.update(set_aside=[3]), r"set_aside is \[3\], expected a list of names"),
        (
            lambda d: d.update(set_aside=["x1"]),
            r"set_aside is \['x1'\], expected a list of names that are not those of",
        ),
    ],
)
def test_broken_schemas_are_refused(change, message):
    with pytest.raises(ValueError, match=f"invalid schema: {message}"):
        Schema.from_json(broken(change))


def test_columns_that_were_set_aside_are_kept_in_files_and_are_no_part_of_what_a_model_reads():
    schema = read_table({"a": [1.0, 2.0], "b": ["x", "y"]}).schema
    aside = schema.setting_aside(["y", "a"]).setting_aside(["w", "y"])
    assert aside.set_aside == ("y", "w")
    assert aside == schema
    assert "set_aside" not in schema.to_json()
    again = Schema.from_json(json.loads(json.dumps(aside.to_json())))
    assert (again, again.set_aside) == (schema, ("y", "w"))
    assert again.in_order(["w", "b", "a"], [0, 1, 2]) == [2, 1]
    with pytest.raises(ValueError, match=r"missing: none\nunexpected: 'z'"):
        again.in_order(["w", "b", "a", "z"], [0, 1, 2, 3])


@pytest.mark.parametrize("data", [None, [], "schema", 3])
def test_schemas_that_are_no_object(data):
    with pytest.raises(ValueError, match="invalid schema"):
        Schema.from_json(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
)


@law
@given(st.data(), json_values)
def test_fuzzed_schemas_load_or_raise_value_error(data, junk):
    broken_json = good_json()
    target = data.draw(st.sampled_from([broken_json, *broken_json["columns"]]))
    target[data.draw(st.sampled_from(sorted(target)))] = junk
    try:
        schema = Schema.from_json(broken_json)
    except ValueError:
        return
    assert Schema.from_json(json.loads(json.dumps(schema.to_json(), allow_nan=False))) == schema


@pytest.mark.parametrize(
    ("then", "now"),
    [(["1", "2", "3"], ["1.0", "3.0"]), (["01", "02"], ["1", "2"]), (["Oslo", "Rome"], ["OSLO ", "rome"])],
)
def test_categories_in_another_form_are_told(then, now):
    """Missing values made 1.0 of the codes 1: every row was unknown, without a word."""
    schema = read_table(pd.DataFrame({"c": then})).schema
    with pytest.warns(
        UserWarning, match=rf"no value of column 'c' is a category .*: '{now[0]}' was '{then[0]}' at fit"
    ):
        conform(pd.DataFrame({"c": now}), schema)


@pytest.mark.parametrize("now", [["1.0", "1"], ["9.0"], ["1.0", "x"]])
def test_other_unknown_categories_are_not(now):
    schema = read_table(pd.DataFrame({"c": ["1", "2", "3"]})).schema
    conform(pd.DataFrame({"c": now}), schema)
