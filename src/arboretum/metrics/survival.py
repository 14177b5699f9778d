"""How well survival models do: concordance of risks, and Brier scores of survival functions."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.targets import as_numbers, row_weights, to_numpy
from arboretum.losses.survival_targets import event_times, events_of_bounds

FloatArray: TypeAlias = NDArray[np.float64]

TIED = 1e-8  # risks that differ by no more are tied


def concordance_index(y: Any, risk: Any, *, sample_weight: Any = None) -> float:
    """Share of comparable pairs of rows in which the one of higher risk has its event first (Harrell et al. 1982).

    Two rows are comparable if one has its event while the other is still at risk. Ties of risk count half. It takes
    O(n log n).

    Parameters
    ----------
    y : structured array, data frame or array-like (rows, 2)
        Times and events.
    risk : array-like, (rows,)
        Higher for earlier events, as ``predict`` of survival models.
    sample_weight : array-like, optional
        Weight of each row; a pair has the product of its rows'.

    Returns
    -------
    float
        1 for the right order, 0.5 for chance.

    Examples
    --------
    >>> import arboretum as arb
    >>> arb.metrics.concordance_index([[1.0, 1], [2.0, 1], [3.0, 0]], risk=[2.0, 0.5, 1.0])
    0.6666666666666666
    """
    time, event = event_times(y)
    risks = _numbers(risk, "risk", (len(time),))
    return _concordance(time, event, risks, row_weights(sample_weight, len(time), table="y"))


def concordance_of_bounds(bounds: FloatArray, risk: FloatArray, weight: FloatArray | None) -> float:
    """Return the same for a target that has been read: bounds of each row's time, (rows, 2)."""
    time, event = events_of_bounds(bounds)
    return _concordance(time, event, np.ascontiguousarray(risk), weight)


def _concordance(time: FloatArray, event: NDArray[np.bool_], risks: FloatArray, weight: FloatArray | None) -> float:
    agreeing, disagreeing, tied = _kernel.concordance(time, event.astype(np.uint8), risks, weight, TIED)
    pairs = agreeing + disagreeing + tied
    if not pairs:
        raise ValueError(
            f"no two of {len(time)} rows can be compared: a pair needs an event before the end of the other row; "
            "give more rows or more events"
        )
    return float((agreeing + 0.5 * tied) / pairs)


def brier_score(y: Any, survival: Any, times: Any, *, y_train: Any = None) -> FloatArray:
    """Mean squared error of survival probabilities at some times, corrected for censoring (Graf et al. 1999).

    With G the Kaplan–Meier estimate of being uncensored and S the predicted survival function, a row that had its event
    by time t costs S(t)² / G(its time), one that is still at risk (1 − S(t))² / G(t), others nothing.

    Parameters
    ----------
    y : structured array, data frame or array-like (rows, 2)
        Times and events.
    survival : array-like, (rows, times)
        Predicted probabilities to outlive each time, as ``predict_survival_function``.
    times : array-like, (times,)
        Within the times of ``y``, below the largest.
    y_train : like y, optional
        Where the distribution of censoring is taken from; by default ``y`` itself.

    Returns
    -------
    ndarray of float64, (times,)

    Examples
    --------
    >>> import arboretum as arb
    >>> y = [[1.0, 1], [2.0, 0], [3.0, 1], [4.0, 0]]
    >>> arb.metrics.brier_score(y, survival=[[0.2], [0.8], [0.7], [0.9]], times=[1.5])
    array([0.045])
    """
    time, event = event_times(y)
    at = _score_times(times, time)
    probability = _numbers(survival, "survival", (len(time), len(at)))
    if (probability < 0).any() or (probability > 1).any():
        raise ValueError(f"survival ranges from {probability.min():g} to {probability.max():g}: give probabilities")
    steps, uncensored = _censoring(*(event_times(y_train, name="y_train") if y_train is not None else (time, event)))
    by_then = (time[:, None] <= at) & event[:, None]
    later = time[:, None] > at
    g_rows, g_times = _at(steps, uncensored, time), _at(steps, uncensored, at)
    if (by_then.any(axis=1) & (g_rows == 0)).any() or (later.any(axis=0) & (g_times == 0)).any():
        raise ValueError(
            "y has rows after the last time of y_train at which a row could be censored: nothing is known of their "
            "censoring; leave out such rows or times"
        )
    with np.errstate(divide="ignore"):
        of_events, of_others = 1 / g_rows, 1 / g_times
    cost = np.zeros_like(probability)
    np.multiply(probability**2, of_events[:, None], out=cost, where=by_then)
    np.multiply((1 - probability) ** 2, of_others, out=cost, where=later)
    return np.asarray(cost.mean(axis=0))


def integrated_brier_score(y: Any, survival: Any, times: Any, *, y_train: Any = None) -> float:
    """Mean of ``brier_score`` over a range of times, by the trapezoidal rule.

    Parameters
    ----------
    y, survival, times, y_train
        As for ``brier_score``; at least two times, rising.

    Returns
    -------
    float

    Examples
    --------
    >>> import arboretum as arb
    >>> y = [[1.0, 1], [2.0, 0], [3.0, 1], [4.0, 0]]
    >>> half = [[0.5, 0.5]] * 4
    >>> round(arb.metrics.integrated_brier_score(y, survival=half, times=[1.5, 2.5]), 4)
    0.25
    """
    at = _numbers(times, "times", (np.size(times),))
    if len(at) < 2 or (np.diff(at) <= 0).any():
        raise ValueError(f"times={at.tolist()}: give at least two, rising")
    scores = brier_score(y, survival, at, y_train=y_train)
    area = ((scores[1:] + scores[:-1]) / 2 * np.diff(at)).sum()
    return float(area / (at[-1] - at[0]))


def _numbers(values: Any, name: str, shape: tuple[int, ...]) -> FloatArray:
    array = to_numpy(values, name)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    return as_numbers(array.ravel(), name, "give numbers").reshape(shape)


def _score_times(times: Any, time: FloatArray) -> FloatArray:
    at = _numbers(times, "times", (np.size(times),))
    if not len(at) or at.min() < time.min() or at.max() >= time.max():
        raise ValueError(f"times must lie within those of y, from {time.min():g} to below {time.max():g}")
    return at


def _censoring(time: FloatArray, event: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Kaplan–Meier estimate of the time of censoring; at equal times events come first (Kaplan, Meier 1958)."""
    steps, place = np.unique(time, return_inverse=True)
    rows = np.bincount(place, minlength=len(steps))
    events = np.bincount(place, event, minlength=len(steps))
    at_risk = rows[::-1].cumsum()[::-1] - events  # of being censored: those who die now are no longer
    leaving = np.divide(rows - events, at_risk, out=np.zeros(len(steps)), where=at_risk > 0)
    return steps, np.cumprod(1 - leaving)


def _at(steps: FloatArray, values: FloatArray, times: FloatArray) -> FloatArray:
    """Value of a step function that is 1 before its first step."""
    place = np.searchsorted(steps, times, side="right") - 1
    return np.where(place >= 0, values[np.maximum(place, 0)], 1.0)
