"""Losses of classes: logistic for two, multinomial for more."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.elementary import bounded_exp, log, softplus
from arboretum.exact_sums import weight_by_group
from arboretum.losses.base import Loss, require, total_weight, weighted_mean
from arboretum.losses.links import FloatArray, sigmoid, softmax

# The best constant of a class without rows is −∞; log(1e-12), about −28, is a start that can be left again.
SMALLEST_FREQUENCY = 1e-12


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(raw)) − y raw: the log loss of two classes, y in {0, 1}; predicts the probability of 1.

    Examples
    --------
    >>> loss = Logistic()
    >>> start = loss.start(np.array([0.0, 0.0, 0.0, 1.0]), weight=None)
    >>> loss.predict(start).round(9)
    array([0.25])
    >>> loss.gradients(np.array([0.0, 1.0]), raw=np.zeros(2))
    (array([ 0.5, -0.5]), array([0.25, 0.25]))
    """

    name = "log_loss"
    task = "classification"
    link = "sigmoid"
    self_concordant = True

    def check_target(self, y: FloatArray) -> None:
        """Need codes 0 and 1."""
        super().check_target(y)
        require_codes(y, 2, "the log loss of two classes")

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return log(1 + exp(raw)) − y raw."""
        return np.asarray(softplus(raw) - y * raw)

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return p − y and p (1 − p)."""
        p = sigmoid(raw)
        return p - y, p * (1.0 - p)

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Log odds of the weighted frequency of class 1."""
        p = np.clip(weighted_mean(y, weight), SMALLEST_FREQUENCY, 1.0 - SMALLEST_FREQUENCY)
        return np.atleast_1d(log(p / (1.0 - p)))


@dataclass(frozen=True)
class Multinomial(Loss):
    """log Σ_k exp(raw_k) − raw_y: the log loss of several classes, y in {0, …, n_outputs − 1}.

    Parameters
    ----------
    n_outputs : int
        Number of classes K, at least 2.

    Notes
    -----
    The hessian is K/(K−1) · p (1 − p): the diagonal of the second derivative alone ignores that all outputs
    move in the same round, and the sum of their steps would overshoot. The factor K/(K−1) is Friedman's
    (2001, algorithm 6, as step size (K−1)/K); it makes the round an exact Newton step from equal
    probabilities, and for K = 2 reaches the bound 2 at which the diagonal majorises the full matrix.

    Examples
    --------
    >>> loss = Multinomial(n_outputs=3)
    >>> start = loss.start(np.array([0.0, 0.0, 1.0, 2.0]), weight=None)
    >>> loss.predict(start.reshape(1, 3)).round(9)
    array([[0.5 , 0.25, 0.25]])
    """

    name = "log_loss"
    task = "classification"
    link = "softmax"
    self_concordant = True
    exact_hessian = False
    parameter_names = ("n_outputs",)

    n_outputs: int = field()

    def __post_init__(self) -> None:
        if self.n_outputs < 2:
            raise ValueError(f"n_outputs={self.n_outputs}: a multinomial loss needs at least 2 classes")

    def check_target(self, y: FloatArray) -> None:
        """Need class codes 0 … n_outputs − 1."""
        super().check_target(y)
        require_codes(y, self.n_outputs, f"the log loss of {self.n_outputs} classes")

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return log Σ_k exp(raw_k) − raw_y."""
        shifted = raw - raw.max(axis=1, keepdims=True)
        return np.asarray(log(bounded_exp(shifted).sum(axis=1)) - shifted[np.arange(len(y)), codes(y)])

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return p − [k = y] and K/(K−1) · p (1 − p)."""
        p = softmax(raw)
        hessian = self.n_outputs / (self.n_outputs - 1.0) * (p * (1.0 - p))
        gradient = p
        gradient[np.arange(len(y)), codes(y)] -= 1.0
        return gradient, hessian

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Logarithms of the weighted class frequencies, shifted to sum to 0."""
        total = places.total(len(y)) if weight is None else total_weight(weight)
        frequency = weight_by_group(weight, y, self.n_outputs) / total
        constant = log(np.maximum(frequency, SMALLEST_FREQUENCY))
        return np.asarray(constant - constant.mean())

    def start_from(self, y: FloatArray, offset: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Best constants beside the offsets, by Newton's method, shifted to sum to 0."""
        constant = super().start_from(y, offset, weight)
        return np.asarray(constant - constant.mean())


def require_codes(y: FloatArray, n_classes: int, loss: str) -> None:
    """Raise ValueError, naming the first bad row, unless y holds codes of classes."""
    is_code = (y == np.floor(y)) & (y >= 0) & (y < n_classes)
    require(is_code, y, f"{loss} needs codes {'0 and 1' if n_classes == 2 else f'0 to {n_classes - 1}'}")


def codes(y: FloatArray) -> NDArray[np.intp]:
    """Class codes as indices."""
    return y.astype(np.intp)


def log_loss(n_outputs: int = 1) -> Logistic | Multinomial:
    """Return the log loss: logistic for one output (two classes), multinomial for more.

    Examples
    --------
    >>> log_loss(), log_loss(n_outputs=3)
    (Logistic(), Multinomial(n_outputs=3))
    """
    return Logistic() if n_outputs == 1 else Multinomial(n_outputs)
