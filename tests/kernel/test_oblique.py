"""Oblique splits: the kernel against its twin, training against prediction, and what never matters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.reference import oblique as slow
from tests.reference.files import seed_of

import arboretum as arb
from arboretum.growing.projections import mean_and_scale
from arboretum.model.forest import LEAF, OBLIQUE

SEEDS = st.integers(0, 2**32 - 1)
CLASSES = [
    arb.RandomForestClassifier,
    arb.RandomForestRegressor,
    arb.ExtraTreesClassifier,
    arb.ExtraTreesRegressor,
]
ODD = [0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e16, 1e300, -1e300, 1.7e308, math.inf, -math.inf, math.nan]


def scales_of(X):
    return [mean_and_scale(column, None)[1] for column in X.T]


def terms_of(forest, node):
    part = slice(forest.projection_start[node], forest.projection_start[node + 1])
    return dict(zip(forest.projection_feature[part].tolist(), forest.projection_weight[part].tolist(), strict=True))


def assert_same_tree(forest, twin):
    assert forest.n_nodes == len(twin.nodes)
    for i, (terms, threshold, gain, n_rows) in enumerate(twin.nodes):
        assert forest.n_rows[i] == n_rows
        kind = (LEAF, 1, OBLIQUE)[min(len(terms), 2)]
        if forest.kind[i] != kind and max(abs(gain), forest.gain[i]) < 1e-9:
            return  # conditions that gain nothing tie but for rounding; from here on the trees differ
        assert forest.kind[i] == kind, i
        assert forest.threshold[i] == threshold
        assert forest.gain[i] == pytest.approx(gain, rel=1e-9, abs=1e-9)
        if len(terms) == 1:
            assert forest.feature[i] == min(terms)
        elif terms:
            assert terms_of(forest, i) == terms
            assert forest.feature[i] == min(terms)
            assert list(terms_of(forest, i)) == sorted(terms)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from(["gini", "squared_error", "absolute_error"]), st.integers(1, 4), st.data())
def test_trees_are_those_of_the_twin(seed, criterion, min_samples_leaf, data):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 70)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, p)) if rng.integers(2) else rng.integers(0, 4, (n, p)).astype(float)
    X[0], X[-1] = 0.0, np.arange(1, p + 1)  # no column is constant
    y = rng.integers(0, 3, n)
    density = data.draw(st.sampled_from([None, 0.3, 0.9, 1.0]))
    options = {
        "n_estimators": 1,
        "criterion": criterion,
        "bootstrap": False,
        "max_features": None,
        "max_bins": None,
        "min_samples_leaf": min_samples_leaf,
        "oblique": True,
        "n_projections": data.draw(st.sampled_from([None, 1, 7])),
        "projection_density": density,
        "random_state": seed,
    }
    if criterion == "gini" and len(set(y.tolist())) < 2:
        y[0] = 3
    model = (arb.RandomForestClassifier if criterion == "gini" else arb.RandomForestRegressor)(**options).fit(X, y)
    impurity = getattr(slow, criterion)
    density = min(1.0, 2 / p) if density is None else density
    target = y if criterion == "gini" else y.astype(float)
    twin = slow.Twin(X, target, impurity, scales_of(X), options["n_projections"] or p, density, min_samples_leaf)
    assert_same_tree(model.forest_, twin.grow(slow.root_path(seed_of(model), 0)))


@pytest.mark.parametrize("density", [0.01, 0.3, 0.99, 1.0])
def test_columns_take_part_with_the_probability_asked_for(density):
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(300, 10)), 4000
    model = arb.ExtraTreesRegressor(
        n_estimators=60, max_features=1, max_depth=7, oblique=True, projection_density=density, n_projections=1
    ).fit(X, rng.normal(size=300))
    forest = model.forest_
    sizes = np.diff(forest.projection_start)[forest.kind == OBLIQUE][:n]
    weights = np.array(slow.size_weights(10, density))
    expected = weights @ np.arange(2, 11) / weights.sum()
    assert sizes.min() >= 2
    assert sizes.mean() == pytest.approx(expected, abs=0.15)
    feature, sign = forest.projection_feature, np.sign(forest.projection_weight)
    counts = np.bincount(feature, minlength=10) / len(feature)
    assert counts == pytest.approx(np.full(10, 0.1), abs=0.02)
    later = np.setdiff1d(np.arange(len(sign)), forest.projection_start)
    assert (sign[np.setdiff1d(np.arange(len(sign)), later)] == 1).all()
    assert sign[later].mean() == pytest.approx(0.0, abs=0.1)


def paths_and_rows(forest, X, seed):
    """Yield (node, path, rows) of the inner nodes of the first tree, rows by the twin's arithmetic."""
    open_nodes = [(0, slow.root_path(seed, 0), np.arange(len(X)))]
    while open_nodes:
        node, path, rows = open_nodes.pop()
        if forest.kind[node] == LEAF:
            continue
        yield node, path, rows
        if forest.kind[node] == OBLIQUE:
            left = slow.project(terms_of(forest, node), X[rows]) <= forest.threshold[node]
        else:
            left = X[rows, forest.feature[node]] <= forest.threshold[node]
        open_nodes.append((int(forest.left[node]), slow.draw(path, 1), rows[left]))
        open_nodes.append((int(forest.right[node]), slow.draw(path, 2), rows[~left]))


def test_random_thresholds_are_uniform_draws_of_the_nodes_path():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(400, 5)), rng.normal(size=400)
    deep = {"max_bins": None, "max_features": 1 / 3, "min_samples_leaf": 1}
    model = arb.ExtraTreesRegressor(n_estimators=1, oblique=True, n_projections=4, **deep).fit(X, y)
    forest, scales, n_oblique = model.forest_, scales_of(X), 0
    for node, path, rows in paths_and_rows(forest, X, seed_of(model)):
        assert len(rows) == forest.n_rows[node]
        if forest.kind[node] != OBLIQUE:
            continue
        n_oblique += 1
        drawn = [slow.draw_terms(path, number, scales, 2 / 5) for number in range(4)]
        numbers = [number for number in range(4) if drawn[number] == terms_of(forest, node)]
        z = slow.project(terms_of(forest, node), X[rows])
        assert forest.threshold[node] in [slow.random_threshold(path, number, z) for number in numbers]
    assert n_oblique > 50


def training_table(rng, n_rows):
    X = rng.normal(size=(n_rows, 5)) * [1, 1e-5, 1e8, 1, 1] + [0, 3, 1e9, 0, 0]
    X[:, 3] = rng.choice(ODD, n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def assert_leaves_count_training_rows(model, X):
    forest, leaves = model.forest_, model.apply(X)
    for tree in range(forest.n_trees):
        nodes = slice(forest.tree_start[tree], forest.tree_start[tree + 1])
        counts = np.bincount(leaves[:, tree], minlength=nodes.stop - nodes.start)
        is_leaf = forest.kind[nodes] == LEAF
        np.testing.assert_array_equal(counts[is_leaf], forest.n_rows[nodes][is_leaf])


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.sampled_from(CLASSES), st.sampled_from([None, 16]), st.sampled_from([np.float32, np.float64]))
def test_rows_are_routed_as_in_training(seed, cls, max_bins, dtype):
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        X = training_table(rng, 700).astype(dtype)
    options = {"criterion": "absolute_error"} if "Regressor" in cls.__name__ and seed % 2 else {}
    model = cls(n_estimators=3, bootstrap=False, max_bins=max_bins, oblique=True, random_state=seed, **options)
    model.fit(X, rng.integers(0, 3, 700))
    assert (model.forest_.kind == OBLIQUE).any()
    assert_leaves_count_training_rows(model, X)


@settings(max_examples=40, deadline=None)
@given(arrays(np.float64, (12, 3), elements=st.sampled_from(ODD)), st.sampled_from(CLASSES))
def test_odd_numbers_never_lose_a_row(X, cls):
    X[0], X[1], X[2] = 0.0, 1.0, 3.0
    y = np.arange(12) % 2
    model = cls(n_estimators=2, bootstrap=False, oblique=True, n_projections=5).fit(X, y)
    assert_leaves_count_training_rows(model, X)
    assert np.isfinite(model.forest_.projection_weight).all()


def mixed_data(n_rows=900):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_rows, 6))
    y = (X[:, 0] + X[:, 1] > X[:, 2]).astype(int) + (X[:, 3] > 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@pytest.mark.parametrize("cls", CLASSES)
def test_the_number_of_threads_does_not_matter(cls):
    X, y = mixed_data(3000)  # threads share the root of a single tree
    for n_estimators, options in ((5, {}), (1, {"max_leaf_nodes": 30}), (1, {"max_features": None})):
        prints = {
            cls(n_estimators=n_estimators, oblique=True, n_jobs=n_jobs, **options).fit(X, y).fingerprint()
            for n_jobs in (1, 2, 3, 8)
        }
        assert len(prints) == 1


@pytest.mark.parametrize("cls", CLASSES)
def test_the_order_of_rows_and_columns_does_not_matter(cls):
    pd = pytest.importorskip("pandas")
    X, y = mixed_data(300)
    X = np.round(X, 1)
    frame = pd.DataFrame(X, columns=list("fcaebd"))
    options = {"n_estimators": 3, "oblique": True, "max_bins": 4}
    expected = cls(**options).fit(frame, y).fingerprint()
    rng = np.random.default_rng(0)
    rows = rng.permutation(300)
    assert cls(**options).fit(frame[list("abcdef")], y).fingerprint() == expected
    if "Classifier" in cls.__name__:  # a mean of numbers depends on the order in its last digits
        assert cls(**options).fit(frame.iloc[rows], y[rows]).fingerprint() == expected


def test_a_weight_is_a_repetition():
    X, y = mixed_data(200)
    X = np.nan_to_num(X)  # values that a node never saw go to the child of more rows, not of more weight
    weight = np.random.default_rng(1).integers(1, 4, 200)
    for options in ({"bootstrap": False}, {"bootstrap": True}):
        options |= {"n_estimators": 3, "oblique": True, "min_samples_leaf": 1}
        weighted = arb.RandomForestClassifier(**options).fit(X, y, sample_weight=weight)
        repeated = arb.RandomForestClassifier(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_a_missing_value_is_the_mean():
    rng = np.random.default_rng(2)
    X = rng.normal(3.0, 1.0, size=(500, 2))
    y = X.sum(axis=1)
    holes = X.copy()
    holes[::10, 0] = np.nan
    model = arb.ExtraTreesRegressor(n_estimators=1, oblique=True, n_projections=50, max_features=1).fit(holes, y)
    forest = model.forest_
    fill = forest.projection_fill[forest.projection_feature == 0]
    assert (fill == fill[0]).all()
    assert fill[0] == pytest.approx(np.nanmean(holes[:, 0]), abs=1e-3)
    filled = np.where(np.isnan(holes), fill[0], holes)
    assert forest.kind[0] == OBLIQUE
    goes_left = slow.project(terms_of(forest, 0), filled) <= forest.threshold[0]
    assert goes_left.sum() == forest.n_rows[forest.left[0]]
    indicator, _ = model.decision_path(holes)
    np.testing.assert_array_equal(indicator.toarray()[:, forest.left[0]], goes_left)


def test_every_way_of_predicting_agrees():
    X, y = mixed_data(600)
    X = np.nan_to_num(X)
    forest = arb.RandomForestClassifier(n_estimators=12, oblique=True, prior_trees=0.0).fit(X, y).forest_
    columns = list(X.T)
    raw = forest.raw(columns, 600, threads=2)
    np.testing.assert_array_equal(forest.raw_matrix(X), raw)
    np.testing.assert_array_equal(np.vstack([forest.raw_matrix(row[None]) for row in X]), raw)
    np.testing.assert_array_equal(list(forest.staged(columns, 600, step=5))[-1], raw)
    leaves = forest.apply(columns, 600) + forest.tree_start[:-1]
    summed = np.zeros_like(raw)
    for tree in range(forest.n_trees):
        summed += forest.value[leaves[:, tree]]
    np.testing.assert_array_equal(summed, raw)


@pytest.mark.parametrize("compact", [True, False])
def test_files_keep_projections(tmp_path, compact):
    X, y = mixed_data()
    model = arb.RandomForestClassifier(n_estimators=5, oblique=True, n_projections=3).fit(X, y)
    model.save(tmp_path / "model.arb", compact=compact)
    loaded = arb.load(tmp_path / "model.arb")
    assert loaded.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.get_params() == model.get_params()


def test_forests_without_oblique_splits_have_no_arrays_of_them():
    X, y = mixed_data(100)
    plain = arb.RandomForestClassifier(n_estimators=2).fit(X, y)
    assert not [name for name in plain.forest_.to_arrays() if name.startswith("projection")]
    one_column = arb.RandomForestClassifier(n_estimators=2, oblique=True).fit(X[:, :1], y)
    constant = np.column_stack([X[:, 0], np.ones(100), np.full(100, np.nan)])
    assert not one_column.forest_.has_projections
    assert not arb.RandomForestClassifier(n_estimators=2, oblique=True).fit(constant, y).forest_.has_projections


def test_oblique_forests_see_what_is_rotated():
    rng = np.random.default_rng(7)
    square = rng.uniform(-1, 1, size=(3000, 2))
    y = (np.floor(square[:, 0] * 3) + np.floor(square[:, 1] * 3)).astype(int) % 2
    turn = np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    X = square @ turn
    train, test = slice(None, 1500), slice(1500, None)
    for cls in (arb.RandomForestClassifier, arb.ExtraTreesClassifier):
        scores = [
            cls(n_estimators=30, **options).fit(X[train], y[train]).score(X[test], y[test])
            for options in ({}, {"oblique": True, "n_projections": 5})
        ]
        assert scores[1] > scores[0] + 0.025


def test_categories_and_sparse_tables():
    scipy = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * (rng.random((300, 4)) < 0.5)
    y = (X.sum(axis=1) > 0).astype(int)
    options = {"n_estimators": 3, "oblique": True}
    dense = arb.RandomForestClassifier(**options).fit(X, y)
    assert arb.RandomForestClassifier(**options).fit(scipy.csr_matrix(X), y).fingerprint() == dense.fingerprint()
    rows = [[*row, "abc"[i % 3]] for i, row in enumerate(X.tolist())]
    mixed = arb.RandomForestClassifier(**options).fit(rows, y)
    assert set(mixed.forest_.kind.tolist()) >= {LEAF, OBLIQUE}
    assert mixed.forest_.projection_feature.max() <= 3
    rows[0][4] = "unseen"
    assert np.isfinite(mixed.predict_proba(rows)).all()


def test_importances_are_shared_by_the_columns_of_a_sum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = X[:, 0] + X[:, 1]
    model = arb.RandomForestRegressor(n_estimators=10, oblique=True, n_projections=20, max_depth=4).fit(X, y)
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[:2].min() > 0.3
    assert importances[2:].max() < 0.15


def test_trees_can_be_read():
    X, y = mixed_data(200)
    model = arb.RandomForestClassifier(n_estimators=1, oblique=True, max_depth=2, max_features=1, n_projections=30)
    model.fit(np.nan_to_num(X), y)
    assert " + " in model.to_text() or " − " in model.to_text()
    indicator, _ = model.decision_path(np.nan_to_num(X))
    assert (indicator.sum(axis=1) == 3).all()


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, st.integers(1, 30), elements=st.sampled_from([*ODD, 2.5, 7.25, -3.0])), SEEDS)
def test_means_and_scales_do_not_depend_on_order_or_repetition(column, seed):
    rng = np.random.default_rng(seed)
    found = mean_and_scale(column, None)
    assert mean_and_scale(rng.permutation(column), None) == found
    weight = rng.integers(1, 5, len(column))
    assert mean_and_scale(column, weight.astype(float)) == mean_and_scale(np.repeat(column, weight), None)
    finite = column[np.isfinite(column)]
    if found is not None:
        assert 0 < 1 / found[1] < math.inf
        assert finite.min() / 2 <= found[0] / 2 <= finite.max() / 2 + found[1] / 2
    else:
        assert finite.size == 0 or finite.max() / 2 - finite.min() / 2 < 1e-300


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"oblique": "yes"}, "oblique='yes': use one of True, False"),
        ({"oblique": True, "n_projections": 0}, "n_projections=0: use an integer at least 1"),
        ({"oblique": True, "projection_density": 0.0}, "projection_density=0.0: use a number above 0"),
        ({"oblique": True, "projection_density": 1.5}, "projection_density=1.5: use a number above 0 and at most 1"),
        ({"n_projections": 3}, "n_projections=3 without oblique: set oblique=True or leave it None"),
        ({"projection_density": 0.5}, "projection_density=0.5 without oblique: set oblique=True or leave it None"),
        ({"oblique": True, "monotonic_cst": [1, 0]}, "monotonic_cst is not supported with oblique=True"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        arb.RandomForestRegressor(n_estimators=1, **options).fit([[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0])
