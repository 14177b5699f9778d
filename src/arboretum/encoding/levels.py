"""Levels: the categories of one column, or combinations of the categories of several, numbered without collisions.

Category codes, −1 (missing) included, are the digits of one number of mixed radix; the sorted numbers that occur in
training are the known levels::

    city   month         key = (city + 1) · (months + 1) + month + 1         level = place among the known keys
    oslo    may           1 · 13 + 5                                          −2 if it is unknown

Where 63 bits do not hold all columns, the first of them make levels of their own, whose numbers are then one digit.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.data.schema import Schema
from arboretum.data.table import Table

Columns: TypeAlias = tuple[int, ...]
Keys: TypeAlias = NDArray[np.int64]
Levels: TypeAlias = NDArray[np.int32]

_LARGEST_KEY = 2**63 - 1
_LEVEL_RADIX = 2**31


def key_stages(schema: Schema, columns: Columns) -> list[Columns]:
    """Cut columns into runs whose codes fit into one key; from the second on, beside the level of those before.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> key_stages(read_table([["a", "x"], ["b", "y"]]).schema, (0, 1))
    [(0, 1)]
    """
    starts, room = [0], _LARGEST_KEY
    for i, j in enumerate(columns):
        if _radix(schema, j) > room:
            starts.append(i)
            room = _LARGEST_KEY // _LEVEL_RADIX
        room //= _radix(schema, j)
    return [columns[begin:end] for begin, end in itertools.pairwise([*starts, len(columns)])]


def learn_levels(table: Table, columns: Columns, threads: int) -> tuple[tuple[Keys, ...], Levels]:
    """Find the sorted keys of the levels, an array for each stage, and the level of every row.

    Among other places these are the levels of all of them.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> table = read_table([["a", "x"], ["b", "y"], ["a", None], ["a", "x"]])
    >>> learn_levels(table, (0, 1), threads=1)
    ((array([3, 4, 8]),), array([1, 2, 0, 1], dtype=int32))
    """
    learned: list[Keys] = []
    levels = None
    for stage in key_stages(table.schema, columns):
        row_keys = _row_keys(table, stage, levels, threads)
        learned.append(places.joined(partial(_distinct, row_keys), _union))
        levels = _numbers(row_keys, learned[-1], threads)
    assert levels is not None
    return tuple(learned), levels


def find_levels(table: Table, columns: Columns, keys: tuple[Keys, ...], threads: int) -> Levels:
    """Find the level of every row among those learned; −2 if it is not one of them.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> table = read_table([["a", "x"], ["b", "y"], ["b", "x"]])
    >>> keys, _ = learn_levels(table.take(np.array([0, 1])), (0, 1), threads=1)
    >>> find_levels(table, (0, 1), keys, threads=1)
    array([ 1,  0, -2], dtype=int32)
    """
    levels = None
    for stage, known in zip(key_stages(table.schema, columns), keys, strict=True):
        levels = _numbers(_row_keys(table, stage, levels, threads), known, threads)
    assert levels is not None
    return levels


def _radix(schema: Schema, column: int) -> int:
    return len(schema.columns[column].categories) + 1


def _row_keys(table: Table, columns: Columns, levels: Levels | None, threads: int) -> Keys:
    codes = [np.ascontiguousarray(table.columns[j]) for j in columns]
    radices = [_radix(table.schema, j) for j in columns]
    if levels is not None:
        codes, radices = [levels, *codes], [_LEVEL_RADIX, *radices]
    keys = np.empty(table.n_rows, np.int64)
    _kernel.combined_keys(codes, radices, threads, keys)
    return keys


def _numbers(row_keys: Keys, known: Keys, threads: int) -> Levels:
    levels = np.empty(len(row_keys), np.int32)
    _kernel.find_levels(row_keys, known, threads, levels)
    return levels


def _distinct(row_keys: Keys) -> Keys:
    """Sorted keys of the rows that have one."""
    keys = row_keys[row_keys >= 0]
    if keys.size and keys.max() < 4 * keys.size + 65536:
        return np.asarray(np.flatnonzero(np.bincount(keys)), np.int64)
    return _once_each(np.sort(keys))


def _union(keys: Keys, others: Keys) -> Keys:
    """Sorted keys of two places; a stable sort merges what is sorted already."""
    return _once_each(np.sort(np.concatenate([keys, others]), kind="stable"))


def _once_each(keys: Keys) -> Keys:
    return keys[np.diff(keys, prepend=-1) > 0]
