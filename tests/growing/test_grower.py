"""Parameters of trees, and grown trees as a Forest."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

import arboretum as arb
from arboretum import _kernel
from arboretum.data.binning import assign_bins, learn_bins
from arboretum.data.table import read_table
from arboretum.growing.grower import TreeParams, WeightedTree, to_forest

FREE = TreeParams(min_samples_leaf=1, max_leaf_nodes=40)


def test_parameters_are_those_of_the_kernel():
    names = {name for name in dir(_kernel.TreeParams) if not name.startswith("_")}
    assert names == {field.name for field in fields(TreeParams)}


def test_every_parameter_reaches_the_kernel():
    given = TreeParams(
        growth="symmetric",
        max_leaf_nodes=7,
        max_depth=3,
        min_samples_leaf=4,
        min_child_weight=0.5,
        l1=1.5,
        l2=2.5,
        min_gain=3.5,
        max_delta_step=4.5,
        max_features=0.5,
        colsample_level=0.25,
        colsample_tree=0.75,
        max_onehot=9,
        max_category_set=11,
        category_smoothing=5.5,
        category_l2=6.5,
        cosine=True,
        score_noise=7.5,
        monotone=(1, 0, -1),
        interaction_sets=((0, 1), (2,)),
        category_ranks=((), (1, 0, 2), ()),
    )
    packed = given.to_kernel()
    assert packed.growth == _kernel.Growth.symmetric
    for field in fields(TreeParams):
        value, default = getattr(given, field.name), getattr(TreeParams(), field.name)
        assert value != default, "the test must give every parameter a value of its own"
        if field.name == "growth":
            continue
        found = getattr(packed, field.name)
        as_tuples = tuple(tuple(x) if isinstance(x, list) else x for x in found) if isinstance(found, list) else found
        assert as_tuples == value


def test_defaults_are_those_of_the_kernel():
    packed, plain = TreeParams().to_kernel(), _kernel.TreeParams()
    for field in fields(TreeParams):
        assert getattr(packed, field.name) == getattr(plain, field.name)


def mixed_frame(n_rows=400):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "colour": rng.choice(["red", "green", "blue", None], n_rows),
            "age": np.where(rng.random(n_rows) < 0.2, np.nan, rng.integers(0, 9, n_rows)),
            "city": rng.choice([f"c{i}" for i in range(50)], n_rows),
        }
    )


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize("max_bins", [None, 255, 4])
def test_a_forest_routes_every_training_row_to_its_leaf(growth, max_bins):
    """Codes and thresholds, binned features and columns, say the same."""
    table = read_table(mixed_frame())
    data = assign_bins(table, learn_bins(table, max_bins=max_bins))
    grower = _kernel.Grower(data.codes, 1)
    params = replace(FREE, growth=growth, max_depth=5)
    rng = np.random.default_rng(1)
    trees, leaves = [], []
    for output in (0, 1, 0):
        signal = table.columns[0] + 3 * (table.columns[1] == 0) + np.nan_to_num(table.columns[2], nan=4.0)
        g = signal + table.columns[3] % 3 + rng.normal(size=400)
        tree = grower.grow(g, np.ones(400), None, params.to_kernel(), 0)
        trees.append(WeightedTree(tree, rng.normal(size=tree.n_nodes), output))
        leaves.append(grower.leaf_of_row)
    assert {0, 1, 2, 3} <= set(np.concatenate([t.tree.feature[t.tree.kind > 0] for t in trees]).tolist())
    forest = to_forest(trees, np.array([0.5, -1.0]), data.bin_map)
    forest.validate(4)
    np.testing.assert_array_equal(forest.apply(table.columns, 400), np.stack(leaves, axis=1))
    raw = np.repeat([[0.5, -1.0]], 400, axis=0)
    for item, leaf in zip(trees, leaves, strict=True):
        raw[:, item.output] += item.values[leaf]
    np.testing.assert_array_equal(forest.raw(table.columns, 400), raw)


def test_a_forest_without_trees():
    table = read_table([[1.0], [2.0]])
    forest = to_forest([], np.array([2.0]), learn_bins(table))
    assert forest.n_trees == 0
    np.testing.assert_array_equal(forest.raw(table.columns, 2), [[2.0], [2.0]])


def test_leaves_have_no_feature_and_splits_their_column():
    frame = pd.DataFrame({"z": [0.0, 1.0] * 20, "a": np.zeros(40)})
    table = read_table(frame)
    data = assign_bins(table, learn_bins(table))
    tree = _kernel.Grower(data.codes, 1).grow(frame["z"].to_numpy() - 0.5, np.ones(40), None, FREE.to_kernel(), 0)
    forest = to_forest([WeightedTree(tree, np.zeros(tree.n_nodes), 0)], np.zeros(1), data.bin_map)
    assert forest.feature.tolist() == [0, -1, -1]  # "z" is column 0, binned feature 1
    assert forest.threshold.tolist() == [0.5, 0.0, 0.0]
    assert forest.n_rows.tolist() == [40, 20, 20]


def test_all_values_against_missing_has_no_upper_end():
    table = read_table([[1.0], [2.0], [np.inf], [np.nan]] * 5)
    data = assign_bins(table, learn_bins(table))
    g = np.where(np.isnan(table.columns[0]), 1.0, -1.0)
    grower = _kernel.Grower(data.codes, 1)
    tree = grower.grow(g, np.ones(20), None, FREE.to_kernel(), 0)
    forest = to_forest([WeightedTree(tree, np.arange(3.0), 0)], np.zeros(1), data.bin_map)
    np.testing.assert_array_equal(forest.apply(table.columns, 20)[:, 0], np.where(g > 0, 2, 1))
    larger = [np.array([1e308, np.inf])]
    np.testing.assert_array_equal(forest.apply(larger, 2)[:, 0], [1, 1])


@pytest.mark.parametrize("growth", ["leaf", "level"])
@pytest.mark.parametrize("min_samples_leaf", [1, 7])
@pytest.mark.parametrize("max_leaf_nodes", [4, 200])  # nodes of many rows have histograms, others lists of codes
def test_thresholds_lie_in_the_middle_of_what_a_node_lacks(growth, min_samples_leaf, max_leaf_nodes):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 60, (1500, 3)).astype(float)
    y = np.sin(X[:, 0] / 5) + X[:, 1] / 60 * (X[:, 2] > 30) + 0.1 * rng.normal(size=1500)
    X[rng.random(X.shape) < 0.05] = np.nan
    options = {"min_samples_leaf": min_samples_leaf, "max_leaf_nodes": max_leaf_nodes, "max_bins": None}
    model = arb.BoostedTreesRegressor(
        n_estimators=1, growth=growth, subsample=1.0, early_stopping=False, **options
    ).fit(X, y)
    forest, (path, _) = model.forest_, model.decision_path(X)
    path, wide_gaps = path.toarray().astype(bool), 0
    for node in np.flatnonzero(forest.kind == 1):
        values = np.unique(X[~np.isnan(X[:, forest.feature[node]]), forest.feature[node]])
        cuts = (values[1:] + values[:-1]) / 2
        sides = [X[path[:, child], forest.feature[node]] for child in (forest.left[node], forest.right[node])]
        if np.isnan(sides[1]).all():
            continue  # known values against missing ones
        last_left, first_right = np.nanmax(sides[0]), np.nanmin(sides[1])
        between = np.flatnonzero((cuts > last_left) & (cuts < first_right))
        wide_gaps += len(between) > 1
        assert forest.threshold[node] == cuts[between[(len(between) - 1) // 2]]
    assert wide_gaps > 0 or max_leaf_nodes == 4


def test_joined_trees_tell_what_each_tells():
    table = read_table(mixed_frame())
    data = assign_bins(table, learn_bins(table))
    grower, rng = _kernel.Grower(data.codes, 1), np.random.default_rng(2)
    trees = [grower.grow(rng.normal(size=400), np.ones(400), None, FREE.to_kernel(), 0) for _ in range(3)]
    joined = _kernel.join_trees(trees)
    starts, words = joined.pop("sets")
    for name, values in joined.items():
        expected = np.concatenate([getattr(tree, name) for tree in trees])
        assert values.dtype == expected.dtype
        np.testing.assert_array_equal(values, expected, err_msg=name)
    assert len(words) > 0
    np.testing.assert_array_equal(words, np.concatenate([tree.sets[1] for tree in trees]))
    np.testing.assert_array_equal(np.diff(starts), np.concatenate([np.diff(tree.sets[0]) for tree in trees]))


def test_a_tree_is_scaled_to_finite_values_only():
    table = read_table([[0.0], [1.0]] * 20)
    data = assign_bins(table, learn_bins(table))
    tree = _kernel.Grower(data.codes, 1).grow(table.columns[0] - 0.5, np.ones(40), None, FREE.to_kernel(), 0)
    item = WeightedTree(tree, np.array([0.0, 1e300, -2.0]), 0)
    np.testing.assert_array_equal(item.scaled(0.5).values, [0.0, 5e299, -1.0])
    with pytest.raises(OverflowError, match="a leaf value is not finite"):
        item.scaled(1e10)
