"""Data, and bagged models of every kind, that several tests share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import arboretum as arb
from arboretum import BaggingClassifier, BaggingRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
Y = X[:, 0] * 2 + X[:, 1] ** 2 + 0.1 * RNG.normal(size=150)
LABELS = np.array(["low", "mid", "top"])[np.digitize(Y, [0.0, 1.5])]
FRAME = pd.DataFrame(X, columns=["d", "b", "c", "a"]).assign(town=np.where(X[:, 3] > 0, "Oslo", "Rome"))
STEPS = RNG.integers(0, 4, size=(200, 3)).astype(float)  # few values: any bag has them all


def boosted_classifier(**params):
    return BaggingClassifier(
        estimator=arb.BoostedTreesClassifier(n_estimators=8, max_depth=3), **{"n_estimators": 4, **params}
    )


def boosted_regressor(**params):
    return BaggingRegressor(
        estimator=arb.BoostedTreesRegressor(n_estimators=8, max_depth=3), **{"n_estimators": 4, **params}
    )


def outcome(model, rows):
    return model.predict_proba(rows) if isinstance(model, BaggingClassifier) else model.predict(rows)


def target_of(model):
    return LABELS if isinstance(model, BaggingClassifier) else Y


EVERY = [
    BaggingClassifier(),
    BaggingRegressor(),
    boosted_classifier(),
    boosted_regressor(),
    BaggingClassifier(estimator=KNeighborsClassifier(), max_features=0.5),
    BaggingRegressor(estimator=KNeighborsRegressor(), bootstrap=False, max_samples=0.5),
    BaggingClassifier(
        estimator=arb.BoostedTreesClassifier(n_estimators=3, max_depth=2), max_features=2, bootstrap_features=True
    ),
    BaggingRegressor(estimator=arb.RandomForestRegressor(n_estimators=3), n_estimators=3),
]
every_model = pytest.mark.parametrize("model", EVERY, ids=lambda m: " ".join(repr(m).split()))
