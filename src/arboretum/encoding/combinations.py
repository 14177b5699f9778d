"""Which combinations of categorical columns deserve target statistics of their own: found once, before any tree.

The loss of a combination is that of its ordered means, as predictions, in one random order of at most 50,000 rows:
log-loss, or squared error in units of twice the variance. Its gain is the least loss of any part of it that was tried,
and of the prior alone, less its own. All pairs are tried, then the best of each size with one column more.

A gain must exceed log(tried / 0.05). Ordered means make a probability of all targets in turn; where the categories mean
nothing, the expectation of their likelihood over the true one is 1, so it exceeds exp(g) with a chance of at most
exp(−g) (Ville 1939), and with a chance of at most 0.05 any of those tried is taken.

Losses are sums in the order of the rows, so the sample of rows that lie in several places goes to one of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum import _kernel, places
from arboretum.data.table import Table
from arboretum.elementary import log
from arboretum.encoding.levels import Columns
from arboretum.encoding.statistic import FloatArray
from arboretum.encoding.target_statistics import (
    check_categorical,
    checked_rows,
    order_key,
)
from arboretum.exact_sums import exact_mean, exact_sum, sum_by_group
from arboretum.selecting import row_draws, smallest

SAMPLE_ROWS = 50_000
CHANCE = 0.05  # of taking a combination that means nothing


def best_combinations(
    table: Table,
    target: ArrayLike,
    columns: Sequence[int],
    *,
    max_size: int = 2,
    max_count: int = 8,
    n_classes: int | None = None,
    weight: ArrayLike | None = None,
    seed: int = 0,
    threads: int = 1,
) -> list[Columns]:
    """Find combinations of columns whose ordered statistics tell more of the target than those of their parts.

    CatBoost combines what a tree has already split by, anew in every tree. Here it is done once, and can be read.

    Parameters
    ----------
    table, target, n_classes, threads
        As for `learn_statistics`.
    columns : sequence of int
        Categorical columns to combine.
    max_size : int
        Most columns of a combination.
    max_count : int
        Most combinations.
    weight : array, optional
        Row weights; only their ratios matter.
    seed : int
        For the order of the rows.

    Returns
    -------
    list of tuples of int
        Rising columns; the largest gain first.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.integers(0, 4, size=(1000, 3))
    >>> table = read_table(codes, categorical_features=[0, 1, 2])
    >>> best_combinations(table, (codes[:, 0] + codes[:, 2]) % 2, [0, 1, 2], n_classes=2)
    [(0, 2)]
    """
    y, w = checked_rows(target, weight, table.n_rows, n_classes)
    singles: list[Columns] = [(j,) for j in sorted(set(columns))]
    check_categorical(table.schema, [single[0] for single in singles], "columns")
    draws = row_draws(table.n_rows, order_key(seed, 0), threads)
    rows = np.arange(table.n_rows) if w is None else np.flatnonzero(w)
    rows = rows[smallest(draws[rows], lambda n: np.minimum(n, SAMPLE_ROWS))]
    codes = {single: table.columns[single[0]][rows] for single in singles}
    own = {places.index(): _Sample(draws[rows], y[rows], None if w is None else w[rows], codes)}

    def decide(parts: dict[int, _Sample]) -> list[Columns]:
        return _find_best(_Sample.joined(places.in_order(parts)), n_classes, max_size, max_count, threads)

    return places.decided(lambda: own, dict.__or__, decide)


class _Sample(NamedTuple):
    """Rows that combinations are judged by: 16 bytes each, 8 with weights, and 4 per column."""

    draw: NDArray[np.uint64]
    y: FloatArray
    w: FloatArray | None
    codes: dict[Columns, NDArray[np.int32]]

    @classmethod
    def joined(cls, parts: Sequence[_Sample]) -> _Sample:
        """Return the rows of all parts in their random order."""
        draw = np.concatenate([part.draw for part in parts])
        order = np.argsort(draw, kind="stable")  # of equal draws, the first row

        def whole(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
            return np.concatenate(columns)[order]

        weights = [part.w for part in parts if part.w is not None]
        codes = {single: whole([part.codes[single] for part in parts]) for single in parts[0].codes}
        return cls(draw[order], whole([part.y for part in parts]), whole(weights) if weights else None, codes)


def _find_best(sample: _Sample, n_classes: int | None, max_size: int, max_count: int, threads: int) -> list[Columns]:
    losses = _OrderedLosses(sample.y, sample.w, n_classes, threads)
    singles, codes = list(sample.codes), dict(sample.codes)
    losses.add({single: (single, single) for single in singles}, codes)
    gains: dict[Columns, float] = {}
    frontier = singles
    for _ in range(1, max_size):
        tried = {tuple(sorted(part + one)): (part, one) for part in frontier for one in singles if one[0] not in part}
        if not tried:
            break
        losses.add(tried, codes)
        enough = math.log(len(tried) / CHANCE)
        better = {combination: gain for combination in tried if (gain := losses.gain(combination)) > enough}
        frontier = _best(better, max_count)
        codes |= {combination: _paired(*(codes[part] for part in tried[combination])) for combination in frontier}
        gains |= better
    return _best(gains, max_count)


def _best(gains: dict[Columns, float], count: int) -> list[Columns]:
    return sorted(gains, key=lambda combination: (-gains[combination], combination))[:count]


def _paired(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int32]:
    """One code for each pair of codes."""
    pair = (first.astype(np.int64) << 32) | second.view(np.uint32)
    return np.asarray(np.unique(pair, return_inverse=True)[1], np.int32)


def _centred(y: FloatArray, weight: FloatArray) -> FloatArray:
    """Differences from the mean, within ±1: squares of huge targets would overflow."""
    difference: FloatArray = y - exact_mean(y, weight)
    return difference / (np.abs(difference).max() or 1.0)


class _OrderedLosses:
    """Losses, in nats, of ordered means of the columns and combinations tried so far."""

    def __init__(self, y: FloatArray, w: FloatArray | None, n_classes: int | None, threads: int) -> None:
        self.weight = None if w is None else w / exact_mean(w)
        weight = np.ones(len(y)) if self.weight is None else self.weight
        if n_classes is None:
            self.target, self.priors = _centred(y, weight), [0.0]
            squares = exact_sum(self.target**2, weight)
            self.unit = 2 * squares / len(y) or 1.0
            of_prior = squares / self.unit
        else:
            totals = sum_by_group(weight, y, max(n_classes, 2))  # one prior is a number
            shares = totals / exact_sum(weight)
            self.target, self.priors, self.unit = y, shares.tolist(), 1.0
            of_prior = -exact_sum(log(shares[y.astype(np.intp)]), weight)
        self.threads = threads
        self.loss: dict[Columns, float] = {(): of_prior}

    def add(self, tried: Mapping[Columns, tuple[Columns, Columns]], codes: Mapping[Columns, NDArray[np.int32]]) -> None:
        """Find the losses of combinations of two parts each."""
        place = {part: i for i, part in enumerate(codes)}
        pairs = np.array([(place[a], place[b]) for a, b in tried.values()], np.int32).reshape(-1, 2)
        out = np.empty(len(pairs))
        _kernel.ordered_losses(list(codes.values()), pairs, self.target, self.weight, self.priors, self.threads, out)
        self.loss |= dict(zip(tried, (out / self.unit).tolist(), strict=True))

    def gain(self, combination: Columns) -> float:
        """How much less the combination loses than the best of its parts."""
        parts = (part for size in range(len(combination)) for part in itertools.combinations(combination, size))
        return min(self.loss[part] for part in parts if part in self.loss) - self.loss[combination]
