"""Fitting all rows again for the rounds that held-out rows found best."""

from __future__ import annotations

import numpy as np
import pytest

import arboretum as arb


@pytest.mark.parametrize("rate", [0.3, "auto"])
@pytest.mark.parametrize("labels", [False, True])
def test_fitting_again_is_a_fit_of_all_rows_for_the_best_rounds(rate, labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=300)
    make, y = (arb.BoostedTreesClassifier, y > 0) if labels else (arb.BoostedTreesRegressor, y)
    params = {"n_estimators": 200, "learning_rate": rate, "early_stopping": True, "n_iter_no_change": 5}
    found = make(**params, refit=False).fit(X, y)
    again = make(**params, refit=True).fit(X, y)
    alone = make(n_estimators=found.n_iter_, learning_rate=found.learning_rate_, early_stopping=False).fit(X, y)
    assert again.fingerprint() == alone.fingerprint() != found.fingerprint()
    assert again.history_ == found.history_
    assert again.get_params() == make(**params, refit=True).get_params()


def test_fitting_again_needs_held_out_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    plain, given = {"n_estimators": 5}, {"X_val": X[:50], "y_val": y[:50]}
    for params, held in ((plain, {}), ({**plain, "early_stopping": False}, given), (plain, given)):
        a, b = (arb.BoostedTreesRegressor(**params, refit=refit).fit(X, y, **held) for refit in (False, True))
        assert a.fingerprint() == b.fingerprint()


def test_fitting_again_ends_early_without_loss():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    calls = []

    def ends_the_second_fit(report):
        calls.append(report.number)
        return calls.count(1) == 2 and report.number == 1

    params = {"n_estimators": 20, "early_stopping": True, "n_iter_no_change": 20}
    model = arb.BoostedTreesRegressor(**params, refit=True, callbacks=[ends_the_second_fit]).fit(X, y)
    assert calls.count(1) == 2
    assert model.fingerprint() == arb.BoostedTreesRegressor(**params, refit=False).fit(X, y).fingerprint()
    with pytest.raises(ValueError, match="refit=True: a model that is fitted again on all rows has no rounds to add"):
        model.fit_more(X, y, n_estimators=3)


@pytest.mark.parametrize("stopping", ["auto", True])
def test_rounds_are_added_to_the_fitted_ones_though_the_first_fit_held_rows_out(stopping):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y, other = X[:, 0] + 0.1 * rng.normal(size=1200), X[:, 1]
    model = arb.BoostedTreesRegressor(n_estimators=20, early_stopping=stopping).fit(X, y)
    assert model.history_.curve
    first, n_first = model.forest_, model.n_iter_
    model.fit_more(X, other, n_estimators=5)
    assert n_first < model.n_iter_ <= n_first + 5
    assert model.forest_[: first.n_trees].to_arrays()["value"].tolist() == first.value.tolist()


def test_small_tables_are_fitted_again_by_themselves_unless_the_model_goes_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + rng.normal(size=400)
    params = {"n_estimators": 30, "early_stopping": True, "n_iter_no_change": 5}
    marks = {
        (refit, warm): arb.BoostedTreesRegressor(**params, refit=refit, warm_start=warm).fit(X, y).fingerprint()
        for refit in ("auto", True, False)
        for warm in (False, True)
    }
    assert marks["auto", False] == marks[True, False] != marks[False, False]
    assert marks["auto", True] == marks[False, True]


def test_rounds_added_to_a_model_hold_no_rows_out_by_themselves():
    """Those rows may have shaped the rounds that are there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y = X[:, 0] + rng.normal(size=1200)
    model = arb.BoostedTreesRegressor(n_estimators=20, subsample=1.0).fit(X, y)
    rounds = model.n_iter_
    model.fit_more(X, y, n_estimators=4)
    assert model.n_iter_ == rounds + 4
    assert model.forest_.n_rows[model.forest_.tree_start[rounds]] == 1200
    going_on = arb.BoostedTreesRegressor(n_estimators=5, subsample=1.0, warm_start=True).fit(X, y)
    assert not going_on.history_.validation_loss
