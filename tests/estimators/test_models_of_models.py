"""Models of models of models: files hold every estimator inside, and each member has copies of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from tests.reference.files import reloaded

import arboretum as arb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = X[:, 0] + RNG.normal(size=90) / 4


def trees(**params: Any) -> arb.BoostedTreesRegressor:
    return arb.BoostedTreesRegressor(n_estimators=2, subsample=0.5, **params)


def bag(estimator: Any, **params: Any) -> arb.BaggingRegressor:
    return arb.BaggingRegressor(estimator=estimator, n_estimators=3, **params)


def additive(*estimators: Any) -> arb.AdditiveBoostingRegressor:
    return arb.AdditiveBoostingRegressor(estimators=list(estimators), n_estimators=2)


NESTED = {
    "bag of bags": lambda: bag(bag(trees())),
    "bag of intervals": lambda: bag(arb.ConformalRegressor(estimator=trees(), n_folds=2)),
    "bag of sums of named learners": lambda: bag(additive(("first", trees()), ("second", trees(max_depth=1)))),
    "bag of sums of learners without names": lambda: bag(additive(trees(), bag(trees()))),
    "intervals around a bag": lambda: arb.ConformalRegressor(estimator=bag(trees()), n_folds=2),
    "intervals around a bag of bags": lambda: arb.ConformalRegressor(estimator=bag(bag(trees())), n_folds=2),
    "AdaBoost of bags": lambda: arb.AdaBoostRegressor(estimator=bag(trees()), n_estimators=2),
    "sum of bags": lambda: additive(("bags", bag(bag(trees())))),
}


@pytest.mark.parametrize("name", NESTED)
def test_file_holds_the_estimators_inside_the_estimator(name):
    model = NESTED[name]().fit(X, Y)
    loaded = reloaded(model)
    assert repr(loaded) == repr(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.fingerprint() == model.fingerprint() == clone(loaded).fit(X, Y).fingerprint()


@pytest.mark.parametrize("name", NESTED)
def test_fit_leaves_the_estimators_inside_as_they_are(name):
    model = NESTED[name]()
    before = repr(model)
    assert repr(model.fit(X, Y)) == before


def test_members_have_seeds_of_their_own_inside():
    first, second, third = (member.estimator.random_state for member in bag(bag(trees())).fit(X, Y).estimators_)
    assert len({first, second, third}) == 3


def test_threads_make_the_same_model_of_models_of_models():
    assert len({bag(bag(trees()), n_jobs=threads).fit(X, Y).fingerprint() for threads in (1, 2, 3, 3, 3)}) == 1


def test_estimator_of_others_deep_inside_is_named():
    model = arb.BaggingClassifier(
        estimator=arb.CalibratedClassifier(estimator=LogisticRegression(), n_folds=2), n_estimators=2
    ).fit(X, Y > 0)
    with pytest.raises(TypeError, match="save needs members of arboretum, not LogisticRegression"):
        reloaded(model)
    with pytest.raises(TypeError, match="fingerprint needs members of arboretum, not LogisticRegression"):
        model.fingerprint()
