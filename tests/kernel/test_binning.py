"""Cuts and codes against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import binning as slow

from arboretum import _kernel

TIES = st.sampled_from(
    [-np.inf, -1.7e308, -1.0, -1e-45, -5e-324, -0.0, 0.0, 5e-324, 1e-45, 0.1, 1.0, 1 + 2**-52, 3e38, 1.7e308, np.inf]
)
NUMBERS = st.one_of(TIES, st.floats(allow_nan=False), st.integers(-20, 20).map(float))
COLUMNS = st.lists(st.one_of(NUMBERS, st.just(np.nan)), min_size=1, max_size=80)
MAX_BINS = st.sampled_from([2, 3, 4, 7, 16, 255])


def find_cuts(column, max_bins=None, weights=None, threads=1):
    rows = np.arange(len(column), dtype=np.uint32)
    return _kernel.find_cuts([column], rows, weights, max_bins or 0, threads)[0]


def assign(columns, cuts, n_bins=None, categorical=None, threads=1):
    """Give the codes of every column and which have missing values."""
    n_bins = [len(c) + 1 for c in cuts] if n_bins is None else n_bins
    categorical = [False] * len(columns) if categorical is None else categorical
    data = _kernel.BinnedData(len(columns[0]), n_bins, categorical)
    data.attach(np.full(data.size_bytes, 0xA5, np.uint8))
    missing = data.assign(0, columns, [list(c) for c in cuts], threads)
    return [data.codes(f) for f in range(len(columns))], missing


# ---- cuts ----------------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(COLUMNS, st.one_of(st.none(), MAX_BINS), st.data())
def test_cuts_are_those_of_the_twin(values, max_bins, data):
    weights = None
    if data.draw(st.booleans()):
        sizes = st.lists(st.integers(0, 30), min_size=len(values), max_size=len(values))
        weights = np.array(data.draw(sizes), dtype=np.float64)
    cuts = find_cuts(np.array(values), max_bins, weights)
    np.testing.assert_array_equal(cuts, slow.cuts(values, weights, max_bins))


@settings(max_examples=200, deadline=None)
@given(COLUMNS, MAX_BINS)
def test_cuts_lie_between_neighbours_and_are_few(values, max_bins):
    cuts = find_cuts(np.array(values), max_bins)
    found = [value for value, _ in slow.distinct(values)]
    assert len(cuts) < max_bins
    assert np.all(np.diff(cuts) > 0)
    for cut in cuts:
        below, above = [v for v in found if v <= cut], [v for v in found if v > cut]
        assert below
        assert above
        assert max(below) <= cut < min(above)
    if len(found) <= max_bins:
        assert len(cuts) == max(len(found) - 1, 0)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(NUMBERS, st.integers(0, 5)), min_size=1, max_size=40), MAX_BINS)
def test_a_weight_is_a_repetition(pairs, max_bins):
    values, weights = np.array([v for v, _ in pairs]), np.array([w for _, w in pairs], dtype=np.float64)
    repeated = np.repeat(values, weights.astype(int))
    np.testing.assert_array_equal(find_cuts(values, max_bins, weights), find_cuts(repeated, max_bins))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 32, 255]))
def test_bins_are_about_equal(seed, max_bins):
    values = np.random.default_rng(seed).normal(size=max_bins * 40)
    counts = np.bincount(np.searchsorted(find_cuts(values, max_bins), values))
    assert len(counts) == max_bins
    assert counts.max() <= 41
    assert counts.min() >= 39


@pytest.mark.parametrize("heavy", [0.0, 500.0, 1000.0])
def test_a_heavy_value_has_its_own_bin(heavy):
    light = np.setdiff1d(np.arange(1001.0), [heavy])
    values = np.concatenate([light, np.full(5000, heavy)])
    cuts = find_cuts(values, 16)
    code = slow.codes([heavy], cuts)[0]
    alone = [v for v in light if slow.codes([v], cuts)[0] == code]
    assert alone == []
    assert len(cuts) == 15


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 20))
def test_of_the_bin_of_a_heavy_value_others_are_a_small_part(seed, max_bins):
    rng = np.random.default_rng(seed)
    heavy = float(rng.integers(300))
    light = np.setdiff1d(rng.permutation(300)[:200], [heavy]).astype(np.float64)
    values = np.concatenate([light, np.full(int(rng.integers(200, 3000)), heavy)])
    cuts = find_cuts(values, max_bins)
    shares = np.searchsorted(cuts, light) == np.searchsorted(cuts, heavy)
    assert shares.sum() < len(values) / max_bins / 2


def test_exact_bins_of_a_long_column():
    values = np.random.default_rng(0).normal(size=70_000)
    cuts = find_cuts(values)
    assert len(cuts) == 69_999
    codes, missing = assign([values], [cuts])
    np.testing.assert_array_equal(codes[0], np.argsort(np.argsort(values)))
    assert missing == [False]


def test_sorting_is_right_for_any_bits():
    bits = np.random.default_rng(1).integers(0, 2**64, 5000, dtype=np.uint64)
    values = bits.view(np.float64)
    values[::7] = np.float32(1) * np.arange(len(values[::7]))
    np.testing.assert_array_equal(find_cuts(values), slow.cuts(values))


def test_all_missing_and_constant_columns_have_no_cut():
    for column in ([np.nan] * 3, [7.0] * 3, [7.0, np.nan], [-0.0, 0.0]):
        assert len(find_cuts(np.array(column), 255)) == 0


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_cuts_do_not_depend_on_threads(threads):
    rng = np.random.default_rng(2)
    columns = [rng.normal(size=500).round(rng.integers(0, 4)) for _ in range(30)]
    rows = np.arange(500, dtype=np.uint32)
    expected = _kernel.find_cuts(columns, rows, None, 16, 1)
    for a, b in zip(_kernel.find_cuts(columns, rows, None, 16, threads), expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_cuts_see_only_the_rows_of_the_sample():
    values = np.arange(100.0)
    rows = np.array([3, 10, 50], np.uint32)
    np.testing.assert_array_equal(_kernel.find_cuts([values], rows, None, 255, 1)[0], [6.5, 30.0])


def test_the_sample_is_all_rows_of_a_small_table_and_about_its_size_else():
    np.testing.assert_array_equal(_kernel.sample_rows(1000, 1000), np.arange(1000))
    rows = _kernel.sample_rows(100_000, 10_000)
    assert np.all(np.diff(rows.astype(np.int64)) > 0)
    assert abs(len(rows) - 10_000) < 500  # five standard deviations
    # The choice of a row is its own: of a longer table, at the same share, the same rows.
    longer = _kernel.sample_rows(200_000, 20_000)
    np.testing.assert_array_equal(longer[longer < 100_000], rows)


# ---- codes ---------------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(COLUMNS, st.lists(NUMBERS.filter(lambda x: x < np.inf), max_size=40))
def test_a_code_counts_the_cuts_below(values, cuts):
    cuts = sorted({cut + 0.0 for cut in cuts})
    codes, missing = assign([np.array(values)], [cuts])
    np.testing.assert_array_equal(codes[0], slow.codes(values, cuts))
    assert missing == [bool(np.isnan(values).any())]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(st.floats(width=32), TIES.map(lambda x: float(np.float32(x)))), min_size=1, max_size=60),
    st.lists(NUMBERS.filter(lambda x: x < np.inf), max_size=20),
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_float32_values_have_the_codes_of_the_same_numbers_in_float64(values, cuts):
    single = np.array(values, dtype=np.float32)
    cuts = sorted({cut + 0.0 for cut in cuts})
    codes = [assign([column], [cuts])[0][0] for column in (single, single.astype(np.float64))]
    np.testing.assert_array_equal(*codes)
    own = [find_cuts(column, 7) for column in (single, single.astype(np.float64))]
    np.testing.assert_array_equal(*own)


@settings(max_examples=100, deadline=None)
@given(COLUMNS, st.one_of(st.none(), MAX_BINS))
def test_codes_keep_the_order_of_values(values, max_bins):
    column = np.array(values)
    codes = assign([column], [find_cuts(column, max_bins)])[0][0]
    present = ~np.isnan(column)
    order = np.argsort(column[present], kind="stable")
    assert np.all(np.diff(codes[present][order].astype(np.int64)) >= 0)
    if max_bins is None:
        same_value = column[present][order][1:] == column[present][order][:-1]
        np.testing.assert_array_equal(np.diff(codes[present][order].astype(np.int64)) == 0, same_value)


@pytest.mark.parametrize("n_bins", [1, 2, 255, 256, 257, 65_535, 65_536, 65_537])
def test_every_width_of_code(n_bins):
    values = np.concatenate([np.arange(n_bins, dtype=np.float64), [np.nan, -np.inf, np.inf]])
    codes, missing = assign([values, values[::-1]], [np.arange(n_bins - 1) + 0.5] * 2)
    expected = np.concatenate([np.arange(n_bins), [n_bins, 0, n_bins - 1]])
    np.testing.assert_array_equal(codes[0], expected)
    np.testing.assert_array_equal(codes[1], expected[::-1])
    assert missing == [True, True]


def test_strided_columns_are_read_in_place():
    table = np.random.default_rng(3).normal(size=(900, 6))
    columns = [table[:, 0], table[::-1, 1], table.astype(np.float32)[:, 2], np.broadcast_to(1.5, 900)]
    cuts = [np.linspace(-2, 2, 30)] * 4
    for codes, column in zip(assign(columns, cuts)[0], columns, strict=True):
        np.testing.assert_array_equal(codes, slow.codes(column, cuts[0]))


def test_codes_of_categories():
    column = np.array([0, 4, 2, -1, -2, 5, 1_000_000], np.int32)
    codes, missing = assign([column, np.array([1] * 7, np.int32)], [[], []], [5, 2], [True, True])
    np.testing.assert_array_equal(codes[0], [0, 4, 2, 5, 5, 5, 5])
    assert missing == [True, False]


@pytest.mark.parametrize("n_features", [63, 64, 65, 150])
def test_many_features_of_mixed_widths(n_features):
    rng = np.random.default_rng(n_features)
    n_bins = rng.choice([2, 10, 15, 16, 200, 300, 70_000], n_features, p=[0.2, 0.2, 0.1, 0.1, 0.2, 0.1, 0.1])
    expected = [rng.integers(0, n + 1, 50) for n in n_bins]
    columns = [np.where(codes == n, np.nan, codes) for codes, n in zip(expected, n_bins, strict=True)]
    cuts = [np.arange(n - 1) + 0.5 for n in n_bins]
    for codes, true_codes in zip(assign(columns, cuts)[0], expected, strict=True):
        np.testing.assert_array_equal(codes, true_codes)


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_codes_do_not_depend_on_threads(threads):
    rng = np.random.default_rng(4)
    columns = [rng.normal(size=20_000) for _ in range(5)]
    columns[3][19_999] = np.nan
    cuts = [np.linspace(-1, 1, n) for n in (3, 255, 254, 1000, 2)]
    codes, missing = assign(columns, cuts, threads=threads)
    for a, b in zip(codes, assign(columns, cuts)[0], strict=True):
        np.testing.assert_array_equal(a, b)
    assert missing == [False, False, False, True, False]


def test_columns_may_come_in_parts():
    columns = [np.arange(5.0), np.arange(5.0)[::-1], np.full(5, np.nan)]
    data = _kernel.BinnedData(5, [5, 5, 1], [False] * 3)
    data.attach(np.empty(data.size_bytes, np.uint8))
    cuts = list(np.arange(4) + 0.5)
    assert data.assign(1, columns[1:], [cuts, []], 1) == [False, True]
    assert data.assign(0, columns[:1], [cuts], 1) == [False]
    for feature, expected in enumerate([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [1] * 5]):
        np.testing.assert_array_equal(data.codes(feature), expected)


def test_other_types_of_column_are_refused():
    with pytest.raises(TypeError, match="column 0 must be float32, float64 or int32"):
        assign([np.arange(3)], [[]])


# ---- ranks ---------------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(COLUMNS, st.sampled_from([np.float32, np.float64]))
def test_ranks_are_places_among_distinct_values(column, dtype):
    with np.errstate(over="ignore"):
        numbers = np.array(column, dtype)
    ((values, ranks),) = _kernel.rank_columns([numbers], 1)
    expected = np.unique(numbers[~np.isnan(numbers)].astype(np.float64) + 0.0)
    np.testing.assert_array_equal(values, expected)
    assert not np.signbit(values[values == 0]).any()
    codes = np.where(np.isnan(numbers), max(1, len(expected)), np.searchsorted(expected, numbers))
    np.testing.assert_array_equal(ranks, codes)
