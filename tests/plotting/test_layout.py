"""Laws of a tidy drawing (Reingold & Tilford 1981)."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum.plotting import layout
from arboretum.plotting.layout import tidy_positions


def random_tree(seed, n_leaves):
    rng = np.random.default_rng(seed)
    left, right, tips = [-1], [-1], [0]
    while len(tips) < n_leaves:
        node = tips.pop(int(rng.integers(len(tips))))
        left[node], right[node] = len(left), len(left) + 1
        tips += [left[node], right[node]]
        left += [-1, -1]
        right += [-1, -1]
    return left, right


def levels(left, right):
    """List the nodes of each level from left to right."""
    level, found = [0], []
    while level:
        found.append(level)
        level = [child for node in level if left[node] >= 0 for child in (left[node], right[node])]
    return found


TREES = {"seed": st.integers(0, 2**32 - 1), "n_leaves": st.integers(1, 60)}


@settings(max_examples=200, deadline=None)
@given(**TREES)
def test_nodes_of_a_level_keep_their_order_and_distance(seed, n_leaves):
    left, right = random_tree(seed, n_leaves)
    x = tidy_positions(left, right)
    assert x.min() == 0
    for level in levels(left, right):
        assert (np.diff(x[level]) >= 1 - 1e-9).all()


@settings(max_examples=50, deadline=None)
@given(**TREES)
def test_parents_stand_in_the_middle(seed, n_leaves):
    left, right = random_tree(seed, n_leaves)
    x = tidy_positions(left, right)
    inner = np.flatnonzero(np.array(left) >= 0)
    np.testing.assert_allclose(x[inner], (x[np.array(left)[inner]] + x[np.array(right)[inner]]) / 2, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(**TREES)
def test_a_mirrored_tree_is_drawn_mirrored(seed, n_leaves):
    left, right = random_tree(seed, n_leaves)
    x = tidy_positions(left, right)
    np.testing.assert_allclose(tidy_positions(right, left), x.max() - x, atol=1e-9)


def width_of_contours(left, right, node):
    """Give the smallest distance of the subtrees of a node by comparing whole levels."""
    a, b = (shifted(left, right, child) for child in (left[node], right[node]))
    return max(max(xs) - min(ys) for xs, ys in zip(a, b, strict=False)) + 1


def shifted(left, right, node):
    """Give the positions of each level of a subtree, from its root, as slowly and plainly as can be."""
    if left[node] < 0:
        return [[0.0]]
    half = max(1.0, width_of_contours(left, right, node)) / 2
    a, b = (shifted(left, right, child) for child in (left[node], right[node]))
    deeper = max(len(a), len(b))
    a, b = a + [[]] * (deeper - len(a)), b + [[]] * (deeper - len(b))
    return [[0.0]] + [[x - half for x in xs] + [y + half for y in ys] for xs, ys in zip(a, b, strict=True)]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_subtrees_are_as_near_as_they_can_be(seed, n_leaves):
    left, right = random_tree(seed, n_leaves)
    x = tidy_positions(left, right)
    plain = shifted(left, right, 0)
    for level, expected in zip(levels(left, right), plain, strict=True):
        np.testing.assert_allclose(x[level] - x[0], expected, atol=1e-9)


def test_a_tree_deeper_than_the_stack():
    n = 2 * sys.getrecursionlimit()
    left, right = [-1] * (2 * n + 1), [-1] * (2 * n + 1)
    left[: 2 * n : 2], right[: 2 * n : 2] = range(1, 2 * n, 2), range(2, 2 * n + 1, 2)
    np.testing.assert_allclose(tidy_positions(left, right)[::2], np.arange(1, n + 2) / 2)


@pytest.mark.parametrize("n_leaves", [500, 5_000])
def test_steps_are_linear_in_the_nodes(n_leaves, monkeypatch):
    steps = 0

    def counted(self, side, node, x, walk=layout._Contours.below):
        nonlocal steps
        steps += side == 0
        return walk(self, side, node, x)

    monkeypatch.setattr(layout._Contours, "below", counted)
    left, right = random_tree(0, n_leaves)
    layout.tidy_positions(left, right)
    assert n_leaves - 1 <= steps <= 2 * n_leaves


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 20))
def test_slots_keep_order_distance_and_middle_for_any_number_of_children(seed, n_splits):
    rng = np.random.default_rng(seed)
    children, tips = [[]], [0]
    for _ in range(n_splits):
        node = tips.pop(int(rng.integers(len(tips))))
        children[node] = list(range(len(children), len(children) + int(rng.integers(2, 6))))
        tips += children[node]
        children += [[] for _ in children[node]]
    x = layout.slot_positions(children)
    assert x.min() == 0
    level = [0]
    while level:
        assert (np.diff(x[level]) >= 1).all()
        level = [child for node in level for child in children[node]]
    for node, below in enumerate(children):
        assert not below or x[node] == (x[below[0]] + x[below[-1]]) / 2
