"""Partial dependence and curves of rows: those of predicting rows with their values replaced."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import inspection
from sklearn.base import clone
from tests.reference.dependence import curves, response

import arboretum as arb
from arboretum.explaining import Dependence, ice, partial_dependence

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
X[3, 1], X[4, 1], X[5, 1] = np.inf, -np.inf, 1e300
Y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 2]) * np.isnan(X[:, 3]) + 0.1 * RNG.normal(size=len(X))
LABELS = np.digitize(Y, [-0.5, 0.7])
GRID = [-1.0, 0.05, 0.0, 1e300, -np.inf, np.nan]

SMALL = {"n_estimators": 8, "n_jobs": 2}
REGRESSORS = {
    "boosted": arb.BoostedTreesRegressor(**SMALL, min_samples_leaf=3),
    "linear leaves": arb.BoostedTreesRegressor(**SMALL, min_samples_leaf=3, leaf_model="linear"),
    "several quantiles": arb.BoostedTreesRegressor(**SMALL, loss="quantile", quantile=[0.2, 0.8]),
    "logarithmic link": arb.BoostedTreesRegressor(**SMALL, loss="poisson"),
    "forest": arb.RandomForestRegressor(**SMALL),
    "oblique": arb.RandomForestRegressor(**SMALL, oblique=True),
    "single tree": arb.DecisionTreeRegressor(),
    "median of learners": arb.AdaBoostRegressor(n_estimators=4),
}
CLASSIFIERS = {
    "boosted": arb.BoostedTreesClassifier(**SMALL, min_samples_leaf=3),
    "vector leaves": arb.BoostedTreesClassifier.preset("catboost", **SMALL),
    "forest": arb.ExtraTreesClassifier(**SMALL),
    "votes": arb.RandomForestClassifier(**SMALL, voting="hard"),
    "adaboost": arb.AdaBoostClassifier(n_estimators=4),
    "multiway": arb.DecisionTreeClassifier(method="c45"),
}
MODELS = [pytest.param(model, "y", id=f"regressor {name}") for name, model in REGRESSORS.items()]
MODELS += [pytest.param(model, "labels", id=f"classifier {name}") for name, model in CLASSIFIERS.items()]


def fitted(model: Any, target: str) -> Any:
    return clone(model).fit(X, {"y": Y - Y.min(), "labels": LABELS}[target])


@pytest.mark.parametrize(("model", "target"), MODELS)
def test_curves_are_predictions(model: Any, target: str) -> None:
    model = fitted(model, target)
    for column in (0, 1):
        found = ice(model, X, column, grid=GRID, max_rows=None)
        slow = curves(model, X, [column], [(value,) for value in GRID])
        assert_allclose(found.individual, slow, rtol=1e-12, atol=1e-12)
        mean = partial_dependence(model, X, column, grid=GRID)
        assert_allclose(mean.values, found.individual.mean(axis=0), rtol=1e-12, atol=1e-12)
        assert_array_equal(mean.values, partial_dependence(model, X, column, grid=GRID, n_jobs=1).values)


@pytest.mark.parametrize(("model", "target"), MODELS)
def test_two_columns(model: Any, target: str) -> None:
    model, first, second = fitted(model, target), [0.0, np.nan, 1.0], [-0.5, 0.5]
    found = ice(model, X, ("x2", 0), grid=[first, second], max_rows=None)
    slow = curves(model, X, [2, 0], list(itertools.product(first, second)))
    assert_allclose(found.individual, slow.reshape(len(X), 3, 2, -1), rtol=1e-12, atol=1e-12)
    mean = partial_dependence(model, X, (2, 0), grid=[first, second])
    assert_allclose(mean.values, found.individual.mean(axis=0), rtol=1e-12, atol=1e-12)
    assert mean.features == ["x2", "x0"]


NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 2.0, 2.0000000000000004, -3.5, 1e308, -1e308, np.inf, -np.inf, np.nan])


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(NUMBERS, NUMBERS, st.floats(-10, 10)), min_size=4, max_size=40), st.lists(NUMBERS, min_size=1)
)
def test_odd_numbers(rows: list[tuple[float, float, float]], points: list[float]) -> None:
    table = np.array(rows)
    model = arb.ExtraTreesRegressor(n_estimators=3, missing="warn").fit(table[:, :2], table[:, 2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *args, **kwargs: None)  # of values that are missing for the first time
        found = ice(model, table[:, :2], 0, grid=points, max_rows=None)
        slow = curves(model, table[:, :2], [0], [(value,) for value in points])
    assert_allclose(found.individual, slow, rtol=1e-12, atol=1e-12)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    size = pd.Series(RNG.normal(size=300).astype(np.float32))
    colour = pd.Series(RNG.choice(["red", "green", "blue", "grey", None], 300))
    street = pd.Series([f"s{number}" for number in RNG.integers(0, 40, 300)])
    return pd.DataFrame(
        {"size": size, "colour": colour, "street": street, "day": pd.date_range("2024-01-01", periods=300)}
    )


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(arb.BoostedTreesRegressor(**SMALL), id="statistics"),
        pytest.param(arb.BoostedTreesRegressor(**SMALL, category_levels=3), id="combined statistics"),
        pytest.param(arb.BoostedTreesRegressor(**SMALL, category_levels=None), id="sets"),
        pytest.param(arb.RandomForestRegressor(**SMALL), id="lists"),
        pytest.param(arb.BoostedTreesRegressor(**SMALL, category_levels=None, unknown="missing"), id="missing"),
    ],
)
def test_categories(model: Any, frame: pd.DataFrame) -> None:
    y = frame["size"] + 2.0 * (frame["colour"] == "red") + frame["street"].str[1:].astype(int) / 10
    model = clone(model).fit(frame, y)
    asked = frame.copy()
    asked.loc[::7, "colour"] = "never seen"
    grids = {"colour": ["red", "grey", None], "street": ["s1", "s39"], "size": [0.0, 0.5]}
    for name, grid in grids.items():
        slow = curves(model, asked, [name], [(value,) for value in grid])
        found = ice(model, asked, name, grid=grid, max_rows=None)
        assert_allclose(found.individual, slow, rtol=1e-12, atol=1e-12)
        assert_allclose(
            partial_dependence(model, asked, name, grid=grid).values, slow.mean(axis=0), rtol=1e-12, atol=1e-12
        )
    both = partial_dependence(model, asked, ["colour", "street"], grid=[["blue"], ["s3", "s4"]], sample_weight=abs(y))
    slow = curves(model, asked, ["colour", "street"], [("blue", "s3"), ("blue", "s4")])
    assert_allclose(both.values[0], np.average(slow, axis=0, weights=abs(y)), rtol=1e-12)


def test_grids_of_categories_and_dates(frame: pd.DataFrame) -> None:
    model = arb.RandomForestRegressor(n_estimators=3).fit(frame, frame["size"])
    colours = partial_dependence(model, frame, "colour", with_missing=True)
    assert set(colours.grid[0][:-1]) == {"red", "green", "blue", "grey"}
    assert colours.grid[0][-1] is None
    days = partial_dependence(model, frame, "day", grid_resolution=5, percentiles=(0.0, 1.0))
    assert days.grid[0].dtype == np.dtype("datetime64[us]")
    assert days.grid[0][0] == np.datetime64("2024-01-01")
    again = partial_dependence(model, frame, "day", grid=days.grid[0])
    assert_array_equal(again.values, days.values)


@pytest.mark.parametrize("model", [arb.BoostedTreesClassifier(**SMALL), arb.RandomForestRegressor(**SMALL)])
def test_same_as_scikit_learn(model: Any) -> None:
    table = np.nan_to_num(X, posinf=9.0, neginf=-9.0)
    table[:, 0] = RNG.normal(size=len(X))
    model = clone(model).fit(table, Y > 0)
    for features in ([0], [2], [(0, 2)]):
        theirs = inspection.partial_dependence(model, table, features, method="brute", grid_resolution=20)
        ours = partial_dependence(model, table, features[0], grid_resolution=20)
        for axis, grid in zip(theirs["grid_values"], ours.grid, strict=True):
            assert_allclose(grid, axis)
        assert_allclose(ours.values[..., 0], theirs["average"][0], rtol=1e-12)
    weight = RNG.random(len(X))
    theirs = inspection.partial_dependence(model, table, [0], method="brute", grid_resolution=9, sample_weight=weight)
    ours = model.partial_dependence(table, 0, grid_resolution=9, sample_weight=weight)
    assert_allclose(ours.values[:, 0], theirs["average"][0], rtol=1e-12)


def test_raw_response_is_before_the_link() -> None:
    model = fitted(CLASSIFIERS["boosted"], "labels")
    found = partial_dependence(model, X, 0, grid=[0.5], response="raw")
    moved = X.copy()
    moved[:, 0] = 0.5
    assert_allclose(found.values[0], model.decision_function(moved).mean(axis=0), rtol=1e-12)
    assert found.output_names == ["0", "1", "2"]


def test_outlier_scores_and_uplift() -> None:
    detector = arb.IsolationForest(n_estimators=5).fit(X)
    moved = X.copy()
    moved[:, 1] = 0.5
    found = partial_dependence(detector, X, 1, grid=[0.5])
    assert_allclose(found.values[0, 0], detector.decision_function(moved).mean(), rtol=1e-12)
    arm = RNG.integers(0, 3, len(X))
    model = arb.UpliftForest(n_estimators=3).fit(X, Y > 0, treatment=arm)
    uplift = partial_dependence(model, X, 1, grid=[0.5])
    assert_allclose(uplift.values[0], response(model, moved).mean(axis=0), rtol=1e-12, atol=1e-12)
    assert uplift.output_names == ["1", "2"]


def test_rows_are_drawn_and_sparse_tables_read() -> None:
    from scipy.sparse import csr_matrix

    table = np.where(RNG.random((200, 3)) < 0.5, 0.0, RNG.random((200, 3)))
    model = arb.RandomForestRegressor(n_estimators=3).fit(table, table[:, 0])
    few = ice(model, table, 0, max_rows=7)
    assert few.individual is not None
    assert len(few.individual) == 7
    assert_array_equal(ice(model, table, 0, max_rows=7).individual, few.individual)
    assert_array_equal(
        partial_dependence(model, csr_matrix(table), 0).values, partial_dependence(model, table, 0).values
    )
    assert isinstance(few, Dependence)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": "x9"}, "no column is called 'x9'"),
        ({"features": 4}, "there is no column 4: the model has columns 0 to 3"),
        ({"features": 1.5}, "expected the name or position of a column, got 1.5"),
        ({"features": [0, 1, 2]}, "give one column or a pair"),
        ({"features": [0, 0]}, "the same column twice"),
        ({"response": "proba"}, "use 'auto' or 'raw'"),
        ({"percentiles": (0.9, 0.1)}, "two rising shares"),
        (
            {"percentiles": (0, 1e-9), "grid_resolution": 2},
            r"of column 'x0' are both .*: take them further apart, or give",
        ),
        ({"grid_resolution": 1}, "grid_resolution"),
        ({"sample_weight": np.zeros(len(X))}, "sample_weight is zero in all rows"),
        ({"features": [0, 1], "grid": [[0.0]]}, "one for each of the two columns"),
        ({"grid": []}, "give a list of values"),
    ],
)
def test_errors(arguments: dict[str, Any], message: str) -> None:
    model = fitted(REGRESSORS["boosted"], "y")
    with pytest.raises((ValueError, TypeError), match=message):
        partial_dependence(model, X, **{"features": 0, **arguments})


def test_errors_of_columns(frame: pd.DataFrame) -> None:
    model = arb.RandomForestRegressor(n_estimators=2).fit(frame, frame["size"])
    with pytest.raises(ValueError, match="grid has 'pink', which is not a category of column 'colour'"):
        partial_dependence(model, frame, "colour", grid=["pink"])
    with pytest.raises(ValueError, match="column 'colour' has no known category in X: give grid="):
        partial_dependence(model, frame.assign(colour=None), "colour")
    with pytest.raises(ValueError, match="are not sums of trees"):
        partial_dependence(fitted(REGRESSORS["median of learners"], "y"), X, 0, response="raw")
    with pytest.raises(Exception, match="not fitted"):
        partial_dependence(arb.RandomForestRegressor(), X, 0)
