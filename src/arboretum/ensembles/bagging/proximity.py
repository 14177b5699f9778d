"""Proximity: in how many trees two rows end in the same leaf, and which rows are far from their class.

L. Breiman, *Random forests*, Machine Learning 45 (2001) 5–32; L. Breiman & A. Cutler, *Random Forests* (manual), 2003.

::

    prox(i, j) = Σ_t u_it u_jt [leaf_t(i) = leaf_t(j)] / Σ_t u_it u_jt        u_it: whether tree t counts for row i

All trees count (u = 1), or for a training row only those that have not drawn it: a tree that has seen a row separates
it from rows of another class. Where two rows share no such tree, their proximity is 0; the proximity of a row to itself
is 1.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum.data.memory_budget import available_bytes
from arboretum.ensembles.bagging.shared_leaves import IntArray, membership, multiply_in_blocks, number_leaves

__all__ = ["check_fits_in_memory", "dense_proximity", "outlier_scores", "top_k_proximity"]

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Result = TypeVar("Result")

ROUNDING = 1e-12  # of raw scores, which are at most the size of the class
CELLS_AT_ONCE = 1 << 18  # of the dense matrix: counts that stay in the cache while trees pass


def dense_proximity(
    leaves_x: IntArray,
    leaves_y: IntArray | None = None,
    *,
    out_of_bag_x: BoolArray | None = None,
    out_of_bag_y: BoolArray | None = None,
    max_bytes: int | None = None,
    threads: int = 1,
) -> FloatArray:
    """Return the proximity of every row of x to every row of y.

    Parameters
    ----------
    leaves_x : int array (n, trees)
        Leaf of each row in each tree.
    leaves_y : int array (m, trees), optional
        Rows to compare with; those of x by default.
    out_of_bag_x, out_of_bag_y : bool array (n, trees), (m, trees), optional
        Only trees that have drawn neither row count. None: no tree has drawn the row, as for new rows. Without
        ``leaves_y``, rows of y are those of x in this as well.
    max_bytes : int, optional
        Memory that the result may take; the free memory by default.
    threads : int
        The result is the same for any number.

    Returns
    -------
    float64 array (n, m)
        Shares of trees; 0 where no tree counts.

    Examples
    --------
    >>> import numpy as np
    >>> dense_proximity(np.array([[1, 1], [1, 2], [2, 2]]))
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """
    sides = _Sides.check(leaves_x, leaves_y, out_of_bag_x, out_of_bag_y)
    n, m = sides.shape
    check_fits_in_memory(n, m, max_bytes=max_bytes)
    x, y = sides.codes()
    both_out = _both_out_codes(sides.out_of_bag)
    proximity = np.empty((n, m))
    step = max(1, CELLS_AT_ONCE // max(1, m))

    def fill(first: int) -> None:
        rows = slice(first, first + step)
        shared = np.maximum(_count_equal(both_out[0][:, rows], both_out[1]), 1) if both_out else len(x)
        np.divide(_count_equal(x[:, rows], y), shared, out=proximity[rows], dtype=np.float64)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(0, n, step)))
    if sides.square:
        np.fill_diagonal(proximity, 1.0)
    return proximity


def top_k_proximity(
    leaves_x: IntArray,
    leaves_y: IntArray | None = None,
    k: int = 10,
    *,
    out_of_bag_x: BoolArray | None = None,
    out_of_bag_y: BoolArray | None = None,
    threads: int = 1,
) -> Any:
    """Return the proximity of each row of x to the k rows of y that are nearest to it.

    Parameters
    ----------
    leaves_x, leaves_y, out_of_bag_x, out_of_bag_y, threads
        As in :func:`dense_proximity`. Without ``leaves_y``, a row is compared with all rows of x but itself.
    k : int
        Neighbours to keep. Ties go to the rows that come first.

    Returns
    -------
    scipy.sparse.csr_matrix (n, m)
        Up to k entries per row, the nearest first; rows of proximity 0 have none.

    Examples
    --------
    >>> import numpy as np
    >>> nearest = top_k_proximity(np.array([[1, 1], [1, 2], [2, 2]]), k=1)
    >>> nearest.indices.tolist(), nearest.data.tolist()
    ([1, 0, 1], [0.5, 0.5, 0.5])
    """
    from scipy.sparse import csr_matrix

    if isinstance(k, bool) or not isinstance(k, numbers.Integral) or k < 1:
        raise ValueError(f"top_k={k!r}: the number of neighbours to keep must be a positive whole number")
    sides = _Sides.check(leaves_x, leaves_y, out_of_bag_x, out_of_bag_y)
    parts = _for_each_block(sides, lambda block: _nearest(block, int(k)), threads)
    counts, columns, values = (
        (np.concatenate(part) for part in zip(*parts, strict=True)) if parts else [np.zeros(0)] * 3
    )
    start = np.concatenate([[0], np.cumsum(counts)])
    return csr_matrix((values, columns, start.astype(np.int64)), shape=sides.shape)


def outlier_scores(
    leaves: IntArray,
    classes: ArrayLike | None = None,
    *,
    out_of_bag: BoolArray | None = None,
    threads: int = 1,
) -> FloatArray:
    """Return how far each row is from the rows of its class.

    ::

        raw(i)   = n_class / Σ_{j in the class of i} prox(i, j)²
        score(i) = (raw(i) − median) / mean |raw − median|            both over the class

    Parameters
    ----------
    leaves : int array (n, trees)
        Leaf of each row in each tree.
    classes : array (n), optional
        Class of each row; all rows are one class by default.
    out_of_bag : bool array (n, trees), optional
        Only trees that have drawn neither row count; all by default.
    threads : int
        The result is the same for any number.

    Returns
    -------
    float64 array (n)
        Around 0 for rows in the midst of their class, large for outliers (according to Breiman, above 10); 0 where all
        rows of a class are equally far.

    Examples
    --------
    >>> import numpy as np
    >>> outlier_scores(np.array([[1, 1], [1, 1], [1, 2], [2, 3]]))
    array([-0.57142857, -0.57142857,  0.57142857,  2.28571429])
    """
    sides = _Sides.check(leaves, None, out_of_bag, None)
    n = len(sides.x)
    labels = np.zeros(n, dtype=np.int64) if classes is None else np.unique(np.asarray(classes), return_inverse=True)[1]
    if labels.shape != (n,):
        raise ValueError(f"classes has the shape {labels.shape}: give a class for each of the {n} rows")
    scores = np.empty(n)
    for label in range(labels.max(initial=-1) + 1):
        members = np.flatnonzero(labels == label)
        parts = _for_each_block(sides.among(members), _sums_of_squares, threads)
        raw = len(members) / (1.0 + np.concatenate(parts))  # 1: a row's proximity to itself
        away = raw - np.median(raw)
        deviation = np.abs(away).mean()
        scores[members] = away / deviation if deviation > ROUNDING * len(members) else 0.0
    return scores


# ---- memory --------------------------------------------------------------------------------------------------------


def check_fits_in_memory(n: int, m: int, *, max_bytes: float | None = None) -> None:
    """Reject a matrix of n × m proximities that does not fit into memory.

    Parameters
    ----------
    n, m : int
        Rows and columns.
    max_bytes : int, optional
        Memory that it may take; the free memory by default.

    Raises
    ------
    MemoryError
        With the form that fits.

    Examples
    --------
    >>> check_fits_in_memory(100_000, 100_000, max_bytes=16 * 10**9)
    Traceback (most recent call last):
    MemoryError: the proximity matrix of 100000 × 100000 rows takes 80.0 GB, but only 16.0 GB are free: pass top_k= ...
    """
    limit = available_bytes() if max_bytes is None else max_bytes
    if n * m * 8 > limit:
        raise MemoryError(
            f"the proximity matrix of {n} × {m} rows takes {n * m * 8 / 1e9:.1f} GB, but only {limit / 1e9:.1f} GB are "
            "free: pass top_k= to keep the nearest of each row only, as a sparse matrix"
        )


# ---- two tables of leaves ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sides:
    """Rows x and y to compare: their leaves, and the trees that have drawn them; no bags if all trees count."""

    x: IntArray
    y: IntArray
    out_of_bag: tuple[BoolArray, BoolArray] | tuple[()]
    square: bool  # y is x

    @classmethod
    def check(cls, x: IntArray, y: IntArray | None, out_x: BoolArray | None, out_y: BoolArray | None) -> _Sides:
        _check_leaves("x", x, out_x)
        if y is None:
            return cls(x, x, () if out_x is None else (out_x, out_x), square=True)
        _check_leaves("y", y, out_y)
        if x.shape[1] != y.shape[1]:
            raise ValueError(f"leaves_x has {x.shape[1]} trees, but leaves_y has {y.shape[1]}: use one forest for both")
        if out_x is None and out_y is None:
            return cls(x, y, (), square=False)
        out_x = np.ones(x.shape, dtype=bool) if out_x is None else out_x
        out_y = np.ones(y.shape, dtype=bool) if out_y is None else out_y
        return cls(x, y, (out_x, out_y), square=False)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.x), len(self.y)

    def among(self, rows: NDArray[np.intp]) -> _Sides:
        """Compare some of the rows of x with each other."""
        return _Sides.check(self.x[rows], None, self.out_of_bag[0][rows] if self.out_of_bag else None, None)

    def codes(self) -> tuple[IntArray, IntArray]:
        """Return leaves (trees, rows) in the smallest type; for drawn rows 0 in x and 1 in y, which match nothing."""
        largest = int(max(self.x.max(initial=0), self.y.max(initial=0)))
        kind = np.min_scalar_type(largest + 2)
        x, y = (np.add(leaves.T, 2, dtype=np.int64).astype(kind, order="C") for leaves in (self.x, self.y))
        if self.out_of_bag:
            x[~self.out_of_bag[0].T], y[~self.out_of_bag[1].T] = 0, 1
        return x, y


def _check_leaves(side: str, leaves: IntArray, out_of_bag: BoolArray | None) -> None:
    if leaves.ndim != 2 or leaves.dtype.kind not in "iu" or not leaves.shape[1]:
        raise ValueError(f"leaves_{side} must be whole numbers (rows, trees), not {leaves.dtype} of {leaves.shape}")
    if leaves.min(initial=0) < 0:
        raise ValueError(f"leaves_{side} has the node {leaves.min()}: nodes are numbered from 0")
    if out_of_bag is not None and (out_of_bag.shape != leaves.shape or out_of_bag.dtype != bool):
        raise ValueError(
            f"out_of_bag_{side} must be a bool for each row and tree, {leaves.shape}, "
            f"not {out_of_bag.dtype} of {out_of_bag.shape}"
        )


# ---- dense ---------------------------------------------------------------------------------------------------------


def _both_out_codes(out_of_bag: tuple[BoolArray, ...]) -> list[NDArray[np.uint8]]:
    """Return codes (trees, rows) of x and y that are equal where neither row was drawn."""
    return [np.where(np.ascontiguousarray(out.T), np.uint8(2), np.uint8(side)) for side, out in enumerate(out_of_bag)]


def _count_equal(x: IntArray, y: IntArray) -> IntArray:
    """Count the trees in which codes are equal, (rows of x, rows of y)."""
    counts = np.zeros((x.shape[1], y.shape[1]), dtype=np.min_scalar_type(len(x)))
    equal = np.empty(counts.shape, dtype=bool)
    for of_x, of_y in zip(x, y, strict=True):
        np.equal(of_x[:, np.newaxis], of_y, out=equal)
        np.add(counts, equal.view(np.uint8), out=counts)
    return counts


# ---- sparse --------------------------------------------------------------------------------------------------------


def _for_each_block(sides: _Sides, work: Callable[[Any], Result], threads: int) -> list[Result]:
    """Pass the proximities of each block of rows of x to ``work``: sparse, columns ascending, 0 of a row to itself."""
    (x, y), n_leaves = number_leaves(sides.x, sides.y)
    out_x, out_y = sides.out_of_bag or (None, None)
    left = membership(x, n_leaves, np.int32(1), out_x)
    right = membership(y, n_leaves, np.int32(1), out_y).T.tocsr()
    words = [_packed(out) for out in sides.out_of_bag]

    def scaled(rows: slice, block: Any) -> Result:
        block.sort_indices()
        row = np.repeat(np.arange(rows.start, rows.stop), np.diff(block.indptr))
        shared = _shared_trees(words[0], words[1], row, block.indices) if words else x.shape[1]
        block.data = block.data / shared
        if sides.square:
            block.data[block.indices == row] = 0.0
        return work(block)

    return multiply_in_blocks(left, right, scaled, threads=threads)


def _packed(out_of_bag: BoolArray) -> NDArray[np.uint16]:
    """Pack flags of 16 trees into each word, (words, rows)."""
    bits = np.packbits(out_of_bag, axis=1)
    even = np.pad(bits, ((0, 0), (0, bits.shape[1] % 2)))
    return np.ascontiguousarray(even.view(np.uint16).T)


def _shared_trees(
    words_x: NDArray[np.uint16], words_y: NDArray[np.uint16], rows: IntArray, columns: IntArray
) -> NDArray[np.int32]:
    """Count the trees that count for both rows of each pair; a pair that shares a leaf has at least one."""
    bits_of = np.unpackbits(np.arange(1 << 16, dtype=np.uint16).view(np.uint8)).reshape(-1, 16).sum(1, dtype=np.uint8)
    shared = np.zeros(len(rows), dtype=np.int32)
    for of_x, of_y in zip(words_x, words_y, strict=True):
        shared += bits_of[of_x[rows] & of_y[columns]]
    return shared


def _nearest(block: Any, k: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the k largest entries of each row: how many, their columns, their values."""
    n_rows = block.shape[0]
    row = np.repeat(np.arange(n_rows), np.diff(block.indptr))
    order = np.argsort(2.0 * row - block.data, kind="stable")  # keeps rows apart: proximities are at most 1
    place = np.arange(len(row)) - block.indptr[row]
    kept = order[(place < k) & (block.data[order] > 0)]
    return np.bincount(row[kept], minlength=n_rows), block.indices[kept], block.data[kept]


def _sums_of_squares(block: Any) -> FloatArray:
    row = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    return np.bincount(row, np.square(block.data), block.shape[0]).astype(np.float64)
