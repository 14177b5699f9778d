"""Categories of deep forests: sets as bits or as lists, whichever is shorter."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import arboretum as arb
from arboretum.model.forest import CATEGORY, LISTED


@pytest.mark.parametrize("model_class", [arb.RandomForestClassifier, arb.ExtraTreesClassifier])
def test_many_categories_take_little_room(model_class, tmp_path):
    """A deep node names the few categories that it knows, not a bit for each of a hundred thousand."""
    rng = np.random.default_rng(0)
    town = rng.integers(0, 100_000, 120_000)
    frame = pd.DataFrame({"town": pd.Categorical(town), "x": rng.normal(size=len(town))})
    y = (town % 3 == 0) ^ (rng.random(len(town)) < 0.1)
    model = model_class(n_estimators=2, max_features=None).fit(frame, y)
    forest = model.forest_
    assert (forest.kind == LISTED).any()
    assert len(forest.set_words) < 8 * forest.n_nodes
    forest.validate(2)
    model.save(tmp_path / "m.arb")
    some = frame.iloc[::100]
    np.testing.assert_array_equal(arb.load(tmp_path / "m.arb").predict_proba(some), model.predict_proba(some))
    assert model.score(frame, y) > 0.8


def test_a_category_absent_from_a_node_follows_the_larger_child():
    """Both forms of a set, bits and lists, send it where most weight went."""
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(200), 5)
    side = rng.normal(size=len(codes)) + (codes < 100)
    frame = pd.DataFrame({"c": pd.Categorical(codes), "x": side})
    model = arb.RandomForestClassifier(n_estimators=3, max_features=None, bootstrap=False).fit(frame, codes % 7 == 0)
    forest, on_categories = model.forest_, np.isin(model.forest_.kind, [CATEGORY, LISTED])
    tree = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
    for node in np.flatnonzero(on_categories):
        left, right = tree[node] + forest.left[node], tree[node] + forest.right[node]
        assert forest.n_rows[left] <= forest.n_rows[right]
