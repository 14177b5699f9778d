"""Leaves of many rows against a plain walk: small trees, which go node by node, and large ones; all widths of codes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference import growing as slow

from arboretum import _kernel
from arboretum.growing.grower import TreeParams


def walk(tree, columns, n_bins, categorical, row):
    start, words = tree.sets
    node = 0
    while tree.left[node] >= 0:
        feature = tree.feature[node]
        code = int(columns[feature][row])
        if code == n_bins[feature]:
            left = tree.missing_left[node]
        elif categorical[feature]:
            bits = words[start[node] : start[node + 1]]
            left = code // 32 < len(bits) and bits[code // 32] >> (code % 32) & 1
        else:
            left = code <= tree.code[node]
        node = tree.left[node] if left else tree.right[node]
    return node


@pytest.mark.parametrize("n_bins", [(7, 255, 40), (300, 9, 280), (70_000, 255, 12)], ids=["byte", "two", "four"])
@pytest.mark.parametrize("n_leaves", [1, 2, 31, 128, 129, 400])
def test_leaves_are_those_of_a_walk(n_bins, n_leaves):
    rng = np.random.default_rng(n_leaves)
    n_rows, categorical = 16384 + 700, (False, False, True)
    columns = [rng.integers(0, n + 1, n_rows) for n in n_bins]  # n itself is missing
    data = slow.Codes(columns, list(n_bins), list(categorical)).to_kernel()
    g = np.sin(columns[0] * 40.0 / n_bins[0]) + np.cos(columns[1] * 1.0) + (columns[2] % 3) + rng.normal(size=n_rows)
    params = TreeParams(max_leaf_nodes=n_leaves, min_samples_leaf=1, max_onehot=1, category_smoothing=0.0).to_kernel()
    sample = np.flatnonzero(rng.random(n_rows) < 0.7).astype(np.uint32)
    grower = _kernel.Grower(data, 2)
    tree = grower.grow(g, np.ones(n_rows), sample, params, 0)
    assert tree.n_nodes == 2 * n_leaves - 1
    rows = np.r_[:1200, 16384 - 300 : n_rows]  # both sides of a block's end
    expected = [walk(tree, columns, n_bins, categorical, row) for row in rows]
    values, summed = rng.normal(size=tree.n_nodes), np.ones(n_rows)
    grower.add_values(
        values, summed
    )  # before leaf_of_row: a small tree keeps leaves in bytes until these are asked for
    np.testing.assert_array_equal(grower.leaf_of_row[rows], expected)
    again = np.ones(n_rows)
    grower.add_values(values, again)
    leaves, raw = np.empty(n_rows, np.uint32), np.ones(n_rows)
    tree.leaves(data, 1, leaves)
    np.testing.assert_array_equal(leaves[rows], expected)
    tree.add_values(data, values, 1, raw)
    for sums in (raw, summed, again):
        np.testing.assert_array_equal(sums[rows], 1 + values[expected])


@pytest.mark.parametrize("n_leaves", [20, 200], ids=["small", "large"])
def test_pruning_moves_all_rows_also_after_a_sample(n_leaves):
    data, g, h = slow.random_problem(3, 3000, 4)
    codes, sample = data.to_kernel(), np.arange(0, 3000, 2, dtype=np.uint32)
    params = TreeParams(max_leaf_nodes=n_leaves, min_samples_leaf=1).to_kernel()
    grower, leaves = _kernel.Grower(codes, 2), np.empty(3000, np.uint32)
    tree = grower.grow(g, h, sample, params, 0)
    n_nodes = tree.n_nodes
    grower.prune(tree, float(np.median(tree.gain[tree.left >= 0])))
    assert 1 < tree.n_nodes < n_nodes
    tree.leaves(codes, 1, leaves)
    np.testing.assert_array_equal(grower.leaf_of_row, leaves)


def test_factors_act_as_weights():
    rng = np.random.default_rng(0)
    data, g, h = slow.random_problem(3, 500, 4)
    rows, factor = np.arange(0, 500, 2, dtype=np.uint32), rng.integers(1, 4, 250).astype(float)
    params, codes = TreeParams(min_samples_leaf=5).to_kernel(), data.to_kernel()
    by_factor, by_hand = (_kernel.Grower(codes, 1) for _ in range(2))
    full = np.zeros(500)
    full[rows] = factor
    a = by_factor.grow(g, h, rows, params, 0, factor)
    b = by_hand.grow(g * full, h * full, rows, params, 0)
    for name in ("kind", "feature", "code", "left", "n_rows", "gain", "gradient", "hessian"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(by_factor.leaf_of_row, by_hand.leaf_of_row)
    everything = np.arange(500, dtype=np.uint32)
    c, d = by_factor.grow(g, h, None, params, 0, full + 1), by_hand.grow(g, h, everything, params, 0, full + 1)
    np.testing.assert_array_equal(c.gradient, d.gradient)
