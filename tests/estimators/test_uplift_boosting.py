"""Boosted uplift: the method written out with plain models, laws, files."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum import BoostedTreesRegressor, RandomForestRegressor, UpliftBoostedTrees, UpliftForest
from arboretum.data.splits import deal_out
from arboretum.estimators.uplift_boosting import SHARED

SMALL = {"min_samples_leaf": 20, "n_estimators": 20, "learning_rate": 0.1, "max_leaf_nodes": 4, "n_jobs": 1}


def experiment(n_rows=900, seed=0, n_arms=2):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n_rows, 3)), rng.integers(0, 4, n_rows)])
    X[rng.random(X.shape) < 0.05] = np.nan
    arm = rng.integers(0, n_arms, n_rows)
    effect = np.column_stack([np.where(X[:, 0] > 0, 1.0, 0.0), np.where(X[:, 3] == 2, 2.0, 0.0)])
    given = np.take_along_axis(np.column_stack([np.zeros(n_rows), effect]), arm[:, None], axis=1)[:, 0]
    return X, np.nan_to_num(X[:, 1]) + given + rng.normal(size=n_rows) / 2, arm


def by_hand(model, X, y, treated, weight, propensity):
    """Return the R-learner of Nie & Wager (2021), with models for every part of the rows."""
    settings = {name: getattr(model, name) for name in SHARED}
    strata = treated * 2 + (y > 0.5 if set(y.tolist()) == {0.0, 1.0} else 0)
    part = deal_out(strata, model.n_folds, 0)
    expected, share = np.empty(len(y)), np.full(len(y), np.average(treated, weights=weight))
    for k in range(model.n_folds):
        into, out = part == k, part != k
        outcome = RandomForestRegressor(n_estimators=50, max_features=1 / 3, min_samples_leaf=5).fit(
            X[out], y[out], weight[out]
        )
        expected[into] = outcome.predict(X[into])
        if propensity == "model":
            chance = RandomForestRegressor(n_estimators=50, max_features=1 / 3, min_samples_leaf=20)
            share[into] = chance.fit(X[out], treated[out].astype(float), weight[out]).predict(X[into])
    apart = treated - np.clip(share, 0.01, 0.99)
    return BoostedTreesRegressor(**settings).fit(X, (y - expected) / apart, weight * apart**2)


@pytest.mark.parametrize("propensity", ["share", "model"])
@pytest.mark.parametrize("binary", [False, True])
def test_models_are_those_of_the_method_written_out(propensity, binary):
    X, y, arm = experiment()
    y = (y > 0.5).astype(float) if binary else y
    weight = np.random.default_rng(1).integers(1, 4, len(y)) / 2
    weight /= weight.mean()  # members see weights in rows
    model = UpliftBoostedTrees(**SMALL, propensity=propensity, n_folds=3).fit(X, y, arm, weight)
    slow = by_hand(model, X, y, arm, weight, propensity)
    np.testing.assert_allclose(model.predict(X), slow.predict(X), rtol=1e-9, atol=1e-12)


def test_each_treatment_is_compared_with_the_control_alone():
    X, y, arm = experiment(n_arms=3)
    both = UpliftBoostedTrees(**SMALL).fit(X, y, arm)
    assert both.n_iter_.tolist() == [20, 20]
    assert both.forest_.n_outputs == 2
    for k in (1, 2):
        rows = (arm == 0) | (arm == k)
        alone = UpliftBoostedTrees(**SMALL).fit(X[rows], y[rows], arm[rows])
        np.testing.assert_allclose(both.predict(X)[:, k - 1], alone.predict(X), rtol=1e-6, atol=1e-3)


def test_effects_are_found():
    X, y, arm = experiment(4000, n_arms=3)
    uplift = (
        UpliftBoostedTrees(n_estimators=50, learning_rate=0.1, n_folds=3, max_leaf_nodes=4).fit(X, y, arm).predict(X)
    )
    assert np.corrcoef(uplift[:, 0], X[:, 0] > 0)[0, 1] > 0.9
    assert np.corrcoef(uplift[:, 1], X[:, 3] == 2)[0, 1] > 0.9


def test_a_model_of_the_treatment_undoes_what_it_depends_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    arm = (rng.random(4000) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    y = 3 * X[:, 0] + arm * 1.0 + rng.normal(size=4000)
    settings = {"n_estimators": 40, "learning_rate": 0.2, "max_leaf_nodes": 6, "n_folds": 3}
    errors = {
        propensity: abs(UpliftBoostedTrees(**settings, propensity=propensity).fit(X, y, arm).predict(X).mean() - 1.0)
        for propensity in ("auto", "share", "model")
    }
    assert errors["auto"] == errors["model"] < 0.27 < errors["share"]


def test_the_share_serves_where_treatments_are_drawn():
    X, y, arm = experiment()
    models = [UpliftBoostedTrees(**SMALL, propensity=propensity).fit(X, y, arm) for propensity in ("auto", "share")]
    assert models[0].fingerprint() == models[1].fingerprint()


def test_rows_without_weight_are_no_rows():
    X, y, arm = experiment()
    weight = (np.arange(len(y)) % 3 > 0) + 0.0
    kept = weight > 0
    model = UpliftBoostedTrees(**SMALL).fit(X, y, arm, weight)
    assert model.fingerprint() == UpliftBoostedTrees(**SMALL).fit(X[kept], y[kept], arm[kept]).fingerprint()


def test_rows_are_dealt_out_evenly_within_strata():
    strata = np.repeat([0, 1, 2], [50, 20, 10])
    part = deal_out(strata, 5, seed=3)
    for stratum, size in ((0, 10), (1, 4), (2, 2)):
        assert np.bincount(part[strata == stratum]).tolist() == [size] * 5


@pytest.mark.parametrize(("n_rows", "least"), [(900, 50), (120, 24), (20, 4)])
def test_leaves_follow_the_rows(n_rows, least):
    X, y, arm = experiment(n_rows)
    given = {**SMALL, "min_samples_leaf": least}
    chosen = UpliftBoostedTrees(**{**SMALL, "min_samples_leaf": "auto"}).fit(X, y, arm)
    assert chosen.fingerprint() == UpliftBoostedTrees(**given).fit(X, y, arm).fingerprint()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"propensity": "known"}, r"propensity='known': use one of 'auto', 'share', 'model'"),
        ({"n_folds": 1}, r"n_folds=1: use an integer at least 2"),
        ({"learning_rate": 0.0}, r"learning_rate=0\.0: use a number above 0"),
        ({"unknown": "guess"}, r"unknown='guess': use one of 'average', 'missing', 'error'"),
    ],
)
def test_parameters_are_checked(changes, message):
    X, y, arm = experiment(100)
    with pytest.raises(ValueError, match=message):
        UpliftBoostedTrees(**changes).fit(X, y, arm)


# ---- known probabilities of treatment --------------------------------------------------------------------------------


def test_known_probabilities_take_the_place_of_the_share():
    X, y, arm = experiment()
    shares = np.full(len(y), np.mean(arm))
    known = UpliftBoostedTrees(**SMALL).fit(X, y, arm, propensity=shares)
    assert known.fingerprint() == UpliftBoostedTrees(**SMALL, propensity="share").fit(X, y, arm).fingerprint()
    uneven = UpliftBoostedTrees(**SMALL).fit(X, y, arm, propensity=np.where(X[:, 0] > 0, 0.7, 0.4))
    assert uneven.fingerprint() != known.fingerprint()


def test_each_of_several_treatments_has_its_probability_beside_the_control():
    X, y, arm = experiment(n_arms=3)
    chances = np.column_stack([np.full(len(y), 0.2), np.where(X[:, 1] > 0, 0.3, 0.5)])
    both = UpliftBoostedTrees(**SMALL).fit(X, y, arm, propensity=chances)
    rows = arm != 1
    beside = chances[rows, 1] / (1 - chances[rows, 0])
    alone = UpliftBoostedTrees(**SMALL).fit(X[rows], y[rows], arm[rows], propensity=beside)
    np.testing.assert_allclose(both.predict(X)[:, 1], alone.predict(X), rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize(
    ("propensity", "message"),
    [
        (np.full(100, 1.0), r"propensity is 1 in row 0: use probabilities above 0 and below 1"),
        (np.where(np.arange(100) == 7, 0.0, 0.5), r"propensity is 0 in row 7: .* leave out rows"),
        (np.full(99, 0.5), r"propensity has shape \(99,\), expected \(100,\)"),
        (np.full((100, 2), 0.3), r"propensity has shape \(100, 2\), expected \(100,\)"),
        (np.full(100, np.nan), r"propensity contains NaN"),
    ],
)
@pytest.mark.parametrize("model", [UpliftBoostedTrees, UpliftForest])
def test_impossible_probabilities_are_refused(model, propensity, message):
    X, y, arm = experiment(100)
    with pytest.raises(ValueError, match=message):
        model(n_estimators=2).fit(X, y, arm, propensity=propensity)
