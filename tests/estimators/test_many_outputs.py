"""Boosted trees with several outputs: shapes, laws, errors, files, and what combines with vector leaves."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import cross_val_score
from tests.reference.files import content, loaded
from tests.reference.sklearn_checks import checks_of

import arboretum as arb

RNG = np.random.default_rng(0)
N = 600
X = RNG.normal(size=(N, 5))
X[RNG.random(X.shape) < 0.05] = np.nan
TOWN = np.array(["Oslo", "Rome", "Lima"])[RNG.integers(0, 3, N)]
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(town=TOWN)
FILLED = np.nan_to_num(X)
SIGNAL = np.column_stack([FILLED[:, 0] + (TOWN == "Rome"), FILLED[:, 1] * FILLED[:, 2], np.abs(FILLED[:, 0])])
Y = SIGNAL + 0.1 * RNG.normal(size=SIGNAL.shape)
LABELS = (SIGNAL > 0.3).astype(int)
WEIGHT = RNG.random(N) + 0.2


SETTINGS = {
    "n_estimators": 30,
    "learning_rate": 0.2,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 10,
    "l2": 0.0,
    "subsample": 1.0,
    "max_features": 1.0,
    "category_levels": None,
    "early_stopping": False,
    "n_iter_no_change": 10,
    "refit": False,
}


def regressor(**params):
    return arb.BoostedTreesRegressor(**{**SETTINGS, **params})


def classifier(**params):
    return arb.BoostedTreesClassifier(**{**SETTINGS, **params})


SEVERAL = [(regressor, Y), (classifier, LABELS)]


# ---------------------------------------------------------------------------------------------------- predictions


def test_one_tree_a_round_for_all_outputs():
    model = regressor().fit(FRAME, Y)
    assert (model.forest_.n_trees, model.forest_.width, model.n_iter_) == (30, 3, 30)
    assert (model.forest_.tree_output == -1).all()
    assert model.predict(FRAME).shape == (N, 3)
    assert model.apply(FRAME).shape == (N, 30)
    assert model.score(FRAME, Y) > 0.8
    assert "tree 0 of 30" in model.to_text(0)


@pytest.mark.parametrize("leaf_steps", [1, 3])
def test_one_tree_an_output_where_asked(leaf_steps):
    """Outputs that share no tree are models of their own."""
    model = regressor(vector_leaves=False, leaf_steps=leaf_steps).fit(FRAME, Y)
    assert (model.forest_.n_trees, model.forest_.width, model.n_iter_) == (90, 1, 30)
    alone = regressor(leaf_steps=leaf_steps).fit(FRAME, Y[:, 1])
    np.testing.assert_allclose(model.predict(FRAME)[:, 1], alone.predict(FRAME), rtol=1e-9, atol=1e-9)


def test_one_output_of_a_matrix_is_one_output():
    with pytest.warns(UserWarning, match="column-vector"):
        model = regressor().fit(FRAME, Y[:, :1])
    assert model.fingerprint() == regressor().fit(FRAME, Y[:, 0]).fingerprint()
    assert regressor(vector_leaves=True).fit(FRAME, Y[:, 0]).fingerprint() == model.fingerprint()


@pytest.mark.parametrize("frame", [pd.DataFrame(Y), pl.DataFrame(Y, schema=["p", "q", "r"]), Y.tolist()], ids=type)
def test_targets_of_any_container(frame):
    assert regressor().fit(FRAME, frame).fingerprint() == regressor().fit(FRAME, Y).fingerprint()


@pytest.mark.parametrize(("make", "y"), SEVERAL, ids=["numbers", "labels"])
def test_stages_end_in_the_prediction(make, y):
    model = make().fit(FRAME, y)
    stages = list(model.staged_predict(FRAME))
    assert len(stages) == 30
    np.testing.assert_array_equal(stages[-1], model.predict(FRAME))


def test_labels_follow_the_conventions_of_forests():
    model, forest = classifier().fit(FRAME, LABELS), arb.RandomForestClassifier(n_estimators=5).fit(FRAME, LABELS)
    assert [part.tolist() for part in model.classes_] == [part.tolist() for part in forest.classes_]
    proba = model.predict_proba(FRAME)
    assert [part.shape for part in proba] == [part.shape for part in forest.predict_proba(FRAME)] == [(N, 2)] * 3
    predicted = model.predict(FRAME)
    assert predicted.dtype == LABELS.dtype
    for output, part in enumerate(proba):
        np.testing.assert_allclose(part.sum(axis=1), 1)
        np.testing.assert_array_equal(part.argmax(axis=1), predicted[:, output])
        np.testing.assert_allclose(part[:, 1], 1 / (1 + np.exp(-model.decision_function(FRAME)[:, output])))
    assert model.score(FRAME, LABELS) > 0.8
    assert len(list(model.staged_predict_proba(FRAME))) == 30


def test_labels_of_different_types():
    mixed = np.column_stack([np.where(LABELS[:, 0], "yes", "no").astype(object), LABELS[:, 1]])
    model = classifier().fit(FRAME, mixed)
    assert [part.tolist() for part in model.classes_] == [["no", "yes"], [0, 1]]
    assert set(model.predict(FRAME)[0]) <= {"yes", "no", 0, 1}
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))


@pytest.mark.parametrize("vector_leaves", [True, False])
def test_classes_of_one_target_may_share_trees(vector_leaves):
    y = np.digitize(SIGNAL[:, 0], [-0.5, 0.5])
    model = classifier(vector_leaves=vector_leaves).fit(FRAME, y)
    assert model.forest_.n_trees == (30 if vector_leaves else 90)
    assert log_loss(y, model.predict_proba(FRAME)) < 0.35
    assert model.predict_proba(FRAME).shape == (N, 3)


def test_classes_share_no_trees_by_default():
    y = np.digitize(SIGNAL[:, 0], [-0.5, 0.5])
    assert classifier().fit(FRAME, y).fingerprint() == classifier(vector_leaves=False).fit(FRAME, y).fingerprint()


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_other_losses_of_newton_steps(loss):
    y = np.exp(Y / 2) + 0.1
    model = regressor(loss=loss).fit(FRAME, y)
    assert (model.predict(FRAME) > 0).all()
    assert r2_score(y, model.predict(FRAME)) > 0.6


class Mine(arb.losses.Loss):
    """A loss written in Python."""

    def values(self, y, raw):
        return 0.5 * (y - raw) ** 2

    def gradients(self, y, raw):
        return raw - y, np.ones_like(raw)


def test_a_loss_of_the_user_for_each_output():
    model, built_in = regressor(loss=Mine()).fit(FRAME, Y), regressor().fit(FRAME, Y)
    np.testing.assert_allclose(model.predict(FRAME), built_in.predict(FRAME), rtol=1e-6, atol=1e-6)


# ----------------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("vector_leaves", [True, False])
def test_missing_targets_cost_nothing(vector_leaves):
    holes = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)
    model = regressor(vector_leaves=vector_leaves).fit(FRAME, holes)
    assert np.isfinite(model.predict(FRAME)).all()
    assert r2_score(Y, model.predict(FRAME)) > 0.75
    objects = np.where(np.isnan(holes), None, holes.astype(object))
    assert regressor(vector_leaves=vector_leaves).fit(FRAME, objects).fingerprint() == model.fingerprint()


def test_rows_without_any_target_are_no_rows():
    more = pd.concat([FRAME, FRAME[:50]], ignore_index=True)
    holes = np.vstack([Y, np.full((50, 3), np.nan)])
    assert regressor().fit(more, holes).fingerprint() == regressor().fit(FRAME, Y).fingerprint()
    weighted = regressor().fit(more, holes, sample_weight=np.r_[WEIGHT, np.ones(50)])
    plain = regressor().fit(FRAME, Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(weighted.predict(FRAME), plain.predict(FRAME), rtol=1e-9)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from([1e-20, 1e-3, 1.0, 1e7, 1e30]), min_size=3, max_size=3), st.floats(-5, 5))
def test_units_of_outputs_change_nothing(scales, shift):
    plain, scaled = regressor(n_estimators=5).fit(FRAME, Y), regressor(n_estimators=5)
    scaled.fit(FRAME, (Y + shift) * scales)
    np.testing.assert_allclose(scaled.predict(FRAME) / scales - shift, plain.predict(FRAME), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize(
    "params",
    [{}, {"subsample": 0.5}, {"sampling": "goss"}, {"dart_rate": 0.3}, {"leaf_steps": 3}, {"trees_per_round": 2}],
    ids=str,
)
def test_any_growth_and_sample(growth, params):
    model = regressor(growth=growth, **params).fit(FRAME, Y)
    assert model.score(FRAME, Y) > 0.5
    raw = model.forest_.raw(model.model_.conform(FRAME).columns, N)
    np.testing.assert_array_equal(raw, model.predict(FRAME))


@pytest.mark.parametrize("params", [{"second_order": False}, {"prune": True, "min_gain": 0.5}, {"score_noise": 1.0}])
def test_other_switches(params):
    assert regressor(**params).fit(FRAME, Y).score(FRAME, Y) > 0.6
    assert classifier(**params).fit(FRAME, LABELS).score(FRAME, LABELS) > 0.6


def test_many_steps_in_the_leaves_find_the_best_value():
    """One tree of log losses, no shrinkage: the probability of each leaf is its share of ones."""
    model = classifier(n_estimators=1, learning_rate=1.0, leaf_steps=50).fit(FRAME, LABELS)
    leaf, proba = model.apply(FRAME)[:, 0], model.predict_proba(FRAME)
    for node in np.unique(leaf):
        own = leaf == node
        for output in range(3):
            share = LABELS[own, output].mean()
            assert proba[output][own, 1] == pytest.approx(share, abs=1e-6 if 0 < share < 1 else 1e-3)


def test_every_output_keeps_its_direction():
    y = np.column_stack([FILLED[:, 0] + np.sin(5 * FILLED[:, 0]), -FILLED[:, 0] + np.sin(5 * FILLED[:, 1])])
    free, bound = regressor().fit(X, y), regressor(monotonic_cst=[1, 0, 0, 0, 0]).fit(X, y)
    grid = np.tile(np.nanmedian(X, axis=0), (200, 1))
    grid[:, 0] = np.linspace(-3, 3, 200)
    assert (np.diff(free.predict(grid), axis=0) < 0).any()
    assert (np.diff(bound.predict(grid), axis=0) >= 0).all()
    assert r2_score(y[:, 0], bound.predict(X)[:, 0]) > 0.7


def test_threads_do_not_change_the_model_of_many_rows():
    """Beyond 65,536 rows gradients are single precision, and sums come in several blocks."""
    rng = np.random.default_rng(1)
    big = rng.normal(size=(70_000, 4))
    many = np.column_stack([big[:, 0], big[:, 1] > 0, big[:, 2] * big[:, 3]])
    models = [regressor(n_estimators=4, n_jobs=n_jobs).fit(big, many) for n_jobs in (1, 2, 5)]
    assert len({model.fingerprint() for model in models}) == 1
    assert models[0].score(big, many) > 0.4


def test_categories_of_several_outputs_are_split_by_sets():
    assert regressor(category_levels=1).fit(FRAME, Y).fingerprint() == regressor().fit(FRAME, Y).fingerprint()


def test_defaults_take_several_outputs():
    for cls, y in ((arb.BoostedTreesRegressor, Y), (arb.BoostedTreesClassifier, LABELS)):
        model = cls(n_estimators=20).fit(pd.concat([FRAME] * 2), np.tile(y, (2, 1)))
        assert model.forest_.width == 3
        assert model.predict(FRAME).shape == y.shape


def test_seeds_draw_other_mixtures():
    prints = {regressor(random_state=seed).fit(FRAME, Y).fingerprint() for seed in (0, 0, 1)}
    assert len(prints) == 2


# -------------------------------------------------------------------------------- stopping, continuing, files, tags


@pytest.mark.parametrize(("make", "y"), SEVERAL, ids=["numbers", "labels"])
def test_early_stopping_keeps_the_best_round(make, y):
    noisy = RNG.permutation(y)
    model = make(early_stopping=True, n_estimators=200, n_iter_no_change=5).fit(FRAME, noisy)
    assert model.history_.stopped_by == "early stopping"
    assert model.n_iter_ == model.history_.best_round < 200
    held = make(n_estimators=10, early_stopping=True).fit(FRAME[:400], y[:400], X_val=FRAME[400:], y_val=y[400:])
    score = held.loss_.value
    if make is regressor:
        last = score(y[400:], held.predict(FRAME[400:]))
        assert min(held.history_.validation_loss) == pytest.approx(last, rel=1e-9)


@pytest.mark.parametrize(("make", "y"), SEVERAL, ids=["numbers", "labels"])
def test_continuing_is_never_having_stopped(make, y):
    whole, part = make(n_estimators=12).fit(FRAME, y), make(n_estimators=5, warm_start=True).fit(FRAME, y)
    part.set_params(n_estimators=12).fit(FRAME, y)
    assert part.n_iter_ == 12
    np.testing.assert_allclose(part.forest_.value, whole.forest_.value, rtol=1e-9, atol=1e-12)
    more = make(n_estimators=5).fit(FRAME, y).fit_more(FRAME, y, n_estimators=7)
    assert more.fingerprint() == part.fingerprint()


def test_rounds_that_help_no_more_leave_the_model_as_it_was():
    noise = RNG.normal(size=(N, 2))
    model = regressor(n_estimators=60, early_stopping=True, n_iter_no_change=2).fit(
        FRAME[:300], noise[:300], X_val=FRAME[300:], y_val=noise[300:]
    )
    rounds = model.n_iter_
    model.fit_more(FRAME[:300], noise[:300], n_estimators=3, X_val=FRAME[300:], y_val=noise[300:])
    assert model.n_iter_ >= rounds
    assert model.forest_.width == 2


@pytest.mark.parametrize(
    ("y", "output", "message"),
    [
        (Y, 0, r"tree_output\[3\] = 0 must be −1 for vector leaves"),
        (Y[:, 0], -1, "tree_output: some trees have one output, others all"),
    ],
    ids=["several outputs", "one output"],
)
def test_a_file_with_both_kinds_of_trees_is_refused(y, output, message):
    header, arrays = content(regressor().fit(FRAME, y))
    arrays["tree_output"][3] = output
    with pytest.raises(arb.ModelFileError, match=f"damaged model file: .*{message}"):
        loaded(header, arrays)


def test_a_file_whose_classes_are_of_other_outputs_is_refused():
    header, arrays = content(classifier().fit(FRAME, LABELS))
    with pytest.raises(ValueError, match="damaged model file: classes: expected a list for each of 3 outputs"):
        loaded({**header, "classes": header["classes"][:2]}, arrays)


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(regressor(min_samples_leaf=1, vector_leaves=False), classifier(min_samples_leaf=1, vector_leaves=True)),
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


def test_tags_tell_the_truth():
    assert regressor().__sklearn_tags__().target_tags.multi_output
    assert classifier().__sklearn_tags__().classifier_tags.multi_label
    for params in ({"leaf_model": "linear"}, {"ordered_boosting": 2}, {"sampling": "stratified"}):
        assert not regressor(**params).__sklearn_tags__().target_tags.multi_output
        assert not classifier(**params).__sklearn_tags__().classifier_tags.multi_label
        with pytest.raises(ValueError, match="outputs"):
            regressor(**params).fit(FILLED, Y)
    assert regressor(leaf_model="linear", vector_leaves=False).__sklearn_tags__().target_tags.multi_output
    assert regressor(leaf_model="linear", vector_leaves=False).fit(FILLED, Y).score(FILLED, Y) > 0.8
    assert regressor(ordered_boosting=1, vector_leaves=False, n_estimators=5).fit(FILLED, Y).score(FILLED, Y) > 0.2


def test_cross_validation_and_bagging():
    assert cross_val_score(regressor(), FRAME, Y, cv=3).mean() > 0.6
    assert cross_val_score(classifier(), FRAME, LABELS, cv=3).mean() > 0.6
    bagged = arb.BaggingRegressor(estimator=regressor(), n_estimators=3).fit(FRAME, Y)
    assert bagged.predict(FRAME).shape == Y.shape
    assert bagged.score(FRAME, Y) > 0.7


# --------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        (
            {"leaf_model": "linear"},
            Y,
            r"vector leaves \(3 outputs\) cannot be .* leaf_model='linear': .*vector_leaves=False",
        ),
        ({"ordered_boosting": 2}, Y, r"vector leaves .* ordered_boosting=2: .*use vector_leaves=False"),
        ({"sampling": "stratified"}, Y, r"sampling='stratified' needs one target, but y has 3 outputs"),
        (
            {"loss": "absolute_error"},
            Y,
            r"'absolute_error' has no form for 3 outputs, because it computes leaf values itself",
        ),
        ({"loss": "poisson"}, Y - 10, r"y\[0, 0\] = -\S+: "),
        ({}, np.where([[True, False, True]], Y, np.nan), r"y\[:, 1\] has no known value: give at least one"),
        ({}, np.where(np.arange(N)[:, None] == 7, np.inf, Y), r"Input y\[:, 0\] contains infinity: inf in row 7"),
        ({}, np.full((N, 2), "a"), r"Unknown label type: y\[:, 0\] has dtype <U1, which is not numeric"),
        ({}, Y[:10], r"y has shape \(10, 3\), but X has 600 rows"),
        ({}, np.zeros((N, 0)), r"y has shape \(600, 0\), but X has 600 rows"),
        ({}, np.zeros((N, 2, 2)), r"y should be a 1d array, got an array of shape \(600, 2, 2\)"),
        ({}, np.full((N, 2), 1j), r"Complex data not supported"),
    ],
)
def test_errors_of_numbers(params, y, message):
    with pytest.raises(ValueError, match=message):
        regressor(**params).fit(FRAME if "leaf_model" not in params else FILLED, y)


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"class_weight": "balanced"}, LABELS, r"class_weight needs one output"),
        ({"loss": "ordinal"}, LABELS, r"loss 'ordinal' has no form for 3 outputs"),
        ({}, np.column_stack([LABELS[:, 0], np.arange(N) % 3]), r"y\[:, 1\] has 3 classes, \[0, 1, 2\]: .*multi-label"),
        ({}, LABELS * [1, 0, 1], r"y\[:, 1\] has only one class, 0: "),
        ({}, np.where(np.arange(N)[:, None] == 3, np.nan, LABELS), r"Input y\[:, 0\] contains NaN: nan in row 3"),
    ],
)
def test_errors_of_labels(params, y, message):
    with pytest.raises(ValueError, match=message):
        classifier(**params).fit(FRAME, y)


def test_validation_targets_of_another_shape():
    for make, y in SEVERAL:
        with pytest.raises(ValueError, match=r"^y_val has shape \(600, 2\): give 3 outputs (a|per) row, as y has"):
            make().fit(FRAME, y, X_val=FRAME, y_val=y[:, :2])
        with pytest.raises(ValueError, match=r"^y_val has shape \(600,\): give 3 outputs (a|per) row, as y has"):
            make().fit(FRAME, y, X_val=FRAME, y_val=y[:, 0])
    with pytest.raises(ValueError, match=r"^y_val has 3 outputs, but y has one"):
        classifier().fit(FRAME, LABELS[:, 0], X_val=FRAME, y_val=LABELS)
    with pytest.raises(ValueError, match=r"^y_val has 3 outputs, but y has one"):
        regressor().fit(FRAME, Y[:, 0], X_val=FRAME, y_val=Y)
    with pytest.raises(ValueError, match=r"^y_val\[:, 2\] has the label 7 in row 0"):
        classifier().fit(FRAME, LABELS, X_val=FRAME[:1], y_val=[[0, 1, 7]])


def test_continuing_another_model_is_refused():
    model = regressor(n_estimators=3, warm_start=True).fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"^the fitted model has loss .*'n_outputs': 3.*'n_outputs': 2"):
        model.set_params(n_estimators=5).fit(FRAME, Y[:, :2])
    with pytest.raises(ValueError, match=r"^vector_leaves=False, but the fitted model has vector leaves: use the same"):
        model.set_params(vector_leaves=False).fit(FRAME, Y)
    labels = classifier(n_estimators=3, warm_start=True).fit(FRAME, LABELS)
    for other in (LABELS[:, 0], LABELS[:, :2]):
        with pytest.raises(ValueError, match=r"^y has \d outputs, but the fitted model has 3"):
            labels.set_params(n_estimators=5).fit(FRAME, other)


def test_classes_stay_without_directions():
    with pytest.raises(ValueError, match="monotonic_cst is not supported for multiclass"):
        classifier(vector_leaves=True, monotonic_cst=[1, 0, 0, 0, 0]).fit(X, np.arange(N) % 3)
