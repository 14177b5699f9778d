"""Evaluation of uplift models: Qini curves of every treatment, and effects by tenths of the predicted ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from arboretum.metrics import auuc_score, qini_curve, qini_score, uplift_at_k
from arboretum.report.evaluation.charts import curves, histogram, metric, series
from arboretum.report.subject import FloatArray, Rows, Subject

TENTHS = 10


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate each treatment against the control; the baseline is a random order."""
    arms = subject.model.arms_[1:].tolist()
    return [{"name": f"{arm}" if len(arms) > 1 else "", **_one_arm(subject, arm)} for arm in arms]


def _against_control(subject: Subject, rows: Rows, arm: Any) -> Any:
    return subject.model.against_control(rows.X, rows.target, rows.treatment, arm=arm, sample_weight=rows.weight)


def _one_arm(subject: Subject, arm: Any) -> dict[str, Any]:
    y, uplift, treated, weight = _against_control(subject, subject.test, arm)
    train = None if subject.train is None else _against_control(subject, subject.train, arm)

    def three(score: Any, name: str, about: str, baseline: float | None, **more: Any) -> dict[str, Any]:
        def of(rows: Any) -> float | None:
            return None if rows is None else float(score(*rows[:3], sample_weight=rows[3], **more))

        return metric(name, of((y, uplift, treated, weight)), baseline, about, train=of(train), better="high")

    effect = _effect(y, treated, weight)
    metrics = [
        three(qini_score, "Qini score", "area above a random order; 1 is the best order, 0 a random one", 0.0),
        three(auuc_score, "AUUC", "area under the uplift curve, by row", 0.0, normalise=False),
        three(
            uplift_at_k, "uplift of the best 30 %", "effect among the rows of largest predicted uplift", effect, k=0.3
        ),
    ]
    rows, gain = qini_curve(y, uplift, treated, sample_weight=weight)
    share = rows / rows[-1]
    lines = [series("model", share, gain), series("random order", [0, 1], [0, gain[-1]], "baseline")]
    charts = [
        curves("Qini curve", "share of rows, by falling uplift", "extra outcomes", lines, x_domain=[0, 1]),
        _by_tenths(y, uplift, treated, weight),
        histogram("Predicted uplift", "uplift", {"control": uplift[~treated], "treated": uplift[treated]}),
    ]
    return {"metrics": metrics, "charts": charts}


def _effect(y: FloatArray, treated: Any, weight: Any) -> float | None:
    if not 0 < treated.sum() < len(treated):
        return None
    w = np.ones(len(y)) if weight is None else weight
    means = [np.average(y[side], weights=w[side]) if w[side].sum() > 0 else np.nan for side in (treated, ~treated)]
    return float(means[0] - means[1])


def _by_tenths(y: FloatArray, uplift: FloatArray, treated: Any, weight: Any) -> dict[str, Any]:
    """Predicted and observed effect of each tenth of the rows, by rising prediction."""
    parts = np.array_split(np.argsort(uplift, kind="stable"), min(TENTHS, len(y)))
    told = [float(uplift[part].mean()) for part in parts]
    seen = [_effect(y[part], treated[part], None if weight is None else weight[part]) for part in parts]
    pairs = [(a, b) for a, b in zip(told, seen, strict=True) if b is not None]
    lines = [series("tenths of the rows", [a for a, _ in pairs], [b for _, b in pairs])]
    ends = [min(told), max(told)]
    lines.append(series("perfect", ends, ends, "baseline"))
    note = "mean outcome of treated rows less that of the control"
    return curves("Predicted and observed uplift", "predicted", "observed", lines, note, dots=True)
