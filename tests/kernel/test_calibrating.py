"""Ends of intervals and rising sequences against plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from arboretum import _kernel

numbers = st.floats(-1e12, 1e12) | st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, 1e300])


def plain_end(shift, scale, lists, masses, needed):
    """Sort all ends, and add up their weights until there is enough."""
    ends = [(shift[k] + scale[k] * e, w) for k, part in enumerate(lists) for e, w in zip(part, masses[k], strict=True)]
    ends.sort()
    total = 0.0
    for value, weight in ends:
        total += weight
        if total >= needed:
            return value
    raise AssertionError("there is not enough")


def kernel_ends(shift, scale, lists, masses, needed, threads=1):
    values = np.concatenate([np.sort(part) for part in lists])
    mass = np.concatenate([np.cumsum(w) for w in masses])
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    out = np.empty(len(shift))
    _kernel.interval_ends(np.array(shift), scale, values, mass, start, needed, threads, out)
    return out


@st.composite
def problems(draw):
    lists = draw(st.lists(st.lists(numbers, max_size=6), min_size=1, max_size=4).filter(any))
    k = len(lists)
    shift = draw(st.lists(numbers, min_size=k, max_size=k))
    scale = draw(st.none() | st.lists(st.floats(1e-3, 1e3), min_size=k, max_size=k))
    n = sum(map(len, lists))
    return lists, shift, scale, draw(st.integers(1, n))


@settings(max_examples=60)
@given(problems())
@example(([[0.0, 0.0], [-0.0]], [-0.0, 0.0], None, 3))
def test_end_is_the_order_statistic_of_all_shifted_scores(problem):
    lists, shift, scale, rank = problem
    lists = [np.sort(np.array(part)) for part in lists]
    masses = [np.ones(len(part)) for part in lists]
    scales = None if scale is None else np.array([scale])
    found = kernel_ends([shift], scales, lists, masses, float(rank))
    assert found[0] == plain_end(shift, scale or [1.0] * len(lists), lists, masses, rank)


def test_weighted_scores_and_any_number_of_threads():
    rng = np.random.default_rng(0)
    lists = [np.sort(rng.exponential(size=n)) for n in (40, 1, 70)]
    masses = [rng.integers(1, 5, len(part)).astype(float) for part in lists]
    shift, scale = rng.normal(size=(1000, 3)), rng.uniform(0.5, 2, (1000, 3))
    needed = 0.9 * sum(part.sum() for part in masses)
    found = kernel_ends(shift, scale, lists, masses, needed)
    np.testing.assert_array_equal(kernel_ends(shift, scale, lists, masses, needed, threads=3), found)
    for row in range(0, 1000, 97):
        assert found[row] == plain_end(shift[row], scale[row], lists, masses, needed)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0.1, 10.0)), min_size=1, max_size=30))
@example([(1.0, 1.0)] * 3)
def test_pool_adjacent_violators_equals_sklearn(pairs):
    values, weight = np.array(pairs).T.copy()
    found = np.empty(len(values))
    _kernel.pool_adjacent_violators(values, weight, found)
    assert (np.diff(found) >= 0).all()
    np.testing.assert_allclose(found, isotonic_regression(values, sample_weight=weight), rtol=1e-9, atol=1e-6)


def test_pooling_nothing():
    out = np.empty(0)
    _kernel.pool_adjacent_violators(np.empty(0), np.empty(0), out)
    assert pytest.approx(out) == []
