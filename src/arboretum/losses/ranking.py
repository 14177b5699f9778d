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
from arboretum.data.queries import LARGEST_GRADE, Metric, Queries
from arboretum.losses.base import Loss, require
from arboretum.losses.links import FloatArray

# Places that count when a model is scored by NDCG; MAP looks at whole lists.
SCORED_PLACES = 10
METRICS = ("ndcg", "map")


def check_grades(y: FloatArray) -> None:
    """Raise ValueError, naming the first bad row, unless all targets are grades."""
    rule = f"grades must lie between 0 and {LARGEST_GRADE}, for a row of grade y gains 2^y - 1: shift or scale them"
    require((y >= 0) & (y <= LARGEST_GRADE), y, rule)


@dataclass(frozen=True)
class RankingLoss(Loss):
    """A loss whose rows belong to queries; without queries all rows are one.

    Parameters
    ----------
    metric : {"ndcg", "map"}
        What ``value`` follows: NDCG of the first 10 places, or mean average precision.
    queries : Queries, optional
        Set by ``of_queries``.
    """

    task = "ranking"
    exact_hessian = False
    row_wise = False

    parameter_names: ClassVar[tuple[str, ...]] = ("metric",)

    metric: Metric = "ndcg"
    queries: Queries | None = field(default=None, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(f"metric={self.metric!r}: use one of {', '.join(map(repr, METRICS))}")

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
        values = 1.0 - queries.metric(self.metric, y, raw, self._places)
        return np.repeat(np.nan_to_num(values, nan=0.0), np.diff(queries.start))

    def value(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None = None) -> float:
        """1 − the mean metric of the queries that have a relevant row."""
        return 1.0 - self._queries_of(y).mean_metric(self.metric, y, raw, self._places, weight)

    @property
    def _places(self) -> int | None:
        return SCORED_PLACES if self.metric == "ndcg" else None

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
        given = y, np.ascontiguousarray(raw), queries.start, self._pair_weight, truncation
        _kernel.pair_gradients(*given, gradients, hessians, queries.threads)
        return gradients, hessians


@dataclass(frozen=True)
class LambdaMart(_PairLoss):
    """Pairs of rows, weighted by what their swap would change the metric by (Burges 2010).

    Parameters
    ----------
    metric : {"ndcg", "map"}
        Normalised discounted cumulative gain with gains 2^y − 1, or average precision, where y > 0 is relevant.
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
        return _kernel.PairWeight.map if self.metric == "map" else _kernel.PairWeight.ndcg


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
