"""Extremely randomized trees: thresholds are drawn between the values of a node, on all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import arboretum as arb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 4))
Y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * RNG.normal(size=500)
FORESTS = [(arb.ExtraTreesClassifier, Y > 0), (arb.ExtraTreesRegressor, Y)]


def thresholds(model, feature=0):
    forest = model.forest_
    return forest.threshold[(forest.kind == 1) & (forest.feature == feature)]


@pytest.mark.parametrize(("cls", "y"), FORESTS)
def test_every_tree_sees_every_row_and_draws_its_own_cuts(cls, y):
    forest = cls(n_estimators=20, max_features="sqrt").fit(X, y).forest_
    roots = forest.tree_start[:-1]
    assert (forest.n_rows[roots] == 500).all()
    assert len(set(zip(forest.feature[roots], forest.threshold[roots], strict=True))) == 20


@pytest.mark.parametrize(("cls", "y"), FORESTS)
@pytest.mark.parametrize("max_bins", [255, None, 4])
def test_thresholds_lie_between_the_values_of_their_node(cls, y, max_bins):
    model = cls(n_estimators=5, max_bins=max_bins).fit(X, y)
    indicator, start = model.decision_path(X)
    forest = model.forest_
    for node in np.flatnonzero(forest.kind):
        values = X[indicator[:, node].toarray().ravel() > 0, forest.feature[node]]
        assert values.min() <= forest.threshold[node] < values.max()
    assert start[-1] == forest.n_nodes


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("holes", [False, True])
def test_first_thresholds_are_uniform_over_the_range(max_bins, holes):
    """Not over the rows: nine in ten lie below 1."""
    x = np.r_[np.linspace(0, 1, 900), np.linspace(1, 10, 100)]
    table = np.where(RNG.random(1000) < 0.1, np.nan, x)[:, None] if holes else x[:, None]
    table[[0, -1]] = [[0.0], [10.0]]
    model = arb.ExtraTreesRegressor(n_estimators=1500, max_depth=1, max_bins=max_bins).fit(table, RNG.normal(size=1000))
    counts = np.histogram(thresholds(model), bins=10, range=(0, 10))[0]
    # Bins are quantiles: those of 255 are some 0.4 wide beyond 1.
    assert abs(counts - 150).max() < (45 if max_bins is None else 90)
    assert abs(thresholds(model).mean() - 5) < 0.35


@pytest.mark.parametrize(("cls", "y"), FORESTS)
def test_a_random_forest_with_drawn_thresholds_is_another_model(cls, y):
    searched = getattr(arb, cls.__name__.replace("ExtraTrees", "RandomForest"))
    params = {"n_estimators": 3, "bootstrap": False, "max_features": None}
    assert (thresholds(cls(**params).fit(X, y))[:5] != thresholds(searched(**params).fit(X, y))[:5]).any()


@pytest.mark.parametrize(("cls", "y"), FORESTS)
def test_drawn_thresholds_smooth_what_searched_ones_step(cls, y):
    """Of one wide gap, a random forest takes the middle; extra trees take all of it."""
    x = np.r_[np.zeros(50), np.ones(50)][:, None]
    model = cls(n_estimators=300).fit(x, x[:, 0] if cls is arb.ExtraTreesRegressor else x[:, 0].astype(int))
    drawn = thresholds(model)
    if model.max_bins == 255:
        assert ((drawn >= 0) & (drawn < 1)).all()
    exact = cls(n_estimators=300, max_bins=None).fit(x, x[:, 0].astype(int))
    assert np.ptp(thresholds(exact)) > 0.9


@pytest.mark.parametrize(("cls", "y"), FORESTS)
@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize(
    "column",
    [np.r_[-np.inf, np.arange(98.0), np.inf], np.linspace(-1, 1, 100) * 1.7e308, np.arange(100) * 5e-324],
    ids=["infinite", "huge", "tiny"],
)
def test_extreme_values_are_not_cut_off_one_by_one(cls, y, max_bins, column):
    """Ranges beyond the largest double: a tree of a hundred values would be a hundred deep."""
    labels = np.arange(100) % 2 if cls is arb.ExtraTreesClassifier else np.arange(100.0)
    model = cls(n_estimators=200, max_bins=max_bins, min_samples_leaf=1).fit(column[:, None], labels)
    np.testing.assert_array_equal(model.predict(column[:, None]), labels)
    assert model.forest_.tree_depths().max() < 60


def test_missing_values_are_a_cut_for_every_criterion():
    table = np.array([[1.0], [np.nan]] * 30)
    y = np.array([1.0, 2.0] * 30)
    for criterion in ("squared_error", "poisson", "absolute_error"):
        model = arb.ExtraTreesRegressor(n_estimators=3, criterion=criterion).fit(table, y)
        np.testing.assert_allclose(model.predict(table), y, err_msg=criterion)
    for criterion in ("gini", "entropy"):
        model = arb.ExtraTreesClassifier(n_estimators=3, criterion=criterion).fit(table, y > 1)
        assert model.score(table, y > 1) == 1.0


def test_categories_are_cut_into_random_sets():
    town = np.array(list("abcdefgh"))[np.arange(400) % 8]
    frame = pd.DataFrame({"town": town})
    y = np.isin(town, list("adg")).astype(int)
    model = arb.ExtraTreesClassifier(n_estimators=40).fit(frame, y)
    forest = model.forest_
    assert len({forest.set_words[forest.set_start[root]].item() for root in forest.tree_start[:-1]}) > 10
    assert model.score(frame, y) == 1.0


@pytest.mark.parametrize(("cls", "y"), FORESTS)
def test_out_of_bag_needs_draws_and_has_them_if_asked(cls, y):
    with pytest.raises(ValueError, match=r"^oob_score=True without bootstrap"):
        cls(oob_score=True).fit(X, y)
    assert cls(oob_score=True, bootstrap=True).fit(X, y).oob_score_ > 0.4
