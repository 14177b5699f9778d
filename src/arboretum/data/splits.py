"""Rows dealt out: some held out, or parts of equal size, with the same share of each stratum or by whole groups."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import places, selecting

SPLIT_PURPOSE = 0x73706C6974  # "split"
FOLD_PURPOSE = 0x666F6C64  # "fold"
GROUP_PURPOSE = 0x67726F7570  # "group"
NOWHERE = -1  # part of rows that are never held out


def split_rows(
    n_rows: int, fraction: float, seed: int, strata: NDArray[Any] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training and validation rows of this place; with strata, the same fraction of each, and never all of one."""
    held = _held(_draws(n_rows, seed), fraction, strata)
    return np.flatnonzero(~held), np.flatnonzero(held)


def fold_of_rows(n_rows: int, n_folds: int, seed: int) -> NDArray[np.intp]:
    """Fold of each row of this place; folds have the same size, up to one row.

    Examples
    --------
    >>> np.bincount(fold_of_rows(11, 3, seed=0))
    array([3, 4, 4])
    """
    draws = _draws(n_rows, seed)
    fold = np.zeros(n_rows, dtype=np.intp)
    for number in range(1, n_folds):
        fold += ~_held(draws, number / n_folds, None)
    return fold


def _draws(n_rows: int, seed: int) -> NDArray[np.float64]:
    """Return a random number for each row of this place, by its number among those of all places."""
    bits = np.random.PCG64([seed, SPLIT_PURPOSE]).advance(places.numbered(n_rows).first)  # those of default_rng
    return np.random.Generator(bits).random(n_rows)


def _held(draws: NDArray[np.float64], fraction: float, strata: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Mark the rows with the smallest draws."""
    return (_held_here if places.here() is None else _held_everywhere)(draws, fraction, strata)


def _held_here(draws: NDArray[np.float64], fraction: float, strata: NDArray[Any] | None) -> NDArray[np.bool_]:
    if strata is None:
        return _smallest(draws, math.floor(len(draws) * fraction))
    held = np.zeros(len(draws), dtype=bool)
    _, counts = np.unique(strata, return_counts=True)
    for rows in np.split(np.argsort(strata, kind="stable"), np.cumsum(counts)[:-1]):
        held[rows] = _smallest(draws[rows], math.floor(len(rows) * fraction))
    return held


def _held_everywhere(draws: NDArray[np.float64], fraction: float, strata: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Mark the same rows by exchanges with other places."""
    n_strata, stratum = 1, None
    if strata is not None:
        values = places.joined(lambda: np.unique(strata), np.union1d)
        n_strata, stratum = len(values), np.searchsorted(values, strata)
    bits = draws.view(np.uint64)  # in the order of the draws, since none is negative
    return selecting.smallest(bits, lambda n: np.floor(n * fraction), stratum, n_strata)


def deal_out(strata: NDArray[Any], n_parts: int, seed: int) -> NDArray[np.intp]:
    """Part of each row: rows of a stratum, in random order, take turns.

    Examples
    --------
    >>> part = deal_out(np.array([0, 0, 0, 0, 1, 1]), 2, seed=0)
    >>> np.bincount(part), np.bincount(part[4:])
    (array([3, 3]), array([1, 1]))
    """
    draws = np.random.default_rng([seed, FOLD_PURPOSE]).random(len(strata))
    part = np.empty(len(strata), dtype=np.intp)
    part[np.lexsort((draws, strata))] = np.arange(len(strata)) % n_parts
    return part


def split_groups(
    groups: NDArray[np.intp], fraction: float, seed: int, strata: NDArray[Any] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training and validation rows; groups stay whole, in random order until the fraction is full, at least one.

    Groups that would leave a stratum without training rows are not held out.
    """
    _, group = np.unique(groups, return_inverse=True)
    size = np.bincount(group)
    order = np.random.default_rng([seed, GROUP_PURPOSE]).permutation(len(size))
    full = np.searchsorted(np.cumsum(size[order]), math.floor(len(group) * fraction), side="right")
    part = np.where(np.isin(group, order[: max(1, full)]), 1, 0)
    part = _without_whole_strata(part, group, strata)
    return np.flatnonzero(part != 1), np.flatnonzero(part == 1)


def deal_out_groups(groups: NDArray[np.intp], strata: NDArray[Any] | None, n_parts: int, seed: int) -> NDArray[np.intp]:
    """Part of each row: whole groups, the largest first, go to the part with the fewest rows.

    Groups that hold all rows of a stratum are in no part, ``NOWHERE``, nor are those of a part that would.

    Examples
    --------
    >>> deal_out_groups(np.array([3, 3, 3, 7, 7, 8]), None, 2, seed=0)
    array([0, 0, 0, 1, 1, 1])
    """
    _, group = np.unique(groups, return_inverse=True)
    size = np.bincount(group)
    order = np.random.default_rng([seed, GROUP_PURPOSE]).permutation(len(size))
    part, load = np.empty(len(size), dtype=np.intp), np.zeros(n_parts)
    for one in order[np.argsort(-size[order], kind="stable")]:
        part[one] = load.argmin()
        load[part[one]] += size[one]
    return _without_whole_strata(part[group], group, strata)


def _without_whole_strata(
    part: NDArray[np.intp], group: NDArray[np.intp], strata: NDArray[Any] | None
) -> NDArray[np.intp]:
    """Take groups out of parts that hold all rows of a stratum."""
    if strata is None:
        return part
    for stratum in np.unique(strata):
        own = strata == stratum
        if len(np.unique(part[own])) == 1:
            part = np.where(np.isin(group, group[own]), NOWHERE, part)
    return part


def _smallest(values: NDArray[np.float64], n: int) -> NDArray[np.bool_]:
    """Mark the n smallest values; the first of equal ones."""
    if n == 0:
        return np.zeros(len(values), dtype=bool)
    largest = np.partition(values, n - 1)[n - 1]
    marked: NDArray[np.bool_] = values < largest
    marked[np.flatnonzero(values == largest)[: n - np.count_nonzero(marked)]] = True
    return marked
