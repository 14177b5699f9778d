"""The loss that a fitted model was trained for, as the judge of its predictions.

A model of the 0.1-quantile is no worse for predicting low: the mean squared error would say so, the pinball loss does
not. ``own_loss`` finds the loss of any regressor or classifier, as a function of targets and *predictions*
(probabilities of classes), with the best constant prediction beside it:

=====================================  ============================================  ===============================
model                                  loss of a row                                 best constant
=====================================  ============================================  ===============================
squared error                          (y − p)²                                      mean
absolute error, AdaBoost.R2            abs(y − p)                                    median
quantile q                             pinball loss                                  q-quantile
Huber                                  Huber loss, delta measured on the residuals   median
Poisson, gamma, Tweedie                deviance                                      mean
loss of the user                       its ``values``                                its ``start``
boosted classes                        −ln of the probability of the class           shares of the classes
ordered classes                        ranked probability score                      shares of the classes
trees and forests of classes           Brier score: what Gini's impurity measures    shares of the classes
AdaBoost                               1 if the class is wrong                       the most frequent class
=====================================  ============================================  ===============================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.losses import EachOutput, Huber, Loss, Ordinal, PredictOnly, Quantile, Quantiles
from arboretum.losses.base import constant_raw, weighted_quantile

FloatArray: TypeAlias = NDArray[np.float64]
Targets: TypeAlias = NDArray[Any]  # numbers, or class codes
RowLosses: TypeAlias = Callable[[Targets, FloatArray], FloatArray]
Constant: TypeAlias = Callable[[Targets, "FloatArray | None"], FloatArray]

LEAST_PROBABILITY = 1e-15  # whose logarithm counts
LEAST_MEAN = 1e-100  # of counts and amounts


@dataclass(frozen=True, eq=False)
class OwnLoss:
    """A loss by predictions: numbers (rows,), or probabilities (rows, classes).

    Parameters
    ----------
    name, about : str
        What people call it, and what it is.
    values : callable
        From targets (class codes) and predictions to the loss of each row.
    constant : callable
        From targets and weights to the prediction of least loss that is the same for all rows: (1,) or (classes,).
    share : str or None
        What 1 − loss / loss of the constant is called; None where it means nothing.
    root : bool
        Whether people know the square root of the mean.

    Examples
    --------
    >>> loss = pinball(0.9)
    >>> loss.mean(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    0.5
    >>> loss.constant(np.arange(1.0, 11.0), None)
    array([9.])
    """

    name: str
    about: str
    values: RowLosses
    constant: Constant
    share: str | None = "D²"
    root: bool = False

    def mean(self, y: Targets, predictions: FloatArray, weight: FloatArray | None = None) -> float:
        """Weighted mean over rows, in the unit that people know."""
        mean = float(np.average(self.values(y, predictions), weights=weight))
        return float(np.sqrt(mean)) if self.root else mean

    def repeated(self, constant: FloatArray, n_rows: int) -> FloatArray:
        """Return the same prediction for every row."""
        return np.repeat(constant[None, :], n_rows, axis=0) if len(constant) > 1 else np.full(n_rows, constant[0])

    def explained(
        self, y: Targets, predictions: FloatArray, weight: FloatArray | None = None, constant: Any = None
    ) -> float | None:
        """Return 1 − loss / loss of a constant, by default the best for these rows; None where that loss is 0."""
        best = self.constant(y, weight) if constant is None else constant
        least = float(np.average(self.values(y, self.repeated(best, len(y))), weights=weight))
        return 1.0 - float(np.average(self.values(y, predictions), weights=weight)) / least if least > 0 else None


def own_loss(
    model: Any, y: Targets, predictions: FloatArray, weight: FloatArray | None = None, output: int = 0
) -> OwnLoss:
    """Return the loss that a fitted regressor or classifier was trained for.

    Parameters
    ----------
    model : estimator
        Fitted; of bagged and corrected models, the loss of what is inside.
    y, predictions, weight : ndarray
        Rows to judge by: numbers and predictions, or class codes and probabilities. Huber measures its delta on them;
        targets that the loss cannot take are judged by the squared error.
    output : int
        Which output, or which of several quantiles.

    Examples
    --------
    >>> import arboretum as arb
    >>> X, y = np.arange(40.0)[:, None], np.arange(40.0)
    >>> model = arb.BoostedTreesRegressor(loss="quantile", quantile=0.1).fit(X, y)
    >>> own_loss(model, y, model.predict(X)).name
    'pinball loss (0.1)'
    >>> own_loss(arb.RandomForestClassifier(n_estimators=2).fit(X, y > 20), y > 20, np.ones((40, 2)) / 2).name
    'Brier score'
    """
    inner = model
    while (nested := getattr(inner, "judged_as_", None)) is not None:  # inside of bags and of conformal intervals
        inner = nested
    if hasattr(model, "classes_"):
        return replace(_loss_of_classes(inner), constant=partial(_shares, n_classes=predictions.shape[1]))
    return _loss_of_numbers(inner, y, predictions, weight, output)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _mean(y: Targets, weight: FloatArray | None) -> FloatArray:
    return np.array([np.average(y, weights=weight)])


def _median(y: Targets, weight: FloatArray | None) -> FloatArray:
    return np.array([weighted_quantile(y, weight, 0.5)])


SQUARED = OwnLoss("RMSE", "root of the mean squared error", lambda y, p: (y - p) ** 2, _mean, share="R²", root=True)
ABSOLUTE = OwnLoss("MAE", "mean absolute error", lambda y, p: np.abs(y - p), _median)


def pinball(quantile: float) -> OwnLoss:
    """Return the pinball loss of a quantile."""
    loss = Quantile(quantile)
    about = f"q (y − p) where the prediction p of the {quantile:g}-quantile is too low, (1 − q) (p − y) where too high"
    return OwnLoss(f"pinball loss ({quantile:g})", about, loss.values, loss.start)


def _poisson(y: Targets, mean: FloatArray) -> FloatArray:
    mean = np.maximum(mean, LEAST_MEAN)
    return np.asarray(2 * (y * np.log(np.where(y > 0, y, 1) / np.where(y > 0, mean, 1)) - y + mean))


def _gamma(y: Targets, mean: FloatArray) -> FloatArray:
    ratio = y / np.maximum(mean, LEAST_MEAN)
    return np.asarray(2 * (ratio - 1 - np.log(ratio)))


def _tweedie(power: float) -> RowLosses:
    a, b = 2.0 - power, power - 1.0

    def values(y: Targets, mean: FloatArray) -> FloatArray:
        mean = np.maximum(mean, LEAST_MEAN)
        return np.asarray(2 * (mean**a / a + y * mean**-b / b - np.maximum(y, 0) ** a / (a * b)))

    return values


def _deviance(name: str, values: RowLosses) -> OwnLoss:
    return OwnLoss(f"{name} deviance", "mean deviance: twice the log-likelihood lost to a perfect model", values, _mean)


NAMED: dict[str | None, OwnLoss] = {
    "squared_error": SQUARED,
    "absolute_error": ABSOLUTE,
    "poisson": _deviance("Poisson", _poisson),
    "gamma": _deviance("gamma", _gamma),
}


def _loss_of_numbers(
    model: Any, y: Targets, predictions: FloatArray, weight: FloatArray | None, output: int
) -> OwnLoss:
    loss: Any = getattr(model, "loss_", None)
    if loss is None:  # of a model that does not minimise one as boosting does
        return NAMED.get(getattr(model, "judged_by", getattr(model, "criterion", None)), SQUARED)
    if isinstance(loss, EachOutput):
        loss = loss.loss
    if isinstance(loss, Quantiles):
        loss = loss.parts[output]
    try:
        loss.check_target(y)
    except ValueError:
        return SQUARED
    if isinstance(loss, Huber):
        loss = loss.for_round(y, predictions, weight)
        about = f"squared up to residuals of {loss.delta:.4g}, absolute beyond"
        return OwnLoss("Huber loss", about, loss.values, _median)
    if isinstance(loss, Quantile):
        return pinball(loss.quantile)
    if loss.name == "tweedie":
        return _deviance("Tweedie", _tweedie(loss.power))
    return NAMED.get(loss.name) or _own_of_user(loss)


def _own_of_user(loss: Loss) -> OwnLoss:
    """Return a loss that a user wrote, by predictions; one that a file could not carry is unknown."""
    if (
        isinstance(loss, PredictOnly)
        or not loss.has_values
        or loss.n_outputs > 1
        or loss.link not in ("identity", "exp")
    ):
        return SQUARED

    def raw(p: FloatArray) -> FloatArray:
        return p if loss.link == "identity" else np.log(np.maximum(p, LEAST_MEAN))

    return OwnLoss(
        type(loss).__name__,
        "the loss that the model was trained for",
        lambda y, p: loss.values(y, raw(p)),
        lambda y, weight: loss.predict(constant_raw(loss.start(y, weight), 1)),
        share=None,
    )


# ---- classes ---------------------------------------------------------------------------------------------------------


def _shares(y: Targets, weight: FloatArray | None, n_classes: int = 0) -> FloatArray:
    counts = np.bincount(y.astype(np.intp), weight, n_classes)
    return np.asarray(counts / counts.sum())


def own_probability(y: Targets, proba: FloatArray) -> FloatArray:
    """Probability that each row gave to its class."""
    return np.asarray(proba[np.arange(len(y)), y.astype(np.intp)])


def brier_losses(y: Targets, proba: FloatArray) -> FloatArray:
    """Squared distance of probabilities from the class; of two classes, of the second's (half of the distance)."""
    distance = (proba**2).sum(axis=1) - 2 * own_probability(y, proba) + 1
    return np.asarray(distance / 2 if proba.shape[1] == 2 else distance)


def _ranked_losses(y: Targets, proba: FloatArray) -> FloatArray:
    """Squared distance of the distribution functions, as a share of the most there can be (Epstein 1969)."""
    below = np.cumsum(proba, axis=1)[:, :-1]
    is_below = np.arange(proba.shape[1] - 1) >= y.astype(np.intp)[:, None]
    return np.asarray(((below - is_below) ** 2).mean(axis=1))


LOG_LOSS = OwnLoss(
    "log loss",
    "mean of −ln of the probability given to the true class",
    lambda y, proba: -np.log(np.clip(own_probability(y, proba), LEAST_PROBABILITY, 1)),
    _shares,
)
BRIER = OwnLoss("Brier score", "mean squared error of probabilities", brier_losses, _shares)
RANKED = OwnLoss(
    "ranked probability score",
    "mean squared error of the probabilities to be at most each class, in their order",
    _ranked_losses,
    _shares,
)
ERROR_RATE = OwnLoss(
    "error rate",
    "share of rows whose class is wrong",
    lambda y, proba: np.asarray(proba.argmax(axis=1) != y, np.float64),
    _shares,
)


def _loss_of_classes(model: Any) -> OwnLoss:
    loss = getattr(model, "loss_", None)
    if loss is not None or getattr(model, "method", None) == "platt":
        return RANKED if isinstance(loss, Ordinal) else LOG_LOSS
    return ERROR_RATE if getattr(model, "judged_by", None) == "errors" else BRIER


def mean_distance(y: Targets, proba: FloatArray, weight: FloatArray | None = None) -> float:
    """Mean number of places between ordered classes and the median of their probabilities.

    Examples
    --------
    >>> mean_distance(np.array([0.0, 2.0]), np.array([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]]))
    1.0
    """
    told = (np.cumsum(proba, axis=1) < 0.5).sum(axis=1)
    return float(np.average(np.abs(told - y), weights=weight))


def negative_own_loss(model: Any, X: Any, y: NDArray[Any], sample_weight: Any = None, offset: Any = None) -> float:
    """Score a model by the loss that it was trained for; of AdaBoost, by its probabilities.

    Several quantiles are scored by the sum of their losses.
    """
    given = {} if offset is None else {"offset": offset}
    if hasattr(model, "classes_"):
        told = model.predict_proba(X, **given)
        code = targets.encode_classes(np.asarray(y), model.classes_, "y")
        loss = own_loss(model, code, told, sample_weight)
        return -(BRIER if loss.name == ERROR_RATE.name else loss).mean(code, told, sample_weight)
    truth, told = targets.regression_target(np.asarray(y)), np.asarray(model.predict(X, **given)).reshape(len(y), -1)
    judges = [own_loss(model, truth, part, sample_weight, k) for k, part in enumerate(told.T)]
    return -sum(judge.mean(truth, part, sample_weight) for judge, part in zip(judges, told.T, strict=True))
