"""Gradients of ranking losses against plain twins."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.reference import ranking

from arboretum.data.queries import Queries
from arboretum.losses import LOSSES, LambdaMart, Listwise, Loss, Pairwise, YetiRank, from_json, resolve

RANKING = [
    LambdaMart(),
    LambdaMart(metric="map"),
    LambdaMart(metric="mrr@3"),
    LambdaMart(truncation=None),
    Pairwise(truncation=3),
    Listwise(),
    YetiRank(),
]
GRADES = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, 4.0, 0.5])
SCORES = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 1e-9]), st.floats(-30, 30))
ROWS = st.lists(st.tuples(GRADES, SCORES), min_size=1, max_size=9)


def arrays(rows):
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


@settings(max_examples=200, deadline=None)
@given(ROWS, st.sampled_from(["ndcg", "map", "mrr", None]), st.integers(1, 10), st.none() | st.integers(1, 6))
@example([(1.0, 0.0), (0.0, 0.0), (2.0, 0.0)], "ndcg", 1, None)
@example([(0.0, 3.0), (1.0, 2.0), (0.0, 1.0), (1.0, 0.0)], "map", 2, None)
@example([(0.0, 3.0), (1.0, 2.0), (0.0, 1.0), (1.0, 0.0)], "mrr", 9, 2)
def test_pairs_equal_the_twin(rows, metric, truncation, k):
    y, raw = arrays(rows)
    name = metric if k is None else f"{metric}@{k}"
    loss = Pairwise(truncation=truncation) if metric is None else LambdaMart(metric=name, truncation=truncation)
    expected = ranking.pair_gradients(metric, y, raw, truncation, k)
    np.testing.assert_allclose(loss.gradients(y, raw), expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(0, 2**64 - 1), st.integers(1, 4))
def test_drawn_orders_equal_the_twin(rows, key, draws):
    y, raw = arrays(rows)
    loss = YetiRank(draws=draws).with_draws(key)
    expected = ranking.neighbour_gradients(y, raw, key, draws)
    np.testing.assert_allclose(loss.gradients(y, raw), expected, rtol=1e-9, atol=1e-12)


def test_draws_follow_from_the_key_and_the_grades():
    y, raw, queries = random_queries()
    loss = YetiRank().of_queries(queries)
    rounds = [loss.with_draws(key).gradients(y, raw)[0] for key in (1, 2)]
    assert not np.allclose(*rounds)
    copies = YetiRank().of_queries(Queries.joined([queries, queries])).with_draws(1).gradients(*np.tile([y, raw], 2))
    np.testing.assert_array_equal(copies[0], np.tile(rounds[0], 2))


def test_many_drawn_orders_agree():
    """The noise of the weights falls with the root of the draws."""
    y, raw, queries = random_queries(n_queries=5, longest=12)
    few, many = (
        [YetiRank(draws=draws).of_queries(queries).with_draws(key).gradients(y, raw)[0] for key in range(8)]
        for draws in (4, 1600)
    )
    assert np.std(many, axis=0).mean() < np.std(few, axis=0).mean() / 15


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_lists_equal_the_twin(rows):
    y, raw = arrays(rows)
    np.testing.assert_allclose(Listwise().gradients(y, raw), ranking.list_gradients(y, raw), rtol=1e-9, atol=1e-12)


def random_queries(n_queries=80, longest=120, seed=0):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, longest, n_queries)
    y = random.integers(0, 5, sizes.sum()).astype(float) * (random.random(sizes.sum()) < 0.4)
    raw = np.round(random.normal(size=sizes.sum()), 1)
    return y, raw, Queries(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


@pytest.mark.parametrize("loss", RANKING, ids=repr)
def test_queries_do_not_mix(loss):
    y, raw, queries = random_queries()
    together = loss.of_queries(queries).gradients(y, raw)
    for begin, end in zip(queries.start[:-1], queries.start[1:], strict=True):
        alone = loss.gradients(y[begin:end], raw[begin:end])
        np.testing.assert_array_equal(np.array(together)[:, begin:end], alone)


@pytest.mark.parametrize("loss", RANKING, ids=repr)
def test_any_number_of_threads(loss):
    y, raw, queries = random_queries()
    one = loss.of_queries(queries)
    for threads in (2, 5):
        many = loss.of_queries(replace(queries, threads=threads))
        np.testing.assert_array_equal(one.gradients(y, raw), many.gradients(y, raw))
        assert one.value(y, raw) == many.value(y, raw)


@pytest.mark.parametrize("loss", RANKING, ids=repr)
def test_extreme_scores_have_finite_gradients(loss):
    y = np.array([0.0, 31.0, 2.0, 0.0, 1.0])
    for raw in (np.array([1e300, -1e300, 0.0, 1.0, -1.0]), np.array([1e-300, 0.0, -1e-300, 0.0, 0.0])):
        gradients, hessians = loss.gradients(y, raw)
        assert np.isfinite(gradients).all()
        assert np.isfinite(hessians).all()
        assert (hessians >= 0).all()


@pytest.mark.parametrize("loss", RANKING, ids=repr)
def test_gradients_of_a_query_cancel(loss):
    """A constant added to all scores changes nothing."""
    y, raw, queries = random_queries()
    gradients, _ = loss.of_queries(queries).gradients(y, raw)
    np.testing.assert_allclose(np.add.reduceat(gradients, queries.start[:-1]), 0, atol=1e-10)


def test_pairwise_gradients_are_derivatives_up_to_the_factor_of_the_query():
    y, raw = np.array([0.0, 2.0, 1.0, 0.0]), np.array([0.3, -0.2, 0.8, 0.1])

    def value(at):
        return sum(np.logaddexp(0, at[b] - at[a]) for a in range(4) for b in range(4) if y[a] > y[b])

    slope = np.array([(value(raw + step) - value(raw - step)) / 2e-6 for step in 1e-6 * np.eye(4)])
    size = sum(1 / (1 + np.exp(raw[a] - raw[b])) for a in range(4) for b in range(4) if y[a] > y[b])
    gradients, _ = Pairwise().gradients(y, raw)
    np.testing.assert_allclose(gradients, slope * np.log2(1 + 2 * size) / (2 * size), rtol=1e-6)


@pytest.mark.parametrize("loss", RANKING, ids=repr)
def test_equal_grades_have_no_gradients_but_lists_level_them(loss):
    for grade in (0.0, 2.0):
        gradients, hessians = loss.gradients(np.full(4, grade), np.zeros(4))
        np.testing.assert_array_equal(gradients, 0)
        if not isinstance(loss, Listwise):
            np.testing.assert_array_equal(hessians, 0)


@pytest.mark.parametrize(
    ("name", "metric", "places"),
    [("ndcg", "ndcg", 10), ("ndcg@3", "ndcg", 3), ("map", "map", None), ("map@5", "map", 5), ("mrr", "mrr", None)],
)
def test_value_is_one_minus_the_metric(name, metric, places):
    y, raw, queries = random_queries()
    loss = LambdaMart(metric=name).of_queries(queries)
    assert loss.value(y, raw) == 1 - queries.mean_metric(metric, y, raw, places)
    per_row = loss.values(y, raw)
    by_query = queries.metric(metric, y, raw, places)
    np.testing.assert_array_equal(per_row, np.repeat(np.nan_to_num(1 - by_query, nan=0), np.diff(queries.start)))


@pytest.mark.parametrize("loss", RANKING, ids=repr)
def test_json_and_pickle_keep_parameters_and_no_queries(loss):
    bound = loss.of_queries(Queries.single(3))
    assert from_json(json.loads(json.dumps(bound.to_json()))) == loss
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert type(LOSSES[loss.name]()) is type(loss)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: LambdaMart(metric="auc"),
            r"metric='auc': use 'ndcg' \(its first 10 places\), 'map' or 'mrr', or name",
        ),
        (lambda: LambdaMart(metric="ndcg@0"), "metric='ndcg@0': use 'ndcg'"),
        (lambda: YetiRank(draws=0), "draws=0: use an integer at least 1"),
        (lambda: Pairwise(truncation=0), "truncation=0: use an integer at least 1, or None for all places"),
        (lambda: LambdaMart().check_target(np.array([0.0, -1.0])), r"y\[1\] = -1.0: grades must lie between 0 and 31"),
        (lambda: Listwise().check_target(np.array([32.0])), r"y\[0\] = 32.0: grades must lie between 0 and 31"),
        (lambda: resolve("lambdamart"), "loss 'lambdamart' is for ranking, not regression"),
        (lambda: resolve("poisson", task="ranking"), "is for regression, not ranking: use one of lambdamart, pairwise"),
        (lambda: LambdaMart().value(np.zeros(2), np.zeros(2)), "no query has a relevant row"),
    ],
)
def test_errors(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_other_losses_do_not_ask_for_queries():
    loss: Loss = LOSSES["squared_error"]()
    assert loss.of_queries(Queries.single(3)) is loss
