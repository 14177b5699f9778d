"""leaf_model="linear" of boosted trees: laws, limits, files, constraints, and what it is good for."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from tests.reference.sklearn_checks import checks_of

import arboretum as arb
from arboretum import BaggingRegressor, BoostedTreesClassifier, BoostedTreesRegressor
from arboretum.model.model_file import ModelFileError

MODELS = {
    "squared_error": (BoostedTreesRegressor, {}),
    "poisson": (BoostedTreesRegressor, {"loss": "poisson"}),
    "gamma": (BoostedTreesRegressor, {"loss": "gamma"}),
    "binary": (BoostedTreesClassifier, {}),
    "multiclass": (BoostedTreesClassifier, {}),
}


def friedman(n_rows, seed=0, n_columns=6):
    """Friedman's first function (1991), without noise, and what it becomes for each kind of target."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, n_columns))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, f, rng


def problem(name, n_rows=400, seed=0):
    X, f, rng = friedman(n_rows, seed)
    if name == "squared_error":
        return X, f + rng.normal(size=n_rows)
    if name == "binary":
        return X, (f + rng.logistic(size=n_rows) / 2 > 14).astype(int)
    if name == "multiclass":
        return X, np.digitize(f + rng.normal(size=n_rows), [11, 17])
    if name == "gamma":
        return X, rng.gamma(20.0, np.exp(f / 10) / 20)
    return X, rng.poisson(np.exp(f / 10 + 3)).astype(float)


def model_for(name, **params):
    cls, fixed = MODELS[name]
    return cls(**{"n_estimators": 15, "leaf_model": "linear", **fixed, **params})


def raw_of(model, X):
    return model.predict_raw(X)


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(model_for("squared_error", n_estimators=10), model_for("binary", n_estimators=10, growth="symmetric")),
    ids=lambda case: getattr(getattr(case, "func", case), "__name__", None) or repr(case),
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


# ---- laws ------------------------------------------------------------------------------------------------------------


def test_one_model_for_any_number_of_threads_of_many_rows():
    X, y = problem("squared_error", n_rows=70_000)  # gradients in float32
    found = {
        model_for("squared_error", n_estimators=3, sampling="goss", early_stopping=True, n_jobs=jobs)
        .fit(X[:, :4], y)
        .fingerprint()
        for jobs in (1, 3)
    }
    assert len(found) == 1


def test_weights_are_repetitions():
    X, y = problem("squared_error", n_rows=150)
    weight = np.random.default_rng(1).integers(0, 4, 150)
    options = {"min_samples_leaf": 1, "min_child_weight": 7.5, "max_bins": None}
    weighted = model_for("squared_error", **options).fit(X, y, sample_weight=weight)
    repeated = model_for("squared_error", **options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_rounds_can_be_added(name):
    X, y = problem(name)
    whole = model_for(name, n_estimators=8, subsample=0.7).fit(X, y)
    parts = model_for(name, n_estimators=5, subsample=0.7, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=8).fit(X, y)
    assert whole.fingerprint() == parts.fingerprint()
    mixed = model_for(name, n_estimators=5).fit(X, y).set_params(leaf_model="constant").fit_more(X, y, n_estimators=2)
    sizes = np.diff(mixed.forest_.slope_start)
    last = mixed.forest_.tree_start[-1 - 2 * mixed.forest_.n_outputs]
    assert sizes[:last].any()
    assert not sizes[last:].any()


def test_a_file_cannot_give_a_category_a_slope(tmp_path):
    X, y = problem("squared_error")
    frame = pd.DataFrame(X[:, 2:]).assign(town=np.where(X[:, 0] > 0.5, "Oslo", "Rome")).rename(columns=str)
    model = model_for("squared_error", n_estimators=1, interaction_cst=[["0", "1", "2", "3"]]).fit(frame, y)
    assert not (model.forest_.feature == 4).any()
    model.forest_.slope_feature.flags.writeable = True
    model.forest_.slope_feature[0] = 4
    model.save(tmp_path / "m.arb")
    with pytest.raises(ModelFileError, match="a leaf has a slope for a column of categories"):
        arb.load(tmp_path / "m.arb")


def test_constant_leaves_have_no_slopes_and_the_fingerprint_that_they_had():
    X, y = problem("squared_error")
    plain = BoostedTreesRegressor(n_estimators=5).fit(X, y)
    assert not plain.forest_.has_slopes
    assert not [name for name in plain.forest_.to_arrays() if name.startswith("slope")]
    assert plain.fingerprint() == BoostedTreesRegressor(n_estimators=5, linear_l2=3.0).fit(X, y).fingerprint()


@pytest.mark.parametrize(
    "options", [{}, {"dart_rate": 0.4, "dart_skip": 0.0}, {"trees_per_round": 3, "subsample": 0.5}]
)
@pytest.mark.parametrize("name", ["squared_error", "multiclass"])
def test_losses_along_the_way_are_those_of_the_model(name, options):
    """Training and validation rows are followed by other code than predictions."""
    X, y = problem(name, n_rows=600)
    losses = []
    model = model_for(name, callbacks=[lambda report: losses.append(report.training_loss)], **options)
    model.set_params(early_stopping=False).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert model.forest_.has_slopes
    for part, followed in ((slice(0, 400), losses), (slice(400, 600), model.history_.validation_loss)):
        raw = raw_of(model, X[part])
        expected = model.loss_.value(y[part].astype(float), raw if raw.shape[1] > 1 else raw[:, 0], None)
        assert followed[-1] == pytest.approx(expected, rel=1e-9)


def test_stages_end_in_the_prediction():
    X, y = problem("multiclass")
    model = model_for("multiclass").fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 15
    np.testing.assert_allclose(stages[-1], model.predict_proba(X), rtol=1e-12)


def test_early_stopping_keeps_the_best_round():
    X, y = problem("squared_error", n_rows=300)
    model = model_for("squared_error", n_estimators=200, learning_rate=0.5, n_iter_no_change=5)
    model.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    assert model.n_iter_ == model.history_.best_round < 200
    reached = model.loss_.value(y[200:], raw_of(model, X[200:])[:, 0], None)
    assert reached == pytest.approx(min(model.history_.validation_loss), rel=1e-9)


# ---- odd input -------------------------------------------------------------------------------------------------------

ODD = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0, 2.5, -7.0, 1e-310, 1e17, -1e308, 1.7e308])


@given(
    st.lists(st.lists(ODD, min_size=3, max_size=3), min_size=6, max_size=40),
    st.sampled_from([0.0, 1e-9, 10.0]),
    st.sampled_from(["squared_error", "poisson", "binary"]),
    st.sampled_from(["leaf", "level", "symmetric"]),
)
@settings(max_examples=60)
def test_any_table_gives_finite_predictions(rows, linear_l2, name, growth):
    X = np.array(rows)
    y = np.arange(len(X)) % 2
    model = model_for(name, n_estimators=4, linear_l2=linear_l2, min_samples_leaf=2, growth=growth, missing="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        odd = np.array([[math.nan] * 3, [math.inf] * 3, [-math.inf] * 3, [1.7e308] * 3, [-1e-320] * 3])
        for table in (X, odd, X.astype(np.float64)[::-1]):
            assert np.isfinite(raw_of(model, table)).all()


def test_a_linear_leaf_never_extrapolates():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(500, 1))
    model = model_for("squared_error", n_estimators=50).fit(x, 3 * x[:, 0])
    low, high = x.min(), x.max()
    np.testing.assert_array_equal(model.predict([[low - 5], [-1e300], [-np.inf]]), model.predict([[low]] * 3))
    np.testing.assert_array_equal(model.predict([[high + 5], [1e300], [np.inf]]), model.predict([[high]] * 3))


def test_a_missing_value_counts_as_the_mean_of_its_leaf():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[::4, 1] = np.nan
    model = model_for("squared_error", n_estimators=1, max_leaf_nodes=4).fit(X, X[:, 0] + np.nan_to_num(X[:, 1]))
    forest = model.forest_
    probe = np.array([[0.3, np.nan]])
    (leaf,) = model.apply(probe)[0]
    terms = slice(forest.slope_start[leaf], forest.slope_start[leaf + 1])
    assert 1 in forest.slope_feature[terms]
    filled = forest.slope_centre[terms][forest.slope_feature[terms] == 1][0]
    same_leaf = model.apply([[0.3, filled]])[0, 0] == leaf
    expected = forest.base[0] + forest.value[leaf, 0]
    (at,) = np.flatnonzero(forest.slope_feature[terms] == 0)
    low, high, centre = (a[terms][at] for a in (forest.slope_low, forest.slope_high, forest.slope_centre))
    expected += forest.slope_weight[terms][at] * (np.clip(0.3, low, high) - centre)
    assert model.predict(probe)[0] == pytest.approx(expected, rel=1e-12)
    assert not same_leaf or model.predict([[0.3, filled]])[0] == pytest.approx(expected, rel=1e-12)


def test_categories_split_and_unknown_ones_average_the_lines():
    rng = np.random.default_rng(0)
    x, town = rng.normal(size=600), rng.choice(["Bern", "Oslo", "Rome"], 600)
    y = np.where(town == "Oslo", 3 + 2 * x, -x)
    frame = pd.DataFrame({"x": x, "town": town})
    options = {"n_estimators": 1, "learning_rate": 1.0, "max_leaf_nodes": 4, "l2": 0.0, "linear_l2": 0.0}
    model = model_for("squared_error", **options, max_features=1.0).fit(frame, y)
    assert model.score(frame, y) > 0.95
    points = np.linspace(-1, 1, 9)
    towns = {
        name: model.predict(pd.DataFrame({"x": points, "town": name})) for name in ["Bern", "Oslo", "Rome", "Bonn"]
    }
    assert (towns["Bonn"] > np.minimum(towns["Oslo"], towns["Bern"]) - 1e-9).all()
    assert (towns["Bonn"] < np.maximum(towns["Oslo"], towns["Bern"]) + 1e-9).all()
    assert np.ptp(towns["Bonn"]) > 0


def test_statistics_of_categories_get_slopes_and_are_followed_in_all_their_orders():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 60, 900)
    X, y = problem("squared_error", n_rows=900)
    frame = pd.DataFrame(X).assign(town=[f"town {code}" for code in codes]).rename(columns=str)
    y = y + codes / 5
    model = model_for("squared_error", n_estimators=8, category_levels=5).fit(
        frame[:600], y[:600], X_val=frame[600:], y_val=y[600:]
    )
    assert (model.forest_.slope_feature >= 6).any()
    reached = model.loss_.value(y[600:], raw_of(model, frame[600:])[:, 0], None)
    assert reached == pytest.approx(model.history_.validation_loss[-1], rel=1e-9)
    parts = model_for("squared_error", n_estimators=3, category_levels=5, warm_start=True).fit(frame, y)
    parts.set_params(n_estimators=8).fit(frame, y)
    assert (
        parts.fingerprint() == model_for("squared_error", n_estimators=8, category_levels=5).fit(frame, y).fingerprint()
    )


def test_sparse_rows_can_be_predicted():
    X, y = problem("squared_error")
    model = model_for("squared_error").fit(X, y)
    np.testing.assert_array_equal(model.predict(csr_matrix(X)), model.predict(X))


def test_members_of_a_bag_can_be_linear():
    X, y = problem("squared_error")
    bag = BaggingRegressor(estimator=model_for("squared_error"), n_estimators=3, max_features=0.7).fit(X, y)
    assert bag.score(X, y) > 0.5


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"leaf_model": "quadratic"}, "leaf_model='quadratic'"),
        ({"linear_l2": -1.0}, "linear_l2=-1.0"),
        (
            {"ordered_boosting": 1},
            "leaf_model='linear' with ordered_boosting=1: supporting models have constant leaves; use "
            "ordered_boosting=0 or leaf_model='constant'",
        ),
        (
            {"loss": "absolute_error"},
            "leaf_model='linear' needs a loss with Newton steps, but 'absolute_error' computes leaf values itself: "
            "use another loss, such as 'squared_error', or leaf_model='constant'",
        ),
        ({"loss": "quantile"}, "leaf_model='linear' needs a loss with Newton steps, but 'quantile'"),
        ({"loss": "huber"}, "leaf_model='linear' needs a loss with Newton steps, but 'huber'"),
    ],
)
def test_what_is_refused(params, message):
    X, y = problem("squared_error", n_rows=50)
    with pytest.raises(ValueError, match=re.escape(message)):
        model_for("squared_error", **params).fit(X, y)


def test_sparse_rows_are_refused_at_fit():
    X, y = problem("squared_error", n_rows=50)
    message = "leaf_model='linear' reads the numbers of each row, but X is sparse: give X.toarray(), or use"
    with pytest.raises(ValueError, match=re.escape(message)):
        model_for("squared_error").fit(csr_matrix(X), y)
    with pytest.raises(ValueError, match=r"but X_val is sparse: give X_val\.toarray"):
        model_for("squared_error").fit(X, y, X_val=csr_matrix(X), y_val=y)


# ---- constraints -----------------------------------------------------------------------------------------------------


@given(
    st.integers(0, 10**6),
    st.sampled_from(["squared_error", "poisson", "gamma", "binary"]),
    st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4).filter(any),
    st.fixed_dictionaries(
        {
            "growth": st.sampled_from(["leaf", "level", "symmetric"]),
            "linear_l2": st.sampled_from([0.0, 0.1, 10.0]),
            "subsample": st.sampled_from([0.6, 1.0]),
            "max_delta_step": st.sampled_from([0.0, 0.3]),
            "dart_rate": st.sampled_from([0.0, 0.3]),
            "min_samples_leaf": st.sampled_from([3, 20]),
            "learning_rate": st.sampled_from([0.1, 1.0]),
            "second_order": st.booleans(),
            "leaf_steps": st.sampled_from([1, 1, 5]),
        }
    ),
)
@settings(max_examples=80)
def test_monotone_constraints_hold_everywhere(seed, name, directions, options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(250, 4)) * [1, 100, 1, 1] + [0, 1e6, 0, 0]
    y = np.sin(2 * X[:, 0]) + (X[:, 1] - 1e6) / 50 * X[:, 2] + rng.normal(size=250)
    y = (y > 0).astype(int) if name == "binary" else np.abs(y) + 0.1 if name != "squared_error" else y
    X[rng.random(X.shape) < 0.05] = np.nan
    model = model_for(name, n_estimators=8, monotonic_cst=directions, **options).fit(X, y)
    for column, direction in enumerate(directions):
        if direction == 0:
            continue
        seen = X[np.isfinite(X[:, column]), column]
        spread = np.ptp(seen)
        grid = np.sort(
            np.concatenate([np.linspace(seen.min() - spread, seen.max() + spread, 301), seen, [-np.inf, np.inf]])
        )
        for row in X[:12]:
            table = np.repeat(row[None], len(grid), axis=0)
            table[:, column] = grid
            assert (np.diff(raw_of(model, table)[:, 0]) * direction >= 0).all()


def test_constraints_leave_slopes():
    X, y = problem("squared_error", n_rows=1000)
    model = model_for("squared_error", monotonic_cst=[0, 0, 0, 1, 1, 0]).fit(X, y)
    constrained = np.isin(model.forest_.slope_feature, [3, 4])
    assert constrained.sum() > 50
    assert (model.forest_.slope_weight[constrained] > 0).all()


# ---- what it is good for ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_smooth_functions_are_found_in_fewer_rounds(name):
    X, y = problem(name, n_rows=4000)
    train, test = slice(0, 2000), slice(2000, 4000)
    losses = []
    for leaf_model in ("constant", "linear"):
        model = model_for(name, n_estimators=30, leaf_model=leaf_model, race=False).fit(X[train], y[train])
        raw = raw_of(model, X[test])
        losses.append(model.loss_.value(y[test].astype(float), raw if raw.shape[1] > 1 else raw[:, 0], None))
    assert losses[1] < losses[0] - 0.001


def test_text_writes_the_line():
    x = np.linspace(0, 4, 400)
    frame = pd.DataFrame({"size": x, "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(x, unit="D")})
    options = {"n_estimators": 1, "learning_rate": 1.0, "max_leaf_nodes": 2, "l2": 0.0, "linear_l2": 0.0}
    model = model_for("squared_error", **options).fit(frame[["size"]], 1 - 3 * x)
    lines = model.to_text(0, digits=3).splitlines()
    assert re.fullmatch(r"├── size <= 2 → 3\.01 − 3·\(size − 0\.997\)  \(200 rows\)", lines[1]), lines[1]
    assert re.fullmatch(r"└── size > 2 → -3\.01 − 3·\(size − 3\)  \(200 rows\)", lines[2]), lines[2]
    below = model_for("squared_error", **options).fit(frame[["size"]] - 5, 1 - 3 * x).to_text(0, digits=3)
    assert "·(size + 4" in below
    dates = model_for("squared_error", **options).fit(frame[["day"]], 1 - 3 * x).to_text(0, digits=3)
    assert "·(day − 2024-01-0" in dates
