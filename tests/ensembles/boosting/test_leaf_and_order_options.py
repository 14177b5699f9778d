"""Boosting with gradients alone, with several steps in the leaves, and with ordered gradients."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.metrics import log_loss

import arboretum as arb

FRIEDMAN = {
    "growth": "level",
    "max_depth": 3,
    "max_bins": None,
    "min_samples_leaf": 1,
    "learning_rate": 0.1,
    "l2": 0.0,
    "max_features": 1.0,
    "min_child_weight": 0.0,
    "second_order": False,
    "early_stopping": False,
}
RNG = np.random.default_rng(0)
X, NUMBERS = make_friedman1(600, random_state=0)
ABOVE = np.median(NUMBERS) < NUMBERS
CLASSES = ABOVE ^ (RNG.random(600) < 0.1)


def test_first_order_squared_error_is_friedmans():
    """No ties among splits: the same trees as scikit-learn's."""
    ours = arb.BoostedTreesRegressor(n_estimators=30, **FRIEDMAN).fit(X, NUMBERS)
    theirs = GradientBoostingRegressor(n_estimators=30).fit(X, NUMBERS)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-3)


def test_first_order_log_loss_is_friedmans():
    """Trees on residuals, one Newton step in each leaf."""
    ours = arb.BoostedTreesClassifier(n_estimators=10, **FRIEDMAN).fit(X, CLASSES)
    theirs = GradientBoostingClassifier(n_estimators=10).fit(X, CLASSES)
    difference = np.abs(ours.predict_proba(X)[:, 1] - theirs.predict_proba(X)[:, 1])
    assert np.mean(difference < 1e-3) > 0.95


def test_first_order_log_loss_of_several_classes_is_friedmans():
    """Leaves of all classes start from where the round began."""
    classes = np.digitize(NUMBERS, np.quantile(NUMBERS, [0.3, 0.6]))
    ours = arb.BoostedTreesClassifier(n_estimators=10, **FRIEDMAN).fit(X, classes)
    theirs = GradientBoostingClassifier(n_estimators=10).fit(X, classes)
    difference = np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).max(axis=1)
    assert np.mean(difference < 1e-3) > 0.95


@pytest.mark.parametrize("options", [{}, {"leaf_steps": 5}, {"leaf_steps": 3, "trees_per_round": 2}])
def test_names_of_classes_have_no_say(options):
    classes = np.digitize(NUMBERS, np.quantile(NUMBERS, [0.3, 0.6]))
    model, renamed = (
        arb.BoostedTreesClassifier(n_estimators=5, **{**FRIEDMAN, **options}).fit(X, names[classes])
        for names in (np.array(["a", "b", "c"]), np.array(["c", "b", "a"]))
    )
    np.testing.assert_allclose(model.predict_proba(X), renamed.predict_proba(X)[:, ::-1], rtol=1e-9)


def test_steps_lower_the_training_loss():
    losses = []
    for steps in (1, 2, 5):
        model = arb.BoostedTreesClassifier(n_estimators=3, learning_rate=1.0, leaf_steps=steps, early_stopping=False)
        losses.append(log_loss(CLASSES, model.fit(X, CLASSES).predict_proba(X)))
    assert losses[0] > losses[1] > losses[2]


def test_many_steps_are_a_line_search():
    """In a leaf of one row class share p, log-loss is least at the log-odds."""
    rows = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.r_[np.arange(50) < 10, np.arange(50) < 45]
    model = arb.BoostedTreesClassifier(n_estimators=1, learning_rate=1.0, l2=0.0, leaf_steps=30)
    np.testing.assert_allclose(model.fit(rows, y).predict_proba([[0.0], [1.0]])[:, 1], [0.2, 0.9], atol=1e-9)


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize("options", [{"ordered_boosting": 2}, {"leaf_steps": 3}, {"second_order": False}])
def test_threads_do_not_matter(growth, options):
    table = np.tile(X, (20, 1)) + RNG.normal(size=(12_000, 10)) * 0.01
    y = np.tile(CLASSES, 20)
    fits = [
        arb.BoostedTreesClassifier(n_estimators=4, growth=growth, early_stopping=False, n_jobs=n_jobs, **options)
        for n_jobs in (1, 2, 3, 8)
    ]
    assert len({model.fit(table, y).fingerprint() for model in fits}) == 1


@pytest.mark.parametrize("options", [{"ordered_boosting": 1}, {"leaf_steps": 4}, {"second_order": False}])
@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
def test_monotone_constraints_hold(options, growth):
    model = arb.BoostedTreesClassifier(
        n_estimators=30, growth=growth, monotonic_cst=[1, *[0] * 9], early_stopping=False, **options
    ).fit(X, CLASSES)
    grid = np.repeat(X[:20], 200, axis=0)
    grid[:, 0] = np.tile(np.linspace(-0.1, 1.1, 200), 20)
    assert (np.diff(model.decision_function(grid).reshape(20, 200), axis=1) >= 0).all()


def test_several_classes_and_weights():
    y = np.digitize(NUMBERS, np.quantile(NUMBERS, [0.3, 0.6]))
    weight = RNG.integers(1, 4, 600).astype(float)
    model = arb.BoostedTreesClassifier(n_estimators=10, ordered_boosting=2, leaf_steps=2, early_stopping=False)
    assert model.fit(X, y, sample_weight=weight).score(X, y) > 0.7


def test_errors():
    with pytest.raises(
        ValueError, match=r"ordered_boosting=1 with dart_rate=0\.5: supporting models cannot leave rounds"
    ):
        arb.BoostedTreesClassifier(ordered_boosting=1, dart_rate=0.5).fit(X, CLASSES)
    model = arb.BoostedTreesClassifier(n_estimators=2, ordered_boosting=1).fit(X, CLASSES)
    with pytest.raises(ValueError, match="ordered_boosting=1: the fitted model has seen the rows"):
        model.fit_more(X, CLASSES, n_estimators=1)
