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
COMPARED = (*MOST_TRUSTED, "nodes")  # of which disagreement means something
APART = 0.3  # of all ranks: what counts as disagreement
NOTED_RANK, NOTED_PART = 10, 0.05  # a column that no kind ranks so high, with such a part of the largest, is noise


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
    """Columns that one kind of importance ranks high and another low.

    Examples
    --------
    >>> gain, shap = np.arange(12.0), np.append(np.arange(11.0), -1.0)
    >>> disagreements([f"x{j}" for j in range(12)], {"gain": gain, "shap": shap})
    {'x11': '1st by gain, but 12th of 12 by shap'}
    """
    if len(kinds) < 2:
        return {}
    ranks = {name: np.argsort(np.argsort(-values, kind="stable"), kind="stable") for name, values in kinds.items()}
    table = np.array(list(ranks.values()))
    labels, marks = list(ranks), {}
    parts = np.array([values / max(np.nanmax(values), 1e-300) for values in kinds.values()])
    matters = (table.min(axis=0) < NOTED_RANK) & (np.nanmax(parts, axis=0) > NOTED_PART)
    for column in np.flatnonzero(matters & (np.ptp(table, axis=0) >= max(3, APART * len(names)))).tolist():
        best, worst = int(table[:, column].argmin()), int(table[:, column].argmax())
        high, low = ordinal(int(table[best, column]) + 1), ordinal(int(table[worst, column]) + 1)
        marks[names[column]] = f"{high} by {labels[best]}, but {low} of {len(names)} by {labels[worst]}"
    return marks


def ordinal(number: int) -> str:
    """Write a rank.

    Examples
    --------
    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 21, 112)]
    ['1st', '2nd', '3rd', '4th', '11th', '21st', '112th']
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
