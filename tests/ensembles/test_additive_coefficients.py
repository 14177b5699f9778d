"""All coefficients of an additive model at once: against least squares, and the laws of a minimum."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from arboretum.ensembles.additive.coefficients import CorrectedSum, StagewiseSum, weighted_products
from arboretum.ensembles.additive.line_search import LARGEST_MOVE, derivatives, line_search
from arboretum.ensembles.symmetric_systems import solved
from arboretum.losses import LOSSES, EachOutput, Logistic, Loss, Multinomial, Quantile, SquaredError

SMALL = st.integers(-3, 3).map(float)  # with ties, zeros and columns that are combinations of others
NUMBERS = st.one_of(SMALL, st.floats(-1e3, 1e3).map(lambda number: round(number, 3)))


@st.composite
def problems(draw):
    """Return targets, weights and columns of a few rows."""
    n_rows, n_columns = draw(st.integers(1, 8)), draw(st.integers(1, 6))

    def column(values):
        return np.array(draw(st.lists(values, min_size=n_rows, max_size=n_rows)))

    return column(NUMBERS), column(st.sampled_from([0.5, 1.0, 3.0])), [column(SMALL) for _ in range(n_columns)]


def summed_up(kind, loss, y, weight, columns, *, start=None, rate=1.0, **params):
    """Return the sums after each column."""
    start = loss.start(y, weight) if start is None else start
    total = kind(start, y, weight, 0, rate, **params)
    raws = [total.raw]
    for column in columns:
        beta, _ = line_search(loss, y, total.raw, column, weight)
        total.add(loss, column, None, beta)
        raws.append(total.raw)
    return total, raws


def corrected(loss, y, weight, columns, **params):
    return summed_up(CorrectedSum, loss, y, weight, columns, **{"has_constant": True, **params})


# --------------------------------------------------------------------------------------------- squared error


@settings(deadline=None)
@given(problems(), st.booleans())
@example((np.array([1.0, 2.0]), np.ones(2), [np.array([1.0, 1.0])] * 3), True)
@example((np.array([1e3, -1e3, 5.0]), np.ones(3), [np.zeros(3), np.array([1.0, 2.0, 3.0])]), False)
def test_squared_error_is_least_squares_after_every_stage(problem, has_constant):
    y, weight, columns = problem
    start = None if has_constant else np.zeros(1)
    _, raws = corrected(SquaredError(), y, weight, columns, start=start, has_constant=has_constant)
    root = np.sqrt(weight)
    for n_columns, raw in enumerate(raws[1:], 1):
        design = np.column_stack([*[np.ones(len(y))] * has_constant, *columns[:n_columns]])
        twin = design @ np.linalg.lstsq(design * root[:, None], y * root, rcond=1e-10)[0]
        np.testing.assert_allclose(raw, twin, atol=1e-9 * max(1.0, np.abs(y).max()))
        for column in design.T:
            slack = 1e-9 * (np.linalg.norm(root * column) * np.linalg.norm(root * y) + 1e-300)
            assert abs((weight * (y - raw) * column).sum()) <= slack


def test_columns_of_any_size():
    rng = np.random.default_rng(0)
    y, columns = rng.normal(size=30), list(rng.normal(size=(4, 30)))
    _, plain = corrected(SquaredError(), y, None, columns)
    for scale in (1e-90, 1e90):
        _, scaled = corrected(SquaredError(), y * scale, None, [column * scale for column in columns])
        np.testing.assert_allclose(scaled[-1] / scale, plain[-1], rtol=1e-9)


def test_nearly_equal_columns_do_not_spoil_the_fit():
    rng = np.random.default_rng(1)
    y, column = rng.normal(size=50), rng.normal(size=50)
    columns = [column, column + 1e-6 * rng.normal(size=50), column + 1e-15, rng.normal(size=50)]
    _, raws = corrected(SquaredError(), y, None, columns)
    design = np.column_stack([np.ones(50), *(columns[place] for place in (0, 1, 3))])
    np.testing.assert_allclose(raws[-1], design @ np.linalg.lstsq(design, y, rcond=None)[0], atol=1e-6)
    values = [SquaredError().value(y, raw) for raw in raws]
    assert (np.diff(values) <= 1e-12 * values[0]).all()


# --------------------------------------------------------------------------------------------- any loss


class Wavy(Loss):
    """Not convex: a parabola with ripples."""

    def __repr__(self):
        return "Wavy()"

    def start(self, y, weight):
        return np.zeros(1)

    def values(self, y, raw):
        return (raw - y) ** 2 + 3 * np.sin(5 * (raw - y)) ** 2

    def gradients(self, y, raw):
        return 2 * (raw - y) + 15 * np.sin(10 * (raw - y)), 2 + 150 * np.cos(10 * (raw - y))


SEVERAL = [Multinomial(3), EachOutput(SquaredError(), 2, units=(1.0, 1e4)), EachOutput(LOSSES["poisson"](), 2)]
SMOOTH = [LOSSES[name]() for name in ("squared_error", "huber", "poisson", "gamma", "tweedie")] + [Logistic(), *SEVERAL]
KINKED = [LOSSES["absolute_error"](), Quantile(0.8), LOSSES["quantile"]([0.2, 0.7])]


def drawn(loss, seed, n_rows=60, n_columns=6):
    rng = np.random.default_rng(seed)
    shape = (n_rows, loss.n_outputs) if loss.n_outputs > 1 else (n_rows,)
    y = rng.integers(0, max(2, loss.n_outputs), n_rows).astype(float)
    if loss.task != "classification":
        y = np.abs(rng.normal(size=shape if isinstance(loss, EachOutput) else n_rows)) + 0.1
        y = y * (loss.units if isinstance(loss, EachOutput) and loss.units else 1)
    columns = list(rng.normal(size=(n_columns, *shape)))
    weight = rng.random(n_rows)
    return loss.for_round(y, np.zeros(shape), weight), y, weight, columns


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_no_coefficient_can_be_bettered(loss, seed):
    """The slope of the loss along every column, and the constants, is 0."""
    loss, y, weight, columns = drawn(loss, seed)
    total, raws = corrected(loss, y, weight, columns)
    for n_columns, raw in enumerate(raws[1:], 1):
        gradient = derivatives(loss, y, raw)[0].ravel() * total.cell_weight
        for column in total.columns[: loss.n_outputs + n_columns]:
            assert abs((gradient * column).sum()) <= 1e-7 * np.abs(gradient * column).sum()


@pytest.mark.parametrize(
    ("loss", "rate"), [*((loss, rate) for loss in (*SMOOTH, *KINKED) for rate in (0.3, 1.0)), (Wavy(), 1.0)], ids=repr
)
@pytest.mark.parametrize("seed", range(2))
def test_the_loss_never_rises_and_is_never_above_that_of_one_coefficient(loss, rate, seed):
    loss, y, weight, columns = drawn(loss, seed)
    _, raws = corrected(loss, y, weight, columns, rate=rate)
    values = [loss.value(y, raw, weight) for raw in raws]
    assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()
    if rate == 1:
        _, stagewise = summed_up(StagewiseSum, loss, y, weight, columns)
        assert values[1] <= loss.value(y, stagewise[1], weight) * (1 + 1e-12)
        if not isinstance(loss, Wavy):
            assert values[-1] <= loss.value(y, stagewise[-1], weight) * (1 + 1e-12)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_quantiles_come_near_the_linear_programme(level):
    loss, y, _, columns = drawn(Quantile(level), 0, n_rows=200)
    _, raws = corrected(loss, y, None, columns)
    design, n = np.column_stack([np.ones(200), *columns]), 200
    costs = np.r_[np.zeros(design.shape[1]), np.full(n, level / n), np.full(n, (1 - level) / n)]
    bounds = [(None, None)] * design.shape[1] + [(0, None)] * (2 * n)
    least = linprog(costs, A_eq=np.c_[design, np.eye(n), -np.eye(n)], b_eq=y, bounds=bounds).fun
    assert least - 1e-12 <= loss.value(y, raws[-1]) <= 1.005 * least


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_weights_are_repetitions(loss):
    loss, y, _, columns = drawn(loss, 0)
    copies = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = corrected(loss, y, copies.astype(float), columns)[0]
    repeated = corrected(loss, np.repeat(y, copies, axis=0), None, [np.repeat(c, copies, axis=0) for c in columns])[0]
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weighted.constant, repeated.constant, rtol=1e-6, atol=1e-9)


def test_a_learning_rate_is_the_share_of_the_way_to_the_minimum():
    loss, y, weight, columns = drawn(SquaredError(), 0)
    total, _ = corrected(loss, y, weight, columns[:1], rate=0.25)
    before = np.append(total.point, 0.0)
    beta, _ = line_search(loss, y, total.raw, columns[1], weight)
    total.add(loss, columns[1], None, beta)
    full, _ = corrected(loss, y, weight, columns[:2])
    np.testing.assert_allclose(total.point, before + 0.25 * (full.point - before), rtol=1e-9)


def test_separated_classes_move_by_a_bounded_step():
    y = np.repeat([0.0, 1.0], 5)
    _, raws = corrected(Logistic(), y, None, [y - 0.5, y * 3, np.arange(10.0)])
    moves = [np.abs(after - before).max() for before, after in pairwise(raws)]
    assert max(moves) <= 2 * LARGEST_MOVE * (1 + 1e-12)  # by the line search, and by all coefficients together
    assert moves[0] > LARGEST_MOVE


def test_rows_held_out_get_the_same_coefficients():
    loss, y, weight, columns = drawn(EachOutput(SquaredError(), 2), 0)
    total = CorrectedSum(loss.start(y, weight), y, weight, len(y), 0.5, has_constant=True)
    for column in columns:
        total.add(loss, column, column, line_search(loss, y, total.raw, column, weight)[0])
    np.testing.assert_array_equal(total.held_raw, total.raw)


# --------------------------------------------------------------------------------------------- the system of equations


@given(st.integers(0, 300), st.integers(1, 7))
def test_solutions_are_those_of_numpy(seed, n_columns):
    rng = np.random.default_rng(seed)
    columns, weight = (
        list(rng.normal(size=(n_columns, 12)) * 10.0 ** rng.integers(-5, 5, (n_columns, 1))),
        rng.random(12),
    )
    matrix = np.array(columns)
    products = weighted_products(columns, weight, np.empty((0, 0)))
    np.testing.assert_allclose(products, (matrix * weight) @ matrix.T, rtol=1e-9, atol=1e-12 * np.abs(products).max())
    first = weighted_products(columns[:-1], weight, np.empty((0, 0)))
    np.testing.assert_array_equal(weighted_products(columns, weight, first), products)
    truth = rng.normal(size=n_columns) / np.sqrt(np.diagonal(products))
    np.testing.assert_allclose(solved(products, products @ truth), truth, rtol=1e-5)


def test_a_combination_of_earlier_columns_gets_nothing():
    a, b = np.array([1.0, 2.0, 0.0]), np.array([0.0, 1.0, 5.0])
    columns = [a, a - b, b, np.zeros(3)]
    products = weighted_products(columns, np.ones(3), np.empty((0, 0)))
    y = 3 * a + 2 * b
    found = solved(products, np.array([(column * y).sum() for column in columns]))
    np.testing.assert_allclose(found, [5.0, -2.0, 0.0, 0.0], atol=1e-12)
