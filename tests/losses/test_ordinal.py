"""The loss of ordered classes: its laws, its best thresholds, and the kernel against plain twins."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from arboretum import _kernel
from arboretum.losses import Logistic, Ordinal, from_json, resolve
from arboretum.losses.ordinal import best_thresholds
from arboretum.testing import check_loss

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed, n_classes, n_rows=80, weighted=True, scale=1.0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)]).astype(float)
    raw = scale * rng.normal(size=n_rows) + scale * 0.5 * y
    return y, raw, rng.random(n_rows) + 0.1 if weighted else None


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_laws_of_a_loss_hold(n_classes):
    y, raw, _ = problem(0, n_classes)
    check_loss(Ordinal(n_classes), y=y)
    loss = Ordinal(n_classes).fitted(y, raw, None)
    assert check_loss(loss, y=y) is None


@settings(max_examples=40)
@given(SEEDS, st.integers(2, 6), st.sampled_from([0.1, 1.0, 8.0]))
def test_values_are_logarithms_of_probabilities(seed, n_classes, scale):
    y, raw, weight = problem(seed, n_classes, scale=scale)
    loss = Ordinal(n_classes).fitted(y, raw, weight)
    proba = loss.probabilities(raw)
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    own = proba[np.arange(len(y)), y.astype(int)]
    np.testing.assert_allclose(loss.values(y, raw), -np.log(own), rtol=1e-6, atol=1e-9)


def test_values_far_away_do_not_cancel():
    loss = Ordinal(3, (0.0, 1.0))
    np.testing.assert_allclose(loss.values(np.array([1.0, 1.0]), np.array([-700.0, 700.0])), [700.458675, 699.458675])
    assert np.isfinite(loss.gradients(np.array([0.0, 1.0, 2.0]), np.full(3, 1e300))).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_are_logistic(weighted):
    y, raw, weight = problem(1, 2, weighted=weighted)
    loss = Ordinal(2).fitted(y, raw, weight)
    (threshold,) = loss.thresholds
    np.testing.assert_allclose(loss.values(y, raw), Logistic().values(y, raw - threshold), rtol=1e-12)
    for ours, theirs in zip(loss.gradients(y, raw), Logistic().gradients(y, raw - threshold), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(2, 6), st.booleans(), st.sampled_from([0.0, 1e-3, 1.0, 10.0, 100.0]))
@example(seed=3, n_classes=5, weighted=True, scale=1e3)
def test_thresholds_are_the_best(seed, n_classes, weighted, scale):
    """No slope is left, and a general optimiser that starts there finds nothing lower."""
    y, raw, weight = problem(seed, n_classes, weighted=weighted, scale=scale)
    theta = best_thresholds(n_classes, y, raw, weight)
    assert (np.diff(theta) > 0).all()

    def value(gaps):
        rising = np.cumsum(np.r_[gaps[0], np.exp(gaps[1:])])
        return Ordinal(n_classes, tuple(rising)).value(y, raw, weight)

    here = np.r_[theta[0], np.log(np.diff(theta))]
    found = minimize(value, here, method="Nelder-Mead", options={"maxiter": 300, "xatol": 1e-6})
    assert value(here) <= found.fun + 1e-7 * (1 + abs(found.fun))


def test_scores_of_zero_give_the_frequencies():
    y = np.repeat(np.arange(4.0), [5, 1, 30, 4])
    loss = Ordinal(4).fitted(y, np.zeros(40), None)
    np.testing.assert_allclose(loss.probabilities(np.zeros(1))[0], np.array([5, 1, 30, 4]) / 40, rtol=1e-6)


def test_a_class_without_rows_has_next_to_no_room():
    y, raw = np.array([0.0, 2.0, 2.0, 0.0]), np.array([0.3, 0.1, 2.0, -1.0])
    loss = Ordinal(3).fitted(y, raw, None)
    assert loss.thresholds[1] > loss.thresholds[0]
    assert loss.probabilities(raw)[:, 1].max() < 1e-6


@settings(max_examples=20)
@given(
    SEEDS, st.integers(2, 5), st.sampled_from([1, 511, 512, 513, 9000]), st.booleans(), st.sampled_from(["f4", "f8"])
)
def test_gradients_of_the_kernel_are_those_of_the_loss(seed, n_classes, n_rows, weighted, real):
    rng = np.random.default_rng(seed)
    y, raw = rng.integers(0, n_classes, n_rows).astype(float), rng.normal(size=n_rows) * 5
    weight = rng.random(n_rows) if weighted else None
    loss = Ordinal(n_classes, tuple(np.linspace(-2, 2, n_classes - 1) if n_classes > 2 else [0.3]))
    g, h = np.empty(n_rows, real), np.empty(n_rows, real)
    _kernel.ordinal_gradients(y, raw, weight, np.array(loss.thresholds), g, h, 2)
    for found, expected in zip((g, h), loss.gradients(y, raw), strict=True):
        expected = expected if weight is None else expected * weight
        np.testing.assert_allclose(found, expected, rtol=1e-6 if real == "f4" else 1e-11, atol=1e-13)


def test_sums_of_the_kernel():
    y, raw, weight = problem(5, 4, n_rows=140_000)
    theta, sums = np.array([-0.5, 0.7, 1.5]), []
    for threads in (1, 2, 7):
        out = np.empty((4, 5), np.int64)
        _kernel.ordinal_sums(y, raw, weight, theta, 2.0**30, threads, out)
        sums.append(out)
        assert out.tobytes() == sums[0].tobytes()
    bounds = np.r_[-np.inf, theta, np.inf]
    a, b = (1 / (1 + np.exp(np.clip(raw - bounds[y.astype(int) + i], -300, 300))) for i in (1, 0))
    parts = [np.ones_like(raw), 1 - a, a * (1 - a), b, b * (1 - b)]
    expected = np.stack([np.bincount(y.astype(int), weight * part) for part in parts], axis=1)
    np.testing.assert_allclose(sums[0] / 2.0**30, expected, rtol=1e-6, atol=1e-4)


def test_json_keeps_the_thresholds():
    for loss in (Ordinal(3), Ordinal(3, (0.1, 0.2 + 1e-16))):
        assert from_json(json.loads(json.dumps(loss.to_json()))) == loss
    assert Ordinal(3).continues(Ordinal(3, (0.0, 1.0)))
    assert not Ordinal(3).continues(Ordinal(4))
    assert not Ordinal(3).continues(Logistic())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Ordinal(1), "n_classes=1: expected an integer at least 2"),
        (lambda: Ordinal(True), "n_classes=True: expected an integer at least 2"),
        (lambda: Ordinal(3, (1.0,)), "give 2 finite numbers that rise"),
        (lambda: Ordinal(3, (1.0, 1.0)), "give 2 finite numbers that rise"),
        (lambda: Ordinal(3, (1.0, np.inf)), "give 2 finite numbers that rise"),
        (lambda: Ordinal(3).check_target(np.array([0.0, 3.0])), r"y\[1\] = 3.0: the loss of 3 ordered classes needs"),
        (lambda: resolve(Ordinal(3), n_classes=4), "has n_classes=3, but y has 4 classes"),
        (lambda: resolve("ordinal"), "loss 'ordinal' is for classification, not regression"),
    ],
)
def test_errors(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_thresholds_must_be_fitted_first():
    with pytest.raises(RuntimeError, match="Ordinal has no thresholds yet: use the loss that fitted"):
        Ordinal(3).values(np.zeros(1), np.zeros(1))
