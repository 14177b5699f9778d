"""Steps that are too long to trust: the bound against its formula, and what it is for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import arboretum as arb
from arboretum import _kernel
from arboretum.data.binning import assign_bins, learn_bins
from arboretum.data.table import read_table
from arboretum.ensembles.boosting.rounds import BoostingParams, BoostingRun
from arboretum.ensembles.boosting.rows import Rows, filled_raw, start_raw
from arboretum.growing.grower import TreeParams
from arboretum.growing.sampling import Subsample
from arboretum.losses import Cox, Gamma, Logistic, Poisson, Tweedie

values = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20).map(np.array)


def longest(newton, growth):
    return np.maximum(2.0, np.log1p(growth * np.abs(newton))) / growth


@given(values, st.floats(0.0, 1.0), st.sampled_from([1.0, 0.25, np.inf]), st.sampled_from([1.0, 10.0, 0.5]))
@example(np.array([0.0, -0.0, 2.0, -7.0, 1e300, 5e-324]), 1.0, 1.0, 1.0)
def test_values_are_weighted_up_to_the_longest_step(newton, weight, limit, growth):
    found = _kernel.weighted_values(newton, weight, limit, growth)
    expected = newton * weight
    with np.errstate(invalid="ignore"):
        cut = np.abs(expected) > limit * longest(newton, growth)
    np.testing.assert_array_equal(found[~cut], expected[~cut])
    np.testing.assert_allclose(found[cut], np.sign(newton[cut]) * limit * longest(newton[cut], growth), rtol=1e-14)


@given(values, st.floats(0.01, 1.0))
def test_weighted_values_keep_their_order(newton, weight):
    """What monotone constraints have put in order stays so."""
    assert (np.diff(_kernel.weighted_values(np.sort(newton), weight, 1.0)) >= 0).all()


# ---- what it is for --------------------------------------------------------------------------------------------------

LOSSES = [Logistic(), Poisson(), Gamma(), Tweedie(1.2)]


@settings(max_examples=40)
@given(st.sampled_from(LOSSES), st.integers(0, 10**6), st.floats(0.01, 0.3), st.sampled_from([0.0, 1.0]))
def test_no_round_raises_the_training_loss(loss, seed, rate, l2):
    """Up to a rate of 0.3 every step is one that lowers a bound of the loss, however small the hessians are."""
    rng = np.random.default_rng(seed)
    table = read_table(np.round(rng.normal(size=(60, 2)), 1))
    rare = rng.random(60) < 0.05
    rare[0] = True
    y = np.where(rare, 1.0, 0.0) if loss.name == "log_loss" else np.where(rare, 1e4, 1e-3)
    data, base = assign_bins(table, learn_bins(table)), start_raw(loss, y, None)
    tree = TreeParams(min_samples_leaf=1, min_child_weight=0.0, max_leaf_nodes=8, l2=l2)
    params = BoostingParams(30, rate, tree, Subsample(), seed=0, threads=1, track_training=True)
    _, history = BoostingRun(Rows(data, y, None, filled_raw(base, 60)), loss, params, base=base).complete()
    losses = np.array([loss.value(y, filled_raw(base, 60)[0]), *history.training_loss])
    assert (np.diff(losses) <= 1e-9 * (1 + np.abs(losses[:-1]))).all()


def rare_classes(n_rows, seed):
    """Classes of 90, 9 and 1 %, hard to tell apart."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n_rows, p=[0.9, 0.09, 0.01])
    return rng.normal(size=(n_rows, 5)) + y[:, None], y


@pytest.mark.parametrize("rate", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("leaf_steps", [1, 5])
def test_rare_classes_without_penalty_do_not_diverge(rate, leaf_steps):
    X, y = rare_classes(3000, 0)
    X_test, y_test = rare_classes(3000, 1)
    model = arb.BoostedTreesClassifier(
        n_estimators=60, learning_rate=rate, l2=0.0, min_samples_leaf=2, leaf_steps=leaf_steps, early_stopping=False
    ).fit(X, y)
    probability = model.predict_proba(X_test)[np.arange(3000), y_test]
    assert -np.log(probability).mean() < 1.5


SURVIVAL = [
    {"loss": "cox"},
    *(
        {"loss": "aft", "aft_distribution": distribution, "aft_scale": scale}
        for distribution in ("normal", "logistic", "extreme")
        for scale in (1.0, 0.1)
    ),
]


@pytest.mark.parametrize("params", SURVIVAL, ids=lambda params: "-".join(map(str, params.values())))
@pytest.mark.parametrize(
    "options",
    [
        {"learning_rate": 1.0},
        {"leaf_steps": 10},
        {"trees_per_round": 3},
        {"leaf_model": "linear", "linear_l2": 0.0},
    ],
    ids=str,
)
def test_survival_without_penalty_does_not_diverge(params, options):
    """Risks of 1e5 came of Cox's loss, 1e16 of others, at concordances of guesses."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    died, left = rng.exponential(np.exp(-X[:, 0])), rng.exponential(2, 100)
    y = np.column_stack([np.minimum(died, left), died <= left])
    every_round = {"n_estimators": 60, "l2": 0.0, "min_samples_leaf": 1, "early_stopping": False}
    model = arb.BoostedTreesSurvival(**every_round, **params, **options).fit(X, y)
    assert np.abs(model.predict(X)).max() < 100
    assert model.score(X, y) > (0.5 if "leaf_model" in options else 0.9)  # slopes that are too steep are left out


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.floats(0.01, 0.3), st.sampled_from([0.0, 1.0]))
def test_no_round_of_cox_raises_the_training_loss(seed, rate, l2):
    rng = np.random.default_rng(seed)
    table = read_table(np.round(rng.normal(size=(60, 2)), 1))
    time = np.round(rng.exponential(size=60), 1) + 0.1
    y = np.column_stack([time, np.where(rng.random(60) < 0.7, time, np.inf)])
    loss, data = Cox(), assign_bins(table, learn_bins(table))
    tree = TreeParams(min_samples_leaf=1, min_child_weight=0.0, max_leaf_nodes=8, l2=l2)
    params = BoostingParams(30, rate, tree, Subsample(), seed=0, threads=1, track_training=True)
    rows = Rows(data, y, None, filled_raw(np.zeros(1), 60))
    _, history = BoostingRun(rows, loss, params, base=np.zeros(1)).complete()
    losses = np.array([loss.value(y, np.zeros(60)), *history.training_loss])
    assert (np.diff(losses) <= 1e-9 * (1 + np.abs(losses[:-1]))).all()


def test_trees_of_a_round_share_the_longest_step():
    """The mean of equal trees is each of them."""
    X, y = rare_classes(500, 2)
    options = {"n_estimators": 1, "learning_rate": 1.0, "l2": 0.0, "min_samples_leaf": 1, "early_stopping": False}
    one = arb.BoostedTreesClassifier(**options).fit(X, y == 2)
    four = arb.BoostedTreesClassifier(trees_per_round=4, **options).fit(X, y == 2)
    step = np.abs(one.decision_function(X) - one.forest_.base[0])
    assert step.max() > 2
    np.testing.assert_allclose(one.decision_function(X), four.decision_function(X), rtol=1e-12)


def test_losses_in_other_units_take_any_step():
    y = np.array([0.0, 1000.0] * 20)
    model = arb.BoostedTreesRegressor(n_estimators=1, learning_rate=1.0, l2=0.0, min_samples_leaf=1)
    np.testing.assert_allclose(model.fit(y[:, None], y).predict(y[:, None]), y, atol=1e-9)
