"""AdaBoost: the loops against the papers' formulas, trees of gradients against a search of all cuts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arboretum import _kernel
from arboretum.data.binning import assign_bins, code_edges, learn_bins
from arboretum.data.table import read_table
from arboretum.ensembles.adaboost.rounds import (
    BinaryTrees,
    CodedRounds,
    DrawsByWeight,
    NumberTrees,
    boost_classes,
    boost_numbers,
    class_code,
    shallow_tree,
    voting_forest,
    weighted_median,
)

VALUES = st.sampled_from([0.0, -1.5, 2.0, 7.0, -1e300, 1e300, np.inf, -np.inf, np.nan])
WEIGHTS = st.floats(1e-3, 1e3)


def binned(X):
    table = read_table(X)
    bin_map = learn_bins(table, max_bins=None)
    return table, assign_bins(table, bin_map)


def tables(n_columns=2, least=2, most=30):
    return st.integers(least, most).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(VALUES, min_size=n_columns, max_size=n_columns), min_size=n, max_size=n),
            st.lists(st.integers(0, 1), min_size=n, max_size=n),
            st.lists(WEIGHTS, min_size=n, max_size=n),
        )
    )


# --------------------------------------------------------------------------------------------- the loop of classes


class Told:
    """Rounds whose errors are told beforehand."""

    def __init__(self, *errors):
        self.errors, self.factors = list(errors), []

    def fit(self, number):
        error = self.errors[number]
        if isinstance(error, type):
            raise error
        return error

    def reweight(self, right, wrong):
        self.factors.append((right, wrong))


def boost(*errors, n_classes=2, learning_rate=1.0):
    rounds = Told(*errors)
    return boost_classes(rounds, n_classes=n_classes, n_rounds=len(errors), learning_rate=learning_rate), rounds


@given(st.lists(st.floats(1e-9, 1 - 1e-9), min_size=1, max_size=5), st.integers(2, 6), st.floats(0.01, 3))
def test_weights_are_those_of_samme_and_factors_keep_the_sum(errors, n_classes, rate):
    errors = [error for error in errors if abs(1 - 1 / n_classes - error) > 1e-3] or [0.2]
    votes, rounds = boost(*errors, n_classes=n_classes, learning_rate=rate)
    assert votes.errors == errors
    for error, weight, (right, wrong) in zip(errors, votes.weights, rounds.factors, strict=True):
        assert weight == pytest.approx(rate * (math.log((1 - error) / error) + math.log(n_classes - 1)))
        assert wrong / right == pytest.approx(math.exp(weight), rel=1e-6)
        assert error * wrong + (1 - error) * right == pytest.approx(1)
        assert (weight > 0) == (error < 1 - 1 / n_classes)


@given(st.floats(1e-6, 0.49))
def test_two_classes_are_those_of_freund_and_schapire(error):
    votes, rounds = boost(error)
    alpha = math.log((1 - error) / error) / 2
    right, wrong = rounds.factors[0]
    scale = error * math.exp(alpha) + (1 - error) * math.exp(-alpha)
    assert votes.weights[0] == pytest.approx(2 * alpha)
    assert (right, wrong) == (pytest.approx(math.exp(-alpha) / scale), pytest.approx(math.exp(alpha) / scale))
    assert error * wrong == pytest.approx(0.5)  # the learner is a coin on the new weights


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("error", "weight"), [(0.0, 1.0), (1e-15, 1.0), (1.0, -1.0), (1 - 1e-15, -1.0)])
def test_a_learner_that_decides_everything_is_the_last(error, weight, n_classes):
    votes, rounds = boost(0.3, error, 0.2, n_classes=n_classes)
    assert votes.weights[1:] == [weight]
    assert votes.errors == [0.3, float(round(error))]
    assert type(votes.errors[1]) is float
    assert len(rounds.factors) == 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_learner_at_chance_ends_the_run_and_is_kept_only_if_it_is_the_first(n_classes):
    chance = 1 - 1 / n_classes
    assert boost(0.3, chance, 0.2, n_classes=n_classes)[0].errors == [0.3]
    votes, rounds = boost(chance, 0.2, n_classes=n_classes)
    assert (votes.weights, votes.errors, rounds.factors) == ([0.0], [chance], [])


def test_an_interrupt_keeps_the_rounds_so_far():
    votes, _ = boost(0.3, 0.4, KeyboardInterrupt, 0.1)
    assert (votes.errors, votes.interrupted) == ([0.3, 0.4], True)
    with pytest.raises(KeyboardInterrupt):
        boost(KeyboardInterrupt)
    assert not boost(0.3)[0].interrupted


@pytest.mark.parametrize("rate", [1e-300, 1e100])
@pytest.mark.parametrize("error", [1e-12, 0.4, 0.6, 1 - 1e-12])
def test_no_learning_rate_makes_weights_infinite(error, rate):
    votes, rounds = boost(error, learning_rate=rate)
    assert np.isfinite([*votes.weights, *rounds.factors[0]]).all()


# --------------------------------------------------------------------------------------------- the loop of numbers


class Predicting:
    """Learners whose predictions are told beforehand; weights are kept."""

    takes_weights = True

    def __init__(self, *predictions):
        self.predictions, self.weights = [np.array(p, float) for p in predictions], []

    def fit(self, weight, number):
        self.weights.append(weight.copy())
        return self.predictions[number]


LOSSES = {"linear": lambda e: e, "square": lambda e: e**2, "exponential": lambda e: 1 - math.exp(-e)}


@given(
    st.sampled_from(list(LOSSES)),
    st.lists(st.lists(st.floats(-9, 9), min_size=4, max_size=4), min_size=1, max_size=4),
    st.lists(WEIGHTS, min_size=4, max_size=4),
    st.floats(0.1, 2),
)
def test_numbers_are_boosted_as_drucker_writes(loss, predictions, weight, rate):
    y, w, expected = [1.0, -2.0, 0.5, 3.0], list(weight), []
    learners = Predicting(*predictions)
    votes = boost_numbers(
        learners, np.array(y), np.array(weight), loss=loss, n_rounds=len(predictions), learning_rate=rate
    )
    for number, predicted in enumerate(predictions):
        np.testing.assert_allclose(learners.weights[number], w, rtol=1e-6)
        errors = [abs(p - t) for p, t in zip(predicted, y, strict=True)]
        losses = [LOSSES[loss](e / max(errors)) if max(errors) else 0.0 for e in errors]
        error = sum(a * b for a, b in zip(w, losses, strict=True)) / sum(w)
        if abs(error - 0.5) < 1e-9 or (error >= 0.5 and number):
            break
        ends = error == 0 or error >= 0.5
        expected.append((1.0 if ends else -rate * math.log(error / (1 - error)), error))
        if ends:
            break
        beta = error / (1 - error)
        w = [a * beta ** (rate * (1 - b)) for a, b in zip(w, losses, strict=True)]
        w = [a * sum(weight) / sum(w) for a in w]
    n = len(expected)
    np.testing.assert_allclose(list(zip(votes.weights, votes.errors, strict=True))[:n], expected, rtol=1e-6)


def test_numbers_end_at_an_exact_learner_and_at_a_mean_loss_of_a_half():
    y, weight, good, bad = np.array([0.0, 1.0, 2.0]), np.ones(3), [0.1, 1, 2], [9, 9, 9]

    def run(*predictions):
        return boost_numbers(Predicting(*predictions), y, weight, loss="linear", n_rounds=3, learning_rate=1.0)

    assert run(good, [0, 1, 2], good).errors[1:] == [0.0]
    assert run(good, [0, 1, 2], good).weights[1] == 1.0
    assert len(run(good, bad, good).weights) == 1
    assert run(bad, good, good).weights == [1.0]


def test_numbers_survive_any_learning_rate():
    for loss in LOSSES:
        learners = Predicting([0.1, 1, 2], [0.1, 1.2, 2])
        votes = boost_numbers(
            learners, np.array([0.0, 1.0, 2.0]), np.ones(3), loss=loss, n_rounds=2, learning_rate=1e100
        )
        assert np.isfinite(votes.weights).all()
        assert learners.weights[1].sum() == pytest.approx(3)


# --------------------------------------------------------------------------------------------- trees of gradients


def gini_of(codes, weight):
    total = sum(weight)
    share = sum(w for c, w in zip(codes, weight, strict=True) if c) / total if total else 0.0
    return total * 2 * share * (1 - share)


def best_gini(X, codes, weight):
    """Least Σ weight · Gini of the two sides, over all cuts, missing values on either side."""
    best = gini_of(codes, weight)
    for column in np.array(X, float).T:
        missing = np.isnan(column)
        for cut in np.unique(column[~missing]):
            for goes_left in (True, False):
                left = np.where(missing, goes_left, column <= cut)
                sides = [[(c, w) for c, w, a in zip(codes, weight, left, strict=True) if a == side] for side in (0, 1)]
                best = min(best, sum(gini_of(*zip(*side, strict=True)) if side else 0.0 for side in sides))
    return best


@given(tables())
@example(
    (
        [[0.0, 0.0]] * 7 + [[-1.5, 0.0], [0.0, 0.0], [-1.5, -1.5], [0.0, 0.0]],
        [0] * 9 + [1, 0],
        [1.0] * 7 + [0.001, 1.0, 242.0, 264.0],
    )
)
def test_stumps_have_the_least_gini_of_all_cuts_and_know_their_error(case):
    X, codes, weight = (np.array(part) for part in case)
    _, data = binned(X)
    rounds = BinaryTrees(data, codes, weight.copy(), shallow_tree(1), 1)
    w = weight.copy()
    for number in range(4):
        error = rounds.fit(number)
        np.testing.assert_allclose(rounds.weight, w, rtol=1e-9)
        leaf = np.array(rounds.grower.leaf_of_row)
        assert len(rounds.trees[-1].values) <= 3
        sides = [np.flatnonzero(leaf == node) for node in np.unique(leaf)]
        gini = sum(gini_of(codes[side], w[side]) for side in sides)
        # Gains are compared by their first 17 bits (split.hpp): the best cut and the one taken may differ so much.
        assert gini == pytest.approx(best_gini(X, codes, w), rel=1e-4, abs=2**-16 * w.sum())
        named = np.array([codes[side] @ w[side] > (1 - codes[side]) @ w[side] for side in sides])
        predicted = np.empty(len(codes), int)
        for side, second in zip(sides, named, strict=True):
            predicted[side] = second
        wrong = w[predicted != codes].sum() / w.sum()
        assert error == pytest.approx(wrong, rel=1e-7, abs=1e-12)
        if error < 1e-9 or abs(error - 0.5) < 1e-6:
            break
        rounds.reweight(0.5 / (1 - error), 0.5 / error)
        w = w * np.where(predicted != codes, 0.5 / error, 0.5 / (1 - error))


@pytest.mark.parametrize("n_rows", [100, 70_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_reweighting_is_that_of_a_plain_loop(n_rows, threads):
    rng = np.random.default_rng(n_rows)
    X, codes, weight = rng.normal(size=(n_rows, 3)), rng.integers(0, 2, n_rows), rng.random(n_rows) * 1e-50
    weight[:10] = 1.0  # the others vanish in float32, but not for ever
    _, data = binned(np.round(X, 2))
    rounds = BinaryTrees(data, codes, weight, shallow_tree(1), threads)
    assert rounds.hessians.dtype == (np.float32 if n_rows > 65_536 else np.float64)
    for number in range(2):
        rounds.fit(number)
        leaf, before = rounds.grower.leaf_of_row, rounds.weight.copy()
        factors = np.array([[5.0, 5.0], [2.0, 3.0], [1e25, 7.0]])[: len(rounds.names_second)]
        _kernel.reweight(rounds.grower, factors.ravel(), rounds.weight, rounds.gradients, rounds.hessians, threads)
        np.testing.assert_array_equal(rounds.weight, before * factors[leaf, codes])
        assert number == 0 or n_rows == 100 or (rounds.hessians > 0).sum() > 10
        np.testing.assert_array_equal(rounds.hessians, rounds.weight.astype(rounds.hessians.dtype))
        np.testing.assert_array_equal(rounds.gradients, np.where(codes, -1, 1) * rounds.hessians)


@given(tables(), st.integers(1, 3))
def test_trees_of_numbers_predict_the_weighted_means_of_their_leaves(case, depth):
    X, _, weight = (np.array(part) for part in case)
    y = np.arange(len(weight)) * 1e90 - 3.0
    table, data = binned(X)
    learners = NumberTrees(data, code_edges(table, data.bin_map), y, weight, shallow_tree(depth), 1)
    predicted, leaf = learners.fit(weight, 0), np.array(learners.grower.leaf_of_row)
    assert len(np.unique(leaf)) <= 2**depth
    for node in np.unique(leaf):
        rows = leaf == node
        np.testing.assert_allclose(predicted[rows], np.average(y[rows], weights=weight[rows]), rtol=1e-6, atol=1e84)
    raw = learners.forest(1).raw(table.columns, len(y))[:, 0]
    np.testing.assert_array_equal(raw, predicted)


# --------------------------------------------------------------------------------------------- together


def test_codes_of_votes_sum_to_zero_and_a_class_is_farthest_from_others():
    for n_classes in (3, 4, 9):
        code = class_code(n_classes)
        np.testing.assert_allclose(code.sum(axis=1), 0, atol=1e-12)
        assert (code.argmax(axis=1) == np.arange(n_classes)).all()
    assert class_code(2).tolist() == [[-1.0], [1.0]]


def test_a_voting_forest_sums_weighted_votes():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    table, data = binned(X)
    rounds = BinaryTrees(data, np.array([0, 1, 1, 1]), np.ones(4), shallow_tree(1), 1)
    rounds.fit(0)
    rounds.reweight(0.1, 10.0)
    rounds.fit(1)
    forest = voting_forest(rounds.forest(2), np.array([2.0, -0.5]), 2)
    first = np.array([-1.0, 1, 1, 1])
    np.testing.assert_array_equal(forest.raw(table.columns, 4)[:, 0], 2 * first - 0.5 * first)


@given(
    st.integers(1, 6).flatmap(
        lambda m: st.tuples(
            st.lists(st.lists(st.floats(-1e300, 1e300), min_size=m, max_size=m), min_size=1, max_size=5),
            st.lists(WEIGHTS, min_size=m, max_size=m),
        )
    )
)
def test_the_median_is_the_least_value_that_half_of_the_weight_does_not_exceed(case):
    predictions, weights = case
    found = weighted_median(np.array(predictions), np.array(weights))
    for row, median in zip(predictions, found, strict=True):
        reached = [sum(w for p, w in zip(row, weights, strict=True) if p <= value) for value in row]
        half = sum(weights) / 2
        enough = [value for value, weight in zip(row, reached, strict=True) if weight >= half * (1 - 1e-12)]
        least = [value for value, weight in zip(row, reached, strict=True) if weight >= half * (1 + 1e-12)]
        assert median in (min(enough), min(least))


def test_medians_of_many_rows_are_those_of_each():
    rng = np.random.default_rng(0)
    predictions, weights = rng.normal(size=(40_000, 5)), rng.random(5)
    found = weighted_median(predictions, weights)
    for row in (0, 16_383, 16_384, 39_999):
        assert found[row] == weighted_median(predictions[row : row + 1], weights)[0]


# --------------------------------------------------------------------------------------------- draws by weight


def test_draws_follow_the_weights_and_not_the_order_of_rows():
    rng = np.random.default_rng(0)
    weight = np.array([0.0, 1.0, 2.5, 0.5, 6.0])
    order = rng.permutation(5).astype(np.uint32)
    draws = DrawsByWeight(order, 100_000, 7)
    copies = draws.copies(weight, 0)
    assert copies.sum() == 100_000
    assert copies[0] == 0
    np.testing.assert_allclose(copies / 100_000, weight / weight.sum(), atol=0.006)
    assert (copies != draws.copies(weight, 1)).any()
    assert (copies != DrawsByWeight(order, 100_000, 8).copies(weight, 0)).any()
    moved = rng.permutation(5)  # row moved[i] of the new table was row i
    again = np.empty(5)
    again[moved] = weight
    shuffled = DrawsByWeight(moved[order].astype(np.uint32), 100_000, 7).copies(again, 0)
    np.testing.assert_array_equal(shuffled[moved], copies)


def test_whole_weights_draw_as_often_as_repeated_rows():
    order = np.array([2, 0, 1], np.uint32)
    weight = np.array([2.0, 1.0, 3.0])
    one = DrawsByWeight.of(order, weight, 3)
    several = DrawsByWeight.of(np.array([3, 4, 5, 0, 1, 2], np.uint32), np.ones(6), 3)
    assert one.n_draws == several.n_draws == 6
    changed = np.array([0.3, 0.2, 0.4])  # after some rounds
    copies = one.copies(changed * weight, 5)
    repeated = several.copies(np.repeat(changed, [2, 1, 3]), 5)
    np.testing.assert_array_equal(copies, np.add.reduceat(repeated, [0, 2, 3]))
    assert DrawsByWeight.of(order, weight + 0.5, 3).n_draws == 3


def test_coded_rounds_leave_the_given_weights_alone():
    weight = np.array([1.0, 2.0, 1.0])
    rounds = CodedRounds(Predicting([0, 1, 1]), np.array([0, 0, 1]), weight)
    assert rounds.fit(0) == 0.5
    rounds.reweight(0.5, 1.5)
    assert rounds.weight.tolist() == [0.5, 3.0, 0.5]
    assert weight.tolist() == [1.0, 2.0, 1.0]
