r"""What turns answers of members into one: fixed weights, or weights learned from rows that members have not seen.

::

    Mean        Σ wᵢ fᵢ / Σ wᵢ                        voting, ensemble selection
    Votes       Σ wᵢ [fᵢ votes for the class] / Σ wᵢ   voting="hard"
    LinearSum   b + Σ αᵢ fᵢ,  αᵢ ≥ 0                   stacking of numbers (Breiman 1996)
    LogPool     softmaxₖ(bₖ + Σ αᵢ log pᵢₖ),  αᵢ ≥ 0   stacking of classes: a multinomial model of log probabilities
    ScaledSum   Σ αᵢ fᵢ / sᵢ,  αᵢ ≥ 0                  stacking of rankers and survival models

``LinearSum`` and ``LogPool`` are fitted by maximum a posteriori. A priori each αᵢ is 1/members, give or take
``SPREAD``: with few rows the members are averaged, with many the rows decide.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.elementary import bounded_exp, log
from arboretum.ensembles.combining.bounded_newton import minimise
from arboretum.model.arrays import Arrays
from arboretum.model.heads import finite_numbers

FloatArray: TypeAlias = NDArray[np.float64]

SPREAD = 0.5  # standard deviation of a coefficient, a priori
INTERCEPT_SPREAD = 1.0  # of an intercept of log odds
MOST_INTERCEPTS = 32  # classes; the Hessian of more intercepts would take longer than the members
# A member may say 0 where it means rarely. Its probabilities are mixed with 1 / classes by the best of these shares.
FLOORS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1)


class Combiner(ABC):
    """From the answers of members to one, by a weight for each member."""

    kind: ClassVar[str]
    weights: FloatArray  # (members,), or (members, outputs)

    @abstractmethod
    def combine(self, answers: Sequence[FloatArray]) -> FloatArray:
        """Return the joint answer (rows, width), of answers (rows, width) of each member."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return what a file stores."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Arrays, n_members: int, width: int) -> Combiner:
        """Read a combiner from a file of unknown origin; ``width`` is the number of classes or outputs."""

    @property
    def shares(self) -> FloatArray:
        """How much each member counts, a mean over outputs."""
        weights = self.arrays()["weights"]
        return np.asarray(weights.reshape(len(weights), -1).mean(axis=1))

    @abstractmethod
    def coefficients(self, width: int) -> tuple[FloatArray, FloatArray]:
        """Return the factor of each member's answer (members, width), and the constant (width,), if it is a sum."""


@dataclass(frozen=True, eq=False)
class Mean(Combiner):
    """The weighted mean.

    Examples
    --------
    >>> Mean(np.array([1.0, 3.0])).combine([np.array([[0.0]]), np.array([[4.0]])])
    array([[3.]])
    """

    weights: FloatArray

    kind = "mean"

    def combine(self, answers: Sequence[FloatArray]) -> FloatArray:
        """Return the weighted mean."""
        return np.asarray(_total(self.weights, answers) / self.weights.sum())

    def arrays(self) -> Arrays:
        """Return the weights."""
        return {"weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_members: int, width: int) -> Mean:
        """Read one weight per member."""
        weights = _numbers(arrays, "weights", (n_members,), least=0.0)
        if not weights.any():
            raise ValueError("weights: expected at least one above 0")
        return cls(weights)

    def coefficients(self, width: int) -> tuple[FloatArray, FloatArray]:
        """Return the shares of the members."""
        return np.repeat((self.weights / self.weights.sum())[:, None], width, axis=1), np.zeros(width)


class Votes(Mean):
    """The weighted share of the members that vote for each class; of equal shares, the first class wins.

    Examples
    --------
    >>> Votes(np.ones(2)).combine([np.array([[0.4, 0.6]]), np.array([[0.9, 0.1]])])
    array([[0.5, 0.5]])
    """

    kind = "votes"

    def combine(self, answers: Sequence[FloatArray]) -> FloatArray:
        """Return the shares of votes."""
        return super().combine([np.eye(answer.shape[1])[answer.argmax(axis=1)] for answer in answers])

    def coefficients(self, width: int) -> tuple[FloatArray, FloatArray]:
        """Raise an error: votes are steps."""
        raise TypeError('votes of members are not a sum of trees, which SHAP values would split: use voting="soft"')


@dataclass(frozen=True, eq=False)
class LinearSum(Combiner):
    """A constant plus members times coefficients, which are not negative; for each output its own.

    Examples
    --------
    >>> y = np.arange(100.0)
    >>> found = LinearSum.fit([y[:, None] + 3, np.ones((100, 1))], y[:, None], np.ones(100))
    >>> found.weights[:, 0].round(2), found.combine([np.array([[7.0]]), np.array([[1.0]])]).round()
    (array([1. , 0.5]), array([[4.]]))
    """

    weights: FloatArray  # (members, outputs)
    intercept: FloatArray  # (outputs,)

    kind = "sum"

    @classmethod
    def fit(cls, answers: Sequence[FloatArray], y: FloatArray, weight: FloatArray) -> LinearSum:
        """Fit by least squares with a normal prior of the coefficients.

        ::

            Σ w (y − b − Σ αᵢ fᵢ)² / σ² + Σ (αᵢ − 1/m)² / SPREAD²   →  least,   αᵢ ≥ 0
            σ² = mean of w (y − mean of the fᵢ)²
        """
        pairs = [cls._fit_output([answer[:, j] for answer in answers], y[:, j], weight) for j in range(y.shape[1])]
        return cls(np.stack([weights for weights, _ in pairs], axis=1), np.array([constant for _, constant in pairs]))

    @staticmethod
    def _fit_output(answers: list[FloatArray], y: FloatArray, weight: FloatArray) -> tuple[FloatArray, float]:
        total, m = float(weight.sum()), len(answers)
        means = np.array([_sum(answer, weight) / total for answer in answers])
        middle = _sum(y, weight) / total
        off = [answer - mean for answer, mean in zip(answers, means, strict=True)]
        residual = y - middle - np.sum(off, axis=0) / m
        noise = _sum(residual * residual, weight) / total
        if noise == 0:
            return np.full(m, 1 / m), float(middle - (means / m).sum())
        gram = np.array([[_sum(one * other, weight) for other in off] for one in off]) / noise
        toward = np.array([_sum(one * (y - middle), weight) for one in off]) / noise
        prior = np.eye(m) / SPREAD**2

        def loss(alpha: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            away, slope = alpha - 1 / m, (gram * alpha).sum(axis=1) - toward
            value = (alpha * (slope - toward)).sum() / 2 + (away * away).sum() / (2 * SPREAD**2)
            return float(value), slope + away / SPREAD**2, gram + prior

        alpha = minimise(loss, np.full(m, 1 / m), m)
        return alpha, float(middle - (alpha * means).sum())

    def combine(self, answers: Sequence[FloatArray]) -> FloatArray:
        """Return the sum."""
        return _total(self.weights, answers, self.intercept)

    def arrays(self) -> Arrays:
        """Return coefficients and constant."""
        return {"weights": self.weights, "intercept": self.intercept}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_members: int, width: int) -> LinearSum:
        """Read one coefficient per member and output."""
        shape = (n_members, len(arrays["intercept"]))
        return cls(_numbers(arrays, "weights", shape, least=0.0), finite_numbers(arrays, "intercept"))

    def coefficients(self, width: int) -> tuple[FloatArray, FloatArray]:
        """Return coefficients and constant."""
        return self.weights, self.intercept


@dataclass(frozen=True, eq=False)
class LogPool(Combiner):
    """Probabilities multiplied with one another, each to a power of its own (Genest and Zidek 1986).

    A multinomial logistic model of the members' log probabilities, or of their raw scores, with one coefficient per
    member and one intercept per class.

    Parameters
    ----------
    weights : ndarray, (members,)
        The powers.
    intercept : ndarray, (classes,)
        Constants of the classes; 0 for more than ``MOST_INTERCEPTS`` classes.
    floors : ndarray, (members,)
        Share of 1 / classes that a member's probabilities are mixed with; NaN for raw scores.

    Examples
    --------
    >>> LogPool(np.array([2.0]), np.zeros(2), np.array([np.nan])).combine([np.array([[np.log(2.0)]])]).round(3)
    array([[0.2, 0.8]])
    """

    weights: FloatArray
    intercept: FloatArray
    floors: FloatArray

    kind = "log_pool"

    @classmethod
    def fit(
        cls,
        answers: Sequence[FloatArray],
        scored: Sequence[bool],
        codes: FloatArray,
        n_classes: int,
        weight: FloatArray,
    ) -> LogPool:
        """Fit by maximum a posteriori.

        Parameters
        ----------
        answers : sequence of ndarray, (rows, classes) or (rows, 1)
            Of each member, to rows that it has not seen.
        scored : sequence of bool
            Whether they are raw scores, not probabilities.
        codes : ndarray
            Class of each row.
        n_classes : int
            Number of classes.
        weight : ndarray
            Weight of each row.
        """
        place = codes.astype(np.intp)
        floors = np.array(
            [np.nan if raw else _best_floor(answer, place, weight) for answer, raw in zip(answers, scored, strict=True)]
        )
        logs = [_logs(answer, floor) for answer, floor in zip(answers, floors, strict=True)]
        m, n_intercepts = len(logs), n_classes if n_classes <= MOST_INTERCEPTS else 0
        start = np.append(np.full(m, 1 / m), np.zeros(n_intercepts))
        prior = np.append(np.full(m, SPREAD**-2), np.full(n_intercepts, INTERCEPT_SPREAD**-2))
        own = np.array([_sum(one[np.arange(len(place)), place], weight) for one in logs])
        of_class = np.bincount(place, weight, minlength=n_classes)[:n_intercepts]

        def loss(at: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            scores = _total(at[:m], logs, at[m:] if n_intercepts else 0.0)
            top = scores.max(axis=1, keepdims=True)
            powers = bounded_exp(scores - top)
            total = powers.sum(axis=1, keepdims=True)
            p, away = powers / total, at - start
            value = _sum(top[:, 0] + log(total[:, 0]), weight) - (at[:m] * own).sum() - (at[m:] * of_class).sum()
            mean = [(p * one).sum(axis=1) for one in logs]
            gradient = np.append(
                [_sum(one, weight) for one in mean] - own,
                [_sum(p[:, k], weight) - of_class[k] for k in range(n_intercepts)],
            )
            hessian = np.diag(prior)
            for i in range(m):
                for j in range(i, m):
                    both = (p * logs[i] * logs[j]).sum(axis=1) - mean[i] * mean[j]
                    hessian[i, j] = hessian[j, i] = hessian[i, j] + _sum(both, weight)
                for k in range(n_intercepts):
                    both = p[:, k] * (logs[i][:, k] - mean[i])
                    hessian[i, m + k] = hessian[m + k, i] = _sum(both, weight)
            for k in range(n_intercepts):
                for other in range(k, n_intercepts):
                    both = p[:, k] * ((k == other) - p[:, other])
                    hessian[m + k, m + other] = hessian[m + other, m + k] = hessian[m + k, m + other] + _sum(
                        both, weight
                    )
            return float(value + (prior * away * away).sum() / 2), gradient + prior * away, hessian

        at = minimise(loss, start, m)
        return cls(at[:m], at[m:] if n_intercepts else np.zeros(n_classes), floors)

    def combine(self, answers: Sequence[FloatArray]) -> FloatArray:
        """Return probabilities (rows, classes)."""
        scores = self.scores(answers)
        powers = bounded_exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def scores(self, answers: Sequence[FloatArray]) -> FloatArray:
        """Return logarithms of the probabilities, up to a constant of the row."""
        logs = [_logs(answer, floor) for answer, floor in zip(answers, self.floors, strict=True)]
        return _total(self.weights, logs, self.intercept)

    def arrays(self) -> Arrays:
        """Return powers, constants and floors; a floor of 0 stands for raw scores."""
        floors = np.where(np.isnan(self.floors), 0.0, self.floors)
        return {"weights": self.weights, "intercept": self.intercept, "floors": floors}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_members: int, width: int) -> LogPool:
        """Read a power and a floor per member, and a constant per class."""
        floors = _numbers(arrays, "floors", (n_members,), least=0.0, most=1.0)
        return cls(
            _numbers(arrays, "weights", (n_members,), least=0.0),
            _numbers(arrays, "intercept", (width,)),
            np.where(floors == 0, np.nan, floors),
        )

    def coefficients(self, width: int) -> tuple[FloatArray, FloatArray]:
        """Return powers and constants, of raw scores: the log odds for two classes, else the score of each class."""
        if not np.isnan(self.floors).all():
            raise TypeError(
                "logarithms of probabilities are not sums of trees, which SHAP values would split: use "
                'stack_method="decision_function", with members that have one'
            )
        if width == 2:
            return self.weights[:, None], np.array([self.intercept[1] - self.intercept[0]])
        return np.repeat(self.weights[:, None], width, axis=1), self.intercept


@dataclass(frozen=True, eq=False)
class ScaledSum(Combiner):
    """The weighted mean of answers, each divided by its own scale.

    Parameters
    ----------
    weights : ndarray, (members,)
        What answers are multiplied by: share / scale.
    scales : ndarray, (members,)
        Unit of each member's answers.

    Examples
    --------
    >>> found = ScaledSum.of(np.array([0.25, 0.75]), np.array([1.0, 10.0]))
    >>> found.combine([np.array([[4.0]]), np.array([[20.0]])]), found.shares
    (array([[2.5]]), array([0.25, 0.75]))
    """

    weights: FloatArray
    scales: FloatArray

    kind = "scaled_sum"

    @classmethod
    def of(cls, shares: FloatArray, scales: FloatArray) -> ScaledSum:
        """Divide shares by scales."""
        return cls(shares / scales, scales)

    @property
    def shares(self) -> FloatArray:
        """Weights of the answers in units of their scales."""
        return self.weights * self.scales

    def combine(self, answers: Sequence[FloatArray]) -> FloatArray:
        """Return the sum."""
        return _total(self.weights, answers)

    def arrays(self) -> Arrays:
        """Return weights and scales."""
        return {"weights": self.weights, "scales": self.scales}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_members: int, width: int) -> ScaledSum:
        """Read a weight and a scale per member."""
        scales = _numbers(arrays, "scales", (n_members,), least=np.finfo(np.float64).tiny)
        return cls(Mean.from_arrays(arrays, n_members, width).weights, scales)

    def coefficients(self, width: int) -> tuple[FloatArray, FloatArray]:
        """Return the weights; there is no constant."""
        return self.weights[:, None], np.zeros(1)


COMBINERS: dict[str, type[Combiner]] = {one.kind: one for one in (Mean, Votes, LinearSum, LogPool, ScaledSum)}


def _total(weights: FloatArray, answers: Sequence[FloatArray], start: FloatArray | float = 0.0) -> FloatArray:
    """Add up answers times weights."""
    total: Any = start
    for weight, answer in zip(weights, answers, strict=True):
        total = total + weight * answer
    return np.asarray(total)


def _logs(answer: FloatArray, floor: float) -> FloatArray:
    """Return log probabilities (rows, classes), or raw scores: of two classes minus and plus half the log odds."""
    if not np.isnan(floor):
        return log((1 - floor) * answer + floor / answer.shape[1])
    return np.concatenate([-answer, answer], axis=1) / 2 if answer.shape[1] == 1 else answer


def _best_floor(answer: FloatArray, codes: NDArray[np.intp], weight: FloatArray) -> float:
    """Return the share of 1 / classes, mixed with which the probabilities have the least log loss."""
    own = answer[np.arange(len(codes)), codes]
    losses = [-_sum(log((1 - floor) * own + floor / answer.shape[1]), weight) for floor in FLOORS]
    return FLOORS[int(np.argmin(losses))]


def _sum(values: FloatArray, weight: FloatArray) -> float:
    # Not a matrix product: BLAS may sum in another order with another number of threads.
    return float((values * weight).sum())


def _numbers(
    arrays: Arrays, name: str, shape: tuple[int, ...], least: float = -np.inf, most: float = np.inf
) -> FloatArray:
    """Return finite numbers of a file."""
    found = arrays[name]
    if found.dtype != np.float64 or found.shape != shape or not np.isfinite(found).all():
        raise ValueError(f"{name}: expected finite numbers of shape {shape}, found {found!r:.80}")
    if found.size and not least <= found.min() <= found.max() <= most:
        raise ValueError(f"{name}: expected numbers from {least:g} to {most:g}, found {found!r:.80}")
    return found
