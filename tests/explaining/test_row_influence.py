"""Influence of training rows against leaving them out for real."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.base import clone
from tests.reference.influence import refitted_changes, retrained_changes

import arboretum as arb
from arboretum.explaining.row_influence import _largest

RNG = np.random.default_rng(0)
N = 72
X = RNG.integers(0, 3, size=(N, 3)).astype(float)
Y = 4 * (X[:, 0] > 0) + 2 * (X[:, 1] > 1) * (X[:, 0] > 0) + 0.9 * (X[:, 2] > 0) + 0.4 * RNG.normal(size=N)
OF_TWO = (Y + RNG.normal(size=N) > 3).astype(int)
OF_THREE = np.digitize(Y, [1.5, 4.5])
NEW = np.array([[0.0, 0.0, 0.0], [2.0, 2.0, 0.0], [2.0, 0.0, 2.0], [0.0, 2.0, 2.0]])
SMALL = {"early_stopping": False, "l2": 1.0, "min_samples_leaf": 5, "max_leaf_nodes": 5, "n_jobs": 1}


def three_axes(influence):
    return influence[..., None] if influence.ndim == 2 else influence


def rank_correlation(found, true):
    found, true = three_axes(found), three_axes(true)
    pairs = zip(np.moveaxis(found, 1, 2).reshape(-1, N), np.moveaxis(true, 1, 2).reshape(-1, N), strict=True)
    return float(np.mean([spearmanr(a, b)[0] for a, b in pairs if np.ptp(b) > 0]))


@pytest.mark.parametrize(
    ("model", "y", "least"),
    [
        (arb.BoostedTreesRegressor(n_estimators=10, learning_rate=0.3, **SMALL), Y, 0.99),
        (
            arb.BoostedTreesRegressor(n_estimators=5, learning_rate=0.3, trees_per_round=3, subsample=1.0, **SMALL),
            Y,
            0.99,
        ),
        (arb.BoostedTreesRegressor(n_estimators=6, learning_rate=0.3, loss="poisson", **SMALL), np.abs(Y), 0.95),
        (arb.BoostedTreesClassifier(n_estimators=10, learning_rate=0.3, **SMALL), OF_TWO, 0.95),
        (arb.BoostedTreesClassifier(n_estimators=8, learning_rate=0.2, vector_leaves=False, **SMALL), OF_THREE, 0.9),
        (arb.BoostedTreesClassifier(n_estimators=8, learning_rate=0.2, vector_leaves=True, **SMALL), OF_THREE, 0.9),
    ],
    ids=["squared", "forest", "poisson", "two", "three", "vector"],
)
def test_boosting_ranks_rows_as_leaves_fitted_again_do(model, y, least):
    model = clone(model).fit(X, y)
    true = refitted_changes(model, NEW, X, np.asarray(y, dtype=float))
    found = model.influence(NEW, X_train=X, y_train=y)
    assert rank_correlation(found, true) > least
    found = three_axes(found)
    assert 0.8 < np.sum(found * true) / np.sum(found**2) < 1.25  # as large as it should be, too


def test_one_round_of_squared_error_is_exact():
    model = arb.BoostedTreesRegressor(n_estimators=1, learning_rate=0.5, **{**SMALL, "l2": 0.0}).fit(X, Y)
    true = refitted_changes(model, NEW, X, Y)[..., 0]
    # The start and the leaves move at once: a product of two small numbers is left out.
    np.testing.assert_allclose(model.influence(NEW, X_train=X, y_train=Y), true, atol=0.01 * np.abs(true).max())


BINARY = np.array([[i >> k & 1 for k in range(3)] for i in range(N)], float)
CELLS = BINARY @ [1.0, 2.0, 4.0] + RNG.normal(size=N)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (arb.BoostedTreesRegressor(n_estimators=4, learning_rate=0.3, **{**SMALL, "max_leaf_nodes": 8}), CELLS),
        (
            arb.BoostedTreesClassifier(n_estimators=4, learning_rate=0.3, **{**SMALL, "max_leaf_nodes": 8}),
            (CELLS > 3).astype(int),
        ),
        (arb.DecisionTreeRegressor(max_leaf_nodes=8), CELLS),
        (arb.DecisionTreeClassifier(max_leaf_nodes=8), np.digitize(CELLS, [2, 5])),
        (arb.RandomForestRegressor(n_estimators=5, bootstrap=False, max_features=None, n_jobs=1), CELLS),
    ],
    ids=["boosted numbers", "boosted classes", "tree of numbers", "tree of classes", "forest"],
)
def test_ranks_are_those_of_models_fitted_again_where_trees_keep_their_shape(model, y):
    """Three columns of two values: whatever the order of cuts, the leaves are the same eight cells."""
    model = clone(model).fit(BINARY, y)
    new = BINARY[:4]
    true = retrained_changes(model, new, BINARY, y)
    assert rank_correlation(model.influence(new, X_train=BINARY, y_train=y), true) > 0.9


def plain_forest_changes(model, new, X, target, copies):
    """Mean over trees of the leaf's mean without each row; of the sibling's if the row was alone."""
    forest, leaves, asked = model.forest_, model.apply(X), model.apply(new)
    changes = np.zeros((len(new), len(X)))
    for t in range(forest.n_trees):
        tree = forest[t : t + 1]
        for j, i in np.ndindex(changes.shape):
            if asked[j, t] != leaves[i, t] or not copies[i, t]:
                continue
            others = (leaves[:, t] == leaves[i, t]) & (np.arange(len(X)) != i) & (copies[:, t] > 0)
            if others.any():
                value = np.average(target[others], weights=copies[others, t])
            else:
                parent = int(np.flatnonzero((tree.left == leaves[i, t]) | (tree.right == leaves[i, t]))[0])
                sibling = tree.left[parent] + tree.right[parent] - leaves[i, t]
                value = tree.value[sibling, 0]
            changes[j, i] += (value - tree.value[leaves[i, t], 0]) / forest.n_trees
    return changes


@pytest.mark.parametrize("options", [{}, {"min_samples_leaf": 4}, {"bootstrap": False}])
def test_forests_equal_the_plain_loop_over_their_bags(options):
    model = arb.RandomForestRegressor(n_estimators=6, keep_bags=True, n_jobs=1, **options).fit(X, Y)
    expected = plain_forest_changes(model, NEW, X, Y, model.bags_.copies)
    found = model.influence(NEW, X_train=X, y_train=Y)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    fall = np.square(model.predict(NEW)[:, None] + expected - 1.0) - np.square(model.predict(NEW) - 1.0)[:, None]
    np.testing.assert_allclose(model.influence(NEW, np.ones(4), X_train=X, y_train=Y), fall, atol=1e-12)


def test_weights_and_classes_of_a_tree():
    weight = RNG.integers(0, 3, N).astype(float)
    labels = np.array(["no", "yes"])[OF_TWO]
    model = arb.DecisionTreeClassifier(max_leaf_nodes=4).fit(X, labels, sample_weight=weight)
    found = model.influence(NEW, X_train=X, y_train=labels, sample_weight=weight)
    leaves, asked = model.apply(X), model.apply(NEW)
    for j, i in np.ndindex(found.shape):
        same = leaves == asked[j]
        rest = same & (np.arange(N) != i)
        change = np.average(OF_TWO[rest], weights=weight[rest]) - np.average(OF_TWO[same], weights=weight[same])
        assert found[j, i] == pytest.approx(change, abs=1e-12)
    loss = model.influence(NEW, ["yes"] * 4, X_train=X, y_train=labels, sample_weight=weight)
    miss = model.predict_proba(NEW)[:, 1] - 1.0
    np.testing.assert_allclose(loss, np.square(miss[:, None] + found) - np.square(miss)[:, None], atol=1e-12)


def test_a_loss_moves_by_its_gradient_times_the_change():
    model = arb.BoostedTreesClassifier(n_estimators=5, **SMALL).fit(X, OF_THREE)
    changes = model.influence(NEW, X_train=X, y_train=OF_THREE)
    truth = [0, 1, 2, 0]
    gradients = model.predict_proba(NEW) - np.eye(3)[truth]
    loss = model.influence(NEW, truth, X_train=X, y_train=OF_THREE)
    np.testing.assert_allclose(loss, np.einsum("jic,jc->ji", changes, gradients), atol=1e-12)


def test_threads_and_top_give_the_same():
    model = arb.BoostedTreesRegressor(n_estimators=5, **SMALL).fit(X, Y)
    new = np.tile(NEW, (70, 1))  # more than one block
    whole = model.influence(new, X_train=X, y_train=Y)
    np.testing.assert_array_equal(whole[:4], whole[-4:])
    model.n_jobs = 2
    indices, values = model.influence(new, X_train=X, y_train=Y, top=7)
    np.testing.assert_array_equal(values, np.take_along_axis(whole, indices, axis=1))
    np.testing.assert_array_equal(np.abs(values), -np.sort(-np.abs(whole), axis=1)[:, :7])


def test_top_of_several_outputs_has_an_axis_for_them():
    model = arb.RandomForestClassifier(n_estimators=3).fit(X, OF_THREE)
    whole = model.influence(NEW, X_train=X, y_train=OF_THREE)
    indices, values = model.influence(NEW, X_train=X, y_train=OF_THREE, top=500)
    assert whole.shape == (4, N, 3)
    assert indices.shape == values.shape == (4, N, 3)
    np.testing.assert_array_equal(values, np.take_along_axis(whole, indices, axis=1))


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, -3.0]), min_size=1, max_size=12), st.integers(1, 12))
@settings(max_examples=50, deadline=None)
def test_the_largest_of_equal_ones_are_the_first(row, top):
    top = min(top, len(row))
    indices, _ = _largest(np.array([row]), top)
    expected = sorted(range(len(row)), key=lambda i: (-abs(row[i]), i))[:top]
    assert indices[0].tolist() == expected


def test_categories_missing_values_and_a_harmful_label():
    rng = np.random.default_rng(1)
    towns, ages = rng.choice(["Bern", "Chur"], 60).tolist(), rng.integers(18, 80, 60).astype(float).tolist()
    rows = [list(row) for row in zip(towns, ages, strict=True)]
    rows[3][1], rows[4][0] = None, None
    y = np.array([town == "Bern" for town, _ in rows], int)
    y[10] = 1 - y[10]
    model = arb.BoostedTreesClassifier(n_estimators=8, min_samples_leaf=5, early_stopping=False).fit(rows, y)
    loss = model.influence([rows[10]], [1 - y[10]], X_train=rows, y_train=y)
    assert loss.argmin() == 10  # without the wrong label, the loss of its right class falls most


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (arb.BoostedTreesRegressor(n_estimators=1, loss="absolute_error"), "'absolute_error' has leaves that are no"),
        (arb.BoostedTreesRegressor(n_estimators=2, dart_rate=0.5), r"dart_rate=0.5 .* use dart_rate=0"),
        (arb.BoostedTreesRegressor(n_estimators=1, leaf_model="linear"), "linear: use leaf_model='constant'"),
        (arb.RandomForestRegressor(n_estimators=1, criterion="absolute_error"), "has medians in its leaves"),
        (
            arb.BoostedTreesRegressor(n_estimators=1, loss=lambda y, raw: (raw - y, np.ones_like(raw))),
            "is a function that is asked about all rows at once: derive a class from Loss",
        ),
    ],
)
def test_what_has_no_derivative_is_refused(model, message):
    model = clone(model).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.influence(NEW, X_train=X, y_train=Y)


def test_other_rows_and_other_models_are_refused():
    model = arb.RandomForestRegressor(n_estimators=2).fit(X, Y)
    for wrong_X, wrong_y in ((X, Y[::-1]), (X[:50], Y[:50]), (X, np.column_stack([Y, Y]))):
        with pytest.raises(ValueError, match="give the rows that the model was fitted on"):
            model.influence(NEW, X_train=wrong_X, y_train=wrong_y)
    with pytest.raises(TypeError, match="influence is not known for IsolationForest: use boosted trees"):
        arb.IsolationForest(n_estimators=2).fit(X).influence(NEW, X_train=X, y_train=Y)
    with pytest.raises(ValueError, match="many branches per node: use method='cart'"):
        arb.DecisionTreeClassifier(method="c45").fit(X, OF_TWO).influence(NEW, X_train=X, y_train=OF_TWO)
    votes = arb.RandomForestClassifier(n_estimators=2, voting="hard").fit(X, OF_TWO)
    with pytest.raises(ValueError, match="use voting='soft'"):
        votes.influence(NEW, X_train=X, y_train=OF_TWO)
    with pytest.raises(ValueError, match="y has 2 outputs, but the training rows have 1"):
        model.influence(NEW, np.ones((4, 2)), X_train=X, y_train=Y)
