"""At equal settings the models are as good as LightGBM's, on easy data and on heavy tails."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_absolute_error, roc_auc_score, root_mean_squared_error

from arboretum import BoostedTreesClassifier, BoostedTreesRanker, BoostedTreesRegressor
from arboretum.metrics import ndcg_score

lightgbm = pytest.importorskip("lightgbm")

N_ROWS, N_COLUMNS = 20_000, 10
ROUNDS = 60
OURS = {"name": "lightgbm", "n_estimators": ROUNDS, "n_jobs": 2}
THEIRS = {"n_estimators": ROUNDS, "num_leaves": 31, "min_child_samples": 20, "verbosity": -1, "deterministic": True}
THEIRS["n_jobs"] = 1  # its threads wait by spinning: a second one takes minutes where the cores are shared


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * N_ROWS, N_COLUMNS))
    signal = X[:, 0] * (X[:, 1] > 0) + np.sin(2 * X[:, 2]) + 0.5 * np.abs(X[:, 3]) - (X[:, 4] > 0.5) + 0.2 * X[:, 5]
    return X, signal, rng


def halves(array):
    return array[:N_ROWS], array[N_ROWS:]


def test_classifier_has_the_auc_of_lightgbm():
    X, signal, rng = data()
    y = signal + rng.logistic(size=len(signal)) > 0.3
    (X_train, X_test), (y_train, y_test) = halves(X), halves(y)
    ours = BoostedTreesClassifier.preset(**OURS).fit(X_train, y_train).predict_proba(X_test)[:, 1]
    theirs = lightgbm.LGBMClassifier(**THEIRS).fit(X_train, y_train).predict_proba(X_test)[:, 1]
    assert roc_auc_score(y_test, ours) > roc_auc_score(y_test, theirs) - 0.002
    assert log_loss(y_test, ours) < log_loss(y_test, theirs) * 1.005


def test_multiclass_has_the_log_loss_of_lightgbm():
    X, signal, rng = data()
    y = np.digitize(signal + 0.5 * rng.normal(size=len(signal)), [-0.5, 0.5, 1.5])
    (X_train, X_test), (y_train, y_test) = halves(X), halves(y)
    ours = BoostedTreesClassifier.preset(**OURS).fit(X_train, y_train).predict_proba(X_test)
    theirs = lightgbm.LGBMClassifier(**THEIRS).fit(X_train, y_train).predict_proba(X_test)
    assert log_loss(y_test, ours) < log_loss(y_test, theirs) * 1.01


@pytest.mark.parametrize(
    ("loss", "theirs_called"),
    [("squared_error", "l2"), ("absolute_error", "l1"), ("poisson", "poisson"), ("tweedie", "tweedie")],
)
def test_regressor_has_the_error_of_lightgbm(loss, theirs_called):
    X, signal, rng = data()
    y = (
        rng.poisson(np.exp(signal / 2)).astype(float)
        if loss in ("poisson", "tweedie")
        else signal + 0.5 * rng.normal(size=len(signal))
    )
    (X_train, X_test), (y_train, y_test) = halves(X), halves(y)
    ours = BoostedTreesRegressor.preset(**OURS, loss=loss).fit(X_train, y_train).predict(X_test)
    theirs = lightgbm.LGBMRegressor(objective=theirs_called, **THEIRS).fit(X_train, y_train).predict(X_test)
    score = mean_absolute_error if loss == "absolute_error" else root_mean_squared_error
    assert score(y_test, ours) < score(y_test, theirs) * 1.01


@pytest.mark.parametrize(
    ("heavy_weight", "most"), [(1.0, 1.005), (1e6, 1.015)], ids=["equal weights", "one weight of a million"]
)
def test_heavy_tails_do_not_degrade(heavy_weight, most):
    """Targets of σ = 3 on the log scale; a few rows make the error, so that ratios are averaged over ten sets."""
    ratios = []
    for seed in range(10):
        X, signal, rng = data(seed)
        X, y = X[:N_ROWS], np.exp(3 * (signal / signal.std() + rng.normal(size=len(signal))) / np.sqrt(2))[:N_ROWS]
        weight = np.ones(N_ROWS)
        weight[np.argsort(y)[N_ROWS // 2]] = heavy_weight
        ours = BoostedTreesRegressor.preset(**OURS).fit(X, y, sample_weight=weight).predict(X)
        theirs = lightgbm.LGBMRegressor(**THEIRS).fit(X, y, sample_weight=weight).predict(X)
        scores = (root_mean_squared_error, mean_absolute_error)
        ratios.append([score(y, ours) / score(y, theirs) for score in scores])
    assert (np.exp(np.log(ratios).mean(axis=0)) < most).all()


def test_missing_values_and_categories_are_used_as_well():
    X, signal, rng = data()
    codes = rng.integers(0, 12, len(signal)).astype(float)
    y = signal + np.array([0, 2, 0, -1, 0, 0, 3, 0, 0, 1, 0, -2.0])[codes.astype(int)] + (X[:, 6] < -1)
    y += 0.5 * rng.normal(size=len(y))
    X[X[:, 6] < -1, 6] = np.nan
    X[:, 9] = codes
    (X_train, X_test), (y_train, y_test) = halves(X), halves(y)
    ours = BoostedTreesRegressor.preset(**OURS, categorical_features=[9]).fit(X_train, y_train).predict(X_test)
    theirs = lightgbm.LGBMRegressor(**THEIRS).fit(X_train, y_train, categorical_feature=[9]).predict(X_test)
    assert root_mean_squared_error(y_test, ours) < root_mean_squared_error(y_test, theirs) * 1.01


def test_ranker_has_the_ndcg_of_lightgbm():
    X, signal, rng = data()
    query = np.repeat(np.arange(len(signal) // 20), 20)
    y = np.digitize(signal + rng.normal(size=len(signal)), [1.0, 2.0, 3.0])
    (X_train, X_test), (y_train, y_test), (q_train, q_test) = halves(X), halves(y), halves(query)
    ours = BoostedTreesRanker.preset(**OURS).fit(X_train, y_train, group=q_train).predict(X_test)
    theirs = lightgbm.LGBMRanker(**THEIRS).fit(X_train, y_train, group=np.bincount(q_train)).predict(X_test)
    assert ndcg_score(y_test, ours, q_test) > ndcg_score(y_test, theirs, q_test) - 0.002
