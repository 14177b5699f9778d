"""Evaluation of survival models: the order of risks, and survival curves over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.losses.survival import is_event
from arboretum.metrics import brier_score, concordance_index
from arboretum.report.evaluation.charts import curves, histogram, metric, series
from arboretum.report.facts import LeftOut
from arboretum.report.subject import FloatArray, Rows, Subject

TIMES = 40
RISK_GROUPS = 3


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate risks by concordance and curves by the Brier score; the baseline is one curve for all rows."""
    test, train = subject.test, subject.train
    time, event = _times(test)
    risk = subject.model.predict(test.X)
    told = None
    if train is not None:
        told = concordance_index(_pairs(*_times(train)), subject.model.predict(train.X), sample_weight=train.weight)
    concordance = concordance_index(_pairs(time, event), risk, sample_weight=test.weight)
    about = "share of comparable pairs in which the row of higher risk has its event first"
    metrics = [metric("concordance", concordance, 0.5, about, train=told, better="high")]
    charts = [_by_risk(time, event, risk)]
    at = _score_times(time, event)
    if len(at) > 1:
        survival = subject.model.predict_survival_function(test.X, at)
        brier, by_time, calibration = _over_time(time, event, survival, at, test if train is None else train)
        metrics.append(brier)
        charts = [by_time, calibration, *charts]
    charts.append(histogram("Predicted risk", "risk", {"censored": risk[~event], "event": risk[event]}))
    return [{"name": "", "metrics": metrics, "charts": charts}]


def _times(rows: Rows) -> tuple[FloatArray, NDArray[np.bool_]]:
    assert rows.y is not None
    bounds, event = rows.y, is_event(rows.y)
    if (~event & np.isfinite(bounds[:, 1])).any():
        raise LeftOut("Some times are known by bounds only; events and right-censored rows can be evaluated.")
    return np.ascontiguousarray(bounds[:, 0]), event


def _pairs(time: FloatArray, event: NDArray[np.bool_]) -> FloatArray:
    return np.column_stack([time, event])


def _score_times(time: FloatArray, event: NDArray[np.bool_]) -> FloatArray:
    """Choose times from the 5th to the 95th percentile of the events, below the last time of all."""
    if not event.any():
        return np.empty(0)
    low, high = np.quantile(time[event], [0.05, 0.95])
    at = np.linspace(low, high, TIMES)
    return np.unique(at[(at >= time.min()) & (at < time.max())])


def _over_time(
    time: FloatArray, event: NDArray[np.bool_], survival: FloatArray, at: FloatArray, known: Rows
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    steps, level = kaplan_meier(*_times(known))
    constant = np.broadcast_to(_at(steps, level, at), survival.shape)
    pairs = _pairs(time, event)
    of_model, of_all = brier_score(pairs, survival, at), brier_score(pairs, constant, at)
    width = at[-1] - at[0]
    means = [float(((part[1:] + part[:-1]) / 2 * np.diff(at)).sum() / width) for part in (of_model, of_all)]
    about = "mean over time of the Brier score"
    brier = metric("integrated Brier score", means[0], means[1], about, better="low")
    lines = [series("model", at, of_model), series("one curve for all rows", at, of_all, "baseline")]
    by_time = curves("Brier score over time", "time", "Brier score", lines, "corrected for censoring; lower is better")
    own_steps, own_level = kaplan_meier(time, event)
    lines = [
        series("mean prediction", at, survival.mean(axis=0)),
        series("observed (Kaplan–Meier)", at, _at(own_steps, own_level, at), "baseline"),
    ]
    note = "where the lines part, the model is too hopeful or too gloomy"
    return brier, by_time, curves("Calibration over time", "time", "share that survives", lines, note, y_domain=[0, 1])


def _by_risk(time: FloatArray, event: NDArray[np.bool_], risk: FloatArray) -> dict[str, Any]:
    """Observed survival of rows of low, middle and high predicted risk."""
    parts = np.array_split(np.argsort(risk, kind="stable"), RISK_GROUPS)
    lines = []
    for name, part in zip(("lowest third", "middle third", "highest third"), parts, strict=True):
        if len(part):
            steps, level = kaplan_meier(time[part], event[part])
            lines.append(series(name, np.append(0.0, steps), np.append(1.0, level), "group", steps=True))
    return curves("Observed survival by predicted risk", "time", "share that survives", lines, y_domain=[0, 1])


def kaplan_meier(time: FloatArray, event: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Share of rows that outlive each time (Kaplan, Meier 1958).

    Examples
    --------
    >>> steps, level = kaplan_meier(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True]))
    >>> level.tolist()
    [0.75, 0.75, 0.375, 0.0]
    """
    steps, place = np.unique(time, return_inverse=True)
    rows, events = np.bincount(place), np.bincount(place, event)
    at_risk = rows[::-1].cumsum()[::-1]
    return steps, np.cumprod(1 - events / at_risk)


def _at(steps: FloatArray, level: FloatArray, times: FloatArray) -> FloatArray:
    """Value of a step function that is 1 before its first step."""
    return np.append(1.0, level)[np.searchsorted(steps, times, side="right")]
