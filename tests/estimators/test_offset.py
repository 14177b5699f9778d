"""Offsets: raw predictions that start somewhere else, as logarithms of exposures or another model's answers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.reference.files import content

import arboretum as arb
from arboretum.losses import (
    LOSSES,
    AcceleratedFailure,
    Cox,
    EachOutput,
    Logistic,
    Multinomial,
    Poisson,
    Quantiles,
    SquaredError,
    Tweedie,
)
from arboretum.losses.ordinal import best_thresholds

RNG = np.random.default_rng(0)
N = 400
X = RNG.integers(0, 8, size=(N, 4)).astype(float)  # few values: bins do not depend on weights
RATE = np.exp(X[:, 0] / 8 - X[:, 1] / 6)
EXPOSURE = RNG.uniform(0.2, 3.0, N)
COUNT = RNG.poisson(RATE * EXPOSURE).astype(float)
LOG = np.log(EXPOSURE)
NUMBERS = np.round(X[:, 0] * X[:, 1] / 8 + RNG.normal(size=N), 3) // 2**-20 * 2**-20  # sums with 0.75 are exact
CLASSES = np.digitize(NUMBERS, [1.0, 3.0])
EVENTS = np.column_stack([np.exp(-NUMBERS / 4), RNG.random(N) < 0.7])
QUERY = np.arange(N) // 10
PLAIN = {"subsample": 1.0, "max_features": 1.0, "early_stopping": False, "learning_rate": 0.3, "l2": 1.0}
QUICK = {**PLAIN, "n_estimators": 8}

# Estimator with its parameters, target, arguments of fit, outputs.
FITS = {
    "numbers": (arb.BoostedTreesRegressor(**QUICK), NUMBERS, {}, 1),
    "counts": (arb.BoostedTreesRegressor(**QUICK, loss="poisson"), COUNT, {}, 1),
    "amounts": (arb.BoostedTreesRegressor(**QUICK, loss="gamma"), RATE, {}, 1),
    "medians": (arb.BoostedTreesRegressor(**QUICK, loss="absolute_error"), NUMBERS, {}, 1),
    "quantiles": (arb.BoostedTreesRegressor(**QUICK, loss="quantile", quantile=[0.2, 0.7]), NUMBERS, {}, 2),
    "several numbers": (arb.BoostedTreesRegressor(**QUICK), np.column_stack([NUMBERS, -COUNT]), {}, 2),
    "function": (
        arb.BoostedTreesRegressor(**QUICK, loss=lambda y, raw: (raw - y, np.ones_like(raw))),
        NUMBERS,
        {},
        1,
    ),
    "two classes": (arb.BoostedTreesClassifier(**QUICK), NUMBERS > 2, {}, 1),
    "three classes": (arb.BoostedTreesClassifier(**QUICK), CLASSES, {}, 3),
    "vector leaves": (arb.BoostedTreesClassifier(**QUICK, vector_leaves=True), CLASSES, {}, 3),
    "ordered classes": (arb.BoostedTreesClassifier(**QUICK, loss="ordinal"), CLASSES, {}, 1),
    "ranking": (arb.BoostedTreesRanker(**QUICK, loss="lambdamart"), CLASSES, {"group": QUERY}, 1),
    "hazards": (arb.BoostedTreesSurvival(**QUICK, min_samples_leaf=3), EVENTS, {}, 1),
    "times": (arb.BoostedTreesSurvival(**QUICK, loss="aft"), EVENTS, {}, 1),
    "ordered boosting": (arb.BoostedTreesRegressor(**QUICK, ordered_boosting=2), NUMBERS, {}, 1),
    "dart": (arb.BoostedTreesRegressor(**QUICK, dart_rate=0.5), NUMBERS, {}, 1),
}


def fresh(name):
    model, y, given, n_outputs = FITS[name]
    return type(model)(**model.get_params()), y, given, n_outputs


def offsets(n_outputs, n_rows=N):
    shape = n_rows if n_outputs == 1 else (n_rows, n_outputs)
    return np.random.default_rng(1).normal(size=shape) / 2


def told(model, X, **given):
    return model.predict_proba(X, **given) if hasattr(model, "predict_proba") else model.predict(X, **given)


def told_by_sums(model, raw):
    head = model.model_.head
    return head.probabilities(raw) if hasattr(model, "predict_proba") else head.answers(raw)


# --------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("name", FITS)
def test_the_offset_is_added_to_every_raw_prediction(name):
    model, y, given, n_outputs = fresh(name)
    offset = offsets(n_outputs)
    model.fit(X, y, **given, offset=offset)
    raw = model.predict_raw(X)
    np.testing.assert_array_equal(told(model, X, offset=0), told_by_sums(model, raw))
    np.testing.assert_array_equal(told(model, X, offset=offset), told_by_sums(model, raw + offset.reshape(N, -1)))
    assert model.has_offset_
    if hasattr(model, "predict_proba"):
        *_, last = model.staged_predict_proba(X, offset=offset)
        np.testing.assert_allclose(last, model.predict_proba(X, offset=offset), atol=1e-9)
    np.testing.assert_array_equal(list(model.staged_predict(X, offset=offset))[-1], model.predict(X, offset=offset))


@pytest.mark.parametrize("name", FITS)
def test_no_offset_and_one_of_nothing_are_the_same_model(name):
    model, y, given, n_outputs = fresh(name)
    plain = model.fit(X, y, **given)
    beside, *_ = fresh(name)
    beside.fit(X, y, **given, offset=np.zeros(N if n_outputs == 1 else (N, n_outputs)))
    np.testing.assert_allclose(beside.predict_raw(X), plain.predict_raw(X), rtol=1e-7, atol=1e-7)
    assert beside.fit(X, y, **given).has_offset_ is False


SHIFTED = [
    "numbers",
    "counts",
    "amounts",
    "medians",
    "quantiles",
    "several numbers",
    "function",
    "two classes",
    "times",
]


@pytest.mark.parametrize("name", SHIFTED)
def test_a_constant_offset_moves_the_base_alone(name):
    model, y, given, n_outputs = fresh(name)
    plain = model.fit(X, y, **given)
    beside, *_ = fresh(name)
    beside.fit(X, y, **given, offset=0.75 if n_outputs == 1 else np.full((N, n_outputs), 0.75))
    np.testing.assert_allclose(beside.forest_.base, plain.forest_.base - 0.75, atol=1e-9)
    np.testing.assert_allclose(beside.predict_raw(X) + 0.75, plain.predict_raw(X), atol=1e-6)


def test_another_models_answers_as_offset_give_the_trees_of_going_on_from_it():
    """With whole steps and no penalty, residuals of the first model have mean 0: nothing is left for the base."""
    params = {**PLAIN, "learning_rate": 1.0, "l2": 0.0, "max_leaf_nodes": 8, "min_samples_leaf": 5}
    first = arb.BoostedTreesRegressor(**params, n_estimators=4).fit(X, NUMBERS)
    offset = first.predict(X)
    beside = arb.BoostedTreesRegressor(**params, n_estimators=5).fit(X, NUMBERS, offset=offset)
    first.fit_more(X, NUMBERS, n_estimators=5)
    assert beside.forest_.base == pytest.approx(0.0, abs=1e-12)
    later = first.forest_[4:]
    for name in ("feature", "threshold", "left", "n_rows", "tree_start"):
        np.testing.assert_array_equal(getattr(beside.forest_, name), getattr(later, name))
    np.testing.assert_allclose(beside.forest_.value, later.value, atol=1e-9)
    np.testing.assert_allclose(beside.predict(X, offset=offset), first.predict(X), atol=1e-9)


def test_counts_with_exposures_are_rates_with_weights():
    """e·exp(f) − y is both the gradient of a count beside log e and that of the rate y/e with the weight e."""
    counts = arb.BoostedTreesRegressor(**{**QUICK, "l2": 10.0}, loss="poisson").fit(X, COUNT, offset=LOG)
    # Weights count in units of their mean (docs/weights.md), and so does what they are compared with.
    unit = EXPOSURE.mean()
    rates = arb.BoostedTreesRegressor(**QUICK, loss="poisson")
    rates.set_params(l2=10.0 / unit, min_child_weight=1e-3 / unit).fit(X, COUNT / EXPOSURE, EXPOSURE)
    np.testing.assert_allclose(counts.predict(X, offset=0), rates.predict(X), rtol=1e-6)
    np.testing.assert_allclose(counts.predict(X, offset=LOG), EXPOSURE * rates.predict(X), rtol=1e-6)
    assert np.exp(counts.forest_.base[0]) == pytest.approx(COUNT.sum() / EXPOSURE.sum())


EVERY_LOSS = [
    *(
        build()
        for name, build in LOSSES.items()
        if name not in ("ordinal", "lambdamart", "pairwise", "listwise", "yetirank")
    ),
    Tweedie(1.2),
    Multinomial(3),
    Quantiles((0.2, 0.8)),
    EachOutput(SquaredError(), 2),
    EachOutput(Poisson(), 2),
    Cox(),
    AcceleratedFailure("logistic"),
]


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
def test_starts_beside_a_constant_are_shifted_starts(loss):
    rng = np.random.default_rng(0)
    y = rng.gamma(2.0, size=50)
    if isinstance(loss, Logistic | Multinomial):
        y = np.arange(50.0) % max(2, loss.n_outputs)
    elif isinstance(loss, EachOutput):
        y = np.column_stack([y, y[::-1]])
    elif loss.task == "survival":
        y = np.column_stack([y, np.where(rng.random(50) < 0.7, y, np.inf)])
    weight = rng.integers(1, 4, 50).astype(float)
    shape = 50 if loss.n_outputs == 1 else (50, loss.n_outputs)
    shift = 0.0 if isinstance(loss, Cox | Multinomial) else 0.4  # of which constants do not matter
    found = loss.start_from(y, np.full(shape, 0.4), weight)
    np.testing.assert_allclose(found, loss.start(y, weight) - shift, atol=1e-8)


def test_units_of_outputs_are_those_beside_their_offsets():
    rng = np.random.default_rng(0)
    y, offset, weight = rng.normal(size=(50, 2)), 3 * rng.normal(size=(50, 2)), rng.random(50)
    loss = EachOutput(SquaredError(), 2)
    assert loss.in_units_of(y, weight, offset).units == pytest.approx(loss.in_units_of(y - offset, weight).units)


def test_thresholds_of_ordered_classes_are_those_beside_the_offset():
    model, y, _, _ = fresh("ordered classes")
    offset = 3 * offsets(1)
    model.fit(X, y, offset=offset)
    expected = best_thresholds(3, y.astype(float), model.predict_raw(X)[:, 0] + offset, None)
    np.testing.assert_allclose(model.loss_.thresholds, expected, atol=1e-6)


def test_large_offsets_do_not_overflow():
    found = Poisson().start_from(np.array([1.0, 2.0]), np.array([800.0, 801.0]), None)
    assert found == pytest.approx(np.log(3) - np.logaddexp(800, 801), rel=1e-12)


# --------------------------------------------------------------------------------------------- along the way


def test_validation_rows_have_offsets_too():
    inside, held = np.arange(300), np.arange(300, N)
    model = arb.BoostedTreesRegressor(**QUICK, loss="poisson", scoring="mae")
    model.fit(
        X[inside],
        COUNT[inside],
        X_val=X[held],
        y_val=COUNT[held],
        offset=LOG[inside],
        offset_val=LOG[held],
    )
    predicted = model.predict(X[held], offset=LOG[held])
    assert model.history_.validation_score[-1] == pytest.approx(np.abs(predicted - COUNT[held]).mean())
    loss = Poisson().value(COUNT[held], np.log(predicted))
    assert model.history_.validation_loss[-1] == pytest.approx(loss)
    with pytest.raises(ValueError, match="offset is given without offset_val: give both, or neither"):
        model.fit(X, COUNT, X_val=X, y_val=COUNT, offset=LOG)
    with pytest.raises(ValueError, match="offset_val is given without offset: give both, or neither"):
        model.fit(X, COUNT, X_val=X, y_val=COUNT, offset_val=LOG)
    with pytest.raises(ValueError, match="offset_val is given without X_val"):
        model.fit(X, COUNT, offset=LOG, offset_val=LOG)


def test_held_out_and_weightless_rows_keep_their_offsets():
    model = arb.BoostedTreesRegressor(**{**QUICK, "early_stopping": True, "refit": True}, loss="poisson")
    weight = np.tile([1.0, 1.0, 0.0, 2.0], N // 4)
    shuffled = LOG.copy()
    shuffled[weight == 0] = 50.0  # of rows that take no part
    prints = [model.fit(X, COUNT, weight, offset=offset).fingerprint() for offset in (LOG, shuffled)]
    assert prints[0] == prints[1]
    assert model.history_.validation_loss


def test_rounds_that_are_added_start_from_the_offset():
    whole = arb.BoostedTreesRegressor(**QUICK, loss="poisson").fit(X, COUNT, offset=LOG)
    half = whole.first_rounds(3).fit_more(X, COUNT, n_estimators=5, offset=LOG)
    assert half.fingerprint() == whole.fingerprint()
    assert half.has_offset_
    assert half.fit_more(X, COUNT, n_estimators=1, offset=0).has_offset_
    with pytest.raises(ValueError, match=r"was fitted with an offset, and none is given .* or offset=0"):
        half.fit_more(X, COUNT, n_estimators=1)
    warm = arb.BoostedTreesRegressor(**{**QUICK, "n_estimators": 3}, loss="poisson", warm_start=True)
    warm.fit(X, COUNT, offset=LOG).set_params(n_estimators=8).fit(X, COUNT, offset=LOG)
    assert warm.fingerprint() == whole.fingerprint()
    with pytest.raises(ValueError, match="was fitted with an offset, and none is given to train it further"):
        warm.set_params(n_estimators=9).fit(X, COUNT)


def test_checkpoints_know_the_offset(tmp_path):
    class DiedError(Exception):
        pass

    def dying(report):
        if report.number == 5:
            raise DiedError

    kept = arb.Checkpoint(tmp_path / "run.arb", rounds=2)

    def fit(offset, callbacks=None, checkpoint=kept):
        params = {**QUICK, "loss": "huber", "early_stopping": True, "refit": False}
        return arb.BoostedTreesRegressor(**params, callbacks=callbacks).fit(
            X, NUMBERS, offset=offset, checkpoint=checkpoint
        )

    with pytest.raises(DiedError):
        fit(LOG, [dying])
    with pytest.raises(ValueError, match="other targets, weights, offsets or validation rows"):
        fit(2 * LOG)
    with pytest.raises(ValueError, match="other targets, weights, offsets or validation rows"):
        fit(None)
    whole, resumed = fit(LOG, checkpoint=None), fit(LOG)
    assert resumed.fingerprint() == whole.fingerprint()
    assert resumed.history_.validation_loss == whole.history_.validation_loss


def test_categories_are_read_as_what_the_offset_leaves_of_the_target():
    """Statistics of y itself would tell exposures: here all that shops differ by."""
    shop = RNG.integers(0, 40, N)
    exposure = np.exp(shop / 10.0)
    count = RNG.poisson(exposure * 0.5).astype(float)
    frame = pd.DataFrame({"shop": shop.astype(str), "x": X[:, 0]})
    params = {**QUICK, "loss": "poisson", "n_estimators": 20}
    model = arb.BoostedTreesRegressor(**params).fit(frame, count, offset=np.log(exposure))
    read = model.model_.as_read(model.model_.conform(frame), 1)
    statistic = read.columns[model.encoding_.schema.names.index("mean of target by shop")]
    assert abs(np.corrcoef(statistic, exposure)[0, 1]) < 0.5


@pytest.mark.parametrize("made", [arb.Dataset.from_frame, pd.DataFrame, dict], ids=["dataset", "frame", "dictionary"])
def test_columns_of_a_table(made):
    rows = made({"a": X[:, 0], "b": X[:, 1], "y": COUNT, "log_exposure": LOG})
    model = arb.BoostedTreesRegressor(**QUICK, loss="poisson")
    model.fit(rows, target="y", offset="log_exposure")
    assert model.feature_names_in_.tolist() == ["a", "b"]
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    named = arb.BoostedTreesRegressor(**QUICK, loss="poisson").fit(table, COUNT, offset=LOG)
    assert model.fingerprint() == named.fingerprint()
    expected = named.predict(table, offset=LOG)
    np.testing.assert_array_equal(model.predict(rows, offset="log_exposure"), expected)
    assert model.score(rows, target="y", offset="log_exposure") == named.score(table, COUNT, offset=LOG)
    np.testing.assert_array_equal(list(model.staged_predict(rows, offset="log_exposure"))[-1], expected)
    with pytest.raises(ValueError, match="X has no column 'log_exposure': its columns are 'a', 'b'"):
        model.predict(table, offset="log_exposure")
    with pytest.raises(TypeError, match="offset='log_exposure' names a column, but X, a ndarray, has no column names"):
        model.predict(X[:, :2], offset="log_exposure")


@pytest.mark.parametrize("name", ["numbers", "counts", "two classes", "ranking", "hazards", "times"])
def test_scores_and_curves_take_the_offset(name):
    model, y, given, _ = fresh(name)
    offset = offsets(1)
    model.fit(X, y, **given, offset=offset)
    score = model.score(X, y, **given, offset=offset)
    if name != "two classes":
        assert score > model.score(X, y, **given, offset=offset[::-1])
    else:
        assert score == (model.predict(X, offset=offset) == y).mean()
        proba = model.predict_proba(X, offset=offset)[:, 1]
        np.testing.assert_allclose(proba, 1 / (1 + np.exp(-model.decision_function(X, offset=offset))))
    if name in ("hazards", "times"):
        hazard = model.predict_cumulative_hazard(X, offset=offset)
        np.testing.assert_allclose(model.predict_survival_function(X, offset=offset), np.exp(-hazard))
    if name == "hazards":
        risk = model.predict(X, offset=offset) - model.predict(X, offset=0)
        base = model.predict_cumulative_hazard(X, offset=0)
        np.testing.assert_allclose(hazard, base * np.exp(risk)[:, None], rtol=1e-9)
    if name == "times":
        np.testing.assert_allclose(np.log(model.predict_time(X, offset=offset)), -model.predict(X, offset=offset))


def test_the_baseline_hazard_is_that_of_rows_with_their_offsets():
    """If the offset says all, the model adds nothing and the curve is Breslow's of the offset alone."""
    risk = X[:, 0] / 4
    event = np.column_stack([RNG.exponential(np.exp(-risk)), np.ones(N)])
    model = arb.BoostedTreesSurvival(**{**QUICK, "n_estimators": 1, "min_samples_leaf": N}).fit(X, event, offset=risk)
    times, log_hazard = Cox().baseline(np.repeat(event[:, :1], 2, axis=1), risk, None)
    np.testing.assert_array_equal(model.event_times_, times)
    found = np.log(model.predict_cumulative_hazard(X[:1], offset=0)[0])
    np.testing.assert_allclose(found, log_hazard + model.predict(X[:1], offset=0), atol=1e-9)


# --------------------------------------------------------------------------------------------- saying what is meant


def test_a_missing_offset_is_told_once_per_call_and_zero_is_not():
    model = arb.BoostedTreesRegressor(**QUICK, loss="poisson").fit(X, COUNT, offset=LOG)
    with pytest.warns(
        UserWarning, match="was fitted with an offset, and none is given: predictions are those of"
    ) as told:
        predicted = model.predict(X)
    assert len(told) == 1
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict(X, offset=0), predicted)
        np.testing.assert_array_equal(model.predict(X, offset=0.0), predicted)
        arb.BoostedTreesRegressor(**QUICK).fit(X, NUMBERS).predict(X)
    for ask in (model.staged_predict, model.score):
        with pytest.warns(UserWarning, match="fitted with an offset"):
            list(ask(X)) if ask == model.staged_predict else ask(X, COUNT)


def test_files_remember_that_there_was_an_offset(tmp_path):
    model = arb.BoostedTreesRegressor(**QUICK, loss="poisson").fit(X, COUNT, offset=LOG)
    model.save(tmp_path / "m.arb")
    again = arb.load(tmp_path / "m.arb")
    assert again.has_offset_
    np.testing.assert_array_equal(again.predict(X, offset=LOG), model.predict(X, offset=LOG))
    assert not content(arb.BoostedTreesRegressor(**QUICK).fit(X, NUMBERS))[0].get("has_offset")


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (LOG[:5], r"^offset has shape \(5,\), but X has 400 rows: give one number per row$"),
        (np.zeros((N, 2)), r"^offset has shape \(400, 2\), but X has 400 rows: give one number per row$"),
        (np.where(np.arange(N) == 7, np.nan, LOG), r"^Input offset contains NaN: nan in row 7"),
        (np.where(np.arange(N) == 7, np.inf, LOG), r"^Input offset contains infinity: inf in row 7"),
        (np.where(np.arange(N) == 7, -np.inf, LOG), r"^offset is -inf in row 7, the logarithm of an exposure of 0"),
        (np.where(np.arange(N) == 7, 1e200, LOG), r"^offset is 1e\+200 in row 7, beyond ±1e\+100"),
        ([None, *LOG[1:].tolist()], r"^Input offset contains NaN: None in row 0"),
        (["a"] * N, r"offset has dtype <U1, which is not numeric; give numbers, such as logarithms of exposures"),
    ],
)
@pytest.mark.parametrize("when", ["fit", "predict", "offset_val"])
def test_bad_offsets_are_refused_by_row_and_cure(offset, message, when):
    model = arb.BoostedTreesRegressor(**QUICK, loss="poisson").fit(X, COUNT, offset=LOG)
    before = model.fingerprint()
    if when == "offset_val":
        message = message.replace("offset", "offset_val").replace("X has", "X_val has")
    calls = {
        "fit": lambda: model.fit(X, COUNT, offset=offset),
        "predict": lambda: model.predict(X, offset=offset),
        "offset_val": lambda: model.fit(X, COUNT, X_val=X, y_val=COUNT, offset=LOG, offset_val=offset),
    }
    with pytest.raises(ValueError, match=message):
        calls[when]()
    assert model.fingerprint() == before


def test_classes_need_a_column_each():
    model = arb.BoostedTreesClassifier(**QUICK)
    with pytest.raises(ValueError, match=r"offset has shape \(400,\).*give 3 numbers per row, one for each raw"):
        model.fit(X, CLASSES, offset=LOG)
    bad = np.zeros((N, 3))
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"Input offset\[:, 1\] contains NaN: nan in row 3"):
        model.fit(X, CLASSES, offset=bad)


def test_series_lists_and_columns_are_offsets():
    model = arb.BoostedTreesRegressor(**QUICK, loss="poisson")
    forms = [LOG, LOG.tolist(), pd.Series(LOG, index=np.arange(N)[::-1]), LOG[:, None]]
    assert len({model.fit(X, COUNT, offset=form).fingerprint() for form in forms}) == 1


def test_influence_of_rows_is_not_known_beside_offsets():
    model = arb.BoostedTreesRegressor(**QUICK).fit(X, NUMBERS, offset=LOG)
    with pytest.raises(ValueError, match="it was fitted with an offset: fit without one"):
        model.influence(X[:2], X_train=X, y_train=NUMBERS)
