"""How well survival models do: concordance of risks, areas under curves, and Brier scores of survival functions.

Where rows are weighted by the inverse of the probability of not being censored, G is the Kaplan–Meier estimate of that
probability from ``y_train``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.targets import as_numbers, row_weights, to_numpy
from arboretum.losses.survival import first_interval, is_event
from arboretum.losses.survival_targets import event_times, events_of_bounds, survival_bounds

FloatArray: TypeAlias = NDArray[np.float64]

TIED = 1e-8  # risks that differ by no more are tied


def concordance_index(y: Any, risk: Any, *, sample_weight: Any = None) -> float:
    """Share of comparable pairs of rows in which the one of higher risk has its event first (Harrell et al. 1982).

    Two rows are comparable if one has its event while the other is still at risk: of times that are known by bounds, if
    the upper bound of one is not above the lower bound of the other. Ties of risk count half. It takes O(n log n).

    Parameters
    ----------
    y : structured array, data frame or array-like (rows, 2)
        Times and events, or columns named ``lower`` and ``upper``.
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
    bounds = survival_bounds(y)
    risks = _numbers(risk, "risk", (len(bounds),))
    return concordance_of_bounds(bounds, risks, row_weights(sample_weight, len(bounds), table="y"))


def concordance_of_bounds(bounds: FloatArray, risk: FloatArray, weight: FloatArray | None) -> float:
    """Return the same for a target that has been read: bounds of each row's time, (rows, 2)."""
    risk = np.ascontiguousarray(risk)
    if first_interval(bounds) is not None:
        return _share_in_order(_pairs_of_roles(bounds, risk, weight, weight), len(bounds))
    time, event = events_of_bounds(bounds)
    return _share_in_order(_kernel.concordance(time, event.astype(np.uint8), risk, weight, TIED), len(bounds))


def concordance_index_ipcw(
    y: Any, risk: Any, *, y_train: Any = None, tau: float | None = None, sample_weight: Any = None
) -> float:
    """Concordance that does not depend on who is censored when (Uno et al. 2011).

    Each comparable pair weighs 1 / G(t)², where t is the time of its event.

    Parameters
    ----------
    y : structured array, data frame or array-like (rows, 2)
        Times and events.
    risk : array-like, (rows,)
        Higher for earlier events, as ``predict`` of survival models.
    y_train : like y, optional
        Where the distribution of censoring is taken from; by default ``y`` itself, each row with its weight.
    tau : float, optional
        Events count that come before this time; by default all.
    sample_weight : array-like, optional
        Weight of each row; a pair has the product of its rows' as well.

    Returns
    -------
    float

    References
    ----------
    Uno, H., Cai, T., Pencina, M. J., D'Agostino, R. B., Wei, L. J. (2011). On the C-statistics for evaluating overall
    adequacy of risk prediction procedures with censored survival data. Statistics in Medicine 30.

    Examples
    --------
    >>> import arboretum as arb
    >>> y = [[1.0, 1], [2.0, 0], [3.0, 1], [4.0, 0]]
    >>> round(arb.metrics.concordance_index_ipcw(y, risk=[3.0, 1.0, 1.0, 2.0]), 4)
    0.5714
    """
    time, event = event_times(y)
    risks, weight = _numbers(risk, "risk", (len(time),)), row_weights(sample_weight, len(time), table="y")
    limit = np.inf if tau is None else float(_numbers(tau, "tau", ()))
    inverse = _inverse_chances(time, event & (time < limit), weight, y_train, event)
    return _weighted_concordance(time, event, risks, weight, inverse)


def weighted_concordance_of_bounds(bounds: FloatArray, risk: FloatArray, weight: FloatArray | None) -> float:
    """Return the same for bounds of times; events at the last time, whose censoring is unknown, do not count."""
    time, event = events_of_bounds(bounds)
    known = event & (steps_at(*_censoring(time, event, weight), time) > 0)
    return _weighted_concordance(time, event, risk, weight, _inverse_chances(time, known, weight, None, event))


def _weighted_concordance(
    time: FloatArray, event: NDArray[np.bool_], risk: FloatArray, weight: FloatArray | None, inverse: FloatArray
) -> float:
    bounds = np.column_stack([time, np.where(event, time, np.inf)])
    early = inverse**2 if weight is None else weight * inverse**2
    return _share_in_order(_pairs_of_roles(bounds, risk, early, weight), len(time))


def _pairs_of_roles(
    bounds: FloatArray, risk: FloatArray, early: FloatArray | None, late: FloatArray | None
) -> tuple[float, float, float]:
    """Return the weight of agreeing, disagreeing and tied pairs, where a row weighs ``early`` as the first of a pair.

    Each row is entered twice, as an event at its upper bound and as censored at its lower one; pairs of two events are
    counted by themselves and taken away. An event is at risk until just before its time::

        rank of time        1          2          3
        places          1   2      3   4      5   6
                            event, or censored
                        at risk, if it is an event
    """
    lower, upper = bounds.T
    finite = np.isfinite(upper)
    ranks = np.unique(np.concatenate([lower, upper[finite]]))
    first = 2.0 * np.searchsorted(ranks, upper[finite])
    last = 2.0 * np.searchsorted(ranks, lower) - is_event(bounds)
    weights = [np.ones(len(risk)) if one is None else one for one in (early, late)]
    weights[0] = weights[0][finite]

    def pairs(*roles: tuple[FloatArray, FloatArray, FloatArray, int]) -> NDArray[np.float64]:
        place, of_risk, weight = (np.concatenate(part) for part in list(zip(*roles, strict=True))[:3])
        is_first = np.concatenate([np.full(len(role[0]), role[3], np.uint8) for role in roles])
        return np.array(_kernel.concordance(place, is_first, of_risk, weight, TIED))

    as_first, as_last = (first, risk[finite], weights[0], 1), (last, risk, weights[1], 0)
    agreeing, disagreeing, tied = pairs(as_first, as_last) - pairs(as_first)
    return float(agreeing), float(disagreeing), float(tied)


def _share_in_order(pairs: tuple[float, float, float], n_rows: int) -> float:
    agreeing, _, tied = pairs
    if not sum(pairs) > 0:
        raise ValueError(
            f"no two of {n_rows} rows can be compared: a pair needs an event before the end of the other row; "
            "give more rows or more events"
        )
    return float((agreeing + 0.5 * tied) / sum(pairs))


def cumulative_dynamic_auc(
    y: Any, risk: Any, times: Any, *, y_train: Any = None, sample_weight: Any = None
) -> tuple[FloatArray, float]:
    """Area under the ROC curve at some times: whether rows with an event by then have the higher risks.

    Rows with an event up to t, weighted by 1 / G(their time), are set against those that are at risk after t (Hung &
    Chiang 2010). The mean weighs the time from one value to the next by the events that come in it (Lambert & Chevret
    2016).

    Parameters
    ----------
    y : structured array, data frame or array-like (rows, 2)
        Times and events.
    risk : array-like, (rows,) or (rows, times)
        Higher for earlier events; one for all times or one for each, such as 1 − survival function.
    times : array-like, (times,)
        Rising, within the times of ``y``, below the largest.
    y_train : like y, optional
        Where the distribution of censoring is taken from; by default ``y`` itself, each row with its weight.
    sample_weight : array-like, optional
        Weight of each row.

    Returns
    -------
    auc : ndarray of float64, (times,)
    mean : float

    Examples
    --------
    >>> import arboretum as arb
    >>> y = [[1.0, 1], [2.0, 0], [3.0, 1], [4.0, 0]]
    >>> auc, mean = arb.metrics.cumulative_dynamic_auc(y, risk=[3.0, 1.0, 1.0, 2.0], times=[1.5, 3.5])
    >>> auc.round(3), round(mean, 3)
    (array([1. , 0.4]), 0.64)
    """
    time, event = event_times(y)
    at, given = _score_times(times, time), to_numpy(risk, "risk")
    if (np.diff(at) <= 0).any():
        raise ValueError(f"times={at.tolist()}: give them rising")
    shape = (len(time), len(at)) if given.ndim == 2 else (len(time),)
    risks = _numbers(risk, "risk", shape)
    weight = row_weights(sample_weight, len(time), table="y")
    return _areas(time, event, np.broadcast_to(risks.T, (len(at), len(time))), at, weight, y_train)


def mean_auc_of_bounds(bounds: FloatArray, risk: FloatArray, weight: FloatArray | None) -> float:
    """Return the mean of the same over the times of events, from their first to their last tenth."""
    time, event = events_of_bounds(bounds)
    if not event.any():
        raise ValueError(f"none of {len(time)} rows has an event: there is no area under a curve")
    at = np.unique(np.quantile(time[event], np.linspace(0.1, 0.9, 17), method="inverted_cdf"))
    at = at[at < time.max()]
    if not len(at):
        raise ValueError(f"no row of {len(time)} is at risk after the first events: there is no area under a curve")
    return _areas(time, event, np.broadcast_to(risk, (len(at), len(risk))), at, weight, None)[1]


def _areas(
    time: FloatArray,
    event: NDArray[np.bool_],
    risks: FloatArray,
    at: FloatArray,
    weight: FloatArray | None,
    y_train: Any,
) -> tuple[FloatArray, float]:
    """Return the area at each time, from risks (times, rows), and their mean."""
    own = np.ones(len(time)) if weight is None else weight
    early = own * _inverse_chances(time, event & (time <= at[-1]), weight, y_train, event)
    areas = np.array([_area(risk, early * (time <= t), own * (time > t), t) for risk, t in zip(risks, at, strict=True)])
    alive = steps_at(*kaplan_meier(time, event, weight), at)
    share = -np.diff(alive, prepend=1.0)
    if not share.sum() > 0:
        raise ValueError(f"y has no event up to {at[-1]:g}: give later times")
    return areas, float((areas * share).sum() / share.sum())


def _area(risk: FloatArray, cases: FloatArray, controls: FloatArray, t: float) -> float:
    """Share of the pairs of a case and a control in which the case has the higher risk; ties count half."""
    if not cases.sum() > 0 or not controls.sum() > 0:
        which = "event" if not cases.sum() > 0 else "row at risk"
        raise ValueError(f"y has no {which} {'up to' if which == 'event' else 'after'} {t:g}: leave out this time")
    order = np.argsort(risk, kind="stable")
    group = np.append(0, np.cumsum(np.diff(risk[order]) > TIED))
    of_cases, of_controls = (np.bincount(group, part[order]) for part in (cases, controls))
    below = np.cumsum(of_controls) - of_controls / 2
    return float((of_cases * below).sum() / (cases.sum() * controls.sum()))


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
    steps, uncensored = _censoring_of(time, event, None, y_train)
    by_then = (time[:, None] <= at) & event[:, None]
    later = time[:, None] > at
    g_rows, g_times = steps_at(steps, uncensored, time), steps_at(steps, uncensored, at)
    if (by_then.any(axis=1) & (g_rows == 0)).any() or (later.any(axis=0) & (g_times == 0)).any():
        raise _unknown_censoring()
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


def kaplan_meier(
    time: FloatArray, event: NDArray[np.bool_], weight: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return times, and the share of rows that outlive each (Kaplan & Meier 1958).

    Examples
    --------
    >>> steps, level = kaplan_meier(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True]))
    >>> level.tolist()
    [0.75, 0.75, 0.375, 0.0]
    """
    return _falling(time, event, weight)


def _censoring(time: FloatArray, event: NDArray[np.bool_], weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the same of the time of censoring: those who die at the same time are no longer at risk of it."""
    return _falling(time, ~event, weight, event)


def _falling(
    time: FloatArray, leaves: NDArray[np.bool_], weight: FloatArray | None, before: NDArray[Any] | None = None
) -> tuple[FloatArray, FloatArray]:
    steps, place = np.unique(time, return_inverse=True)
    own = np.ones(len(time)) if weight is None else weight
    rows, leaving = (np.bincount(place, part, len(steps)) for part in (own, own * leaves))
    at_risk = rows[::-1].cumsum()[::-1]
    if before is not None:
        at_risk = at_risk - np.bincount(place, own * before, len(steps))
    return steps, np.cumprod(1 - np.divide(leaving, at_risk, out=np.zeros(len(steps)), where=at_risk > 0))


def _censoring_of(
    time: FloatArray, event: NDArray[np.bool_], weight: FloatArray | None, y_train: Any
) -> tuple[FloatArray, FloatArray]:
    """Return G of the training rows, of the rows themselves if there are none."""
    return (
        _censoring(time, event, weight) if y_train is None else _censoring(*event_times(y_train, name="y_train"), None)
    )


def _inverse_chances(
    time: FloatArray,
    counts: NDArray[np.bool_],
    weight: FloatArray | None,
    y_train: Any,
    event: NDArray[np.bool_],
) -> FloatArray:
    """Return 1 / G at the time of each row that counts, 0 for others."""
    chance = steps_at(*_censoring_of(time, event, weight, y_train), time)
    if (counts & (chance == 0)).any():
        raise _unknown_censoring()
    return np.divide(1.0, chance, out=np.zeros(len(time)), where=counts)


def _unknown_censoring() -> ValueError:
    return ValueError(
        "y has rows after the last time of y_train at which a row could be censored: nothing is known of their "
        "censoring; leave out such rows or times"
    )


def steps_at(steps: FloatArray, values: FloatArray, times: FloatArray) -> FloatArray:
    """Value of a step function that is 1 before its first step."""
    return np.append(1.0, values)[np.searchsorted(steps, times, side="right")]
