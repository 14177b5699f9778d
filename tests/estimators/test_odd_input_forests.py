"""The rules for odd input, one test a rule, through fit and predict of random forests and extra trees."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.estimators.test_odd_input import (
    ODD_NAMES,
    average_prediction,
    numbers,
)

import arboretum as arb

CLASSIFIERS = [arb.RandomForestClassifier, arb.ExtraTreesClassifier]
REGRESSORS = [arb.RandomForestRegressor, arb.ExtraTreesRegressor]
FORESTS = CLASSIFIERS + REGRESSORS
each = pytest.mark.parametrize("cls", FORESTS)
each_regressor = pytest.mark.parametrize("cls", REGRESSORS)


def make(cls, **params):
    return cls(**{"n_estimators": 5, **params})


def stump(cls, **params):
    """One tree that knows its rows."""
    grown = {"n_estimators": 1, "bootstrap": False, "max_features": None, "min_samples_leaf": 1, "max_bins": None}
    return cls(**grown, **alone(cls), **params)


def alone(cls):
    """Without trees that have no split."""
    return {"prior_trees": 0.0} if cls in CLASSIFIERS else {}


def value(model, table):
    return model.predict_proba(table)[:, 1] if hasattr(model, "classes_") else model.predict(table)


# ------------------------------------------------------------------------------------------ targets and weights


@each
@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_target_that_is_not_finite_is_refused_with_its_row(cls, bad, word):
    X, y = numbers()
    y[[7, 11]] = bad
    with pytest.raises(ValueError, match=rf"y contains {word}: {bad} in row 7 \(2 such rows\)"):
        make(cls).fit(X, y)
    with pytest.raises(ValueError, match=rf"y contains {word}: {bad} in row 7"):
        make(cls).fit(X, np.column_stack([y > 0, y]))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_one_class_is_refused(cls):
    X, y = numbers()
    with pytest.raises(ValueError, match="y has only one class, 'yes'"):
        make(cls).fit(X, ["yes"] * len(y))
    with pytest.raises(ValueError, match=r"only one class, 0.0, has rows of positive sample_weight"):
        make(cls).fit(X, y, sample_weight=1 - y)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize(
    "labels", [["no", "yes"], [False, True], [-7, 40], [2**60, 2**60 + 1], np.array(["x", "yy"], object)]
)
def test_any_labels_are_kept(cls, labels):
    X, y = numbers()
    given_labels = np.asarray(labels)[y.astype(int)]
    found = stump(cls).fit(X, given_labels).predict(X)
    np.testing.assert_array_equal(found, given_labels)
    assert found.dtype == given_labels.dtype


# ---------------------------------------------------------------------------------------------- missing values


@each
def test_missing_value_at_predict_only_goes_where_most_rows_went_with_one_warning(cls):
    for share, expected in ((0.3, 1.0), (0.7, 0.0)):
        x = (np.arange(100) >= 100 * share).astype(float)
        model = stump(cls).fit(x[:, None], x)
        with pytest.warns(UserWarning, match="missing values in columns that had none at fit: 'x0'") as caught:
            found = value(model, [[np.nan], [np.nan]])
        assert (len(caught), found.tolist(), caught[0].filename) == (1, [expected] * 2, __file__)


@each
def test_direction_of_missing_values_is_learned(cls):
    X, _ = numbers()
    X[::2, 0] = np.nan
    y = np.isnan(X[:, 0]) | (X[:, 0] > 0)
    np.testing.assert_array_equal(stump(cls).fit(X, y.astype(int)).predict(X), y)


@each
@pytest.mark.parametrize("hole", [None, np.nan, pd.NA, pd.NaT])
def test_every_spelling_of_missing_is_missing(cls, hole):
    column = ["a", "b"] * 40 + [hole] * 20
    y = np.r_[[0, 1] * 40, [1] * 20]
    model = stump(cls).fit(pd.DataFrame({"c": np.array(column, object)}), y)
    np.testing.assert_array_equal(model.predict(pd.DataFrame({"c": np.array([hole, "a"], object)})), [1, 0])


@each
def test_column_of_nothing_but_missing_values_is_ignored(cls):
    X, y = numbers()
    X[:, 1] = np.nan
    for max_bins in (255, None):
        model = make(cls, max_bins=max_bins).fit(X, y)
        assert 1 not in model.forest_.feature
        assert np.isfinite(value(model, X)).all()


# ---------------------------------------------------------------------------------------- infinities, exactness


@each_regressor
@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=12, unique_by=lambda v: v + 0.0))
def test_any_distinct_doubles_are_told_apart(cls, values):
    y = np.arange(float(len(values)))
    found = stump(cls).fit(np.array(values)[:, None], y).predict(np.array(values)[:, None])
    np.testing.assert_array_equal(found, y)


@each
def test_infinity_at_predict_only_is_beyond_all_training_values(cls):
    X, y = numbers()
    model = make(cls).fit(X, y)
    far, infinite = (np.array([[-v, 0.0, 0.0], [v, 0.0, 0.0]]) for v in (1e300, np.inf))
    np.testing.assert_array_equal(value(model, infinite), value(model, far))


@each_regressor
@pytest.mark.parametrize("base", [2**53 - 40, 20_180_131, 1_700_000_000_000_000, -(2**53) + 2])
def test_big_integers_split_exactly(cls, base, tmp_path):
    ids = np.arange(base, base + 32, dtype=np.int64)
    y = np.random.default_rng(0).permutation(32).astype(float)
    for table in (ids[:, None], pd.DataFrame({"id": ids}), pl.DataFrame({"id": ids})):
        model = stump(cls).fit(table, y)
        np.testing.assert_array_equal(model.predict(table), y)
        model.save(tmp_path / "m.arb")
        np.testing.assert_array_equal(arb.load(tmp_path / "m.arb").predict(table), y)


@each_regressor
def test_dates_split_exactly(cls):
    when = np.datetime64("2024-02-27T23:59:59.999990", "us") + np.arange(32) * np.timedelta64(1, "us")
    y = np.random.default_rng(0).permutation(32).astype(float)
    model = stump(cls).fit(pd.DataFrame({"when": when}), y)
    for frame in (pd.DataFrame({"when": when}), pl.DataFrame({"when": when}), pa.table({"when": when})):
        np.testing.assert_array_equal(model.predict(frame), y)


# ------------------------------------------------------------------------------------------------ data frames


@each
def test_numbers_named_as_categories_are_categories(cls):
    X = np.repeat([[1.0], [2.0], [3.0], [4.0]], 25, axis=0)
    y = np.isin(X[:, 0], [1, 3]).astype(int)
    model = stump(cls, categorical_features=[0]).fit(X, y)
    assert set(model.forest_.kind) == {0, 2}
    np.testing.assert_array_equal(model.predict([[1.0], [2.0], [3.0], [4.0]]), [1, 0, 1, 0])


@each
@pytest.mark.parametrize("n_levels", [300, 100_000])
def test_a_category_of_many_levels(cls, n_levels):
    rng = np.random.default_rng(0)
    level = np.r_[np.arange(n_levels), rng.integers(0, n_levels, n_levels // 10)]
    other = rng.normal(size=len(level))
    y = (level % 2).astype(int)
    frame = pd.DataFrame({"level": level.astype(str), "other": other})
    model = cls(n_estimators=2, max_features=None, max_depth=8, bootstrap=False).fit(frame, y)
    if cls.__name__.startswith("Random"):
        assert (model.forest_.n_nodes, model.score(frame, y)) == (6, 1.0)
    unseen = value(model, pd.DataFrame({"level": ["never seen"], "other": [0.0]}))
    assert 0 <= unseen[0] <= 1


@each
def test_values_that_cannot_be_read_name_their_column(cls):
    _, y = numbers()
    frame = pd.DataFrame({"good": np.arange(200.0), "odd": [{"a": 1}] * 200})
    with pytest.raises(TypeError, match=r"column 'odd' holds values of type dict, such as \{'a': 1\}"):
        make(cls).fit(frame, y)


# -------------------------------------------------------------------------------------------- unseen categories


def category_model(cls, **params):
    rng = np.random.default_rng(1)
    town = rng.choice(["a", "b", "c", "d", "e"], 400, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    size = rng.normal(size=400)
    y = (town == "a") * 3.0 + (town == "b") * size + np.sin(size)
    frame = pd.DataFrame({"town": town, "size": size})
    return make(cls, min_samples_leaf=5, **alone(cls), **params).fit(frame, y if cls in REGRESSORS else y > 1), frame


@each
def test_unseen_category_averages_both_branches(cls):
    model, _ = category_model(cls)
    assert (model.forest_.kind == 2).any()
    sizes = np.linspace(-2, 2, 7)
    found = value(model, pd.DataFrame({"town": ["never seen"] * 7, "size": sizes}))
    expected = [average_prediction(model.forest_, size) / model.forest_.n_trees for size in sizes]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# ------------------------------------------------------------------------------------- sparse, names, tiny data


@each
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix])
@pytest.mark.parametrize("max_bins", [255, None])
def test_sparse_equals_dense_to_the_bit(cls, form, max_bins):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((300, 20)) < 0.8, 0, rng.integers(-5, 6, (300, 20))).astype(float)
    y = (dense[:, 0] - dense[:, 1] + (dense[:, 2] == 0) > 0).astype(int)
    params = {"max_bins": max_bins, "bootstrap": True, "oob_score": True, "n_estimators": 30}
    of_sparse, of_dense = make(cls, **params).fit(form(dense), y), make(cls, **params).fit(dense, y)
    assert of_sparse.fingerprint() == of_dense.fingerprint()
    assert of_sparse.oob_score_ == of_dense.oob_score_
    np.testing.assert_array_equal(value(of_sparse, form(dense)), value(of_dense, dense))


@each
def test_columns_are_matched_by_name(cls, tmp_path):
    X = np.random.default_rng(0).normal(size=(100, len(ODD_NAMES)))
    frame = pd.DataFrame(X, columns=ODD_NAMES)
    model = make(cls).fit(frame, (X[:, 2] > 0).astype(int))
    model.save(tmp_path / "odd names.arb")
    loaded = arb.load(tmp_path / "odd names.arb")
    assert loaded.feature_names_in_.tolist() == ODD_NAMES
    np.testing.assert_array_equal(loaded.predict(frame[ODD_NAMES[::-1]]), model.predict(frame))
    with pytest.raises(ValueError, match="missing: 'with space'"):
        model.predict(frame.drop(columns="with space"))
    with pytest.raises(ValueError, match=f"X has 2 features, but {cls.__name__} is expecting 8 features"):
        model.predict(X[:, :2])


@each
def test_tiny_tables(cls):
    model = stump(cls).fit([[0.0], [1.0]], [10, 20])
    assert model.predict([[-5.0], [5.0]]).tolist() == [10, 20]
    assert cls().fit([[0.0], [1.0]], [10, 20]).predict([[0.0]]).shape == (1,)
    if cls in REGRESSORS:
        assert cls().fit([[3.0]], [7.0]).predict([[0.0]]).tolist() == [7.0]
    x = np.linspace(0, 1, 30)[:, None]
    assert cls().fit(x, (x[:, 0] > 0.5).astype(int)).score(x, x[:, 0] > 0.5) > 0.9


@each
@pytest.mark.parametrize("table", [np.zeros((50, 3)), pd.DataFrame({"c": ["same"] * 50}), np.full((50, 1), np.inf)])
def test_constant_columns_give_the_mean(cls, table):
    y = (np.arange(50) < 10).astype(int)
    np.testing.assert_allclose(value(make(cls, bootstrap=False).fit(table, y), table), 0.2, rtol=1e-12)


@each_regressor
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("constant", [0.1, 1e-30, 123456.789, 1e15])
def test_constant_target_is_predicted_to_the_bit(cls, criterion, constant):
    X, _ = numbers()
    model = make(cls, criterion=criterion).fit(X, np.full(len(X), constant))
    np.testing.assert_allclose(model.predict(X), constant, rtol=1e-15)
    assert model.forest_.n_nodes == 5
