"""Accumulated effects and Friedman's H against twins that ask for one prediction at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from tests.reference.dependence import accumulated, h_squared

import arboretum as arb
from arboretum.explaining import accumulated_effects, interaction_strength

RNG = np.random.default_rng(1)
X = RNG.normal(size=(120, 3)).round(1)
Y = X[:, 0] * X[:, 1] + X[:, 2]


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (arb.BoostedTreesRegressor(n_estimators=10, min_samples_leaf=3), Y),
        (arb.BoostedTreesClassifier(n_estimators=5, min_samples_leaf=3), np.digitize(Y, [-0.5, 0.5])),
        (arb.RandomForestRegressor(n_estimators=5), Y),
    ],
)
def test_accumulated_effects_are_those_of_single_steps(model: Any, y: Any) -> None:
    model = clone(model).fit(X, y)
    found = accumulated_effects(model, X, 0, grid_resolution=7)
    assert_allclose(found.values, accumulated(model, X, 0, found.grid[0]), rtol=1e-10, atol=1e-12)
    assert found.grid[0][0] == X[:, 0].min()
    assert found.grid[0][-1] == X[:, 0].max()
    assert_array_equal(found.values, model.accumulated_effects(X, "x0", grid_resolution=7, n_jobs=1).values)


def test_weights_are_repetitions_and_missing_rows_are_left_out() -> None:
    model = arb.RandomForestRegressor(n_estimators=5).fit(X, Y)
    times = RNG.integers(0, 3, len(X))
    table = np.vstack([X, [[np.nan, 0.0, 0.0], [np.inf, 0.0, 0.0]]])
    weighted = accumulated_effects(model, X[times > 0], 0, grid_resolution=500, sample_weight=times[times > 0])
    repeated = accumulated_effects(model, np.repeat(X, times, axis=0), 0, grid_resolution=500)
    assert_allclose(weighted.values, repeated.values, rtol=1e-10, atol=1e-12)
    with pytest.warns(UserWarning, match="missing"):
        kept = accumulated_effects(model, table, 0)
    assert_array_equal(kept.values, accumulated_effects(model, X, 0).values)


def test_two_columns_have_no_joint_effect_without_interaction() -> None:
    stumps = arb.BoostedTreesRegressor(n_estimators=30, max_depth=1, min_samples_leaf=3).fit(X, X[:, 0] + X[:, 1])
    found = accumulated_effects(stumps, X, (0, 1), grid_resolution=5)
    assert_allclose(found.values, 0.0, atol=1e-12)
    table = RNG.normal(size=(600, 2))
    deep = arb.RandomForestRegressor(n_estimators=10).fit(table, table[:, 0] * table[:, 1])
    joint = accumulated_effects(deep, table, (0, 1), grid_resolution=5)
    assert joint.values.shape == (len(joint.grid[0]), len(joint.grid[1]), 1)
    turned = accumulated_effects(deep, table, (1, 0), grid_resolution=5)
    assert_allclose(joint.values[..., 0], turned.values[..., 0].T, atol=1e-10)
    corners = joint.values[[0, 0, -1, -1], [0, -1, 0, -1], 0]
    assert_array_equal(np.sign(corners), [1, -1, -1, 1])  # of the product of the columns


def test_a_constant_column_has_no_effect() -> None:
    table = np.column_stack([X, np.ones(len(X))])
    model = arb.RandomForestRegressor(n_estimators=3).fit(table, Y)
    assert_array_equal(accumulated_effects(model, table, 3).values, [[0.0], [0.0]])


@pytest.mark.parametrize(
    "model",
    [
        arb.BoostedTreesRegressor(n_estimators=10, min_samples_leaf=3),
        arb.BoostedTreesRegressor(n_estimators=5, min_samples_leaf=3, leaf_model="linear"),
        arb.RandomForestRegressor(n_estimators=3, oblique=True),
    ],
)
def test_h_is_that_of_all_pairs_of_rows(model: Any) -> None:
    model = clone(model).fit(X, Y)
    few = X[:25]
    found = interaction_strength(model, few, ["x0", 1, 2])
    for j, k in ((0, 1), (0, 2), (1, 2)):
        assert found.values[j, k, 0] == pytest.approx(h_squared(model, few, j, k), rel=1e-8, abs=1e-10)
        assert found.values[j, k, 0] == found.values[k, j, 0]
    assert found.features == list(found.grid[0]) == ["x0", "x1", "x2"]


def test_h_of_votes_is_that_of_the_same_trees_with_votes_as_leaves() -> None:
    grown = {"n_estimators": 5, "min_samples_leaf": 1, "bootstrap": False, "max_features": 0.5, "prior_trees": 0.0}
    hard, soft = (arb.RandomForestClassifier(voting=voting, **grown).fit(X, Y > 0) for voting in ("hard", "soft"))
    assert_array_equal(hard.predict_proba(X), soft.predict_proba(X))  # leaves are pure: a share is a vote
    assert_array_equal(interaction_strength(hard, X[:25]).values, interaction_strength(soft, X[:25]).values)


def test_h_of_stumps_is_zero_and_of_a_product_is_not() -> None:
    table = RNG.normal(size=(400, 3))
    stumps = arb.BoostedTreesRegressor(n_estimators=30, max_depth=1).fit(table, table[:, 0] + table[:, 1])
    assert_allclose(interaction_strength(stumps, table).values, 0.0, atol=1e-12)
    deep = arb.BoostedTreesRegressor(n_estimators=60).fit(table, table[:, 0] * table[:, 1] + 3 * table[:, 2])
    found = interaction_strength(deep, table, max_rows=100).values[..., 0]
    assert found[0, 1] > 0.5 > 0.1 > found[0, 2]
    assert found[2, 2] < 0.05
    assert_array_equal(interaction_strength(deep, table, max_rows=100, n_jobs=1).values[..., 0], found)


def test_errors() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "colour": RNG.choice(["red", "blue"], len(X))})
    model = arb.RandomForestRegressor(n_estimators=2).fit(frame, Y)
    with pytest.raises(ValueError, match="column 'colour' holds categories: use partial_dependence"):
        accumulated_effects(model, frame, "colour")
    with pytest.raises(ValueError, match="no row has finite values of a, and a weight above 0"):
        accumulated_effects(model, frame.assign(a=np.inf), "a")
    for features in ("a", ["a"], ["a", "a"]):
        with pytest.raises(ValueError, match=r"two different columns|give a list of columns"):
            interaction_strength(model, frame, features)
