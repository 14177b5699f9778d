"""Columns that share a stored column: the same codes and the same models, in less memory."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum import BoostedTreesClassifier, BoostedTreesRegressor, _kernel
from arboretum.data.binning import assign_bins, learn_bins
from arboretum.data.table import SparseTable, read_table
from arboretum.ensembles.boosting import recipe

SPARSE_VALUES = np.array([1.0, 1.0, 2.0, -1.0, 1e-300, np.inf, -np.inf, np.nan, -0.0])


def binned(X, bundle, max_bins=255, threads=1):
    table = read_table(X)
    return assign_bins(table, learn_bins(table, max_bins=max_bins), bundle=bundle, threads=threads)


def bundles_of(X, max_bins=255, threads=1):
    """Give the bundle and the default code of each feature as found, and the codes without bundles."""
    table = read_table(X)
    bin_map = learn_bins(table, max_bins=max_bins)
    cuts = [c.tolist() for c in bin_map.cuts]
    if isinstance(table, SparseTable):
        found = _kernel.find_bundles(table.by_column, list(bin_map.order), cuts, list(bin_map.n_bins), threads)
    else:
        columns = [table.columns[j] for j in bin_map.order]
        found = _kernel.find_bundles(columns, cuts, list(bin_map.n_bins), threads)
    plain = assign_bins(table, bin_map)
    return found.bundle, found.default_code, np.array([plain.codes.codes(f) for f in range(len(cuts))])


def one_hot(rng, n_rows, sizes):
    """Columns of several categories, one after the other."""
    return np.hstack([np.eye(size)[rng.integers(0, size, n_rows)] for size in sizes])


def fit(X, y, bundle, model=BoostedTreesRegressor, **params):
    """Fit with or without bundles; give the model and the number of bundles."""
    seen = []

    def assign(*arguments, **options):
        data = assign_bins(*arguments, **{**options, "bundle": bundle})
        seen.append(data.codes.n_bundles)
        return data

    with patch.object(recipe, "assign_bins", assign):
        fitted = model(**{"n_estimators": 5, "early_stopping": False, "n_jobs": 1, **params}).fit(X, y)
    return fitted, seen[0]


@st.composite
def sparse_tables(draw):
    """Draw columns of a few values that are nearly always 0, or nearly always missing; some meet, some do not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_columns = draw(st.sampled_from([6, 40, 300])), draw(st.integers(2, 12))
    X = np.zeros((n_rows, n_columns))
    owner = rng.integers(0, n_columns + draw(st.sampled_from([0, 5])), n_rows)
    for column in range(n_columns):
        rows = (
            (owner == column) if draw(st.booleans()) else rng.random(n_rows) < draw(st.sampled_from([0.01, 0.1, 0.4]))
        )
        X[rows, column] = rng.choice(SPARSE_VALUES, rows.sum())
        if draw(st.integers(0, 5)) == 0:
            X[~rows, column] = np.nan
    return X


# ---- the colouring ------------------------------------------------------------------------------------------------


def assert_exclusive(bundle, default_code, codes):
    """No two features of a bundle leave their default code in one row; a bundle has at least two features."""
    for number in set(bundle.tolist()) - {-1}:
        members = np.flatnonzero(bundle == number)
        assert len(members) > 1
        away = codes[members] != default_code[members, None]
        assert away.sum(axis=0).max() <= 1


@settings(max_examples=150, deadline=None)
@given(sparse_tables(), st.sampled_from([2, 3, 255]), st.booleans())
def test_no_two_features_of_a_bundle_leave_their_default_in_one_row(X, max_bins, compressed):
    table = sp.csr_array(X) if compressed else X
    bundle, default_code, codes = bundles_of(table, max_bins)
    if len(bundle):
        assert_exclusive(bundle, default_code, codes)
    together = binned(table, True, max_bins)
    for feature, expected in enumerate(codes):
        np.testing.assert_array_equal(together.codes.codes(feature), expected)
    assert together.has_missing == tuple(np.isnan(X).any(axis=0))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_levels_of_a_category_share_a_column(as_sparse):
    X = one_hot(np.random.default_rng(0), 3000, [20, 30, 7, 300])
    X = sp.csc_matrix(X) if as_sparse else X
    bundle, default_code, codes = bundles_of(X)
    np.testing.assert_array_equal(bundle, np.repeat([0, 1, 2, 3], [20, 30, 7, 300]))
    np.testing.assert_array_equal(default_code, 0)
    assert_exclusive(bundle, default_code, codes)


def test_columns_by_falling_rows_when_that_needs_fewer_bundles():
    # In the order of columns a and b share, c and d are alone; by rows c and a share, d and b share.
    X = np.zeros((100, 4))
    a, b, c, d = X.T
    a[0:2], b[2:4] = 1, 1
    c[2:12], d[0:2], d[11:20] = 1, 1, 1
    bundle, default_code, codes = bundles_of(X)
    assert_exclusive(bundle, default_code, codes)
    np.testing.assert_array_equal(bundle, [0, 1, 0, 1])


def test_a_row_outside_the_sample_counts():
    n_rows = 20_000
    sampled = np.zeros(n_rows, dtype=bool)
    sampled[_kernel.sample_rows(n_rows, 4096)] = True
    X = np.zeros((n_rows, 4))
    X[np.arange(n_rows) % 20 == 1, 0] = 1
    for column in (1, 2, 3):
        X[np.arange(n_rows) % 20 == 1 + column, column] = 1
    assert len(set(bundles_of(X)[0])) == 1
    X[np.flatnonzero(~sampled & (X[:, 0] > 0))[7], 3] = 1
    bundle, default_code, codes = bundles_of(X)
    assert_exclusive(bundle, default_code, codes)
    np.testing.assert_array_equal(bundle, [0, 0, 0, -1])


def test_ordinary_columns_are_left_alone():
    rng = np.random.default_rng(0)
    ordinary = rng.normal(size=(500, 20))
    assert len(bundles_of(ordinary)[0]) == 0
    assert binned(ordinary, True).codes.n_bundles == 0
    few = np.hstack([ordinary, np.eye(500)[:, :3]])  # saves 2 of 23 columns
    assert binned(few, True).codes.n_bundles == 0
    assert binned(few[:, 17:], True).codes.n_bundles == 1  # 2 of 6


def test_many_codes_make_another_bundle():
    n_columns, n_values = 60, 100
    X = np.zeros((n_columns * n_values, n_columns))
    X[np.arange(len(X)), np.repeat(np.arange(n_columns), n_values)] = np.tile(np.arange(1.0, n_values + 1), n_columns)
    X = np.repeat(X, 3, axis=0)  # rarer values would share bins
    bundle, default_code, codes = bundles_of(X)
    assert_exclusive(bundle, default_code, codes)
    np.testing.assert_array_equal(np.bincount(bundle), [40, 20])  # 40 · 100 of at most 4,095 codes
    assert binned(X, True).codes.size_bytes < binned(X, False).codes.size_bytes / 10


def test_categories_and_missing_values_have_a_default_too():
    n = 400
    mostly = np.full((n, 4), "common", dtype=object)
    for column in range(4):
        mostly[column * 10 : column * 10 + 10, column] = ["rare", None] * 5
    frame = pd.DataFrame(mostly, columns=list("abcd"))
    numbers = np.full((n, 4), np.nan)
    for column in range(4):
        numbers[100 + column * 10 : 110 + column * 10, column] = np.arange(10)
    frame[list("efgh")] = numbers
    bundle, default_code, codes = bundles_of(frame)
    np.testing.assert_array_equal(bundle, 0)
    np.testing.assert_array_equal(default_code, [0] * 4 + [10] * 4)
    assert_exclusive(bundle, default_code, codes)
    together = binned(frame, True)
    assert all(together.has_missing)
    for feature, expected in enumerate(codes):
        np.testing.assert_array_equal(together.codes.codes(feature), expected)


def test_bundles_do_not_depend_on_the_order_of_columns():
    X = one_hot(np.random.default_rng(3), 2000, [10, 20, 15])
    frame = pd.DataFrame(X, columns=[f"c{j:02}" for j in range(45)])
    found = [bundles_of(frame[order])[0] for order in (list(frame.columns), list(frame.columns)[::-1])]
    np.testing.assert_array_equal(*found)
    assert found[0].max() == 2


@pytest.mark.parametrize("as_sparse", [False, True])
def test_bundles_and_codes_do_not_depend_on_threads(as_sparse):
    X = one_hot(np.random.default_rng(4), 5000, [50, 60, 70])
    X = sp.csr_matrix(X) if as_sparse else X
    found = [bundles_of(X, threads=threads)[0] for threads in (1, 2, 3, 8)]
    data = [binned(X, True, threads=threads) for threads in (1, 2, 3, 8)]
    for other in range(1, 4):
        np.testing.assert_array_equal(found[0], found[other])
        for feature in range(0, 180, 7):
            np.testing.assert_array_equal(data[0].codes.codes(feature), data[other].codes.codes(feature))


def test_memory_is_that_of_the_bundles():
    X = one_hot(np.random.default_rng(5), 2000, [50] * 8)
    plain, bundled = (binned(X, bundle).codes for bundle in (False, True))
    assert bundled.n_bundles == 8
    assert bundled.size_bytes < 2000 * (8 + 8) + 2000  # two copies
    assert plain.size_bytes > 40 * bundled.size_bytes


# ---- models -------------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(
    sparse_tables(),
    st.sampled_from(["leaf", "level", "symmetric"]),
    st.sampled_from([1, 2, 20]),
    st.sampled_from([{}, {"subsample": 0.6}, {"max_features": 0.5, "colsample_tree": 0.7}, {"max_bins": 3}]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_a_model_is_the_same_with_and_without_bundles(X, growth, least, sampling, monotone, seed):
    rng = np.random.default_rng(seed)
    y = np.nan_to_num(X, posinf=2, neginf=-2) @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X)).round(1)
    constraint = {"monotonic_cst": rng.integers(-1, 2, X.shape[1]).tolist()} if monotone else {}
    params = {"growth": growth, "max_depth": 4, "min_samples_leaf": least, **sampling, **constraint}
    cases = ((X, False), (X, True), (sp.csr_array(X), True))
    assert len({fit(table, y, bundle, **params)[0].fingerprint() for table, bundle in cases}) == 1


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"subsample": 0.5, "min_samples_leaf": 1},
        {"colsample_tree": 0.3, "colsample_level": 0.5},
        {"max_leaf_nodes": 200, "min_samples_leaf": 1},
        {"interaction_cst": [list(range(30)), list(range(30, 132))]},
        {"monotonic_cst": [1] * 60 + [-1] * 60 + [0] * 12},
    ],
    ids=["plain", "rows", "columns", "deep", "interactions", "monotone"],
)
def test_a_larger_model_is_the_same_for_any_threads(growth, params):
    rng = np.random.default_rng(6)
    hot = one_hot(rng, 6000, [40, 50, 30])
    X = np.hstack([hot, rng.poisson(0.05, (6000, 6)), rng.normal(size=(6000, 6))])
    X[rng.random(6000) < 0.01, 3] = np.nan
    y = np.nan_to_num(X) @ rng.normal(size=132) + X[:, -1] ** 2 + rng.normal(size=6000)
    if growth == "symmetric":
        params = {**params, "max_depth": 5, "max_leaf_nodes": None}
    plain, n_plain = fit(X, y, False, growth=growth, **params)
    models = [fit(X, y, True, growth=growth, **params, n_jobs=n_jobs) for n_jobs in (1, 2, 3, 8)]
    assert n_plain == 0
    assert models[0][1] >= 3
    assert {model.fingerprint() for model, _ in models} == {plain.fingerprint()}


def test_small_nodes_of_many_bins_are_searched_by_their_rows():
    # Nodes with fewer rows than a third of the bins of a feature are searched without histograms.
    rng = np.random.default_rng(7)
    owner, X = rng.integers(0, 12, 3000), np.zeros((3000, 12))
    X[np.arange(3000), owner] = rng.normal(size=3000)
    X[rng.random(3000) < 0.01] = np.nan
    y = X[:, 0] + np.nan_to_num(X).sum(axis=1) ** 2 + rng.normal(size=3000)
    y = np.nan_to_num(y)
    found = [fit(X, y, bundle, max_leaf_nodes=400, min_samples_leaf=1) for bundle in (False, True)]
    assert [n for _, n in found] == [0, 0], "rows of missing values meet"
    X[np.isnan(X[:, 1]), 1:] = 0
    found = [fit(X, y, bundle, max_leaf_nodes=400, min_samples_leaf=1) for bundle in (False, True)]
    assert [n for _, n in found] == [0, 1]
    assert found[0][0].fingerprint() == found[1][0].fingerprint()


def test_classifiers_weights_and_validation_rows():
    rng = np.random.default_rng(8)
    X = one_hot(rng, 2000, [30, 30])
    labels = (X @ rng.normal(size=60) + rng.normal(size=2000) > 0).astype(int)
    prints = set()
    for table, bundle in ((X, False), (X, True), (sp.csr_matrix(X), True)):
        options = {"early_stopping": True, "n_iter_no_change": 2, "validation_fraction": 0.2, "random_state": 0}
        model, n_bundles = fit(table, labels, bundle, BoostedTreesClassifier, n_estimators=20, **options)
        assert n_bundles == 2 * bundle
        prints.add((model.fingerprint(), model.predict_proba(X).tobytes()))
    assert len(prints) == 1


# ---- compressed matrices ------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(sparse_tables(), st.sampled_from([None, 2, 3, 255]), st.sampled_from([None, "whole", "real"]), st.data())
def test_a_compressed_matrix_has_the_cuts_of_its_dense_one(X, max_bins, weights, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    weight = (
        None if weights is None else rng.integers(0, 4, len(X)) * (1.0 if weights == "whole" else rng.random(len(X)))
    )
    maps = [learn_bins(read_table(form), max_bins=max_bins, weight=weight) for form in (X, sp.csr_array(X))]
    assert maps[0].n_bins == maps[1].n_bins
    for dense, compressed in zip(maps[0].cuts, maps[1].cuts, strict=True):
        np.testing.assert_array_equal(dense, compressed)
    codes = [assign_bins(read_table(form), maps[0]) for form in (X, sp.csr_array(X))]
    assert codes[0].has_missing == codes[1].has_missing
    for feature in range(X.shape[1]):
        np.testing.assert_array_equal(codes[0].codes.codes(feature), codes[1].codes.codes(feature))


def test_cuts_of_a_sample_of_a_compressed_matrix():
    rng = np.random.default_rng(9)
    X = np.where(rng.random((250_000, 2)) < 0.3, rng.normal(size=(250_000, 2)).round(2), 0.0)
    for weight in (None, rng.random(250_000)):
        maps = [learn_bins(read_table(form), max_bins=30, weight=weight) for form in (X, sp.csr_array(X))]
        for dense, compressed in zip(maps[0].cuts, maps[1].cuts, strict=True):
            np.testing.assert_array_equal(dense, compressed)


@pytest.mark.parametrize("format", [sp.csr_array, sp.csc_array])
def test_duplicates_are_added_and_the_matrix_stays_as_it_was(format):
    values, twice = np.array([4.0, 1.0, 2.0, 0.0]), np.array([2, 2, 0, 1])  # 4 and 1 are one entry; 0 is stored
    matrix = format((values, twice, np.array([0, 4])), shape=(1, 3) if format is sp.csr_array else (3, 1))
    before = matrix.data.copy(), matrix.indices.copy()
    table = read_table(matrix)
    found = np.array([assign_bins(table, learn_bins(table)).codes.codes(f) for f in range(matrix.shape[1])])
    dense = read_table(matrix.toarray())
    expected = np.array([assign_bins(dense, learn_bins(dense)).codes.codes(f) for f in range(matrix.shape[1])])
    np.testing.assert_array_equal(found, expected)
    if format is sp.csc_array:
        assert learn_bins(table).cuts[0].tolist() == [1.0, 3.5]
    np.testing.assert_array_equal(before[0], matrix.data)
    np.testing.assert_array_equal(before[1], matrix.indices)


def test_binning_never_makes_a_compressed_matrix_dense():
    X = sp.random_array((500, 3000), density=0.01, rng=np.random.default_rng(10), format="csr")
    y = np.asarray(X.sum(axis=1)).ravel()
    with patch.object(SparseTable, "column_batches", side_effect=AssertionError("dense")):
        model, n_bundles = fit(X, y, True)
    assert n_bundles > 0
    assert model.fingerprint() == fit(X.toarray(), y, False)[0].fingerprint()


def sparse_table(rng, n_rows, n_columns):
    """Draw few values of either sign, some of them missing; two columns that mostly hold another value than 0."""
    X = np.where(rng.random((n_rows, n_columns)) < 0.03, rng.normal(size=(n_rows, n_columns)).round(1), 0.0)
    X[rng.random(X.shape) < 0.002] = np.nan
    X[:, 0] = np.where(rng.random(n_rows) < 0.9, 2.0, rng.integers(-1, 2, n_rows))
    X[:, 1] = rng.normal(size=n_rows).round(1)
    return X


def test_sparse_columns_that_are_mostly_missing():
    rng = np.random.default_rng(13)
    X = np.where(one_hot(rng, 400, [15, 15]) == 0, np.nan, rng.integers(1, 4, (400, 30)))
    y = np.nansum(X, axis=1) + rng.normal(size=400)
    sparse, _ = fit(sp.csr_array(X), y, True, min_samples_leaf=2)
    assert sparse.fingerprint() == fit(X, y, False, min_samples_leaf=2)[0].fingerprint()


@pytest.mark.parametrize("model", [BoostedTreesRegressor, BoostedTreesClassifier])
@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize("min_samples_leaf", [1, 20])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_lists_of_sparse_rows_give_the_model_of_the_dense_table(model, growth, min_samples_leaf, n_jobs):
    """Large nodes keep histograms, small ones do not."""
    rng = np.random.default_rng(12)
    X = sparse_table(rng, 3_000, 150)
    y = np.nansum(X[:, :20], axis=1) + X[:, 1] + rng.normal(size=len(X))
    y = y > 0.5 if model is BoostedTreesClassifier else y
    params = {"growth": growth, "min_samples_leaf": min_samples_leaf, "max_features": 0.7, "subsample": 0.8}
    sparse, _ = fit(sp.csr_array(X), y, True, model, n_jobs=n_jobs, **params)
    assert sparse.fingerprint() == fit(X, y, False, model, **params)[0].fingerprint()


@pytest.mark.parametrize("seed", range(4))
def test_lists_of_sparse_rows_of_any_weight(seed):
    rng = np.random.default_rng(seed)
    X = sparse_table(rng, int(rng.integers(30, 800)), int(rng.integers(2, 40)))
    y, weight = rng.integers(0, 3, len(X)), rng.random(len(X)) * (rng.random(len(X)) < 0.8)
    options = {"n_estimators": 4, "early_stopping": False, "min_samples_leaf": 3}
    models = [BoostedTreesClassifier(**options).fit(form, y, sample_weight=weight) for form in (X, sp.csr_array(X))]
    assert models[0].fingerprint() == models[1].fingerprint()


def test_a_compressed_matrix_to_validate_a_named_table():
    rng = np.random.default_rng(11)
    names = [f"c{j}" for j in range(12)]  # c10 comes before c2
    X = one_hot(rng, 500, [12]) + 0.0
    y = X @ np.arange(12.0) + rng.normal(size=500) / 10
    frame = pd.DataFrame(X, columns=names)
    options = {"n_estimators": 30, "early_stopping": True, "n_iter_no_change": 3, "n_jobs": 1}
    models = [BoostedTreesRegressor(**options).fit(frame, y, X_val=held, y_val=y) for held in (frame, sp.csr_array(X))]
    assert models[0].fingerprint() == models[1].fingerprint()
    np.testing.assert_array_equal(models[0].history_.validation_loss, models[1].history_.validation_loss)
