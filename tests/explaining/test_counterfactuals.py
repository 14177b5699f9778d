"""Counterfactuals: they reach the target, keep to locks and ranges, and are the nearest where that can be checked."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import arboretum as arb
from arboretum.explaining import counterfactual

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
Y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=150) > 0).astype(int)


def spreads(X):
    return np.mean(np.abs(X - np.median(X, axis=0)), axis=0)


def nearest_by_all_combinations(model, row, X, target, free):
    """Fewest changes and least distance over both sides of every threshold, all columns at once."""
    forest, choices = model.forest_, []
    for j in range(len(row)):
        cuts = np.unique(forest.threshold[(forest.kind == 1) & (forest.feature == j)]) if j in free else []
        choices.append([row[j], *cuts, *np.nextafter(cuts, np.inf)])
    rows = np.array(list(itertools.product(*choices)))
    rows = rows[model.predict(rows) == target]
    if not len(rows):
        return None
    away = np.abs(rows - row) / spreads(X)
    return min(zip((rows != row).sum(axis=1).tolist(), away.sum(axis=1).tolist(), strict=True))


@given(st.integers(0, 10_000), st.integers(2, 6), st.sets(st.integers(0, 3), max_size=2))
@settings(max_examples=25, deadline=None)
def test_of_one_tree_it_is_the_nearest_leaf(seed, leaves, locked):
    rng = np.random.default_rng(seed)
    y = (rng.random(150) < 1 / (1 + np.exp(-3 * X[:, 0] + 2 * X[:, 2]))).astype(int)
    model = arb.DecisionTreeClassifier(max_leaf_nodes=leaves, min_samples_leaf=5).fit(X, y)
    row = X[seed % 150]
    target = 1 - int(model.predict(row[None])[0])
    expected = nearest_by_all_combinations(model, row, X, target, set(range(4)) - locked)
    if expected is None:
        with pytest.raises(ValueError, match="no row with the prediction"):
            counterfactual(model, row, X, target=target, locked=locked)
        return
    found = counterfactual(model, row, X, target=target, locked=locked)
    assert (len(found.changes), found.distance) == (expected[0], pytest.approx(expected[1]))


MODELS = [
    arb.RandomForestClassifier(n_estimators=15, n_jobs=1),
    arb.BoostedTreesClassifier(n_estimators=15, min_samples_leaf=5, n_jobs=1),
    arb.ExtraTreesClassifier(n_estimators=8, oblique=True, n_jobs=1),
]


@pytest.mark.parametrize("model", MODELS, ids=["forest", "boosting", "oblique"])
def test_the_prediction_changes_and_locks_and_ranges_hold(model):
    model = clone(model).fit(X, Y)
    for row in X[:6]:
        target = 1 - int(model.predict(row[None])[0])
        found = counterfactual(model, row, X, target=target, locked=[3], ranges={0: (-2.0, 2.0)})
        after = np.array(found.row)
        assert model.predict(after[None])[0] == target == found.prediction
        assert after[3] == row[3]
        assert after[0] == row[0] or -2.0 <= after[0] <= 2.0
        assert {change.feature for change in found.changes} == {f"x{j}" for j in np.flatnonzero(after != row)}
        assert found.distance == pytest.approx(np.sum(np.abs(after - row) / spreads(X)))
        for change in found.changes:  # none can be spared
            less = after.copy()
            less[int(change.feature[1:])] = change.before
            assert model.predict(less[None])[0] != target
        nearest = np.min(np.sum(X[model.predict(X) == target] != row, axis=1))
        assert len(found.changes) <= nearest


def test_one_change_is_the_nearest_there_is():
    model = arb.BoostedTreesClassifier(n_estimators=20, min_samples_leaf=5).fit(X, Y)
    forest, checked = model.forest_, 0
    for row in X[:10]:
        target = 1 - int(model.predict(row[None])[0])
        found = counterfactual(model, row, X, target=target)
        single = []
        for j in range(4):
            cuts = np.unique(forest.threshold[(forest.kind == 1) & (forest.feature == j)])
            for value in (*cuts, *np.nextafter(cuts, np.inf)):
                tried = row.copy()
                tried[j] = value
                if model.predict(tried[None])[0] == target:
                    single.append(abs(value - row[j]) / spreads(X)[j])
        if single:
            checked += 1
            assert len(found.changes) == 1
            assert found.distance == pytest.approx(min(single))
        else:
            assert len(found.changes) > 1
    assert checked > 2


def test_many_changes_are_found_from_rows_that_are_there(monkeypatch):
    monkeypatch.setattr("arboretum.explaining.counterfactuals.MOST_PAIRS", 0)
    rows = np.array([[i >> k & 1 for k in range(5)] for i in range(32)] * 5, float)
    y = (rows[:, :4].sum(axis=1) == 4).astype(int)
    model = arb.RandomForestClassifier(n_estimators=20, bootstrap=False, max_features=None).fit(rows, y)
    found = counterfactual(model, np.zeros(5), rows, target=1)
    assert sorted(change.feature for change in found.changes) == ["x0", "x1", "x2", "x3"]
    assert found.row == (1, 1, 1, 1, 0)  # whole numbers stay whole
    model.n_jobs = 2
    assert counterfactual(model, np.zeros(5), rows, target=1) == found
    assert str(counterfactual(model, np.ones(5), rows, target=1)) == "no change\nprediction: 1"


def test_categories_dates_missing_values_and_named_rows():
    frame = pd.DataFrame(
        {
            "town": RNG.choice(["Bern", "Chur", "Genf"], 120),
            "age": RNG.integers(18, 80, 120),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 100, 120), "D"),
            "member": RNG.random(120) < 0.5,
        }
    )
    y = np.where((frame.town == "Bern") | (frame.age > 60), "yes", "no")
    frame.loc[5, "town"] = None
    model = arb.BoostedTreesClassifier(n_estimators=20, min_samples_leaf=5).fit(frame, y)
    row = {"town": "Chur", "age": 30, "since": pd.Timestamp("2024-02-01"), "member": True}
    found = counterfactual(model, row, frame, target="yes")
    assert found.changes == (("town", "Chur", "Bern"),)
    assert found.distance == 1.0
    locked = counterfactual(model, pd.Series(row), frame, target="yes", locked="town")
    (change,) = locked.changes
    assert change.feature == "age"
    assert type(change.after) is int
    assert locked.row == ("Chur", change.after, np.datetime64("2024-02-01", "us"), True)
    assert str(locked) == f"age: 30 → {change.after}\nprediction: yes"
    unknown = counterfactual(model, {**row, "town": None}, frame, target="yes", locked=["age"])
    assert unknown.changes == (("town", None, "Bern"),)
    one_row = counterfactual(model, frame.assign(town="Chur", age=30).head(1), frame, target="yes")
    assert one_row.changes == found.changes


@pytest.mark.parametrize("n_towns", [6, 200], ids=["sets", "lists"])
def test_of_one_tree_one_category_is_changed_where_that_is_enough(n_towns):
    towns = np.array([f"t{i}" for i in range(n_towns)])
    frame = pd.DataFrame({"town": np.append(RNG.choice(towns, 599), None), "size": RNG.normal(size=600)})
    y = np.where(frame.town.isin(towns[::3]) ^ (frame["size"] > 1), "yes", "no")
    model = arb.DecisionTreeClassifier(max_leaf_nodes=9).fit(frame, y)
    for row in (frame[:1], frame[1:2], frame[-1:]):
        target = "no" if model.predict(row)[0] == "yes" else "yes"
        found = counterfactual(model, row, frame, target=target)
        assert model.predict(pd.DataFrame([found.row], columns=frame.columns))[0] == target
        known = towns[np.isin(towns, frame.town[:-1])]
        others = pd.DataFrame({"town": known, "size": row["size"].item()})
        assert (model.predict(others) != target).all() or len(found.changes) == 1


def test_numbers_are_brought_into_an_interval():
    y = 3 * X[:, 0] + X[:, 1]
    model = arb.BoostedTreesRegressor(n_estimators=30, min_samples_leaf=5).fit(X, y)
    row = X[int(np.argmin(y))]
    found = counterfactual(model, row, X, target=(1.0, None))
    assert found.prediction >= 1.0
    assert model.predict([found.row])[0] == found.prediction


def test_input_that_makes_no_sense_is_refused():
    model = clone(MODELS[0]).fit(X, Y)
    row = X[0]
    for arguments, message in [
        ({"target": 7}, r"target=7: expected one of the classes \[0, 1\]"),
        ({"target": 1, "locked": ["age"]}, "no column is called 'age'"),
        (
            {"target": 1, "ranges": {0: 5}},
            "ranges of column 'x0'=5: give the least and the largest number, None for no limit",
        ),
        ({"target": 1, "ranges": {0: (2, 1)}}, "the first number must not be above the second"),
        ({"target": 1 - int(model.predict(row[None])[0]), "locked": range(4)}, "no row with the prediction"),
    ]:
        with pytest.raises(ValueError, match=message):
            counterfactual(model, row, X, **arguments)
    with pytest.raises(ValueError, match="row has 2 rows: expected one"):
        counterfactual(model, X[:2], X, target=1)
    with pytest.raises(TypeError, match="not known for IsolationForest: use a classifier or regressor"):
        counterfactual(arb.IsolationForest(n_estimators=2).fit(X), row, X, target=1)
    with pytest.raises(ValueError, match="many branches per node are not known: use method='cart'"):
        counterfactual(arb.DecisionTreeClassifier(method="c45").fit(X, Y), row, X, target=1)
    numbers = arb.DecisionTreeRegressor().fit(X, X[:, 0])
    for target in (3, (2, 1), None):
        with pytest.raises(ValueError, match=r"target="):
            counterfactual(numbers, row, X, target=target)
    for several, y in ((arb.RandomForestClassifier, X[:, :2] > 0), (arb.RandomForestRegressor, X[:, :2])):
        with pytest.raises(ValueError, match="counterfactuals need one output: fit one model per output"):
            counterfactual(several(n_estimators=2).fit(X, y), row, X, target=(0.0, 1.0))
    named = arb.DecisionTreeClassifier().fit(pd.DataFrame({"a": ["p", "q"] * 5, "b": [1.0, 2.0] * 5}), [0, 1] * 5)
    with pytest.raises(ValueError, match="row has no value of 'b'"):
        counterfactual(named, {"a": "p"}, pd.DataFrame({"a": ["p"], "b": [1.0]}), target=1)
    with pytest.raises(ValueError, match="'a', which holds categories"):
        counterfactual(named, ["p", 1.0], pd.DataFrame({"a": ["p"], "b": [1.0]}), target=1, ranges={"a": (0, 1)})
