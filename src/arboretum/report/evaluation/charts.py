"""Charts as facts: what is drawn is decided here, how it looks by the page.

::

    chart      {kind: "curves" | "histogram" | "points" | "matrix" | "threshold" | "table", title, note, ...}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_POINTS = 300  # of a curve
MAX_DOTS = 1500  # of a scatter plot
UNIT_SQUARE: dict[str, Any] = {"x_domain": [0, 1], "y_domain": [0, 1], "square": True}


def series(name: str, x: Any, y: Any, role: str = "model", *, steps: bool = False) -> dict[str, Any]:
    """Describe a line; at most MAX_POINTS of its points are kept, the first and the last among them."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    keep = thin(len(x), MAX_POINTS)
    return {"name": name, "x": x[keep], "y": y[keep], "role": role, "steps": steps}


def curves(title: str, x: str, y: str, lines: Sequence[dict[str, Any]], note: str = "", **more: Any) -> dict[str, Any]:
    """Describe a chart of lines over shared axes."""
    return {"kind": "curves", "title": title, "x": x, "y": y, "series": list(lines), "note": note, **more}


def roc_chart(truth: NDArray[np.bool_], score: NDArray[Any], weight: NDArray[Any]) -> dict[str, Any]:
    """Describe the ROC curve of scores of an event."""
    from sklearn.metrics import roc_curve

    across, up, _ = roc_curve(truth, score, sample_weight=weight)
    lines = [series("model", across, up), diagonal("chance")]
    return curves("ROC curve", "false positive rate", "true positive rate", lines, **UNIT_SQUARE)


def diagonal(name: str) -> dict[str, Any]:
    """Describe the line from 0 to 1 that curves are compared with."""
    return series(name, [0, 1], [0, 1], "baseline")


def histogram(
    title: str,
    x: str,
    values: dict[str, NDArray[Any]],
    *,
    bins: int = 40,
    weight: dict[str, Any] | None = None,
    note: str = "",
    **more: Any,
) -> dict[str, Any]:
    """Describe counts of several sets of numbers over shared bins, by the name of each set."""
    finite = {name: np.asarray(part, np.float64) for name, part in values.items()}
    every = np.concatenate(list(finite.values()))
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
    weights = weight or {}
    counts = {name: np.histogram(part, edges, weights=weights.get(name))[0] for name, part in finite.items()}
    parts = [{"name": name, "counts": part} for name, part in counts.items()]
    return {"kind": "histogram", "title": title, "x": x, "edges": edges, "series": parts, "note": note, **more}


def points(
    title: str, x: str, y: str, across: NDArray[Any], up: NDArray[Any], *, reference: str, note: str = ""
) -> dict[str, Any]:
    """Describe a scatter plot of at most MAX_DOTS rows; ``reference`` is "diagonal" or "zero"."""
    keep = thin(len(across), MAX_DOTS, seed=0)
    shown = {"points_x": across[keep], "points_y": up[keep]}
    return {"kind": "points", "title": title, "x": x, "y": y, "reference": reference, "note": note, **shown}


def thin(size: int, limit: int, seed: int | None = None) -> NDArray[np.intp]:
    """Positions of at most ``limit`` of ``size`` items: evenly spread, or drawn.

    Examples
    --------
    >>> thin(9, 3)
    array([0, 4, 8])
    """
    if size <= limit:
        return np.arange(size)
    if seed is None:
        return np.linspace(0, size - 1, limit).astype(np.intp)
    return np.sort(np.random.default_rng(seed).choice(size, limit, replace=False))
