"""Queries: which rows are ranked against each other, in which order they are kept, and how well they are ranked."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.table import SparseTable, Table

FloatArray: TypeAlias = NDArray[np.float64]
Metric: TypeAlias = Literal["ndcg", "map", "mrr"]

# 2 to the power of a larger grade would make all others invisible; LightGBM's limit too.
LARGEST_GRADE = 31


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
        return cls(np.concatenate([[0], first, [len(query)]]).astype(np.int64), threads)

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

    def mean_metric(
        self, name: Metric, y: FloatArray, scores: FloatArray, k: int | None = None, weight: FloatArray | None = None
    ) -> float:
        """Mean over the queries that have a relevant row, weighted by the mean weight of their rows."""
        values = self.metric(name, y, scores, k)
        weights = np.ones(len(values)) if weight is None else np.add.reduceat(weight, self.start[:-1])
        if weight is not None:
            weights /= np.diff(self.start)
        known = ~np.isnan(values) & (weights > 0)
        if not known.any():
            raise ValueError(
                f"no query has a relevant row, one of a grade above 0: {name.upper()} means nothing; check y, or give "
                "more queries"
            )
        return float((values[known] * weights[known]).sum() / weights[known].sum())


def content_order(table: Table, query: NDArray[np.int64], y: FloatArray, weight: FloatArray | None) -> NDArray[np.intp]:
    """Order rows by query, those of a query by a hash of their content, and equal ones by weight.

    However the rows of a table are sorted, they come out in the same order; a weight moves no row past another.
    """
    hashed = _hashed(y, _key("target of the row"))
    keys = [_key(name) for name in table.schema.names]
    if isinstance(table, SparseTable):
        entries = table.matrix.tocoo()
        parts = _hashed(entries.data, np.array(keys, dtype=np.uint64)[entries.col])
        np.add.at(hashed, entries.row, parts)
    else:
        for key, values in zip(keys, table.columns, strict=True):
            hashed += _hashed(values, key)
    return np.lexsort((hashed, query) if weight is None else (weight, hashed, query))


def _key(name: str) -> np.uint64:
    return np.uint64(zlib.crc32(name.encode()) << 32)


def _hashed(values: NDArray[Any], key: Any) -> NDArray[np.uint64]:
    """Hash numbers, by the finaliser of SplitMix64 (Steele et al. 2014); 0 stays 0, as in a sparse table."""
    numbers = values.astype(np.float64) + 0.0  # no -0
    numbers[np.isnan(numbers)] = np.nan  # one NaN of many
    bits: NDArray[np.uint64] = numbers.view(np.uint64) ^ key
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    bits[numbers == 0] = 0
    return bits
