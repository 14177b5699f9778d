"""Quantiles are moved to where rows held out say: training rows lie too close to them."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import arboretum as arb

RNG = np.random.default_rng(2)
N = 1500
X = RNG.uniform(-2, 2, (3 * N, 4)).round(2)
Y = X[:, 0] + (0.2 + np.abs(X[:, 1])) * RNG.normal(size=3 * N)
WEIGHT = RNG.integers(1, 4, N).astype(float)
OLD, NEW = slice(N), slice(N, None)
LEVELS = [0.1, 0.5, 0.9]
QUICK = {"loss": "quantile", "quantile": LEVELS, "n_estimators": 60, "n_iter_no_change": 10}


def lower_quantiles(residuals, weight):
    order = np.argsort(residuals, axis=0, kind="stable")
    shares = np.cumsum(weight[order], axis=0) / weight.sum()
    place = [np.searchsorted(share, level - 1e-12) for share, level in zip(shares.T, LEVELS, strict=True)]
    return np.take_along_axis(residuals, np.take_along_axis(order, np.array([place]), axis=0), axis=0)[0]


@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_constant_is_that_of_models_of_the_folds(is_weighted):
    weight = WEIGHT if is_weighted else np.ones(N)
    model = arb.BoostedTreesRegressor(**QUICK).fit(X[OLD], Y[OLD], weight)
    again = arb.BoostedTreesRegressor(**{**QUICK, **model.chosen_params_}).fit(X[OLD], Y[OLD], weight)
    np.testing.assert_array_equal(again.forest_.value, model.forest_.value)
    recipe = model.recipe()
    problem, _ = recipe.read(X[OLD], Y[OLD], weight)
    pace = model.history_.stride
    rounds = {"n_estimators": model.n_iter_ // pace, "learning_rate": pace * model.learning_rate_}
    residuals, of_rows = [], []
    for rest, held in recipe.race_folds(problem):
        part = arb.BoostedTreesRegressor(**{**QUICK, **model.chosen_params_, **rounds})
        part.fit(X[OLD][rest], Y[OLD][rest], weight[rest])
        residuals.append(Y[OLD][held][:, None] - part.predict_raw(X[OLD][held]))
        of_rows.append(weight[held])
    shift = lower_quantiles(np.concatenate(residuals), np.concatenate(of_rows))
    np.testing.assert_allclose(model.forest_.base - again.forest_.base, shift, rtol=1e-9, atol=1e-9)
    assert shift[0] < 0 < shift[-1]


@pytest.mark.parametrize("params", [{}, {"race": False}, {"refit": False, "race": False}, {"quantile": 0.9}])
def test_new_rows_lie_between_quantiles_as_often_as_wanted(params):
    loose = {**QUICK, "max_features": 1.0, "learning_rate": 0.3, "min_samples_leaf": 5, **params}
    model = arb.BoostedTreesRegressor(**loose).fit(X[OLD], Y[OLD])
    fixed = {**loose, **model.chosen_params_}
    again = arb.BoostedTreesRegressor(**fixed).fit(X[OLD], Y[OLD])

    def below(model):
        predicted = model.predict(X[NEW]).reshape(2 * N, -1)
        return np.mean(Y[NEW] <= predicted[:, -1])

    assert abs(below(model) - 0.9) < 0.025
    assert below(again) < below(model) - 0.01


def test_rows_given_for_validation_move_nothing():
    model = arb.BoostedTreesRegressor(**QUICK).fit(X[OLD], Y[OLD], X_val=X[NEW], y_val=Y[NEW])
    start = [np.quantile(Y[OLD], level, method="inverted_cdf") for level in LEVELS]
    np.testing.assert_array_equal(model.forest_.base, start)


def test_offsets_of_rows_held_out_count():
    offset = 5 * np.abs(X[OLD, 1])
    params = {**QUICK, "race": False, "max_features": 1.0}
    plain = arb.BoostedTreesRegressor(**params).fit(X[OLD], Y[OLD])
    beside = arb.BoostedTreesRegressor(**params).fit(X[OLD], Y[OLD] + 7.0, offset=np.full((N, 3), 7.0))
    np.testing.assert_allclose(beside.predict(X[NEW], offset=0), plain.predict(X[NEW]), atol=1e-6)
    moved = arb.BoostedTreesRegressor(**params).fit(X[OLD], Y[OLD] + offset, offset=np.column_stack([offset] * 3))
    inside = Y[NEW] <= moved.predict(X[NEW], offset=0)[:, -1]
    assert abs(inside.mean() - 0.9) < 0.03


@pytest.mark.parametrize("race", [True, False])
def test_neither_threads_nor_the_order_of_rows_nor_a_stop_change_the_model(tmp_path, race):
    class DiedError(Exception):
        pass

    def dying(report):
        if report.number == 15:
            raise DiedError

    params = {**QUICK, "race": race}
    whole = arb.BoostedTreesRegressor(**params, n_jobs=1).fit(X[OLD], Y[OLD])
    assert arb.BoostedTreesRegressor(**params, n_jobs=3).fit(X[OLD], Y[OLD]).fingerprint() == whole.fingerprint()
    for rounds in (4, 7):
        kept = arb.Checkpoint(tmp_path / f"{rounds}.arb", rounds=rounds)
        with suppress(DiedError):
            arb.BoostedTreesRegressor(**params, callbacks=[dying]).fit(X[OLD], Y[OLD], checkpoint=kept)
        resumed = arb.BoostedTreesRegressor(**params).fit(X[OLD], Y[OLD], checkpoint=kept)
        assert resumed.fingerprint() == whole.fingerprint()
    whole.save(tmp_path / "model.arb")
    assert arb.load(tmp_path / "model.arb").fingerprint() == whole.fingerprint()


def test_leaves_of_quantiles_have_more_rows():
    few = arb.BoostedTreesRegressor(**{**QUICK, "n_estimators": 5}).fit(X[:150], Y[:150])
    many = arb.BoostedTreesRegressor(**{**QUICK, "n_estimators": 5, "early_stopping": False}).fit(X[OLD], Y[OLD])
    median = arb.BoostedTreesRegressor(loss="absolute_error", n_estimators=5).fit(X[OLD], Y[OLD])
    least = [model.forest_.n_rows[model.forest_.left < 0].min() for model in (few, many, median)]
    assert 10 <= least[0] < 20 <= least[1]
    assert least[2] < 20
