"""From tables to codes and back to thresholds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import binning as slow

from arboretum.data.binning import SAMPLE_ROWS, assign_bins, learn_bins
from arboretum.data.table import conform, read_table

VALUES = st.one_of(
    st.floats(allow_nan=True), st.integers(-3, 3).map(float), st.sampled_from([np.inf, -np.inf, -0.0, 5e-324, 1e308])
)
TABLES = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(VALUES, min_size=width, max_size=width), min_size=1, max_size=40)
)


@settings(max_examples=100, deadline=None)
@given(TABLES, st.sampled_from([None, 2, 3, 7, 255]))
def test_bins_of_every_column_are_those_of_the_twin(rows, max_bins):
    X = np.array(rows)
    table = read_table(X)
    bin_map = learn_bins(table, max_bins=max_bins)
    data = assign_bins(table, bin_map)
    assert data.n_rows == len(X)
    for feature in range(X.shape[1]):
        cuts = slow.cuts(X[:, feature], max_bins=max_bins)
        np.testing.assert_array_equal(bin_map.cuts[feature], cuts)
        np.testing.assert_array_equal(data.codes.codes(feature), slow.codes(X[:, feature], cuts))
        assert data.has_missing[feature] == np.isnan(X[:, feature]).any()
        assert bin_map.n_bins[feature] == len(cuts) + 1


@pytest.mark.parametrize("share", [0.02, 0.09, 0.11])
@pytest.mark.parametrize("max_bins", [None, 64, 255])
@pytest.mark.parametrize("seed", range(4))
def test_bins_of_columns_that_are_mostly_one_value_are_those_of_the_twin(share, max_bins, seed):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((1_000, 3)) < share, rng.normal(size=(1_000, 3)).round(2 if seed else 9), 0.0)
    for table in (read_table(dense), read_table(sp.csr_matrix(dense))):
        for found, column in zip(learn_bins(table, max_bins=max_bins).cuts, dense.T, strict=True):
            np.testing.assert_array_equal(found, slow.cuts(column, max_bins=max_bins))


def test_rare_values_share_bins_of_three_rows_beside_the_common_one():
    column = np.concatenate([np.zeros(400), np.arange(-9.0, 0.0), np.arange(1.0, 21.0)])
    (cuts,) = learn_bins(read_table(column[:, None])).cuts
    rows = np.histogram(column, [-np.inf, *cuts, np.inf])[0]
    assert sorted(rows)[-1] == 400
    assert rows.tolist() == [3, 3, 3, 400, 3, 3, 3, 3, 3, 3, 2]


@settings(max_examples=100, deadline=None)
@given(TABLES, TABLES, st.sampled_from([2, 3, 255]))
def test_a_threshold_says_the_same_as_its_code(rows, others, max_bins):
    X = np.array(rows)
    bin_map = learn_bins(read_table(X), max_bins=max_bins)
    for feature in range(X.shape[1]):
        column = np.concatenate([X[:, feature], np.array([row[0] for row in others])])
        column = column[~np.isnan(column)]
        codes = np.array(slow.codes(column, bin_map.cuts[feature]))
        for code in range(bin_map.n_bins[feature]):
            threshold = bin_map.thresholds(np.array([feature], np.int32), np.array([code], np.uint32))[0]
            np.testing.assert_array_equal(column <= threshold, codes <= code)


def test_thresholds_of_several_features_at_once():
    bin_map = learn_bins(read_table([[1.0, 5.0], [2.0, 6.0], [4.0, 6.0]]))
    found = bin_map.thresholds(np.array([0, 0, 1, 0, 1], np.int32), np.array([1, 0, 0, 2, 1], np.uint32))
    np.testing.assert_array_equal(found, [3.0, 1.5, 5.5, np.inf, np.inf])


def test_features_are_in_the_order_of_names():
    frame = pd.DataFrame({"b": [1.0, 2.0, 3.0], "a": ["x", "y", "x"], "c": [np.nan, 5.0, 6.0]})
    bin_map = learn_bins(read_table(frame))
    assert bin_map.order == (1, 0, 2)
    assert bin_map.categorical == (True, False, False)
    assert bin_map.n_bins == (2, 3, 2)
    data = assign_bins(read_table(frame), bin_map)
    assert data.has_missing == (False, False, True)
    np.testing.assert_array_equal(data.codes.codes(0), [0, 1, 0])
    np.testing.assert_array_equal(data.codes.codes(1), [0, 1, 2])
    np.testing.assert_array_equal(data.codes.codes(2), [2, 0, 1])


def test_columns_without_names_keep_their_order():
    assert learn_bins(read_table(np.zeros((2, 12)))).order == tuple(range(12))


def test_missing_and_unknown_categories_share_the_last_code():
    table = read_table([["a"], ["b"], [None], ["a"]])
    bin_map = learn_bins(table)
    assert bin_map.n_bins == (2,)
    np.testing.assert_array_equal(assign_bins(table, bin_map).codes.codes(0), [0, 1, 2, 0])
    other = conform([["zebra"], ["b"]], table.schema)
    data = assign_bins(other, bin_map)
    np.testing.assert_array_equal(data.codes.codes(0), [2, 1])
    assert data.has_missing == (True,)


def test_a_sparse_matrix_has_the_codes_of_its_dense_one():
    rng = np.random.default_rng(0)
    dense = rng.integers(-2, 3, (300, 40)) * (rng.random((300, 40)) < 0.2).astype(float)
    bin_maps = [learn_bins(read_table(X), max_bins=4) for X in (dense, sp.csr_array(dense))]
    data = [assign_bins(read_table(X), bin_maps[0]) for X in (dense, sp.csr_array(dense))]
    for feature in range(40):
        np.testing.assert_array_equal(bin_maps[0].cuts[feature], bin_maps[1].cuts[feature])
        np.testing.assert_array_equal(data[0].codes.codes(feature), data[1].codes.codes(feature))


def test_a_weight_is_a_repetition():
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(200, 2)), rng.integers(0, 4, 200)
    weighted = learn_bins(read_table(X), max_bins=16, weight=weight.astype(float))
    repeated = learn_bins(read_table(np.repeat(X, weight, axis=0)), max_bins=16)
    for a, b in zip(weighted.cuts, repeated.cuts, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("max_bins", [255, 256, 65_535])
def test_the_limit_of_bins_is_kept_and_used(max_bins):
    X = np.random.default_rng(2).normal(size=(70_000, 1))
    assert learn_bins(read_table(X), max_bins=max_bins).n_bins[0] == max_bins


def test_exact_bins_see_every_row_and_others_a_sample():
    X = np.arange(SAMPLE_ROWS + 50_000.0)[:, None]
    assert learn_bins(read_table(X), max_bins=None).n_bins[0] == len(X)
    cuts = [learn_bins(read_table(X), max_bins=100, threads=threads).cuts[0] for threads in (1, 3)]
    np.testing.assert_array_equal(*cuts)
    counts = np.bincount(np.searchsorted(cuts[0], X[:, 0]))
    assert len(counts) == 100
    assert abs(counts / len(X) * 100 - 1).max() < 0.2


def test_float32_tables_have_the_bins_of_float64():
    X = np.random.default_rng(3).normal(size=(500, 3)).astype(np.float32)
    maps = [learn_bins(read_table(table), max_bins=20) for table in (X, X.astype(np.float64))]
    for a, b in zip(maps[0].cuts, maps[1].cuts, strict=True):
        np.testing.assert_array_equal(a, b)
    codes = [assign_bins(read_table(table), maps[0]).codes for table in (X, X.astype(np.float64))]
    for feature in range(3):
        np.testing.assert_array_equal(codes[0].codes(feature), codes[1].codes(feature))
