"""Linear combinations against slow, plain minimisers, and greedy selection against a plain twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from arboretum.ensembles.combining.bounded_newton import minimise
from arboretum.ensembles.combining.combiners import COMBINERS, SPREAD, LinearSum, LogPool, Mean, ScaledSum, Votes
from arboretum.ensembles.combining.greedy import Greed, select
from arboretum.ensembles.combining.orders import spread
from arboretum.ensembles.symmetric_systems import solved

SEEDS = st.integers(0, 200)


def problem(seed, m=3, n=80):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    answers = [truth[:, None] * rng.uniform(0, 2) + rng.normal(size=(n, 1)) * rng.uniform(0.1, 2) for _ in range(m)]
    return rng, truth, answers, rng.integers(1, 4, n).astype(float)


@given(seed=SEEDS)
def test_a_system_is_solved(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(5, 5))
    matrix, right = root @ root.T + np.eye(5) / 10, rng.normal(size=5)
    np.testing.assert_allclose(solved(matrix, right), np.linalg.solve(matrix, right), rtol=1e-8)


@settings(max_examples=25)
@given(seed=SEEDS, bounded=st.integers(0, 4))
def test_bounded_quadratics_end_where_a_plain_minimiser_does(seed, bounded):
    rng = np.random.default_rng(seed)
    root, middle = rng.normal(size=(4, 4)), rng.normal(size=4)
    curve = root @ root.T + np.eye(4) / 5

    def bowl(at):
        off = at - middle
        return float(off @ curve @ off) / 2, curve @ off, curve

    limits = [(0, None) if place < bounded else (None, None) for place in range(4)]
    plain = minimize(
        lambda at: bowl(at)[:2], np.ones(4), jac=True, bounds=limits, options={"ftol": 1e-15, "gtol": 1e-11}
    )
    np.testing.assert_allclose(minimise(bowl, np.ones(4), bounded), plain.x, atol=2e-5)


@given(seed=SEEDS)
def test_sums_of_numbers_are_the_least_squares_with_a_prior(seed):
    _, truth, answers, weight = problem(seed)
    found = LinearSum.fit(answers, truth[:, None], weight)
    mean = np.mean([answer[:, 0] for answer in answers], axis=0)
    total = weight.sum()
    residual = truth - (truth * weight).sum() / total - mean + (mean * weight).sum() / total
    noise = (weight * residual**2).sum() / total

    def loss(at):
        off = truth - at[-1] - sum(a * answer[:, 0] for a, answer in zip(at, answers, strict=False))
        return (weight * off**2).sum() / noise + ((at[:-1] - 1 / 3) ** 2).sum() / SPREAD**2

    plain = minimize(loss, np.append(found.weights[:, 0], found.intercept), bounds=[(0, None)] * 3 + [(None, None)])
    assert loss(np.append(found.weights[:, 0], found.intercept)) <= plain.fun * (1 + 1e-9)
    assert (found.weights >= 0).all()
    exact = sum(a * answer for a, answer in zip(found.weights, answers, strict=True)) + found.intercept
    np.testing.assert_allclose(found.combine(answers), exact)


@settings(max_examples=25)
@given(seed=SEEDS, n_classes=st.integers(2, 4), raw=st.booleans())
def test_pools_of_probabilities_are_the_most_probable(seed, n_classes, raw):
    rng, n = np.random.default_rng(seed), 60
    codes = np.append(np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)).astype(float)
    scores = [
        np.eye(n_classes)[codes.astype(int)] * rng.uniform(0, 3) + rng.normal(size=(n, n_classes)) for _ in range(3)
    ]
    answers = [np.exp(s) / np.exp(s).sum(axis=1, keepdims=True) for s in scores]
    if raw:
        answers = [s[:, 1:] - s[:, :1] if n_classes == 2 else s for s in scores]
    weight = rng.integers(1, 3, n).astype(float)
    found = LogPool.fit(answers, [raw] * 3, codes, n_classes, weight)

    def loss(at):
        pool = LogPool(at[:3], at[3:], found.floors)
        own = pool.combine(answers)[np.arange(n), codes.astype(int)]
        prior = ((at[:3] - 1 / 3) ** 2).sum() / SPREAD**2 + (at[3:] ** 2).sum()
        return -(weight * np.log(own)).sum() + prior / 2

    at = np.append(found.weights, found.intercept)
    plain = minimize(loss, at + 0.05, bounds=[(0, None)] * 3 + [(None, None)] * n_classes)
    assert loss(at) <= plain.fun + 1e-7 * (1 + abs(plain.fun))


def test_a_member_that_is_always_wrong_weighs_nothing():
    truth = np.tile([0.0, 1.0], 50)
    good, bad = np.stack([1 - truth, truth], axis=1) * 0.8 + 0.1, np.stack([truth, 1 - truth], axis=1) * 0.8 + 0.1
    pool = LogPool.fit([good, bad], [False, False], truth, 2, np.ones(100))
    assert pool.weights[0] > 0.5
    assert pool.weights[1] == 0
    total = LinearSum.fit([truth[:, None], 1 - truth[:, None]], truth[:, None], np.ones(100))
    assert total.weights[0, 0] > 0.9
    assert total.weights[1, 0] < 0.05


def test_with_few_rows_members_are_averaged_and_with_many_the_rows_decide():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=4000)
    answers = [truth[:, None] + rng.normal(size=(4000, 1)) / 10, rng.normal(size=(4000, 1))]
    few = LinearSum.fit([answer[:1] for answer in answers], truth[:1, None], np.ones(1))
    many = LinearSum.fit(answers, truth[:, None], np.ones(4000))
    assert abs(many.weights[0, 0] - 1) < 0.05
    assert many.weights[1, 0] < 0.05
    np.testing.assert_allclose(few.weights[:, 0], 0.5)


def test_a_zero_that_means_rarely_is_lifted():
    proba = np.array([[1.0, 0.0]] * 90 + [[0.0, 1.0]] * 10)
    codes = np.array([0.0] * 88 + [1.0] * 12)
    pool = LogPool.fit([proba], [False], codes, 2, np.ones(100))
    assert pool.floors[0] >= 1e-2
    assert np.isfinite(np.log(pool.combine([proba]))).all()


def test_many_classes_have_no_intercepts():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(40), 200)
    pool = LogPool.fit([proba], [False], rng.integers(0, 40, 200).astype(float), 40, np.ones(200))
    assert not pool.intercept.any()


@pytest.mark.parametrize(
    "combiner",
    [
        Mean(np.array([1.0, 2.0])),
        Votes(np.array([1.0, 2.0])),
        LinearSum(np.array([[0.5], [0.0]]), np.array([1.0])),
        LogPool(np.array([0.5, 2.0]), np.array([0.1, -0.1]), np.array([0.01, np.nan])),
        ScaledSum.of(np.array([0.25, 0.75]), np.array([2.0, 10.0])),
    ],
    ids=lambda combiner: combiner.kind,
)
def test_combiners_are_restored_from_arrays(combiner):
    answers = [np.array([[0.2, 0.8], [0.7, 0.3]]), np.array([[0.5, 0.5], [0.6, 0.4]])]
    if combiner.kind == "sum":
        answers = [answer[:, :1] for answer in answers]
    again = COMBINERS[combiner.kind].from_arrays(combiner.arrays(), 2, 2)
    assert (again.combine(answers) == combiner.combine(answers)).all()
    arrays = combiner.arrays()
    for bad in (np.array([[-1.0], [2.0]]) if combiner.kind == "sum" else np.array([-1.0, 2.0]), np.array([1, 2])):
        with pytest.raises(ValueError, match="weights: expected"):
            COMBINERS[combiner.kind].from_arrays({**arrays, "weights": bad}, 2, 2)


@pytest.mark.parametrize("bad", [[0.0, 1.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0], [1.0]], ids=str)
def test_scales_of_a_file_are_above_0(bad):
    with pytest.raises(ValueError, match="scales: expected"):
        ScaledSum.from_arrays({"weights": np.array([0.5, 0.5]), "scales": np.array(bad)}, 2, 1)


@given(seed=SEEDS, unit=st.floats(1e-3, 1e3), level=st.floats(-1e3, 1e3))
def test_the_spread_knows_the_unit_of_answers_and_not_the_level_of_queries(seed, unit, level):
    rng = np.random.default_rng(seed)
    answers, weight, query = rng.normal(size=30), rng.integers(1, 4, 30).astype(float), rng.integers(0, 9, 30)
    rows = np.repeat(np.arange(30), weight.astype(int))
    centred = [answers[row] - np.mean([answers[r] for r in rows if query[r] == query[row]]) for row in rows]
    np.testing.assert_allclose(spread(answers, weight, query), np.std(centred), rtol=1e-12)
    moved = spread(unit * answers + level * query, weight, query)
    np.testing.assert_allclose(moved, unit * np.std(centred), rtol=1e-6)
    np.testing.assert_allclose(spread(answers, weight, None), np.std(answers[rows]), rtol=1e-12)


@pytest.mark.parametrize("constant", [0.0, 0.1, 7.0, 1e300])
def test_answers_without_spread_keep_their_unit(constant):
    assert spread(np.full(3, constant), np.ones(3), None) == 1.0


def plain_selection(answers, score, n_steps):
    """Caruana's loop, written as in the paper."""
    chosen = [max(range(len(answers)), key=lambda member: score(answers[member]))]
    best = list(chosen)
    while len(chosen) < n_steps:
        trials = [score(np.mean([answers[one] for one in [*chosen, member]], axis=0)) for member in range(len(answers))]
        chosen.append(int(np.argmax(trials)))
        if max(trials) > score(np.mean([answers[one] for one in best], axis=0)):
            best = list(chosen)
    return np.bincount(best, minlength=len(answers)) / len(best)


@given(seed=SEEDS, n_steps=st.integers(1, 12))
def test_greedy_selection_is_that_of_the_paper(seed, n_steps):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=30)
    answers = [(truth + rng.normal(size=30))[:, None] for _ in range(4)]

    def score(answer):
        return -((answer[:, 0] - truth) ** 2).mean()

    found = select(answers, score, Greed(n_steps, 1, 1, 1.0, 0))
    np.testing.assert_allclose(found, plain_selection(answers, score, n_steps))


def test_bags_average_over_parts_of_a_large_library():
    truth = np.arange(20.0)
    shifts = [0.0, 0.1, *np.linspace(3, 9, 38)]
    answers = [truth[:, None] + shift for shift in shifts]

    def score(answer):
        return -np.abs(answer[:, 0] - truth).mean()

    once = select(answers, score, Greed(5, 1, 1, 1.0, 0))
    bagged = select(answers, score, Greed(5, 1, 30, 0.5, 0))
    assert once[0] == 1
    assert bagged.sum() == pytest.approx(1)
    assert (bagged > 0).sum() > 2
    few = select(answers[:8], score, Greed(5, 1, 30, 0.5, 0))
    assert (few == once[:8]).all()  # every bag holds a small library whole
    assert select(answers, lambda answer: np.nan, Greed(3, 2, 1, 1.0, 0)).sum() == 1  # nothing can be told apart
