"""Conformal intervals: as wide as the errors on rows that the model has not seen, so that a share of new rows falls in.

A model gives each row an interval [low, high]: two quantiles, or a point prediction, whose ends are equal. The score of
a row that it has not seen says by how much the interval has to grow on both sides to reach y (Romano, Patterson and
Candès 2019)::

    e_i = max(low(x_i) − y_i, y_i − high(x_i))

With one model and n scores, [low(x) − q, high(x) + q], q the ⌈coverage · (n + 1)⌉-th smallest score, holds a new y with
probability ≥ coverage, whatever the model and the distribution (split conformal: Vovk, Gammerman and Shafer 2005). With
models of several folds (CV+: Barber, Candès, Ramdas and Tibshirani 2021), k(i) the one that has not seen row i::

    lower end = the ⌈coverage · (n + 1)⌉-th largest of  low_k(i)(x) − e_i
    upper end = the ⌈coverage · (n + 1)⌉-th smallest of high_k(i)(x) + e_i

which is the former if there is one model. Where a spread s(x) > 0 of the errors is known, learned on other rows, scores
are e_i / s(x_i) and the ends low(x) − s(x) q and high(x) + s(x) q (Papadopoulos, Gammerman and Vovk 2008; Lei, G'Sell,
Rinaldo, Tibshirani and Wasserman 2018). A row of weight 2 counts as two rows, and n is the weight of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.validity import Rules

FloatArray: TypeAlias = NDArray[np.float64]

RULES = Rules("scores")

ROUNDING = 1e-12  # a share of the weight that counts as 0: 0.55 · 100 is more than 55 in floats


def nonconformity(ends: FloatArray, y: FloatArray) -> FloatArray:
    """Return by how much each interval (rows, 2) has to grow to reach y; below 0 by how much it could shrink.

    Examples
    --------
    >>> nonconformity(np.array([[1.0, 3.0], [1.0, 3.0]]), np.array([5.0, 1.5]))
    array([ 2. , -0.5])
    """
    return np.maximum(ends[:, 0] - y, y - ends[:, 1])


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of rows, in one rising list for each model.

    Parameters
    ----------
    values : ndarray
        Scores; list k owns ``start[k] : start[k + 1]``.
    mass : ndarray
        Weight of the scores of the list up to and including each one.
    start : ndarray of int64
        First score of each list, and the number of all.

    Examples
    --------
    >>> scores = Scores.of([(np.array([3.0, 1.0, 2.0]), np.ones(3))])
    >>> scores.intervals(np.array([[10.0]]), np.array([[10.0]]), coverage=0.5)
    array([[ 8., 12.]])
    >>> scores.intervals(np.array([[10.0]]), np.array([[10.0]]), coverage=0.9)
    Traceback (most recent call last):
        ...
    ValueError: coverage=0.9 needs scores of at least 9 rows, there are 3: calibrate on more rows or ask for less
    """

    values: FloatArray
    mass: FloatArray
    start: NDArray[np.int64]

    @classmethod
    def of(cls, lists: Sequence[tuple[FloatArray, FloatArray]]) -> Scores:
        """Take the scores of each model, with the weights of their rows."""
        values, mass = [], []
        for scores, weight in lists:
            order = np.argsort(scores, kind="stable")
            values.append(scores[order])
            mass.append(np.cumsum(weight[order]))
        start = np.concatenate([[0], np.cumsum([len(part) for part in values])]).astype(np.int64)
        return cls(np.concatenate(values), np.concatenate(mass), start)

    @property
    def n_lists(self) -> int:
        """Number of models."""
        return len(self.start) - 1

    def needed(self, coverage: float) -> float:
        """Return the weight of the scores that the interval has to reach; reject more than there is."""
        ends = self.start[1:][np.diff(self.start) > 0] - 1
        total = float(self.mass[ends].sum())
        needed = coverage * (total + 1) * (1 - ROUNDING)
        if needed > total:
            least = math.ceil(round(coverage / (1 - coverage), 9))
            raise ValueError(
                f"coverage={coverage:g} needs scores of at least {least} rows, there are {total:g}: "
                "calibrate on more rows or ask for less"
            )
        return needed

    def intervals(
        self,
        low: FloatArray,
        high: FloatArray,
        coverage: float,
        *,
        spread: FloatArray | None = None,
        threads: int = 1,
    ) -> FloatArray:
        """Return the ends of the interval of each row, (rows, 2), from those of each model, (rows, models)."""
        needed, ends = self.needed(coverage), np.empty((2, len(low)))
        scale = None if spread is None else np.ascontiguousarray(spread)
        for sign, shift, out in ((-1.0, low, ends[0]), (1.0, high, ends[1])):
            shifts = np.ascontiguousarray(sign * shift)
            _kernel.interval_ends(shifts, scale, self.values, self.mass, self.start, needed, threads, out)
        ends[0] *= -1.0
        # Scores below 0 can turn a narrow interval inside out; what lies between is then the honest answer.
        return np.sort(ends, axis=0).T.copy()

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a model file."""
        return {"score": self.values, "score_mass": self.mass, "score_start": self.start}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Scores:
        """Read scores of a file of unknown origin."""
        scores = cls(*(arrays[name] for name in ("score", "score_mass", "score_start")))
        RULES.types(scores, {"values": np.float64, "mass": np.float64, "start": np.int64})
        values, mass, start = scores.values, scores.mass, scores.start
        RULES.lengths(scores, {"mass": len(values)})
        RULES.require(len(start) > 1, "number of lists", len(start) - 1, "at least 1")
        RULES.starts("start", start, len(values))
        RULES.everywhere("values", values, np.isfinite(values), "must be finite")
        RULES.everywhere("mass", mass, np.isfinite(mass) & (mass > 0), "must be finite and more than 0")
        begins = np.isin(np.arange(len(values)), start)
        rises, grows = np.diff(values, prepend=-np.inf) >= 0, np.diff(mass, prepend=0.0) > 0
        RULES.everywhere("values", values, begins | rises, "must not be less than the one before")
        RULES.everywhere("mass", mass, begins | grows, "must be greater than the one before")
        return scores
