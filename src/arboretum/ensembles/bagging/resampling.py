"""Which rows and columns each member of a bagged ensemble sees (Breiman 1996; random patches: Louppe and Geurts 2012).

::

    rows by content   a b b b c d        a row of weight 3 stands there three times
    member 0          1 0 2 0 0 1 …      copies of each, by a hash of (seed, member, draw)
    member 1          …

Rows are ordered by a hash of their content, so that the order of the table does not matter, nor whether a row has
weight 3 or occurs three times. The draws of a member can be repeated at any time from the seed alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.binning import BinMap
from arboretum.data.schema import UNKNOWN, Schema, positional_names
from arboretum.data.table import SparseTable, Table
from arboretum.ensembles.bagging.trees import is_whole

FloatArray: TypeAlias = NDArray[np.float64]
Keys: TypeAlias = NDArray[np.uint64]
Positions: TypeAlias = NDArray[np.intp]

SUBSET_PURPOSE = 0x737562736574  # "subset": keeps these draws apart from all others of the same seed
COLUMNS_PURPOSE = 0x636F6C756D6E  # "column"
TARGET_KEY = 1 << 40  # beyond the number of any column


@dataclass(frozen=True, eq=False)
class Bag:
    """The rows of one member that were drawn at least once, in the order of their content.

    Parameters
    ----------
    rows : ndarray of int
        Positions, each once.
    copies : ndarray of int
        How often each was drawn.
    weight : ndarray
        Weight of each in the fit: its copies, times its own weight if the draw did not use that.
    columns : ndarray of int, optional
        Positions in ascending order; None means all columns.
    """

    rows: Positions
    copies: NDArray[np.int64]
    weight: FloatArray
    columns: Positions | None = None


@dataclass(frozen=True, eq=False)
class RowDraws:
    """How members draw rows.

    With replacement, the probability of a row is proportional to its weight, and each copy counts as 1. Without, rows
    keep weights that are not whole numbers.

    Parameters
    ----------
    pool : ndarray of uint32
        Rows in the order of their content, repeated by their weights if these are whole numbers.
    weight : ndarray, optional
        Weight of each row of the pool, if weights are not whole numbers.
    n_draws : int
        Number of draws per member.
    n_rows : int
        Rows of the table.
    replace : bool
        Whether a row can be drawn again.

    Examples
    --------
    >>> draws = RowDraws.of(np.arange(4, dtype=np.uint64), np.array([1.0, 0.0, 2.0, 1.0]), 1.0, replace=False)
    >>> draws.bag(seed=0, member=0).copies
    array([1, 2, 1])
    """

    pool: NDArray[np.uint32]
    weight: FloatArray | None
    n_draws: int
    n_rows: int
    replace: bool

    @classmethod
    def of(cls, keys: Keys, weight: FloatArray | None, size: float | int, *, replace: bool) -> RowDraws:
        """Return the draws of ``size`` rows, a share or a number, from rows with these content keys and weights."""
        order = content_order(keys, weight)
        if weight is not None:
            order = order[weight[order] > 0]
            weight = weight[order]
            if is_whole(weight):
                order, weight = np.repeat(order, weight.astype(np.int64)), None
        if not len(order):
            raise ValueError("no row has a positive weight to be drawn by")
        n_draws = size if isinstance(size, int) else max(1, round(size * len(order)))
        if not replace and n_draws > len(order):
            raise ValueError(
                f"max_samples={size!r}, but there are {len(order)} rows to draw without replacement: "
                "use fewer or bootstrap=True"
            )
        return cls(order.astype(np.uint32), weight, n_draws, len(keys), replace)

    @property
    def takes_all(self) -> bool:
        """Whether every member sees every row."""
        return not self.replace and self.n_draws == len(self.pool)

    def bag(self, seed: int, member: int) -> Bag:
        """Return the rows of a member."""
        copies = self._copies(seed, member)
        first = np.ones(len(self.pool), dtype=bool)  # the first place of each row in the pool
        first[1:] = self.pool[1:] != self.pool[:-1]
        rows, own = self.pool[first].astype(np.intp), None if self.weight is None else self.weight[first]
        drawn = copies[rows] > 0
        rows = rows[drawn]
        weight = copies[rows].astype(np.float64)
        if own is not None and not self.replace:
            weight *= own[drawn]
        return Bag(rows, copies[rows], weight)

    def _copies(self, seed: int, member: int) -> NDArray[np.int64]:
        if self.replace:
            cumulative = np.zeros(0) if self.weight is None else np.cumsum(self.weight)
            whole = np.array([0, len(self.pool)], dtype=np.int64)
            bootstrap = _kernel.Bootstrap(self.n_draws, self.pool, cumulative, whole)
            return bootstrap.copies(seed, member, self.n_rows).astype(np.int64)
        places = slice(None) if self.takes_all else _subset(len(self.pool), self.n_draws, seed, SUBSET_PURPOSE, member)
        return np.bincount(self.pool[places], minlength=self.n_rows)


def draw_columns(n_columns: int, n_draws: int, *, replace: bool, seed: int, member: int) -> Positions:
    """Return the columns of a member in ascending order, each once: a copy of a column adds nothing.

    Examples
    --------
    >>> draw_columns(5, 2, replace=False, seed=0, member=0)
    array([0, 2])
    """
    if not replace:
        return _subset(n_columns, n_draws, seed, COLUMNS_PURPOSE, member)
    return np.unique(_hashes(n_draws, seed, COLUMNS_PURPOSE, member) % np.uint64(n_columns)).astype(np.intp)


def _subset(n: int, size: int, seed: int, purpose: int, member: int) -> Positions:
    """Return the positions of the smallest hashes in ascending order."""
    return np.sort(np.argsort(_hashes(n, seed, purpose, member), kind="stable")[:size])


def _hashes(n: int, seed: int, purpose: int, member: int) -> Keys:
    """Return a hash of (seed, purpose, member, draw) for each draw."""
    return np.random.Philox(key=_kernel.draw(seed, purpose, member)).random_raw(n)


# ---- content -------------------------------------------------------------------------------------------------------


def content_keys(table: Table, target: FloatArray) -> Keys:
    """Return a hash of each row's values and target: Σ over values x ≠ 0 of hash(column, x), modulo 2⁶⁴.

    A sum, so that sparse and dense tables have the same keys; columns go by the order of their names.

    Parameters
    ----------
    table : Table
        The rows.
    target : ndarray, (rows,) or (rows, outputs)
        Numbers or codes of classes.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from arboretum.data.table import read_table
    >>> X, y = np.array([[0.0, 1.0], [2.0, 0.0]]), np.array([0.0, 1.0])
    >>> bool((content_keys(read_table(X), y) == content_keys(read_table(csr_matrix(X)), y)).all())
    True
    """
    keys = np.zeros(table.n_rows, dtype=np.uint64)
    place = np.empty(table.schema.n_features, dtype=np.uint64)
    place[table.schema.by_name] = np.arange(table.schema.n_features, dtype=np.uint64)
    if isinstance(table, SparseTable):
        entries = table.matrix.tocsr().tocoo()
        entries.sum_duplicates()
        np.add.at(keys, entries.row, _hash_values(entries.data, _mix(place)[entries.col]))
    else:
        for column, described, key in zip(table.columns, table.schema.columns, _mix(place), strict=True):
            if described.kind == "categorical":
                # By value: codes depend on how often a category occurs. Codes below 0 (missing) come last.
                column = np.array([*described.ranks, *range(UNKNOWN, 0)], dtype=np.int32)[column]
            keys += _hash_values(column, key)
    outputs = target.reshape(len(target), -1)
    for output, key in zip(
        outputs.T, _mix(np.arange(outputs.shape[1], dtype=np.uint64) + np.uint64(TARGET_KEY)), strict=True
    ):
        keys += _hash_values(output, key)
    return _mix(keys)


def fold_by_content(keys: Keys, n_folds: int, seed: int) -> Positions:
    """Deal rows into folds by their keys: copies of a row are in one fold, wherever they lie.

    Examples
    --------
    >>> fold_by_content(np.array([7, 3, 3], dtype=np.uint64), 5, seed=0)
    array([2, 3, 3])
    """
    return (_mix(keys ^ np.uint64(seed)) % np.uint64(n_folds)).astype(np.intp)


def content_order(keys: Keys, weight: FloatArray | None) -> Positions:
    """Order rows by their keys, equal ones by weight, so that it does not matter how the table is sorted.

    Examples
    --------
    >>> content_order(np.array([7, 3, 3], dtype=np.uint64), np.array([1.0, 0.5, 0.2]))
    array([2, 1, 0])
    """
    return np.argsort(keys, kind="stable") if weight is None else np.lexsort((weight, keys))


def _hash_values(values: NDArray[np.generic], column_key: np.uint64 | Keys) -> Keys:
    numbers = np.array(values, dtype=np.float64)
    numbers[np.isnan(numbers)] = np.nan  # of any sign and payload
    return np.where(numbers == 0, np.uint64(0), _mix(numbers.view(np.uint64) ^ column_key))


def _mix(keys: Keys) -> Keys:
    """Spread every bit over the whole word (the end of SplitMix64: Steele, Lea and Flood 2014)."""
    keys = (keys + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return keys ^ (keys >> np.uint64(31))


# ---- tables and bins of some columns -------------------------------------------------------------------------------


def columns_of_table(table: Table, columns: Positions) -> Table:
    """Return the table of these columns; without names, they count from 0."""
    chosen = [table.schema.columns[j] for j in columns]
    if not table.schema.named:
        names = positional_names(len(chosen))
        chosen = [replace(column, name=name) for column, name in zip(chosen, names, strict=True)]
    schema = Schema(tuple(chosen), table.schema.named)
    if isinstance(table, SparseTable):
        return SparseTable(schema, table.matrix.tocsc()[:, columns])
    return Table(schema, [table.columns[j] for j in columns])


def with_schema(table: Table, schema: Schema) -> Table:
    """Return the same values under a schema that knows more about them."""
    return SparseTable(schema, table.matrix) if isinstance(table, SparseTable) else Table(schema, table.columns)


def columns_of_bins(bin_map: BinMap, columns: Positions) -> BinMap:
    """Return the bins of these columns, which then count from 0."""
    place = {int(column): position for position, column in enumerate(columns)}
    kept = [feature for feature, column in enumerate(bin_map.order) if column in place]
    return BinMap(
        order=tuple(place[bin_map.order[feature]] for feature in kept),
        cuts=tuple(bin_map.cuts[feature] for feature in kept),
        n_bins=tuple(bin_map.n_bins[feature] for feature in kept),
        categorical=tuple(bin_map.categorical[feature] for feature in kept),
        values=None if bin_map.values is None else tuple(bin_map.values[feature] for feature in kept),
    )
