"""Columns of a file of predictions: those of ``predict``, with a name for each output."""

from __future__ import annotations

import numpy as np
import pytest

import arboretum as arb

X = np.random.default_rng(0).normal(size=(60, 3))
ARMS = np.array(["control", "letter", "visit"])[np.arange(60) % 3]
SMALL = {"n_estimators": 3, "min_samples_leaf": 2}


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (arb.RandomForestRegressor(**SMALL).fit(X, X[:, 0]), ["prediction"]),
        (arb.RandomForestRegressor(**SMALL).fit(X, X[:, :2]), ["prediction 0", "prediction 1"]),
        (arb.UpliftForest(**SMALL).fit(X, X[:, 0] > 0, treatment=ARMS == "visit"), ["uplift"]),
        (arb.UpliftForest(**SMALL).fit(X, X[:, 0] > 0, treatment=ARMS), ["uplift letter", "uplift visit"]),
    ],
    ids=["number", "numbers", "treatment", "treatments"],
)
def test_every_output_has_its_column(model, names):
    columns = model.task_.columns(model, X)
    assert list(columns) == names
    np.testing.assert_array_equal(np.column_stack(list(columns.values())), model.predict(X).reshape(len(X), -1))


def test_labels_are_those_of_predict_where_probabilities_are_equal():
    y = np.arange(60) % 2
    model = arb.RandomForestClassifier(n_estimators=2, bootstrap=False, max_features=None).fit(np.ones((60, 1)), y)
    columns = model.task_.columns(model, np.ones((5, 1)), positive=1)
    assert list(columns) == ["prediction", "probability of 1", "probability of 0"]
    assert columns["prediction"].tolist() == model.predict(np.ones((5, 1))).tolist()
