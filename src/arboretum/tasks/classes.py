"""Classification: labels, and their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data.selection import take_rows
from arboretum.tasks.task import Columns, Task

CLEAR_LEAD = 1e-9  # between probabilities, far beyond the rounding of links


@dataclass(frozen=True)
class Classes(Task):
    """Labels of two classes, or of several."""

    has_classes = True
    stratified_by = "y"

    def answers(self, model: Any, X: Any, **given: Any) -> Any:
        """Return the probabilities of the classes; a list of them for several outputs."""
        return model.predict_proba(X, **given)

    def columns(self, model: Any, X: Any, *, positive: int | None = None, **given: Any) -> Columns:
        """Return labels, and the probability of each class, the positive one first.

        Each row is predicted once: its label is the class with the largest probability. Scores that differ in the last
        bit may have equal probabilities, so ``predict`` decides for the few rows without a clear lead.
        """
        chance, labels = np.asarray(self.answers(model, X, **given)), model.classes_.tolist()
        found = np.asarray(model.classes_)[chance.argmax(axis=1)]
        ranked = np.sort(chance, axis=1)
        if (close := (ranked[:, -1:] - ranked[:, :-1] < CLEAR_LEAD).any(axis=1)).any():
            rows = {name: value[close] for name, value in given.items()}
            found[close] = model.predict(take_rows(X, np.flatnonzero(close)), **rows)
        order = sorted(range(len(labels)), key=lambda j: j != positive)
        return {"prediction": found, **{f"probability of {labels[j]}": chance[:, j] for j in order}}

    def check_target(self, y: NDArray[Any]) -> str | None:
        """Reject numbers with fractions, which are not classes."""
        if y.dtype.kind != "f" or not (parts := y[y != np.trunc(y)]).size:
            return None
        return f"holds {parts[0]:g}, which is not a class: expected text or whole numbers"


BINARY = Classes(
    "binary",
    "classification, two classes",
    "class",
    {"roc auc": True, "log loss": False, "accuracy": True, "average precision": True},
    "classes",
)
MULTICLASS = Classes(
    "multiclass",
    "classification",
    "class",
    {"log loss": False, "accuracy": True, "balanced accuracy": True},
    "classes",
)


def of_classes(n_classes: int) -> Classes:
    """Return the task for this number of classes.

    Examples
    --------
    >>> of_classes(2).name, of_classes(3).name
    ('binary', 'multiclass')
    """
    return BINARY if n_classes == 2 else MULTICLASS
