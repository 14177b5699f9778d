"""Losses of numbers: squared, absolute, Huber; Poisson, gamma, Tweedie with an exp link."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from arboretum import places
from arboretum.elementary import EXP_LIMIT, bounded_exp, log
from arboretum.losses.base import LeafRows, Loss, require, weighted_mean, weighted_quantile
from arboretum.losses.links import FloatArray
from arboretum.losses.quantiles import check_quantile


@dataclass(frozen=True)
class SquaredError(Loss):
    """½ (y − raw)²: predicts the mean.

    Examples
    --------
    >>> loss = SquaredError()
    >>> loss.start(np.array([1.0, 2.0, 6.0]), weight=None)
    array([3.])
    >>> loss.gradients(np.array([1.0, 6.0]), raw=np.array([3.0, 3.0]))
    (array([ 2., -3.]), array([1., 1.]))
    """

    name = "squared_error"
    constant_hessian = True
    of_residuals = True

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return ½ (y − raw)²."""
        return 0.5 * (y - raw) ** 2

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return raw − y and 1."""
        return raw - y, np.ones_like(raw)

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Weighted mean."""
        return np.atleast_1d(weighted_mean(y, weight))


@dataclass(frozen=True)
class AbsoluteError(Loss):
    """abs(y − raw): predicts the median.

    Examples
    --------
    >>> AbsoluteError().start(np.array([1.0, 2.0, 60.0]), weight=None)
    array([2.])
    >>> AbsoluteError().gradients(np.array([1.0, 2.0, 60.0]), raw=np.array([2.0, 2.0, 2.0]))
    (array([ 1.,  0., -1.]), array([1., 1., 1.]))
    """

    name = "absolute_error"
    constant_hessian = True
    exact_hessian = False
    of_residuals = True

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return abs(y − raw)."""
        return np.abs(y - raw)

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign of raw − y, and 1 in place of a second derivative that is 0."""
        return np.sign(raw - y), np.ones_like(raw)

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Weighted median."""
        return np.array([weighted_quantile(y, weight, 0.5)])

    def leaf_values(self, leaves: LeafRows, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Weighted median of the residuals."""
        return leaves.weighted_quantile(y - raw, weight, 0.5)


@dataclass(frozen=True)
class Huber(Loss):
    """Squared near zero, absolute beyond ``delta``: robust against outliers.

    With residual r = y − raw, the value is ½ r² if abs(r) ≤ delta, else delta (abs(r) − ½ delta).
    ``for_round`` sets delta to a weighted quantile of abs(r), once a round (Friedman 2001, algorithm 4).

    Parameters
    ----------
    quantile : float, default=0.9
        Fraction of rows treated as squared error, strictly between 0 and 1.
    delta : float, optional
        Set by ``for_round``.

    Notes
    -----
    Values of different rounds have different deltas. To compare rounds, as early stopping does, score all of
    them with the loss of one round.

    Examples
    --------
    >>> y, raw = np.array([-1.0, 0.0, 1.0, 50.0]), np.zeros(4)
    >>> loss = Huber(quantile=0.75).for_round(y, raw, weight=None)
    >>> loss.delta
    1.0
    >>> loss.gradients(y, raw)[0]
    array([ 1.,  0., -1., -1.])
    """

    name = "huber"
    constant_hessian = True
    exact_hessian = False
    of_residuals = True

    parameter_names = ("quantile",)  # delta is derived from the data in each round

    quantile: float = 0.9
    delta: float | None = None

    def __post_init__(self) -> None:
        check_quantile(self.quantile)

    def for_round(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> Huber:
        """Return this loss with the delta of these residuals."""
        deviation = np.abs(y - raw)
        # With delta 0, as when most rows are fitted exactly, every gradient would be 0 and boosting stuck.
        # The mean is 0 only if no row of positive weight deviates; then any delta will do.
        delta = weighted_quantile(deviation, weight, self.quantile) or float(weighted_mean(deviation, weight))
        return replace(self, delta=delta or 1.0)

    def _known_delta(self) -> float:
        if self.delta is None:
            raise RuntimeError("Huber has no delta yet: use the loss that for_round(y, raw, weight) returns")
        return self.delta

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return ½ r² within delta, delta (abs(r) − ½ delta) beyond."""
        delta, deviation = self._known_delta(), np.abs(y - raw)
        # Both branches in one: with c = min(abs(r), delta), the value is c (abs(r) − ½ c).
        clipped = np.minimum(deviation, delta)
        return np.asarray(clipped * (deviation - 0.5 * clipped))

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return raw − y clipped to ±delta, and 1 in place of a second derivative that is 0 beyond delta."""
        delta = self._known_delta()
        return np.clip(raw - y, -delta, delta), np.ones_like(raw)

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Weighted median: delta, hence the best constant, is not known before the first round."""
        return np.array([weighted_quantile(y, weight, 0.5)])

    def leaf_values(self, leaves: LeafRows, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Median of the residuals plus the mean of their deviations from it, clipped to ±delta."""
        delta = self._known_delta()
        residual = (y - raw)[leaves.rows]
        weight = None if weight is None else weight[leaves.rows]
        leaves = LeafRows.contiguous(leaves.start)
        median = leaves.weighted_quantile(residual, weight, 0.5)
        deviation = np.clip(residual - np.repeat(median, leaves.counts), -delta, delta)
        return np.asarray(median + leaves.weighted_mean(deviation, weight))


class Deviance(Loss):
    """Half the Tweedie deviance of a mean exp(raw), for amounts whose variance grows as mean^power."""

    link = "exp"
    self_concordant = True
    power: float

    def check_target(self, y: FloatArray) -> None:
        """Need y ≥ 0, and not 0 everywhere."""
        super().check_target(y)
        require(y >= 0, y, f"loss={self.name!r} needs y >= 0: correct such rows or use loss='squared_error'")
        if not places.anywhere(bool(y.any())):
            raise ValueError(f"y is 0 in every row: loss={self.name!r} needs at least one y > 0")

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Logarithm of the weighted mean."""
        return log_of_mean(y, weight)

    def start_from(self, y: FloatArray, offset: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return log(Σ w y exp((1−p) offset) / Σ w exp((2−p) offset)), where the derivative is 0.

        For counts and logarithms of exposures as offsets this is the logarithm of claims per exposure. Offsets are
        counted from their weighted mean, so that the exponentials of large ones stay in range.
        """
        middle = weighted_mean(offset, weight)
        deviation = offset - middle
        above = log_of_mean(y * bounded_exp((1.0 - self.power) * deviation), weight)
        below = log_of_mean(bounded_exp((2.0 - self.power) * deviation), weight)
        return np.asarray(above - below - middle)


@dataclass(frozen=True)
class Poisson(Deviance):
    """exp(raw) − y raw: half the Poisson deviance, for counts and rates y ≥ 0.

    Examples
    --------
    >>> loss = Poisson()
    >>> loss.predict(loss.start(np.array([0.0, 1.0, 5.0]), weight=None)).round(9)
    array([2.])
    >>> loss.check_target(np.array([1.0, -2.0]))
    Traceback (most recent call last):
        ...
    ValueError: y[1] = -2.0: loss='poisson' needs y >= 0: correct such rows or use loss='squared_error'
    """

    name = "poisson"
    power = 1.0

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return exp(raw) − y raw."""
        return bounded_exp(raw) - y * raw

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return exp(raw) − y and exp(raw)."""
        mean = bounded_exp(raw)
        return mean - y, mean


@dataclass(frozen=True)
class Gamma(Deviance):
    """raw + y exp(−raw): half the gamma deviance, for positive amounts whose spread grows with their mean.

    Examples
    --------
    >>> Gamma().gradients(np.array([1.0, 3.0]), raw=np.zeros(2))
    (array([ 0., -2.]), array([1., 3.]))
    """

    name = "gamma"
    power = 2.0

    def check_target(self, y: FloatArray) -> None:
        """Need y > 0."""
        Loss.check_target(self, y)
        require(y > 0, y, "loss='gamma' needs y > 0: correct such rows, or use loss='tweedie', which takes 0")

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return raw + y exp(−raw)."""
        return raw + y * bounded_exp(-raw)

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return 1 − y exp(−raw) and y exp(−raw)."""
        ratio = y * bounded_exp(-raw)
        return 1.0 - ratio, ratio


@dataclass(frozen=True)
class Tweedie(Deviance):
    """Half the Tweedie deviance, for amounts y ≥ 0 with a spike at 0: insurance claims, rainfall.

    With p the power and μ = exp(raw), the value is μ^(2−p) / (2−p) − y μ^(1−p) / (1−p).

    Parameters
    ----------
    power : float, default=1.5
        The variance grows as mean^power; strictly between 1 (Poisson) and 2 (gamma).

    Examples
    --------
    >>> Tweedie(power=1.5).gradients(np.array([0.0, 3.0]), raw=np.zeros(2))
    (array([ 1., -2.]), array([0.5, 2. ]))
    """

    name = "tweedie"
    parameter_names = ("power",)

    power: float = 1.5

    def __post_init__(self) -> None:
        if not 1 < self.power < 2:
            raise ValueError(
                f"power={self.power} must lie strictly between 1 and 2; "
                "0 is loss='squared_error', 1 is loss='poisson', 2 is loss='gamma'"
            )

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return μ^(2−p) / (2−p) + y μ^(1−p) / (p−1)."""
        a, b = 2.0 - self.power, self.power - 1.0
        return bounded_exp(a * raw) / a + y * bounded_exp(-b * raw) / b

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return μ^(2−p) − y μ^(1−p), and its derivative (2−p) μ^(2−p) + (p−1) y μ^(1−p)."""
        a, b = 2.0 - self.power, self.power - 1.0
        rising, falling = bounded_exp(a * raw), y * bounded_exp(-b * raw)
        return rising - falling, a * rising + b * falling


def log_of_mean(y: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Logarithm of the weighted mean, (1,); at least −``EXP_LIMIT``: positive rows may weigh nothing."""
    return np.atleast_1d(log(np.maximum(weighted_mean(y, weight), bounded_exp(-EXP_LIMIT))))
