"""AdaBoost beside scikit-learn: its checks, and its models, stump by stump."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier
from tests.reference.sklearn_checks import checks_of

import arboretum as arb
from arboretum import AdaBoostClassifier, AdaBoostRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32).astype(float)  # scikit-learn's trees see float32
Y = X[:, 0] * 2 + X[:, 1] ** 2 + 0.3 * RNG.normal(size=300)
BINARY = np.where(Y + 0.5 * RNG.normal(size=300) > 1, "yes", "no")
LABELS = np.array(["low", "mid", "top"])[np.digitize(Y, [0.0, 1.5])]
WEIGHT = RNG.random(300) + 0.1


def name_of(case):
    return getattr(getattr(case, "func", case), "__name__", None) or " ".join(repr(case).split())


# --------------------------------------------------------------------------------------------- scikit-learn's checks


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(
        AdaBoostClassifier(n_estimators=5),
        AdaBoostRegressor(n_estimators=5),
        AdaBoostRegressor(n_estimators=5, bootstrap=False),
        AdaBoostClassifier(estimator=arb.DecisionTreeClassifier(max_depth=2), n_estimators=5),
        AdaBoostRegressor(estimator=arb.DecisionTreeRegressor(max_depth=2), n_estimators=5),
        AdaBoostClassifier(estimator=arb.BoostedTreesClassifier(n_estimators=3, max_depth=2), n_estimators=3),
        AdaBoostClassifier(estimator=KNeighborsClassifier(), n_estimators=3),
        AdaBoostRegressor(estimator=KNeighborsRegressor(), n_estimators=3),
    ),
    ids=name_of,
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


def test_tags_are_those_of_the_learner():  # SK#30477: its trees take missing values, so AdaBoost does
    assert AdaBoostClassifier().__sklearn_tags__().input_tags.allow_nan
    assert AdaBoostRegressor().__sklearn_tags__().input_tags.string
    assert not AdaBoostClassifier(estimator=LogisticRegression()).__sklearn_tags__().input_tags.allow_nan
    assert not AdaBoostRegressor().__sklearn_tags__().target_tags.multi_output


# --------------------------------------------------------------------------------------------- against scikit-learn


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rate", [1.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_stumps_are_those_of_sklearn(seed, rate, weighted):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(250, 5)).astype(np.float32).astype(float)
    y = np.where(table[:, 0] + table[:, 1] * table[:, 2] + rng.normal(size=250) / 2 > 0, 5, -3)
    weight = rng.random(250) if weighted else None
    theirs = ensemble.AdaBoostClassifier(n_estimators=60, learning_rate=rate).fit(table, y, weight)
    ours = AdaBoostClassifier(n_estimators=60, learning_rate=rate, max_bins=None).fit(table, y, weight)
    trees = [stump.tree_ for stump in theirs.estimators_]
    roots = ours.forest_.tree_start[:-1]
    assert len(roots) == len(trees) == 60
    assert ours.forest_.feature[roots].tolist() == [tree.feature[0] for tree in trees]
    np.testing.assert_allclose(ours.forest_.threshold[roots], [tree.threshold[0] for tree in trees], rtol=1e-6)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    assert_same_methods(ours, theirs, rng.normal(size=(100, 5)))
    np.testing.assert_allclose(
        list(ours.staged_score(table, y, weight)), list(theirs.staged_score(table, y, weight)), rtol=1e-12
    )


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_trees_of_many_classes_are_those_of_sklearn(depth, rate):
    theirs = ensemble.AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), learning_rate=rate, n_estimators=15)
    ours = AdaBoostClassifier(
        estimator=arb.DecisionTreeClassifier(max_depth=depth), learning_rate=rate, n_estimators=15
    )
    for y in (LABELS, BINARY):
        theirs.fit(X, y), ours.fit(X, y)
        np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
        assert_same_methods(ours, theirs, X)


def assert_same_methods(ours, theirs, rows):
    for method in ("decision_function", "predict_proba", "predict_log_proba"):
        np.testing.assert_allclose(getattr(ours, method)(rows), getattr(theirs, method)(rows), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    for method in ("staged_decision_function", "staged_predict_proba"):
        for mine, other in zip(getattr(ours, method)(rows), getattr(theirs, method)(rows), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-12)
    for mine, other in zip(ours.staged_predict(rows), theirs.staged_predict(rows), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_the_default_learner_of_many_classes_is_a_stump():
    ours = AdaBoostClassifier(max_bins=None, n_estimators=10).fit(X, LABELS)
    theirs = ensemble.AdaBoostClassifier(n_estimators=10).fit(X, LABELS)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-8, atol=1e-12)


def test_bins_cost_no_accuracy():
    rng = np.random.default_rng(5)
    table = rng.normal(size=(15_000, 4))
    y = table @ [1.0, 0.7, 0.4, 0.2] + np.abs(table[:, 1]) + rng.normal(size=15_000) / 2 > 0.5
    theirs = list(ensemble.AdaBoostClassifier(n_estimators=30).fit(table, y).staged_score(table, y))
    ours = list(AdaBoostClassifier(n_estimators=30, max_bins=255).fit(table, y).staged_score(table, y))
    np.testing.assert_allclose(ours[:15], theirs[:15], atol=0.005)
    assert np.abs(np.subtract(ours, theirs)).mean() < 0.005  # later stages differ more, and in either direction


@pytest.mark.parametrize("y", [BINARY, LABELS], ids=["two", "three"])
def test_weighted_learners_are_those_of_sklearn(y):
    theirs = ensemble.AdaBoostClassifier(GaussianNB(), n_estimators=6).fit(X, y, WEIGHT)
    ours = AdaBoostClassifier(estimator=GaussianNB(), n_estimators=len(theirs.estimators_)).fit(X, y, WEIGHT)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_numbers_are_about_as_good_as_those_of_sklearn(loss):
    table, y = make_friedman1(1500, noise=1.0, random_state=0)
    train, test = slice(1000), slice(1000, None)
    theirs = ensemble.AdaBoostRegressor(loss=loss, random_state=0).fit(table[train], y[train])
    ours = AdaBoostRegressor(loss=loss).fit(table[train], y[train])
    assert ours.score(table[test], y[test]) > theirs.score(table[test], y[test]) - 0.02
