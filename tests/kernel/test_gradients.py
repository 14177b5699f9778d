"""Fused gradients against the NumPy classes of arboretum.losses, and what leaves need of their rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum import _kernel
from arboretum.losses import (
    AbsoluteError,
    Gamma,
    Huber,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    SquaredError,
    Tweedie,
)

EPS = np.finfo(np.float64).eps
# loss, its parameter in the kernel, targets it takes
LOSSES = [
    (SquaredError(), 0.0, "any"),
    (AbsoluteError(), 0.0, "any"),
    (Quantile(0.3), 0.3, "any"),
    (Huber(delta=1.5), 1.5, "any"),
    (Poisson(), 0.0, "count"),
    (Gamma(), 0.0, "positive"),
    (Tweedie(1.2), 1.2, "count"),
    (Tweedie(1.9), 1.9, "count"),
    (Logistic(), 0.0, "class"),
]
TARGETS = {
    "any": st.one_of(st.floats(-1e100, 1e100), st.integers(-3, 3).map(float)),
    "count": st.one_of(st.floats(0, 1e100), st.integers(0, 3).map(float)),
    "positive": st.one_of(st.floats(1e-100, 1e100), st.integers(1, 4).map(float)),
    "class": st.sampled_from([0.0, 1.0]),
}
EXTREMES = [0.0, -0.0, 5e-324, 36.7, -36.7, 299.9, 300.0, -300.0, 710.0, -745.0, 1e4, -1e4, 1e100, -1e100]
RAW = st.one_of(st.sampled_from(EXTREMES), st.floats(-20, 20), st.integers(-3, 3).map(float))
every_loss = pytest.mark.parametrize(("loss", "parameter", "targets"), LOSSES, ids=lambda v: getattr(v, "name", None))


def kernel_gradients(loss, parameter, y, raw, weight=None, real=np.float64, threads=1):
    g, h = np.empty(len(y), real), np.empty(len(y), real)
    _kernel.gradients(getattr(_kernel.LossKind, loss.name), parameter, y, raw, weight, g, h, threads)
    return g, h


def term_sizes(loss, y, raw):
    """Give the sizes of the terms that the gradient and the hessian of a row are differences of."""
    g, h = loss.gradients(y, raw)
    if isinstance(loss, Logistic):
        return np.ones_like(g), np.ones_like(h)
    if isinstance(loss, Poisson):
        return h + y, h
    if isinstance(loss, Gamma):
        return 1 + h, h
    if isinstance(loss, Tweedie):
        # exp(a·raw): the product is rounded before exp, which costs a·|raw| rounding errors.
        size = np.abs(h) / min(2 - loss.power, loss.power - 1)
        return size, size
    return np.abs(g), h


@every_loss
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_gradients_are_those_of_the_class(loss, parameter, targets, data):
    pairs = data.draw(st.lists(st.tuples(TARGETS[targets], RAW, st.floats(0, 1e3)), min_size=1, max_size=30))
    y, raw, weight = (np.array(part) for part in zip(*pairs, strict=True))
    expected = loss.gradients(y, raw)
    for weights in (None, weight):
        found = kernel_gradients(loss, parameter, y, raw, weights)
        for a, b, size in zip(found, expected, term_sizes(loss, y, raw), strict=True):
            factor = 1.0 if weights is None else weights
            assert np.isfinite(a).all()
            assert np.all(np.abs(a - b * factor) <= 4 * EPS * size * factor + 5e-324)


@every_loss
def test_gradients_of_float32_are_those_of_float64_rounded(loss, parameter, targets):
    rng = np.random.default_rng(0)
    y, raw, weight = (
        rng.integers(0, 2, 1000).astype(float) + (targets == "positive"),
        rng.normal(size=1000),
        rng.random(1000),
    )
    exact = kernel_gradients(loss, parameter, y, raw, weight)
    for a, b in zip(kernel_gradients(loss, parameter, y, raw, weight, np.float32), exact, strict=True):
        np.testing.assert_array_equal(a, b.astype(np.float32))


@every_loss
@pytest.mark.parametrize("n", [1, 7, 8191, 8193, 40_000])
def test_a_row_does_not_depend_on_its_neighbours_or_threads(loss, parameter, targets, n):
    rng = np.random.default_rng(n)
    y, raw = rng.integers(0, 2, n).astype(float) + (targets == "positive"), rng.normal(size=n) * 3
    expected = kernel_gradients(loss, parameter, y, raw)
    for a, b in zip(kernel_gradients(loss, parameter, y, raw, threads=3), expected, strict=True):
        np.testing.assert_array_equal(a, b)
    row = n // 2
    for a, b in zip(kernel_gradients(loss, parameter, y[row:][:1].copy(), raw[row:][:1].copy()), expected, strict=True):
        assert a[0] == b[row]


def softmax_gradients(y, raw, weight=None, real=np.float64, threads=1):
    g, h = np.empty(raw.shape, real), np.empty(raw.shape, real)
    _kernel.softmax_gradients(y, raw, weight, g, h, threads)
    return g, h


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 6), st.data())
def test_softmax_gradients_are_those_of_the_class(n_classes, data):
    values = st.one_of(st.sampled_from([0.0, 1e4, -1e4, 299.0, -299.0, 700.0]), st.floats(-20, 20))
    row = st.tuples(
        st.integers(0, n_classes - 1), st.lists(values, min_size=n_classes, max_size=n_classes), st.floats(0, 9)
    )
    rows = data.draw(st.lists(row, min_size=1, max_size=20))
    y = np.array([float(label) for label, _, _ in rows])
    raw = np.array([scores for _, scores, _ in rows])
    weight = np.array([w for _, _, w in rows])
    expected = Multinomial(n_classes).gradients(y, raw)
    for weights in (None, weight):
        found = softmax_gradients(y, np.ascontiguousarray(raw.T), weights)
        for a, b in zip(found, expected, strict=True):
            factor = 1.0 if weights is None else weights[:, None]
            assert np.isfinite(a).all()
            assert np.all(np.abs(a.T - b * factor) <= 16 * EPS * factor)


@pytest.mark.parametrize("n", [1, 127, 129, 20_000])
def test_softmax_rows_do_not_depend_on_neighbours_or_threads(n):
    rng = np.random.default_rng(n)
    y, raw, weight = rng.integers(0, 5, n).astype(float), rng.normal(size=(5, n)), rng.random(n)
    expected = softmax_gradients(y, raw, weight)
    for a, b in zip(softmax_gradients(y, raw, weight, threads=3), expected, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(softmax_gradients(y, raw, weight, np.float32), expected, strict=True):
        np.testing.assert_array_equal(a, b.astype(np.float32))
    row = slice(n // 2, n // 2 + 1)
    alone = softmax_gradients(y[row].copy(), raw[:, row].copy(), weight[row].copy())
    for a, b in zip(alone, expected, strict=True):
        np.testing.assert_array_equal(a[:, 0], b[:, n // 2])


# ---- rows of leaves ------------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=40), st.data())
def test_rows_are_grouped_by_leaf(leaves, data):
    leaf_of_row = np.array(leaves, np.uint32)
    members = None
    rows = list(range(len(leaves)))
    if rows and data.draw(st.booleans()):
        rows = sorted(data.draw(st.sets(st.sampled_from(rows))))
        members = np.array(rows, np.uint32)
    grouped, start = _kernel.group_by_leaf(leaf_of_row, members, 8)
    assert len(start) == 9
    for leaf in range(8):
        expected = [row for row in rows if leaves[row] == leaf]
        assert grouped[start[leaf] : start[leaf + 1]].tolist() == expected


def slow_quantile(values, weights, q):
    """Walk up the sorted values until their weight reaches q of all."""
    pairs = sorted((v, w) for v, w in zip(values, weights, strict=True) if w > 0)
    running, wanted = 0.0, q * sum(w for _, w in pairs)
    for value, weight in pairs:
        running += weight
        if running >= wanted:
            return value
    return 0.0


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), max_size=12), min_size=1, max_size=5),
    st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99]),
    st.integers(1, 3),
)
def test_quantiles_of_groups(groups, q, threads):
    pairs = [pair for group in groups for pair in group]
    order = np.random.default_rng(len(pairs)).permutation(len(pairs)).astype(np.uint32)
    values, weights = np.empty(len(pairs)), np.empty(len(pairs))
    values[order] = [float(v) for v, _ in pairs]
    weights[order] = [float(w) for _, w in pairs]
    start = np.cumsum([0] + [len(group) for group in groups])
    for given_weights in (None, weights):
        out = np.empty(len(groups))
        _kernel.group_quantiles(values, given_weights, order, start, q, threads, out)
        for group, found in zip(groups, out, strict=True):
            own = [1] * len(group) if given_weights is None else [w for _, w in group]
            assert found == slow_quantile([float(v) for v, _ in group], own, q)
