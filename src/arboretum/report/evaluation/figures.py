"""Figures of merit: of the model, of a baseline, and how much of their difference chance may have done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.report.chance import Positions, jackknife

Measure: TypeAlias = Callable[[Positions], float | None]
Better: TypeAlias = Literal["high", "low", ""]

CLEARLY = 3.0  # standard errors between a model that is better, or worse, and its baseline


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of merit, as a function of positions of rows; None where these rows have no such figure.

    ``is_own`` marks the loss that the model was trained for; ``train`` is the figure of the training rows.
    """

    name: str
    about: str
    of_model: Measure
    of_baseline: Measure | None = None
    better: Better = "low"
    train: float | None = None
    is_own: bool = False


def measured(figures: Sequence[Figure], n_rows: int, unit: NDArray[np.intp] | None = None) -> list[dict[str, Any]]:
    """Take figures of all rows, with standard errors.

    Parameters
    ----------
    figures : sequence of Figure
        What to measure.
    n_rows : int
        Number of rows.
    unit : int array, optional
        What is drawn together, such as queries, numbered from 0.

    Returns
    -------
    list of dict
        name, about, better, model, baseline, train, own; ``error`` is the standard error of ``model``, and ``verdict``
        "better", "worse" or "alike" (than the baseline, as far as chance allows to tell), or None.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(1.0, 1.0, size=400)
    >>> mean = Figure("mean", "", lambda rows: float(values[rows].mean()), lambda rows: 0.0, better="high")
    >>> measured([mean], 400)[0]["verdict"]
    'better'
    """

    def both(rows: Positions) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        for place, figure in enumerate(figures):
            model = found[f"{place}"] = figure.of_model(rows)
            base = None if figure.of_baseline is None else figure.of_baseline(rows)
            found[f"{place} gap"] = None if model is None or base is None else model - base
        return found

    every = np.arange(n_rows)
    errors = jackknife(both, n_rows, unit)
    facts = []
    for place, figure in enumerate(figures):
        model = figure.of_model(every)
        base = None if figure.of_baseline is None else figure.of_baseline(every)
        facts.append(
            {
                "name": figure.name,
                "about": figure.about,
                "better": figure.better,
                "model": model,
                "baseline": base,
                "train": figure.train,
                "own": figure.is_own,
                "error": errors.get(f"{place}"),
                "verdict": _verdict(model, base, errors.get(f"{place} gap"), figure.better),
            }
        )
    return facts


def mean_of(values: NDArray[Any], weight: NDArray[np.float64]) -> Measure:
    """Return the measure that is the weighted mean of a value of each row."""
    return lambda at: float(np.average(values[at], weights=weight[at]))


def of_two_sides(metric: Any, truth: NDArray[np.bool_], score: NDArray[Any], weight: NDArray[Any]) -> float | None:
    """Return how well scores tell rows with an event from those without; None if all rows are alike."""
    if truth.all() or not truth.any():
        return None
    return float(metric(truth, score, sample_weight=weight))


def _verdict(model: float | None, base: float | None, error: float | None, better: Better) -> str | None:
    if model is None or base is None or not better:
        return None
    gap = model - base if better == "high" else base - model
    if error is None or abs(gap) <= CLEARLY * error:
        return "alike"
    return "better" if gap > 0 else "worse"
