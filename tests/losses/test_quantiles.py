"""Several quantiles in one model: they never cross, never cost, and grow as models of one level do."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import d2_pinball_score, mean_pinball_loss

import arboretum as arb
from arboretum.losses import Huber, Quantile, Quantiles, resolve

PLAIN = {"l2": 0.0, "subsample": 1.0, "max_features": 1.0, "category_levels": None, "early_stopping": False}
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
RNG = np.random.default_rng(0)
N = 600
X = RNG.uniform(-2, 2, (N, 3))
Y = X[:, 0] + (0.1 + np.abs(X[:, 1])) * RNG.normal(size=N)
WEIGHT = RNG.integers(0, 4, N).astype(float)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town=np.where(X[:, 2] > 1, "Oslo", "Rome"))
FRAME.loc[::7, "a"] = np.nan


def regressor(levels=LEVELS, **params):
    return arb.BoostedTreesRegressor(
        **{"loss": "quantile", "quantile": levels, "n_estimators": 15, "learning_rate": 0.2, **PLAIN, **params}
    )


# ---- the loss ----------------------------------------------------------------------------------------------------


@given(
    arrays(np.float64, (4, 5), elements=st.floats(-1e9, 1e9)),
    arrays(np.float64, 4, elements=st.floats(-1e9, 1e9)),
)
def test_rising_order_never_costs_any_row(raw, y):
    loss = Quantiles(LEVELS)
    ordered = loss.predict(raw)
    assert (np.diff(ordered, axis=1) >= 0).all()
    before, after = loss.values(y, raw), loss.values(y, ordered)
    assert (after <= before + 1e-12 * (np.abs(raw).max() + np.abs(y))).all()


def test_exchange_of_a_crossing_pair_gains_what_the_docstring_says():
    loss, y = Quantiles((0.2, 0.7)), np.array([-3.0, 0.5, 8.0])
    crossed = np.tile([4.0, 1.0], (3, 1))
    gained = loss.values(y, crossed) - loss.values(y, loss.predict(crossed))
    np.testing.assert_allclose(gained, (0.7 - 0.2) * (4.0 - 1.0))


def test_parts_are_the_losses_of_the_levels():
    raw = RNG.normal(size=(N, 5))
    loss = Quantiles(LEVELS)
    assert loss.parts == tuple(Quantile(level) for level in LEVELS)
    expected = sum(mean_pinball_loss(Y, raw[:, k], alpha=level, sample_weight=WEIGHT) for k, level in enumerate(LEVELS))
    assert loss.value(Y, raw, WEIGHT) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([0.5], r"quantile=\[0.5\]: give at least two levels, or one as a number"),
        ([], r"quantile=\[\]: give at least two levels"),
        ([0.0, 0.5], r"quantile=0.0 must lie strictly between 0 and 1"),
        ([0.5, 1.0], r"quantile=1.0 must lie strictly between 0 and 1"),
        ([0.5, np.nan], r"quantile=nan must lie strictly between 0 and 1"),
        ([0.9, 0.1], r"quantile=\[0.9, 0.1\]: 0.1 follows 0.9, but levels must rise: use \[0.1, 0.9\]"),
        ([0.1, 0.5, 0.5], r"0.5 follows 0.5, but levels must rise: use \[0.1, 0.5\]"),
    ],
)
def test_refused_levels(levels, message):
    with pytest.raises(ValueError, match=message):
        regressor(levels).fit(X, Y)


def test_levels_are_numbers_of_the_quantile_loss():
    with pytest.raises(TypeError, match="quantile='half': use a number strictly between 0 and 1"):
        regressor([0.1, "half"]).fit(X, Y)
    with pytest.raises(TypeError, match=r"quantile=\[0.1, 0.9\]: use a number strictly"):
        regressor([0.1, 0.9], loss="huber").fit(X, Y)
    with pytest.raises(ValueError, match="loss='squared_error' has no parameter 'quantile'"):
        regressor([0.1, 0.9], loss="squared_error").fit(X, Y)
    assert resolve("huber", quantile=0.4) == Huber(0.4)


# ---- the model ---------------------------------------------------------------------------------------------------


@given(arrays(np.float64, (3, 3), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_no_input_makes_them_cross(rows):
    with np.errstate(invalid="ignore"):
        predicted = MODEL.predict(rows)
    assert predicted.shape == (3, 5)
    assert (np.diff(predicted, axis=1) >= 0).all()


MODEL = regressor(n_estimators=40, learning_rate=0.5, missing="warn").fit(
    np.where(RNG.random(X.shape) < 0.1, np.nan, X), Y
)


def test_raw_predictions_do_cross_so_that_the_law_has_something_to_do():
    assert (np.diff(MODEL.predict_raw(X), axis=1) < 0).any()


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_each_level_grows_as_a_model_of_its_own(weight):
    raw = regressor().fit(FRAME, Y, weight).predict_raw(FRAME)
    for column, level in enumerate(LEVELS):
        alone = regressor(level).fit(FRAME, Y, weight).predict(FRAME)
        np.testing.assert_array_equal(raw[:, column], alone)


def test_coverage_follows_the_levels():
    new = RNG.uniform(-2, 2, (4000, 3))
    target = new[:, 0] + (0.1 + np.abs(new[:, 1])) * RNG.normal(size=4000)
    predicted = regressor(n_estimators=60, learning_rate=0.1, max_leaf_nodes=8).fit(X, Y).predict(new)
    np.testing.assert_allclose((target[:, None] <= predicted).mean(axis=0), LEVELS, atol=0.06)


def test_score_is_the_gain_over_the_quantiles_of_y():
    model = regressor((0.1, 0.9)).fit(X, Y)
    predicted = model.predict(X)
    constant = np.quantile(Y, [0.1, 0.9], method="inverted_cdf")
    losses = [
        sum(mean_pinball_loss(Y, column, alpha=level) for column, level in zip(columns, (0.1, 0.9), strict=True))
        for columns in (predicted.T, [np.full(N, value) for value in constant])
    ]
    assert model.score(X, Y) == pytest.approx(1 - losses[0] / losses[1])
    near = [d2_pinball_score(Y, predicted[:, k], alpha=level) for k, level in enumerate((0.1, 0.9))]
    assert min(near) - 0.01 < model.score(X, Y) < max(near) + 0.01
    assert regressor((0.1, 0.9)).fit(X, np.ones(N)).score(X, np.ones(N)) == 1.0
    assert model.score(X, np.ones(N)) == 0.0


def test_early_stopping_warm_start_stages_and_files(tmp_path):
    stopped = regressor(n_estimators=300, learning_rate=0.3, early_stopping=True).fit(FRAME, Y)
    assert stopped.n_iter_ < 300
    assert stopped.n_iter_ == stopped.history_.best_round
    once = regressor(n_estimators=12).fit(FRAME, Y)
    twice = regressor(n_estimators=5, warm_start=True).fit(FRAME, Y).set_params(n_estimators=12).fit(FRAME, Y)
    assert once.fingerprint() == twice.fingerprint()
    assert once.fingerprint() == regressor(n_estimators=12, n_jobs=1).fit(FRAME, Y).fingerprint()
    *_, last = once.staged_predict(FRAME)
    np.testing.assert_allclose(last, once.predict(FRAME))
    once.save(tmp_path / "model.arb")
    for again in (arb.load(tmp_path / "model.arb"), pickle.loads(pickle.dumps(once))):
        assert again.fingerprint() == once.fingerprint()
        np.testing.assert_array_equal(again.predict(FRAME), once.predict(FRAME))
        assert again.get_params()["quantile"] in (LEVELS, list(LEVELS))
    with pytest.raises(ValueError, match="rounds of another loss cannot be added"):
        once.set_params(quantile=(0.1, 0.9), warm_start=True, n_estimators=20).fit(FRAME, Y)


@pytest.mark.parametrize(
    "params",
    [
        {"trees_per_round": 2, "subsample": 0.5},
        {"dart_rate": 0.3},
        {"growth": "symmetric"},
        {"sampling": "goss", "top_rate": 0.2, "other_rate": 0.2},
        {"leaf_steps": 3},
        {"second_order": False},
        {"category_levels": 0},
        {"ordered_boosting": 2},
    ],
    ids=lambda params: next(iter(params)),
)
def test_ways_of_boosting(params):
    model = regressor((0.2, 0.8), **params).fit(FRAME, Y)
    low, high = model.predict(FRAME).T
    assert 0.45 < ((low <= Y) & (high >= Y)).mean() < 0.9
    assert model.score(FRAME, Y) > 0.2


def test_monotone_quantiles_stay_monotone():
    model = regressor(monotonic_cst=[1, 0, 0], n_estimators=40).fit(X, Y)
    line = np.column_stack([np.linspace(-2, 2, 101), np.full((101, 2), 0.3)])
    assert (np.diff(model.predict(line), axis=0) >= 0).all()


def test_bagged_quantiles_do_not_cross():
    bagged = arb.BaggingRegressor(estimator=regressor((0.1, 0.9)), n_estimators=3).fit(FRAME, Y)
    predicted = bagged.predict(FRAME)
    assert predicted.shape == (N, 2)
    assert (np.diff(predicted, axis=1) >= 0).all()
