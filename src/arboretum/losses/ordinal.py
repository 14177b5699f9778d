"""The loss of ordered classes: one raw score, and thresholds that cut it into classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arboretum import _kernel, places
from arboretum.elementary import bounded_exp, expm1, log, softplus
from arboretum.exact_sums import largest_of_all, weight_by_group
from arboretum.losses.base import Loss, total_weight, weighted_mean
from arboretum.losses.classification import SMALLEST_FREQUENCY, codes, require_codes
from arboretum.losses.links import FloatArray, sigmoid

NEWTON_STEPS = 100
STILL = 1e-9  # a step of no threshold by more than this ends the search
OVERSHOOT = 0.5  # a step after which the slope along it is this share of what it was, upwards, is halved
EMPTY_CLASS = 1e-9  # share of all weight that keeps the thresholds around a class without rows apart


@dataclass(frozen=True)
class Ordinal(Loss):
    """−log P(y), P(y ≤ j) = σ(θ_j − raw): the cumulative logit of ordered classes (McCullagh 1980).

    A class is what lies between two thresholds θ, which are fitted to the raw scores: by ``for_round`` at the beginning
    of each round, and by ``fitted`` after the last.

    Parameters
    ----------
    n_classes : int
        Number of classes K, at least 2; y in {0, …, K − 1}, in their order.
    thresholds : tuple of float, optional
        K − 1 of them, rising; set by ``for_round``.

    Examples
    --------
    >>> y = np.array([0.0, 0.0, 1.0, 2.0])
    >>> loss = Ordinal(n_classes=3).fitted(y, raw=np.zeros(4), weight=None)
    >>> loss.probabilities(np.zeros(1)).round(6)
    array([[0.5 , 0.25, 0.25]])
    """

    name = "ordinal"
    task = "classification"
    self_concordant = True

    n_classes: int = 2
    thresholds: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if type(self.n_classes) is not int or self.n_classes < 2:
            raise ValueError(f"n_classes={self.n_classes!r}: expected an integer at least 2")
        if self.thresholds is not None:
            rising = np.asarray(self.thresholds, dtype=np.float64)
            if (
                rising.shape != (self.n_classes - 1,)
                or not np.isfinite(rising).all()
                or not (np.diff(rising) > 0).all()
            ):
                raise ValueError(f"thresholds={self.thresholds!r}: give {self.n_classes - 1} finite numbers that rise")
            object.__setattr__(self, "thresholds", tuple(rising.tolist()))

    def parameters(self) -> dict[str, Any]:
        """Return the number of classes and, once they are fitted, the thresholds."""
        fitted = {} if self.thresholds is None else {"thresholds": list(self.thresholds)}
        return {"n_classes": self.n_classes, **fitted}

    def continues(self, fitted: Loss) -> bool:
        """Whether rounds of this loss can be added to a model of that one: whatever its thresholds."""
        return type(fitted) is type(self) and fitted.n_classes == self.n_classes

    def check_target(self, y: FloatArray) -> None:
        """Need class codes 0 … n_classes − 1."""
        super().check_target(y)
        require_codes(y, self.n_classes, f"the loss of {self.n_classes} ordered classes")

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return 0: the thresholds alone make the class frequencies."""
        if weight is not None:
            total_weight(weight)
        return np.zeros(1)

    def start_from(self, y: FloatArray, offset: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return 0: the thresholds move with the offsets."""
        return self.start(y, weight)

    def for_round(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> Ordinal:
        """Return this loss with the best thresholds for these scores."""
        return self.fitted(y, raw, weight)

    def fitted(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> Ordinal:
        """Return this loss with the best thresholds for these scores, whatever they were before."""
        return replace(self, thresholds=tuple(best_thresholds(self.n_classes, y, raw, weight).tolist()))

    def _bounds(self) -> FloatArray:
        if self.thresholds is None:
            raise RuntimeError("Ordinal has no thresholds yet: use the loss that fitted(y, raw, weight) returns")
        return np.array([-np.inf, *self.thresholds, np.inf])

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return −log(σ(a) − σ(b)) for a class between the thresholds a + raw and b + raw."""
        bounds, own = self._bounds(), codes(y)
        # σ(a) − σ(b) = σ(a) σ(−b) (1 − e^(b−a)), where nothing cancels.
        share = -expm1(-np.diff(bounds))[own]
        return np.asarray(softplus(raw - bounds[own + 1]) + softplus(bounds[own] - raw) - log(share))

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return 1 − σ(a) − σ(b) and σ'(a) + σ'(b)."""
        bounds, own = self._bounds(), codes(y)
        a, b = sigmoid(bounds[own + 1] - raw), sigmoid(bounds[own] - raw)
        return 1.0 - a - b, a * (1.0 - a) + b * (1.0 - b)

    def probabilities(self, raw: FloatArray) -> FloatArray:
        """Probability of each class, (n, n_classes)."""
        at_most = sigmoid(self._bounds()[None, :] - raw[:, None])
        at_most[:, 0], at_most[:, -1] = 0.0, 1.0
        return np.diff(at_most, axis=1)


def best_thresholds(n_classes: int, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Find the thresholds of least loss for given scores, by Newton's method.

    The loss is convex in the thresholds, and infinite where two of them meet (Pratt 1981). The search starts where the
    class frequencies lie in a logistic distribution with mean and variance of the scores and their noise, π²/3.

    Examples
    --------
    >>> best_thresholds(3, np.array([0.0, 1.0, 1.0, 2.0]), np.zeros(4), weight=None).round(6)
    array([-1.098612,  1.098612])
    """
    y, raw = np.ascontiguousarray(y), np.ascontiguousarray(raw)
    totals = weight_by_group(weight, y, n_classes)
    below = np.cumsum(totals + SMALLEST_FREQUENCY * totals.sum())
    centre = weighted_mean(raw, weight)
    spread = np.sqrt(1.0 + 3.0 / np.pi**2 * weighted_mean((raw - centre) ** 2, weight))
    theta: FloatArray = centre + spread * (log(below[:-1]) - log(below[-1] - below[:-1]))
    unit = _kernel.whole_unit(*largest_of_all(1.0 if weight is None else float(weight.max(initial=0.0)), len(y)), 1)
    slope, diagonal, beside = _slopes(theta, y, raw, weight, unit)
    for _ in range(NEWTON_STEPS):
        # Between scores far apart the loss is all but straight: no step is longer than they spread.
        step = _solve(diagonal + np.abs(slope) / spread, beside, -slope)
        if np.max(np.abs(step)) <= STILL:
            break
        along = -float((slope * step).sum())
        while True:
            trial = theta + step
            if (np.diff(trial) > 0).all():
                found = _slopes(trial, y, raw, weight, unit)
                if float((found[0] * step).sum()) <= OVERSHOOT * along:
                    break
            step, along = step / 2, along / 2
        theta = trial
        slope, diagonal, beside = found
    return theta


def _slopes(
    theta: FloatArray, y: FloatArray, raw: FloatArray, weight: FloatArray | None, unit: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """First derivatives of the mean loss by the thresholds; second ones: the diagonal, and beside it."""
    own = np.empty((len(theta) + 1, 5), np.int64)
    _kernel.ordinal_sums(y, raw, weight, theta, unit, 1, own)
    sums = places.added(own)
    mass, below, below_curved, above, above_curved = (sums / sums[:, 0].sum()).T
    # −log(1 − e^−d) of the classes between two thresholds, d apart, has the derivative −1 / (e^d − 1).
    gap = np.diff(theta)
    inner, room = (mass[1:-1] + EMPTY_CLASS) * bounded_exp(-gap), -expm1(-gap)
    push, stiff = inner / room, inner / room**2
    slope = above[1:] - below[:-1]
    diagonal = above_curved[1:] + below_curved[:-1]
    slope[1:] -= push
    slope[:-1] += push
    diagonal[1:] += stiff
    diagonal[:-1] += stiff
    return slope, diagonal, -stiff


def _solve(diagonal: FloatArray, beside: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric tridiagonal system (Thomas's algorithm): the same bits with any library of linear algebra."""
    pivot, solution = diagonal.copy(), right.copy()
    for i in range(1, len(pivot)):
        ratio = beside[i - 1] / pivot[i - 1]
        pivot[i] -= ratio * beside[i - 1]
        solution[i] -= ratio * solution[i - 1]
    solution[-1] /= pivot[-1]
    for i in range(len(pivot) - 2, -1, -1):
        solution[i] = (solution[i] - beside[i] * solution[i + 1]) / pivot[i]
    return solution
