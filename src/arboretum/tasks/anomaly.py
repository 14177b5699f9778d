"""Anomaly detection: rows that are unlike the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.tasks.task import Columns, Task


@dataclass(frozen=True)
class Anomaly(Task):
    """No target, and scores that are higher for stranger rows."""

    needs_target = False
    stratified_by = "y"  # known anomalies

    def answers(self, model: Any, X: Any, **given: Any) -> NDArray[Any]:
        """Return the scores."""
        return -np.asarray(model.score_samples(X))

    def columns(self, model: Any, X: Any, *, positive: int | None = None, **given: Any) -> Columns:
        """Return −1 or 1, as ``predict`` does, and scores; each row is predicted only once."""
        score = np.asarray(model.score_samples(X))
        return {"prediction": np.where(score - model.offset_ < 0, -1, 1), "score": -score}

    def check_target(self, y: NDArray[Any]) -> str | None:
        """Accept any labels of known anomalies."""
        return None


ANOMALY = Anomaly(
    "anomaly",
    "anomaly detection",
    "anomaly",
    {"roc auc": True, "average precision": True},
    "anomalies",
    figure="ROC AUC",
    scored_as="binary",  # anomalies against other rows are two classes
)
