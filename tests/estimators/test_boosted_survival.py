"""Boosted trees of censored times: risks, hazards, options of boosting, files, the same bits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from tests.reference import survival as slow
from tests.reference.files import content, loaded

import arboretum as arb
from arboretum import BoostedTreesSurvival
from arboretum.losses import AcceleratedFailure, Cox, Loss

ROUNDS = {
    "n_estimators": 15,
    "learning_rate": 0.1,
    "min_samples_leaf": 20,
    "l2": 0.0,
    "subsample": 1.0,
    "max_features": 1.0,
    "category_levels": None,
    "early_stopping": False,
    "refit": False,
}
LOSSES = {
    "cox": {"loss": "cox"},
    "normal": {"loss": "aft", "aft_distribution": "normal", "aft_scale": 0.8},
    "logistic": {"loss": "aft", "aft_distribution": "logistic", "aft_scale": None},
    "extreme": {"loss": "aft", "aft_distribution": "extreme"},
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def problem(seed=0, n=400):
    """Return a table with numbers, holes and categories, and Weibull times of which a third is censored."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    X["town"] = pd.Categorical(rng.choice(["Oslo", "Rome", "Köln"], n))
    risk = X["a"] + (X["town"] == "Rome")
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    time, censored = 10 * rng.exponential(size=n) / np.exp(risk), 15 * rng.exponential(size=n)
    y = np.column_stack([np.minimum(time, censored), time <= censored])
    return X, y, rng


X, Y, RNG = problem()
X_NEW, Y_NEW, _ = problem(1)


@every_loss
def test_risk_is_higher_for_earlier_events(loss):
    model = BoostedTreesSurvival(**ROUNDS, **loss).fit(X, Y)
    assert model.score(X_NEW, Y_NEW) > 0.68
    assert model.score(X_NEW, Y_NEW) == arb.metrics.concordance_index(Y_NEW, model.predict(X_NEW))
    *_, last = model.staged_predict(X_NEW)
    np.testing.assert_allclose(last, model.predict(X_NEW), rtol=1e-12)


@every_loss
def test_training_lowers_the_loss(loss):
    reports = []
    BoostedTreesSurvival(**ROUNDS, **loss, callbacks=[reports.append]).fit(X, Y)
    falling = [report.training_loss for report in reports]
    assert (np.diff(falling) < 0).all()


# ---- hazards and survival functions ----------------------------------------------------------------------------------


def test_cox_hazards_are_those_of_breslow():
    model = BoostedTreesSurvival(**ROUNDS).fit(X, Y)
    times, baseline = slow.breslow(Y[:, 0], Y[:, 1] == 1, model.predict(X))
    np.testing.assert_array_equal(model.event_times_, times)
    hazard = model.predict_cumulative_hazard(X_NEW)
    np.testing.assert_allclose(hazard, baseline * np.exp(model.predict(X_NEW))[:, None], rtol=1e-9)
    asked = [0.0, times[0], (times[3] + times[4]) / 2, times[-1] + 100]
    found = model.predict_cumulative_hazard(X_NEW, asked)
    np.testing.assert_array_equal(found, np.column_stack([np.zeros(len(X_NEW)), hazard[:, [0, 3, -1]]]))
    np.testing.assert_array_equal(model.predict_survival_function(X_NEW), np.exp(-hazard))


def test_predicted_survival_is_calibrated():
    for loss in ({"loss": "cox"}, LOSSES["extreme"]):
        model = BoostedTreesSurvival(**ROUNDS, **loss, max_depth=2).fit(X, Y)
        times = np.quantile(Y_NEW[:, 0], [0.1, 0.3, 0.5])
        score = arb.metrics.integrated_brier_score(Y_NEW, model.predict_survival_function(X_NEW, times), times)
        blind = arb.metrics.integrated_brier_score(Y_NEW, np.tile([[0.9, 0.65, 0.4]], (len(X_NEW), 1)), times)
        assert score < blind


@pytest.mark.parametrize("distribution", ["normal", "logistic", "extreme"])
def test_aft_survival_functions_are_those_of_the_distribution(distribution):
    model = BoostedTreesSurvival(**ROUNDS, loss="aft", aft_distribution=distribution, aft_scale=0.5).fit(X, Y)
    time = np.exp(-model.predict(X_NEW))
    survival = model.predict_survival_function(X_NEW.head(1), [0.0, time[0], 1e12])[0]
    at_scale = 0.5 if distribution != "extreme" else np.exp(-1)
    np.testing.assert_allclose(survival, [1.0, at_scale, 0.0], atol=1e-12)


# ---- the scale of times ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distribution", ["normal", "logistic", "extreme"])
@pytest.mark.parametrize("options", [{}, {"early_stopping": True, "n_estimators": 100}, {"average_rounds": 4}], ids=str)
def test_the_scale_is_learnt_from_the_rows(distribution, options, tmp_path):
    model = BoostedTreesSurvival(**{**ROUNDS, "loss": "aft", "aft_distribution": distribution, **options}).fit(X, Y)
    bounds = np.column_stack([Y[:, 0], np.where(Y[:, 1] == 1, Y[:, 0], np.inf)])
    likeliest = AcceleratedFailure(distribution, learns_scale=True).fitted(bounds, -model.predict(X), None)
    if "early_stopping" in options:  # the scale is that of the rows that were not held out
        assert model.loss_.scale == pytest.approx(likeliest.scale, rel=0.1)
    else:
        assert model.loss_.scale == pytest.approx(likeliest.scale, rel=1e-9)
    model.save(tmp_path / "m.arb")
    again = arb.load(tmp_path / "m.arb")
    assert again.loss_ == model.loss_
    np.testing.assert_array_equal(
        again.predict_survival_function(X_NEW, [5.0]), model.predict_survival_function(X_NEW, [5.0])
    )


def test_continuing_is_never_having_stopped():
    learning = {**ROUNDS, "loss": "aft"}
    whole = BoostedTreesSurvival(**learning).fit(X, Y)
    part = BoostedTreesSurvival(**{**learning, "n_estimators": 6}).fit(X, Y)
    part.fit_more(X, Y, n_estimators=9)
    np.testing.assert_allclose(part.predict(X), whole.predict(X), rtol=1e-9)
    assert part.loss_.scale == pytest.approx(whole.loss_.scale, rel=1e-9)
    fixed = BoostedTreesSurvival(**learning, aft_scale=whole.loss_.scale).fit(X, Y)
    with pytest.raises(ValueError, match="rounds of another loss cannot be added to it"):
        fixed.set_params(aft_scale="auto").fit_more(X, Y, n_estimators=1)


def test_a_model_of_a_file_without_a_learnt_scale_goes_on_with_its_own():
    header, arrays = content(BoostedTreesSurvival(**ROUNDS, loss="aft", aft_scale=None).fit(X, Y))
    assert header["loss"] == {"name": "aft", "distribution": "normal", "scale": 1.0}
    assert header["params"]["aft_scale"] is None
    model = loaded(header, arrays).fit_more(X, Y, n_estimators=2)
    assert model.loss_ == AcceleratedFailure("normal", 1.0)


def test_weights_are_repetitions_of_a_learnt_scale():
    weight = np.random.default_rng(4).integers(0, 4, len(Y)).astype(float)
    rows = np.repeat(np.arange(len(Y)), weight.astype(int))
    learning = {**ROUNDS, "loss": "aft", "min_samples_leaf": 1, "min_child_weight": 20.0, "category_levels": 10}
    weighted = BoostedTreesSurvival(**learning).fit(X, Y, sample_weight=weight)
    repeated = BoostedTreesSurvival(**learning).fit(X.iloc[rows], Y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    assert weighted.loss_.scale == pytest.approx(repeated.loss_.scale, rel=1e-6)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("distribution", ["normal", "logistic", "extreme"])
def test_times_are_where_survival_has_fallen_by_the_level(distribution, level):
    model = BoostedTreesSurvival(**ROUNDS, loss="aft", aft_distribution=distribution).fit(X, Y)
    times = model.predict_time(X_NEW, level)
    own = [model.predict_survival_function(X_NEW[row : row + 1], [times[row]])[0, 0] for row in range(20)]
    np.testing.assert_allclose(own, 1 - level, rtol=1e-9)
    if level == 0.5:
        np.testing.assert_array_equal(model.predict_time(X_NEW), times)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
def test_times_of_cox_are_the_steps_of_its_curves(level):
    model = BoostedTreesSurvival(**ROUNDS).fit(X, Y)
    expected = slow.first_times(model.predict_survival_function(X_NEW), model.event_times_, level)
    np.testing.assert_array_equal(model.predict_time(X_NEW, quantile=level), expected)
    assert np.isinf(expected).any() == (level == 0.9)


def test_times_without_a_curve_are_refused():
    model = BoostedTreesSurvival(**ROUNDS).fit(X, Y)
    with pytest.raises(ValueError, match="the baseline hazard belongs to all rounds of a fit"):
        model.first_rounds(3).predict_time(X)
    for level in (0, 1, 1.5, -0.1, "half", True, None, np.nan):
        with pytest.raises(ValueError, match=r"quantile=.*: give a probability above 0 and below 1; 0.5 is the median"):
            model.predict_time(X, level)


# ---- censoring of all kinds ------------------------------------------------------------------------------------------


def test_intervals_tell_as_much_as_they_hold():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, 1000)
    log_time = x + 0.3 * rng.normal(size=1000)
    time = np.exp(log_time)
    y = pd.DataFrame({"lower": np.exp(np.floor(log_time)), "upper": np.exp(np.floor(log_time) + 1)})
    y.loc[time > 3, "upper"] = np.inf  # right-censored
    y.loc[time > 3, "lower"] = 3.0
    y.loc[time < 0.3, "lower"] = 0.0  # left-censored
    y.loc[time < 0.3, "upper"] = 0.3
    model = BoostedTreesSurvival(**{**ROUNDS, "n_estimators": 60}, loss="aft", aft_scale=0.3)
    predicted = np.log(model.fit(x[:, None], y).predict_time(x[:, None]))
    middle = (x > -1) & (x < 1)
    assert np.sqrt(np.mean((predicted - x)[middle] ** 2)) < 0.25
    assert np.median(predicted[x > 1.5]) > np.log(3)
    assert np.median(predicted[x < -1.5]) < np.log(0.3)
    with pytest.raises(ValueError, match=r"lies between .* loss='cox' takes only events and right-censored rows"):
        BoostedTreesSurvival().fit(x[:, None], y)


def test_right_censored_rows_are_bounds_without_end():
    bounds = pd.DataFrame({"lower": Y[:, 0], "upper": np.where(Y[:, 1] == 1, Y[:, 0], np.inf)})
    for loss in LOSSES.values():
        by_event, by_bound = (BoostedTreesSurvival(**ROUNDS, **loss).fit(X, y) for y in (Y, bounds))
        assert by_event.fingerprint() == by_bound.fingerprint()


# ---- options of boosting ---------------------------------------------------------------------------------------------


@every_loss
def test_early_stopping_keeps_the_best_round(loss):
    options = {**ROUNDS, **loss, "n_estimators": 300, "learning_rate": 0.3, "early_stopping": True}
    model = BoostedTreesSurvival(**options).fit(X, Y)
    assert model.history_.stopped_by == "early stopping"
    assert model.n_iter_ == model.history_.best_round < 300
    given = BoostedTreesSurvival(**options).fit(X, Y, X_val=X_NEW, y_val=Y_NEW)
    raw = -given.predict(X_NEW) if loss["loss"] == "aft" else given.predict(X_NEW)
    bounds = np.column_stack([Y_NEW[:, 0], np.where(Y_NEW[:, 1] == 1, Y_NEW[:, 0], np.inf)])
    expected = given.loss_.value(bounds, raw)
    assert min(given.history_.validation_loss) == pytest.approx(expected, rel=1e-9)


@every_loss
def test_rounds_of_few_events_are_sought_on_folds(loss):
    small = {"n_estimators": 60, "min_samples_leaf": 1, "l2": 0.0, "learning_rate": 0.3}
    model = BoostedTreesSurvival(**small, **loss).fit(X, Y)
    assert model.history_.stopped_by == "early stopping"
    assert model.n_iter_ == model.history_.best_round < 60
    order = RNG.permutation(len(Y))
    assert BoostedTreesSurvival(**small, **loss).fit(X.iloc[order], Y[order]).n_iter_ == model.n_iter_
    weight = np.arange(len(Y)) % 3
    rows = np.repeat(np.arange(len(Y)), weight)
    weighted = BoostedTreesSurvival(**small, **loss).fit(X, Y, sample_weight=weight)
    assert BoostedTreesSurvival(**small, **loss).fit(X.iloc[rows], Y[rows]).n_iter_ == weighted.n_iter_
    for whole in ({"refit": False}, {"warm_start": True}, {"early_stopping": False}):
        assert BoostedTreesSurvival(**small, **loss, **whole).fit(X, Y).n_iter_ == 60
    few = np.column_stack([Y[:, 0], np.arange(len(Y)) < 19])
    assert BoostedTreesSurvival(**small, **loss).fit(X, few).n_iter_ == 60
    groups = np.arange(len(Y)) // 4
    assert BoostedTreesSurvival(**small, **loss).fit(X, Y, groups=groups).n_iter_ == 60


def test_held_out_rows_have_their_share_of_events():
    rare = np.column_stack([Y[:, 0], np.arange(len(Y)) % 40 == 0])  # ten events
    options = {**ROUNDS, "n_estimators": 3, "early_stopping": True}
    model = BoostedTreesSurvival(**options).fit(X, rare)
    assert all(value > 0 for value in model.history_.validation_loss)  # 0 without any event


@every_loss
@pytest.mark.parametrize(
    "options",
    [
        {"subsample": 0.5},
        {"sampling": "stratified", "subsample": 0.5},
        {"sampling": "goss"},
        {"sampling": "mvs", "subsample": 0.5},
        {"growth": "symmetric", "max_depth": 3},
        {"leaf_steps": 3},
        {"second_order": False},
        {"second_order": False, "leaf_steps": 0},
        {"ordered_boosting": 2},
        {"dart_rate": 0.2},
        {"trees_per_round": 2, "subsample": 0.5},
        {"category_levels": 1},
        {"learning_rate": "auto"},
        {"monotonic_cst": {"a": 1}},
        {"refit": True, "early_stopping": True},
    ],
    ids=repr,
)
def test_options_of_boosting_go_with_every_loss(loss, options):
    model = BoostedTreesSurvival(**{**ROUNDS, **loss, **options}).fit(X, Y)
    assert model.score(X_NEW, Y_NEW) > 0.6
    assert np.isfinite(model.predict_cumulative_hazard(X_NEW, [1.0, 10.0])).all()


@every_loss
def test_monotone_risks_never_fall(loss):
    model = BoostedTreesSurvival(**ROUNDS, **loss, monotonic_cst=[1]).fit(X[["b"]].fillna(0.0), Y)
    risk = model.predict(pd.DataFrame({"b": np.linspace(-3, 3, 200)}))
    assert (np.diff(risk) >= 0).all()
    assert risk[0] < risk[-1]


def test_linear_leaves():
    numbers = X[["a"]]
    model = BoostedTreesSurvival(**ROUNDS, leaf_model="linear").fit(numbers, Y)
    assert model.score(X_NEW[["a"]], Y_NEW) > 0.6


def test_leaf_values_are_mean_gradients():
    options = {"n_estimators": 1, "learning_rate": 1.0, "max_leaf_nodes": 2, "second_order": False, "leaf_steps": 0}
    stump = BoostedTreesSurvival(**{**ROUNDS, **options}).fit(X[["a"]], Y)
    bounds = np.column_stack([Y[:, 0], np.where(Y[:, 1] == 1, Y[:, 0], np.inf)])
    gradient, leaf = Cox().gradients(bounds, np.zeros(len(Y)))[0], stump.apply(X[["a"]])[:, 0]
    expected = [-gradient[leaf == node].mean() for node in leaf]
    np.testing.assert_allclose(stump.predict(X[["a"]]), expected, rtol=1e-6)


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("log_baseline", lambda array: array[::-1], "log_baseline: expected a finite number per time of an event"),
        ("log_baseline", lambda array: array[:-1], "log_baseline: expected a finite number per time of an event"),
        ("log_baseline", lambda array: array * np.nan, "log_baseline: expected a finite number"),
        ("log_baseline", None, "log_baseline: found none, which does not belong to the loss 'cox'"),
        ("event_times", lambda array: -array, "event_times: expected ascending times of at least 0"),
        ("event_times", None, "event_times"),
    ],
)
def test_damaged_files_are_refused(name, change, message):
    header, arrays = content(BoostedTreesSurvival(**ROUNDS).fit(X, Y))
    arrays = {key: array for key, array in arrays.items() if key != name or change is not None}
    if change is not None:
        arrays[name] = change(arrays[name])
    with pytest.raises(arb.ModelFileError, match=message):
        loaded(header, arrays)


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "squared_error"}, "loss 'squared_error' is for regression, not survival: use one of cox, aft"),
        ({"loss": "coxx"}, "unknown loss 'coxx': did you mean 'cox'"),
        ({"aft_scale": 2.0}, "aft_scale=2.0 with loss='cox': only loss='aft' has this parameter"),
        ({"loss": "aft", "aft_scale": 0.0}, "aft_scale=0.0"),
        ({"loss": "aft", "aft_scale": "best"}, "aft_scale='best'"),
        ({"loss": "aft", "aft_distribution": "weibull"}, "aft_distribution='weibull': use one of None, 'normal'"),
        ({"loss": Cox(), "aft_scale": 1.0}, "aft_scale=1.0 with loss=Cox"),
        ({"leaf_steps": 0}, "leaf_steps=0 keeps the mean gradient of a leaf"),
    ],
)
def test_parameters_that_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        BoostedTreesSurvival(**params).fit(X, Y)


def test_targets_that_are_refused():
    censored = np.column_stack([Y[:, 0], np.zeros(len(Y))])
    with pytest.raises(ValueError, match="y has no event in 400 rows, all are censored: there is nothing to learn"):
        BoostedTreesSurvival().fit(X, censored)
    with pytest.raises(ValueError, match="y_val has no event in 400 rows"):
        BoostedTreesSurvival().fit(X, Y, X_val=X_NEW, y_val=censored)
    with pytest.raises(ValueError, match="y_val has 3 values, but X_val has 400 rows"):
        BoostedTreesSurvival().fit(X, Y, X_val=X_NEW, y_val=Y[:3])
    with pytest.raises(ValueError, match="loss='aft' needs events after time 0"):
        BoostedTreesSurvival(loss="aft").fit(X, Y * [0.0, 1.0])


def test_losses_of_users_have_no_hazards():
    class Late(Loss):
        task = "survival"

        def check_target(self, y):
            pass

        def start(self, y, weight):
            return np.zeros(1)

        def values(self, y, raw):
            return (raw + y[:, 0]) ** 2 / 2

        def gradients(self, y, raw):
            return raw + y[:, 0], np.ones_like(raw)

    model = BoostedTreesSurvival(**ROUNDS, loss=Late()).fit(X, Y)
    assert model.score(X_NEW, Y_NEW) > 0.6
    with pytest.raises(ValueError, match=r"the loss .* has no hazards: use"):
        model.predict_survival_function(X)


def test_loss_objects():
    by_name = BoostedTreesSurvival(**ROUNDS, loss="aft", aft_distribution="extreme", aft_scale=0.5).fit(X, Y)
    by_object = BoostedTreesSurvival(**ROUNDS, loss=AcceleratedFailure("extreme", 0.5)).fit(X, Y)
    assert by_object.fingerprint() == by_name.fingerprint()


def test_cross_validation_takes_structured_targets():
    y = np.array([(e == 1, t) for t, e in Y], dtype=[("event", bool), ("time", float)])
    scores = cross_val_score(BoostedTreesSurvival(**ROUNDS), X, y, cv=3)
    assert (scores > 0.6).all()
