"""How rows are parted for predictions of rows that a member has not seen.

::

    folds          rows dealt out by a hash of their content                                 k models predict all rows
      + groups     whole groups dealt out, the largest first
      + strata     the same share of each class in every fold
    time order     block 0 | 1 | 2 | …; each block is predicted by the model of those before it; block 0 by none
    share          the rows held out are one part; the others are never predicted
    given          a splitter of scikit-learn, or pairs (training rows, held-out rows)

The order of the rows does not matter. A row of weight 3 is in one fold: three copies of it would be in several, and
tell each other's target.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.arguments import holds_others, shown

FloatArray: TypeAlias = NDArray[np.float64]
Keys: TypeAlias = NDArray[np.uint64]
Positions: TypeAlias = NDArray[np.intp]
Split: TypeAlias = tuple[Positions, Positions]
"""Rows to fit, rows to predict."""

DEAL_PURPOSE = 0x6465616C  # "deal": keeps these draws apart from all others of the same seed
AUTO_FOLDS = 5
ROUNDING = 1e-9
ODD = 0x9E3779B97F4A7C15  # spreads changes of the seed into the upper bits of a key, which order the rows


@dataclass(frozen=True, eq=False)
class DealtRows:
    """What rows are dealt by.

    Parameters
    ----------
    keys : ndarray of uint64
        Hash of the content of each row.
    strata : ndarray or None
        Class of each row; None for numbers.
    labels : sequence
        What messages call the strata.
    groups : ndarray of int or None
        Number of the group of each row.
    weight : ndarray or None
        Weight of each row.
    """

    keys: Keys
    strata: NDArray[Any] | None
    labels: Any
    groups: NDArray[np.intp] | None
    weight: FloatArray | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.keys)

    @property
    def units(self) -> tuple[NDArray[np.intp], int]:
        """What is dealt out, as the number of each row's unit, and how many there are: groups, or single rows."""
        if self.groups is None:
            return np.arange(self.n_rows), self.n_rows
        return self.groups, int(self.groups.max()) + 1

    def in_order(self, seed: int, repeat: int) -> Positions:
        """Return the units by stratum, and within each by a hash of their content and the seed."""
        unit, n_units = self.units
        keys = self.keys
        if self.groups is not None:
            keys = np.zeros(n_units, dtype=np.uint64)
            np.add.at(keys, unit, self.keys)
        mixed = (keys ^ np.uint64(_kernel.draw(seed, DEAL_PURPOSE, repeat))) * np.uint64(ODD)
        weight = np.zeros(n_units) if self.weight is None or self.groups is not None else self.weight
        strata = np.zeros(n_units) if self.strata is None or self.groups is not None else self.strata
        return np.lexsort((weight, mixed, strata))


def folds(rows: DealtRows, n_folds: int, seed: int, repeat: int = 0) -> list[Split]:
    """Deal rows out to folds; return the rows of all other folds and those of each fold.

    Examples
    --------
    >>> rows = DealtRows(np.array([5, 9, 7, 2], dtype=np.uint64), None, None, None, None)
    >>> [held.tolist() for _, held in folds(rows, 2, seed=0)]
    [[1, 2], [0, 3]]
    """
    unit, n_units = rows.units
    order, fold = rows.in_order(seed, repeat), np.empty(n_units, dtype=np.intp)
    if rows.groups is None:
        fold[order] = np.arange(n_units) % n_folds
    else:
        size, load = np.bincount(unit, rows.weight, minlength=n_units), np.zeros(n_folds)
        for group in order[np.argsort(-size[order], kind="stable")]:
            fold[group] = load.argmin()
            load[fold[group]] += size[group]
    number = fold[unit]
    return [(np.flatnonzero(number != one), np.flatnonzero(number == one)) for one in range(n_folds)]


def number_of_folds(rows: DealtRows, cv: int | str) -> int:
    """Check a number of folds; "auto" is 5, or as many as the smallest class has rows, at least 2.

    Examples
    --------
    >>> few = DealtRows(np.arange(9, dtype=np.uint64), np.array([0] * 6 + [1] * 3), ["no", "yes"], None, None)
    >>> number_of_folds(few, "auto")
    3
    >>> number_of_folds(few, 5)
    Traceback (most recent call last):
        ...
    ValueError: cv=5, but class 'yes' has 3 rows, so that some folds lack it: use fewer folds, or give more rows of it
    """
    what, n_units = "rows" if rows.groups is None else "groups", rows.units[1]
    if n_units < 2:
        raise ValueError(f"folds need 2 {what} at least, but n_samples={rows.n_rows} and there is {n_units}: give more")
    least, label = n_units, None
    for code, name in enumerate(rows.labels or []):
        own = np.asarray(rows.strata) == code
        count = int(own.sum()) if rows.groups is None else len(np.unique(rows.groups[own]))
        least, label = min((least, label), (count, f"class {name!r}"), key=lambda found: found[0])
    if cv == "auto":
        return min(AUTO_FOLDS, max(2, least))
    if n_units < int(cv):
        raise ValueError(f"cv={cv}, but there are {n_units} {what} (n_samples={rows.n_rows}): use fewer folds")
    if least < int(cv):
        raise ValueError(
            f"cv={cv}, but {label} has {least} {what}, so that some folds lack it: use fewer folds, or give more "
            f"{what} of it"
        )
    return int(cv)


def blocks(n_rows: int, n_blocks: int, what: str = "n_samples") -> list[Split]:
    """Part rows in time order: each block but the first is predicted by the rows before it.

    Examples
    --------
    >>> [(fit.tolist(), held.tolist()) for fit, held in blocks(6, 2)]
    [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]
    """
    if n_rows < n_blocks + 1:
        raise ValueError(f"cv={n_blocks} blocks after the first, but X has {what}={n_rows}: use fewer")
    ends = [n_rows * (block + 1) // (n_blocks + 1) for block in range(n_blocks + 1)]
    return [(np.arange(first), np.arange(first, last)) for first, last in pairwise(ends)]


def blocks_of_units(unit: NDArray[np.intp], n_blocks: int) -> list[Split]:
    """Part rows in time order so that no unit is parted: the time of a unit is that of its first row.

    Examples
    --------
    >>> [(fit.tolist(), held.tolist()) for fit, held in blocks_of_units(np.array([1, 1, 0, 2]), 2)]
    [([0, 1], [2]), ([0, 1, 2], [3])]
    """
    first = np.unique(unit, return_index=True)[1]
    place = np.argsort(np.argsort(first))[unit]
    parts = blocks(len(first), n_blocks, "groups")
    return [(np.flatnonzero(place < held[0]), np.flatnonzero(np.isin(place, held))) for _, held in parts]


def share(rows: DealtRows, fraction: float, seed: int, *, last: bool) -> Split:
    """Hold a share of the rows out: of each class, of whole groups, or the last ones.

    Examples
    --------
    >>> rows = DealtRows(np.arange(10, dtype=np.uint64), None, None, None, None)
    >>> [part.tolist() for part in share(rows, 0.3, seed=0, last=True)]
    [[0, 1, 2, 3, 4, 5, 6], [7, 8, 9]]
    """
    n_rows = rows.n_rows
    if last:
        marked = np.arange(n_rows) >= n_rows - max(1, round(n_rows * fraction))
    else:
        unit, n_units = rows.units
        place, held = np.arange(n_units), np.zeros(n_units, dtype=bool)
        order = rows.in_order(seed, 0)
        held[order] = np.floor((place + 1) * fraction + ROUNDING) > np.floor(place * fraction + ROUNDING)
        held[order[-1]] |= not held.any()
        marked = held[unit]
    if not marked.any() or marked.all():
        raise ValueError(
            f"cv={fraction:g} leaves no row to fit or none to combine on: X has n_samples={n_rows}; give more rows"
        )
    return np.flatnonzero(~marked), np.flatnonzero(marked)


def given_splits(given: Any, X: Any, y: Any, groups: Any, n_rows: int, name: str) -> list[Split]:
    """Return the splits of a splitter or of pairs that the user gave, checked.

    Examples
    --------
    >>> given_splits([([0, 1], [1])], None, None, None, 3, "cv")
    Traceback (most recent call last):
        ...
    ValueError: cv: row 1 is among the training rows and the held-out rows of split 0
    """
    pairs: Iterable[Any]
    if hasattr(given, "split") and not isinstance(given, str):
        pairs = given.split(X, y, groups)
    elif holds_others(given):
        pairs = given
    else:
        raise ValueError(
            f"{name}={shown(given)}: use a number, a splitter of scikit-learn, or pairs (training rows, held-out rows)"
        )
    found = [
        (_positions(fit, n_rows, f"{name}: split {number}"), _positions(held, n_rows, f"{name}: split {number}"))
        for number, (fit, held) in enumerate(pairs)
    ]
    if not found:
        raise ValueError(f"{name}={shown(given)} has no split: give at least one")
    for number, (fit, held) in enumerate(found):
        if not len(fit) or not len(held):
            raise ValueError(f"{name}: split {number} has no training rows, or none that are held out")
        if len(both := np.intersect1d(fit, held)):
            raise ValueError(
                f"{name}: row {both[0]} is among the training rows and the held-out rows of split {number}"
            )
    return found


def _positions(rows: Any, n_rows: int, what: str) -> Positions:
    found = np.asarray(rows)
    if found.dtype == bool and found.shape == (n_rows,):
        found = np.flatnonzero(found)
    if found.ndim != 1 or found.dtype.kind not in "iu" or (len(found) and not 0 <= found.min() <= found.max() < n_rows):
        raise ValueError(f"{what} has rows {shown(rows)}: expected positions from 0 to {n_rows - 1}")
    return np.unique(found).astype(np.intp)


def is_count(value: Any) -> bool:
    """Whether ``cv`` is a number of folds, or "auto"."""
    return value == "auto" if isinstance(value, str) else isinstance(value, numbers.Integral)
