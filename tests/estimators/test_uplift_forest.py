"""Uplift forests: trees against brute force, laws of weights and order, honest leaves, files."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import uplift as slow
from tests.reference.bags import copies
from tests.reference.files import reloaded

import arboretum as arb
from arboretum import UpliftForest
from arboretum.data.weights import by_inverse_chance
from arboretum.ensembles.bagging.adjusting import expected_outcomes
from arboretum.ensembles.bagging.trees import BaggedTarget, Draws, Treatment

SEEDS = st.integers(0, 2**32 - 1)
CRITERIA = ("kl", "euclidean", "chi2")
AS_THEY_ARE = {"adjust": False, "honest": False}  # leaves hold outcomes of the rows that grew them
ONE_TREE = {
    **AS_THEY_ARE,
    **{"n_estimators": 1, "bootstrap": False, "max_features": None, "max_bins": None, "n_jobs": 1},
}


def random_problem(seed, criterion, n_arms, n_rows=60, *, numbers=False, weighted=True, normalise=True):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.integers(0, 6, n_rows).astype(float),
            rng.normal(size=n_rows).round(1),
            rng.integers(1, 6, n_rows).astype(float),
        ]
    )
    X[rng.random(X.shape) < 0.15] = np.nan
    arm = np.concatenate([np.arange(n_arms).repeat(2), rng.integers(0, n_arms, n_rows - 2 * n_arms)])
    y = (rng.random(n_rows) < 0.3 + 0.3 * (arm > 0) * (X[:, 0] > 2)).astype(float)
    y[: 2 * n_arms] = np.tile([0.0, 1.0], n_arms)  # every arm has both outcomes
    if numbers:
        y = rng.integers(-64, 640, n_rows) / 64 + y
    weight = rng.integers(16, 192, n_rows) / 64 if weighted else np.ones(n_rows)
    weight = weight / weight.mean()  # in rows, as parent_weight is
    least_arm, least_rows = int(rng.integers(1, 4)), int(rng.integers(1, 12))
    parent_weight = float(rng.choice([0.0, 1.0, 10.0]))
    categorical = (False, False, True)
    return slow.Problem(X, categorical, y, arm, weight, criterion, normalise, parent_weight, least_arm, least_rows)


def fitted(problem, **changes):
    settings_of_tree = {
        "criterion": problem.criterion,
        "normalise": problem.normalise,
        "parent_weight": problem.parent_weight,
        "min_samples_treatment": problem.least_arm,
        "min_samples_leaf": problem.least_rows,
        "categorical_features": [2],
    }
    model = UpliftForest(**{**ONE_TREE, **settings_of_tree, **changes})
    weight = None if (problem.weight == 1).all() else problem.weight
    return model.fit(problem.X, problem.y, treatment=problem.arm, sample_weight=weight)


def check_tree(problem, model):
    """Every node has the outcomes of its rows, and the best of all cuts, or none if none is allowed."""
    forest, rows_of = model.forest_, model.decision_path(problem.X)[0].tocsc()
    parents = {0: None}
    n_leaves = 0
    for node in range(forest.n_nodes):
        rows = rows_of[:, node].nonzero()[0]
        mine = problem.outcomes(rows, parents[node])
        assert forest.n_rows[node] == len(rows)
        np.testing.assert_allclose(forest.value[node], mine, rtol=1e-10, atol=1e-12)
        best = problem.best_gain(rows, mine)
        if forest.kind[node] == 0:
            assert best < 1e-9, (node, best)
            n_leaves += 1
            continue
        assert forest.gain[node] == pytest.approx(best, rel=1e-8, abs=1e-12)
        parents[forest.left[node]] = parents[forest.right[node]] = mine
    return n_leaves


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from(CRITERIA), st.sampled_from([2, 3]), st.booleans())
def test_trees_are_those_of_brute_force(seed, criterion, n_arms, normalise):
    problem = random_problem(seed, criterion, n_arms, normalise=normalise)
    check_tree(problem, fitted(problem))


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from([2, 3]), st.booleans())
def test_trees_of_numbers_are_those_of_brute_force(seed, n_arms, normalise):
    problem = random_problem(seed, "euclidean", n_arms, numbers=True, normalise=normalise)
    check_tree(problem, fitted(problem))


def test_brute_force_sees_trees_that_grow():
    """The laws above would hold of stumps: trees of these problems have leaves to speak of."""
    leaves = [check_tree(p, fitted(p)) for p in (random_problem(seed, "kl", 2) for seed in range(4))]
    assert max(leaves) >= 6


def test_gains_rank_cuts_as_the_paper_says():
    """Two cuts of one node, by hand: x0 parts the effects, x1 parts treated from control."""
    arm = np.tile([0, 1], 200)
    x0 = np.repeat([0.0, 1.0], 200)
    y = np.where(x0 == 1, arm, 0).astype(float)
    y[:4] = [0, 1, 1, 0]
    X = np.column_stack([arm + 0.0, x0])
    model = UpliftForest(**ONE_TREE, max_depth=1, min_samples_treatment=1, min_samples_leaf=1).fit(X, y, arm)
    assert model.forest_.feature[0] == 1


@given(SEEDS, st.sampled_from(CRITERIA))
@settings(max_examples=15, deadline=None)
def test_a_weight_of_three_is_three_rows(seed, criterion):
    problem = replace(random_problem(seed, criterion, 2, weighted=False), least_arm=1, least_rows=1)
    times = np.random.default_rng(seed).integers(1, 4, len(problem.y))
    weighted = fitted(replace(problem, weight=times.astype(float)))
    again = np.repeat(np.arange(len(times)), times)
    repeated = fitted(
        replace(problem, X=problem.X[again], y=problem.y[again], arm=problem.arm[again], weight=np.ones(len(again)))
    )
    np.testing.assert_allclose(weighted.predict(problem.X), repeated.predict(problem.X), rtol=1e-12, atol=1e-14)


def experiment(n_rows=1500, seed=0, n_arms=2):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n_rows).round(),
            "city": rng.choice(["Bonn", "Köln", "Ulm", "Jena"], n_rows),
            "spent": np.where(rng.random(n_rows) < 0.2, np.nan, rng.exponential(10, n_rows)),
        }
    )
    arm = rng.integers(0, n_arms, n_rows)
    y = rng.random(n_rows) < 0.2 + 0.3 * arm * (X.city == "Ulm") + 0.2 * (arm == 1) * (X.age > 45)
    return X, y.to_numpy(), np.array(["control", "mail", "visit"])[arm]


SMALL = {"n_estimators": 8, "min_samples_leaf": 30, "max_features": None}


def test_uplift_is_outcome_under_treatment_less_that_of_the_control():
    X, y, arm = experiment(n_arms=3)
    model = UpliftForest(**SMALL).fit(X, y, arm)
    outcome = model.predict_outcome(X)
    assert outcome.shape == (len(X), 3)
    assert 0 <= outcome.min() <= outcome.max() <= 1
    np.testing.assert_array_equal(model.predict(X), outcome[:, 1:] - outcome[:, :1])
    assert UpliftForest(**SMALL).fit(X[arm != "visit"], y[arm != "visit"], arm[arm != "visit"]).predict(X).ndim == 1


def test_the_best_arm_has_the_largest_outcome():
    X, y, arm = experiment(n_arms=3)
    model = UpliftForest(**SMALL, honest=False, adjust=False).fit(X, y, arm)
    by_outcome = model.arms_[np.argmax(model.predict_outcome(X), axis=1)]
    np.testing.assert_array_equal(model.best_arm(X), by_outcome)


def test_effects_are_found():
    X, y, arm = experiment(20_000, n_arms=2)
    model = UpliftForest(n_estimators=30, max_features=None, max_depth=3).fit(X, y, arm)
    truth = 0.3 * (X.city == "Ulm") + 0.2 * (X.age > 45)
    assert np.corrcoef(model.predict(X), truth)[0, 1] > 0.9
    assert model.score(X, y, arm) > 0.1
    assert model.feature_importances_[:2].sum() > 0.9


def test_the_control_may_have_any_name_and_place():
    X, y, arm = experiment()
    model = UpliftForest(**SMALL).fit(X, y, arm)
    for names in ({"control": 0, "mail": 1}, {"control": "z", "mail": "a"}, {"control": True, "mail": False}):
        other = UpliftForest(**SMALL, control=names["control"]).fit(X, y, [names[label] for label in arm])
        assert other.arms_.tolist() == list(names.values())
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_outcomes_may_be_words():
    X, y, arm = experiment()
    model = UpliftForest(**SMALL).fit(X, np.where(y, "yes", "no"), arm)
    assert model.outcomes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(X), UpliftForest(**SMALL).fit(X, y.astype(int), arm).predict(X))
    assert model.score(X, np.where(y, "yes", "no"), arm) == UpliftForest(**SMALL).fit(X, y, arm).score(X, y, arm)


def test_leaves_of_honest_trees_are_filled_by_rows_out_of_their_bags():
    X, y, arm = experiment(400)
    few = {**SMALL, "n_estimators": 3, "criterion": "kl"}
    model = UpliftForest(**few, honest=True, min_samples_treatment=5, parent_weight=4.0).fit(X, y, arm)
    code, leaf = (arm == "mail").astype(np.int32), model.apply(X)
    arms = Treatment(code, n_arms=2, min_rows_arm=5, parent_weight=4.0, balanced_gain=True)
    target = BaggedTarget("kl", None, numbers=y.astype(float)[:, None], treatment=arms)
    times_drawn = copies(model, X, target, Draws(0.5))
    for tree in range(3):
        forest = model.forest_[tree : tree + 1]
        out = times_drawn[:, tree] == 0
        assert 0.5 < out.mean() < 0.7  # half as many draws as rows
        parent = {child: node for node in range(forest.n_nodes) for child in (forest.left[node], forest.right[node])}

        def rows_below(node, forest=forest, tree=tree):
            if forest.kind[node] == 0:
                return leaf[:, tree] == node
            return rows_below(forest.left[node], forest) | rows_below(forest.right[node], forest)

        for node in range(1, forest.n_nodes):
            for k in (0, 1):
                mine = y[rows_below(node) & out & (code == k)]
                drawn = 4.0 * forest.value[parent[node], k]
                assert forest.value[node, k] == pytest.approx((mine.sum() + drawn) / (len(mine) + 4.0), rel=1e-12)


def test_an_arm_without_rows_in_an_honest_leaf_has_the_outcome_of_the_parent():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    arm = rng.integers(0, 2, 60)
    y = rng.random(60) < 0.5
    model = UpliftForest(n_estimators=40, min_samples_leaf=1, min_samples_treatment=1, honest=True, parent_weight=0.0)
    assert np.isfinite(model.fit(X, y, arm).forest_.value).all()


def test_trees_are_added_to_those_there_are():
    X, y, arm = experiment()
    for honest in (False, True):
        whole = UpliftForest(**{**SMALL, "n_estimators": 10}, honest=honest).fit(X, y, arm)
        model = UpliftForest(**{**SMALL, "n_estimators": 4}, honest=honest, warm_start=True).fit(X, y, arm)
        assert model.set_params(n_estimators=10).fit(X, y, arm).fingerprint() == whole.fingerprint()
    with pytest.raises(ValueError, match="columns, categories or classes are not those of the fitted trees"):
        model.set_params(n_estimators=12).fit(X, y, np.where(arm == "mail", "post", arm))


def test_a_tree_is_text():
    X, y, arm = experiment()
    text = UpliftForest(**SMALL, max_depth=1).fit(X, y, arm).to_text()
    assert "control 0." in text
    assert "mail 0." in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"criterion": "gini"}, r"criterion='gini': use one of 'auto', 'kl', 'euclidean', 'chi2'"),
        ({"criterion": "kl", "adjust": True}, r"adjust=True with criterion='kl', .*'euclidean' or adjust=False"),
        ({"normalise": 1}, r"normalise=1: use one of True, False"),
        ({"honest": True, "bootstrap": False}, r"honest=True without bootstrap: .* set bootstrap=True or honest=False"),
        ({"min_samples_treatment": 0}, r"min_samples_treatment=0: use an integer at least 1"),
        ({"parent_weight": -1.0}, r"parent_weight=-1\.0: use a number at least 0"),
    ],
)
def test_parameters_are_checked(changes, message):
    X, y, arm = experiment(100)
    with pytest.raises(ValueError, match=message):
        UpliftForest(**changes).fit(X, y, arm)


def test_numbers_need_the_euclidean_criterion():
    X, y, arm = experiment(100)
    with pytest.raises(ValueError, match=r"criterion='kl' needs outcomes 0 and 1: y has 2 in row 0; .*'euclidean'"):
        UpliftForest(criterion="kl").fit(X, y + 2.0, arm)
    for adjust in (True, False):
        chosen = UpliftForest(n_estimators=3, adjust=adjust).fit(X, y + 2.0, arm)
        given_one = UpliftForest(n_estimators=3, adjust=adjust, criterion="euclidean").fit(X, y + 2.0, arm)
        assert chosen.fingerprint() == given_one.fingerprint()


# ---- small tables ----------------------------------------------------------------------------------------------------


def small_campaign(n_rows, n_treated):
    rng = np.random.default_rng(0)
    X, treated = rng.random((n_rows, 2)), np.arange(n_rows) < n_treated
    y = rng.random(n_rows) < 0.2 + 0.6 * treated * (X[:, 0] > 0.5)
    return X, y, treated


@pytest.mark.parametrize("honest", [False, True])
@pytest.mark.parametrize(("n_rows", "n_treated"), [(20, 10), (60, 30), (150, 75), (150, 8), (400, 200)])
def test_small_tables_are_split_by_default(n_rows, n_treated, honest):
    X, y, treated = small_campaign(n_rows, n_treated)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = UpliftForest(n_estimators=20, honest=honest).fit(X, y, treatment=treated)
    assert np.ptp(model.predict(X)) > 0


@pytest.mark.parametrize("control", [2, -1, "0", True])
def test_a_file_whose_control_is_not_an_arm_is_refused(control):
    model = UpliftForest(n_estimators=2).fit(*small_campaign(60, 30))
    with pytest.raises(arb.ModelFileError, match=f"control is {control!r}: expected the position of one of the 2 arms"):
        reloaded(model, lambda header, arrays: header.update(control=control))


def test_limits_of_leaves_follow_the_outcomes():
    X, y, treated = small_campaign(2000, 1000)
    rare = y & (np.arange(2000) % 2 == 0)
    for outcome, least in (
        (y.astype(int), math.ceil(5 / y.mean())),
        (rare, math.ceil(5 / rare.mean())),
        (y + X[:, 1], 5),
    ):
        given, automatic = (
            UpliftForest(n_estimators=3, **params).fit(X, outcome, treatment=treated)
            for params in ({"min_samples_leaf": 20, "min_samples_treatment": least}, {})
        )
        assert given.fingerprint() == automatic.fingerprint()


# ---- adjusted outcomes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [False, True])
def test_leaves_of_adjusted_trees_hold_what_is_expected_and_what_arms_add(known):
    X, y, arm = experiment(400)
    chance = np.where(X["age"] > 40, 0.7, 0.4)
    inverse = 1 / np.where(arm == "mail", chance, 1 - chance) if known else np.ones(400)
    y = y + X["age"].to_numpy() / 10
    params = {**SMALL, "n_estimators": 3, "parent_weight": 0.0, "min_samples_treatment": 5}
    model = UpliftForest(**params, honest=False).fit(X, y, arm, propensity=chance if known else None)
    code, leaf = (arm == "mail").astype(np.int32), model.apply(X)
    arms = Treatment(code, n_arms=2)
    target = BaggedTarget("euclidean", None, numbers=y[:, None], treatment=arms)
    times_drawn = copies(model, X, target, Draws(1.0))
    expected = expected_outcomes(training_rows(model, X, y, arm), 0, 1)
    for tree in range(3):
        forest, drawn = model.forest_[tree : tree + 1], times_drawn[:, tree]
        for node in np.unique(leaf[:, tree]):
            here = leaf[:, tree] == node
            level = np.average(expected[here], weights=drawn[here])
            for k in (0, 1):
                mine = here & (code == k)
                added = np.average((y - expected)[mine], weights=(drawn * inverse)[mine])
                assert forest.value[node, k] == pytest.approx(level + added, rel=1e-9)


def training_rows(model, X, y, arm):
    """Rows as the recipe of a forest cuts them."""
    preparation = model.recipe().preparation
    return preparation.cut(preparation.read(X, (y, arm, None)), 1)


def test_expected_outcomes_are_those_of_trees_that_have_not_seen_the_row():
    rng = np.random.default_rng(0)
    X, arm = rng.normal(size=(500, 3)), rng.integers(0, 2, 500)
    noise, signal = rng.normal(size=500), 3 * X[:, 0]
    of_noise, of_signal = (
        expected_outcomes(training_rows(UpliftForest(), X, y, arm), 0, 1) for y in (noise, signal + noise)
    )
    assert np.corrcoef(of_noise, noise)[0, 1] < 0.2  # about 0.7 if trees had seen the rows
    assert np.corrcoef(of_signal, signal)[0, 1] > 0.9


def test_adjusted_forests_do_not_depend_on_the_order_of_rows():
    X, y, arm = experiment(300)
    order = np.random.default_rng(1).permutation(300)
    one = UpliftForest(**SMALL).fit(X, y, arm)
    other = UpliftForest(**SMALL).fit(X.iloc[order], y[order], arm[order])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9, atol=1e-12)


def test_what_columns_foretell_does_not_blur_effects():
    rng = np.random.default_rng(0)
    X, arm = rng.normal(size=(2000, 3)), rng.integers(0, 2, 2000)
    effect = 1.0 * (X[:, 1] > 0)
    y = 9 * X[:, 0] + arm * effect + rng.normal(size=2000)
    errors = [
        np.sqrt(np.mean((UpliftForest(n_estimators=30, adjust=adjust).fit(X, y, arm).predict(X) - effect) ** 2))
        for adjust in (True, False)
    ]
    assert errors[0] < 0.7 * errors[1]


# ---- known probabilities of treatment --------------------------------------------------------------------------------


def confounded(n_rows=4000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    chance = 1 / (1 + np.exp(-1.5 * X[:, 0]))
    arm = (rng.random(n_rows) < chance).astype(int)
    return X, 3 * X[:, 0] + arm + rng.normal(size=n_rows), arm, chance


def test_known_probabilities_may_be_a_column():
    X, y, arm, chance = confounded(300)
    known = UpliftForest(**SMALL).fit(X, y, arm, propensity=chance)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "arm": arm, "chance": chance})
    named = UpliftForest(**SMALL).fit(frame, target="y", treatment="arm", propensity="chance")
    np.testing.assert_array_equal(named.predict(frame), known.predict(X))
    weight = by_inverse_chance(None, np.where(arm, chance, 1 - chance), arm, 2)
    assert known.score(X, y, arm, propensity=chance) == known.score(X, y, arm, sample_weight=weight)


def test_weights_of_rows_that_fill_honest_leaves_count_as_they_do_in_the_table():
    """Rows of large weight are drawn more often, and were left out of leaves as often as not."""
    rng = np.random.default_rng(0)
    n_rows = 4000
    X, arm, heavy = rng.normal(size=(n_rows, 1)), rng.integers(0, 2, n_rows), rng.random(n_rows) < 0.5
    y = arm * np.where(heavy, 2.0, 0.0) + rng.normal(size=n_rows) / 10
    model = UpliftForest(n_estimators=20, max_depth=1).fit(X, y, arm, np.where(heavy, 3.0, 1.0))
    assert model.predict(X).mean() == pytest.approx(1.5, abs=0.1)


def test_known_probabilities_undo_what_treatments_depend_on():
    X, y, arm, chance = confounded()
    settings = {"n_estimators": 20, "max_depth": 2, "adjust": False}
    plain, known = (
        UpliftForest(**settings).fit(X, y, arm, propensity=given).predict(X).mean() for given in (None, chance)
    )
    assert abs(known - 1) < 0.3 < 0.8 < abs(plain - 1)
