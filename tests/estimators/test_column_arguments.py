"""``fit(table, target="column")``: what names mean, what is remembered, and what errors say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import arboretum as arb

FEATURES = ["size", "town"]
TABLES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "dictionary": lambda frame: frame.to_dict("list"),
}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    size, town = rng.normal(size=400), rng.choice(["Oslo", "Rome", None], 400)
    price = size + (town == "Rome") + rng.normal(size=400) / 4
    weight, other = rng.integers(1, 4, 400).astype(float), price + rng.normal(size=400)
    return pd.DataFrame({"price": price, "size": size, "weight": weight, "town": town, "other": other})


def boosted(**params):
    return arb.BoostedTreesRegressor(n_estimators=20, min_samples_leaf=5, n_iter_no_change=3, **params)


@pytest.mark.parametrize("kind", TABLES)
def test_columns_of_validation_rows_are_named_alike_unless_it_is_said_otherwise(frame, kind):
    made, train, held = TABLES[kind], frame[:300].drop(columns="other"), frame[300:]
    named = {"target": "price", "sample_weight": "weight"}
    given = {"sample_weight": train["weight"], "sample_weight_val": held["weight"]}
    expected = boosted().fit(train[FEATURES], train["price"], X_val=held[FEATURES], y_val=held["price"], **given)
    model = boosted().fit(made(train), **named, X_val=made(held.drop(columns="other")))
    assert (model.history_, model.fingerprint()) == (expected.history_, expected.fingerprint())
    model = boosted().fit(made(train), **named, X_val=made(held), y_val="other")
    expected = boosted().fit(train[FEATURES], train["price"], X_val=held[FEATURES], y_val=held["other"], **given)
    assert (model.history_, model.fingerprint()) == (expected.history_, expected.fingerprint())


def test_validation_rows_may_be_of_another_kind(frame):
    train, held = frame[:300].drop(columns="other"), frame[300:].drop(columns="other")
    named = {"target": "price", "sample_weight": "weight"}
    expected = boosted().fit(train, **named, X_val=held).history_
    assert boosted().fit(arb.Dataset.from_frame(train), **named, X_val=held).history_ == expected
    assert boosted().fit(train, **named, X_val=arb.Dataset.from_frame(held)).history_ == expected
    values = {"y_val": held["price"].to_numpy(), "sample_weight_val": held["weight"].to_numpy()}
    assert boosted().fit(train, **named, X_val=held[FEATURES], **values).history_ == expected


def test_arrays_of_named_fields_have_columns(frame):
    numbers = frame.drop(columns="town")
    model = boosted().fit(numbers.to_records(index=False), target="price", sample_weight="weight")
    expected = boosted().fit(numbers[["size", "other"]], numbers["price"], sample_weight=numbers["weight"])
    assert model.fingerprint() == expected.fingerprint()
    np.testing.assert_array_equal(
        model.predict(numbers.to_records(index=False)), expected.predict(numbers[["size", "other"]])
    )


def test_a_text_in_the_place_of_y_names_the_target(frame):
    rows = frame[[*FEATURES, "price"]]
    assert boosted().fit(rows, "price").fingerprint() == boosted().fit(rows, target="price").fingerprint()


def test_rows_may_still_have_the_columns_that_the_last_fit_set_aside(frame):
    model = boosted().fit(frame, target="price", sample_weight="weight")
    assert model.feature_names_in_.tolist() == ["size", "town", "other"]
    expected = model.predict(frame[["size", "town", "other"]])
    for rows in (frame, frame.drop(columns="weight"), frame[["weight", "other", "town", "size"]]):
        np.testing.assert_array_equal(model.predict(rows), expected)
    assert model.score(frame, target="price") == model.score(frame, frame["price"])
    with pytest.raises(ValueError, match=r"missing: none\nunexpected: 'extra'$"):
        model.predict(frame.assign(extra=1.0))
    model.fit(frame[FEATURES], frame["price"])
    with pytest.raises(ValueError, match=r"missing: none\nunexpected: 'price', 'weight', 'other'$"):
        model.predict(frame)


def test_rounds_that_are_added_keep_what_was_set_aside(frame):
    first, second = {"target": "price", "sample_weight": "weight"}, {"target": "other"}
    rows = frame.drop(columns="other")
    model = (
        boosted(early_stopping=False)
        .fit(rows, **first)
        .fit_more(frame.drop(columns=["price", "weight"]), **second, n_estimators=2)
    )
    expected = boosted(early_stopping=False).fit(rows[FEATURES], rows["price"], sample_weight=rows["weight"])
    expected.fit_more(frame[FEATURES], frame["other"], n_estimators=2)
    assert model.fingerprint() == expected.fingerprint()
    np.testing.assert_array_equal(model.predict(frame), expected.predict(frame[FEATURES]))


def test_a_warm_start_takes_names(frame):
    rows = frame.drop(columns=["other", "weight"])
    model = arb.BaggingRegressor(n_estimators=2, warm_start=True, random_state=0).fit(rows, target="price")
    model.set_params(n_estimators=4).fit(rows, target="price")
    expected = arb.BaggingRegressor(n_estimators=4, random_state=0).fit(rows[FEATURES], rows["price"])
    assert model.fingerprint() == expected.fingerprint()


def test_outlier_detectors_name_columns_without_a_target(frame):
    rows = frame[["size", "weight"]]
    found = arb.IsolationForest(n_estimators=5).fit_predict(rows, sample_weight="weight")
    expected = arb.IsolationForest(n_estimators=5).fit(rows[["size"]], sample_weight=rows["weight"])
    np.testing.assert_array_equal(found, expected.predict(rows[["size"]]))


def test_cross_validation_takes_names(frame):
    model, rows = boosted(), frame.drop(columns="other")
    found = arb.cross_validate(model, rows, target="price", sample_weight="weight", cv=3)
    expected = arb.cross_validate(model, rows[FEATURES], rows["price"], sample_weight=rows["weight"], cv=3)
    np.testing.assert_array_equal(found.scores, expected.scores)
    with pytest.raises(ValueError, match="cv='five': use a number of folds"):
        arb.cross_validate(model, rows, target="price", cv="five")


def test_models_of_models_do_not_explain_columns_that_were_set_aside(frame):
    rows = frame.drop(columns="other")
    model = arb.BaggingRegressor(n_estimators=2, random_state=0).fit(rows, target="price", sample_weight="weight")
    assert model.importances(rows, rows["price"]).feature_names == FEATURES


@pytest.mark.parametrize(
    ("rows", "given", "error", "message"),
    [
        ("frame", {"target": "Price"}, ValueError, r"X has no column 'Price': did you mean 'price'\?"),
        ("frame", {"target": "rent"}, ValueError, r"X has no column 'rent': its columns are 'price', 'size', 'weight'"),
        (
            "frame",
            {"target": "price", "sample_weight": "wieght"},
            ValueError,
            r"X has no column 'wieght': did you mean 'weight'\?",
        ),
        ("frame", {"target": ["price", "othr"]}, ValueError, r"X has no column 'othr': did you mean 'other'\?"),
        ("frame", {"target": 3}, TypeError, "target=3: give the name of a column or a list of names; values go to y"),
        ("frame", {"target": []}, TypeError, r"target=\[\]: give the name of a column or a list of names"),
        (
            "frame",
            {"target": np.zeros(3)},
            TypeError,
            r"target=array\(.*: give the name of a column or a list of names",
        ),
        ("frame", {"target": "price", "y": [1.0]}, TypeError, "both y and target are given: give the name of the"),
        (
            "frame",
            {"sample_weight": "weight"},
            ValueError,
            "a DataFrame needs target=, the name of the column to predict; its columns are 'price', 'size'",
        ),
        (
            "target",
            {"target": "price"},
            ValueError,
            "X has no column besides 'price', which arguments name: give at le",
        ),
        (
            "array",
            {"target": "price"},
            TypeError,
            "target='price' names a column, but X, a ndarray, has no column name",
        ),
        (
            "numbered",
            {"target": "price"},
            TypeError,
            "X, a DataFrame, has no column names: give y, or a data frame who",
        ),
        ("list", {"target": "price"}, TypeError, "target='price' names a column, but X, a list, has no column names"),
    ],
)
def test_errors_name_the_column_and_the_cure(frame, rows, given, error, message):
    tables = {
        "frame": frame,
        "target": pa.table({"price": frame["price"]}),
        "array": frame[["size"]].to_numpy(),
        "numbered": frame[["size"]].set_axis([0], axis=1),
        "list": frame[["size"]].to_numpy().tolist(),
    }
    with pytest.raises(error, match=message):
        boosted().fit(tables[rows], **given)


def test_columns_that_validation_rows_lack_are_named(frame):
    with pytest.raises(ValueError, match=r"X_val has no column 'price': its columns are 'size', 'town'"):
        boosted().fit(frame, target="price", X_val=frame[FEATURES])
