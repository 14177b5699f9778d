"""How good the predictions are: figures and charts for each task, with a baseline beside them."""

from __future__ import annotations

from typing import Any

from arboretum.report.evaluation import anomalies, classes, numbers, ranking, survival, uplift
from arboretum.report.subject import Subject

_BY_TASK = {
    "binary": classes.evaluate,
    "multiclass": classes.evaluate,
    "regression": numbers.evaluate,
    "ranking": ranking.evaluate,
    "uplift": uplift.evaluate,
    "survival": survival.evaluate,
    "anomaly": anomalies.evaluate,
}


def gather(subject: Subject) -> dict[str, Any]:
    """Evaluate every output of a model on the rows of the report."""
    return {"outputs": _BY_TASK[subject.task](subject), "has_train": subject.train is not None}
