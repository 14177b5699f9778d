"""Importances side by side, and where they disagree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.report.subject import Subject

# Kinds in the order they are shown: those that speak of predictions first, then those of the trees.
MEANING = {
    "permutation": "how much worse the score becomes when the column is shuffled",
    "sage": "share of the model's gain in loss, fairly split among columns",
    "shap": "mean size of the column's SHAP values",
    "gain": "what its splits gained while training",
    "nodes": "how often it is asked",
    "rows": "training rows that its splits decided on",
    "root": "how often it is asked first",
    "inverse_depth": "how near to the root it is asked",
}
MOST_TRUSTED = ("permutation", "sage", "shap", "gain")
# Kinds whose shares mean the same; how many nodes ask a column depends on how many values it has.
COMPARED = ("permutation", "shap", "gain")
TIMES_APART, LEAST_SHARE = 5.0, 0.1  # shares of all columns that differ so much, the larger being at least so large


def gather(subject: Subject) -> dict[str, Any]:
    """Compare all kinds of importance of the model."""
    found = subject.importances
    kinds = {name: np.asarray(found.kinds[name], np.float64) for name in MEANING if name in found.kinds}
    error = found.kinds.get("permutation_error")
    return {
        "names": list(found.feature_names),
        "order": ranking(found),
        "kinds": [{"name": name, "about": MEANING[name], "values": values} for name, values in kinds.items()],
        "permutation_error": error,
        "marks": disagreements(list(found.feature_names), {name: kinds[name] for name in COMPARED if name in kinds}),
    }


def ranking(importances: Any) -> list[int]:
    """Columns by falling importance, of the most trusted kind there is."""
    name = next(name for name in MOST_TRUSTED if name in importances.kinds)
    values = np.nan_to_num(np.asarray(importances.kinds[name], np.float64), nan=-np.inf)
    spare = np.nan_to_num(np.asarray(importances.kinds.get("gain", values), np.float64), nan=-np.inf)
    return [int(column) for column in np.lexsort((-spare, -values))]


def disagreements(names: list[str], kinds: dict[str, NDArray[np.float64]]) -> dict[str, str]:
    """Columns with a large share of one kind of importance and next to none of another.

    Examples
    --------
    >>> gain, shap = np.array([6.0, 3.0, 1.0]), np.array([9.0, 0.0, 1.0])
    >>> disagreements(["a", "b", "c"], {"gain": gain, "shap": shap})
    {'b': '30% by gain, but 0% by shap'}
    """
    positive = {kind: np.maximum(np.nan_to_num(values), 0.0) for kind, values in kinds.items()}
    shares = {kind: values / values.sum() for kind, values in positive.items() if values.sum() > 0}
    if len(shares) < 2:
        return {}
    table, labels = np.array(list(shares.values())), list(shares)
    apart = (table.max(axis=0) >= LEAST_SHARE) & (table.max(axis=0) > TIMES_APART * table.min(axis=0))
    marks = {}
    for column in np.flatnonzero(apart).tolist():
        most, least = int(table[:, column].argmax()), int(table[:, column].argmin())
        told = [f"{table[kind, column]:.0%} by {labels[kind]}" for kind in (most, least)]
        marks[names[column]] = ", but ".join(told)
    return marks
