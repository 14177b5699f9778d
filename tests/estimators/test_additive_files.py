"""Additive boosting: files, pickles, and what is refused."""

from __future__ import annotations

import inspect
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from tests.reference.additive_models import (
    FRAME,
    LABELS,
    MIXED,
    TWO,
    X,
    Y,
    classifier,
    every_model,
    outcome,
    regressor,
    target_of,
)

import arboretum as arb
from arboretum import DecisionTreeRegressor
from arboretum.losses import Loss, Quantile
from arboretum.model import model_file


class LogCosh(Loss):
    def values(self, y, raw):
        return np.logaddexp(raw - y, y - raw) - np.log(2)

    def gradients(self, y, raw):
        slope = np.tanh(raw - y)
        return slope, 1 - slope**2


# --------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "model",
    [
        regressor(),
        classifier(),
        regressor(loss=LogCosh()),
        regressor(
            estimators=[("tree", DecisionTreeRegressor(max_leaf_nodes=3)), ("wood", arb.RandomForestRegressor())],
            loss=Quantile(0.7),
            selection="cycle",
            n_estimators=3,
        ),
        classifier(estimators=[arb.BoostedTreesRegressor(n_estimators=2), DecisionTreeRegressor(max_depth=2)]),
    ],
    ids=lambda m: " ".join(repr(m).split())[:60],
)
@pytest.mark.parametrize("compact", [True, False])
def test_files_keep_the_model(model, compact, tmp_path):
    model = clone(model).fit(FRAME, target_of(model))
    model.save(tmp_path / "model.arb", compact=compact)
    again = arb.load(tmp_path / "model.arb")
    assert type(again) is type(model)
    assert again.fingerprint() == model.fingerprint() == pickle.loads(pickle.dumps(model)).fingerprint()
    np.testing.assert_array_equal(outcome(again, FRAME), outcome(model, FRAME))
    assert again.history_ == model.history_
    assert (again.chosen_, again.n_iter_) == (model.chosen_, model.n_iter_)
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    if not isinstance(model.loss, LogCosh):
        assert repr(again) == repr(model)
        assert again.fit(FRAME, target_of(model)).fingerprint() == model.fingerprint()


def test_a_model_without_stages_has_a_file(tmp_path):
    regressor().fit(X, np.ones(150)).save(tmp_path / "model.arb")
    assert arb.load(tmp_path / "model.arb").predict(X[:1]) == [1.0]


@every_model
def test_pickles_keep_the_model(model):
    model = clone(model).fit(X, target_of(model))
    np.testing.assert_array_equal(outcome(pickle.loads(pickle.dumps(model)), X), outcome(model, X))


@pytest.mark.parametrize("estimators", [[Ridge()], MIXED])
def test_files_of_strangers_are_refused(estimators, tmp_path):
    model = regressor(estimators=estimators).fit(X, Y)
    with pytest.raises(TypeError, match=r"^save needs members of arboretum, not Ridge: pickle or skops keep other"):
        model.save(tmp_path / "model.arb")
    with pytest.raises(TypeError, match=r"^fingerprint needs members of arboretum, not Ridge: other estimators have"):
        model.fingerprint()
    assert list(tmp_path.iterdir()) == []


def test_fingerprints_tell_models_apart():
    models = [
        regressor(),
        regressor(learning_rate=0.2),
        regressor(n_estimators=7),
        regressor(loss="absolute_error"),
        classifier(),
    ]
    assert len({model.fit(X, target_of(model)).fingerprint() for model in models}) == 5


DAMAGE = {
    "a learner that was not given": lambda h, a: h["chosen"].__setitem__(0, 5),
    "a learner that is true": lambda h, a: h["chosen"].__setitem__(0, False),
    "learners that are text": lambda h, a: h.__setitem__("chosen", "00000000"),
    "no learners": lambda h, a: h.__setitem__("chosen", None),
    "more stages than files": lambda h, a: h["chosen"].append(0),
    "fewer stages than coefficients": lambda h, a: h["chosen"].pop(),
    "coefficients that are text": lambda h, a: a.__setitem__("coefficients", np.zeros(8, np.uint8)),
    "coefficients that are not finite": lambda h, a: a.__setitem__("coefficients", np.full(8, np.nan)),
    "a start of another width": lambda h, a: a.__setitem__("init", np.zeros(2)),
    "another loss": lambda h, a: h.__setitem__("loss", {"name": "log_loss", "n_outputs": 4}),
    "no loss": lambda h, a: h.pop("loss"),
    "no history": lambda h, a: h.__setitem__("history", None),
    "a classifier as learner": lambda h, a: h["learners"][0][1].__setitem__("model", "DecisionTreeClassifier"),
    "an additive learner": lambda h, a: h["learners"][0][1].__setitem__("model", "AdditiveBoostingRegressor"),
    "an unknown learner": lambda h, a: h["learners"][0][1].__setitem__("model", "os"),
    "parameters out of range": lambda h, a: h["params"].__setitem__("n_estimators", -1),
    "fewer classes": lambda h, a: h["classes"]["values"].pop(),
    "a schema that is none": lambda h, a: h.__setitem__("schema", []),
    "a schema of fewer columns": lambda h, a: h["schema"]["columns"].pop(),
    "a model that is no file": lambda h, a: a.__setitem__("model 0", np.zeros(9)),
    "no model": lambda h, a: a.pop("model 3"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_refused(damage, tmp_path):
    file = tmp_path / "model.arb"
    classifier(estimators=[DecisionTreeRegressor(max_leaf_nodes=3)]).fit(X, LABELS).save(file)
    assert arb.load(file).chosen_ == [0] * 8
    header, arrays = model_file.from_bytes(file.read_bytes())
    DAMAGE[damage](header, arrays)
    model_file.save(file, header, arrays, compact=False)
    with pytest.raises(arb.ModelFileError, match="model file"):
        arb.load(file)


# --------------------------------------------------------------------------------------------- what is refused

NAN = float("nan")
BAD = {
    "loss": ["squared_eror", None, 3, Loss],
    "n_estimators": [0, 2.5, "many", None, True],
    "learning_rate": [0, -0.1, 1.5, "slow", None, NAN],
    "coefficients": ["al", None, 1, True],
    "init": ["nil", 0, None, True],
    "selection": ["bset", None, 1],
    "subsample": [0, -0.1, 1.5, "half", None, NAN],
    "early_stopping": ["auto", None, 1],
    "validation_fraction": [0, 1.0, "x", None, NAN],
    "n_iter_no_change": [0, None, 2.5, True],
    "scoring": ["acuracy", "ndcg", 5],
    "tol": [-1e-9, None, "1", NAN, float("inf")],
    "random_state": ["seed", 2.5],
    "verbose": ["loud", -1, 2.5],
    "estimators": [5, "trees", {}],
}


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_bad_value_is_refused_by_name_and_value(make, name, value):
    model = make()
    assert set(inspect.signature(type(model)).parameters) == set(BAD)
    with pytest.raises((TypeError, ValueError), match=name) as caught:
        model.set_params(**{name: value}).fit(X, target_of(model))
    shown = value.__name__ if isinstance(value, type) else repr(value)
    assert shown in str(caught.value)
    assert not hasattr(model, "estimators_")


class NoPredict:
    def fit(self, X, y):
        return self

    def get_params(self, deep=True):
        return {}


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        ([], "estimators=[]: give a list of at least one regressor, or None for a tree of eight leaves"),
        ((), "estimators=(): give a list of at least one regressor"),
        ([("a", NoPredict())], "estimators: 'a' is <"),
        ([NoPredict()], "which has no predict: use an estimator object, with fit, predict and get_params"),
        ([Ridge(), None], "estimators: 1 is None, which has no fit: use an estimator object"),
        ([("a", Ridge)], "estimators: 'a' is the class Ridge: use Ridge()"),
        ([("a", Ridge()), ("a", Ridge())], "estimators has the name 'a' 2 times: give each its own"),
        ([(0, Ridge())], "estimators has a pair with the name 0: use text"),
        (
            [("loss", Ridge())],
            "estimators has the name 'loss', which would be mistaken for a parameter: give it another",
        ),
        ([("a__b", Ridge())], "estimators has the name 'a__b', which would be mistaken for a parameter"),
        ([(None, Ridge())], "estimators has a pair with the name None: use text"),
        (
            [("class", LogisticRegression())],
            "estimators: 'class' is the classifier LogisticRegression: learners are fitted to residuals, which are "
            "numbers; use a regressor, also to classify",
        ),
        ([arb.DecisionTreeClassifier()], "estimators: 0 is the classifier DecisionTreeClassifier"),
    ],
)
@pytest.mark.parametrize("make", [regressor, classifier])
def test_lists_are_refused_with_their_cure(make, estimators, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make(estimators=estimators).fit(X, target_of(make()))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_predictions_that_are_not_finite_name_learner_row_and_stage(value):
    message = rf"^learner 'wild' \(Overflowing\) of stage 1 predicts {value} in row 7, which is not finite: scale its"
    with pytest.raises(ValueError, match=message):
        regressor(estimators=[MIXED[0], ("wild", _returning(value))]).fit(X, Y)


def _returning(value):
    class Overflowing(Ridge):
        def predict(self, X):
            found = super().predict(X)
            found[min(7, len(found) - 1)] = value
            return found

    return Overflowing()


class Stretching(Ridge):
    """Linear, but infinite beyond what it has seen."""

    def predict(self, X):
        found = super().predict(X)
        return np.where(np.abs(np.asarray(X)[:, 0]) > 100, np.inf, found)


def test_predictions_of_new_rows_that_are_not_finite_name_learner_row_and_stage():
    model = regressor(estimators=[Ridge(), Stretching()], selection="cycle").fit(X, Y)
    with pytest.raises(
        ValueError, match=r"^learner 1 \(Stretching\) of stage 2 predicts inf in row 1, which is not finite"
    ):
        model.predict([[0.0] * 4, [1e3] * 4])


def test_predictions_of_another_shape_name_the_learner():
    class Wide(DummyRegressor):
        def predict(self, X):
            return np.zeros((len(X), 2))

    class Column(Ridge):
        def predict(self, X):
            return super().predict(X)[:, None]

    message = (
        r"^learner 'w' \(Wide\) of stage 1 predicts an array of shape \(150, 2\): expected \(150,\), one number per row"
    )
    with pytest.raises(ValueError, match=message):
        regressor(estimators=[("w", Wide())]).fit(X, Y)
    np.testing.assert_array_equal(
        regressor(estimators=[Column()]).fit(X, Y).predict(X), regressor(estimators=[Ridge()]).fit(X, Y).predict(X)
    )


@pytest.mark.parametrize(
    ("make", "y", "message"),
    [
        (regressor, Y, "early_stopping=True, but validation_fraction=0.1 of 6 rows leaves no row to train or to "),
        (classifier, LABELS, "validate on: raise validation_fraction or set early_stopping=False"),
    ],
)
def test_too_few_rows_to_hold_any_out(make, y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make(early_stopping=True).fit(X[:6], y[:6])


@pytest.mark.parametrize(
    ("make", "params", "y", "message"),
    [
        (regressor, {"loss": "squared_eror"}, Y, "unknown loss 'squared_eror': did you mean 'squared_error'?"),
        (regressor, {"loss": "log_loss"}, Y, "loss 'log_loss' is for classification, not regression: use one of"),
        (classifier, {"loss": "poisson"}, TWO, "loss 'poisson' is for regression, not classification"),
        (regressor, {"loss": "poisson"}, Y - 10, "loss='poisson' needs y >= 0"),
        (regressor, {}, Y[:9], "y has 9 values, but X has 150 rows: give one value per row"),
        (regressor, {}, np.where(Y > 3, np.nan, Y), "Input y contains NaN"),
        (classifier, {}, np.zeros(150, int), "y has only one class, 0"),
    ],
)
def test_targets_and_losses_that_do_not_fit(make, params, y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make(**params).fit(X, y)


@pytest.mark.parametrize("call", ["predict", "staged_predict", "predict_proba", "decision_function", "save"])
def test_a_model_must_be_fitted(call, tmp_path):
    method = getattr(classifier(), call)
    with pytest.raises(NotFittedError, match="This AdditiveBoostingClassifier instance is not fitted yet"):
        list(method(tmp_path / "model.arb" if call == "save" else X))
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        regressor().predict(X)


def test_a_refused_fit_costs_no_model():
    model = regressor().fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="predicts nan"):
        model.set_params(estimators=[_returning(np.nan)]).fit(X, -Y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_progress_is_shown(capfd):
    regressor(verbose=1).fit(X, Y)
    assert "stage 8/8" in capfd.readouterr().err
    regressor().fit(X, Y)
    assert capfd.readouterr() == ("", "")
