"""Stages of a model: the first trees are the model of fewer trees, a cut tree is the pruned one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import arboretum as arb
from arboretum.estimators.standing_in import with_model
from arboretum.explaining.stages import by_depth, by_rounds
from arboretum.trees.pruning import prune_forest

DRAW = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "a": np.where(DRAW.random(160) < 0.1, np.nan, DRAW.normal(size=160)),
        "b": DRAW.normal(size=160),
        "c": DRAW.choice(["x", "y", "z"], 160),
    }
)
SIGNAL = np.nan_to_num(X["a"].to_numpy()) + (X["c"] == "x") + 0.3 * DRAW.normal(size=160)
CLASSES = np.digitize(SIGNAL, [0, 1])
TIMES = np.column_stack([np.exp(-SIGNAL), np.arange(160) % 3 > 0])
PLAIN = {"early_stopping": False, "refit": False, "learning_rate": 0.1}
MODELS = {
    "boosted numbers": (arb.BoostedTreesRegressor, PLAIN, SIGNAL, {}, "predict"),
    "boosted classes": (arb.BoostedTreesClassifier, PLAIN, CLASSES, {}, "predict_proba"),
    "two trees a round": (arb.BoostedTreesRegressor, {**PLAIN, "trees_per_round": 2}, SIGNAL, {}, "predict"),
    "ranker": (arb.BoostedTreesRanker, PLAIN, CLASSES, {"group": np.arange(160) // 8}, "predict"),
    "survival": (arb.BoostedTreesSurvival, PLAIN, TIMES, {}, "predict"),
    "forest": (arb.RandomForestRegressor, {}, SIGNAL, {}, "predict"),
    "forest of classes": (arb.RandomForestClassifier, {"prior_trees": 1.0}, CLASSES, {}, "predict_proba"),
    "forest that votes": (arb.ExtraTreesClassifier, {"voting": "hard"}, CLASSES, {}, "predict_proba"),
    "survival forest": (arb.RandomSurvivalForest, {}, TIMES, {}, "predict"),
    "uplift": (arb.UpliftForest, {"min_samples_leaf": 5}, SIGNAL > 0, {"treatment": np.arange(160) % 2}, "predict"),
    "isolation": (arb.IsolationForest, {}, None, {}, "score_samples"),
}


def fitted(name, n_trees):
    make, settings, y, given, _ = MODELS[name]
    return make(n_estimators=n_trees, **settings).fit(X, y, **given)


@pytest.mark.parametrize("name", MODELS)
def test_the_first_trees_are_the_model_of_fewer_trees(name):
    method = MODELS[name][4]
    stages = dict(by_rounds(fitted(name, 6), X))
    assert list(stages) == [1, 2, 3, 4, 5, 6]
    for number in (1, 3, 6):
        if name == "isolation" and number < 6:
            continue  # scores depend on the number of rows alone, but draws on the number of trees
        told = getattr(fitted(name, number), method)(X)
        np.testing.assert_allclose(getattr(stages[number], method)(None), told, rtol=1e-9)


@pytest.mark.parametrize("name", ["forest", "forest of classes", "forest that votes", "survival forest", "uplift"])
def test_trees_cut_at_a_depth_are_pruned_ones(name):
    model, method = fitted(name, 4), MODELS[name][4]
    stages = dict(by_depth(model, X))
    deepest = max(stages)
    np.testing.assert_allclose(getattr(stages[deepest], method)(None), getattr(model, method)(X), rtol=1e-9)
    for depth in (1, deepest // 2):
        whole = model.model_
        forest = prune_forest(whole.forest, whole.forest.depths == depth)
        pruned = with_model(model, replace(whole, forest=forest, head=whole.head.of(forest)))
        np.testing.assert_allclose(getattr(stages[depth], method)(None), getattr(pruned, method)(X), rtol=1e-9)


def test_models_that_are_no_sums_have_no_stages():
    model = arb.DecisionTreeClassifier(method="c45").fit(X, CLASSES)
    with pytest.raises(ValueError, match="predictions of this DecisionTreeClassifier are not sums of trees"):
        next(by_rounds(model, X))
    with pytest.raises(ValueError, match="predictions of this DecisionTreeClassifier are not sums of trees"):
        next(by_depth(model, X))
    effects = arb.UpliftBoostedTrees(n_estimators=2).fit(X, np.arange(len(X)), treatment=np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="this UpliftBoostedTrees has no rounds that follow each other"):
        next(by_rounds(effects, X))
