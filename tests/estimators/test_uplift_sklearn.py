"""scikit-learn's checks of uplift models: they give no treatment, so one is dealt out to the rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from tests.reference.sklearn_checks import checks_of

import arboretum as arb
from arboretum import UpliftBoostedTrees, UpliftForest


def arms_of(y):
    """Treat every other row of each outcome."""
    order = np.argsort(np.asarray(y).ravel().astype(str), kind="stable")
    arm = np.empty(len(order), dtype=int)
    arm[order] = np.arange(len(order)) % 2
    return arm


class DealtForest(UpliftForest):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, None if y is None else arms_of(y), sample_weight)

    def score(self, X, y):
        return super().score(X, y, arms_of(y))


class DealtBoosting(UpliftBoostedTrees):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, None if y is None else arms_of(y), sample_weight)

    def score(self, X, y):
        return super().score(X, y, arms_of(y))


MODELS = (
    DealtForest(criterion="euclidean", n_estimators=5, min_samples_leaf=2, min_samples_treatment=1),
    DealtBoosting(n_estimators=5, n_folds=2, min_samples_leaf=2),
)


def applies(check):
    """Rows that are repeated, or dropped, would have other treatments: test_uplift_forest.py has laws of weights."""
    return "sample_weight_equivalence" not in check.func.__name__


CHECKS = [(estimator, check) for estimator, check in checks_of(*MODELS) if applies(check)]


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=lambda value: getattr(value, "func", None))
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_cross_validation_passes_treatments_on():
    import sklearn

    rng = np.random.default_rng(0)
    X, arm = rng.random((900, 2)), rng.integers(0, 2, 900)
    y = rng.random(900) < 0.2 + 0.6 * arm * (X[:, 0] > 0.5)
    with sklearn.config_context(enable_metadata_routing=True):
        model = arb.UpliftForest(n_estimators=5).set_fit_request(treatment=True).set_score_request(treatment=True)
        scores = cross_val_score(model, X, y, cv=3, params={"treatment": arm})
    assert scores.min() > 0.05
