"""BoostedTreesClassifier(loss="ordinal"): ordered classes."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from tests.reference.files import content, loaded

import arboretum as arb

RNG = np.random.default_rng(0)
N = 800
X = RNG.normal(size=(N, 4))
SCORE = 2 * X[:, 0] + np.sin(2 * X[:, 1])
Y = np.digitize(SCORE + RNG.logistic(size=N), [-2, 0, 1, 3])
NAMES = ["poor", "fair", "good", "fine", "best"]
WORDS = np.array(NAMES)[Y]


def ordinal(**params):
    return arb.BoostedTreesClassifier(
        **{"loss": "ordinal", "n_estimators": 40, "learning_rate": 0.15, "max_leaf_nodes": 6, "l2": 0.0}
        | {
            "min_samples_leaf": 10,
            "subsample": 1.0,
            "max_features": 1.0,
            "early_stopping": False,
            "refit": False,
            **params,
        }
    )


def test_probabilities_and_classes():
    model = ordinal().fit(X, Y)
    proba = model.predict_proba(X)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert (model.forest_.n_trees, model.n_iter_) == (40, 40)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(proba.argmax(axis=1), model.predict(X))
    raw, theta = model.decision_function(X), np.array(model.loss_.thresholds)
    np.testing.assert_allclose(proba.cumsum(axis=1)[:, :-1], 1 / (1 + np.exp(raw[:, None] - theta)), atol=1e-12)
    assert np.corrcoef(raw, SCORE)[0, 1] > 0.9


def test_better_than_classes_without_order():
    train, test = slice(0, 400), slice(400, None)
    kinds = [ordinal(), ordinal(loss="log_loss")]
    ours, plain = (log_loss(Y[test], model.fit(X[train], Y[train]).predict_proba(X[test])) for model in kinds)
    assert ours < plain - 0.02


def test_thresholds_are_the_best_for_the_kept_rounds():
    model = ordinal(n_estimators=300, learning_rate=0.3, early_stopping=True, n_iter_no_change=5)
    model.fit(X[:600], Y[:600], X_val=X[600:], y_val=Y[600:])
    assert model.n_iter_ == model.history_.best_round < 300
    again = model.loss_.fitted(Y[:600].astype(float), model.decision_function(X[:600]), None)
    np.testing.assert_allclose(model.loss_.thresholds, again.thresholds, rtol=1e-9)
    held = log_loss(Y[600:], model.predict_proba(X[600:]))
    assert held == pytest.approx(min(model.history_.validation_loss), rel=1e-6)


def test_two_classes_come_close_to_logistic():
    y = (Y > 1).astype(int)
    one, other = ordinal().fit(X, y).predict_proba(X), ordinal(loss="log_loss").fit(X, y).predict_proba(X)
    assert np.abs(one - other).max() < 0.1


def test_a_linear_score_has_the_thresholds_of_logistic_regressions():
    """Under proportional odds the cut of each pair of class groups is a logistic regression."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=20_000)
    y = np.digitize(2 * x + rng.logistic(size=20_000), [-1.0, 0.5])
    loss = arb.losses.Ordinal(3).fitted(y.astype(float), 2 * x, None)
    for j, theta in enumerate(loss.thresholds):
        cut = LogisticRegression(C=1e9).fit(x[:, None], y <= j)
        assert theta == pytest.approx(cut.intercept_[0], abs=0.1)


ORDERED = [
    pd.Series(pd.Categorical(WORDS, categories=["none", *NAMES], ordered=True)),
    pd.Categorical(WORDS, categories=NAMES, ordered=True),
    pl.Series(WORDS.tolist(), dtype=pl.Enum(["none", *NAMES])),
    pa.DictionaryArray.from_arrays(Y + 1, ["none", *NAMES], ordered=True),
    pa.chunked_array([pa.DictionaryArray.from_arrays(part, NAMES, ordered=True) for part in (Y[:300], Y[300:])]),
]


@pytest.mark.parametrize("y", ORDERED, ids=["pandas series", "pandas categorical", "polars", "arrow", "arrow in parts"])
def test_ordered_categories_keep_their_order(y, tmp_path):
    model = ordinal(n_estimators=5).fit(X, y)
    assert model.classes_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict_proba(X), ordinal(n_estimators=5).fit(X, Y).predict_proba(X))
    model.save(tmp_path / "m.arb")
    again = arb.load(tmp_path / "m.arb")
    assert again.classes_.tolist() == NAMES
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    again.fit_more(X, y, n_estimators=1)
    assert again.n_iter_ == 6


def test_other_losses_and_unordered_labels_sort():
    assert ordinal(loss="log_loss", n_estimators=2).fit(X, ORDERED[0]).classes_.tolist() == sorted(NAMES)
    with pytest.warns(
        UserWarning, match="takes text in alphabetical order, 'best' < 'fair' < .*: if that is not the ord"
    ):
        model = ordinal(n_estimators=2).fit(X, WORDS)
    assert model.classes_.tolist() == sorted(NAMES)


@pytest.mark.parametrize("y", [*ORDERED, Y, Y > 1, np.where(Y > 1, "yes", "no"), pd.Series(Y).astype("category")])
def test_an_order_that_is_known_or_of_two_is_not_warned_about(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ordinal(n_estimators=2).fit(X, y)
        ordinal(n_estimators=2, loss="log_loss").fit(X, WORDS)


def test_continuing_is_never_having_stopped():
    whole, part = ordinal(n_estimators=12).fit(X, Y), ordinal(n_estimators=5, warm_start=True).fit(X, Y)
    part.set_params(n_estimators=12).fit(X, Y)
    np.testing.assert_allclose(part.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(part.loss_.thresholds, whole.loss_.thresholds, rtol=1e-9)


def test_directions_hold_for_every_class():
    model = ordinal(monotonic_cst=[1, 0, 0, 0]).fit(X, Y)
    grid = np.tile(np.median(X, axis=0), (100, 1))
    grid[:, 0] = np.linspace(-3, 3, 100)
    at_most = model.predict_proba(grid).cumsum(axis=1)[:, :-1]
    assert (np.diff(at_most, axis=0) <= 1e-12).all()
    assert at_most[0, 2] > at_most[-1, 2] + 0.5


@pytest.mark.parametrize("params", [{"leaf_steps": 3}, {"dart_rate": 0.3}, {"subsample": 0.5}, {"growth": "symmetric"}])
def test_other_switches(params):
    assert log_loss(Y, ordinal(**params).fit(X, Y).predict_proba(X)) < 1.3  # 1.55 without a model


def test_stages_end_in_the_prediction():
    model = ordinal(n_estimators=4).fit(X, Y)
    np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))


def test_learners_without_trees_refuse_it():
    with pytest.raises(ValueError, match="loss='ordinal' learns thresholds with its trees: use BoostedTreesClassifier"):
        arb.AdditiveBoostingClassifier(loss="ordinal").fit(X, Y)


def test_a_file_without_thresholds_is_refused():
    header, arrays = content(ordinal(n_estimators=2).fit(X, Y))
    for entry in ({"name": "ordinal", "n_classes": 5}, {"name": "ordinal", "n_classes": 5, "thresholds": [1, 0, 2, 3]}):
        with pytest.raises(ValueError, match=r"damaged model file: (loss: ordered classes need|thresholds=)"):
            loaded({**header, "loss": entry}, arrays)
