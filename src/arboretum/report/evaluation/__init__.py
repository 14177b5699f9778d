"""How good the predictions are: figures and charts for each task, with a baseline beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arboretum.report.evaluation import anomalies, classes, numbers, ranking, survival, uplift
from arboretum.report.subject import Subject

# Sections by the name that tasks have for them (Task.evaluation).
SECTIONS: dict[str, Callable[[Subject], list[dict[str, Any]]]] = {
    "classes": classes.evaluate,
    "numbers": numbers.evaluate,
    "ranking": ranking.evaluate,
    "uplift": uplift.evaluate,
    "survival": survival.evaluate,
    "anomalies": anomalies.evaluate,
}


def gather(subject: Subject) -> dict[str, Any]:
    """Evaluate every output of a model on the rows of the report."""
    return {"outputs": SECTIONS[subject.task.evaluation](subject), "has_train": subject.train is not None}
