"""BoostedTreesClassifier: labels, probabilities, class weights, stratified stopping."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.utils.class_weight import compute_sample_weight

from arboretum import BoostedTreesClassifier, Loss, load, losses

GROWTHS = ["leaf", "level", "symmetric"]


def blobs(n_rows=900, n_classes=3, seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n_rows)
    angle = 2 * np.pi * codes / n_classes
    X = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n_rows)]) + noise * rng.normal(size=(n_rows, 3))
    return X, codes


def classifier(**params):
    return BoostedTreesClassifier(**{"n_estimators": 10, **params})


# ----------------------------------------------------------------------------------------------------- learning


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_learns_rows_it_has_not_seen(n_classes, growth):
    X, codes = blobs(2000, n_classes, noise=0.35)
    model = BoostedTreesClassifier(growth=growth, n_estimators=40).fit(X[:1200], codes[:1200])
    proba = model.predict_proba(X[1200:])
    assert proba.shape == (800, n_classes)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert ((proba >= 0) & (proba <= 1)).all()
    assert model.score(X[1200:], codes[1200:]) > 0.75
    assert log_loss(codes[1200:], proba) < 0.6 * np.log(n_classes)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_outputs_agree_with_each_other(n_classes):
    X, codes = blobs(500, n_classes)
    model = classifier().fit(X, codes)
    raw, proba, labels = model.decision_function(X), model.predict_proba(X), model.predict(X)
    if n_classes == 2:
        np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-raw)), rtol=1e-12)
        np.testing.assert_array_equal(labels, raw > 0)
    else:
        exps = np.exp(raw - raw.max(axis=1, keepdims=True))
        np.testing.assert_allclose(proba, exps / exps.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_array_equal(labels, model.classes_[proba.argmax(axis=1)])
    stages, staged_labels = list(model.staged_predict_proba(X)), list(model.staged_predict(X))
    assert len(stages) == len(staged_labels) == model.n_iter_ == 10
    np.testing.assert_array_equal(stages[-1], proba)
    np.testing.assert_array_equal(staged_labels[-1], labels)
    assert model.forest_.n_trees == 10 * (1 if n_classes == 2 else n_classes)
    assert model.apply(X).shape == (500, model.forest_.n_trees)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_mean_probability_is_the_frequency_of_the_class(n_classes):
    X, codes = blobs(2000, n_classes, noise=1.5)
    codes = np.where(np.random.default_rng(1).random(2000) < 0.5, 0, codes)
    proba = BoostedTreesClassifier(n_estimators=40, max_leaf_nodes=8).fit(X, codes).predict_proba(X)
    np.testing.assert_allclose(proba.mean(axis=0), np.bincount(codes) / 2000, atol=0.005)


def test_separable_classes_give_no_nan():
    X = np.linspace(-1, 1, 400)[:, None]
    model = BoostedTreesClassifier(n_estimators=500, learning_rate=1.0).fit(X, X[:, 0] > 0)
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert proba[-1, 1] > 0.999 > 0.001 > proba[0, 1]
    three = BoostedTreesClassifier(n_estimators=300, learning_rate=1.0).fit(X, np.digitize(X[:, 0], [-0.3, 0.3]))
    assert np.isfinite(three.predict_proba(X)).all()


# ------------------------------------------------------------------------------------------------------- labels

LABELS = {
    "strings": np.array(["b", "a"]),
    "words": np.array(["a much longer label ☃", "é"]),
    "objects": np.array(["y", "n"], dtype=object),
    "bool": np.array([False, True]),
    "bool objects": np.array([False, True], dtype=object),
    "gaps": np.array([3, 7]),
    "negative": np.array([-1, 1]),
    "int8": np.array([-1, 1], np.int8),
    "beyond 2**53": np.array([2**62, 2**62 + 1]),
    "uint64": np.array([2**63, 2**63 + 5], np.uint64),
    "floats": np.array([1.0, 2.0]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_any_labels_are_kept(labels, tmp_path):  # XGB#11228, #10078, #9747, #7809, #322
    X, codes = blobs(200, 2, noise=0.2)
    y = labels[codes]
    model = classifier().fit(X, y)
    predicted = model.predict(X)
    assert (predicted == y).mean() > 0.95
    assert model.classes_.dtype == predicted.dtype == labels.dtype
    model.save(tmp_path / "labels.arb")
    loaded = load(tmp_path / "labels.arb")
    np.testing.assert_array_equal(loaded.predict(X), predicted, strict=True)
    assert loaded.fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
        np.array([1, "a"], dtype=object),
        np.array([(1,), (2, 3)], object),
    ],
    ids=["days", "mixed", "tuples"],
)
def test_labels_that_a_file_cannot_keep_are_refused_at_fit(labels):
    X, codes = blobs(50, 2)
    with pytest.raises((TypeError, ValueError), match=r"y (has|holds|mixes) .*label"):
        classifier().fit(X, labels[codes])


def test_labels_with_gaps_of_several_classes():  # XGB#11228: a fold of cross-validation may lack a class
    X, codes = blobs(300, 3)
    y = np.array([10, 30, 70])[codes]
    model = classifier().fit(X, y)
    assert model.classes_.tolist() == [10, 30, 70]
    two = classifier().fit(X[y != 30], y[y != 30])
    assert two.classes_.tolist() == [10, 70]
    assert set(two.predict(X)) == {10, 70}


def test_one_class_is_refused():
    X, _ = blobs(200)
    with pytest.raises(ValueError, match="y has only one class, 'yes': a classifier needs at least 2"):
        classifier().fit(X, ["yes"] * len(X))
    weight = np.arange(len(X)) < 100
    with pytest.raises(ValueError, match="only one class, 'yes', has rows of positive sample_weight"):
        classifier().fit(X, np.where(weight, "yes", "no"), sample_weight=weight.astype(float))


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["a", "b"] * 99 + [pd.NA, "a"], dtype="string"),
        pd.Series(["a", "b"] * 99 + [None, "a"], dtype="category"),
        pd.Series([1, 0] * 99 + [pd.NA, 1], dtype="Int64"),
        pl.Series(["a", "b"] * 99 + [None, "a"]),
        pa.array(["a", "b"] * 99 + [None, "a"]),
        pa.chunked_array([["a", "b"] * 99, [None, "a"]]),
        ["a", "b"] * 99 + [None, "a"],
    ],
    ids=["pandas string", "pandas category", "pandas Int64", "polars", "Arrow", "Arrow chunks", "list"],
)
def test_missing_label_is_refused_with_its_row_from_any_container(y):
    X, _ = blobs(200)
    with pytest.raises(ValueError, match=r"^(Input )?y (has a missing label|contains NaN).* in row 198"):
        classifier().fit(X, y)


def test_labels_that_are_numbers_with_fractions_are_refused():
    X, codes = blobs(100, 2)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        classifier().fit(X, codes + 0.5 * np.arange(100))


def test_pandas_and_polars_labels_are_those_of_numpy():
    X, codes = blobs(200, 3)
    y = np.array(["lo", "mid", "hi"])[codes]
    expected = classifier().fit(X, y).predict(X)
    for labels in (
        pd.Series(y),
        pd.Series(y, dtype="category"),
        pd.Series(y, dtype="string"),
        pl.Series(y.tolist()),
        y.tolist(),
    ):
        np.testing.assert_array_equal(classifier().fit(X, labels).predict(X), expected)


@pytest.mark.parametrize(
    ("labels", "val", "shown"),
    [
        (np.array([0, 1]), np.array([0, 2]), "2"),
        (np.array(["a", "b"]), np.array(["a", "c"]), "'c'"),
        (np.array(["a", "b"]), np.array([0, 1]), "0"),
        (np.array([0, 1]), np.array(["a", "b"]), "'a'"),
        (np.array(["a", "b"], object), np.array(["a", 1], object), "1"),
    ],
)
def test_validation_label_that_training_lacks_is_refused(labels, val, shown):
    X, codes = blobs(60, 2)
    codes[:2] = 0, 1
    with pytest.raises(ValueError, match=rf"y_val has the label {shown} in row \d, which the training labels do not"):
        classifier().fit(X, labels[codes], X_val=X, y_val=val[codes])


# ------------------------------------------------------------------------------------------------ class weights


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_equals_weights_by_hand(n_classes, weighted):
    X, codes = blobs(600, n_classes)
    keep = (codes > 0) | (np.arange(600) % 5 == 0)
    X, y = X[keep], np.array(["p", "q", "r"])[codes[keep]]
    weight = np.linspace(0.5, 2, len(y)) if weighted else None
    totals = {label: (np.ones(len(y)) if weight is None else weight)[y == label].sum() for label in np.unique(y)}
    by_class = {label: sum(totals.values()) / (n_classes * total) for label, total in totals.items()}
    by_row = np.array([by_class[label] for label in y]) * (1 if weight is None else weight)
    expected = classifier().fit(X, y, sample_weight=by_row).predict_proba(X)
    for class_weight in ("balanced", by_class):
        model = classifier(class_weight=class_weight).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    if weight is None:
        np.testing.assert_allclose(by_row, compute_sample_weight("balanced", y))


def test_class_weight_of_classes_not_named_is_one():
    X, codes = blobs(300, 3)
    named = classifier(class_weight={1: 3.0}).fit(X, codes)
    by_row = classifier().fit(X, codes, sample_weight=np.where(codes == 1, 3.0, 1.0))
    assert named.fingerprint() == by_row.fingerprint()


def test_class_weight_moves_the_probability():
    X, codes = blobs(600, 2, noise=2.0)
    rare = classifier(class_weight={1: 10.0}).fit(X, codes).predict_proba(X)[:, 1].mean()
    assert rare > classifier().fit(X, codes).predict_proba(X)[:, 1].mean() + 0.2


def test_class_weight_counts_in_validation_as_in_training():
    """The auto split and X_val must stop by the same weighted loss."""
    X, codes = blobs(400, 2, noise=1.5)
    held = blobs(200, 2, noise=1.5, seed=1)
    weights = {0: 1.0, 1: 8.0}
    params = {"n_estimators": 30, "early_stopping": False}
    by_class = classifier(class_weight=weights, **params).fit(X, codes, X_val=held[0], y_val=held[1])
    by_row = classifier(**params).fit(
        X,
        codes,
        sample_weight=np.where(codes == 1, 8.0, 1.0),
        X_val=held[0],
        y_val=held[1],
        sample_weight_val=np.where(held[1] == 1, 8.0, 1.0),
    )
    np.testing.assert_allclose(by_class.history_.validation_loss, by_row.history_.validation_loss, rtol=1e-9)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_row_of_weight_zero_is_no_row(early_stopping):
    X, codes = blobs(600, 3)
    weight = (np.arange(600) % 3 > 0).astype(float)
    kept = weight > 0
    X[~kept] = 1e9
    weighted = classifier(early_stopping=early_stopping).fit(X, codes, sample_weight=weight)
    without = classifier(early_stopping=early_stopping).fit(X[kept], codes[kept])
    assert weighted.fingerprint() == without.fingerprint()


# ----------------------------------------------------------------------------------------------- early stopping


def test_split_for_early_stopping_keeps_the_share_of_each_class():  # LGB#3313, XGB#6026, CB#1387
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    y = np.repeat(["common", "rare", "single"], [949, 50, 1])
    model = classifier(early_stopping=True, validation_fraction=0.2, n_estimators=2, subsample=1.0, refit=False).fit(
        X, y
    )
    assert model.classes_.tolist() == ["common", "rare", "single"]
    frequency = np.exp(model.forest_.base) / np.exp(model.forest_.base).sum()
    kept = np.array([949 - 189, 50 - 10, 1])
    np.testing.assert_allclose(frequency, kept / kept.sum(), rtol=1e-9)
    assert model.forest_.n_rows[0] == kept.sum()


def test_early_stopping_keeps_the_best_round_of_several_classes():
    X, codes = blobs(500, 3, noise=1.5)
    held = blobs(500, 3, noise=1.5, seed=1)
    model = classifier(n_estimators=200, learning_rate=0.4).fit(X, codes, X_val=held[0], y_val=held[1])
    assert model.history_.stopped_by == "early stopping"
    assert model.n_iter_ == model.history_.best_round
    best = min(model.history_.validation_loss)
    assert log_loss(held[1], model.predict_proba(held[0])) == pytest.approx(best, rel=1e-9)


def test_warm_start_needs_the_same_labels():
    X, codes = blobs(200, 2)
    model = classifier(warm_start=True).fit(X, codes)
    model.set_params(n_estimators=15)
    with pytest.raises(ValueError, match="y has the label 2 in row"):
        model.fit(X, codes + 1)
    model.fit(X[codes == 0], codes[codes == 0])  # rows of one class only are rows like others
    assert model.n_iter_ == 15
    assert model.classes_.tolist() == [0, 1]


# ------------------------------------------------------------------------------------------------ custom losses


class MyLogLoss(Loss):
    task = "classification"
    link = "sigmoid"

    def values(self, y, raw):
        return np.logaddexp(0, raw) - y * raw

    def gradients(self, y, raw):
        p = 1 / (1 + np.exp(-raw))
        return p - y, p * (1 - p)


def test_log_loss_written_again_gives_the_same_trees():  # LGB#6040, #5114
    X, codes = blobs(1500, 2, noise=1.2)
    own, built_in = classifier(loss=MyLogLoss()).fit(X, codes), classifier().fit(X, codes)
    for array in ("feature", "threshold", "left", "n_rows"):
        np.testing.assert_array_equal(getattr(own.forest_, array), getattr(built_in.forest_, array))
    np.testing.assert_allclose(own.predict_proba(X), built_in.predict_proba(X), rtol=1e-12)


def test_softmax_written_again_gives_the_same_trees():  # LGB#4077, #6219, XGB#9043: the layout is rows × classes
    class Copied(losses.Multinomial):
        """A subclass takes the way of Python instead of the kernel's."""

    X, codes = blobs(900, 3)
    own, built_in = classifier(loss=Copied(n_outputs=3)).fit(X, codes), classifier().fit(X, codes)
    np.testing.assert_array_equal(own.forest_.threshold, built_in.forest_.threshold)
    np.testing.assert_allclose(own.predict_proba(X), built_in.predict_proba(X), rtol=1e-12)


def test_loss_of_another_number_of_classes_is_refused():
    X, codes = blobs(100, 3)
    with pytest.raises(ValueError, match="has n_outputs=1, but 3 classes need n_outputs=3"):
        classifier(loss=MyLogLoss()).fit(X, codes)


# --------------------------------------------------------------------------------------- monotone, many threads


@pytest.mark.parametrize("growth", GROWTHS)
def test_monotone_constraint_holds_for_the_probability(growth):
    X, codes = blobs(500, 2, noise=1.5)
    model = classifier(monotonic_cst=[-1, 1, 0], growth=growth, n_estimators=40).fit(X, codes)
    grid = np.linspace(-4, 4, 300)
    for other in (-1.0, 0.0, 1.0):
        falling = model.predict_proba(np.column_stack([grid, np.full(300, other), np.zeros(300)]))[:, 1]
        rising = model.predict_proba(np.column_stack([np.full(300, other), grid, np.zeros(300)]))[:, 1]
        assert (np.diff(falling) <= 0).all()
        assert (np.diff(rising) >= 0).all()
    assert roc_auc_score(codes, model.predict_proba(X)[:, 1]) > 0.6


def test_predict_in_many_threads_at_once():  # LGB#3675, #6141, XGB#5339, #12133
    X, codes = blobs(3000, 3)
    model = classifier().fit(X, codes)
    expected, found = model.predict_proba(X), []

    def predict():
        found.extend(np.array_equal(model.predict_proba(X), expected) for _ in range(10))

    workers = [threading.Thread(target=predict) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [True] * 60
