"""A plain function of gradients as a loss: the same models as the loss it is written after."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import arboretum as arb
from arboretum.losses import Logistic, Multinomial, Poisson, PredictOnly, Quantile, SquaredError, UnsavedFunction
from arboretum.losses.function import FunctionLoss
from arboretum.testing import check_loss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=300) / 4
WEIGHT = RNG.integers(0, 4, 300).astype(float)
LABELS = np.array(["low", "mid", "high"])[np.digitize(Y, [0.0, 1.5])]
QUICK = {"n_estimators": 15, "learning_rate": 0.2, "early_stopping": False}


def squares(y, raw):
    return raw - y, np.ones_like(raw)


def scorer(model, X, y):
    return -float(np.abs(model.predict(X) - y).mean())


def trees(model):
    return {name: array for name, array in model.forest_.to_arrays().items() if name != "base"}


# --------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(
    "params", [{}, {"leaf_steps": 3}, {"growth": "level"}, {"leaf_model": "linear"}, {"second_order": False}], ids=str
)
def test_squared_error_by_hand_is_the_squared_error_to_the_bit(params, weight):  # LGB#7193, #6040
    own, built_in = (arb.BoostedTreesRegressor(loss=loss, **QUICK, **params) for loss in (squares, "squared_error"))
    own.fit(X, Y, weight)
    built_in.fit(X, Y, weight)
    assert own.forest_.base == pytest.approx(built_in.forest_.base, abs=1e-15)
    np.testing.assert_allclose(own.predict(X), built_in.predict(X), rtol=1e-12, atol=1e-12)
    if weight is None:
        assert all(np.array_equal(array, trees(built_in)[name]) for name, array in trees(own).items())


@pytest.mark.parametrize("beside", [False, True], ids=["no offset", "offset"])
@pytest.mark.parametrize("labels", [LABELS, LABELS == "low"], ids=["three classes", "two classes"])
def test_log_loss_by_hand_is_the_log_loss(labels, beside):
    loss = Multinomial(3) if labels.dtype.kind == "U" else Logistic()
    params = {**QUICK, "l2": 5.0, "vector_leaves": False}
    given = {"offset": np.outer(Y / 9, np.arange(loss.n_outputs) + 1.0).squeeze()} if beside else {}
    own = arb.BoostedTreesClassifier(loss=lambda y, raw: loss.gradients(y, raw), **params).fit(X, labels, **given)
    built_in = arb.BoostedTreesClassifier(**params).fit(X, labels, **given)
    np.testing.assert_allclose(own.predict_proba(X, **given), built_in.predict_proba(X, **given), atol=1e-9)
    assert own.predict(X, **given).tolist() == built_in.predict(X, **given).tolist()


def test_several_outputs_are_asked_one_by_one():
    y = np.column_stack([Y, -Y])
    y[::7, 1] = np.nan
    own, built_in = (arb.BoostedTreesRegressor(loss=loss, **QUICK).fit(X, y) for loss in (squares, "squared_error"))
    np.testing.assert_allclose(own.predict(X), built_in.predict(X), rtol=1e-12, atol=1e-12)


def test_times_and_categories_too():
    from arboretum.losses import AcceleratedFailure

    y = np.column_stack([np.exp(Y), RNG.random(300) < 0.7])
    frame = pd.DataFrame(X, columns=list("abcd")).assign(shop=RNG.choice([f"s{i}" for i in range(40)], 300))
    own = arb.BoostedTreesSurvival(loss=AcceleratedFailure().gradients, **QUICK).fit(frame, y)
    built_in = arb.BoostedTreesSurvival(loss="aft", aft_scale=1.0, **QUICK).fit(frame, y)
    np.testing.assert_allclose(own.predict(frame), -built_in.predict(frame), rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="has no hazards"):
        own.predict_survival_function(frame)


def test_a_function_cannot_tell_queries_apart():
    with pytest.raises(ValueError, match=r"a function of \(y, raw\) cannot tell queries apart; derive a class"):
        arb.BoostedTreesRanker(loss=squares).fit(X, np.round(np.abs(Y)), np.arange(300) // 10)


def test_a_line_search_needs_values():
    with pytest.raises(ValueError, match=r"loss=squares gives gradients but no loss values, which the line search"):
        arb.AdditiveBoostingRegressor(loss=squares).fit(X, Y)


def test_parameters_of_named_losses_do_not_belong_to_functions():
    with pytest.raises(ValueError, match="quantile given beside a function as loss"):
        arb.BoostedTreesRegressor(loss=squares, quantile=0.5).fit(X, Y)


# --------------------------------------------------------------------------------------------- stopping


def test_without_values_auto_holds_nothing_out_and_verbose_tells_no_loss():
    many = np.tile(X, (5, 1))
    model = arb.BoostedTreesRegressor(loss=squares, n_estimators=5, callbacks=[lambda report: None])
    model.fit(many, np.tile(Y, 5))
    assert (model.n_iter_, model.history_.curve, model.history_.training_loss) == (5, [], [])


@pytest.mark.parametrize("given", [{"early_stopping": True}, {}])
def test_early_stopping_without_values_needs_a_scoring(given):
    held = {} if given else {"X_val": X, "y_val": Y}
    message = r"loss=squares gives gradients but no loss values, which early stopping needs: give scoring=.*'rmse'"
    with pytest.raises(ValueError, match=message):
        arb.BoostedTreesRegressor(loss=squares, **given).fit(X, Y, **held)
    watched = arb.BoostedTreesRegressor(loss=squares, scoring="rmse", **{**QUICK, **given}).fit(X, Y, **held)
    assert len(watched.history_.validation_score) >= watched.n_iter_ > 0
    assert watched.history_.validation_loss == []


# --------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, raw: raw - y, "returned ndarray: return two arrays, the gradients and the hessians"),
        (lambda y, raw: None, "returned NoneType: return two arrays"),
        (lambda y, raw: (raw - y, 1.0), r"returned hessians of shape \(\): expected \(\d+,\), that of raw"),
        (lambda y, raw: ((raw - y)[:, None], np.ones((len(y), 1))), r"returned gradients of shape \(\d+, 1\)"),
        (lambda y, raw: (raw - y, np.full(len(y), np.nan)), "returned hessians that are not finite, first in row 0"),
        (lambda y, raw: (raw - y, -np.ones_like(raw)), "returned a negative hessian, first in row 0"),
        (lambda y, raw: (y - raw, np.ones_like(raw)), "the mean gradient stays .* is its sign right?"),
    ],
)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_what_a_function_must_not_return(function, message, weight):
    with pytest.raises(ValueError, match=f"loss=<lambda>:? ?{message}"):
        arb.BoostedTreesRegressor(loss=function, **QUICK).fit(X, Y, weight)


def test_a_function_cannot_change_what_it_reads():
    def careless(y, raw):
        raw -= y
        return raw, np.ones_like(raw)

    with pytest.raises(ValueError, match="read-only"):
        arb.BoostedTreesRegressor(loss=careless, **QUICK).fit(X, Y)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, raw: (y - raw, np.ones_like(raw)), r"the gradients fall as raw rises, .*\(is the sign right"),
        (lambda y, raw: (np.exp(raw) - y, np.exp(raw)), "the gradient of raw = 10000 is not finite"),
        (lambda y, raw: (raw - y, -np.ones_like(raw)), "negative hessian at"),
        (lambda y, raw: raw, "return two arrays"),
    ],
)
def test_check_loss_catches(function, message):
    with pytest.raises(AssertionError, match=message):
        check_loss(function)


@pytest.mark.parametrize("loss", [SquaredError(), Poisson(), Quantile(0.8)], ids=repr)
def test_check_loss_passes_what_is_right(loss):
    check_loss(loss.gradients)


def test_check_loss_of_classes():
    check_loss(Multinomial(3).gradients, n_outputs=3)


# --------------------------------------------------------------------------------------------- starts


@given(
    st.sampled_from([SquaredError(), Poisson(), Quantile(0.3), Logistic()]),
    st.integers(0, 2**32 - 1),
    st.floats(1e-3, 1e6),
    st.booleans(),
)
@example(Poisson(), 0, 1e6, False)
def test_the_start_is_the_best_constant(loss, seed, scale, beside):
    rng = np.random.default_rng(seed)
    y = rng.poisson(1.0, 41) * 1.0
    y[0] = 1.0  # not 0 everywhere
    y = np.minimum(y, 1.0) if isinstance(loss, Logistic) else y * scale
    weight, offset = rng.integers(1, 4, 41) * 1.0, rng.normal(size=41)
    own = FunctionLoss(loss.gradients)
    found, best = (one.start_from(y, offset, weight) if beside else one.start(y, weight) for one in (own, loss))
    values = [loss.value(y, constant + (offset if beside else np.zeros(41)), weight) for constant in (found, best)]
    assert values[0] == pytest.approx(values[1], rel=1e-9, abs=1e-9)


def test_a_loss_that_falls_for_ever_has_some_start():
    start = FunctionLoss(Poisson().gradients).start(np.zeros(5), None)
    assert np.isfinite(start).all()
    assert start[0] < -10


# --------------------------------------------------------------------------------------------- files


def test_files_name_the_function_and_predict_without_it(tmp_path):
    model = arb.BoostedTreesRegressor(loss=squares, scoring=scorer, early_stopping=True, n_estimators=10).fit(X, Y)
    model.save(tmp_path / "m.arb")
    again = arb.load(tmp_path / "m.arb")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.fingerprint() == model.fingerprint()
    assert again.history_ == model.history_
    here = squares.__module__
    assert (again.loss, again.scoring) == (UnsavedFunction(f"{here}.squares"), UnsavedFunction(f"{here}.scorer"))
    assert isinstance(again.loss_, PredictOnly)
    message = r"was saved with the function .*(squares|scorer), which a model file cannot hold: set the parameter again"
    with pytest.raises(RuntimeError, match=message):
        again.fit(X, Y)
    with pytest.raises(RuntimeError, match=message):
        again.fit_more(X, Y, n_estimators=1)
    whole = model.fit_more(X, Y, n_estimators=3).fingerprint()
    assert again.set_params(loss=squares, scoring=scorer).fit_more(X, Y, n_estimators=3).fingerprint() == whole
    again.save(tmp_path / "again.arb")
    assert arb.load(tmp_path / "again.arb").loss_ == PredictOnly(f"{here}.squares", "regression", "identity", 1)


def test_pickles_hold_functions_that_can_be_imported():
    model = arb.BoostedTreesRegressor(loss=squares, **QUICK).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert again.loss is squares
    assert again.fit_more(X, Y, n_estimators=2).n_iter_ == 17


def test_a_forged_name_of_a_function_is_refused(tmp_path):
    from arboretum.model import model_file

    model = arb.BoostedTreesRegressor(loss=squares, **QUICK).fit(X, Y)
    header, arrays = model.to_file()
    header["params"]["loss"] = {"function": ["x"]}
    model_file.save(tmp_path / "m.arb", header, arrays, compact=True)
    with pytest.raises(arb.ModelFileError, match="the name of a function is"):
        arb.load(tmp_path / "m.arb")


@pytest.mark.parametrize("params", [{}, {"second_order": False}], ids=str)
def test_hessians_of_nothing_are_refused(params):
    """Leaves without curvature step by rounding: thirty rounds of signs led to an R² of -11."""
    signs = arb.BoostedTreesRegressor(loss=lambda y, raw: (np.sign(raw - y), np.zeros(len(y))), **QUICK, **params)
    with pytest.raises(ValueError, match=r"hessians that are all 0: return 1 for each row, to step by gradients"):
        signs.fit(X, Y)
