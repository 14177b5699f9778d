"""Isolation forest: rows that a few random cuts set apart are anomalies (Liu, Ting & Zhou 2008, 2012).

::

    order the rows by content
    for each tree:   draw some 256 rows ─► cut at random until each is alone, or log₂ 256 deep ─► keep
    a row:           mean over the trees of depth + c(rows) at its leaf

As in bagging, rows are drawn by weight from an order that depends on their content alone: a row of weight 3 is the same
as three equal rows, and the order of the table does not matter. Trees are grown from raw values, not from bins: a cut
is uniform between the least and the largest value of its node (``kernel/grow/isolation.hpp``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.table import SparseTable, Table
from arboretum.ensembles.bagging.resampling import content_order
from arboretum.ensembles.bagging.trees import batches, is_whole
from arboretum.growing.grower import grown_to_forest
from arboretum.model.forest import Forest
from arboretum.running.interruption import keeps_part

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class IsolationParams:
    """How to isolate.

    Parameters
    ----------
    n_trees : int
        Trees.
    n_draws : int
        Rows that each tree draws.
    with_replacement : bool
        Whether a row may be drawn more than once.
    max_features : int
        Columns that each tree draws.
    max_terms : int
        Columns of a hyperplane; 1 cuts a single column.
    seed : int
        Of all draws.
    threads : int
        The forest is the same for any number.
    first_tree : int
        Number of the first tree, on which its draws depend.
    """

    n_trees: int
    n_draws: int
    with_replacement: bool
    max_features: int
    max_terms: int
    seed: int
    threads: int
    first_tree: int = 0


@dataclass(frozen=True, eq=False)
class RowPool:
    """Rows that trees draw from, in an order of their content; repeated if weights are whole, else with weights.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> table = read_table([[3.0], [1.0], [2.0]])
    >>> pool, has_missing = RowPool.of(table, np.array([2.0, 1.0, 1.0]))
    >>> np.bincount(pool.rows).tolist(), pool.weight, has_missing
    ([2, 1, 1], None, [False])
    """

    rows: NDArray[np.uint32]
    weight: FloatArray | None

    @classmethod
    def of(cls, table: Table, weight: FloatArray | None, *, threads: int = 1) -> tuple[RowPool, list[bool]]:
        """Return the rows of a table, all of positive weight, and which columns have missing values."""
        keys, missing = np.empty(table.n_rows, np.uint64), np.zeros(table.schema.n_features, np.uint8)
        for first, part in table.row_batches():
            _columns_by_name(part).content_keys(keys[first : first + part.n_rows], missing, threads)
        is_shared = weight is not None and not is_whole(weight)
        rows = content_order(keys, weight).astype(np.uint32) if is_shared else _kernel.order_by_key(keys)
        has_missing = [False] * len(missing)
        for feature, column in enumerate(table.schema.by_name):
            has_missing[column] = bool(missing[feature])
        if weight is None:
            return cls(rows, None), has_missing
        if is_shared:
            return cls(rows, weight[rows]), has_missing
        return cls(np.repeat(rows, weight[rows].astype(np.int64)), None), has_missing


def isolate(table: Table, pool: RowPool, params: IsolationParams) -> tuple[Forest, bool]:
    """Grow the trees; the value of a leaf is the path length that it stands for.

    Parameters
    ----------
    table : Table
        Training rows.
    pool : RowPool
        Of this table.
    params : IsolationParams
        How to isolate.

    Returns
    -------
    forest : Forest
        The mean of its trees is the path length of a row; the root, if it were a leaf, says that of a random tree.
    interrupted : bool
        Whether Ctrl-C ended it before all trees were grown; at least one was.
    """
    sample = _kernel.IsolationSample(pool.rows, pool.weight, params.n_draws, params.with_replacement)
    rules = _kernel.IsolationRules(_depth_limit(params.n_draws), params.max_features, params.max_terms)
    grow = _grow_sparse if isinstance(table, SparseTable) else _grow_dense
    grown: list[_kernel.GrownForest] = []
    interrupted = False
    try:
        grown.extend(grow(table, sample, rules, params))
    except KeyboardInterrupt:
        if not keeps_part(len(grown)):
            raise
        interrupted = True
    for more in grown[1:]:
        grown[0].extend(more)
    return grown_to_forest(grown[0], 1, table.schema.by_name), interrupted


def _grow_dense(
    table: Table, sample: _kernel.IsolationSample, rules: _kernel.IsolationRules, params: IsolationParams
) -> Iterator[_kernel.GrownForest]:
    columns = _columns_by_name(table)
    for first, n in batches(params.first_tree, params.n_trees, params.threads):
        yield _kernel.grow_isolation(columns, sample, rules, first, n, params.seed, params.threads)


def _grow_sparse(
    table: Table, sample: _kernel.IsolationSample, rules: _kernel.IsolationRules, params: IsolationParams
) -> Iterator[_kernel.GrownForest]:
    """Grow each tree from its own rows, made dense."""
    all_rows = _kernel.IsolationSample(np.arange(params.n_draws, dtype=np.uint32), None, 0, False)
    for tree in range(params.first_tree, params.first_tree + params.n_trees):
        drawn = table.take(sample.rows(params.seed, tree))
        ((_, dense),) = drawn.row_batches(size=params.n_draws)
        yield _kernel.grow_isolation(_columns_by_name(dense), all_rows, rules, tree, 1, params.seed, 1)


def _depth_limit(n_draws: int) -> int:
    """Mean depth of a tree that isolates all rows; whatever is deeper is no anomaly."""
    return math.ceil(math.log2(max(n_draws, 2)))


def _columns_by_name(table: Table) -> _kernel.IsolationTable:
    order, schema = table.schema.by_name, table.schema
    return _kernel.IsolationTable([table.columns[j] for j in order], [list(schema.columns[j].ranks) for j in order])
