"""Divide and conquer: the recursion that ID3 and C4.5 share, with an explicit stack so that depth has no limit.

The methods differ in one function, which looks at the rows of a node and proposes a `Split`, or none::

    grow ──rows, weights, class counts──► find_split ──► Split | None
        ◄────────────── rows and weights of each child ──────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum.arguments import first_true
from arboretum.data.schema import MISSING
from arboretum.data.table import Table
from arboretum.trees.multiway import LEAF, MultiwayTree

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

# Gains (bits) that differ by less count as equal, so that the order of sums does not change the split.
TIE = 1e-9


@dataclass(frozen=True)
class Cases:
    """Rows of a node; a row with missing values may have only a part of its weight here."""

    rows: IntArray
    weight: FloatArray


@dataclass(frozen=True)
class Split:
    """A condition and the cases of each of its branches, in ascending order."""

    kind: int
    feature: int
    threshold: float
    gain: float
    branches: Sequence[int]
    parts: Sequence[Cases]


FindSplit: TypeAlias = Callable[[Cases, FloatArray], Split | None]


@dataclass(frozen=True, eq=False)
class Problem:
    """A training table and the class numbers of its rows.

    Parameters
    ----------
    columns : list of arrays
        All columns, dense.
    order : list of int
        Columns in the order in which ties are broken: by name, so that the order of columns does not matter.
    y : int64 array (rows)
        Class numbers, below ``n_classes``.
    n_classes : int
        Number of classes.
    cases : Cases
        The rows that have weight.
    """

    columns: list[NDArray[Any]]
    order: list[int]
    y: IntArray
    n_classes: int
    cases: Cases

    @classmethod
    def read(cls, table: Table, y: ArrayLike, n_classes: int | None, sample_weight: ArrayLike | None) -> Problem:
        """Check the table, the target and the weights; rows without weight are left out."""
        classes = np.asarray(y)
        if classes.shape != (table.n_rows,) or classes.dtype.kind not in "iu":
            raise ValueError(f"y must hold the number of a class for each of the {table.n_rows} rows")
        least, most = int(classes.min()), int(classes.max())
        limit = most + 1 if n_classes is None else n_classes
        if least < 0 or most >= limit:
            found = least if least < 0 else most
            raise ValueError(f"y must hold class numbers from 0 to {limit - 1}, but holds {found}")
        cases = _weighted(sample_weight, len(classes))
        return cls(_dense_columns(table), table.schema.by_name, classes.astype(np.int64), limit, cases)

    def grow(self, find_split: FindSplit, max_depth: int | None = None) -> MultiwayTree:
        """Split the cases until they are pure, the maximum depth is reached, or `find_split` returns no split."""
        links: list[tuple[int, int]] = []
        conditions: list[tuple[int, int, float, float]] = []
        counts: list[FloatArray] = []
        stack = [(-1, 0, 0, self.cases)]
        while stack:
            parent, branch, depth, cases = stack.pop()
            count = _sums_at(self.y[cases.rows], cases.weight, self.n_classes)
            is_open = depth != max_depth and np.count_nonzero(count) > 1
            split = find_split(cases, count) if is_open else None
            node = len(links)
            links.append((parent, branch))
            counts.append(count)
            if split is None:
                conditions.append((LEAF, -1, 0.0, 0.0))
                continue
            conditions.append((split.kind, split.feature, split.threshold, split.gain))
            children = [(node, b, depth + 1, part) for b, part in zip(split.branches, split.parts, strict=True)]
            stack += reversed(children)
        kind, feature, threshold, gain = zip(*conditions, strict=True)
        parents, branches = np.array(links, np.int32).T
        return MultiwayTree(
            parent=parents,
            branch=branches,
            kind=np.array(kind, np.uint8),
            feature=np.array(feature, np.int32),
            threshold=np.array(threshold, np.float64),
            gain=np.array(gain, np.float64),
            counts=np.array(counts),
        )

    def tabulate(self, feature: int, cases: Cases) -> tuple[IntArray, FloatArray]:
        """Return the categories that occur, ascending (−1: missing), and their class counts (categories, n_classes)."""
        codes, y, n_classes = self.columns[feature][cases.rows], self.y[cases.rows], self.n_classes
        span = int(codes.max()) + 2
        if span * n_classes > 8 * len(codes):  # few rows of many categories
            present, place = np.unique(codes, return_inverse=True)
        else:
            present, place = np.arange(-1, span - 1), codes + 1
        sums = _sums_at(place * n_classes + y, cases.weight, len(present) * n_classes)
        counts = sums.reshape(len(present), n_classes)
        occurs = counts.any(axis=1)
        return present[occurs].astype(np.int64), counts[occurs]


def _weighted(sample_weight: ArrayLike | None, n_rows: int) -> Cases:
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight must have {n_rows} values, not the shape {weight.shape}")
    if (wrong := first_true(~(np.isfinite(weight) & (weight >= 0)))) is not None:
        raise ValueError(f"sample_weight[{wrong}] is {weight[wrong]}; weights must be finite and not negative")
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not 0 < total < np.inf:
        raise ValueError(f"sample_weight adds up to {total}; it must be positive and finite")
    rows = np.flatnonzero(weight > 0)
    return Cases(rows, weight[rows])


def _dense_columns(table: Table) -> list[NDArray[Any]]:
    columns = [column for _, batch in table.column_batches() for column in batch]
    for column, schema in zip(columns, table.schema.columns, strict=True):
        if schema.kind == "categorical" and column.min() < MISSING:
            raise ValueError(f"column {schema.name!r} has unknown categories; read the training table with read_table")
    return columns


def _sums_at(place: IntArray, weight: FloatArray, length: int) -> FloatArray:
    """Return the sum of the weights of each place."""
    return np.asarray(np.bincount(place, weights=weight, minlength=length))


def by_category(cases: Cases, codes: NDArray[Any], branches: IntArray) -> list[Cases]:
    """Divide the cases by branch; those of other codes are left out."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    ends = zip(np.searchsorted(ordered, branches), np.searchsorted(ordered, branches, side="right"), strict=True)
    return [Cases(cases.rows[order[a:b]], cases.weight[order[a:b]]) for a, b in ends]


def check_at_least(name: str, value: float | None, least: float) -> None:
    """Reject a parameter below its least value; None means no limit."""
    if value is not None and not value >= least:
        raise ValueError(f"{name} must be at least {least}, not {value!r}")
