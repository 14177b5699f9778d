"""Additive boosting: laws of its stages, rivals, tables, weights, files, and what is refused."""

from __future__ import annotations

import inspect
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from sklearn.tree import DecisionTreeRegressor as TheirTree
from tests.reference.additive_models import (
    EVERY,
    FRAME,
    LABELS,
    MIXED,
    RNG,
    TWO,
    WEIGHT,
    X,
    Y,
    classifier,
    every_model,
    outcome,
    regressor,
    target_of,
)
from tests.reference.sklearn_checks import checks_of

from arboretum import DecisionTreeRegressor, losses
from arboretum.data.weights import in_rows
from arboretum.losses import Loss, Quantile

# --------------------------------------------------------------------------------------------- scikit-learn's checks


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(
        regressor(n_estimators=30),
        classifier(),
        regressor(estimators=[Ridge(), DecisionTreeRegressor(max_leaf_nodes=4)], selection="cycle", n_estimators=30),
        classifier(estimators=[("line", Ridge())], subsample=0.8),
    ),
    ids=lambda case: getattr(getattr(case, "func", case), "__name__", None) or repr(case),
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


def test_tags_are_what_all_learners_accept():
    ours, mixed = (model.__sklearn_tags__().input_tags for model in (regressor(), regressor(estimators=MIXED)))
    assert ours.allow_nan
    assert ours.string
    assert ours.sparse
    assert not mixed.allow_nan
    assert not mixed.string
    assert not mixed.sparse  # splines


# --------------------------------------------------------------------------------------------- laws of the stages


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_stages_equal_a_plain_twin(weight):
    """Squared error, one exact tree and no shrinking: each stage is a tree on what is left over."""
    tree = DecisionTreeRegressor(max_leaf_nodes=4)
    model = regressor(estimators=[tree], learning_rate=1.0).fit(X, Y, weight)
    raw = np.full(150, np.average(Y, weights=weight))
    np.testing.assert_allclose(model.init_, raw[:1], rtol=1e-14)
    for stage, found in enumerate(model.staged_predict(X)):
        twin = clone(tree).fit(X, Y - raw, weight)
        raw = raw + twin.predict(X)
        np.testing.assert_allclose(found, raw, rtol=1e-9, atol=1e-12)
        assert model.coefficients_[stage] == pytest.approx(1, rel=1e-9)
    assert stage == 7


@pytest.mark.parametrize("params", [{}, {"learning_rate": 1.0, "n_estimators": 10}, {"max_depth": 2}])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("columns", [1, 4])
def test_squared_error_of_trees_is_gradient_boosting(params, weight, columns):
    """Several columns can cut a few rows in the same way: then which is drawn, and new rows may go elsewhere."""
    X_some, new = X[:, :columns], RNG.normal(size=(200, columns))
    theirs = GradientBoostingRegressor(**{"n_estimators": 40, **params}, random_state=0)
    ours = regressor(
        estimators=[TheirTree(max_depth=theirs.max_depth)],
        n_estimators=theirs.n_estimators,
        learning_rate=theirs.learning_rate,
    ).fit(X_some, Y, weight)
    theirs.fit(X_some, Y, weight)
    np.testing.assert_allclose(ours.predict(X_some), theirs.predict(X_some), rtol=1e-9, atol=1e-9)
    if columns == 1:
        np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.coefficients_, theirs.learning_rate, rtol=1e-9)


def test_coefficient_of_squared_error_is_that_of_least_squares():
    """Learners that were fitted to a part of the rows are scaled to all of them."""
    model = regressor(estimators=MIXED, learning_rate=1.0, subsample=0.5).fit(X, Y, WEIGHT)
    raw = np.full(150, model.init_[0])
    for learner, coefficient in zip(model.estimators_, model.coefficients_, strict=True):
        step = learner.predict(X)
        line = LinearRegression(fit_intercept=False).fit(step[:, None], Y - raw, WEIGHT)
        assert coefficient == pytest.approx(line.coef_[0], rel=1e-9)
        raw = raw + coefficient * step
    assert not np.allclose(model.coefficients_, 1, rtol=1e-3)


POSITIVE = np.exp(Y / 2)
SMOOTH_AND_NOT = [*(name for name, build in losses.LOSSES.items() if build().task == "regression"), Quantile(0.8)]


@pytest.mark.parametrize("loss", SMOOTH_AND_NOT, ids=str)
@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("params", [{}, {"selection": "cycle", "subsample": 0.5}], ids=["best", "cycle"])
def test_the_loss_of_a_stage_never_rises(loss, rate, weight, params):
    model = regressor(estimators=MIXED, loss=loss, learning_rate=rate, **params).fit(X, POSITIVE, weight)
    assert model.n_iter_ > 2
    stages = [model.first_rounds(n + 1).predict_raw(X)[:, 0] for n in range(model.n_iter_)]
    raws = [np.full(len(X), model.init_[0]), *stages]
    for before, after in pairwise(raws):
        of_stage = model.loss_.for_round(POSITIVE, before, weight)
        assert of_stage.value(POSITIVE, after, weight) < of_stage.value(POSITIVE, before, weight)
    if model.loss_.name != "huber":
        assert (np.diff(model.history_.training_loss) < 0).all()
    scored = model.loss_.for_round(POSITIVE, raws[0], weight)
    np.testing.assert_allclose(model.history_.training_loss, [scored.value(POSITIVE, raw, weight) for raw in raws[1:]])


@pytest.mark.parametrize("labels", [TWO, LABELS], ids=["two", "three"])
@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_the_log_loss_never_rises(labels, rate):
    model = classifier(estimators=MIXED, learning_rate=rate, n_estimators=15).fit(X, labels, WEIGHT)
    assert len(model.history_.training_loss) == 15
    assert (np.diff(model.history_.training_loss) < 0).all()
    assert model.score(X, labels) > 0.9


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_the_learner_that_lowers_the_loss_most_is_taken(loss):
    """Each learner alone, for one stage: the first stage of all together is that of the best."""
    of_each = {
        name: regressor(estimators=[(name, learner)], loss=loss, n_estimators=1, learning_rate=1.0).fit(X, POSITIVE)
        for name, learner in MIXED
    }
    together = regressor(estimators=MIXED, loss=loss, n_estimators=1, learning_rate=1.0).fit(X, POSITIVE)
    best = min(of_each, key=lambda name: of_each[name].history_.training_loss[0])
    assert together.chosen_ == [best]
    np.testing.assert_array_equal(together.predict(X), of_each[best].predict(X))


def test_learners_take_turns():
    model = regressor(estimators=MIXED, selection="cycle").fit(X, Y)
    assert model.chosen_ == ["tree", "line", "spline", "near"] * 2
    assert [type(learner) for learner in model.estimators_[:2]] == [DecisionTreeRegressor, Ridge]
    assert regressor(estimators=[Ridge(), TheirTree(max_depth=2)], selection="cycle").fit(X, Y).chosen_[:3] == [0, 1, 0]


def test_the_start_is_the_best_constant():
    assert regressor().fit(X, Y).init_ == pytest.approx([Y.mean()])
    assert regressor(loss="absolute_error").fit(X, Y).init_ == [np.sort(Y)[74]]
    share = (TWO == "yes").mean()
    assert classifier().fit(X, TWO).init_ == pytest.approx([np.log(share / (1 - share))])
    assert classifier().fit(X, LABELS).init_.shape == (3,)


def test_each_class_has_its_learner_and_a_stage_one_coefficient():
    model = classifier(n_estimators=3, learning_rate=0.5).fit(X, LABELS)
    assert [len(stage) for stage in model.estimators_] == [3, 3, 3]
    assert model.coefficients_.shape == (3,)
    raw = np.tile(model.init_, (150, 1))
    codes = np.searchsorted(model.classes_, LABELS)
    for stage, coefficient in zip(model.estimators_, model.coefficients_, strict=True):
        residual = np.eye(3)[codes] - np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)
        twins = [DecisionTreeRegressor(max_leaf_nodes=8).fit(X, column) for column in residual.T]
        np.testing.assert_allclose([m.predict(X) for m in stage], [m.predict(X) for m in twins], atol=1e-12)
        raw = raw + coefficient * np.column_stack([learner.predict(X) for learner in stage])
    np.testing.assert_allclose(model.decision_function(X), raw, atol=1e-12)


@pytest.mark.parametrize("labels", [TWO, LABELS], ids=["two", "three"])
def test_views_of_a_classifier_agree(labels):
    model = classifier().fit(X, labels)
    proba, raw = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    assert raw.shape == ((150,) if len(model.classes_) == 2 else (150, 3))
    for staged, last in (
        (model.staged_predict, model.predict(X)),
        (model.staged_predict_proba, proba),
        (model.staged_decision_function, raw),
    ):
        stages = list(staged(X))
        assert len(stages) == model.n_iter_ == 8
        np.testing.assert_array_equal(stages[-1], last)
    first = classifier(n_estimators=1).fit(X, labels)
    np.testing.assert_array_equal(next(model.staged_predict_proba(X)), first.predict_proba(X))


# --------------------------------------------------------------------------------------------- rows, weights, seeds


@every_model
def test_fits_are_equal_to_the_bit(model):
    first, again = (clone(model).fit(X, target_of(model)) for _ in range(2))
    np.testing.assert_array_equal(outcome(first, X), outcome(again, X))
    assert first.chosen_ == again.chosen_


def test_threads_of_learners_do_not_matter():
    prints = {
        classifier(estimators=[DecisionTreeRegressor(max_leaf_nodes=5, n_jobs=n_jobs)]).fit(FRAME, LABELS).fingerprint()
        for n_jobs in (1, 2, 3, 8)
    }
    assert len(prints) == 1


def test_seeds_reach_learners_and_draws():
    random = [TheirTree(max_depth=3, max_features=1)]
    a, b, c = (regressor(estimators=random, random_state=seed).fit(X, Y).predict(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)
    states = [learner.random_state for learner in regressor(estimators=random).fit(X, Y).estimators_]
    assert len(set(states)) == 8
    a, b, c = (regressor(subsample=0.5, random_state=seed).fit(X, Y).predict(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)
    assert random[0].random_state is None  # the user's own stays as it is


class Recording(Ridge):
    """Keeps what it is fitted to."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.seen.append((X, y, sample_weight))
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("early", [False, True])
def test_learners_see_a_share_of_the_rows_and_the_line_search_all(early):
    Recording.seen.clear()
    model = regressor(estimators=[Recording()], subsample=0.4, early_stopping=early, n_iter_no_change=50).fit(X, Y)
    n_rows = 135 if early else 150
    assert {len(rows) for rows, _, _ in Recording.seen} == {round(0.4 * n_rows)}
    drawn = Counter(value for rows, _, _ in Recording.seen for value in rows[:, 0])
    assert len(drawn) > 0.8 * n_rows
    assert set(drawn) <= set(X[:, 0])
    assert len(model.history_.validation_loss) == (8 if early else 0)


def test_rows_of_no_weight_take_no_part():
    weight = (np.arange(150) % 3 > 0).astype(float)
    for model in EVERY:
        y = target_of(model)
        with_zeros = clone(model).fit(X, y, weight)
        without = clone(model).fit(X[weight > 0], y[weight > 0])
        np.testing.assert_allclose(outcome(with_zeros, X), outcome(without, X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("subsample", [1.0, 0.5])
@pytest.mark.parametrize("learner", [Ridge(), DecisionTreeRegressor(max_leaf_nodes=4), MIXED[2][1]], ids=repr)
def test_weights_are_repetitions(learner, subsample):
    copies = RNG.integers(1, 4, 150)
    weighted, repeated = (regressor(estimators=[learner], subsample=subsample) for _ in range(2))
    weighted.fit(X, Y, copies)
    repeated.fit(np.repeat(X, copies, axis=0), np.repeat(Y, copies))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7, atol=1e-9)


def test_learners_that_know_no_weights_get_copies():
    learner, copies = KNeighborsRegressor(n_neighbors=4), np.arange(150) % 3 + 1
    weighted = regressor(estimators=[learner]).fit(X, Y, copies)
    repeated = regressor(estimators=[learner]).fit(np.repeat(X, copies, axis=0), np.repeat(Y, copies))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)
    assert not np.allclose(weighted.predict(X), regressor(estimators=[learner]).fit(X, Y).predict(X))
    assert weighted.estimators_[0].n_samples_fit_ == copies.sum()
    assert regressor(estimators=[learner]).fit(X, Y, WEIGHT).estimators_[0].n_samples_fit_ == 150


def test_weights_reach_the_last_step_of_a_pipeline():
    pipeline = make_pipeline(SplineTransformer(n_knots=3), Recording())
    Recording.seen.clear()
    regressor(estimators=[pipeline], n_estimators=1).fit(X, Y, WEIGHT)
    np.testing.assert_array_equal(Recording.seen[0][2], in_rows(WEIGHT))
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            regressor(estimators=[pipeline], n_estimators=1).fit(X, Y, WEIGHT)
        spline = SplineTransformer(n_knots=3).set_fit_request(sample_weight=False)
        asked = make_pipeline(spline, Recording().set_fit_request(sample_weight=True))
        Recording.seen.clear()
        regressor(estimators=[asked], n_estimators=1).fit(X, Y, WEIGHT)
        np.testing.assert_array_equal(Recording.seen[0][2], in_rows(WEIGHT))
    with_knn = make_pipeline(SplineTransformer(n_knots=3), KNeighborsRegressor())
    assert np.isfinite(regressor(estimators=[with_knn]).fit(X, Y, WEIGHT).predict(X)).all()


def test_early_stopping_keeps_the_best_stage():
    model = regressor(early_stopping=True, n_estimators=300, learning_rate=0.5, n_iter_no_change=4).fit(X, Y)
    history = model.history_
    assert history.stopped_by == "early stopping"
    assert model.n_iter_ == len(model.estimators_) == history.best_round < len(history.validation_loss) < 300
    assert classifier(early_stopping=True, n_estimators=300, learning_rate=1.0).fit(X, LABELS).n_iter_ < 300


@pytest.mark.parametrize("model", [regressor(), regressor(estimators=MIXED, selection="cycle")], ids=["best", "cycle"])
def test_nothing_to_learn(model):
    model = clone(model).fit(X, np.full(150, 3.0))
    assert (model.n_iter_, model.estimators_, model.chosen_) == (0, [], [])
    assert model.history_.stopped_by == "no descent"
    assert model.predict(X[:2]).tolist() == [3.0, 3.0]
    assert list(model.staged_predict(X)) == []


@pytest.mark.parametrize("scale", [1e-90, 1e90])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_targets_of_any_size(loss, scale):
    model = regressor(loss=loss, n_estimators=30).fit(X, Y * scale)
    assert model.score(X, Y * scale) == pytest.approx(regressor(loss=loss, n_estimators=30).fit(X, Y).score(X, Y))


# --------------------------------------------------------------------------------------------- tables


def test_text_and_holes_reach_trees_of_ours():
    frame = FRAME.assign(d=np.where(np.arange(150) % 5 == 0, np.nan, X[:, 0]))
    y = (frame["town"] == "Oslo") * 3.0 + frame["d"].isna() * 2.0
    model = regressor(n_estimators=40, learning_rate=0.5).fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), y, atol=1e-3)
    assert np.isfinite(model.predict(frame.assign(town="Paris"))).all()


def test_holes_that_a_draw_has_missed_raise_no_warning():
    holes = X.copy()
    holes[0, 0] = np.nan
    model = regressor(subsample=0.3, n_estimators=20).fit(holes, Y)
    model.predict(holes)
    with pytest.warns(UserWarning, match=r"missing values in columns that had none at fit: 'x1'"):
        model.predict([[1.0, np.nan, 0.0, 0.0]])


def test_learners_receive_what_was_given():
    class Frames(Ridge):
        def fit(self, X, y):
            assert isinstance(X, pd.DataFrame)
            return super().fit(X[["d", "b"]], y)

        def predict(self, X):
            return super().predict(X[["d", "b"]])

    model = regressor(estimators=[("frame", Frames()), MIXED[0]], subsample=0.8).fit(FRAME, Y)
    assert set(model.chosen_) == {"frame", "tree"}
    np.testing.assert_array_equal(model.predict(FRAME[FRAME.columns[::-1]]), model.predict(FRAME))
    assert model.feature_names_in_.tolist() == ["d", "b", "c", "a", "town"]


@pytest.mark.parametrize("make", [np.asarray, csr_matrix, pd.DataFrame, lambda rows: rows.tolist()])
def test_any_container_gives_the_same_model(make):
    rows = np.where(np.abs(X) < 0.3, 0.0, X)
    model = regressor(subsample=0.7).fit(make(rows), Y)
    np.testing.assert_allclose(model.predict(make(rows)), regressor(subsample=0.7).fit(rows, Y).predict(rows))


@pytest.mark.parametrize("labels", [[0, 1], [True, False], [-5, 7], ["b", "a"], [1.0, 2.0]])
def test_any_labels(labels):
    y = np.array(labels)[(Y > 1).astype(int)]
    model = classifier(n_estimators=20, learning_rate=0.5).fit(X, y)
    assert model.classes_.tolist() == sorted(labels)
    assert (model.predict(X) == y).mean() > 0.95


def test_meta_estimators():
    assert cross_val_score(regressor(n_estimators=40, estimators=MIXED[:2]), X, Y, cv=3).min() > 0.7
    search = GridSearchCV(regressor(), {"learning_rate": [0.01, 0.5], "estimators": [None, MIXED[:2]]}, cv=3)
    assert search.fit(X, Y).best_params_["learning_rate"] == 0.5


def test_parameters_of_named_learners_are_parameters_of_the_model():
    model = regressor(estimators=[("line", Ridge(alpha=2.0)), DecisionTreeRegressor(max_leaf_nodes=3)])
    params = model.get_params()
    assert params["line"] is model.estimators[0][1]
    assert params["line__alpha"] == 2.0
    assert set(model.get_params(deep=False)) == set(inspect.signature(type(model)).parameters)
    model.set_params(line__alpha=5.0, n_estimators=2)
    assert (model.estimators[0][1].alpha, model.n_estimators) == (5.0, 2)
    model.set_params(line=KNeighborsRegressor(), line__n_neighbors=3)
    assert repr(model.estimators[0]) == "('line', KNeighborsRegressor(n_neighbors=3))"
    assert repr(model.estimators[1]) == "DecisionTreeRegressor(max_leaf_nodes=3)"
    model.set_params(estimators=[("other", Ridge())], other__alpha=7.0)
    assert model.get_params()["other__alpha"] == 7.0
    with pytest.raises(ValueError, match=r"^AdditiveBoostingRegressor has no parameter 'line'"):
        model.set_params(line__alpha=1.0)
    search = GridSearchCV(regressor(estimators=MIXED), {"line__alpha": [0.1, 10.0], "near": [TheirTree()]}, cv=2)
    assert search.fit(X, Y).best_estimator_.get_params()["near"].get_params()["max_depth"] is None
    assert MIXED[1][1].alpha == 1.0


# --------------------------------------------------------------------------------------------- losses


class LogCosh(Loss):
    def values(self, y, raw):
        return np.logaddexp(raw - y, y - raw) - np.log(2)

    def gradients(self, y, raw):
        slope = np.tanh(raw - y)
        return slope, 1 - slope**2


class Broken(LogCosh):
    def start(self, y, weight):
        return np.zeros(1)

    def gradients(self, y, raw):
        return np.where(np.arange(len(y)) == 3, np.nan, 1.0), np.ones_like(raw)


def test_a_loss_of_the_users():
    model = regressor(loss=LogCosh(), n_estimators=40, learning_rate=0.5).fit(X, Y)
    assert model.score(X, Y) > 0.95
    assert (np.diff(model.history_.training_loss) < 0).all()
    with pytest.raises(ValueError, match=r"returned gradients that are not finite, first in row 3$"):
        regressor(loss=Broken()).fit(X, Y)


def test_losses_with_a_link_predict_positive_numbers():
    model = regressor(loss="poisson", estimators=MIXED, n_estimators=30).fit(X, POSITIVE)
    assert model.predict(X).min() > 0
    np.testing.assert_allclose(model.predict(X), np.exp(model.predict_raw(X)[:, 0]))
