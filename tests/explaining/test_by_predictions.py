"""Importances and dependence of models of models, whose learners may be anybody's: by their predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.inspection import partial_dependence as scikit_dependence
from sklearn.linear_model import LogisticRegression, Ridge

import arboretum as arb
from arboretum.data.table import read_table
from arboretum.explaining.by_predictions import like

RNG = np.random.default_rng(0)
N_ROWS = 200
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=N_ROWS).round(2),
        "rooms": RNG.integers(1, 6, N_ROWS),
        "town": pd.Categorical(RNG.choice(["Bonn", "Jena", "Ulm"], N_ROWS)),
        "street": RNG.choice(["east", "west"], N_ROWS),
        "built": pd.date_range("2000-01-01", periods=N_ROWS),
    }
)
Y = 3 * FRAME["size"].to_numpy() + 4 * (FRAME["town"] == "Ulm").to_numpy()
MATRIX = FRAME[["size", "rooms"]].to_numpy(float)


def boosted(**params):
    return arb.BoostedTreesRegressor(n_estimators=20, max_features=1.0, **params)


OWN = {
    "bagged trees": arb.BaggingRegressor(n_estimators=4),
    "bagged boosting": arb.BaggingRegressor(estimator=boosted(), n_estimators=3),
    "some columns": arb.BaggingRegressor(n_estimators=8, max_features=0.6),
    "additive": arb.AdditiveBoostingRegressor(n_estimators=15),
    "conformal": arb.ConformalRegressor(estimator=boosted(), n_folds=2),
    "bagged classes": arb.BaggingClassifier(n_estimators=4),
    "calibrated": arb.CalibratedClassifier(estimator=arb.BoostedTreesClassifier(n_estimators=20), n_folds=2),
    "calibrated bags": arb.CalibratedClassifier(estimator=arb.BaggingClassifier(n_estimators=4), n_folds=2),
}
OTHERS = {
    "bagged": arb.BaggingRegressor(estimator=Ridge(), n_estimators=3),
    "additive": arb.AdditiveBoostingRegressor(estimators=[Ridge(), arb.DecisionTreeRegressor(max_depth=2)]),
    "conformal": arb.ConformalRegressor(estimator=Ridge(), n_folds=2),
    "adaboost": arb.AdaBoostRegressor(estimator=Ridge(), n_estimators=3),
    "calibrated": arb.CalibratedClassifier(estimator=LogisticRegression(), n_folds=2),
}


def target_of(model, y=Y):
    return np.where(y > 1, "dear", "cheap") if hasattr(model, "predict_proba") else y


@pytest.fixture(scope="module")
def own():
    return {name: clone(model).fit(FRAME, target_of(model)) for name, model in OWN.items()}


def response(model, X):
    return model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("name", OWN)
def test_importances_of_members(own, name):
    model = own[name]
    found = model.importances(FRAME, target_of(model), n_repeats=2)
    assert {"gain", "nodes", "depth", "permutation"} <= set(found.kinds)
    assert found.feature_names[found.order[0]] == "size"
    gains = model.feature_importances_
    assert gains.sum() == pytest.approx(1)
    assert gains.argmax() == 0
    alone = model.importances()
    np.testing.assert_array_equal(alone.kinds["gain"], found.kinds["gain"])
    shuffled = model.importances(FRAME[FRAME.columns[::-1]], target_of(model), n_repeats=1)
    assert shuffled.to_dict()["size"]["gain"] == found.to_dict()["size"]["gain"]


@pytest.mark.parametrize("feature", ["size", "town"])
@pytest.mark.parametrize("name", OWN)
def test_dependence_is_that_of_replaced_columns(own, name, feature):
    model, X = own[name], FRAME.iloc[:40]
    points = {"size": [-1.0, 0.0, 1.5], "town": ["Bonn", "Ulm"]}[feature]
    found = model.partial_dependence(X, feature, grid=points)
    curves = model.ice(X, feature, grid=points).individual
    for place, point in enumerate(points):
        replaced = X.assign(**{feature: point})
        if feature == "town":
            replaced["town"] = pd.Categorical(replaced["town"], dtype=FRAME["town"].dtype)
        expected = response(model, replaced)
        np.testing.assert_allclose(curves[:, place, 0], expected, rtol=1e-12)
        assert found.values[place, 0] == pytest.approx(expected.mean(), rel=1e-12)


@pytest.mark.parametrize("name", OTHERS)
def test_learners_of_other_libraries(name):
    model = clone(OTHERS[name])
    y = target_of(model, MATRIX[:, 0])
    model.fit(MATRIX, y)
    found = model.importances(MATRIX, y, n_repeats=2)
    assert set(found.kinds) == {"permutation", "permutation_error"}
    assert found.order[0] == 0
    assert str(found).startswith("    permutation")
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(ValueError, match="give X and y"):
        model.importances()
    for method in ("accumulated_effects", "partial_dependence"):
        assert np.isfinite(getattr(model, method)(MATRIX, 1, grid_resolution=3).values).all()
    assert model.interaction_strength(MATRIX, max_rows=20).values.shape[:2] == (2, 2)


def test_dependence_equals_that_of_scikit_learn():
    model = arb.BaggingRegressor(n_estimators=3).fit(MATRIX, Y)
    theirs = scikit_dependence(model, MATRIX, [0], grid_resolution=7, kind="average")
    ours = model.partial_dependence(MATRIX, 0, grid=theirs["grid_values"][0])
    np.testing.assert_allclose(ours.values[:, 0], theirs["average"][0], rtol=1e-12)


def test_bagging_of_trees_has_the_gains_of_its_members():
    model = arb.BaggingRegressor(n_estimators=5).fit(MATRIX, Y)
    gains = [member.importances().kinds["gain"] for member in model.estimators_]
    np.testing.assert_allclose(model.importances().kinds["gain"], np.mean(gains, axis=0))


def test_columns_of_another_table_are_named():
    model = arb.BaggingRegressor(n_estimators=2).fit(FRAME[["size", "rooms"]], Y)
    with pytest.raises(ValueError, match=r"the columns of X are not those of the fit\.\nmissing: 'rooms'"):
        model.importances(FRAME[["size"]], Y)
    corrected = arb.ConformalRegressor(estimator=model).fit(FRAME[["size", "rooms"]], Y)
    with pytest.raises(ValueError, match="X has no column 'rooms', which the model was fitted with"):
        corrected.importances(FRAME[["size"]], Y)


# ---- tables made again -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_a_table_becomes_what_it_was(make):
    frame = FRAME.copy()
    frame.loc[3, ["size", "town", "street", "built"]] = [np.nan, None, None, pd.NaT]
    given = make(frame)
    again = like(given, read_table(given))
    assert type(again) is type(given)
    first, second = read_table(given), read_table(again)
    assert first.schema == second.schema
    for one, other in zip(first.columns, second.columns, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("rows", [[["a", 1.0], ["b", 2.0], [None, 3.0]], np.array([[1, 2], [3, 4]]), [[1.5, np.nan]]])
def test_rows_without_names_come_back(rows):
    table = read_table(rows)
    again = read_table(like(rows, table))
    assert again.schema.names == table.schema.names
    for one, other in zip(table.columns, again.columns, strict=True):
        np.testing.assert_array_equal(one, other)
