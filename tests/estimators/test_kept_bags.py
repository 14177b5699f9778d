"""Proximity, outliers, quantiles, standard errors and out-of-bag importance of forests that keep their bags."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

import arboretum as arb

N, TREES = 120, 30


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    signal = np.nan_to_num(X[:, 0]) + 0.5 * np.nan_to_num(X[:, 1]) ** 2
    return X, signal + 0.1 * rng.normal(size=N)


@pytest.fixture(scope="module")
def classifier():
    X, signal = rows()
    return arb.RandomForestClassifier(n_estimators=TREES, keep_bags=True).fit(X, np.where(signal > 0.5, "a", "b"))


@pytest.fixture(scope="module")
def regressor():
    X, signal = rows()
    return arb.RandomForestRegressor(n_estimators=TREES, min_samples_leaf=3, keep_bags=True).fit(X, signal)


def test_bags_are_what_the_trees_grew_from(regressor):
    """In-bag rows of a leaf, with their copies, give its value and its number of rows."""
    _, signal = rows()
    forest, bags = regressor.forest_, regressor.bags_
    for tree in range(TREES):
        for leaf in np.unique(bags.leaves[:, tree]):
            here = bags.leaves[:, tree] == leaf
            drawn = bags.copies[here, tree].astype(float)
            node = forest.tree_start[tree] + leaf
            assert drawn.sum() == forest.n_rows[node]
            if drawn.sum():
                np.testing.assert_allclose(forest.value[node, 0], np.average(signal[here], weights=drawn), rtol=1e-12)


def test_proximity_is_the_share_of_common_leaves(classifier):
    X, _ = rows()
    leaves = classifier.apply(X)
    expected = (leaves[:, None] == leaves[None]).mean(axis=2)
    np.testing.assert_allclose(classifier.proximity(X), expected)
    np.testing.assert_allclose(classifier.proximity(), expected)
    np.testing.assert_allclose(classifier.proximity(X[:5], X[5:]), expected[:5, 5:])


def test_top_k_holds_the_nearest(classifier):
    full = classifier.proximity()
    np.fill_diagonal(full, -1)
    nearest = classifier.proximity(top_k=4)
    for row in range(N):
        found = nearest.data[nearest.indptr[row] : nearest.indptr[row + 1]]
        np.testing.assert_allclose(found, np.sort(full[row])[::-1][: len(found)])


def test_out_of_bag_proximity_counts_only_trees_that_saw_neither(classifier):
    bags = classifier.bags_
    both = (bags.copies == 0)[:, None] & (bags.copies == 0)[None]
    same = (bags.leaves[:, None] == bags.leaves[None]) & both
    expected = same.sum(axis=2) / np.maximum(both.sum(axis=2), 1)
    np.fill_diagonal(expected, 1)
    np.testing.assert_allclose(classifier.proximity(out_of_bag=True), expected)


def test_a_wrong_label_is_an_outlier():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(100, 3)), rng.normal(size=(100, 3)) + 6])
    y = np.repeat([0, 1], 100)
    y[3] = 1
    model = arb.RandomForestClassifier(n_estimators=50, min_samples_leaf=5, keep_bags=True).fit(X, y)
    assert model.outlier_scores().argmax() == 3
    assert model.outlier_scores(X, y).argmax() == 3


def test_quantiles_are_those_of_the_weighted_targets(regressor):
    X, signal = rows()
    bags, leaves = regressor.bags_, regressor.apply(X[:7])
    levels = [0.0, 0.1, 0.5, 1.0]
    for row, found in enumerate(regressor.predict_quantiles(X[:7], levels)):
        same = (bags.leaves == leaves[row]) * bags.copies
        weight = (same / same.sum(axis=0)).mean(axis=1)
        order = np.argsort(signal)
        reached = np.cumsum(weight[order])
        expected = [signal[order][np.argmax((reached >= q - 1e-9) & (weight[order] > 0))] for q in levels]
        np.testing.assert_allclose(found, expected)


def test_importance_is_the_fall_of_the_out_of_bag_score(classifier):
    X, signal = rows()
    y = np.where(signal > 0.5, "a", "b")

    def score(leaves):
        forest, out = classifier.forest_, classifier.bags_.copies == 0
        prior = forest.value[forest.tree_start[:-1], 0].mean()  # of the one tree without a split
        share = [
            np.mean([prior, *(forest.value[forest.tree_start[t] + leaves[i, t], 0] for t in np.flatnonzero(out[i]))])
            for i in range(N)
            if out[i].any()
        ]
        return accuracy_score(y[out.any(axis=1)], classifier.classes_[(np.array(share) > 0.5).astype(int)])

    found = classifier.oob_permutation_importance(X, y, n_repeats=1)
    for column in range(X.shape[1]):
        order = np.random.default_rng([0, 0, column]).permutation(N)
        shuffled = X.copy()
        shuffled[:, column] = X[order, column]
        np.testing.assert_allclose(found[column], score(classifier.bags_.leaves) - score(classifier.apply(shuffled)))
    assert found[:2].min() > found[2:].max()


def test_importance_by_another_scorer(regressor):
    X, signal = rows()
    by_name = regressor.oob_permutation_importance(X, signal, n_repeats=2, scoring="r2")
    by_function = regressor.oob_permutation_importance(X, signal, n_repeats=2, scoring=r2_score)
    np.testing.assert_allclose(by_name, by_function)
    np.testing.assert_allclose(by_name, regressor.oob_permutation_importance(X, signal, n_repeats=2))


def test_the_standard_error_falls_with_more_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 2))
    y = X[:, 0] + rng.normal(size=2000)
    errors = [
        arb.RandomForestRegressor(n_estimators=400, min_samples_leaf=n // 5, keep_bags=True)
        .fit(X[:n], y[:n])
        .prediction_error(X[:50])
        .mean()
        for n in (100, 2000)
    ]
    assert errors[1] < 0.7 * errors[0]


@pytest.mark.parametrize("several", [False, True])
def test_shapes_of_several_classes(several):
    X, signal = rows()
    y = np.digitize(signal, [0, 1])
    target = np.column_stack([y, y]) if several else y
    model = arb.RandomForestClassifier(n_estimators=20, keep_bags=True).fit(X, target)
    assert model.prediction_error(X[:4]).shape == (4, 6 if several else 3)
    assert model.outlier_scores().shape == (N,)


def test_a_fit_without_bags_forgets_earlier_ones(classifier):
    X, signal = rows()
    again = pickle.loads(pickle.dumps(classifier)).set_params(keep_bags=False).fit(X, signal > 0.5)
    with pytest.raises(ValueError, match="fit with keep_bags=True"):
        again.proximity()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X: m.proximity(), "proximity of training rows needs the bags of the trees: fit with keep_bags=True"),
        (lambda m, X: m.predict_quantiles(X, 0.5), "predict_quantiles needs the bags"),
        (lambda m, X: m.prediction_error(X), "prediction_error needs the bags"),
        (lambda m, X: m.oob_permutation_importance(X, X[:, 0]), "oob_permutation_importance needs the bags"),
        (lambda m, X: m.proximity(X, out_of_bag=True), "out_of_bag=True is about training rows: leave X and Y out"),
        (lambda m, X: m.outlier_scores(X, out_of_bag=True), "out_of_bag=True is about training rows"),
        (lambda m, X: m.proximity(X, top_k=0), "top_k=0: use an integer at least 1"),
    ],
)
def test_errors_name_the_cure(call, message):
    X, signal = rows()
    model = arb.RandomForestRegressor(n_estimators=2).fit(X, signal)
    with pytest.raises(ValueError, match=message):
        call(model, X)


def test_quantiles_are_those_of_one_output():
    X, signal = rows()
    model = arb.RandomForestRegressor(n_estimators=2, keep_bags=True).fit(X, np.column_stack([signal, signal]))
    with pytest.raises(ValueError, match="predict_quantiles needs one output: fit one model per output"):
        model.predict_quantiles(X, 0.5)


def test_importance_refuses_other_rows(regressor):
    X, signal = rows()
    with pytest.raises(ValueError, match="X is not the table that the forest was fitted on"):
        regressor.oob_permutation_importance(X[::-1], signal)


def test_a_matrix_beyond_memory_names_the_sparse_form(classifier, monkeypatch):
    monkeypatch.setattr("arboretum.ensembles.bagging.proximity.available_bytes", lambda: 1000.0)
    with pytest.raises(MemoryError, match="top_k"):
        classifier.proximity()


def test_errors_of_bags_without_a_bootstrap():
    X, signal = rows()
    model = arb.ExtraTreesRegressor(n_estimators=2, keep_bags=True).fit(X, signal)
    with pytest.raises(ValueError, match="prediction_error needs bags that differ: fit with bootstrap=True"):
        model.prediction_error(X)
