"""Evaluation of survival models: the order of risks, and survival curves over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.losses.survival import is_event
from arboretum.metrics import brier_score, concordance_index
from arboretum.metrics.survival import kaplan_meier, steps_at, weighted_concordance_of_bounds
from arboretum.report.evaluation.charts import UNIT_SQUARE, curves, diagonal, histogram, series
from arboretum.report.evaluation.figures import Figure, measured
from arboretum.report.facts import LeftOut
from arboretum.report.subject import FloatArray, Rows, Subject

TIMES = 40
RISK_GROUPS = 3
CALIBRATION_GROUPS = 5


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate risks by concordance and curves by the Brier score; the baseline is one curve for all rows."""
    test, train, risk = subject.test, subject.train, subject.told
    time, event = _times(test)
    pairs, weight, bounds = _pairs(time, event), test.weight, _bounds(test)
    told = None
    if train is not None:
        told = _concordance(_pairs(*_times(train)), subject.told_of_training, train.weight)
    figures = [
        Figure(
            "concordance",
            "share of comparable pairs in which the row of higher risk has its event first",
            lambda at: _concordance(pairs[at], risk[at], None if weight is None else weight[at]),
            lambda at: 0.5,
            "high",
            told,
        ),
        Figure(
            "concordance (IPCW)",
            "the same, each pair weighted by the inverse square of the chance not to be censored until its event",
            lambda at: _concordance_ipcw(bounds[at], risk[at], None if weight is None else weight[at]),
            lambda at: 0.5,
            "high",
        ),
    ]
    charts = [_by_risk(time, event, risk)]
    at = _score_times(time, event)
    if len(at) > 1:
        survival = subject.model.predict_survival_function(test.X, at, **test.predict_arguments)
        steps, level = kaplan_meier(*_times(test if train is None else train))
        constant = np.broadcast_to(steps_at(steps, level, at), survival.shape)
        figures.append(
            Figure(
                "integrated Brier score",
                "mean over time of the Brier score",
                lambda rows: _integrated(pairs[rows], survival[rows], at),
                lambda rows: _integrated(pairs[rows], constant[rows], at),
            )
        )
        charts = [
            *_over_time(time, event, survival, constant, at),
            calibration_half_way(time, event, survival, at),
            *charts,
        ]
    charts.append(histogram("Predicted risk", "risk", {"censored": risk[~event], "event": risk[event]}))
    return [{"name": "", "metrics": measured(figures, test.n_rows), "charts": charts}]


def _concordance(pairs: FloatArray, risk: FloatArray, weight: FloatArray | None) -> float | None:
    try:
        return concordance_index(pairs, risk, sample_weight=weight)
    except ValueError:  # no pair of these rows can be compared
        return None


def _concordance_ipcw(bounds: FloatArray, risk: FloatArray, weight: FloatArray | None) -> float | None:
    try:
        return weighted_concordance_of_bounds(bounds, risk, weight)
    except ValueError:  # as above
        return None


def _integrated(pairs: FloatArray, survival: FloatArray, at: FloatArray) -> float | None:
    """Mean of the Brier score over those times that these rows reach."""
    inside = (at >= pairs[:, 0].min()) & (at < pairs[:, 0].max())
    if inside.sum() < 2:
        return None
    score, times = brier_score(pairs, survival[:, inside], at[inside]), at[inside]
    return float(((score[1:] + score[:-1]) / 2 * np.diff(times)).sum() / (times[-1] - times[0]))


def _bounds(rows: Rows) -> FloatArray:
    assert rows.y is not None
    return rows.y


def _times(rows: Rows) -> tuple[FloatArray, NDArray[np.bool_]]:
    bounds = _bounds(rows)
    event = is_event(bounds)
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
    time: FloatArray, event: NDArray[np.bool_], survival: FloatArray, constant: FloatArray, at: FloatArray
) -> list[dict[str, Any]]:
    pairs = _pairs(time, event)
    of_model, of_all = brier_score(pairs, survival, at), brier_score(pairs, constant, at)
    lines = [series("model", at, of_model), series("one curve for all rows", at, of_all, "baseline")]
    by_time = curves("Brier score over time", "time", "Brier score", lines, "corrected for censoring; lower is better")
    own_steps, own_level = kaplan_meier(time, event)
    lines = [
        series("mean prediction", at, survival.mean(axis=0)),
        series("observed (Kaplan–Meier)", at, steps_at(own_steps, own_level, at), "baseline"),
    ]
    note = "where the lines part, the model is too hopeful or too gloomy"
    return [by_time, curves("Calibration over time", "time", "share that survives", lines, note, y_domain=[0, 1])]


def calibration_half_way(
    time: FloatArray, event: NDArray[np.bool_], survival: FloatArray, at: FloatArray
) -> dict[str, Any]:
    """Predicted against observed survival at the middle of the times, in groups of rows with like predictions."""
    middle = len(at) // 2
    told = survival[:, middle]
    groups = [part for part in np.array_split(np.argsort(told, kind="stable"), CALIBRATION_GROUPS) if len(part)]
    seen = [float(steps_at(*kaplan_meier(time[part], event[part]), at[middle])) for part in groups]
    line = series("model", [told[part].mean() for part in groups], seen)
    note = "each dot: a fifth of the rows, in the order of predictions; observed after Kaplan and Meier"
    title = f"Calibration at time {at[middle]:.4g}"
    lines = [line, diagonal("as predicted")]
    return curves(title, "predicted share that survives", "observed share", lines, note, **UNIT_SQUARE, dots=True)


def _by_risk(time: FloatArray, event: NDArray[np.bool_], risk: FloatArray) -> dict[str, Any]:
    """Observed survival of rows of low, middle and high predicted risk."""
    parts = np.array_split(np.argsort(risk, kind="stable"), RISK_GROUPS)
    lines = []
    for name, part in zip(("lowest third", "middle third", "highest third"), parts, strict=True):
        if len(part):
            steps, level = kaplan_meier(time[part], event[part])
            lines.append(series(name, np.append(0.0, steps), np.append(1.0, level), "group", steps=True))
    return curves("Observed survival by predicted risk", "time", "share that survives", lines, y_domain=[0, 1])
