"""Sums, mixtures and gradients of several outputs: each against its plain twin, and the same for any threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum import _kernel
from arboretum.data.binning import assign_bins, learn_bins
from arboretum.data.table import read_table
from arboretum.ensembles.boosting.vector_leaves import OutputSums
from arboretum.growing.grower import TreeParams
from arboretum.growing.sampling import ALL_ROWS, Sample
from arboretum.losses import Logistic, Poisson, SquaredError, Tweedie

SEEDS = st.integers(0, 2**32 - 1)
LOSSES = [
    (SquaredError(), _kernel.LossKind.squared_error, 0.0),
    (Poisson(), _kernel.LossKind.poisson, 0.0),
    (Tweedie(1.3), _kernel.LossKind.tweedie, 1.3),
    (Logistic(), _kernel.LossKind.log_loss, 0.0),
]


def grown(rng, n_rows, real):
    """Grow a tree on random codes, and find the leaf of each row."""
    table = read_table(rng.normal(size=(n_rows, 3)))
    data = assign_bins(table, learn_bins(table))
    grower = _kernel.Grower(data.codes, 1)
    g = rng.normal(size=n_rows).astype(real)
    params = TreeParams(min_samples_leaf=1, max_leaf_nodes=6).to_kernel()
    return grower.grow(g, np.ones(n_rows, real), None, params, 0), grower.leaf_of_row


def node_paths(tree):
    """Ancestors of each node, itself included."""
    parent = np.full(tree.n_nodes, -1)
    for node, (left, right) in enumerate(zip(tree.left, tree.right, strict=True)):
        if left >= 0:
            parent[[left, right]] = node
    paths = []
    for node in range(tree.n_nodes):
        paths.append([node] if parent[node] < 0 else [*paths[parent[node]], node])
    return paths


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(1, 200), st.integers(1, 5), st.booleans(), st.booleans(), st.sampled_from(["f4", "f8"]))
def test_sums_of_nodes_are_those_of_their_rows(seed, n_rows, n_outputs, sampled, with_factor, real):
    rng = np.random.default_rng(seed)
    tree, leaf = grown(rng, n_rows, real)
    g, h = rng.normal(size=(2, n_outputs, n_rows)).astype(real)
    rows = np.flatnonzero(rng.random(n_rows) < 0.5).astype(np.uint32) if sampled else None
    members = np.arange(n_rows) if rows is None else rows
    factor = rng.random(len(members)) * 3 if with_factor else None
    found = OutputSums(n_outputs).of(tree, leaf, Sample(rows, factor), (g, h), 2)
    expected = np.zeros_like(found)
    paths = node_paths(tree)
    for i, row in enumerate(members):
        times = 1.0 if factor is None else factor[i]
        for node in paths[leaf[row]]:
            expected[node] += np.stack([g[:, row], h[:, row]], axis=1).astype(float) * times
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.sampled_from([1, 2, 1023, 1024, 1025, 20_000]), st.integers(1, 4), st.sampled_from(["f4", "f8"]))
def test_mixtures_are_weighted_sums_of_outputs(seed, n_rows, n_outputs, real):
    rng = np.random.default_rng(seed)
    g, h = rng.normal(size=(2, n_outputs, n_rows)).astype(real)
    mix, share = rng.normal(size=n_outputs), rng.random(n_outputs)
    found = np.empty(n_rows, real), np.empty(n_rows, real)
    _kernel.sketch_outputs(g, h, mix, share, 2, *found)
    precision = 1e-6 if real == "f4" else 1e-13
    np.testing.assert_allclose(found[0], mix @ g.astype(float), rtol=precision, atol=precision)
    np.testing.assert_allclose(found[1], share @ h.astype(float), rtol=precision, atol=precision)


@settings(max_examples=20, deadline=None)
@pytest.mark.parametrize(("loss", "kind", "parameter"), LOSSES, ids=lambda value: getattr(value, "name", None))
@given(SEEDS, st.integers(1, 300), st.integers(1, 4), st.booleans())
def test_gradients_of_outputs_are_those_of_the_loss(loss, kind, parameter, seed, n_rows, n_outputs, weighted):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, (n_outputs, n_rows)).astype(float)
    y[rng.random(y.shape) < 0.3] = np.nan
    raw, weight = rng.normal(size=y.shape) * 3, rng.random(n_rows) if weighted else None
    g, h = np.empty(y.shape), np.empty(y.shape)
    _kernel.output_gradients(kind, parameter, y, raw, weight, g, h, 2)
    known, times = ~np.isnan(y), np.broadcast_to(1.0 if weight is None else weight, y.shape)
    expected = loss.gradients(y[known], raw[known])
    for found, part in zip((g, h), expected, strict=True):
        np.testing.assert_allclose(found[known], part * times[known], rtol=1e-12, atol=1e-15)
        assert not found[~known].any()


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 300), st.integers(1, 4), st.integers(1, 9))
def test_values_are_added_to_the_rows_of_their_leaf(seed, n_rows, n_outputs, n_nodes):
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, n_nodes, n_rows).astype(np.uint32)
    values, raw = rng.normal(size=(n_outputs, n_nodes)), rng.normal(size=(n_outputs, n_rows))
    expected = raw + values[:, leaf]
    _kernel.add_output_values(leaf, values, 3, raw)
    np.testing.assert_array_equal(raw, expected)


def test_sums_are_the_same_for_any_number_of_threads():
    rng = np.random.default_rng(0)
    tree, leaf = grown(rng, 140_000, np.float32)
    g, h = rng.normal(size=(2, 3, 140_000)).astype(np.float32)
    found = [OutputSums(3).of(tree, leaf, ALL_ROWS, (g, h), threads).tobytes() for threads in (1, 2, 3, 8)]
    assert len(set(found)) == 1
