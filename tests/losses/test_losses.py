from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn._loss import loss as sklearn_losses

from arboretum.elementary import EXP_LIMIT, bounded_exp
from arboretum.losses import (
    LOSSES,
    AbsoluteError,
    Gamma,
    Huber,
    LeafRows,
    Logistic,
    Loss,
    Multinomial,
    Poisson,
    PredictOnly,
    Quantile,
    Quantiles,
    SquaredError,
    Tweedie,
    from_json,
    resolve,
)
from arboretum.losses.base import LARGEST_TARGET, constant_raw, weighted_mean, weighted_quantile
from arboretum.losses.links import sigmoid, softmax
from arboretum.testing import check_loss

REGISTERED = [build() for build in LOSSES.values() if build().row_wise]
PARAMETRIZED = [
    Quantile(0.9),
    Quantiles((0.1, 0.5, 0.6)),
    Huber(0.3),
    Tweedie(1.01),
    Tweedie(1.99),
    Multinomial(2),
    Multinomial(5),
]
finite = st.floats(-1e6, 1e6)


@pytest.mark.parametrize("loss", REGISTERED + PARAMETRIZED, ids=repr)
@pytest.mark.parametrize("random_state", range(3))
def test_laws(loss, random_state):
    check_loss(loss, random_state=random_state)


# scikit-learn's definitions


def random_problem(loss, n_rows=50, seed=0):
    random = np.random.default_rng(seed)
    raw = random.normal(size=n_rows if loss.n_outputs == 1 else (n_rows, loss.n_outputs))
    if loss.task == "classification":
        y = random.integers(0, max(2, loss.n_outputs), n_rows).astype(float)
    else:
        y = random.exponential(size=n_rows) if loss.link == "exp" else random.normal(size=n_rows)
    return y, raw, random.uniform(0.1, 2.0, n_rows)


TWINS = [
    (SquaredError(), sklearn_losses.HalfSquaredError()),
    (AbsoluteError(), sklearn_losses.AbsoluteError()),
    (Quantile(0.8), sklearn_losses.PinballLoss(quantile=0.8)),
    (Huber(0.8, delta=0.7), sklearn_losses.HuberLoss(quantile=0.8, delta=0.7)),
    (Poisson(), sklearn_losses.HalfPoissonLoss()),
    (Gamma(), sklearn_losses.HalfGammaLoss()),
    (Tweedie(1.3), sklearn_losses.HalfTweedieLoss(power=1.3)),
    (Logistic(), sklearn_losses.HalfBinomialLoss()),
    (Multinomial(4), sklearn_losses.HalfMultinomialLoss(n_classes=4)),
]


@pytest.mark.parametrize(("loss", "twin"), TWINS, ids=lambda item: type(item).__name__)
def test_agrees_with_scikit_learn(loss, twin):
    y, raw, weight = random_problem(loss)
    gradient, hessian = loss.gradients(y, raw)
    twin_gradient, twin_hessian = twin.gradient_hessian(y, raw)
    np.testing.assert_allclose(gradient, twin_gradient, rtol=1e-9, atol=1e-12)
    if loss.exact_hessian:
        np.testing.assert_allclose(hessian, np.broadcast_to(twin_hessian, raw.shape), rtol=1e-9)
    change = loss.values(y, raw) - loss.values(y, raw * 0.5)
    np.testing.assert_allclose(change, twin.loss(y, raw) - twin.loss(y, raw * 0.5), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(loss.value(y, raw, weight), np.average(loss.values(y, raw), weights=weight))


@pytest.mark.parametrize(
    ("loss", "twin"), [pair for pair in TWINS if pair[0].name not in ("absolute_error", "quantile", "huber")]
)
def test_start_agrees_with_scikit_learn(loss, twin):
    y, _, weight = random_problem(loss)
    np.testing.assert_allclose(loss.start(y, weight), np.atleast_1d(twin.fit_intercept_only(y, weight)))


def test_multinomial_hessian_is_friedmans():
    y, raw, _ = random_problem(Multinomial(4))
    p = softmax(raw)
    np.testing.assert_allclose(Multinomial(4).gradients(y, raw)[1], 4 / 3 * p * (1 - p))


def test_multinomial_newton_step_is_exact_at_equal_probabilities():
    n_classes, counts = 3, np.array([1.0, 2.0, 3.0])
    y = np.repeat(np.arange(3.0), counts.astype(int))
    gradient, hessian = Multinomial(n_classes).gradients(y, np.zeros((6, 3)))
    full = (np.eye(3) - 1 / 3) / 3 * len(y)
    newton = -np.linalg.pinv(full) @ gradient.sum(axis=0)
    np.testing.assert_allclose(-gradient.sum(axis=0) / hessian.sum(axis=0), newton, atol=1e-12)


# Starts


def test_start_of_quantiles_is_a_row():
    y = np.array([5.0, 1.0, 4.0, 2.0])
    assert AbsoluteError().start(y, None) == Huber().start(y, None) == 2.0
    assert Quantile(0.75).start(y, None) == 4.0
    assert AbsoluteError().start(y, np.array([9.0, 1.0, 1.0, 1.0])) == 5.0


def test_start_of_absent_classes_is_finite_and_low():
    y = np.zeros(4)
    assert sigmoid(Logistic().start(y, None))[0] < 1e-11
    assert sigmoid(Logistic().start(y + 1, None))[0] > 1 - 1e-11
    probabilities = softmax(Multinomial(3).start(y, np.ones(4)).reshape(1, 3))[0]
    np.testing.assert_allclose(probabilities, [1, 0, 0], atol=1e-11)
    assert probabilities.min() > 0


def test_start_of_a_weightless_mean_is_finite():
    start = Poisson().start(np.array([0.0, 3.0]), np.array([1.0, 0.0]))
    assert start == pytest.approx(-EXP_LIMIT)
    assert Gamma().start(np.array([1e-320]), None) == pytest.approx(-EXP_LIMIT)


@pytest.mark.parametrize("loss", [*REGISTERED, Multinomial(3)], ids=repr)
def test_weights_must_not_all_be_zero(loss):
    with pytest.raises(ValueError, match="weights of all rows are 0"):
        loss.start(np.array([1.0, 0.0]), np.zeros(2))


class NewtonStart(Loss):
    """Another loss without its own ``start``."""

    def __init__(self, inner):
        self.inner = inner
        self.n_outputs = inner.n_outputs

    def values(self, y, raw):
        return self.inner.values(y, raw)

    def gradients(self, y, raw):
        return self.inner.gradients(y, raw)


@pytest.mark.parametrize(
    "loss",
    [
        loss
        for loss in [*REGISTERED, Multinomial(4)]
        if loss.name not in ("absolute_error", "huber", "quantile", "ordinal")
    ],
)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_default_start_finds_the_same_constant(loss, scale):
    y, _, weight = random_problem(loss)
    if loss.task == "regression":
        y = y * scale
    found, expected = NewtonStart(loss).start(y, weight), loss.start(y, weight)
    if loss.n_outputs > 1:
        found = found - found.mean()  # a shift of all outputs does not change the softmax
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


# Huber


def test_huber_needs_its_round():
    with pytest.raises(RuntimeError, match="no delta yet: use the loss that for_round"):
        Huber().gradients(np.zeros(1), np.zeros(1))
    with pytest.raises(RuntimeError, match="no delta yet"):
        Huber().values(np.zeros(1), np.zeros(1))


def test_huber_delta_is_the_quantile_of_each_round():
    y = np.arange(11.0)
    first = Huber(0.8).for_round(y, np.zeros(11), None)
    assert first.delta == 8.0
    assert first.for_round(y, y - 2.0, None).delta == 2.0
    assert Huber(0.8).for_round(y, np.zeros(11), (y < 5).astype(float)).delta == 3.0


def test_huber_is_never_stuck_at_delta_zero():
    y = np.zeros(100)
    y[0] = 50.0
    loss = Huber().for_round(y, np.zeros(100), None)
    assert loss.delta == 0.5
    assert loss.gradients(y, np.zeros(100))[0][0] == -0.5
    assert Huber().for_round(y, y, None).delta == 1.0


def test_huber_leaf_is_friedmans_formula():
    y, raw, weight = random_problem(Huber(), n_rows=30)
    rows = np.random.default_rng(1).permutation(30)[:20].astype(np.uint32)
    leaves = LeafRows(rows, np.array([0, 7, 7, 20]))
    loss = Huber(0.5).for_round(y, raw, weight)
    expected = []
    for a, b in [(0, 7), (7, 7), (7, 20)]:
        residual, w = (y - raw)[rows[a:b]], weight[rows[a:b]]
        if a == b:
            expected.append(0.0)
            continue
        median = loop_quantile(residual, w, 0.5)
        step = np.sign(residual - median) * np.minimum(loss.delta, np.abs(residual - median))
        expected.append(median + np.average(step, weights=w))
    np.testing.assert_allclose(loss.leaf_values(leaves, y, raw, weight), expected)


@pytest.mark.parametrize("loss", [AbsoluteError(), Quantile(0.2), Quantile(0.9)])
def test_renewed_leaves_are_optimal(loss):
    y, raw, weight = random_problem(loss, n_rows=40)
    leaves = LeafRows(np.arange(40, dtype=np.uint32)[::-1], np.array([0, 15, 40]))
    for step, rows in zip(loss.leaf_values(leaves, y, raw, weight), np.split(leaves.rows, [15]), strict=True):
        best = loss.value(y[rows], raw[rows] + step, weight[rows])
        for other in (y - raw)[rows]:
            assert best <= loss.value(y[rows], raw[rows] + other, weight[rows]) + 1e-12


def test_smooth_losses_keep_newtons_step():
    leaves = LeafRows.contiguous(np.array([0, 2]))
    for loss in (SquaredError(), Poisson(), Gamma(), Tweedie(), Logistic()):
        assert loss.leaf_values(leaves, np.ones(2), np.zeros(2), None) is None


# Quantiles of leaves


def loop_quantile(values, weight, q):
    """Smallest value whose cumulative weight reaches q of the total."""
    wanted, running = q * sum(weight), 0.0
    if wanted == 0:
        return 0.0
    for i in np.argsort(values, kind="stable"):
        running += weight[i]
        if running >= wanted:
            return values[i]
    raise AssertionError


leaf_rows = st.lists(st.lists(st.tuples(finite, st.integers(0, 5)), max_size=6), min_size=1, max_size=5)
quantiles = st.one_of(st.sampled_from([0.1, 0.25, 0.5, 0.55, 0.9]), st.floats(0.001, 0.999))


def scattered(leaves, seed=0):
    """Values and weights of leaves, their rows shuffled among rows that are in no leaf."""
    counts = [len(leaf) for leaf in leaves]
    rows = np.random.default_rng(seed).permutation(sum(counts) + 3)[: sum(counts)]
    values, weight = np.full(sum(counts) + 3, np.nan), np.full(sum(counts) + 3, np.nan)
    for row, (value, w) in zip(rows, [entry for leaf in leaves for entry in leaf], strict=True):
        values[row], weight[row] = value, w
    return LeafRows(rows.astype(np.uint32), np.concatenate(([0], np.cumsum(counts)))), values, weight


@given(leaf_rows, quantiles)
def test_quantile_of_leaves_equals_a_loop(leaves, q):
    located, values, weight = scattered(leaves)
    expected = [loop_quantile([v for v, _ in leaf], [w for _, w in leaf], q) for leaf in leaves]
    assert located.weighted_quantile(values, weight, q).tolist() == expected


@given(leaf_rows, quantiles)
def test_weight_is_repetition_in_leaves(leaves, q):
    located, values, weight = scattered(leaves)
    repeated, many_values, _ = scattered([[e for e in leaf for _ in range(e[1])] for leaf in leaves])
    by_weight = located.weighted_quantile(values, weight, q)
    np.testing.assert_array_equal(by_weight, repeated.weighted_quantile(many_values, None, q))
    np.testing.assert_allclose(
        located.weighted_mean(values, weight), repeated.weighted_mean(many_values, None), rtol=1e-9, atol=1e-9
    )


@given(
    st.lists(st.lists(st.tuples(finite, st.floats(1e-30, 1e30)), min_size=1, max_size=6), min_size=1, max_size=5),
    quantiles,
)
def test_quantile_of_any_weights_splits_the_weight(leaves, q):
    located, values, weight = scattered(leaves)
    for leaf, found in zip(leaves, located.weighted_quantile(values, weight, q), strict=True):
        total = sum(w for _, w in leaf)
        assert found in [v for v, _ in leaf]
        assert sum(w for v, w in leaf if v <= found) >= (q - 1e-9) * total
        assert sum(w for v, w in leaf if v < found) <= (q + 1e-9) * total


@given(st.lists(st.tuples(finite, st.integers(0, 5)), min_size=1), quantiles)
def test_quantile_of_all_rows_is_that_of_one_leaf(entries, q):
    values, weight = np.array(entries, dtype=float).T
    one_leaf = LeafRows.contiguous(np.array([0, len(values)]))
    assert weighted_quantile(values, None, q) == one_leaf.weighted_quantile(values, None, q)[0]
    if weight.any():
        assert weighted_quantile(values, weight, q) == one_leaf.weighted_quantile(values, weight, q)[0]


def test_a_heavy_leaf_does_not_disturb_a_light_one():
    leaves = LeafRows.contiguous(np.array([0, 2, 5]))
    weight = np.array([1e20, 1e20, 1.0, 1.0, 1.0])
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert leaves.weighted_quantile(values, weight, 0.5).tolist() == [1.0, 4.0]


def test_nested_nodes_may_share_rows():
    nodes = LeafRows(np.array([0, 1, 2, 0, 1, 2], np.uint32), np.array([0, 3, 5, 6]))
    y, raw = np.array([1.0, 5.0, 9.0]), np.zeros(3)
    assert AbsoluteError().leaf_values(nodes, y, raw, None).tolist() == [5.0, 1.0, 9.0]
    assert Huber(delta=100.0).leaf_values(nodes, y, raw, None).tolist() == [5.0, 3.0, 9.0]


# Extremes


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_links_stay_finite(x):
    raw = np.array([x])
    assert 0 < bounded_exp(raw)[0] < np.inf
    assert 0 <= sigmoid(raw)[0] <= 1
    np.testing.assert_allclose(softmax(np.array([[x / 2, 0.0, -x / 2]])).sum(), 1.0)


def test_nan_is_not_hidden_by_a_link():
    assert np.isnan(bounded_exp(np.array([np.nan])))[0]
    assert np.isnan(sigmoid(np.array([np.nan])))[0]


@settings(max_examples=30)
@given(st.floats(1e-300, LARGEST_TARGET), st.floats(-1e4, 1e4))
def test_accepted_targets_have_finite_statistics(target, at):
    y, raw = np.array([target]), np.array([at])
    for loss in REGISTERED:
        if loss.task == "classification":
            continue
        loss.check_target(y)
        this_round = loss.for_round(y, raw, None)
        assert np.isfinite(this_round.gradients(y, raw)).all()
        assert np.isfinite(this_round.values(y, raw)).all()
        assert np.isfinite(loss.predict(loss.start(y, None))).all()


def test_subgradient_is_zero_at_an_exact_prediction():
    y = np.array([3.0])
    assert AbsoluteError().gradients(y, y)[0] == 0
    assert Quantile(0.9).gradients(y, y)[0] == 0


# Targets


@pytest.mark.parametrize("loss", [*REGISTERED, Multinomial(3)], ids=repr)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.nan, r"y\[1\] = nan: the target must be finite: remove or fill such rows"),
        (-np.inf, r"y\[1\] = -inf: the target must be finite"),
        (1e200, r"y\[1\] = 1e\+200: beyond ±1e\+100: divide the target by a constant"),
    ],
)
def test_every_loss_refuses(loss, bad, message):
    with pytest.raises(ValueError, match=message):
        loss.check_target(np.array([1.0, bad, bad]))


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (SquaredError(), [], r"shape \(0,\): a target needs one dimension and at least one row"),
        (SquaredError(), [[1.0]], r"shape \(1, 1\)"),
        (
            Poisson(),
            [0, 2, -1],
            r"y\[2\] = -1.0: loss='poisson' needs y >= 0: correct such rows or use loss='squ",
        ),
        (Tweedie(), [0, 2, -1], r"y\[2\] = -1.0: loss='tweedie' needs y >= 0"),
        (Poisson(), [0, 0], "y is 0 in every row: loss='poisson' needs at least one y > 0"),
        (Tweedie(), [0, 0], "y is 0 in every row: loss='tweedie'"),
        (
            Gamma(),
            [1, 0],
            r"y\[1\] = 0.0: loss='gamma' needs y > 0: correct such rows, or use loss='tweedie'",
        ),
        (Logistic(), [0, 1, 2], r"y\[2\] = 2.0: the log loss of two classes needs codes 0 and 1"),
        (Multinomial(3), [0, 1, 3], r"y\[2\] = 3.0: the log loss of 3 classes needs codes 0 to 2"),
        (Multinomial(3), [0, 0.5], r"y\[1\] = 0.5: the log loss of 3 classes"),
        (Multinomial(3), [-1.0], r"y\[0\] = -1.0: the log loss of 3 classes"),
    ],
)
def test_refused_targets(loss, y, message):
    with pytest.raises(ValueError, match=message):
        loss.check_target(np.array(y, dtype=float))


# Registry, parameters, model file


@pytest.mark.parametrize("name", LOSSES)
def test_registered_under_its_own_name(name):
    assert LOSSES[name]().name == name


@pytest.mark.parametrize("loss", REGISTERED + PARAMETRIZED, ids=repr)
def test_json_round_trip(loss):
    entry = json.loads(json.dumps(loss.to_json()))
    assert entry["name"] == loss.name
    assert from_json(entry) == loss


def test_json_leaves_out_the_delta_of_a_round():
    loss = Huber(0.7)
    assert from_json(loss.for_round(np.arange(3.0), np.zeros(3), None).to_json()) == loss


class Shifted(Quantile):
    """A custom loss that inherits a registered name."""

    link = "exp"


def test_json_of_a_custom_loss_predicts_only():
    entry = Shifted().to_json()
    assert entry["name"] == "custom"
    assert entry["class"].endswith(".Shifted")
    loss = from_json(json.loads(json.dumps(entry)))
    assert isinstance(loss, PredictOnly)
    assert loss.to_json() == entry
    assert loss.predict(np.zeros(1)) == 1.0
    for method in (loss.values, loss.gradients):
        with pytest.raises(RuntimeError, match=r"custom loss .*Shifted, which its file cannot carry: give loss="):
            method(np.zeros(1), np.zeros(1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"link": "cube"}, r"link='cube': expected one of \['identity'"),
        ({"task": "sorting"}, r"task='sorting': expected one of \['regression'"),
        ({"n_outputs": 0}, "n_outputs=0: expected an integer at least 1"),
        ({"n_outputs": "3"}, "n_outputs='3': expected an integer at least 1"),
        ({"extra": 1}, r"loss=\{.*\} in a model file is invalid: .*unexpected keyword argument 'extra'"),
        ({"name": "quantile"}, "loss='quantile' has no parameter 'class'"),
        ({"name": "nothing"}, "unknown loss 'nothing'"),
    ],
)
def test_malformed_entries(change, message):
    with pytest.raises(ValueError, match=message):
        from_json({**Shifted().to_json(), **change})


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({}, "expected an object with a string 'name'"),
        ({"name": []}, "expected an object with a string 'name'"),
        ({"name": "custom"}, "there is no 'class'"),
        ({"name": "quantile", "quantile": "half"}, "quantile='half': use a number"),
    ],
)
def test_malformed_entries_of_another_shape(entry, reason):
    with pytest.raises(ValueError, match=f"{re.escape(f'loss={entry!r} in a model file is invalid')}: {reason}"):
        from_json(entry)


def test_resolve():
    loss = Tweedie(1.2)
    assert resolve(loss) is loss
    assert resolve("squared_error", quantile=None) == SquaredError()
    assert resolve("quantile", quantile=0.2) == Quantile(0.2)
    assert resolve("huber") == Huber(0.9)
    assert resolve("log_loss", n_classes=2) == Logistic()
    assert resolve("log_loss", n_classes=4) == Multinomial(4)
    assert resolve(Multinomial(4), n_classes=4) == Multinomial(4)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"loss": "squared_eror"},
            ValueError,
            "did you mean 'squared_error'[?] Known: squared_error, absolute_",
        ),
        ({"loss": "zzz"}, ValueError, "unknown loss 'zzz': Known: squared_error"),
        ({"loss": SquaredError}, TypeError, r"a Loss object or a function of \(y, raw\); write SquaredError\(\)"),
        ({"loss": None}, TypeError, r"loss=None must be a name, a Loss object or a function of \(y, raw\)$"),
        (
            {"loss": "log_loss"},
            ValueError,
            "'log_loss' is for classification, not regression: use one of squared_er",
        ),
        (
            {"loss": "huber", "n_classes": 2},
            ValueError,
            "is for regression, not classification: use one of log_loss",
        ),
        ({"loss": "gamma", "quantile": 0.5}, ValueError, "loss='gamma' has no parameter 'quantile'"),
        ({"loss": Quantile(), "quantile": 0.5}, ValueError, "quantile given beside the loss object Quantile"),
        ({"loss": "quantile", "quantile": 1.0}, ValueError, "quantile=1.0 must lie strictly between 0 and 1"),
        ({"loss": "huber", "quantile": -1.0}, ValueError, "quantile=-1.0 must lie strictly between 0 and 1"),
        (
            {"loss": "tweedie", "power": 2.0},
            ValueError,
            "power=2.0 must lie strictly between 1 and 2; .*gamma",
        ),
        ({"loss": Multinomial(3), "n_classes": 4}, ValueError, "n_outputs=3, but 4 classes need n_outputs=4"),
        ({"loss": "log_loss", "n_classes": 1}, ValueError, "y has 1 class: a classifier needs at least 2"),
    ],
)
def test_resolve_refuses(arguments, error, message):
    with pytest.raises(error, match=message):
        resolve(**arguments)


def test_multinomial_needs_classes():
    with pytest.raises(ValueError, match="n_outputs=1: a multinomial loss needs at least 2 classes"):
        Multinomial(1)


def test_unknown_link_is_refused_where_the_class_is_written():
    with pytest.raises(TypeError, match=r"Cubic\.link = 'cube' is unknown: use one of"):
        type("Cubic", (SquaredError,), {"link": "cube"})


def test_columns_have_their_own_means_and_constants():
    matrix, weight = np.array([[1.0, 10.0], [3.0, 30.0]]), np.array([1.0, 3.0])
    assert weighted_mean(matrix, weight).tolist() == [2.5, 25.0]
    assert constant_raw(np.array([1.0, 2.0]), 2).tolist() == [[1.0, 2.0], [1.0, 2.0]]
