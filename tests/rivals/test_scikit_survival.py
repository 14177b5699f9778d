"""Metrics equal scikit-survival's; at equal settings the models are as good as its own."""

from __future__ import annotations

import numpy as np
import pytest

import arboretum as arb

pytest.importorskip("sksurv")

from sksurv import metrics
from sksurv.datasets import load_gbsg2, load_veterans_lung_cancer, load_whas500
from sksurv.ensemble import GradientBoostingSurvivalAnalysis, RandomSurvivalForest
from sksurv.nonparametric import kaplan_meier_estimator, nelson_aalen_estimator

SETS = {"gbsg2": load_gbsg2, "whas500": load_whas500, "veterans": load_veterans_lung_cancer}
every_set = pytest.mark.parametrize("load", SETS.values(), ids=SETS)


def numbers_and_target(load):
    X, y = load()
    codes = {name: X[name].cat.codes for name in X if X[name].dtype == "category"}
    return X.assign(**codes).to_numpy(dtype=float), y


def halves(array):
    return array[::2], array[1::2]


@every_set
def test_metrics_are_the_same(load):
    X, y = numbers_and_target(load)
    time = y[y.dtype.names[1]]
    (X_train, X_test), (y_train, y_test) = halves(X), halves(y)
    known = (time[1::2] < time[::2].max()) & (time[1::2] >= time[::2].min())
    X_test, y_test = X_test[known], y_test[known]
    model = arb.RandomSurvivalForest(n_estimators=10).fit(X_train, y_train)
    risk = np.round(model.predict(X_test))  # with ties
    theirs = metrics.concordance_index_censored(*(y_test[name] for name in y.dtype.names), risk)[0]
    assert arb.metrics.concordance_index(y_test, risk) == pytest.approx(theirs, abs=1e-10)
    theirs = metrics.concordance_index_ipcw(y_train, y_test, risk)[0]
    assert arb.metrics.concordance_index_ipcw(y_test, risk, y_train=y_train) == pytest.approx(theirs, abs=1e-10)
    tau = np.median(time)
    theirs = metrics.concordance_index_ipcw(y_train, y_test, risk, tau=tau)[0]
    found = arb.metrics.concordance_index_ipcw(y_test, risk, y_train=y_train, tau=tau)
    assert found == pytest.approx(theirs, abs=1e-10)
    times = np.quantile(y_test[y.dtype.names[1]], np.linspace(0.1, 0.8, 9))
    survival = model.predict_survival_function(X_test, times)
    _, theirs = metrics.brier_score(y_train, y_test, survival, times)
    np.testing.assert_allclose(
        arb.metrics.brier_score(y_test, survival, times, y_train=y_train), theirs, rtol=0, atol=1e-10
    )
    for of_rows in (risk, -survival):
        areas, mean = metrics.cumulative_dynamic_auc(y_train, y_test, of_rows, times)
        found, own_mean = arb.metrics.cumulative_dynamic_auc(y_test, of_rows, times, y_train=y_train)
        np.testing.assert_allclose(found, areas, rtol=0, atol=1e-10)
        assert own_mean == pytest.approx(mean, abs=1e-10)
    theirs = metrics.integrated_brier_score(y_train, y_test, survival, times)
    found = arb.metrics.integrated_brier_score(y_test, survival, times, y_train=y_train)
    assert found == pytest.approx(theirs, abs=1e-10)


@every_set
def test_a_tree_without_splits_is_the_estimate_of_nelson_and_aalen(load):
    X, y = numbers_and_target(load)
    model = arb.RandomSurvivalForest(n_estimators=1, bootstrap=False, min_samples_split=len(X) + 1).fit(X, y)
    times, hazard = nelson_aalen_estimator(*(y[name] for name in y.dtype.names))
    np.testing.assert_allclose(model.predict_cumulative_hazard(X[:1], times)[0], hazard, rtol=1e-10)
    times, survival = kaplan_meier_estimator(*(y[name] for name in y.dtype.names))
    np.testing.assert_allclose(model.predict_survival_function(X[:1], times)[0], survival, rtol=1e-10, atol=1e-14)


def mean_concordance(model, X, y, folds=3):
    fold = np.random.default_rng(0).permutation(len(X)) % folds
    return np.mean([model.fit(X[fold != k], y[fold != k]).score(X[fold == k], y[fold == k]) for k in range(folds)])


@every_set
def test_boosting_has_the_concordance_of_theirs(load):
    X, y = numbers_and_target(load)
    ours = arb.BoostedTreesSurvival(
        n_estimators=100,
        learning_rate=0.1,
        growth="level",
        max_depth=3,
        min_samples_leaf=1,
        min_child_weight=0.0,
        l2=0.0,
        max_features=1.0,
        subsample=1.0,
        second_order=False,
        leaf_steps=0,
        early_stopping=False,
    )
    theirs = GradientBoostingSurvivalAnalysis(n_estimators=100, learning_rate=0.1, max_depth=3, random_state=0)
    assert mean_concordance(ours, X, y) >= mean_concordance(theirs, X, y) - 0.005


@every_set
def test_forests_have_the_concordance_of_theirs(load):
    X, y = numbers_and_target(load)
    ours = arb.RandomSurvivalForest(n_estimators=50)
    theirs = RandomSurvivalForest(n_estimators=50, min_samples_leaf=3, min_samples_split=6, random_state=0)
    assert mean_concordance(ours, X, y) >= mean_concordance(theirs, X, y) - 0.01  # a fold draws its own luck
