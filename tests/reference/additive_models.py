"""Data, and additive models of every kind, that several tests share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from arboretum import AdditiveBoostingClassifier, AdditiveBoostingRegressor, DecisionTreeRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
Y = X[:, 0] * 2 + X[:, 1] ** 2 + 0.1 * RNG.normal(size=150)
WEIGHT = RNG.random(150)
LABELS = np.array(["low", "mid", "top"])[np.digitize(Y, [0.0, 1.5])]
TWO = np.where(Y > 1, "yes", "no")
FRAME = pd.DataFrame(X, columns=["d", "b", "c", "a"]).assign(town=np.where(X[:, 3] > 0, "Oslo", "Rome"))

MIXED = [
    ("tree", DecisionTreeRegressor(max_leaf_nodes=3)),
    ("line", Ridge()),
    ("spline", make_pipeline(SplineTransformer(n_knots=3), Ridge())),
    ("near", KNeighborsRegressor(n_neighbors=5)),
]


def regressor(**params):
    return AdditiveBoostingRegressor(**{"n_estimators": 8, **params})


def classifier(**params):
    return AdditiveBoostingClassifier(**{"n_estimators": 8, **params})


def outcome(model, rows):
    return model.predict_proba(rows) if isinstance(model, AdditiveBoostingClassifier) else model.predict(rows)


def target_of(model):
    return LABELS if isinstance(model, AdditiveBoostingClassifier) else Y


EVERY = [
    regressor(),
    classifier(),
    regressor(estimators=MIXED, loss="huber"),
    regressor(estimators=MIXED, selection="cycle", subsample=0.6),
    classifier(estimators=MIXED, subsample=0.6),
    regressor(early_stopping=True, n_estimators=40, n_iter_no_change=3),
]
every_model = pytest.mark.parametrize("model", EVERY, ids=lambda m: " ".join(repr(m).split())[:60])
