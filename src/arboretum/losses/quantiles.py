"""Pinball losses: of one quantile, or of several that cannot cross."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.losses.base import LeafRows, Loss, weighted_quantile
from arboretum.losses.links import FloatArray


@dataclass(frozen=True)
class Quantile(Loss):
    """Pinball loss: predicts a quantile of y.

    Parameters
    ----------
    quantile : float, default=0.5
        Strictly between 0 and 1.

    Examples
    --------
    >>> loss = Quantile(0.9)
    >>> loss.values(np.array([0.0, 0.0]), raw=np.array([-10.0, 10.0]))
    array([9., 1.])
    """

    name = "quantile"
    constant_hessian = True
    exact_hessian = False
    of_residuals = True
    recentres = True
    parameter_names = ("quantile",)

    quantile: float = 0.5

    def __post_init__(self) -> None:
        check_quantile(self.quantile)

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return q (y − raw) where raw is too low, (1 − q) (raw − y) where it is too high."""
        return np.maximum(self.quantile * (y - raw), (1.0 - self.quantile) * (raw - y))

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return −q where raw is too low, 1 − q where it is too high, 0 where it is exact; and 1."""
        return (raw > y) - self.quantile * (raw != y), np.ones_like(raw)

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Weighted quantile."""
        return np.array([weighted_quantile(y, weight, self.quantile)])

    def leaf_values(self, leaves: LeafRows, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Weighted quantile of the residuals."""
        return leaves.weighted_quantile(y - raw, weight, self.quantile)


@dataclass(frozen=True)
class Quantiles(Loss):
    """Sum of pinball losses: predicts several quantiles of y, the lower never above the higher.

    Each level has trees of its own; ``predict`` puts the raw predictions q_k of a row in rising order (Chernozhukov,
    Fernández-Val & Galichon 2010), at no cost: with ρ_τ(u) = τ u + max(−u, 0), for τ_1 < τ_2 and q_1 > q_2,

        ρ_1(y − q_2) + ρ_2(y − q_1) = ρ_1(y − q_1) + ρ_2(y − q_2) − (τ_2 − τ_1) (q_1 − q_2)

    so that every exchange of a pair that crosses lowers the loss of the row, whatever its y.

    Parameters
    ----------
    quantile : tuple of float
        At least two levels, rising, strictly between 0 and 1.

    Examples
    --------
    >>> loss = Quantiles((0.1, 0.5, 0.9))
    >>> loss.start(np.arange(11.0), weight=None)
    array([1., 5., 9.])
    >>> loss.predict(np.array([[3.0, 2.0, 4.0]]))
    array([[2., 3., 4.]])
    """

    name = "quantile"
    constant_hessian = True
    exact_hessian = False
    recentres = True

    quantile: tuple[float, ...]
    n_outputs: int = field(init=False, repr=False)
    parts: tuple[Loss, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        levels = list(self.quantile)
        if len(levels) < 2:
            raise ValueError(f"quantile={levels}: give at least two levels, or one as a number")
        for level in levels:
            check_quantile(level)
        for lower, higher in pairwise(levels):
            if lower >= higher:
                right = sorted({float(level) for level in levels})
                raise ValueError(f"quantile={levels}: {higher} follows {lower}, but levels must rise: use {right}")
        object.__setattr__(self, "quantile", tuple(float(level) for level in levels))
        object.__setattr__(self, "n_outputs", len(levels))
        object.__setattr__(self, "parts", tuple(Quantile(level) for level in self.quantile))

    def parameters(self) -> dict[str, Any]:
        """Return the levels."""
        return {"quantile": list(self.quantile)}

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return the sum of the pinball losses of the levels."""
        return np.asarray(sum(part.values(y, own) for part, own in zip(self.parts, raw.T, strict=True)))

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradients of the levels, and 1."""
        gradients = [part.gradients(y, own)[0] for part, own in zip(self.parts, raw.T, strict=True)]
        return np.stack(gradients, axis=1), np.ones_like(raw)

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Weighted quantiles."""
        return np.concatenate([part.start(y, weight) for part in self.parts])

    def start_from(self, y: FloatArray, offset: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Weighted quantiles of the residuals of each level."""
        pairs = zip(self.parts, offset.T, strict=True)
        return np.concatenate([part.start_from(y, own, weight) for part, own in pairs])

    def leaf_values(self, leaves: LeafRows, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Weighted quantiles of the residuals of each level."""
        values = [part.leaf_values(leaves, y, own, weight) for part, own in zip(self.parts, raw.T, strict=True)]
        return np.stack([value for value in values if value is not None], axis=1)

    def predict(self, raw: FloatArray) -> FloatArray:
        """Put the raw predictions of each row in rising order."""
        return np.sort(raw, axis=1)


def quantile_loss(quantile: float | list[float] | tuple[float, ...] | NDArray[Any] = 0.5) -> Quantile | Quantiles:
    """Return the pinball loss of one level, or of several.

    Examples
    --------
    >>> quantile_loss(0.9), quantile_loss([0.1, 0.9])
    (Quantile(quantile=0.9), Quantiles(quantile=(0.1, 0.9)))
    """
    return Quantiles(tuple(quantile)) if isinstance(quantile, list | tuple | np.ndarray) else Quantile(quantile)


def check_quantile(quantile: Any) -> None:
    """Raise unless it is a number and 0 < quantile < 1."""
    if isinstance(quantile, bool) or not isinstance(quantile, numbers.Real):
        raise TypeError(f"quantile={quantile!r}: use a number strictly between 0 and 1")
    if not 0 < float(quantile) < 1:
        raise ValueError(f"quantile={quantile} must lie strictly between 0 and 1")
