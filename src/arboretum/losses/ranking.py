"""Losses of orders: rows compete within their query.

Their gradients are computed in the kernel (``kernel/losses/ranking.hpp``), query by query. ``value`` is what users look
at: 1 − the mean metric of the queries.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from arboretum import _kernel
from arboretum.data.queries import LARGEST_GRADE, MetricName, Queries
from arboretum.losses.base import Loss, require
from arboretum.losses.links import FloatArray

# Places that "ndcg" counts; "map" and "mrr" count all.
SCORED_PLACES = 10


def read_metric(name: str) -> MetricName:
    """Return the metric of a name such as "ndcg@5", or raise ValueError."""
    found = MetricName.read(name)
    if found is None:
        raise ValueError(
            f"metric={name!r}: use 'ndcg' (its first {SCORED_PLACES} places), 'map' or 'mrr', or name the places that "
            "count, as in 'ndcg@5'"
        )
    return found


def check_grades(y: FloatArray) -> None:
    """Raise ValueError, naming the first bad row, unless all targets are grades."""
    rule = f"grades must lie between 0 and {LARGEST_GRADE}, for a row of grade y gains 2^y - 1: shift or scale them"
    require((y >= 0) & (y <= LARGEST_GRADE), y, rule)


@dataclass(frozen=True)
class RankingLoss(Loss):
    """A loss whose rows belong to queries; without queries all rows are one.

    Parameters
    ----------
    metric : str
        What ``value`` follows: "ndcg" of the first 10 places, "map" or "mrr"; or of the first k: "ndcg@5", "map@5".
    queries : Queries, optional
        Set by ``of_queries``.
    """

    task = "ranking"
    exact_hessian = False
    row_wise = False

    parameter_names: ClassVar[tuple[str, ...]] = ("metric",)

    metric: str = "ndcg"
    queries: Queries | None = field(default=None, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        read_metric(self.metric)

    def of_queries(self, queries: Queries | None) -> Loss:
        """Return the loss of rows with these queries."""
        return replace(self, queries=queries)

    def check_target(self, y: FloatArray) -> None:
        """Need grades from 0 to 31; they may be fractions."""
        super().check_target(y)
        check_grades(y)

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return 0: a constant does not change the order."""
        return np.zeros(1)

    def start_from(self, y: FloatArray, offset: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return 0: a constant does not change the order."""
        return self.start(y, weight)

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """1 − the metric of the row's query; 0 in a query without a relevant row."""
        queries = self._queries_of(y)
        values = 1.0 - queries.metric(self.followed.metric, y, raw, self.followed.k)
        return np.repeat(np.nan_to_num(values, nan=0.0), np.diff(queries.start))

    def value(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None = None) -> float:
        """1 − the mean metric of the queries that have a relevant row."""
        return 1.0 - self._queries_of(y).mean_metric(self.followed.metric, y, raw, self.followed.k, weight)

    @property
    def followed(self) -> MetricName:
        """The metric that ``value`` follows, and its places."""
        return MetricName("ndcg", SCORED_PLACES) if self.metric == "ndcg" else read_metric(self.metric)

    def _queries_of(self, y: FloatArray) -> Queries:
        return Queries.single(len(y)) if self.queries is None else self.queries


@dataclass(frozen=True)
class _PairLoss(RankingLoss):
    parameter_names = ("metric", "truncation")

    truncation: int | None = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.truncation is not None and self.truncation < 1:
            raise ValueError(f"truncation={self.truncation}: use an integer at least 1, or None for all places")

    @property
    @abstractmethod
    def _pair_weight(self) -> _kernel.PairWeight:
        """What multiplies the gradients of a pair."""

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sum up the gradients of each row's pairs."""
        queries, gradients, hessians = self._queries_of(y), np.empty(len(y)), np.empty(len(y))
        truncation = len(y) if self.truncation is None else min(self.truncation, len(y))
        cut = min(read_metric(self.metric).k or len(y), len(y))  # pairs feel all places of "ndcg", as in LightGBM
        given = y, np.ascontiguousarray(raw), queries.start, self._pair_weight, truncation, cut
        _kernel.pair_gradients(*given, gradients, hessians, queries.threads)
        return gradients, hessians


@dataclass(frozen=True)
class LambdaMart(_PairLoss):
    """Pairs of rows, weighted by what their swap would change the metric by (Burges 2010).

    Parameters
    ----------
    metric : str
        "ndcg", normalised discounted cumulative gain with gains 2^y − 1; "map", average precision, or "mrr", reciprocal
        rank, where y > 0 is relevant; or one of them of the first k places, as "ndcg@5".
    truncation : int or None
        Only pairs with a row among this many first places count; None counts all.

    Examples
    --------
    >>> gradients, hessians = LambdaMart().gradients(np.array([0.0, 1.0]), raw=np.zeros(2))
    >>> gradients.round(4)
    array([ 0.2266, -0.2266])
    """

    name = "lambdamart"

    @property
    def _pair_weight(self) -> _kernel.PairWeight:
        weight: _kernel.PairWeight = getattr(_kernel.PairWeight, read_metric(self.metric).metric)
        return weight


@dataclass(frozen=True)
class Pairwise(_PairLoss):
    """log(1 + exp(−difference of scores)) of every pair of a better and a worse row (RankNet, Burges et al. 2005).

    Parameters are those of ``LambdaMart``; the metric does not change the gradients.

    Examples
    --------
    >>> gradients, hessians = Pairwise().gradients(np.array([0.0, 1.0]), raw=np.zeros(2))
    >>> gradients
    array([ 0.5, -0.5])
    """

    name = "pairwise"

    @property
    def _pair_weight(self) -> _kernel.PairWeight:
        return _kernel.PairWeight.none


@dataclass(frozen=True)
class YetiRank(RankingLoss):
    """log(1 + exp(−difference of scores)) of neighbours in orders by score + logistic noise (Gulin et al. 2011).

    With a better row a and a worse row b at places i and i + 1 of one of the ``draws`` orders, the loss of the pair is
    0.85^i (y_a − y_b) log(1 + exp(score_b − score_a)) / draws. The metric is what ``value`` follows; it does not change
    the gradients.

    Parameters
    ----------
    metric : str
        As for ``LambdaMart``.
    draws : int
        Orders that are drawn of each query in each round.

    Examples
    --------
    >>> YetiRank().gradients(np.array([0.0, 1.0]), raw=np.zeros(2))
    (array([ 0.5, -0.5]), array([0.25, 0.25]))
    """

    name = "yetirank"
    parameter_names: ClassVar[tuple[str, ...]] = ("metric", "draws")

    draws: int = 10
    key: int = field(default=0, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.draws < 1:
            raise ValueError(f"draws={self.draws}: use an integer at least 1")

    def with_draws(self, key: int) -> Loss:
        """Return the loss of a round with draws of its own."""
        return replace(self, key=key)

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sum up the gradients of neighbours over the drawn orders."""
        queries, gradients, hessians = self._queries_of(y), np.empty(len(y)), np.empty(len(y))
        given = y, np.ascontiguousarray(raw), queries.start, self.key, self.draws
        _kernel.drawn_gradients(*given, gradients, hessians, queries.threads)
        return gradients, hessians


@dataclass(frozen=True)
class Listwise(RankingLoss):
    """Cross entropy between shares of the gains 2^y − 1 and the softmax of scores over a query (Bruch 2021).

    The metric is what ``value`` follows; it does not change the gradients.

    Examples
    --------
    >>> Listwise().gradients(np.array([0.0, 1.0]), raw=np.zeros(2))[0]
    array([ 0.5, -0.5])
    """

    name = "listwise"

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return p − share of the gains, and p (1 − p)."""
        queries, gradients, hessians = self._queries_of(y), np.empty(len(y)), np.empty(len(y))
        _kernel.list_gradients(y, np.ascontiguousarray(raw), queries.start, gradients, hessians, queries.threads)
        return gradients, hessians
