"""What ``score`` of classifiers and regressors measures, of any target and weights that ``fit`` takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.data.labels import typed_column


def accuracy(y: Any, predicted: NDArray[Any], sample_weight: Any = None) -> float:
    """Share of rows whose label is predicted; of several outputs, a row counts if all of them are right.

    scikit-learn's ``accuracy_score`` refuses some labels, such as large integers in an array of objects.

    Examples
    --------
    >>> accuracy(np.array([1, 2], dtype=object), np.array([1, 1], dtype=object))
    0.5
    """
    truth, weight = _fitting(y, predicted, sample_weight)
    if truth.ndim == 2:
        return float(np.average((truth == predicted).all(axis=1), weights=weight))
    truth, predicted = typed_column(truth), typed_column(predicted)
    if (truth.dtype.kind in "US") != (predicted.dtype.kind in "US") and object not in (truth.dtype, predicted.dtype):
        raise ValueError(f"y has labels such as {truth[0]!r}, but the model predicts labels such as {predicted[0]!r}")
    return float(np.average(truth == predicted, weights=weight))


def r_squared(y: Any, predicted: NDArray[Any], sample_weight: Any = None) -> float:
    """Return R²: 1 − Σ (y − prediction)² / Σ (y − mean of y)², the mean of those of several outputs.

    Examples
    --------
    >>> r_squared([1.0, 2.0, 3.0], np.array([1.0, 2.0, 2.0]))
    0.5
    """
    from sklearn.metrics import r2_score

    truth, weight = _fitting(y, predicted, sample_weight)
    flat = targets.as_numbers(truth.ravel(), "y", "give numbers")
    return float(r2_score(flat.reshape(truth.shape), predicted, sample_weight=weight))


def _fitting(y: Any, predicted: NDArray[Any], sample_weight: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return targets in the shape of the predictions, and weights of the rows."""
    truth = targets.to_numpy(y, "y")
    truth = truth[:, 0] if truth.ndim == 2 and truth.shape[1] == 1 else truth
    if truth.shape != predicted.shape:
        raise ValueError(f"y has shape {truth.shape}, but there are {len(predicted)} predictions: give one per row")
    return truth, targets.row_weights(sample_weight, len(truth))
