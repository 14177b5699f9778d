"""Slow plain twins of what arboretum.explaining computes: one prediction for everything that is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def response(model: Any, X: Any) -> FloatArray:
    """Probabilities, of two classes that of the second; else predictions, (rows, outputs)."""
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X)
        return proba[:, 1:] if proba.shape[1] == 2 else proba
    predicted = model.predict(X)
    return predicted[:, None] if predicted.ndim == 1 else predicted


def curves(model: Any, X: Any, columns: list[Any], points: list[tuple[Any, ...]]) -> FloatArray:
    """Response of every row with every point in its columns, (rows, points, outputs)."""
    answers = []
    for point in points:
        moved = X.copy()
        for column, value in zip(columns, point, strict=True):
            if isinstance(moved, np.ndarray):
                moved[:, column] = value
            else:
                kept = moved[column].dtype
                moved[column] = value
                moved[column] = moved[column].astype(kept)
        answers.append(response(model, moved))
    return np.stack(answers, axis=1)


def accumulated(model: Any, X: FloatArray, column: int, edges: FloatArray) -> FloatArray:
    """Accumulated local effects at the edges, row by row."""
    steps: list[list[FloatArray]] = [[] for _ in edges[1:]]
    for row in X:
        place = next(k for k in range(1, len(edges)) if row[column] <= edges[k])
        high, low = row.copy(), row.copy()
        high[column], low[column] = edges[place], edges[place - 1]
        steps[place - 1].append(response(model, high[None])[0] - response(model, low[None])[0])
    effects = np.cumsum([np.zeros(len(steps[0][0])), *(np.mean(one, axis=0) for one in steps)], axis=0)
    middle = np.repeat((effects[1:] + effects[:-1]) / 2, [len(one) for one in steps], axis=0)
    return np.asarray(effects - middle.mean(axis=0))


def h_squared(model: Any, X: FloatArray, j: int, k: int) -> float:
    """Friedman's H² of two columns of a model of one output."""

    def effect(columns: list[int]) -> FloatArray:
        points = [tuple(row[columns]) for row in X]
        values = curves(model, X, columns, points)[:, :, 0].mean(axis=0)
        return np.asarray(values - values.mean())

    both = effect([j, k])
    return float(((both - effect([j]) - effect([k])) ** 2).sum() / (both**2).sum())
