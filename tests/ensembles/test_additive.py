"""Additive modelling: the line search, against plain twins and the laws of a minimum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum.ensembles.additive.line_search import LARGEST_MOVE, line_search
from arboretum.ensembles.additive.stages import AdditiveParams, AdditiveRun, Part
from arboretum.ensembles.boosting.history import Patience
from arboretum.losses import LOSSES, AbsoluteError, Logistic, Loss, Multinomial, Poisson, Quantile, SquaredError

RNG = np.random.default_rng(0)
LOSSES_OF_ONE_OUTPUT = [build() for name, build in LOSSES.items() if build().row_wise and name != "ordinal"]
NUMBERS = st.floats(-1e6, 1e6).map(lambda number: round(number, 6))  # squares do not underflow
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.floats(0.01, 100)), min_size=1, max_size=12)


def target_of(loss, rng, n):
    if loss.name == "log_loss":
        return rng.integers(0, max(2, loss.n_outputs), n).astype(float)
    return np.abs(rng.normal(size=n)) + 0.1


def value_at(loss, y, raw, direction, weight, beta):
    return loss.value(y, raw + beta * direction, weight)


# --------------------------------------------------------------------------------------------- squared error


@given(ROWS)
def test_step_of_squared_error_is_the_coefficient_of_least_squares(rows):
    y, raw, direction, weight = (np.array(column) for column in zip(*rows, strict=True))
    exact = [tuple(map(Fraction, row)) for row in rows]
    top = sum(w * (a - f) * b for a, f, b, w in exact)
    bottom = sum(w * b * b for _, _, b, w in exact)
    total = sum(w * (a - f) ** 2 for a, f, _, w in exact)
    beta, value = line_search(SquaredError(), y, raw, direction, weight)
    assert value <= SquaredError().value(y, raw, weight)
    if beta == 0:  # nothing to gain, up to rounding
        assert top**2 <= Fraction(1e-12) * total * bottom
    else:  # a gain that is lost in rounding stops the step halfway: β² Σ w·b² is then far below Σ w·r²
        miss = abs(Fraction(beta) - top / bottom)
        assert miss <= Fraction(1e-9) * abs(top / bottom) or miss**2 * bottom <= Fraction(1e-14) * total


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e90])
def test_directions_of_any_size(scale):
    y, direction = RNG.normal(size=20), RNG.normal(size=20)
    beta, _ = line_search(SquaredError(), y, np.zeros(20), direction * scale, None)
    assert beta * scale == pytest.approx((y * direction).sum() / (direction**2).sum(), rel=1e-12)


# --------------------------------------------------------------------------------------------- any loss


@pytest.mark.parametrize("loss", [*LOSSES_OF_ONE_OUTPUT, Quantile(0.9), Multinomial(3)], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_no_other_step_is_better(loss, weighted, seed):
    """A grid around the step, and over all steps that are allowed, finds nothing lower."""
    rng = np.random.default_rng(seed)
    y = target_of(loss, rng, 40)
    shape = 40 if loss.n_outputs == 1 else (40, loss.n_outputs)
    raw, direction = rng.normal(size=shape), rng.normal(size=shape)
    weight = rng.random(40) if weighted else None
    loss = loss.for_round(y, raw, weight)
    beta, value = line_search(loss, y, raw, direction, weight)
    assert value == value_at(loss, y, raw, direction, weight, beta) < loss.value(y, raw, weight)
    limit = 50.0 if loss.link == "identity" else LARGEST_MOVE / np.abs(direction).max()
    others = np.concatenate([beta * (1 + np.array([-1e-3, -1e-6, 1e-6, 1e-3])), np.linspace(-limit, limit, 201)])
    least = min(value_at(loss, y, raw, direction, weight, other) for other in others[np.abs(others) <= limit])
    assert value <= least + 1e-9 * abs(least)


@settings(deadline=None)
@given(ROWS, st.sampled_from([0.1, 0.5, 0.9]))
def test_step_of_absolute_errors_is_at_the_best_kink(rows, level):
    """A sum of pinball losses has its minimum where some row is met exactly."""
    y, raw, direction, weight = (np.array(column) for column in zip(*rows, strict=True))
    loss = Quantile(level)
    _, value = line_search(loss, y, raw, direction, weight)
    moved = direction != 0
    kinks = (y - raw)[moved] / direction[moved]
    least = min([value_at(loss, y, raw, direction, weight, kink) for kink in [0.0, *kinks]])
    assert value == pytest.approx(least, rel=1e-9, abs=1e-8 * loss.value(y, raw, weight))


def test_weights_are_repetitions():
    y, direction, weight = RNG.normal(size=30), RNG.normal(size=30), RNG.integers(0, 4, 30)
    for loss in (SquaredError(), AbsoluteError()):
        weighted = line_search(loss, y, np.zeros(30), direction, weight.astype(float))[0]
        repeated = line_search(loss, *(np.repeat(a, weight) for a in (y, np.zeros(30), direction)), None)[0]
        assert weighted == pytest.approx(repeated, rel=1e-8)


def test_the_step_may_go_backwards():
    y, direction = np.array([1.0, 2.0]), np.array([-1.0, -2.0])
    for loss in (SquaredError(), AbsoluteError()):
        assert line_search(loss, y, np.zeros(2), direction, None)[0] == pytest.approx(-1)


@pytest.mark.parametrize("loss", LOSSES_OF_ONE_OUTPUT, ids=repr)
def test_no_direction_no_step(loss):
    y, raw = np.ones(4), np.full(4, 0.3)
    loss = loss.for_round(y, raw, None)
    assert line_search(loss, y, raw, np.zeros(4), None) == (0.0, loss.value(y, raw))


def test_separated_classes_move_by_a_bounded_step():
    y = np.array([0.0, 0.0, 1.0, 1.0])
    beta, _ = line_search(Logistic(), y, np.zeros(4), y - 0.5, None)
    assert beta * 0.5 == pytest.approx(LARGEST_MOVE)
    beta, _ = line_search(Poisson(), np.array([0.0, 1.0]), np.zeros(2), np.array([-100.0, 0.0]), None)
    assert beta * 100 == pytest.approx(LARGEST_MOVE)


class Wavy(Loss):
    """Not convex: a parabola with ripples."""

    def values(self, y, raw):
        return (raw - y) ** 2 + 3 * np.sin(5 * (raw - y)) ** 2

    def gradients(self, y, raw):
        return 2 * (raw - y) + 15 * np.sin(10 * (raw - y)), np.full_like(raw, 200.0)


class Cliff(Loss):
    """Gradients that promise what the values do not keep."""

    def values(self, y, raw):
        return np.where(raw > 0.01, 1e3, 1.0 - raw)

    def gradients(self, y, raw):
        return np.where(raw > 100, 1.0, -1.0), np.ones_like(raw)


@given(st.integers(0, 200))
def test_a_loss_that_is_not_convex_does_not_rise(seed):
    rng = np.random.default_rng(seed)
    y, raw, direction = rng.normal(size=(3, 5))
    beta, value = line_search(Wavy(), y, raw, direction, None)
    assert value == value_at(Wavy(), y, raw, direction, None, beta) <= Wavy().value(y, raw)


def test_a_step_that_does_not_lower_the_loss_is_halved():
    beta, value = line_search(Cliff(), np.zeros(3), np.zeros(3), np.ones(3), None)
    assert 0 < beta <= 0.01
    assert value < 1


# --------------------------------------------------------------------------------------------- the loop


class Given:
    """Learners that know their predictions; X is a slice of rows."""

    def __init__(self, *directions):
        self.directions, self.calls = directions, []

    def __len__(self):
        return len(self.directions)

    def fit(self, learner, stage, residual):
        self.calls.append((stage, learner))
        return [learner]

    def predict(self, learner, stage, models, X):
        return self.directions[learner][X]


EVERYTHING = slice(None)


def params(**changed):
    return AdditiveParams(**{"n_stages": 6, "learning_rate": 1.0, "cycles": False, "redraws": False, **changed})


def test_the_best_learner_is_taken_and_the_first_of_equals():
    y = np.array([1.0, -1.0, 2.0, -2.0])
    learners = Given(np.array([1.0, 0, 0, 0]), y, y.copy())
    stages, history = AdditiveRun(
        learners, Part(EVERYTHING, y, None), SquaredError(), params(), start=np.zeros(1)
    ).complete()
    assert [(stage.learner, stage.coefficients[-1]) for stage in stages] == [(1, 1.0)]
    assert history.training_loss == [0.0]
    assert history.stopped_by == "no descent"
    assert learners.calls == [(0, 0), (0, 1), (0, 2)]


def test_learners_take_turns_and_idle_ones_are_left_out():
    y = np.array([1.0, -1.0, 2.0, -2.0])
    learners = Given(y, np.zeros(4))
    rows = Part(EVERYTHING, y, None)
    stages, history = AdditiveRun(
        learners, rows, SquaredError(), params(cycles=True, learning_rate=0.5), start=np.zeros(1)
    ).complete()
    assert [(stage.learner, stage.number, stage.coefficients[-1]) for stage in stages] == [
        (0, 0, 0.5),
        (0, 2, 0.25),
        (0, 4, 0.125),
    ]
    assert learners.calls == [(stage, stage % 2) for stage in range(6)]
    assert len(history.training_loss) == 3
    assert history.stopped_by == "rounds"


@pytest.mark.parametrize(("redraws", "tried"), [(False, 2), (True, 6)])
def test_a_whole_cycle_to_no_avail_ends_the_fit_unless_rows_are_drawn_anew(redraws, tried):
    learners = Given(np.zeros(2), np.zeros(2))
    rows = Part(EVERYTHING, np.array([1.0, -1.0]), None)
    stages, history = AdditiveRun(
        learners, rows, SquaredError(), params(cycles=True, redraws=redraws), start=np.zeros(1)
    ).complete()
    assert stages == []
    assert len(learners.calls) == tried
    assert history.stopped_by == ("rounds" if redraws else "no descent")


@pytest.mark.parametrize(("tolerance", "kept"), [(0.0, 6), (0.2, 2)])
def test_early_stopping_counts_stages_that_improve_by_the_tolerance(tolerance, kept):
    """Validation losses are 1/8, 1/32, …: with a tolerance of 0.2, no later stage improves on the first."""
    y = np.array([1.0, 1.0])
    rows, held = Part(slice(0, 1), y[:1], None), Part(slice(1, 2), y[1:], None)
    stages, history = AdditiveRun(
        Given(np.ones(2)),
        rows,
        SquaredError(),
        params(learning_rate=0.5, patience=Patience(1, tolerance)),
        start=np.zeros(1),
        validation=held,
    ).complete()
    np.testing.assert_allclose(history.validation_loss, 0.5 * 0.25 ** np.arange(1, kept + 1))
    assert len(stages) == kept
    assert history.stopped_by == ("early stopping" if tolerance else "rounds")


def test_the_best_stage_is_the_last_that_is_kept():
    y = np.array([1.0, 0.5])
    rows, held = Part(slice(0, 1), y[:1], None), Part(slice(1, 2), y[1:], None)
    stages, history = AdditiveRun(
        Given(np.ones(2)),
        rows,
        SquaredError(),
        params(learning_rate=0.3, patience=Patience(2)),
        start=np.zeros(1),
        validation=held,
    ).complete()
    assert (len(stages), len(history.validation_loss)) == (2, 4)  # predictions are 0.3, 0.51, 0.657, …
    assert history.best_round == 2
