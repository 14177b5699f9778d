"""Ranking metrics against plain twins, scikit-learn and LightGBM's definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics
from tests.reference import ranking

from arboretum.metrics import map_score, mrr_score, ndcg_score

SCORES = {"ndcg": ndcg_score, "map": map_score, "mrr": mrr_score}
ROWS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.0, 1.0, 2.0, 1.5]),
        st.sampled_from([0.0, 1.0, -1e300, 1e300, 5e-324]),
        st.sampled_from("abc"),
    ),
    min_size=1,
    max_size=7,
)


@settings(max_examples=150, deadline=None)
@given(ROWS, st.sampled_from(list(SCORES)), st.one_of(st.none(), st.integers(1, 8)))
@example([(0.0, 0.0, "a"), (1.0, 0.0, "a"), (1.0, 0.0, "a"), (0.0, 0.0, "a")], "map", None)
@example([(0.0, 0.0, "a"), (1.0, 0.0, "a"), (1.0, 0.0, "a"), (0.0, 0.0, "a")], "mrr", 2)
def test_equals_the_mean_over_all_orders_of_ties(rows, metric, k):
    y, scores, group = ([row[i] for row in rows] for i in range(3))
    expected = []
    for query in sorted(set(group)):
        mine = [row for row in rows if row[2] == query]
        cut = len(mine) if k is None else k
        expected.append(ranking.mean_over_ties(metric, [r[0] for r in mine], [r[1] for r in mine], cut))
    known = [value for value in expected if not math.isnan(value)]
    if not known:
        with pytest.raises(ValueError, match=f"no query has a relevant row.*{metric.upper()} is undefined"):
            SCORES[metric](y, scores, group, k=k)
    else:
        assert SCORES[metric](y, scores, group, k=k) == pytest.approx(sum(known) / len(known), rel=1e-12)


def judged(seed=0, n_rows=400):
    random = np.random.default_rng(seed)
    group = random.integers(0, 30, n_rows)
    return random.integers(0, 4, n_rows), np.round(random.normal(size=n_rows), 1), group


@pytest.mark.parametrize("k", [1, 5, 10, None])
def test_ndcg_equals_scikit_learn(k):
    y, scores, group = judged()
    expected = [
        sklearn_metrics.ndcg_score([2.0 ** y[group == q] - 1], [scores[group == q]], k=k) for q in np.unique(group)
    ]
    assert ndcg_score(y, scores, group, k=k) == pytest.approx(np.mean(expected), rel=1e-12)


def test_map_equals_scikit_learn_without_ties():
    y, _, group = judged()
    scores = np.random.default_rng(1).permutation(len(y))
    expected = [
        sklearn_metrics.average_precision_score(y[group == q] > 0, scores[group == q]) for q in np.unique(group)
    ]
    assert map_score(y, scores, group) == pytest.approx(np.mean(expected), rel=1e-12)


@pytest.mark.parametrize("score", SCORES.values())
def test_order_of_rows_and_names_of_queries_do_not_matter(score):
    y, scores, group = judged()
    value = score(y, scores, group, k=10)
    order = np.random.default_rng(1).permutation(len(y))
    assert score(y[order], scores[order], group[order], k=10) == value
    assert score(y, scores, [f"query {29 - q:02}" for q in group], k=10) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("score", SCORES.values())
def test_a_weight_of_a_query_counts_its_copies(score):
    y, scores, group = judged()
    copies = np.array([0, 1, 3])[group % 3]
    rows = np.concatenate([np.flatnonzero(copies > time) for time in range(3)])
    names = np.concatenate([group[copies > time] + 100 * time for time in range(3)])
    weighted = score(y, scores, group, sample_weight=copies)
    assert weighted == pytest.approx(score(y[rows], scores[rows], names), rel=1e-12)
    assert weighted != score(y, scores, group)


def test_queries_without_a_relevant_row_are_left_out():
    assert ndcg_score([0, 0, 0, 1], [4, 3, 1, 2], [1, 1, 2, 2]) == 1.0
    assert mrr_score([0, 0, 0, 1], [4, 3, 2, 1], [1, 1, 2, 2]) == 0.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k=0: use an integer at least 1"),
        ({"y": [0, 1]}, "y has 2 values, but scores has 3 rows"),
        ({"y": [0, -1, 1]}, r"y\[1\] = -1.0: grades must lie between 0 and 31"),
        ({"y": [0, np.nan, 1]}, "Input y contains NaN"),
        ({"scores": [0, np.inf, 1]}, "Input scores contains infinity"),
        ({"group": None}, "group is None: give the id of each row's query"),
        ({"group": [1, 1]}, "group has 2 ids, but scores has 3 rows: give one query id per row$"),
        ({"group": [1, 2]}, "these look like sizes: use np.repeat"),
        ({"group": [1, np.nan, 2]}, r"group has a missing id \(.*nan.*\) in row 1"),
        ({"group": np.array([1, None, 2])}, r"group has a missing id \(None\) in row 1"),
        ({"group": np.array([1, "a", 2], dtype=object)}, "group has ids that cannot be compared: convert all of them"),
        ({"group": [[1, 1, 2]]}, r"group has shape \(1, 3\): give one query id per row"),
        ({"sample_weight": [1, -1, 1]}, "sample_weight is negative in row 1"),
    ],
)
def test_errors(changes, message):
    given = {"y": [0, 1, 2], "scores": [0.0, 1.0, 2.0], "group": [1, 1, 2], **changes}
    with pytest.raises(ValueError, match=message):
        ndcg_score(given.pop("y"), given.pop("scores"), given.pop("group"), **given)
