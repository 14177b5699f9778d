"""Random survival forests: every cut a best one by the log-rank statistic, hazards of leaves, files, the same bits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import survival as slow
from tests.reference.bags import copies
from tests.reference.files import reloaded

import arboretum as arb
from arboretum import RandomSurvivalForest
from arboretum.ensembles.bagging.trees import BaggedTarget, Draws

law = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
WHOLE = {"bootstrap": False, "max_features": None, "max_bins": None, "n_estimators": 1}


def problem(seed=0, n=120, n_times=20):
    """Return a table with numbers, holes and categories; times with ties; at least one event."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.integers(0, 9, n).astype(float), "b": rng.normal(size=n), "c": rng.normal(size=n)})
    X.loc[rng.random(n) < 0.2, "b"] = np.nan
    X["town"] = pd.Categorical(rng.choice(["Oslo", "Rome", "Köln", "東京"], n))
    risk = X["a"] / 4 + X["town"].cat.codes / 2
    time = np.ceil(rng.exponential(size=n) * n_times / np.exp(risk))
    event = rng.random(n) < 0.7
    event[0] = True
    return X, np.column_stack([time, event]), rng


def copies_of(model, X, y, weight=None):
    """How often each tree drew each row, (rows, trees); a forest draws from rows in the order of their times."""
    order = np.argsort(y[:, 0], kind="stable")
    rank = 1.0 + np.unique(y[order, 0], return_inverse=True)[1]
    ranks = np.where(y[order, 1] == 1, rank, -rank)[:, None]
    target = BaggedTarget("log_rank", None if weight is None else weight[order], numbers=ranks)
    found = np.empty((len(X), len(model)))
    found[order] = copies(model, X.iloc[order], target, Draws(1.0))
    return found


def nodes_and_rows(model, X):
    """Rows that pass each node of the one tree."""
    indicator, _ = model.decision_path(X)
    passes = indicator.toarray().astype(bool)
    return [passes[:, node] for node in range(passes.shape[1])]


def best_cut(x, time, event, weight, least):
    """Largest log-rank statistic of a numeric column, missing values on either side or alone."""
    best, missing = -np.inf, np.isnan(x)
    sides = []
    for cut in np.unique(x[~missing])[:-1]:
        sides += [x <= cut, (x <= cut) | missing] if missing.any() else [x <= cut]
    if missing.any():
        sides.append(~missing)
    for left in sides:
        if min(left.sum(), (~left).sum()) >= least:
            found = slow.log_rank(time, event, weight, left)
            best = best if found is None else max(best, found)
    return best


# ---- cuts ----------------------------------------------------------------------------------------------------------


@law
@given(SEEDS, st.integers(8, 60), st.sampled_from([2, 6, 1000]), st.sampled_from([1, 3]), st.booleans())
def test_cuts_are_those_of_brute_force(seed, n, n_times, least, weighted):
    X, y, rng = problem(seed, n, n_times)
    X = X[["a", "b", "c"]]
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    model = RandomSurvivalForest(**WHOLE, min_samples_leaf=least, min_samples_split=2).fit(X, y, weight)
    time, event, forest = y[:, 0], y[:, 1] == 1, model.forest_
    for node, rows in enumerate(nodes_and_rows(model, X)):
        part, part_y = X[rows], (time[rows], event[rows], weight[rows])
        best = max(best_cut(part[name].to_numpy(), *part_y, least) for name in X)
        if forest.left[node] < 0:
            assert best == -np.inf
            continue
        left = nodes_and_rows(model, X)[forest.left[node]][rows]
        assert forest.gain[node] == pytest.approx(slow.log_rank(*part_y, left), rel=1e-6)
        assert forest.gain[node] == pytest.approx(best, rel=1e-6)


@law
@given(SEEDS, st.integers(10, 80))
def test_cuts_of_categories_are_log_rank_statistics(seed, n):
    X, y, _ = problem(seed, n)
    model = RandomSurvivalForest(**WHOLE, min_samples_leaf=1, min_samples_split=2).fit(X[["town"]], y)
    time, event, forest = y[:, 0], y[:, 1] == 1, model.forest_
    passing = nodes_and_rows(model, X[["town"]])
    for node, rows in enumerate(passing):
        if forest.left[node] < 0:
            continue
        left = passing[forest.left[node]][rows]
        found = slow.log_rank(time[rows], event[rows], np.ones(rows.sum()), left)
        assert forest.gain[node] == pytest.approx(found, rel=1e-6)
        if rows.sum() < 20:  # where categories have a row or two, their order may hide the best one
            continue
        codes = X["town"].cat.codes.to_numpy()[rows]
        alone = [slow.log_rank(time[rows], event[rows], np.ones(rows.sum()), codes == code) for code in set(codes)]
        assert forest.gain[node] >= 0.9 * max((one for one in alone if one is not None), default=0.0)


def test_a_tree_finds_the_group_that_dies_early():
    X = np.arange(40.0)[:, None]
    y = np.column_stack([np.where(X[:, 0] < 20, 100 + X[:, 0], 1 + X[:, 0]), np.ones(40)])
    model = RandomSurvivalForest(**WHOLE, max_depth=1).fit(X, y)
    assert model.forest_.threshold[0] == 19.5
    assert model.predict([[0.0]])[0] < model.predict([[30.0]])[0]


# ---- hazards -------------------------------------------------------------------------------------------------------


@law
@given(SEEDS, st.booleans())
def test_hazards_are_those_of_the_rows_of_the_leaves(seed, bootstrap):
    X, y, rng = problem(seed, 60)
    weight = rng.integers(1, 4, 60).astype(float)
    model = RandomSurvivalForest(n_estimators=3, bootstrap=bootstrap, random_state=seed % 7).fit(X, y, weight)
    drawn = copies_of(model, X, y, weight) if bootstrap else None
    time, event, times = y[:, 0], y[:, 1] == 1, model.event_times_
    np.testing.assert_array_equal(times, np.unique(time[event]))
    leaves, expected, alive = model.apply(X), np.zeros((60, len(times))), np.zeros((60, len(times)))
    for tree in range(3):
        counts = drawn[:, tree] if bootstrap else weight
        for leaf in np.unique(leaves[:, tree]):
            rows = leaves[:, tree] == leaf
            expected[rows] += slow.nelson_aalen(time[rows], event[rows], counts[rows], times) / 3
            alive[rows] += slow.kaplan_meier(time[rows], event[rows], counts[rows], times) / 3
    np.testing.assert_allclose(model.predict_cumulative_hazard(X), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict(X), expected.sum(axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict_survival_function(X), alive, rtol=1e-9, atol=1e-12)


def test_hazards_between_and_beyond_the_times_of_events(monkeypatch):
    X, y, _ = problem()
    model = RandomSurvivalForest(n_estimators=5).fit(X, y)
    times = model.event_times_
    whole = model.predict_cumulative_hazard(X)
    asked = [0.0, times[0] - 1e-9, times[0], (times[1] + times[2]) / 2, times[-1], times[-1] + 1000]
    found = model.predict_cumulative_hazard(X, asked)
    np.testing.assert_array_equal(found[:, :2], 0.0)
    np.testing.assert_array_equal(found[:, 2:], whole[:, [0, 1, -1, -1]])
    survival = model.predict_survival_function(X)
    assert (np.diff(survival, axis=1) <= 0).all()
    assert survival.min() >= 0
    assert survival.max() <= 1
    np.testing.assert_array_equal(model.predict_survival_function(X, asked)[:, 2:], survival[:, [0, 1, -1, -1]])
    np.testing.assert_array_equal(model.predict_survival_function(X, asked)[:, :2], 1.0)
    monkeypatch.setattr("arboretum.ensembles.bagging.leaf_hazards.CELLS_AT_ONCE", 1)  # one time after the other
    np.testing.assert_allclose(model.predict_cumulative_hazard(X), whole, rtol=1e-12)


def test_unknown_categories_take_the_mean_of_both_branches():
    X, y, _ = problem()
    model = RandomSurvivalForest(n_estimators=5).fit(X, y)
    new = X.head(3).assign(town="Atlantis")
    np.testing.assert_allclose(model.predict(new), model.predict_cumulative_hazard(new).sum(axis=1), rtol=1e-9)


# ---- the same bits -------------------------------------------------------------------------------------------------


def test_trees_can_be_added():
    X, y, _ = problem(4)
    at_once = RandomSurvivalForest(n_estimators=12).fit(X, y)
    grown = RandomSurvivalForest(n_estimators=5, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=12).fit(X, y)
    assert grown.fingerprint() == at_once.fingerprint()
    with pytest.raises(ValueError, match="warm_start=True, but columns, categories or classes are not those of"):
        grown.set_params(n_estimators=13).fit(X, y * [2.0, 1.0])


def test_out_of_bag_risks_are_those_of_trees_that_never_saw_the_row():
    X, y, rng = problem(5)
    order = rng.permutation(len(X))  # not the order of times
    X, y = X.iloc[order], y[order]
    model = RandomSurvivalForest(n_estimators=60, oob_score=True).fit(X, y)
    drawn = copies_of(model, X, y)
    values, counts = np.zeros(len(X)), np.zeros(len(X))
    for tree, leaf in enumerate(model.apply(X).T):
        out = drawn[:, tree] == 0
        values += np.where(out, model.forest_.value[model.forest_.tree_start[tree] + leaf, 0], 0.0)
        counts += out
    np.testing.assert_allclose(model.oob_prediction_, values / counts)
    assert model.oob_score_ == arb.metrics.concordance_index(y, model.oob_prediction_)
    assert model.oob_score_ < model.score(X, y)


# ---- files ---------------------------------------------------------------------------------------------------------


def changed(name, change):
    def damage(arrays):
        array = arrays[name].copy()
        arrays[name] = change(array)

    return damage


def put(index, value):
    def change(array):
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (changed("hazard_step", put(0, np.nan)), "hazards: a step has an unknown time or an invalid size"),
        (changed("hazard_step", put(0, 7.0)), "hazards: a step has an unknown time or an invalid size"),
        (changed("hazard_step", lambda array: array[:-1]), "hazards: the number of steps does not fit the forest"),
        (
            changed("hazard_step", lambda array: array.astype(np.float32)),
            "hazards: expected 1-D arrays of int64, int32 and float64",
        ),
        (changed("hazard_time", put(0, 10**6)), "hazards: a step has an unknown time or an invalid size"),
        (
            changed("hazard_time", lambda array: array[::-1]),
            "hazards: the steps of a leaf are not in ascending order of time",
        ),
        (
            changed("hazard_start", put(1, 10**6)),
            "hazards: expected steps at leaves only, with starts in ascending order",
        ),
        (changed("event_times", lambda array: array[::-1]), "event_times: expected ascending times of at least 0"),
        (changed("event_times", put(0, np.inf)), "event_times: expected finite numbers"),
        (lambda arrays: arrays.pop("hazard_time"), "hazard_time"),
        (
            lambda arrays: arrays.update(
                base=np.zeros(2), value=np.repeat(arrays["value"], 2, axis=1), tree_output=np.full(2, -1, np.int32)
            ),
            "2 values per leaf, not one",
        ),
    ],
)
def test_damaged_files_are_refused(damage, message):
    X, y, _ = problem()
    model = RandomSurvivalForest(n_estimators=2).fit(X, y)
    with pytest.raises(arb.ModelFileError, match=message):
        reloaded(model, lambda header, arrays: damage(arrays))


# ---- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"oob_score": "r2"}, None, "oob_score='r2': use True for the concordance index, or False"),
        ({"oob_score": True, "bootstrap": False}, None, "oob_score=True without bootstrap"),
        ({"min_samples_leaf": 0}, None, "min_samples_leaf=0"),
        ({}, [[1.0, 0]] * 120, "y has no event in 120 rows, all are censored"),
        ({}, np.arange(120.0), r"y has shape \(120,\), but a survival target has times and events"),
        (
            {},
            pd.DataFrame({"lower": np.ones(120), "upper": np.full(120, 2.0)}),
            r"y lies between 1 and 2 in row 0: only events and right-censored rows .*\(loss='aft'\) takes intervals",
        ),
    ],
)
def test_errors_tell_the_cure(params, y, message):
    X, given_y, _ = problem()
    with pytest.raises(ValueError, match=message):
        RandomSurvivalForest(**params).fit(X, given_y if y is None else y)


def test_events_need_weight():
    X, y, _ = problem()
    with pytest.raises(ValueError, match="no row of positive sample_weight has an event"):
        RandomSurvivalForest().fit(X, y, (y[:, 1] == 0).astype(float))


def test_times_to_predict_at():
    X, y, _ = problem()
    with pytest.raises(Exception, match="not fitted yet"):
        RandomSurvivalForest().predict_survival_function(X)
    model = RandomSurvivalForest(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="times has -1: times count from 0"):
        model.predict_survival_function(X, [-1.0])
    with pytest.raises(ValueError, match=r"times has shape \(1, 1\): give a list of times"):
        model.predict_survival_function(X, [[1.0]])


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
def test_times_are_the_steps_of_the_curves(level):
    X, y, _ = problem(0)
    model = RandomSurvivalForest(n_estimators=7).fit(X, y)
    expected = slow.first_times(model.predict_survival_function(X), model.event_times_, level)
    np.testing.assert_array_equal(model.predict_time(X, quantile=level), expected)
