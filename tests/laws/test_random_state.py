"""``random_state``: an integer, or a source of randomness that gives one seed per fit, for every estimator."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import arboretum as arb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
NUMBERS = X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=160)
CLASSES = np.digitize(NUMBERS, [0.0, 1.5])
SURVIVAL = np.column_stack([np.exp(-X[:, 0]), RNG.random(160) < 0.7])
TREATED = RNG.integers(0, 2, 160)
SMALL = {"n_estimators": 4}
TREE = {"max_features": 0.5}

# Members with seeds of their own: the seed of the model deals rows out.
PAIR = [("tree", arb.DecisionTreeClassifier(max_depth=2)), ("forest", arb.RandomForestClassifier(n_estimators=4))]
TREES = [("tree", arb.DecisionTreeRegressor(max_depth=2)), ("forest", arb.RandomForestRegressor(n_estimators=4))]
RANKERS = [
    ("leaf", arb.BoostedTreesRanker(n_estimators=4)),
    ("drawn", arb.BoostedTreesRanker(n_estimators=4, subsample=0.5, random_state=None)),
]
TIMES = [
    ("boosted", arb.BoostedTreesSurvival(n_estimators=4)),
    ("forest", arb.RandomSurvivalForest(n_estimators=4, random_state=None)),
]

FITS = {
    "AdaBoostClassifier": ({**SMALL, "estimator": arb.DecisionTreeClassifier(max_depth=2, max_features=0.4)}, CLASSES),
    "AdaBoostRegressor": (SMALL, NUMBERS),
    "AdditiveBoostingClassifier": ({**SMALL, "subsample": 0.5}, CLASSES),
    "AdditiveBoostingRegressor": ({**SMALL, "subsample": 0.5}, NUMBERS),
    "BaggingClassifier": (SMALL, CLASSES),
    "BaggingRegressor": (SMALL, NUMBERS),
    "BlendingClassifier": ({"estimators": PAIR}, CLASSES),
    "BlendingRegressor": ({"estimators": TREES}, NUMBERS),
    "BoostedTreesClassifier": ({**SMALL, "subsample": 0.5}, CLASSES),
    "BoostedTreesRanker": ({**SMALL, "subsample": 0.5}, CLASSES, np.arange(160) // 8),
    "BoostedTreesRegressor": ({**SMALL, "subsample": 0.5}, NUMBERS),
    "BoostedTreesSurvival": ({**SMALL, "subsample": 0.5}, SURVIVAL),
    "CalibratedClassifier": ({"estimator": arb.RandomForestClassifier(n_estimators=4)}, CLASSES),
    "CheckpointAverage": ({"estimator": arb.RandomForestRegressor(n_estimators=4)}, NUMBERS),
    "ConformalRegressor": ({"estimator": arb.RandomForestRegressor(n_estimators=4)}, NUMBERS),
    "DecisionTreeClassifier": (TREE, CLASSES),
    "DecisionTreeRegressor": (TREE, NUMBERS),
    "EnsembleSelection": ({"estimators": PAIR, "prefit": False}, CLASSES),
    "ExtraTreesClassifier": (SMALL, CLASSES),
    "ExtraTreesRegressor": (SMALL, NUMBERS),
    "IsolationForest": (SMALL,),
    "RandomForestClassifier": (SMALL, CLASSES),
    "RandomForestRegressor": (SMALL, NUMBERS),
    "RandomSurvivalForest": (SMALL, SURVIVAL),
    "StackingClassifier": ({"estimators": PAIR}, CLASSES),
    "StackingRanker": ({"estimators": RANKERS}, CLASSES, np.arange(160) // 8),
    "StackingRegressor": ({"estimators": TREES}, NUMBERS),
    "StackingSurvival": ({"estimators": TIMES}, SURVIVAL),
    "UpliftBoostedTrees": ({**SMALL, "min_samples_leaf": 2}, NUMBERS, TREATED),
    "UpliftForest": ({**SMALL, "min_samples_leaf": 2, "criterion": "euclidean"}, NUMBERS, TREATED),
    "VotingClassifier": ({"estimators": [("tree", arb.DecisionTreeClassifier(**TREE, random_state=None))]}, CLASSES),
    "VotingRegressor": ({"estimators": [("tree", arb.DecisionTreeRegressor(**TREE, random_state=None))]}, NUMBERS),
}


def fitted(name, random_state):
    params, *given = FITS[name]
    return getattr(arb, name)(**params, random_state=random_state).fit(X, *given)


def test_every_estimator_with_a_seed_is_here():
    estimators = [name for name in arb.__all__ if hasattr(getattr(arb, name), "fit")]
    assert set(FITS) == {
        name for name in estimators if "random_state" in inspect.signature(getattr(arb, name)).parameters
    }


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("name", FITS)
def test_a_source_of_randomness_gives_a_seed(name, source, tmp_path):
    model, again, other = (fitted(name, source(seed)) for seed in (3, 3, 4))
    assert model.fingerprint() == again.fingerprint()
    assert model.fingerprint() != other.fingerprint()
    model.save(tmp_path / "m.arb")
    assert arb.load(tmp_path / "m.arb").fingerprint() == model.fingerprint()


def test_a_generator_gives_another_seed_to_each_fit():
    generator = np.random.default_rng(3)
    assert (
        fitted("RandomForestRegressor", generator).fingerprint()
        != fitted("RandomForestRegressor", generator).fingerprint()
    )
    replayed = np.random.default_rng(3)
    seed = int(replayed.integers(2**31 - 1))
    first = fitted("RandomForestRegressor", np.random.default_rng(3))
    assert first.fingerprint() == fitted("RandomForestRegressor", seed).fingerprint()
