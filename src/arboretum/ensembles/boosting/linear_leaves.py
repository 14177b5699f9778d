"""Linear models in the leaves of boosted trees (Shi, Li & Li 2019; de Vito 2017).

A tree is grown as usual; then each leaf gets slopes for numeric columns that its path splits on::

    leaf(x) = value + Σ slope · (clip(x, low, high) − centre)

with ``centre`` the mean, ``low`` and ``high`` the range of the column in the leaf. The value stays that of a constant
leaf, and the slopes minimise the same second-order objective plus a ridge penalty: see kernel/leaves/linear_leaves.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.binning import BinMap
from arboretum.data.table import SparseTable, Table
from arboretum.growing.grower import StepBound, TreeParams
from arboretum.growing.sampling import Sample


@dataclass(frozen=True)
class LinearLeaves:
    """How leaves get their slopes.

    Parameters
    ----------
    l2 : float
        Ridge penalty: added to the hessian of a leaf, for columns in units of their standard deviation there.
    """

    l2: float

    def rules(self, tree: TreeParams, bound: StepBound) -> _kernel.LinearRules:
        """Pack for the kernel, with the bounds that leaf values must stay within, slopes included."""
        rules = _kernel.LinearRules()
        rules.l2, rules.monotone = self.l2, list(tree.monotone)
        longest = min(tree.max_delta_step or np.inf, bound.longest)
        rules.lower, rules.upper = -longest, longest
        return rules


def number_columns(table: Table, bin_map: BinMap, name: str = "X") -> _kernel.NumberColumns:
    """Collect the columns of a table, uncopied, in the order of binned features.

    Raises
    ------
    ValueError
        If the table is sparse.

    Examples
    --------
    >>> from arboretum.data.binning import learn_bins
    >>> from arboretum.data.table import read_table
    >>> table = read_table([[1.0], [2.0]])
    >>> number_columns(table, learn_bins(table))  # doctest: +ELLIPSIS
    <arboretum._kernel.NumberColumns object at ...>
    """
    if isinstance(table, SparseTable):
        raise ValueError(
            f"leaf_model='linear' reads the numbers of each row, but {name} is sparse: give {name}.toarray(), "
            "or use leaf_model='constant'"
        )
    return _kernel.NumberColumns([table.columns[column] for column in bin_map.order])


def fit_slopes(
    tree: _kernel.GrownTree,
    values: NDArray[np.float64],
    leaf_of_row: NDArray[np.uint32],
    sample: Sample,
    gradients: tuple[NDArray[Any], NDArray[Any]],
    numbers: _kernel.NumberColumns,
    rules: _kernel.LinearRules,
    threads: int,
) -> _kernel.LeafSlopes | None:
    """Fit the slopes of all leaves to the rows of a sample; return None if no leaf has any.

    Parameters
    ----------
    tree : GrownTree
        The tree.
    values : ndarray
        Values of its nodes, without learning rate.
    leaf_of_row : ndarray
        Leaf of every row of the table.
    sample : Sample
        Rows that the tree was grown on.
    gradients : pair of ndarrays
        Gradients and hessians of all rows.
    numbers : NumberColumns
        Numeric columns of the table.
    rules : LinearRules
        Penalty and bounds.
    threads : int
        Maximum number of threads.
    """
    factor = sample.factor
    if factor is not None and sample.rows is not None:
        factor = np.zeros(len(leaf_of_row))
        factor[sample.rows] = sample.factor
    slopes = _kernel.fit_slopes(
        tree, numbers, leaf_of_row, sample.rows, gradients[0], gradients[1], factor, values, rules, threads
    )
    return slopes if slopes.start[-1] else None
