"""Which combinations of categorical columns deserve target statistics of their own: found once, before any tree.

The loss of a combination is that of its ordered means, as predictions, in one random order of at most 50,000 rows:
log-loss, or squared error in units of twice the variance. Its gain is the least loss of any part of it that was tried,
and of the prior alone, less its own. All pairs are tried, then the best of each size with one column more.

A gain must exceed log(tried / 0.05). Ordered means make a probability of all targets in turn; where the categories mean
nothing, the expectation of their likelihood over the true one is 1, so it exceeds exp(g) with a chance of at most
exp(−g) (Ville 1939), and with a chance of at most 0.05 any of those tried is taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum import _kernel
from arboretum.data.table import Table
from arboretum.elementary import log
from arboretum.encoding.levels import Columns
from arboretum.encoding.target_statistics import (
    FloatArray,
    check_categorical,
    checked_rows,
    draw_orders,
)
from arboretum.exact_sums import exact_mean, exact_sum, sum_by_group

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
    order = draw_orders(table.n_rows, 1, seed=seed, threads=threads)[0]
    rows = (order if w is None else order[w[order] > 0])[:SAMPLE_ROWS]
    losses = _OrderedLosses(y[rows], None if w is None else w[rows], n_classes, threads)
    codes: dict[Columns, NDArray[np.int32]] = {single: table.columns[single[0]][rows] for single in singles}
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
