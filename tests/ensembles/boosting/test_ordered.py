"""Ordered boosting: supporting models against plain loops, and what they are for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum.ensembles.boosting.leaf_steps import LeafRule
from arboretum.ensembles.boosting.ordered import OrderedModels, doublings
from arboretum.exact_sums import sum_by_group

SEEDS = st.integers(0, 2**32 - 1)


def squared(y):
    def gradients(rows, raw):
        return raw - y[rows], np.ones_like(raw)

    return gradients


def grown(models, leaves, rate=0.5):
    for leaf in leaves:
        models.add_tree(leaf, int(max(leaf.max() for leaf in leaves)) + 1, 0, LeafRule(), rate)
    return models


def unseen_twin(order, y, leaves, rate):
    """Row by row: the model of the longest doubling prefix that ends before it, fitted from scratch."""
    raw = np.zeros(len(y))
    for place, row in enumerate(order):
        if place == 0:
            continue
        size = 1 << (place.bit_length() - 1)
        members = order[:size]
        own = np.zeros(len(y))
        for leaf in leaves:
            for node in np.unique(leaf):
                inside = [i for i in members if leaf[i] == node]
                value = np.mean([y[i] - own[i] for i in inside]) if inside else 0.0
                reached = [i for i in (*members, row) if leaf[i] == node]
                for i in set(reached):
                    own[i] += rate * value
        raw[row] = own[row]
    return raw


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(1, 25), st.integers(0, 3))
def test_supporting_models_are_those_of_the_prefixes(seed, n_rows, n_trees):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows)
    leaves = [rng.integers(0, 3, n_rows).astype(np.uint32) for _ in range(n_trees)]
    models = grown(OrderedModels(np.zeros((1, n_rows)), 2, seed, squared(y)), leaves)
    for number, order in enumerate(models.orders):
        np.testing.assert_allclose(models.unseen_raw(number)[0], unseen_twin(order, y, leaves, 0.5), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2, 60))
def test_a_row_does_not_see_its_own_target(seed, n_rows):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows)
    leaves = [rng.integers(0, 4, n_rows).astype(np.uint32) for _ in range(3)]
    row = int(rng.integers(n_rows))
    changed = y.copy()
    changed[row] += 100.0
    plain, other = (grown(OrderedModels(np.zeros((1, n_rows)), 1, seed, squared(t)), leaves) for t in (y, changed))
    assert plain.unseen_raw(0)[0, row] == other.unseen_raw(0)[0, row]


def test_residuals_of_unseen_rows_are_not_shrunk():
    """Plain boosting on pure noise makes residuals of its own rows small; those of unseen rows stay as they are."""
    rng = np.random.default_rng(0)
    n_rows, y = 2_000, rng.normal(size=2_000)
    leaves = [rng.integers(0, 200, n_rows).astype(np.uint32) for _ in range(30)]
    models = grown(OrderedModels(np.zeros((1, n_rows)), 1, 0, squared(y)), leaves, rate=0.3)
    plain = np.zeros(n_rows)
    for leaf in leaves:
        means = sum_by_group(y - plain, leaf, 200) / np.maximum(np.bincount(leaf, minlength=200), 1)
        plain += 0.3 * means[leaf]
    assert np.std(y - plain) < 0.75
    assert np.std(y - models.unseen_raw(0)[0]) > 1.0


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(0.1, 3)), min_size=1, max_size=8),
    st.floats(0, 2),
    st.floats(0, 2),
)
def test_steps_reach_the_minimum_of_a_quadratic(rows, l1, l2):
    """½ Σ h (v − t)² + l1 |v| + ½ l2 v² is least where one step from 0 ends. Without penalties a second stays there."""
    target, curvature = np.array(rows).T
    rule = LeafRule(l1=l1, l2=l2)

    def step(value):
        gradient = np.array([(curvature * (value - target)).sum()])
        return rule.step(value, gradient, np.array([curvature.sum()]))

    first = step(np.zeros(1))
    total = (curvature * target).sum()
    expected = np.sign(total) * max(abs(total) - l1, 0) / (curvature.sum() + l2)
    np.testing.assert_allclose(first, expected, atol=1e-9)
    if l1 == l2 == 0:
        np.testing.assert_allclose(step(first), first, atol=1e-9)


def test_a_leaf_without_rows_and_a_bound():
    rule = LeafRule(max_delta_step=0.5)
    np.testing.assert_array_equal(rule.step(np.zeros(2), np.array([0.0, -9.0]), np.array([0.0, 1.0])), [0.0, 0.5])


@pytest.mark.parametrize(("n", "sizes"), [(0, []), (1, []), (2, [1]), (3, [1, 2]), (4, [1, 2]), (5, [1, 2, 4])])
def test_doublings(n, sizes):
    assert doublings(n) == sizes
