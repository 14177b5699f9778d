"""Random forests and what extra trees share with them: draws, out-of-bag, outputs, warm starts, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, r2_score, roc_auc_score

import arboretum as arb
from arboretum.data.table import read_table
from arboretum.ensembles.bagging import trees as bagging

RNG = np.random.default_rng(0)
N_ROWS = 400
X = RNG.normal(size=(N_ROWS, 5))
X[RNG.random(X.shape) < 0.05] = np.nan
X[:, 4] = RNG.integers(0, 9, N_ROWS)
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * np.nan_to_num(X[:, 2]) + (X[:, 4] % 3)
Y = SIGNAL + 0.5 * RNG.normal(size=N_ROWS)
TWO, THREE = (Y > 1).astype(int), np.array(["low", "mid", "top"])[np.digitize(Y, [0.5, 1.8])]
WHOLE = RNG.integers(0, 4, N_ROWS).astype(float)
PARTS = RNG.random(N_ROWS) + 0.1

CLASSIFIERS = [arb.RandomForestClassifier, arb.ExtraTreesClassifier]
REGRESSORS = [arb.RandomForestRegressor, arb.ExtraTreesRegressor]
FORESTS = CLASSIFIERS + REGRESSORS


def make(cls, **params):
    return cls(**{"n_estimators": 12, **params})


def target_of(cls):
    return TWO if cls in CLASSIFIERS else Y


def output(model, table=X):
    """All that a model says, as one array."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "missing values in columns that had none")
        return np.hstack(model.predict_proba(table)) if hasattr(model, "classes_") else model.predict(table)


# ---- predictions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("max_bins", [255, None])
def test_training_rows_reach_the_leaves_that_growing_counted(cls, max_bins):
    model = make(cls, bootstrap=False, max_bins=max_bins, categorical_features=[4]).fit(X, target_of(cls))
    forest, leaves = model.forest_, model.apply(X)
    for tree in range(forest.n_trees):
        first, last = forest.tree_start[tree : tree + 2]
        counts = np.bincount(leaves[:, tree], minlength=last - first)
        at_leaves = np.where(forest.kind[first:last] == 0, forest.n_rows[first:last], 0)
        np.testing.assert_array_equal(counts, at_leaves)


@pytest.mark.parametrize("cls", FORESTS)
def test_trees_without_limits_know_the_rows_they_saw(cls):
    y = target_of(cls)
    model = make(cls, bootstrap=False, max_bins=None).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)


@pytest.mark.parametrize("cls", FORESTS)
def test_a_prediction_is_the_mean_of_the_trees(cls):
    model = make(cls).fit(X, target_of(cls))
    forest, leaves = model.forest_, model.apply(X)
    total, roots = forest.value[forest.tree_start[:-1] + leaves, 0].sum(axis=1), forest.value[forest.tree_start[:-1], 0]
    found = model.predict_proba(X)[:, 1] if cls in CLASSIFIERS else model.predict(X)
    prior = forest.n_trees / 200 if cls in CLASSIFIERS else 0
    np.testing.assert_allclose(found, (total + prior * roots.mean()) / (forest.n_trees + prior), rtol=1e-12)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_hard_votes_are_counted(cls, labels):
    model = make(cls, voting="hard", max_depth=4).fit(X, labels)
    forest, leaves = model.forest_, model.apply(X)
    values = forest.value[forest.tree_start[:-1] + leaves]
    votes = (values[:, :, 0] > 0.5).astype(int) if values.shape[2] == 1 else values.argmax(axis=2)
    expected = np.stack([(votes == k).mean(axis=1) for k in range(len(model.classes_))], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])
    soft = make(cls, max_depth=4).fit(X, labels)
    assert soft.fingerprint() != model.fingerprint()
    assert (soft.predict_proba(X) != model.predict_proba(X)).any()
    np.testing.assert_allclose(model.set_params(n_estimators=3).fit(X, labels).predict_proba(X) * 3 % 1, 0, atol=1e-9)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_several_outputs_of_classes(cls):
    labels = np.column_stack([TWO, np.digitize(Y, [0.5, 1.8])])
    model = make(cls, bootstrap=True, oob_score=lambda y, p: np.mean(y == p), n_estimators=40).fit(X, labels)
    assert (model.n_outputs_, [len(c) for c in model.classes_]) == (2, [2, 3])
    probas = model.predict_proba(X)
    assert [p.shape for p in probas] == [(N_ROWS, 2), (N_ROWS, 3)]
    for proba in (*probas, *model.oob_decision_function_):
        np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert [p.shape for p in model.predict_log_proba(X)] == [(N_ROWS, 2), (N_ROWS, 3)]
    assert model.predict(X).shape == (N_ROWS, 2)
    assert (model.predict(X) == labels).mean() > 0.9
    assert 0.6 < model.oob_score_ < 1
    assert model.score(X, labels) == pytest.approx((model.predict(X) == labels).all(axis=1).mean())


def test_outputs_of_several_types_keep_their_labels():
    labels = pd.DataFrame({"word": THREE, "flag": Y > 1, "number": np.where(TWO, 7, -1)})
    found = make(arb.RandomForestClassifier, bootstrap=False).fit(X, labels).predict(X)
    assert found.tolist() == labels.to_numpy().tolist()


@pytest.mark.parametrize("cls", REGRESSORS)
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_several_outputs_of_numbers(cls, criterion):
    numbers = np.exp(np.column_stack([Y, -Y, SIGNAL]) / 3)
    model = make(cls, criterion=criterion, bootstrap=True, oob_score=True, n_estimators=40).fit(X, numbers)
    assert model.n_outputs_ == 3
    assert model.predict(X).shape == model.oob_prediction_.shape == (N_ROWS, 3)
    assert model.score(X, numbers) > 0.8
    assert model.oob_score_ == pytest.approx(r2_score(numbers, model.oob_prediction_))


@pytest.mark.parametrize("cls", FORESTS)
def test_monotone_forests_are_monotone(cls):
    model = make(cls, monotonic_cst=[1, -1, 0, 0, 0]).fit(np.nan_to_num(X), target_of(cls))
    grid = np.linspace(-3, 3, 60)
    for column, direction in ((0, 1), (1, -1)):
        for row in np.nan_to_num(X[:20]):
            rows = np.tile(row, (60, 1))
            rows[:, column] = grid
            curve = model.predict_proba(rows)[:, 1] if cls in CLASSIFIERS else model.predict(rows)
            assert (direction * np.diff(curve) >= -1e-12).all()


def test_importances_are_falls_of_impurity():
    model = arb.RandomForestRegressor(n_estimators=30).fit(X[:, :4], np.nan_to_num(X[:, 1]))
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_.argmax() == 1
    assert model.feature_importances_[1] > 0.5
    nothing = arb.RandomForestRegressor(n_estimators=3).fit(np.zeros((20, 2)), np.arange(20.0))
    assert nothing.feature_importances_.tolist() == [0, 0]


# ---- rules ---------------------------------------------------------------------------------------------------------


def each_leaf(model, array):
    forest = model.forest_
    return getattr(forest, array)[forest.kind == 0]


@pytest.mark.parametrize("cls", FORESTS)
def test_limits_of_trees(cls):
    y = target_of(cls)
    deep = make(cls).fit(X, y).forest_.tree_depths()
    assert (make(cls, max_depth=3).fit(X, y).forest_.tree_depths() == 3).all()
    assert deep.min() > 5
    few = make(cls, max_leaf_nodes=7).fit(X, y).forest_
    assert ((few.kind == 0).sum(), few.n_nodes) == (7 * 12, 13 * 12)
    assert each_leaf(make(cls, min_samples_leaf=9).fit(X, y), "n_rows").min() >= 9
    assert each_leaf(make(cls, min_samples_leaf=0.05, bootstrap=False).fit(X, y), "n_rows").min() >= 20
    wide = make(cls, min_samples_split=50).fit(X, y).forest_
    assert wide.n_rows[wide.kind > 0].min() >= 50
    half = make(cls, min_weight_fraction_leaf=0.1, bootstrap=False).fit(X, y, sample_weight=np.full(N_ROWS, 0.3))
    assert each_leaf(half, "n_rows").min() >= 40
    least = make(cls, min_impurity_decrease=0.01, bootstrap=False).fit(X, y).forest_
    assert 0.01 * N_ROWS <= least.gain[least.kind > 0].min() < 0.1 * N_ROWS


@pytest.mark.parametrize(
    ("max_features", "expected"),
    [
        ("sqrt", 4),
        ("log2", 4),
        (0.25, 5),
        (1, 1),
        (7, 7),
        (100, 20),
        (None, 20),
        (np.int64(3), 3),
        (1.0, 20),
        (1e-9, 1),
    ],
)
def test_features_of_a_node(max_features, expected):
    from arboretum.ensembles.bagging.parameters import features_a_node

    assert (features_a_node(max_features, 20) or 20) == expected


def test_max_samples_is_a_number_or_a_share_of_draws():
    for given, most in ((20, 20), (np.int64(20), 20), (0.05, 20), (np.float64(0.05), 20)):
        forest = make(arb.RandomForestClassifier, max_samples=given).fit(X, TWO).forest_
        roots = forest.n_rows[forest.tree_start[:-1]]
        assert (roots == most).all()
    many = make(arb.RandomForestRegressor, max_samples=20.0).fit(X, Y).forest_
    assert many.n_rows[many.tree_start[:-1]].min() == 20 * N_ROWS


def test_balanced_draws_teach_the_rare_class():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, 4))
    rare = (x[:, 0] + rng.normal(size=2000) > 2.6).astype(int)
    assert 0.02 < rare.mean() < 0.05
    scores = {
        bootstrap: balanced_accuracy_score(
            rare,
            arb.RandomForestClassifier(bootstrap=bootstrap, max_samples=200, oob_score=True)
            .fit(x, rare)
            .oob_decision_function_.argmax(axis=1),
        )
        for bootstrap in (True, "balanced")
    }
    assert scores["balanced"] > scores[True] + 0.1


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("bootstrap", [False, True])
def test_class_weights_are_weights_of_rows(cls, bootstrap):
    factors = {0: 1.0, 1: 3.0}
    by_class = make(cls, class_weight=factors, bootstrap=bootstrap).fit(X, TWO)
    by_row = make(cls, bootstrap=bootstrap).fit(X, TWO, sample_weight=np.where(TWO, 3.0, 1.0))
    assert by_class.fingerprint() == by_row.fingerprint()
    n_classes = np.bincount(TWO)
    balanced = make(cls, class_weight="balanced", bootstrap=bootstrap).fit(X, TWO)
    by_row = make(cls, bootstrap=bootstrap).fit(X, TWO, sample_weight=N_ROWS / 2 / n_classes[TWO])
    assert balanced.fingerprint() == by_row.fingerprint()


CRITERIA = [(cls, c) for cls in CLASSIFIERS for c in ("gini", "entropy")]
CRITERIA += [(cls, c) for cls in REGRESSORS for c in ("squared_error", "poisson", "absolute_error")]


@pytest.mark.parametrize(("cls", "criterion"), CRITERIA)
@pytest.mark.parametrize("bootstrap", [False, True])
def test_whole_weights_are_repetitions(cls, criterion, bootstrap):
    check_repetitions(cls, np.nan_to_num(X), criterion=criterion, bootstrap=bootstrap)


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("bootstrap", [False, True])
def test_whole_weights_are_repetitions_to_holes(cls, bootstrap):
    """A missing value in a node that saw none goes where most of the weight went."""
    check_repetitions(cls, X, bootstrap=bootstrap)


def check_repetitions(cls, table, **params):
    y = np.exp(Y / 2) if cls in REGRESSORS else THREE
    rows = np.repeat(np.arange(N_ROWS), WHOLE.astype(int))
    weighted = make(cls, max_bins=40, **params).fit(table, y, sample_weight=WHOLE)
    repeated = make(cls, max_bins=40, **params).fit(table[rows], y[rows])
    np.testing.assert_allclose(output(weighted, table), output(repeated, table), rtol=1e-12)


@pytest.mark.parametrize("cls", FORESTS)
def test_rows_of_no_weight_are_not_there(cls):
    y, weight = target_of(cls), np.where(np.arange(N_ROWS) % 4 == 0, 0.0, 1.0)
    kept = weight > 0
    poisoned = np.where(kept[:, None], X, 1e9)
    assert make(cls).fit(poisoned, y, weight).fingerprint() == make(cls).fit(X[kept], y[kept]).fingerprint()


# ---- out of the bag ------------------------------------------------------------------------------------------------


def out_of_bag_by_hand(model, X):
    """Mean over the trees whose bags do not hold the row, and over trees without a split."""
    sums, counts = 0.0, 0
    forest, leaves = model.forest_, model.apply(X)
    for tree, copies in enumerate(model.bags_.copies.T):
        out, root = copies == 0, forest.tree_start[tree]
        assert forest.n_rows[root] == copies.sum()
        sums = sums + np.where(out[:, None], forest.value[root + leaves[:, tree]], 0.0)
        counts = counts + out
    prior = forest.n_trees / 200 if hasattr(model, "prior_trees") else 0.0
    sums = sums + prior * forest.value[forest.tree_start[:-1]].mean(axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(counts[:, None], sums / (counts + prior)[:, None], np.nan)


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("params", [{}, {"max_samples": 0.4}, {"random_state": 77}, {"n_jobs": 3}])
@pytest.mark.parametrize("weight", [None, PARTS, 1 + (WHOLE > 2)], ids=["equal", "parts", "whole"])
def test_out_of_bag_predictions_are_those_of_trees_that_never_saw_the_row(cls, params, weight):
    y = target_of(cls)
    model = make(cls, n_estimators=80, bootstrap=True, oob_score=True, keep_bags=True, **params)
    model.fit(X, y, sample_weight=weight)
    found = model.oob_decision_function_[:, 1] if cls in CLASSIFIERS else model.oob_prediction_
    np.testing.assert_allclose(found, out_of_bag_by_hand(model, X)[:, 0], rtol=1e-12)
    if cls in CLASSIFIERS:
        expected = accuracy_score(y, found > 0.5, sample_weight=weight)
    else:
        expected = r2_score(y, found, sample_weight=weight)
    assert model.oob_score_ == pytest.approx(expected, abs=1e-12)


def test_out_of_bag_does_not_know_noise():
    """A forest that learned pure noise by heart knows nothing of rows that a tree did not see."""
    noise = np.random.default_rng(5).integers(0, 2, N_ROWS)
    model = arb.RandomForestClassifier(oob_score=True).fit(X, noise)
    assert model.score(X, noise) > 0.95
    assert abs(model.oob_score_ - 0.5) < 0.1


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("roc_auc", lambda y, proba: roc_auc_score(y, proba[:, 1])),
        ("neg_log_loss", lambda y, proba: -log_loss(y, proba)),
        ("balanced_accuracy", lambda y, proba: balanced_accuracy_score(y, proba.argmax(axis=1))),
    ],
)
def test_scorers_of_classes_by_name(name, measure):
    model = arb.RandomForestClassifier(n_estimators=60, max_depth=3, oob_score=name).fit(X, TWO)
    assert model.oob_score_ == pytest.approx(measure(TWO, model.oob_decision_function_))


def test_scorers_by_name_function_and_weight():
    model = arb.RandomForestRegressor(n_estimators=60, oob_score="neg_mean_absolute_error").fit(X, Y, PARTS)
    assert model.oob_score_ == pytest.approx(-np.average(abs(Y - model.oob_prediction_), weights=PARTS))
    model = arb.RandomForestClassifier(n_estimators=60, oob_score=lambda y, p: np.mean(y == p)).fit(X, THREE)
    labels = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_score_ == pytest.approx((labels == THREE).mean())
    equal = arb.RandomForestClassifier(n_estimators=60, oob_score=True)
    assert (
        equal.fit(X, THREE, sample_weight=2.0).oob_score_
        == equal.fit(X, THREE, sample_weight=np.full(N_ROWS, 2)).oob_score_
    )


def test_votes_out_of_the_bag():
    options = {"n_estimators": 50, "voting": "hard", "max_depth": 3, "oob_score": True, "keep_bags": True}
    model = arb.RandomForestClassifier(**options).fit(X, TWO)
    forest, leaves, out = model.forest_, model.apply(X), model.bags_.out_of_bag
    votes = forest.value[forest.tree_start[:-1] + leaves, 0] > 0.5
    expected = (votes & out).sum(axis=1) / out.sum(axis=1)
    np.testing.assert_allclose(model.oob_decision_function_[:, 1], expected)


@pytest.mark.parametrize("cls", FORESTS)
def test_rows_in_every_bag_are_counted_in_a_warning(cls):
    with pytest.warns(
        UserWarning, match=r"^\d+ of 400 rows are in the bag of every tree and .*raise n_estimators=2$"
    ) as caught:
        model = make(cls, n_estimators=2, bootstrap=True, oob_score=True).fit(X, target_of(cls))
    assert caught[0].filename == __file__
    found = model.oob_decision_function_ if cls in CLASSIFIERS else model.oob_prediction_[:, None]
    assert 0 < np.isnan(found[:, 0]).sum() < 300
    assert np.isfinite(model.oob_score_)


@pytest.mark.parametrize("cls", FORESTS)
def test_no_row_out_of_any_bag_gives_no_score(cls):
    """Nothing can be scored: the warning says it, the fit stands."""
    with pytest.warns(UserWarning, match="400 of 400 rows are in the bag of every tree"):
        model = make(cls, n_estimators=1, max_samples=50.0, bootstrap=True, oob_score=True).fit(X, target_of(cls))
    assert np.isnan(model.oob_score_)


def test_rows_of_no_weight_have_no_out_of_bag_prediction():
    weight = np.where(np.arange(N_ROWS) < 50, 0.0, 1.0)
    model = arb.RandomForestRegressor(n_estimators=60, oob_score=True).fit(X, Y, sample_weight=weight)
    assert np.isnan(model.oob_prediction_[:50]).all()
    alone = arb.RandomForestRegressor(n_estimators=60, oob_score=True).fit(X[50:], Y[50:])
    np.testing.assert_array_equal(model.oob_prediction_[50:], alone.oob_prediction_)
    assert model.oob_score_ == alone.oob_score_


# ---- warm starts and interrupts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize(
    "params", [{}, {"bootstrap": True, "oob_score": True, "n_estimators": 40}, {"max_samples": 50, "bootstrap": True}]
)
def test_a_warm_start_is_one_fit(cls, params):
    y = target_of(cls)
    whole = make(cls, random_state=3, **params).fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*rows are in the bag of every tree")
        parts = make(cls, random_state=3, warm_start=True, **{**params, "n_estimators": 5}).fit(X, y)
    parts.set_params(n_estimators=whole.n_estimators, random_state=99).fit(X, y)
    assert parts.fingerprint() == whole.fingerprint()
    assert getattr(parts, "oob_score_", 0) == getattr(whole, "oob_score_", 0)
    assert parts.fit(X, y).fingerprint() == whole.fingerprint()
    with pytest.raises(
        ValueError, match=r"^n_estimators=2 is less than the \d+ trees already fitted .*raise it or set"
    ):
        parts.set_params(n_estimators=2).fit(X, y)
    assert parts.fingerprint() == whole.fingerprint()


def test_a_warm_start_on_another_table_is_refused():
    """Trees would read its codes by a schema that is not theirs."""
    model = make(arb.RandomForestClassifier, warm_start=True, n_estimators=3)
    model.fit(pd.DataFrame({"town": ["Oslo"] * 60 + ["Rome"] * 40}), [0] * 60 + [1] * 40)
    expected = model.fingerprint()
    model.set_params(n_estimators=4)
    for table, y in (
        (pd.DataFrame({"town": ["Oslo"] * 40 + ["Rome"] * 60}), [0] * 40 + [1] * 60),
        (pd.DataFrame({"city": ["Oslo"] * 60 + ["Rome"] * 40}), [0] * 60 + [1] * 40),
        (pd.DataFrame({"town": ["Oslo"] * 60 + ["Rome"] * 40}), ["a"] * 60 + ["b"] * 40),
    ):
        with pytest.raises(ValueError, match="warm_start"):
            model.fit(table, y)
        assert model.fingerprint() == expected


@pytest.mark.parametrize("cls", FORESTS)
def test_an_interrupt_keeps_the_trees_so_far_and_the_next_fit_goes_on(cls, monkeypatch):
    y = target_of(cls)
    given = {"n_jobs": 2, "max_features": 0.5, "min_samples_leaf": 1}
    whole, make_grower, calls = make(cls, **given).fit(X, y), bagging._grower, []

    class Interrupted:
        def __init__(self, *args):
            self.grower = make_grower(*args)

        def grow(self, *args):
            calls.append(args)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return self.grower.grow(*args)

    model = make(cls, **given, warm_start=True)
    with monkeypatch.context() as patch:
        patch.setattr(bagging, "SECONDS_A_BATCH", 0.0)
        patch.setattr(bagging, "_grower", Interrupted)
        with pytest.warns(UserWarning, match=r"^fit was interrupted: the model keeps the 4 trees so far$") as caught:
            model.fit(X, y)
    assert caught[0].filename == __file__
    assert model.forest_.n_trees == 4
    assert model.predict(X).shape == (N_ROWS,)
    assert model.fit(X, y).fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("cls", FORESTS)
def test_a_fit_that_fails_leaves_the_model_as_it_was(cls):
    y = target_of(cls)
    model = make(cls).fit(X, y)
    expected = model.fingerprint()
    for params, bad in (
        ({"bootstrap": True, "oob_score": "no such scorer"}, y),
        ({"criterion": "no such"}, y),
        ({"oob_score": False}, np.full(N_ROWS, np.nan)),
    ):
        with pytest.raises(ValueError, match=r"no such|NaN"):
            model.set_params(n_estimators=50, **params).fit(X, bad)
        assert model.fingerprint() == expected
        model.set_params(criterion=make(cls).criterion)


# ---- errors --------------------------------------------------------------------------------------------------------

ALL = [
    ({"n_estimators": 0}, "n_estimators=0: use an integer at least 1"),
    ({"n_estimators": 2.5}, "n_estimators=2.5: use an integer"),
    ({"criterion": "ginni"}, "criterion='ginni'"),
    ({"max_depth": 0}, "max_depth=0: use an integer at least 1 .*or None"),
    ({"max_leaf_nodes": 1}, "max_leaf_nodes=1: use an integer at least 2"),
    ({"min_samples_split": 1}, "min_samples_split=1: use an integer at least 2"),
    ({"min_samples_split": 1.5}, r"min_samples_split=1\.5: use a number above 0 and at most 1"),
    ({"min_samples_leaf": 0}, "min_samples_leaf=0: use an integer at least 1"),
    ({"min_samples_leaf": "few"}, "min_samples_leaf='few'"),
    ({"min_weight_fraction_leaf": 0.6}, r"min_weight_fraction_leaf=0\.6: use a number at least 0 and at most 0\.5"),
    ({"min_impurity_decrease": -1.0}, r"min_impurity_decrease=-1\.0"),
    ({"max_features": "all"}, "max_features='all': use 'sqrt', 'log2', a share, a number or None"),
    ({"max_features": 0}, "max_features=0: use 'sqrt', 'log2', a share above 0"),
    ({"max_features": 1.5}, r"max_features=1\.5: use"),
    ({"max_features": True}, "max_features=True: use"),
    ({"max_bins": 1}, "max_bins=1: use an integer at least 2"),
    ({"bootstrap": "yes"}, "bootstrap='yes'"),
    ({"bootstrap": True, "max_samples": 0}, "max_samples=0: use an integer at least 1"),
    ({"bootstrap": True, "max_samples": 0.0}, r"max_samples=0\.0: use a number above 0"),
    ({"bootstrap": False, "max_samples": 0.5}, r"max_samples=0\.5 without bootstrap: set bootstrap=True or leave it"),
    ({"bootstrap": False, "oob_score": True}, "oob_score=True without bootstrap: every tree sees every row"),
    ({"bootstrap": False, "oob_score": "roc_auc"}, "oob_score='roc_auc' without bootstrap"),
    ({"bootstrap": True, "oob_score": 5}, "oob_score=5: use True, False, a scorer's name or a function"),
    ({"monotonic_cst": [1]}, "monotonic_cst has 1 entries, but X has 5 columns"),
    ({"categorical_features": 3}, "categorical_features=3: use a list"),
    ({"unknown": "skip"}, "unknown='skip'"),
    ({"missing": "skip"}, "missing='skip'"),
    ({"warm_start": "yes"}, "warm_start='yes'"),
    ({"random_state": "seed"}, "random_state='seed': use an integer"),
    ({"verbose": -1}, "verbose=-1"),
]


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize(("params", "message"), ALL)
def test_bad_parameters_are_named(cls, params, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make(cls, **params).fit(X, target_of(cls))


@pytest.mark.parametrize("cls", REGRESSORS)
def test_bad_targets_of_numbers_are_named(cls):
    two = np.column_stack([Y, Y])
    for params, y, message in (
        ({"criterion": "absolute_error"}, two, "criterion='absolute_error' needs one output: fit one model per output"),
        ({"criterion": "poisson"}, Y, r"criterion='poisson' needs counts of at least 0 .* y has -\S+ in row \d+; use"),
        ({"criterion": "poisson"}, Y * 0, "criterion='poisson' needs counts of at least 0 that are not all 0"),
        ({"bootstrap": "balanced"}, Y, "bootstrap='balanced'"),
        ({"monotonic_cst": [1, 0, 0, 0, 0]}, two, "monotonic_cst is not supported for leaves of 2 values"),
        ({}, np.where(np.arange(N_ROWS) == 7, 1e200, Y), r"y\[7\] = 1e\+200: .*divide the target by a constant"),
        ({}, two[:9], r"y has shape \(9, 2\), but X has 400 rows"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            make(cls, **params).fit(X, y)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_bad_targets_of_classes_are_named(cls):
    two = np.column_stack([TWO, 1 - TWO])
    for params, y, message in (
        ({"voting": "loud"}, TWO, "voting='loud': use one of 'soft', 'hard'"),
        ({"class_weight": {"x": 1.0}}, TWO, "class_weight"),
        ({"class_weight": "balanced"}, two, "class_weight and bootstrap='balanced' need one output"),
        ({"bootstrap": "balanced"}, two, "class_weight and bootstrap='balanced' need one output"),
        ({"monotonic_cst": [1, 0, 0, 0, 0]}, THREE, "monotonic_cst is not supported for leaves of 3 values"),
        ({}, np.zeros(N_ROWS), "y has only one class, 0.0"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            make(cls, **params).fit(X, y)


# ---- against scikit-learn ------------------------------------------------------------------------------------------


def synthetic(n_rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n_rows, 12))
    signal = table[:, 0] + table[:, 1] * table[:, 2] + np.sin(3 * table[:, 3]) + (table[:, 4] > 0.5)
    return table, signal + rng.normal(size=n_rows)


@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees"])
def test_as_good_as_sklearn(name):
    table, y = synthetic()
    train, test = slice(0, 1500), slice(1500, None)
    labels = y > np.median(y)
    params = {"n_estimators": 100, "random_state": 0}
    aucs, r2s = [], []
    for module in (arb, ensemble):
        model = getattr(module, f"{name}Classifier")(**params).fit(table[train], labels[train])
        aucs.append(roc_auc_score(labels[test], model.predict_proba(table[test])[:, 1]))
        model = getattr(module, f"{name}Regressor")(**params, max_features=1 / 3).fit(table[train], y[train])
        r2s.append(r2_score(y[test], model.predict(table[test])))
    assert min(aucs) > 0.8
    assert min(r2s) > 0.4
    assert abs(aucs[0] - aucs[1]) < 0.01
    assert abs(r2s[0] - r2s[1]) < 0.015


def test_reading_as_the_kernel_does():
    """The table of a fit is the table of a prediction: codes of categories, holes and all."""
    frame = pd.DataFrame({"town": np.where(TWO, "a", "b"), "x": X[:, 0]})
    model = make(arb.RandomForestClassifier, bootstrap=False).fit(frame, TWO)
    assert model.schema_ == read_table(frame).schema.with_missing([False, True])
    assert model.score(frame, TWO) == 1.0
