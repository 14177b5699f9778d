"""Evaluation of uplift models: Qini curves of every treatment, effects by tenths of the predicted ones, best arms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.metrics import auuc_score, policy_value, qini_curve, qini_score, uplift_at_k
from arboretum.report.chance import Positions
from arboretum.report.evaluation.charts import curves, histogram, series
from arboretum.report.evaluation.figures import Figure, measured
from arboretum.report.facts import LeftOut
from arboretum.report.subject import FloatArray, Rows, Subject

TENTHS = 10


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate each treatment that these rows have against the control; the baseline is a random order."""
    control, *arms = subject.model.arms_.tolist()
    weight, given = subject.test.weight, subject.test.treatment
    assert given is not None
    present = set((given if weight is None else given[weight > 0]).tolist())
    found = [arm for arm in arms if {control, arm} <= present]
    if not found:
        raise LeftOut("These rows are not both of a treatment and of the control, which uplift compares.")
    outputs = [{"name": f"{arm}" if len(arms) > 1 else "", **_one_arm(subject, arm)} for arm in found]
    return [*outputs, _best_arms(subject, [control, *found])] if len(found) > 1 else outputs


def _against_control(subject: Subject, rows: Rows, arm: Any) -> Any:
    return subject.model.against_control(rows.X, rows.target, rows.treatment, arm=arm, sample_weight=rows.weight)


def _one_arm(subject: Subject, arm: Any) -> dict[str, Any]:
    y, uplift, treated, weight = test = _against_control(subject, subject.test, arm)
    train = None if subject.train is None else _against_control(subject, subject.train, arm)

    def figure(score: Any, name: str, about: str, baseline: Any, **more: Any) -> Figure:
        def of(rows: Any) -> float | None:
            try:
                return None if rows is None else float(score(*rows[:3], sample_weight=rows[3], **more))
            except ValueError:  # one arm is not there
                return None

        def taken(at: Positions) -> Any:
            return (*(part[at] for part in test[:3]), None if weight is None else weight[at])

        return Figure(name, about, lambda at: of(taken(at)), lambda at: baseline(taken(at)), "high", of(train))

    figures = [
        figure(
            qini_score, "Qini score", "area above a random order; 1 is the best order, 0 a random one", lambda rows: 0.0
        ),
        figure(auuc_score, "AUUC", "area under the uplift curve, by row", lambda rows: 0.0, normalise=False),
        figure(
            uplift_at_k,
            "uplift of the best 30 %",
            "effect among the rows of largest predicted uplift",
            lambda rows: _effect(rows[0], rows[2], rows[3]),
            k=0.3,
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
    return {"metrics": measured(figures, len(y)), "charts": charts}


def _best_arms(subject: Subject, arms: list[Any]) -> dict[str, Any]:
    """Evaluate the policy that gives every row the arm of largest predicted outcome, among those that rows got."""
    model, rows = subject.model, subject.test
    got = targets.as_column(rows.treatment, len(rows.target), "treatment")
    outcome = np.asarray(rows.target)
    if model.outcomes_ is not None:
        outcome = targets.encode_classes(outcome, model.outcomes_, "y")
    outcome = outcome.astype(np.float64)
    weight = np.ones(len(got)) if rows.weight is None else np.asarray(rows.weight)
    labels = np.array(model.arms_.tolist(), dtype=object)
    uplift = np.column_stack([np.zeros(len(got)), model.predict(rows.X).reshape(len(got), -1)])
    known = np.isin(labels, np.array(arms, dtype=object))
    best = labels[np.argmax(np.where(known, uplift, -np.inf), axis=1)]
    got = got.astype(object)

    def value(policy: NDArray[Any], at: Positions) -> float | None:
        try:
            return policy_value(outcome[at], policy[at], got[at], sample_weight=weight[at]).value
        except ValueError:  # an arm is not there
            return None

    every = np.arange(len(got))
    for_all = {arm: np.full(len(got), arm, dtype=object) for arm in arms}
    values = {arm: value(policy, every) for arm, policy in for_all.items()}
    one = max((arm for arm in arms if values[arm] is not None), key=lambda arm: values[arm] or 0.0)
    figure = Figure(
        "value of the best arm",
        "mean outcome if each row got the arm of largest predicted outcome, by inverse probability; the baseline gives "
        f"all rows {one}",
        lambda at: value(best, at),
        lambda at: value(for_all[one], at),
        "high",
    )
    shown = [
        [
            f"{arm}",
            float(weight[best == arm].sum() / weight.sum()),
            float(np.average(uplift[:, labels.tolist().index(arm)], weights=weight)),
            values[arm],
        ]
        for arm in arms
    ]
    table = {
        "kind": "table",
        "title": "Arms",
        "note": "how often each arm is the best, its mean predicted uplift, and the mean outcome if all rows got it",
        "columns": ["arm", "best for", "mean uplift", "outcome if all got it"],
        "rows": shown,
    }
    return {"name": "best arm", "metrics": measured([figure], len(got)), "charts": [table]}


def _effect(y: FloatArray, treated: Any, weight: Any) -> float | None:
    if not 0 < treated.sum() < len(treated):
        return None
    w = np.ones(len(y)) if weight is None else weight
    means = [np.average(y[side], weights=w[side]) if w[side].sum() > 0 else np.nan for side in (treated, ~treated)]
    return float(means[0] - means[1])


def _by_tenths(y: FloatArray, uplift: FloatArray, treated: Any, weight: Any) -> dict[str, Any]:
    """Predicted and observed effect of each tenth of the rows, by rising prediction."""
    parts = np.array_split(np.argsort(uplift, kind="stable"), min(TENTHS, len(y)))
    told = np.array([float(uplift[part].mean()) for part in parts])
    seen = [_effect(y[part], treated[part], None if weight is None else weight[part]) for part in parts]
    known = [effect is not None for effect in seen]
    ends = [told.min(), told.max()]
    lines = [
        series("tenths of the rows", told[known], [effect for effect in seen if effect is not None]),
        series("perfect", ends, ends, "baseline"),
    ]
    note = "mean outcome of treated rows less that of the control"
    return curves("Predicted and observed uplift", "predicted", "observed", lines, note, dots=True)
