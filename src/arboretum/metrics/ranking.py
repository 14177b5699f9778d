"""How well scores order the rows of each query.

All three metrics lie between 0 and 1, and are means over the queries that have a relevant row, one with a grade above
0: the order of other queries is neither good nor bad. (LightGBM counts them as 1, scikit-learn as 0.) Rows of equal
scores count as if their order were drawn at random, by the expected value (McSherry & Najork, *Computing information
retrieval performance measures efficiently in the presence of tied scores*, ECIR 2008), so that the order of the table
does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arboretum.arguments import check_integer
from arboretum.data import targets
from arboretum.data.queries import Metric, Queries
from arboretum.losses.ranking import check_grades
from arboretum.running.threads import n_threads


def ndcg_score(y: Any, scores: Any, group: Any, *, k: int | None = 10, sample_weight: Any = None) -> float:
    """Normalised discounted cumulative gain (Järvelin & Kekäläinen 2002), with gains 2^y − 1.

    Parameters
    ----------
    y : array-like
        Grades, from 0 (not relevant) to 31.
    scores : array-like
        Predictions; the highest comes first.
    group : array-like
        Query of each row: ids of any kind, in any order.
    k : int, optional, default=10
        Places that count; None counts all.
    sample_weight : array-like, optional
        Weights; a query has the mean weight of its rows.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> ndcg_score([0, 1, 0, 2], [0.3, 0.2, 0.1, 0.4], ["a", "a", "b", "b"]).__round__(4)
    0.8155
    """
    return _score("ndcg", y, scores, group, k, sample_weight)


def map_score(y: Any, scores: Any, group: Any, *, k: int | None = None, sample_weight: Any = None) -> float:
    """Mean average precision: for each relevant row, the share of relevant ones up to its place.

    Parameters
    ----------
    y : array-like
        Grades; rows above 0 are relevant.
    scores, group, sample_weight
        As for ``ndcg_score``.
    k : int, optional
        Places that count; the sum is then divided by k where more rows are relevant.

    Examples
    --------
    >>> map_score([0, 1, 0, 1], [0.3, 0.2, 0.1, 0.4], ["a", "a", "b", "b"])
    0.75
    """
    return _score("map", y, scores, group, k, sample_weight)


def mrr_score(y: Any, scores: Any, group: Any, *, k: int | None = None, sample_weight: Any = None) -> float:
    """Mean reciprocal rank: 1 / place of the first relevant row.

    Parameters
    ----------
    y, scores, group, sample_weight
        As for ``map_score``.
    k : int, optional
        Places that count; a first relevant row beyond them counts 0.

    Examples
    --------
    >>> mrr_score([0, 1, 0, 1], [0.3, 0.2, 0.1, 0.4], ["a", "a", "b", "b"])
    0.75
    """
    return _score("mrr", y, scores, group, k, sample_weight)


def _score(metric: Metric, y: Any, scores: Any, group: Any, k: int | None, sample_weight: Any) -> float:
    if k is not None:
        check_integer("k", k)
    given = targets.to_numpy(scores, "scores")
    predicted = targets.as_numbers(targets.as_column(given, np.size(given), "scores"), "scores", "give numbers")
    grades = targets.grades(targets.as_column(y, len(predicted), "y", "scores"))
    check_grades(grades)
    query = targets.query_numbers(group, len(predicted), "group", "scores")
    weight = targets.row_weights(sample_weight, len(predicted), table="scores")
    order = np.argsort(query, kind="stable")
    if weight is not None:
        order = order[weight[order] > 0]
        weight = weight[order]
    queries = Queries.of_sorted(query[order], n_threads(None))
    return queries.mean_metric(metric, grades[order], predicted[order], k, weight)
