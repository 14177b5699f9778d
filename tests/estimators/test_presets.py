"""Presets: every switch is a parameter, every system is fitted, overrides win."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from sklearn.base import clone

import arboretum as arb

SEVERAL_OUTPUTS = [arb.BoostedTreesClassifier, arb.BoostedTreesRegressor]
ONE_OUTPUT = [arb.BoostedTreesRanker, arb.BoostedTreesSurvival]
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(400, 3)), RNG.integers(0, 30, 400)])
SCORE = X[:, 0] * X[:, 1] + np.sin(X[:, 3]) + 0.1 * RNG.normal(size=400)


@pytest.mark.parametrize("cls", SEVERAL_OUTPUTS + ONE_OUTPUT)
@pytest.mark.parametrize("name", arb.presets())
def test_a_preset_is_its_switches_and_nothing_else(cls, name):
    model, switches = cls.preset(name), arb.presets()[name]
    if cls in ONE_OUTPUT:
        del switches["vector_leaves"]
    assert set(switches) <= set(inspect.signature(cls).parameters)
    assert model.get_params() == {**cls().get_params(), **switches}
    assert cls.preset(name, l2=7.5, n_jobs=1).get_params() == {**model.get_params(), "l2": 7.5, "n_jobs": 1}
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("name", arb.presets())
@pytest.mark.parametrize("kind", ["numbers", "two classes", "three classes"])
def test_every_system_learns_and_is_the_same_for_any_threads(name, kind):
    cls = arb.BoostedTreesRegressor if kind == "numbers" else arb.BoostedTreesClassifier
    y = {"numbers": SCORE, "two classes": SCORE > 0, "three classes": np.digitize(SCORE, [-0.5, 0.5])}[kind]
    params = {"n_estimators": 30, "categorical_features": [3]}
    model = cls.preset(name, **params).fit(X, y)
    assert model.score(X, y) > 0.6
    for n_jobs in (1, 2, 3, 8):
        assert cls.preset(name, **params, n_jobs=n_jobs).fit(X, y).fingerprint() == model.fingerprint()


def test_classes_share_the_trees_of_catboost():
    y = np.digitize(SCORE, [-0.5, 0.5])
    assert arb.BoostedTreesClassifier.preset("catboost", n_estimators=7).fit(X, y).forest_.n_trees == 7
    with pytest.raises(ValueError, match=r"leaf_model='linear': .*use vector_leaves=False"):
        arb.BoostedTreesClassifier.preset("catboost", leaf_model="linear").fit(X, y)


def test_systems_differ():
    marks = {
        arb.BoostedTreesRegressor.preset(name, n_estimators=5).fit(X, SCORE).fingerprint() for name in arb.presets()
    }
    assert len(marks) == 4


def test_the_table_has_a_line_a_switch():
    lines = repr(arb.presets()).splitlines()
    assert lines[0].split() == ["gbm", "xgboost", "lightgbm", "catboost"]
    assert [line.split()[0] for line in lines[1:]] == list(arb.presets()["gbm"])
    assert re.search(r"^growth +level +level +leaf +symmetric$", repr(arb.presets()), re.MULTILINE)


def test_unknown_presets_and_overrides_get_the_nearest_name():
    with pytest.raises(ValueError, match="no preset is called 'lightbgm': did you mean 'lightgbm'"):
        arb.BoostedTreesRegressor.preset("lightbgm")
    with pytest.raises(ValueError, match="there are: gbm, xgboost, lightgbm, catboost"):
        arb.presets()["spark"]
    with pytest.raises(TypeError, match="did you mean 'max_depth'"):
        arb.BoostedTreesRegressor.preset("gbm", max_dept=3)
