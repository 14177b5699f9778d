"""Newton steps in the leaves: sums by leaf, and when steps end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import arboretum as arb
from arboretum.ensembles.boosting.gradients import leaf_gradients
from arboretum.ensembles.boosting.leaf_steps import LeafRule, newton_values
from arboretum.ensembles.boosting.rows import Rows, user_shape
from arboretum.losses import LOSSES, Logistic, Loss, Multinomial, Poisson, SquaredError

FUSED = [build() for build in LOSSES.values() if build().task == "regression"] + [Logistic(), Multinomial(3)]
SEEDS = st.integers(0, 2**32 - 1)
FREE = LeafRule()


def problem(loss, n_rows, n_nodes, seed, weighted):
    rng = np.random.default_rng(seed)
    if loss.task == "classification":
        y = rng.integers(0, max(loss.n_outputs, 2), n_rows).astype(float)
    else:
        y = rng.random(n_rows) + 0.1
    raw = rng.normal(size=(loss.n_outputs, n_rows)) * rng.choice([0.1, 3.0, 40.0])
    weight = rng.random(n_rows) + 0.5 if weighted else None
    leaf = rng.integers(0, n_nodes, n_rows).astype(np.uint32)
    return Rows(None, y, weight, raw), leaf, rng.normal(size=n_nodes)


def plain_sums(loss, rows, leaf, values, output):
    """Add up the gradients that the loss itself gives, row after row."""
    raw = rows.raw.copy()
    raw[output] += values[leaf]
    g, h = loss.gradients(rows.y, user_shape(raw))
    g, h = (part if part.ndim == 1 else part[:, output] for part in (g, h))
    weight = 1.0 if rows.weight is None else rows.weight
    return np.stack([np.bincount(leaf, part * weight, len(values)) for part in (g, h)], axis=1)


@settings(max_examples=20)
@pytest.mark.parametrize("loss", FUSED, ids=lambda loss: type(loss).__name__)
@given(SEEDS, st.sampled_from([1, 127, 128, 129, 511, 512, 700]), st.sampled_from([1, 7, 300]), st.booleans())
def test_sums_are_those_of_the_loss(loss, seed, n_rows, n_nodes, weighted):
    rows, leaf, values = problem(loss, n_rows, n_nodes, seed, weighted)
    loss = loss.for_round(rows.y, user_shape(rows.raw), rows.weight)
    for output in range(loss.n_outputs):
        ours = leaf_gradients(loss, rows, leaf, values, output, 1)
        expected = plain_sums(loss, rows, leaf, values, output)
        size = np.abs(expected).max(axis=0)
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-11 * size.max())


@pytest.mark.parametrize("n_nodes", [61, 30_000])
@pytest.mark.parametrize("loss", [Logistic(), Multinomial(3), SquaredError()], ids=lambda loss: type(loss).__name__)
def test_sums_are_the_same_for_any_number_of_threads(loss, n_nodes):
    rows, leaf, values = problem(loss, 70_001, n_nodes, 0, True)
    sums = [leaf_gradients(loss, rows, leaf, values, 0, threads) for threads in (1, 2, 3, 8)]
    for other in sums[1:]:
        np.testing.assert_array_equal(other, sums[0])
    expected = plain_sums(loss, rows, leaf, values, 0)
    np.testing.assert_allclose(sums[0], expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())


def test_a_loss_of_the_users_own_takes_the_same_steps():
    class Own(SquaredError):  # noqa: N818, no exception
        name = "custom"

    rows, leaf, values = problem(SquaredError(), 5_000, 9, 1, True)
    np.testing.assert_allclose(
        leaf_gradients(Own(), rows, leaf, values, 0, 2), leaf_gradients(SquaredError(), rows, leaf, values, 0, 2)
    )


# ---- when steps end ------------------------------------------------------------------------------------------------


def counted(loss, rows, leaf, n_nodes, most_steps, rule=FREE):
    calls = []

    def sums_at(values):
        calls.append(values)
        return leaf_gradients(loss, rows, leaf, values, 0, 1)

    return newton_values(rule, sums_at, n_nodes, most_steps), len(calls)


@settings(max_examples=50)
@given(SEEDS, st.sampled_from([1, 30, 500]), st.sampled_from([1, 5, 60]))
def test_squared_error_needs_one_extra_pass(seed, n_rows, n_nodes):
    rows, leaf, _ = problem(SquaredError(), n_rows, n_nodes, seed, True)
    once, _ = counted(SquaredError(), rows, leaf, n_nodes, 1)
    values, passes = counted(SquaredError(), rows, leaf, n_nodes, 1000)
    assert passes <= 2
    np.testing.assert_allclose(values, once, rtol=1e-9, atol=1e-9 * np.abs(once).max())


@settings(max_examples=50)
@pytest.mark.parametrize("loss", [Logistic(), Poisson()], ids=lambda loss: type(loss).__name__)
@given(SEEDS, st.sampled_from([1, 5, 20]))
@example(619, 20)
def test_where_steps_end_more_would_give_the_same(loss, seed, n_nodes):
    """Every leaf has rows of both classes: the best value of one class alone is infinite."""
    rng = np.random.default_rng(seed)
    rows, leaf, _ = problem(loss, 400, n_nodes, seed, True)
    leaf[: 2 * n_nodes], rows.y[: 2 * n_nodes] = np.divmod(np.arange(2 * n_nodes), 2)
    rows = Rows(None, rows.y, rows.weight, rng.normal(size=(1, 400)))
    values, passes = counted(loss, rows, leaf, n_nodes, 1000)
    assert passes < 20
    patient = np.zeros(n_nodes)
    for _ in range(60):
        patient = FREE.step(patient, *leaf_gradients(loss, rows, leaf, patient, 0, 1).T)
    np.testing.assert_allclose(values, patient, rtol=1e-8, atol=1e-8 * np.abs(patient).max())


@settings(max_examples=50)
@given(SEEDS, st.sampled_from([1, 2, 5]), st.sampled_from([0.5, 3.0, 100.0]))
def test_a_penalty_holds_back_each_step_of_catboost(seed, n_steps, l2):
    """Step: v ← v + Σ(y − p) / (Σ p(1 − p) + l2), as CatBoost's leaf_estimation_iterations do it."""
    rng = np.random.default_rng(seed)
    y, value = rng.integers(0, 2, 300).astype(float), 0.0
    for _ in range(n_steps):
        p = 1 / (1 + np.exp(-value))
        value += (y.sum() - 300 * p) / (300 * p * (1 - p) + l2)
    rows = Rows(None, y, None, np.zeros((1, 300)))
    values, _ = counted(Logistic(), rows, np.zeros(300, np.uint32), 1, n_steps, LeafRule(l2=l2))
    np.testing.assert_allclose(values, [value], rtol=1e-9)


@pytest.mark.parametrize(("classes", "steps"), [(2, 10), (3, 1)])
def test_automatic_steps_are_ten_for_two_classes(classes, steps):
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = np.digitize(X[:, 0] + X[:, 1], [0.0, 1.0][: classes - 1])
    options = {"n_estimators": 5, "learning_rate": 0.3}
    models = [arb.BoostedTreesClassifier(**options, leaf_steps=given).fit(X, y) for given in ("auto", steps)]
    assert len({model.fingerprint() for model in models}) == 1


def test_a_leaf_of_one_class_takes_every_step():
    rows = Rows(None, np.ones(10), None, np.zeros((1, 10)))
    values, passes = counted(Logistic(), rows, np.zeros(10, np.uint32), 1, 7)
    assert passes == 7
    assert values[0] > 7


def test_nothing_to_do_ends_at_once():
    rows = Rows(None, np.zeros(4), None, np.zeros((1, 4)))
    values, passes = counted(SquaredError(), rows, np.zeros(4, np.uint32), 3, 50)
    assert passes == 1
    np.testing.assert_array_equal(values, np.zeros(3))


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_ten_steps_of_squared_error_are_two(growth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = X[:, 0] + rng.normal(size=500)
    two, ten = (
        arb.BoostedTreesRegressor(n_estimators=5, growth=growth, l2=0.0, leaf_steps=steps).fit(X, y)
        for steps in (2, 10)
    )
    assert two.fingerprint() == ten.fingerprint()


def test_steps_that_diverge_end_in_an_error():
    class Cliff(Loss):
        name, task, link = "custom", "regression", "identity"

        def values(self, y, raw):
            return np.abs(raw - y)

        def gradients(self, y, raw):
            return -1e70 * (1.0 + np.abs(raw)), np.full(len(y), 1e-70)

        def start(self, y, weight):
            return np.zeros(1)

    X = np.arange(100.0)[:, None]
    with pytest.raises(ValueError, match=r"not finite|diverged in round 1"):
        arb.BoostedTreesRegressor(loss=Cliff(), leaf_steps=20).fit(X, X[:, 0])
