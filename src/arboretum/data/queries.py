"""Queries: which rows are ranked against each other, and how well they are ranked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.exact_sums import exact_mean, sum_by_group

FloatArray: TypeAlias = NDArray[np.float64]
Metric: TypeAlias = Literal["ndcg", "map", "mrr"]

# 2 to the power of a larger grade would make all others invisible; LightGBM's limit too.
LARGEST_GRADE = 31


class MetricName(NamedTuple):
    """What a name such as "ndcg@5" says: a metric, and the number of places that count if it gives one.

    Examples
    --------
    >>> MetricName.read("ndcg@5"), MetricName.read("map"), MetricName.read("auc")
    (MetricName(metric='ndcg', k=5), MetricName(metric='map', k=None), None)
    >>> str(MetricName("ndcg", 5)), str(MetricName("map", None))
    ('ndcg@5', 'map')
    """

    metric: Metric
    k: int | None

    def __str__(self) -> str:
        return self.metric if self.k is None else f"{self.metric}@{self.k}"

    @classmethod
    def read(cls, name: str) -> MetricName | None:
        """Read a name; None if it is none."""
        found = re.fullmatch(rf"({'|'.join(get_args(Metric))})(?:@([1-9]\d{{0,8}}))?", name)
        return None if found is None else cls(cast(Metric, found[1]), None if found[2] is None else int(found[2]))


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows of a query, one query after the other.

    ::

        row     0 1 2 3 │ 4 5 │ 6 7 8 9 10
        start   0         4     6           11

    Parameters
    ----------
    start : ndarray of int64, (n_queries + 1,)
        First row of each query; none is empty.
    threads : int
        Threads to use; no result depends on it.

    Examples
    --------
    >>> queries = Queries.of_sorted(np.array([3, 3, 7]))
    >>> queries.start
    array([0, 2, 3])
    >>> queries.mean_metric("ndcg", y=np.array([0.0, 1.0, 0.0]), scores=np.array([0.1, 0.2, 0.3]))
    1.0
    """

    start: NDArray[np.int64]
    threads: int = 1

    @classmethod
    def of_sorted(cls, query: NDArray[np.int64], threads: int = 1) -> Queries:
        """Find the queries of rows that are sorted by query."""
        first = np.flatnonzero(query[1:] != query[:-1]) + 1
        return cls(np.unique(np.concatenate([[0], first, [len(query)]])).astype(np.int64), threads)

    @classmethod
    def joined(cls, parts: Sequence[Queries]) -> Queries:
        """Put the queries of several tables one below the other.

        Examples
        --------
        >>> Queries.joined([Queries.single(2), Queries.of_sorted(np.array([0, 0, 1]))]).start
        array([0, 2, 4, 5])
        """
        sizes = np.concatenate([np.diff(part.start) for part in parts])
        return cls(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), parts[0].threads)

    @classmethod
    def single(cls, n_rows: int) -> Queries:
        """Make all rows one query."""
        return cls(np.array([0, n_rows], dtype=np.int64))

    def metric(self, name: Metric, y: FloatArray, scores: FloatArray, k: int | None = None) -> FloatArray:
        """Metric of each query, cut at place ``k``; NaN where no row is relevant."""
        values = np.empty(len(self.start) - 1)
        cut = len(y) if k is None else min(k, len(y))
        kind = getattr(_kernel.RankingMetric, name)
        _kernel.ranking_metric(kind, y, np.ascontiguousarray(scores), self.start, cut, values, self.threads)
        return values

    def _mean_weights(self, weight: FloatArray) -> FloatArray:
        sizes = np.diff(self.start)
        return sum_by_group(weight, np.repeat(np.arange(len(sizes)), sizes), len(sizes), shared=False) / sizes

    def mean_metric(
        self, name: Metric, y: FloatArray, scores: FloatArray, k: int | None = None, weight: FloatArray | None = None
    ) -> float:
        """Mean over the queries that have a relevant row, weighted by the mean weight of their rows."""
        values = self.metric(name, y, scores, k)
        weights = np.ones(len(values)) if weight is None else self._mean_weights(weight)
        known = ~np.isnan(values) & (weights > 0)
        if not places.anywhere(bool(known.any())):
            raise ValueError(
                f"no query has a relevant row, one of a grade above 0: {name.upper()} is undefined; check y, or give "
                "more queries"
            )
        return exact_mean(values[known], weights[known])
