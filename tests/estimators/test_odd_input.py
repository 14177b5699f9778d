"""The rules for odd input, one test a rule, through fit and predict of the public estimators.

Numbers such as LGB#5592 name the complaint about another library that a test answers
(LGB LightGBM, XGB XGBoost, CB CatBoost, SK scikit-learn).
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from arboretum import BoostedTreesClassifier, BoostedTreesRegressor, load

N_ROWS = 200


def numbers(n_rows=N_ROWS, n_columns=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] > 0).astype(float)


def regressor(**params):
    return BoostedTreesRegressor(**{"n_estimators": 5, "learning_rate": 0.5, **params})


def classifier(**params):
    return BoostedTreesClassifier(**{"n_estimators": 5, "learning_rate": 0.5, **params})


def stump(**params):
    """One tree that moves all the way to the mean of its leaves."""
    return BoostedTreesRegressor(
        **{"n_estimators": 1, "learning_rate": 1.0, "l2": 0.0, "min_samples_leaf": 1, "max_bins": None, **params},
        max_features=1.0,
    )


# ------------------------------------------------------------------------------------------ targets and weights


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_target_that_is_not_finite_is_refused_with_its_row(make, bad, word):  # LGB#5592, #6173, #4483
    X, y = numbers()
    y[[7, 11]] = bad
    with pytest.raises(ValueError, match=rf"y contains {word}: {bad} in row 7 \(2 such rows\)"):
        make().fit(X, y)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_validation_target_of_nan_is_refused(make):  # LGB#7041
    X, y = numbers()
    with pytest.raises(ValueError, match=r"y_val contains NaN: nan in row 0 \(200 such rows\)"):
        make().fit(X, y, X_val=X, y_val=np.full(len(y), np.nan))


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_validation_target_outside_the_domain_of_the_loss_is_refused(loss):
    X, y = numbers()
    with pytest.raises(ValueError, match=rf"y_val\[0\] = -1.0: loss='{loss}' needs y"):
        regressor(loss=loss).fit(X, y + 1, X_val=X, y_val=-np.ones(len(y)))


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.nan, "sample_weight contains NaN: nan in row 3"),  # LGB#5592, #2377
        (np.inf, "sample_weight contains infinity: inf in row 3"),
        (-1.0, r"sample_weight is negative in row 3 \(-1.0\): weights must be 0 or more"),
    ],
)
def test_bad_weight_is_refused_with_its_row(make, bad, message):
    X, y = numbers()
    weight = np.ones(len(y))
    weight[3] = bad
    with pytest.raises(ValueError, match=message):
        make().fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match=message.replace("sample_weight", "sample_weight_val")):
        make().fit(X, y, X_val=X, y_val=y, sample_weight_val=weight)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(N_ROWS), "sample_weight is zero in all rows"),
        (np.ones(3), "sample_weight has 3 values, but X has 200 rows"),
        (np.ones((N_ROWS, 1)), r"sample_weight has shape \(200, 1\)"),
        (["heavy"] * N_ROWS, "sample_weight has the value 'heavy' in row 0"),
        (np.full(N_ROWS, 1j), "sample_weight has dtype complex"),
        (np.full(N_ROWS, 1e308), "sample_weight"),  # its sum is infinite, and every mean with it
    ],
)
def test_weights_that_are_no_weights_are_refused(weight, message):
    X, y = numbers()
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_target_and_rows_must_agree_in_number(make):
    X, y = numbers()
    with pytest.raises(ValueError, match="y has 199 values, but X has 200 rows: give one value per row"):
        make().fit(X, y[:-1])
    with pytest.raises(ValueError, match="y_val has 5 values, but X_val has 200 rows"):
        make().fit(X, y, X_val=X, y_val=y[:5])
    with pytest.raises(ValueError, match=r"y is sparse \(csr_matrix\): it must be dense; use y.toarray\(\).ravel\(\)"):
        make().fit(X, sparse.csr_matrix(y[:, None]))


@pytest.mark.parametrize(
    "y",
    [
        np.array(["2020-01-01", "NaT"] * 100, "M8[us]"),
        np.array([1, 2] * 100, "m8[s]"),
        np.array(["1.5", "2"] * 100),
        np.array(["a", 2.0] * 100, object),
    ],
    ids=["dates", "durations", "digits as text", "text"],
)
def test_regression_target_that_is_no_number_is_refused(y):
    """A date cast to float64 would turn NaT into −9.2e18, a number like any other."""
    X, _ = numbers()
    with pytest.raises((TypeError, ValueError), match=r"y has (the value|dtype) .*"):
        regressor().fit(X, y)


@pytest.mark.parametrize("convert", [list, pd.Series, pl.Series, pa.array, lambda v: pa.chunked_array([v])])
def test_target_and_weight_of_any_container_give_the_same_model(convert):
    X, y = numbers()
    weight = np.linspace(1, 2, len(y))
    expected = regressor().fit(X, y, sample_weight=weight)
    assert regressor().fit(X, convert(y), convert(weight)).fingerprint() == expected.fingerprint()
    labels = np.where(y > 0, "yes", "no")
    of_labels = classifier().fit(X, convert(labels.tolist()))
    np.testing.assert_array_equal(of_labels.predict(X), labels)


# ---------------------------------------------------------------------------------------------- missing values


def test_missing_value_at_predict_only_goes_where_most_rows_went_with_one_warning():  # LGB#4040, #6139, #2921
    for share, expected in ((0.3, 5.0), (0.7, 1.0)):
        x = (np.arange(100) >= 100 * share).astype(float)
        model = stump(max_leaf_nodes=2).fit(x[:, None], np.where(x > 0.5, 5.0, 1.0))
        with pytest.warns(UserWarning, match="missing values in columns that had none at fit: 'x0'") as caught:
            predicted = model.predict([[np.nan], [np.nan]])
        assert len(caught) == 1
        np.testing.assert_allclose(predicted, expected)


def test_warning_of_missing_values_points_at_the_line_of_the_user():
    X, y = numbers()
    model = regressor().fit(X, y)
    with pytest.warns(UserWarning, match="missing values") as caught:
        model.predict(np.full((1, 3), np.nan))
    assert caught[0].filename == __file__


def test_missing_error_refuses_what_was_never_missing_and_nothing_else():
    X, y = numbers()
    X[:20, 1] = np.nan
    model = regressor(missing="error").fit(X, y)
    holes = X[:50].copy()
    assert np.isfinite(model.predict(holes)).all()
    holes[4, 0] = np.nan
    with pytest.raises(ValueError, match="missing values in columns that had none at fit: 'x0'; fill them"):
        model.predict(holes)


def test_direction_of_missing_values_is_learned():
    X, _ = numbers()
    X[::2, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), 9.0, np.where(X[:, 0] > 0, 1.0, 0.0))
    model = stump().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)


def test_validation_rows_may_miss_what_training_rows_miss():
    X, y = numbers()
    X[:20, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regressor().fit(X, y, X_val=X, y_val=y)


def test_missing_error_holds_for_validation_rows():
    X, y = numbers()
    holes = X.copy()
    holes[3, 2] = np.nan
    with pytest.raises(ValueError, match="missing values in columns that had none at fit: 'x2'"):
        regressor(missing="error").fit(X, y, X_val=holes, y_val=y)


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA, pd.NaT])
def test_every_spelling_of_missing_is_missing(hole):
    column = ["a", "b"] * 40 + [hole] * 20
    y = np.r_[[1.0, 2.0] * 40, [7.0] * 20]
    model = stump().fit(pd.DataFrame({"c": np.array(column, object)}), y)
    np.testing.assert_allclose(model.predict(pd.DataFrame({"c": np.array([hole, "a"], object)})), [7.0, 1.0])


def test_column_of_nothing_but_missing_values_is_ignored():
    X, y = numbers()
    X[:, 1] = np.nan
    model = regressor().fit(X, y)
    assert 1 not in model.forest_.feature
    assert np.isfinite(model.predict(X)).all()


# ---------------------------------------------------------------------------------------- infinities, exactness


def test_infinities_are_the_extremes():
    values = np.array([-np.inf, -1e308, -1.0, 0.0, 1e-300, 1e308, np.inf])
    y = np.arange(7.0) ** 2
    X = np.repeat(values, 3)[:, None]
    model = stump().fit(X, np.repeat(y, 3))
    np.testing.assert_allclose(model.predict(values[:, None]), y, rtol=1e-9)


def test_infinity_at_predict_only_is_beyond_all_training_values():
    X, y = numbers()
    model = regressor().fit(X, y)
    far = np.array([[-1e300, 0.0, 0.0], [1e300, 0.0, 0.0]])
    infinite = np.array([[-np.inf, 0.0, 0.0], [np.inf, 0.0, 0.0]])
    np.testing.assert_array_equal(model.predict(infinite), model.predict(far))


@pytest.mark.parametrize("base", [2**53 - 40, 2**52, 20_180_131, 1_700_000_000_000_000, -(2**53) + 2])
@pytest.mark.parametrize("convert", [np.asarray, lambda v: pd.DataFrame({"id": v}), lambda v: pl.DataFrame({"id": v})])
def test_big_integers_split_exactly(base, convert, tmp_path):  # XGB#6572, #7124, #3960
    ids = np.arange(base, base + 32, dtype=np.int64)
    y = np.random.default_rng(0).permutation(32).astype(float)

    def table(values):
        frame = convert(values)
        return frame if hasattr(frame, "columns") else frame[:, None]

    model = stump(max_leaf_nodes=32).fit(table(ids), y)
    np.testing.assert_allclose(model.predict(table(ids)), y, atol=1e-9)
    model.save(tmp_path / "m.arb")
    np.testing.assert_array_equal(load(tmp_path / "m.arb").predict(table(ids)), model.predict(table(ids)))


@pytest.mark.parametrize("step", [np.timedelta64(1, "us"), np.timedelta64(1, "D")])
def test_dates_split_exactly(step):
    when = np.datetime64("2024-02-27T23:59:59.999990", "us") + np.arange(32) * step
    y = np.random.default_rng(0).permutation(32).astype(float)
    model = stump(max_leaf_nodes=32).fit(pd.DataFrame({"when": when}), y)
    for frame in (pd.DataFrame({"when": when}), pl.DataFrame({"when": when}), pa.table({"when": when})):
        np.testing.assert_allclose(model.predict(frame), y, atol=1e-9)


def test_neighbouring_doubles_are_told_apart():  # XGB#3960
    low, high = 0.1, np.nextafter(0.1, 1)
    model = stump().fit([[low], [high]] * 5, [0.0, 1.0] * 5)
    np.testing.assert_array_equal(model.predict([[low], [high]]), [0.0, 1.0])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=12, unique_by=lambda v: v + 0.0))
def test_any_distinct_doubles_are_told_apart(values):
    y = np.arange(float(len(values)))
    model = stump(max_leaf_nodes=32).fit(np.array(values)[:, None], y)
    np.testing.assert_allclose(model.predict(np.array(values)[:, None]), y, atol=1e-8)


# ------------------------------------------------------------------------------------------------ data frames


def odd_columns(n_rows=240):
    rng = np.random.default_rng(3)
    day = np.datetime64("2020-01-01", "D") + rng.integers(0, 900, n_rows)
    return {
        "size": rng.normal(size=n_rows),
        "flag": rng.random(n_rows) < 0.5,
        "town": rng.choice(["Köln", "Oslo", "New York", "東京"], n_rows),
        "day": day.astype("M8[us]"),
        "count": rng.integers(0, 50, n_rows),
    }


def odd_target(columns):
    return columns["size"] + 2.0 * (columns["town"] == "Oslo") - columns["flag"] + columns["count"] / 25


def as_pandas(columns):
    return pd.DataFrame(columns)


def as_objects(columns):
    return pd.DataFrame({name: pd.Series(list(values), dtype=object) for name, values in columns.items()})


def as_polars(columns):
    return pl.DataFrame({name: v.tolist() if v.dtype.kind == "U" else v for name, v in columns.items()})


def as_arrow(columns):
    return pa.table(
        {name: pa.array(values.tolist() if values.dtype.kind == "U" else values) for name, values in columns.items()}
    )


@pytest.mark.parametrize("convert", [as_objects, as_polars, as_arrow, lambda c: as_polars(c).lazy()])
@pytest.mark.parametrize("make", [regressor, classifier])
def test_every_data_frame_gives_the_same_model(convert, make):  # LGB#789, #6204, CB#2524
    columns = odd_columns()
    y = odd_target(columns) if make is regressor else odd_target(columns) > 1
    expected = make().fit(as_pandas(columns), y)
    model = make().fit(convert(columns), y)
    assert model.fingerprint() == expected.fingerprint()
    np.testing.assert_array_equal(model.predict(as_pandas(columns)), expected.predict(convert(columns)))
    assert model.feature_names_in_.tolist() == list(columns)


def test_every_kind_of_categorical_gives_the_same_model():
    town = odd_columns()["town"].tolist()
    y = odd_target(odd_columns())
    tables = [
        pd.DataFrame({"town": pd.Categorical(town)}),
        pd.DataFrame({"town": pd.Categorical(town, categories=sorted(set(town), reverse=True))}),
        pd.DataFrame({"town": pd.Categorical(town, categories=["unused", *sorted(set(town))])}),
        pl.DataFrame({"town": pl.Series(town, dtype=pl.Categorical)}),
        pl.DataFrame({"town": pl.Series(town, dtype=pl.Enum(["unused", *sorted(set(town))]))}),
        pa.table({"town": pa.array(town).dictionary_encode()}),
    ]
    prints = {regressor().fit(table, y).fingerprint() for table in tables}
    assert len(prints) == 1  # LGB#3273: no numbering of categories changes the model


@pytest.mark.parametrize("categories", [["x", "y", "z"], ["z", "x", "y"]])
def test_validation_frame_may_number_its_categories_in_another_way(categories):  # LGB#6692, #1352
    rng = np.random.default_rng(0)
    values = rng.choice(["x", "y", "z"], 300)
    y = (values == "x") * 2.0 + (values == "y")
    held = pd.DataFrame({"c": pd.Categorical(values, categories=categories)})
    model = stump(n_estimators=3).fit(pd.DataFrame({"c": pd.Categorical(values)}), y, X_val=held, y_val=y)
    assert model.history_.validation_loss[0] < 1e-12
    np.testing.assert_allclose(model.predict(held), y, atol=1e-9)


def test_numbers_named_as_categories_are_categories():
    X = np.repeat([[1.0], [2.0], [3.0], [4.0]], 25, axis=0)
    y = np.isin(X[:, 0], [1, 3]).astype(float)
    model = stump(categorical_features=[0]).fit(X, y)
    np.testing.assert_allclose(model.predict([[1.0], [2.0], [3.0], [4.0]]), [1, 0, 1, 0], atol=1e-9)


def test_many_categories_with_missing_and_float_categories():  # CB#571, #482: NaN in a categorical column
    rng = np.random.default_rng(0)
    code = rng.integers(0, 500, 3000).astype(float)
    code[::10] = np.nan
    y = np.where(np.isnan(code), -5.0, code % 7)
    frame = pd.DataFrame({"c": pd.Categorical(code)})
    model = BoostedTreesRegressor(n_estimators=30, min_samples_leaf=1).fit(frame, y)
    assert model.score(frame, y) > 0.9
    assert abs(model.predict(pd.DataFrame({"c": pd.Categorical([np.nan])}))[0] + 5) < 0.5


@pytest.mark.parametrize("make", [regressor, classifier])
def test_values_that_cannot_be_read_name_their_column(make):  # CB#2044, #2364
    _, y = numbers()
    frame = pd.DataFrame({"good": np.arange(200.0), "odd": [{"a": 1}] * 200})
    with pytest.raises(TypeError, match=r"column 'odd' holds values of type dict, such as \{'a': 1\}"):
        make().fit(frame, y)
    frame["odd"] = ["a", 1.0] * 100
    with pytest.raises(TypeError, match=r"column 'odd' mixes types: 'a' is a string, 1\.0 is a number"):
        make().fit(frame, y)


def test_type_that_changed_since_the_fit_is_refused():
    columns = odd_columns()
    model = regressor().fit(as_pandas(columns), odd_target(columns))
    with pytest.raises(TypeError, match=r"column 'town' was text at fit but holds number now, such as 1\.0"):
        model.predict(as_pandas({**columns, "town": np.ones(240)}))
    with pytest.raises(TypeError, match="column 'size' was number at fit but holds text now, such as 'big'"):
        model.predict(as_pandas({**columns, "size": np.full(240, "big")}))


# -------------------------------------------------------------------------------------------- unseen categories


def category_model(**params):
    rng = np.random.default_rng(1)
    town = rng.choice(["a", "b", "c", "d", "e"], 400, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    size = rng.normal(size=400)
    y = (town == "a") * 3.0 + (town == "b") * size + np.sin(size)
    frame = pd.DataFrame({"town": town, "size": size})
    return BoostedTreesRegressor(**{"n_estimators": 8, "min_samples_leaf": 5, **params}).fit(frame, y), frame


def average_prediction(forest, size):
    """Plain recursion: an unknown category in column 0 takes both children, weighted by their training rows."""

    def value(tree, node):
        place = forest.tree_start[tree] + node
        if forest.kind[place] == 0:
            return forest.value[place, 0]
        left, right = int(forest.left[place]), int(forest.right[place])
        if forest.kind[place] == 1:
            return value(tree, left if size <= forest.threshold[place] else right)
        rows = [forest.n_rows[forest.tree_start[tree] + child] for child in (left, right)]
        return (rows[0] * value(tree, left) + rows[1] * value(tree, right)) / sum(rows)

    return forest.base[0] + sum(value(tree, 0) for tree in range(forest.n_trees))


def test_unseen_category_averages_both_branches():  # LGB#6908, XGB#11659, XGB#11826, CB#2703
    model, _ = category_model()
    assert (model.forest_.kind == 2).any()
    sizes = np.linspace(-2, 2, 7)
    found = model.predict(pd.DataFrame({"town": ["never seen"] * 7, "size": sizes}))
    np.testing.assert_allclose(found, [average_prediction(model.forest_, size) for size in sizes], rtol=1e-12)


def test_unseen_category_can_be_an_error():  # CB#2508, XGB#11826
    model, frame = category_model(unknown="error")
    with pytest.raises(ValueError, match="column 'town' has categories not seen at fit: 'Rome', 'Wien'; map them"):
        model.predict(frame.assign(town=["Rome", "Wien"] * 200))
    assert np.isfinite(model.predict(frame)).all()


def test_category_whose_rows_have_no_weight_is_unseen():
    model, frame = category_model()
    y = model.predict(frame)
    more = pd.concat([frame, frame.head(20).assign(town="weightless")], ignore_index=True)
    weight = np.r_[np.ones(400), np.zeros(20)]
    params = {"n_estimators": 8, "min_samples_leaf": 5}
    with_them = BoostedTreesRegressor(**params).fit(more, np.r_[y, np.full(20, 99.0)], sample_weight=weight)
    without = BoostedTreesRegressor(**params).fit(frame, y)
    np.testing.assert_array_equal(with_them.predict(more), without.predict(more))


# ------------------------------------------------------------------------------------------------------- sparse


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.coo_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_sparse_equals_dense_to_the_bit(make, form, dtype):  # XGB#5287, #5960, #2488, #1634, #6580, #4601
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((300, 20)) < 0.8, 0, rng.integers(-5, 6, (300, 20))).astype(dtype)
    y = (dense[:, 0] - dense[:, 1] + (dense[:, 2] == 0) > 0).astype(int)
    of_sparse, of_dense = make().fit(form(dense), y), make().fit(dense, y)
    assert of_sparse.fingerprint() == of_dense.fingerprint()
    for model in (of_sparse, of_dense):
        np.testing.assert_array_equal(model.predict(form(dense)), of_dense.predict(dense))
        np.testing.assert_array_equal(model.apply(form(dense)), of_dense.apply(dense))


def test_sparse_predictions_in_several_batches_equal_dense():
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((40_000, 3)) < 0.7, 0, rng.normal(size=(40_000, 3)))
    model = regressor().fit(dense[:1000], dense[:1000, 0])
    np.testing.assert_array_equal(model.predict(sparse.csr_matrix(dense)), model.predict(dense))


def test_sparse_holes_are_missing_and_explicit_zeros_are_zero():
    dense = np.array([[0.0, 1.0], [np.nan, 0.0], [2.0, 0.0], [0.0, 3.0]] * 20)
    y = np.array([0.0, 5.0, 1.0, 0.0] * 20)
    matrix = sparse.csr_matrix(dense)
    matrix.data[matrix.data == 3.0] = 0.0  # kept as an entry
    dense[dense == 3.0] = 0.0
    of_sparse, of_dense = stump().fit(matrix, y), stump().fit(dense, y)
    assert of_sparse.fingerprint() == of_dense.fingerprint()
    np.testing.assert_array_equal(of_sparse.predict(matrix), of_dense.predict(dense))


def test_sparse_with_early_stopping_equals_dense():
    X, y = numbers()
    X[X < 0.5] = 0
    params = {"early_stopping": True, "n_estimators": 20}
    of_sparse = classifier(**params).fit(sparse.csc_matrix(X), y)
    assert of_sparse.fingerprint() == classifier(**params).fit(X, y).fingerprint()


# ------------------------------------------------------------------------------------------------- column names


def test_columns_are_matched_by_name_in_any_order():  # XGB#8357, #6158
    columns = odd_columns()
    frame, y = as_pandas(columns), odd_target(columns)
    model = regressor().fit(frame, y)
    shuffled = frame[["town", "count", "day", "flag", "size"]]
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(frame))
    held = regressor(early_stopping=True).fit(frame, y, X_val=shuffled, y_val=y)
    np.testing.assert_array_equal(held.predict(shuffled), held.predict(frame))


def test_lost_and_extra_columns_are_listed():  # LGB#2396
    columns = odd_columns()
    model = regressor().fit(as_pandas(columns), odd_target(columns))
    wrong = as_pandas(columns).rename(columns={"count": "counts"}).drop(columns="day")
    message = r"missing: 'day', 'count' \(did you mean 'counts'\?\)\nunexpected: 'counts'"
    for method in (model.predict, model.apply, lambda X: list(model.staged_predict(X))):
        with pytest.raises(ValueError, match=message):
            method(wrong)


def test_wrong_number_of_columns_is_refused():
    X, y = numbers()
    model = regressor().fit(X, y)
    for table in (X[:, :2], X[:, :2].tolist(), sparse.csr_matrix(X[:, :2])):
        with pytest.raises(ValueError, match="X has 2 features, but BoostedTreesRegressor is expecting 3 features"):
            model.predict(table)


ODD_NAMES = ['{"json": [1, 2]}', "with space", "näme ☃", "", "a,b:c[d]<e>", "__metadata__", "x\ty\n", "0"]


def test_any_name_of_a_column_is_kept(tmp_path):  # LGB#6202, #2478, #2165, XGB#534, #12508
    X = np.random.default_rng(0).normal(size=(100, len(ODD_NAMES)))
    frame = pd.DataFrame(X, columns=ODD_NAMES)
    model = classifier().fit(frame, X[:, 2] > 0)
    model.save(tmp_path / "odd names.arb")
    loaded = load(tmp_path / "odd names.arb")
    assert loaded.feature_names_in_.tolist() == ODD_NAMES == model.feature_names_in_.tolist()
    np.testing.assert_array_equal(loaded.predict(frame[ODD_NAMES[::-1]]), model.predict(frame))


# ----------------------------------------------------------------------------------------------------- tiny data


def test_two_rows_and_one_column():
    model = BoostedTreesRegressor().fit([[0.0], [1.0]], [10.0, 20.0])
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [10.0, 20.0], atol=0.01)
    labels = BoostedTreesClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    assert labels.predict([[-5.0], [5.0]]).tolist() == ["no", "yes"]
    assert labels.predict_proba([[5.0]])[0, 1] > 0.9


def test_one_row_predicts_its_target():
    assert BoostedTreesRegressor().fit([[3.0]], [7.0]).predict([[0.0]]).tolist() == [7.0]


@pytest.mark.parametrize("n_rows", [10, 30, 60, 150])
def test_small_data_is_learned_with_the_defaults(n_rows):  # LGB#5081, #5783, #5493, #380
    x = np.linspace(0, 1, n_rows)[:, None]
    assert BoostedTreesRegressor().fit(x, x[:, 0]).score(x, x[:, 0]) > 0.95
    assert BoostedTreesClassifier().fit(x, x[:, 0] > 0.5).score(x, x[:, 0] > 0.5) == 1.0


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize("table", [np.zeros((50, 3)), pd.DataFrame({"c": ["same"] * 50}), np.full((50, 1), np.inf)])
def test_constant_columns_give_the_mean(table, growth):  # LGB#1697, #1971
    y = np.arange(50.0)
    np.testing.assert_allclose(regressor(growth=growth).fit(table, y).predict(table), 24.5, rtol=1e-12)
    proba = classifier(growth=growth).fit(table, y < 10).predict_proba(table)
    np.testing.assert_allclose(proba, np.tile([0.8, 0.2], (50, 1)), rtol=1e-9)


@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
)
@pytest.mark.parametrize("constant", [0.1, 1e-30, 123456.789, 1e15])
def test_constant_target_is_predicted(loss, constant):
    X, _ = numbers()
    model = regressor(loss=loss).fit(X, np.full(len(X), constant))
    np.testing.assert_allclose(model.predict(X), constant, rtol=1e-9)
