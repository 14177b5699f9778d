"""Additive boosting: coefficients that stages fit anew, the start, and several outputs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVR
from tests.reference.additive_models import (
    FRAME,
    LABELS,
    MIXED,
    TWO,
    WEIGHT,
    X,
    Y,
    classifier,
    outcome,
    regressor,
    target_of,
)
from tests.reference.files import reloaded
from tests.reference.sklearn_checks import checks_of

import arboretum as arb
from arboretum import DecisionTreeRegressor
from arboretum.data.weights import in_rows
from arboretum.ensembles.additive.stages import AdditiveRun
from arboretum.ensembles.members.estimators import takes_outputs
from arboretum.losses.base import constant_raw
from arboretum.model import model_file
from arboretum.running.interruption import InterruptedFit

TREE = DecisionTreeRegressor(max_leaf_nodes=3)
POSITIVE = np.exp(Y / 2)
TWO_OUTPUTS = np.column_stack([Y, X[:, 1] - X[:, 2] ** 2])
ALL = {"coefficients": "all", "learning_rate": 1.0}
CORRECTED = [
    regressor(estimators=[TREE], **ALL),
    regressor(coefficients="all", loss="poisson"),
    regressor(estimators=[TREE], loss="huber", init="zero", **ALL),
    classifier(coefficients="all"),
    classifier(estimators=[TREE], init="zero", n_estimators=4, **ALL),
]
each_corrected = pytest.mark.parametrize("model", CORRECTED, ids=lambda m: " ".join(repr(m).split())[:90])


def rows_of(model):
    return POSITIVE if getattr(model, "loss", "") == "poisson" else target_of(model)


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(regressor(n_estimators=10, **ALL), classifier(coefficients="all", init="zero", n_estimators=4)),
    ids=lambda case: getattr(getattr(case, "func", case), "__name__", None) or repr(case),
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


# --------------------------------------------------------------------------------------------- all coefficients


def regressed(design, with_constant, weight):
    """Return the least squares of Y; columns of any length count, as they do not in LinearRegression."""
    design = np.column_stack([*[np.ones(150)] * with_constant, design / np.linalg.norm(design, axis=0)])
    root = np.ones(150) if weight is None else np.sqrt(weight)
    return design @ np.linalg.lstsq(design * root[:, None], Y * root, rcond=1e-10)[0]


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("init", ["best", "zero"])
@pytest.mark.parametrize("learner", [TREE, Ridge(), KNeighborsRegressor(n_neighbors=9)], ids=repr)
def test_squared_error_is_orthogonal_matching_pursuit(weight, init, learner):
    """The plain twin: fit a learner to the residuals, then regress the target on all learners so far."""
    model = regressor(estimators=[learner], init=init, **ALL).fit(X, Y, weight)
    raw = np.full(150, np.average(Y, weights=weight) if init == "best" else 0.0)
    design, counts = np.empty((150, 0)), np.ones(150) if weight is None else in_rows(weight)
    for stage, found in zip(model.estimators_, model.staged_predict(X), strict=True):
        takes_weights = not isinstance(learner, KNeighborsRegressor)
        twin = clone(learner).fit(X, Y - raw, **({"sample_weight": counts} if takes_weights else {}))
        np.testing.assert_allclose(stage.predict(X), twin.predict(X), atol=1e-9)
        design = np.column_stack([design, stage.predict(X)])
        raw = regressed(design, init == "best", weight)
        np.testing.assert_allclose(found, raw, atol=1e-8)
        for column in design.T:
            slack = 1e-9 * np.linalg.norm(Y) * np.linalg.norm(column)
            assert abs((counts * (Y - found) * column).sum()) <= slack
    assert model.n_iter_ >= (3 if isinstance(learner, Ridge) else 8)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "poisson"])
def test_the_training_loss_is_below_that_of_stages_one_by_one(loss):
    params = {"estimators": MIXED, "loss": loss, "learning_rate": 1.0, "selection": "cycle"}
    last, every = (regressor(coefficients=which, **params).fit(X, POSITIVE) for which in ("last", "all"))
    assert every.history_.training_loss[0] <= last.history_.training_loss[0] * (1 + 1e-12)
    assert every.history_.training_loss[-1] < last.history_.training_loss[-1]
    if loss != "huber":
        assert (np.diff(every.history_.training_loss) < 0).all()


@pytest.mark.parametrize("labels", [TWO, LABELS], ids=["two", "three"])
def test_the_log_loss_is_below_that_of_stages_one_by_one(labels):
    last, every = (
        classifier(estimators=[TREE], learning_rate=1.0, coefficients=which, n_estimators=5).fit(X, labels, WEIGHT)
        for which in ("last", "all")
    )
    assert (np.diff(every.history_.training_loss) < 0).all()
    assert every.history_.training_loss[-1] < last.history_.training_loss[-1]


@each_corrected
def test_first_stages_are_those_of_shorter_fits(model):
    y = rows_of(model)
    whole = clone(model).fit(X, y)
    staged = list(whole.staged_predict(X))
    assert len(staged) == whole.n_iter_ == model.n_estimators
    np.testing.assert_array_equal(staged[-1], whole.predict(X))
    raw = whole.first_rounds(2).predict_raw(X)
    assert (np.abs(whole.coefficients_[:2] - whole.first_rounds(2).coefficients_) > 1e-6).any()
    for n_stages in (1, 2, 3):
        shorter = clone(model).set_params(n_estimators=n_stages).fit(X, y)
        first = whole.first_rounds(n_stages)
        assert first.fingerprint() == shorter.fingerprint() == reloaded(first).fingerprint()
        np.testing.assert_array_equal(staged[n_stages - 1], shorter.predict(X))
        np.testing.assert_array_equal(first.coefficients_, shorter.coefficients_)
    np.testing.assert_array_equal(whole.first_rounds(3).first_rounds(2).predict_raw(X), raw)


@each_corrected
def test_files_keep_all_stages(model):
    model = clone(model).fit(FRAME, rows_of(model))
    again = reloaded(model)
    assert again.fingerprint() == model.fingerprint()
    for mine, theirs in zip(again.staged_predict(FRAME), model.staged_predict(FRAME), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert again.fit(FRAME, rows_of(model)).fingerprint() == model.fingerprint()


@each_corrected
def test_the_loss_of_the_history_is_that_of_the_stages(model):
    y = rows_of(model)
    model = clone(model).fit(X, y)
    codes = np.searchsorted(model.classes_, y).astype(float) if hasattr(model, "classes_") else y
    start = np.zeros(len(model.init_)) if model.init == "zero" else model.loss_.start(codes, None)
    scored = model.loss_.for_round(codes, constant_raw(start, 150), None)
    for n_stages, value in enumerate(model.history_.training_loss, 1):
        raw = model.first_rounds(n_stages).predict_raw(X)
        assert scored.value(codes, raw[:, 0] if raw.shape[1] == 1 else raw) == pytest.approx(value, rel=1e-12)


def test_early_stopping_keeps_the_coefficients_of_the_best_stage():
    params = {"estimators": [DecisionTreeRegressor(max_leaf_nodes=12)], "early_stopping": True, **ALL}
    stopped = regressor(n_estimators=60, n_iter_no_change=5, **params).fit(X, Y)
    assert stopped.history_.stopped_by == "early stopping"
    assert stopped.n_iter_ < len(stopped.history_.validation_loss)
    same = regressor(n_estimators=stopped.n_iter_, n_iter_no_change=60, **params).fit(X, Y)
    assert same.fingerprint() == stopped.fingerprint()
    held = stopped.history_.validation_loss
    assert held[stopped.n_iter_ - 1] == min(held)


def test_an_interrupt_keeps_the_coefficients_of_the_stages_so_far(monkeypatch):
    model, best_step = regressor(estimators=[TREE], **ALL), AdditiveRun.best_step

    def interrupted(run, number):
        if number == 3:
            raise KeyboardInterrupt
        return best_step(run, number)

    expected = clone(model).set_params(n_estimators=3).fit(X, Y)
    monkeypatch.setattr(AdditiveRun, "best_step", interrupted)
    with pytest.warns(InterruptedFit):
        found = clone(model).fit(X, Y)
    assert found.fingerprint() == expected.fingerprint()


def test_rows_that_count_twice_are_two_rows():
    copies = np.arange(150) % 3 + 1
    for model in CORRECTED:
        y = rows_of(model)
        weighted = clone(model).fit(X, y, copies)
        repeated = clone(model).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
        np.testing.assert_allclose(outcome(weighted, X), outcome(repeated, X), rtol=1e-5, atol=1e-8)


def test_a_line_needs_as_many_stages_as_it_has_columns():
    """Ridge regression is shrunk, and each stage adds a direction of its own; then nothing is left."""
    model = regressor(estimators=[Ridge(alpha=50.0)], n_estimators=50, **ALL).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, Y).predict(X), atol=1e-6)
    assert model.n_iter_ <= 6
    assert model.history_.stopped_by == "no descent"


# --------------------------------------------------------------------------------------------- the start


def test_a_start_of_zero_leaves_all_to_the_learners():
    model = regressor(estimators=[TREE], init="zero", learning_rate=1.0).fit(X, Y)
    raw = np.zeros(150)
    for found in model.staged_predict(X):
        raw = raw + clone(TREE).fit(X, Y - raw).predict(X)
        np.testing.assert_allclose(found, raw, rtol=1e-9, atol=1e-12)
    for made in (model, regressor(init="zero", **ALL).fit(X, Y), classifier(init="zero").fit(X, LABELS)):
        assert not made.init_.any()
        assert reloaded(made).init_.tolist() == made.init_.tolist()
    nothing = regressor(init="zero").fit(X, np.zeros(150))
    assert (nothing.n_iter_, nothing.predict(X[:1]).tolist()) == (0, [0.0])


# --------------------------------------------------------------------------------------------- several outputs


class OneOutput(Ridge):
    """Takes one output at a time."""

    def fit(self, X, y, sample_weight=None):
        assert y.ndim == 1
        return super().fit(X, y, sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


@pytest.mark.parametrize("params", [{}, ALL], ids=["last", "all"])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_learners_of_several_outputs_are_fitted_once(params, weight):
    together = regressor(estimators=[Ridge()], **params).fit(X, TWO_OUTPUTS, weight)
    each = regressor(estimators=[OneOutput()], **params).fit(X, TWO_OUTPUTS, weight)
    assert [type(stage) for stage in together.estimators_] == [Ridge] * together.n_iter_
    assert [len(stage) for stage in each.estimators_] == [2] * each.n_iter_
    np.testing.assert_allclose(together.predict(X), each.predict(X), atol=1e-6)
    assert together.predict(X).shape == (150, 2)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_stages_of_several_outputs_are_those_of_each_with_one_coefficient(loss):
    y = np.exp(TWO_OUTPUTS / 3)
    model = regressor(estimators=[OneOutput()], loss=loss, learning_rate=0.5).fit(X, y)
    assert model.coefficients_.shape == (model.n_iter_,)
    raw = y.mean(axis=0) if loss == "squared_error" else np.log(y.mean(axis=0))
    np.testing.assert_allclose(model.init_, raw)
    raw = np.tile(raw, (150, 1))
    for stage, coefficient in zip(model.estimators_, model.coefficients_, strict=True):
        residual = y - (raw if loss == "squared_error" else np.exp(raw))
        twins = [Ridge().fit(X, column).predict(X) for column in residual.T]
        np.testing.assert_allclose(np.column_stack([m.predict(X) for m in stage]).T, twins, atol=1e-9)
        raw = raw + coefficient * np.column_stack(twins)
    np.testing.assert_allclose(model.predict_raw(X), raw, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), raw if loss == "squared_error" else np.exp(raw), atol=1e-9)
    assert (np.diff(model.history_.training_loss) < 0).all()


@pytest.mark.parametrize("params", [{"learning_rate": 1.0}, ALL], ids=["last", "all"])
def test_the_unit_of_an_output_does_not_matter(params):
    """Coefficients are shared: an output in thousands must not drown one in thousandths."""
    model = regressor(estimators=[OneOutput(alpha=30.0), KNeighborsRegressor()], selection="cycle", **params)
    units = np.array([1e3, 1e-3])
    plain, scaled = clone(model).fit(X, TWO_OUTPUTS), clone(model).fit(X, TWO_OUTPUTS * units)
    assert np.abs(plain.coefficients_ - 1).min() > 1e-3
    np.testing.assert_allclose(scaled.coefficients_, plain.coefficients_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(scaled.predict(X) / units, plain.predict(X), atol=1e-6)


def test_learners_of_both_kinds_share_a_model():
    learners = [("tree", TREE), ("each", arb.AdaBoostRegressor(n_estimators=3, bootstrap=False))]
    model = regressor(estimators=learners, selection="cycle", coefficients="all").fit(FRAME, TWO_OUTPUTS)
    assert [isinstance(stage, list) for stage in model.estimators_] == [False, True] * 4
    again = reloaded(model)
    assert again.fingerprint() == model.fingerprint()
    assert again.chosen_ == model.chosen_
    for mine, theirs in zip(again.staged_predict(FRAME), model.staged_predict(FRAME), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for n_stages in (1, 2, 3):
        shorter = clone(model).set_params(n_estimators=n_stages).fit(FRAME, TWO_OUTPUTS)
        assert model.first_rounds(n_stages).fingerprint() == shorter.fingerprint()
    alone = regressor(estimators=[learners[1]], n_estimators=2).fit(FRAME, TWO_OUTPUTS)
    assert reloaded(alone).fingerprint() == alone.fingerprint()


def test_forms_of_several_outputs():
    model = regressor(early_stopping=True, subsample=0.8, scoring="r2").fit(X, pd.DataFrame(TWO_OUTPUTS))
    assert model.predict(X).shape == (150, 2)
    assert model.score(X, TWO_OUTPUTS) > 0.3
    assert model.__sklearn_tags__().target_tags.multi_output
    column = regressor().fit(X, Y)
    with pytest.warns(UserWarning, match="column-vector y"):
        assert regressor().fit(X, Y[:, None]).fingerprint() == column.fingerprint()
    for learner in (LinearSVR(), GradientBoostingRegressor(n_estimators=3)):  # one output each
        assert len(regressor(estimators=[learner], n_estimators=1).fit(X, TWO_OUTPUTS).estimators_[0]) == 2


class Duck:
    """Has no tags."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        self.mean = y.mean() + 1.0
        assert y.ndim == 1
        return self

    def predict(self, X):
        return np.full(len(X), self.mean)


class Narrow(Ridge):
    """Forgets an output."""

    def predict(self, X):
        return super().predict(X)[:, :1]


def test_what_several_outputs_refuse():
    holes = TWO_OUTPUTS.copy()
    holes[7, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"^y\[7, 1\] is missing, but learners are fitted to all outputs of every row: "
    ):
        regressor().fit(X, holes)
    with pytest.raises(ValueError, match=r"^loss 'absolute_error' has no form for 2 outputs"):
        regressor(loss="absolute_error").fit(X, TWO_OUTPUTS)
    with pytest.raises(ValueError, match=r"^y should be a 1d array, got an array of shape \(150, 2\)"):
        classifier().fit(X, TWO_OUTPUTS > 0)
    message = (
        r"^learner 0 \(Narrow\) of stage 1 predicts an array of shape \(150, 1\): expected \(150, 2\), 2 numbers per"
    )
    with pytest.raises(ValueError, match=message):
        regressor(estimators=[Narrow()]).fit(X, TWO_OUTPUTS)


def test_learners_without_tags_take_one_output():
    assert not takes_outputs(Duck())
    assert takes_outputs(Ridge())
    assert not takes_outputs(LinearSVR())
    assert takes_outputs(arb.RandomForestRegressor())


# --------------------------------------------------------------------------------------------- damaged files

DAMAGE = {
    "a path of other stages": lambda h, a: a.__setitem__("path", a["path"][1:]),
    "a path of other coefficients": lambda h, a: a.__setitem__("path", a["path"][:, 1:].copy()),
    "a path that is not finite": lambda h, a: a.__setitem__("path", a["path"] * np.nan),
    "a path of integers": lambda h, a: a.__setitem__("path", a["path"].astype(np.int32)),
    "sizes of fewer stages": lambda h, a: h["sizes"].pop(),
    "a size of a kind": lambda h, a: h["sizes"].__setitem__(0, True),
    "a size of another number": lambda h, a: h["sizes"].__setitem__(0, 3),
    "sizes that are a number": lambda h, a: h.__setitem__("sizes", 10**12),
    "more learners than there are": lambda h, a: h["sizes"].__setitem__(0, 2),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_refused(damage, tmp_path):
    file = tmp_path / "model.arb"
    regressor(estimators=[TREE], coefficients="all", n_estimators=3).fit(X, TWO_OUTPUTS).save(file)
    header, arrays = model_file.from_bytes(file.read_bytes())
    assert (header["sizes"], arrays["path"].shape) == ([1, 1, 1], (3, 5))
    DAMAGE[damage](header, arrays)
    model_file.save(file, header, arrays, compact=False)
    with pytest.raises(arb.ModelFileError, match="model file"):
        arb.load(file)
