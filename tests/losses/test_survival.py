"""Losses of censored times against plain formulas: values, derivatives, weights as repetitions, far tails."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.reference import survival as slow

from arboretum import losses
from arboretum.losses import AcceleratedFailure, Cox
from arboretum.losses.survival import DISTRIBUTIONS
from arboretum.testing import check_loss

law = settings(max_examples=60, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def problem(seed, n=30, n_times=8):
    """Bounds with many ties, at least one event, and raw predictions."""
    rng = np.random.default_rng(seed)
    time = rng.integers(0, n_times, n).astype(float)
    event = rng.random(n) < 0.6
    event[0] = True
    return np.column_stack([time, np.where(event, time, np.inf)]), rng.normal(size=n), rng


def censored_all_ways(rng, n=40):
    """Bounds of all kinds: exact, right, left and interval."""
    time = rng.exponential(size=n) + 0.01
    kind = np.arange(n) % 4
    lower = np.where(kind == 2, 0.0, time)
    upper = np.select([kind == 0, kind == 1, kind == 2], [time, np.inf, time], time * (1 + rng.random(n)))
    return np.column_stack([lower, upper])


# ---- Cox -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_times", [3, 10, 1000])
def test_cox_keeps_the_laws_of_losses(n_times):
    check_loss(Cox(), y=problem(1, 40, n_times)[0])


@law
@given(SEEDS, st.integers(1, 25), st.sampled_from([1, 3, 50]))
def test_cox_is_the_partial_likelihood_of_efron(seed, n, n_times):
    y, raw, _ = problem(seed, n, n_times)
    event = y[:, 0] == y[:, 1]
    expected = slow.cox_loss(y[:, 0], event, raw)
    np.testing.assert_allclose(Cox().values(y, raw).sum(), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(Cox().value(y, raw), expected / n, rtol=1e-10, atol=1e-10)


@law
@given(SEEDS, st.floats(-500, 500))
def test_constants_cancel(seed, shift):
    y, raw, _ = problem(seed)
    for found, expected in zip(Cox().gradients(y, raw + shift), Cox().gradients(y, raw), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


@law
@given(SEEDS)
def test_diagonal_hessians_are_second_derivatives(seed):
    y, raw, _ = problem(seed, 12)
    hessian, step = Cox().gradients(y, raw)[1], 1e-5
    for row in range(len(raw)):
        shift = np.eye(len(raw))[row] * step
        slope = (Cox().gradients(y, raw + shift)[0][row] - Cox().gradients(y, raw - shift)[0][row]) / (2 * step)
        np.testing.assert_allclose(hessian[row], slope, rtol=1e-4, atol=1e-7)


@law
@given(SEEDS)
def test_whole_weights_are_repetitions(seed):
    y, raw, rng = problem(seed)
    weight = rng.integers(0, 4, len(raw)).astype(float)
    weight[0] = 1.0
    rows = np.repeat(np.arange(len(raw)), weight.astype(int))
    weighted, repeated = Cox().weighted_gradients(y, raw, weight), Cox().gradients(y[rows], raw[rows])
    for of_weights, of_rows in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(of_weights, np.bincount(rows, of_rows, len(raw)), rtol=1e-9, atol=1e-12)
    for part in zip(Cox().baseline(y, raw, weight), Cox().baseline(y[rows], raw[rows], None), strict=True):
        np.testing.assert_allclose(*part, rtol=1e-9, atol=1e-12)


@law
@given(SEEDS)
def test_gradients_of_any_weights_are_derivatives(seed):
    y, raw, rng = problem(seed, 15)
    weight, step = rng.exponential(size=15), 1e-5
    gradient, hessian = Cox().weighted_gradients(y, raw, weight)
    assert (hessian >= 0).all()
    for row in range(len(raw)):
        shift = np.eye(len(raw))[row] * step
        rise = Cox().value(y, raw + shift, weight) - Cox().value(y, raw - shift, weight)
        np.testing.assert_allclose(gradient[row], rise * weight.sum() / (2 * step), rtol=1e-4, atol=1e-7)


@law
@given(SEEDS)
def test_baseline_is_that_of_breslow(seed):
    y, raw, _ = problem(seed)
    times, log_hazard = Cox().baseline(y, raw, None)
    expected = slow.breslow(y[:, 0], y[:, 0] == y[:, 1], raw)
    np.testing.assert_array_equal(times, expected[0])
    np.testing.assert_allclose(np.exp(log_hazard), expected[1], rtol=1e-10)


def test_huge_differences_of_risk_stay_finite():
    y, _, _ = problem(3)
    raw = np.where(np.arange(30) % 2, 1e4, -1e4)
    for part in (*Cox().gradients(y, raw), Cox().values(y, raw)):
        assert np.isfinite(part).all()


# ---- accelerated failure times -------------------------------------------------------------------------------------

SCIPY = {"normal": stats.norm, "logistic": stats.logistic, "extreme": stats.gumbel_l}


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_aft_keeps_the_laws_of_losses(distribution, scale):
    y = censored_all_ways(np.random.default_rng(5))
    of_all = type("WithoutGrowth", (AcceleratedFailure,), {"self_concordant": False})
    check_loss(of_all(distribution, scale), y=y)
    # Hessians of left-censored rows vanish faster than exponentially where they are sure to have had their event.
    check_loss(AcceleratedFailure(distribution, scale), y=y[(y[:, 0] == y[:, 1]) | np.isinf(y[:, 1])])


@law
@given(SEEDS, st.sampled_from(DISTRIBUTIONS), st.floats(0.2, 3.0))
def test_aft_is_the_likelihood_of_its_distribution(seed, distribution, scale):
    rng = np.random.default_rng(seed)
    y, raw = censored_all_ways(rng), rng.normal(size=40)
    known = SCIPY[distribution](loc=raw, scale=scale)
    exact = y[:, 0] == y[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.log(y).T
        expected = np.where(exact, known.pdf(low) / y[:, 0], known.cdf(high) - known.cdf(low))
    seen = expected > 1e-8  # beyond, differences of distribution functions lose their digits
    found = AcceleratedFailure(distribution, scale).values(y, raw)
    np.testing.assert_allclose(found[seen], -np.log(expected[seen]), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_tails_neither_vanish_nor_cancel(distribution):
    loss = AcceleratedFailure(distribution)
    y = np.array([[1.0, 1.0], [1.0, np.inf], [0.0, 1.0], [1.0, 1.0 + 1e-15], [1.0, 2.0], [0.0, np.inf]])
    for far in (-1e9, -1e3, -50.0, -30.0, 0.0, 30.0, 50.0, 1e3, 1e9):
        raw = np.full(len(y), far)
        values, (gradient, hessian) = loss.values(y, raw), loss.gradients(y, raw)
        assert np.isfinite([values, gradient, hessian]).all()
        assert (hessian >= 0).all()
        if far > 0:  # all is over too early: predictions must fall, unless nothing is known
            assert (gradient[[0, 2, 3, 4]] > 0).all()
        if far < 0:
            assert (gradient[[0, 1, 3, 4]] < 0).all()
        assert gradient[5] == 0


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_survival_function_of_the_distribution(distribution):
    raw, times = np.array([-1.0, 0.0, 2.0]), np.array([0.0, 0.1, 1.0, 20.0])
    found = AcceleratedFailure(distribution, 0.7).log_survival(times, raw)
    with np.errstate(divide="ignore"):
        expected = SCIPY[distribution](loc=raw[:, None], scale=0.7).logsf(np.log(times))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# ---- the scale, learnt ---------------------------------------------------------------------------------------------

every_distribution = pytest.mark.parametrize("distribution", DISTRIBUTIONS)


def learner(distribution):
    return AcceleratedFailure(distribution, learns_scale=True)


@every_distribution
def test_learners_keep_the_laws_of_losses(distribution):
    y = censored_all_ways(np.random.default_rng(5))
    check_loss(type("WithoutGrowth", (AcceleratedFailure,), {"self_concordant": False})(distribution, 1.0, True), y=y)
    check_loss(learner(distribution), y=y[(y[:, 0] == y[:, 1]) | np.isinf(y[:, 1])])


@law
@given(SEEDS, st.sampled_from(DISTRIBUTIONS), st.floats(-3, 3), st.booleans())
def test_the_learnt_scale_is_the_likeliest(seed, distribution, unit, is_narrow):
    rng = np.random.default_rng(seed)
    y, raw = censored_all_ways(rng), np.exp(unit) * rng.normal(size=40)
    if is_narrow:
        y[3::4, 1] = y[3::4, 0] * (1 + 10.0 ** rng.uniform(-9, -3, 10))
    weight = rng.integers(1, 4, 40).astype(float)
    loss = learner(distribution).fitted(y, raw, weight)
    least = loss.value(y, raw, weight)
    for factor in (0.5, 0.99, 0.999, 1.001, 1.01, 2.0):
        assert AcceleratedFailure(distribution, loss.scale * factor).value(y, raw, weight) >= least - 1e-9
    repeated = rng.permutation(np.repeat(np.arange(40), weight.astype(int)))
    of_copies = learner(distribution).fitted(y[repeated], raw[repeated], None)
    assert of_copies.scale == pytest.approx(loss.scale, rel=1e-9)
    other = rng.permutation(repeated)
    assert learner(distribution).fitted(y[other], raw[other], None) == of_copies


@every_distribution
def test_the_start_is_the_best_constant_with_its_scale(distribution):
    rng = np.random.default_rng(8)
    y = 1e5 * censored_all_ways(rng, 200)
    constant = learner(distribution).start(y, None)[0]
    scale = learner(distribution).fitted(y, np.full(200, constant), None).scale
    least = AcceleratedFailure(distribution, scale).value(y, np.full(200, constant))
    for shift, factor in ((0.01, 1), (-0.01, 1), (0.01, 1.01), (-0.01, 1.01), (0.01, 0.99), (-0.01, 0.99)):
        other = AcceleratedFailure(distribution, scale * factor).value(y, np.full(200, constant + shift))
        assert other > least


@every_distribution
def test_the_scale_of_rows_that_tell_nothing_of_it_is_bounded(distribution):
    one = np.array([[2.0, 2.0]])
    assert learner(distribution).fitted(one, np.log([2.0]), None).scale == pytest.approx(1e-3)
    assert learner(distribution).fitted(one, np.array([1e9]), None).scale == pytest.approx(1e3)
    assert learner(distribution).start(one, None)[0] == pytest.approx(np.log(2), abs=1e-2)
    late = np.array([[2.0, 2.0], *[[9.0, np.inf]] * 10_000])
    assert np.isfinite(learner(distribution).start(late, None)).all()


# ---- what they refuse, and files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (Cox(), [1.0, 2.0], r"y has shape \(2,\): a survival target is bounds of times"),
        (Cox(), [[1.0, 2.0]], r"y\[0\] lies between 1 and 2: loss='cox' takes only events and right-censored rows"),
        (Cox(), [[1.0, np.inf]], "y has no event in 1 rows, all are censored"),
        (Cox(), [[-1.0, -1.0]], r"y\[0\] = \(-1, -1\): the lower bound must be finite, at least 0"),
        (AcceleratedFailure(), [[3.0, 2.0]], r"y\[0\] = \(3, 2\).*not above the upper one"),
        (AcceleratedFailure(), [[0.0, 0.0]], r"y\[0\] has its event at time 0: loss='aft' needs events after time 0"),
        (AcceleratedFailure(), [[1.0, np.inf]], "y has no event in 1 rows"),
    ],
)
def test_targets_that_are_refused(loss, y, message):
    with pytest.raises(ValueError, match=message):
        loss.check_target(np.array(y))


def test_parameters_that_are_refused():
    with pytest.raises(ValueError, match="distribution='gumbel': use one of 'normal', 'logistic', 'extreme'"):
        AcceleratedFailure("gumbel")
    with pytest.raises(ValueError, match="scale=0: use a number above 0"):
        AcceleratedFailure(scale=0)
    with pytest.raises(ValueError, match="loss 'cox' is for survival, not regression: use one of squared_error"):
        losses.resolve("cox")
    with pytest.raises(ValueError, match="loss 'poisson' is for regression, not survival: use one of cox, aft"):
        losses.resolve("poisson", task="survival")


@pytest.mark.parametrize(
    "loss", [Cox(), AcceleratedFailure("extreme", 0.5), AcceleratedFailure(scale=0.3, learns_scale=True)], ids=repr
)
def test_losses_come_back_from_files(loss):
    assert losses.from_json(loss.to_json()) == loss


def test_a_given_scale_is_written_as_ever():
    assert AcceleratedFailure("normal", 0.5).to_json() == {"name": "aft", "distribution": "normal", "scale": 0.5}
