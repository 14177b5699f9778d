"""Which rows share a leaf: products of sparse matrices, in blocks of bounded size.

::

              leaves of tree 0    leaves of tree 1  …
    row 0   [ .  1  .           | 1  .              ]      one entry for each row and tree
    row 1   [ 1  .  .           | 1  .              ]

The product of one such matrix with another, transposed, has an entry for each pair of rows that shares a leaf, and none
for the others: in a deep forest these are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.integer[Any]]
Result = TypeVar("Result")

MOST_GAPS = 8  # leaf numbers per entry: a product passes over all leaves
MOST_ENTRIES = 1 << 21  # per block of more than one row: 32 MB


def number_leaves(*tables: IntArray) -> tuple[list[IntArray], int]:
    """Give the leaves of all trees numbers in one sequence, the same for every table.

    Parameters
    ----------
    *tables : int arrays (rows, trees)
        Leaf of each row in each tree, as ``apply`` gives it.

    Returns
    -------
    numbers : list of int arrays (rows, trees)
        They rise along each row.
    n_leaves : int
        Upper bound: all numbers are less.

    Examples
    --------
    >>> import numpy as np
    >>> number_leaves(np.array([[2, 1], [1, 2]]), np.array([[1, 3]]))
    ([array([[2, 4],
           [1, 5]], dtype=int32), array([[1, 6]], dtype=int32)], 7)
    """
    sizes = np.max([table.max(axis=0, initial=-1) for table in tables], axis=0).astype(np.int64) + 1
    start = np.concatenate([[0], np.cumsum(sizes)])
    total, entries = int(start[-1]), sum(table.size for table in tables)
    if total > MOST_GAPS * entries:  # few rows in a large forest: number only the leaves that they reach
        every = np.concatenate([table + start[:-1] for table in tables])
        reached, numbers = np.unique(every, return_inverse=True)
        ends = np.cumsum([len(table) for table in tables])
        return np.split(numbers.reshape(every.shape), ends[:-1]), len(reached)
    kind = np.int32 if total < 2**31 else np.int64
    return [table.astype(kind) + start[:-1].astype(kind) for table in tables], total


def membership(
    numbers: IntArray, n_leaves: int, values: NDArray[Any] | np.generic, keep: NDArray[np.bool_] | None = None
) -> Any:
    """Make the sparse matrix (rows, leaves).

    Parameters
    ----------
    numbers : int array (rows, trees)
        Leaves, as :func:`number_leaves` returns them.
    n_leaves : int
        Columns.
    values : scalar or array
        Value of all entries, or of each in the order of rows.
    keep : bool array (rows, trees), optional
        Which entries to keep; all by default.

    Returns
    -------
    scipy.sparse.csr_matrix (rows, leaves)

    Examples
    --------
    >>> import numpy as np
    >>> membership(np.array([[0, 2], [1, 2]]), 3, np.int32(1)).toarray()
    array([[1, 0, 1],
           [0, 1, 1]], dtype=int32)
    """
    from scipy.sparse import csr_matrix

    n_rows, n_trees = numbers.shape
    counts = np.full(n_rows, n_trees) if keep is None else np.count_nonzero(keep, axis=1)
    start = np.concatenate([[0], np.cumsum(counts)])
    columns = numbers.ravel() if keep is None else numbers[keep]
    return csr_matrix((np.broadcast_to(values, columns.shape), columns, start), shape=(n_rows, n_leaves))


def multiply_in_blocks(
    left: Any, right: Any, work: Callable[[slice, Any], Result], *, threads: int = 1
) -> list[Result]:
    """Pass each block of rows of ``left @ right`` to ``work`` and collect the results in order.

    Parameters
    ----------
    left : csr_matrix (rows, leaves)
        Its rows are cut into blocks.
    right : csr_matrix (leaves, other rows)
        Whole.
    work : callable
        ``work(rows, block)`` gets the rows as a slice and their part of the product as a csr_matrix.
    threads : int
        Maximum number of blocks at once.

    Examples
    --------
    >>> import numpy as np
    >>> left = membership(np.array([[0, 2], [1, 2]]), 3, np.int32(1))
    >>> multiply_in_blocks(left, left.T.tocsr(), lambda rows, block: block.toarray())
    [array([[2, 1],
           [1, 2]], dtype=int32)]
    """
    blocks = _row_blocks(_entries_at_most(left, right), MOST_ENTRIES)

    def run(rows: slice) -> Result:
        return work(rows, left[rows] @ right)

    if threads == 1:
        return [run(rows) for rows in blocks]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, blocks))


def _entries_at_most(left: Any, right: Any) -> NDArray[np.int64]:
    """Return an upper bound for the entries of each row of the product."""
    sizes = np.diff(right.indptr)[left.indices]
    before = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])[left.indptr]
    return np.asarray(np.minimum(np.diff(before), right.shape[1]))


def _row_blocks(entries: NDArray[np.int64], most: int) -> Iterator[slice]:
    end = np.cumsum(entries)
    first, done = 0, 0
    while first < len(entries):
        last = max(first + 1, int(np.searchsorted(end, done + most, side="right")))
        yield slice(first, last)
        first, done = last, int(end[last - 1])
