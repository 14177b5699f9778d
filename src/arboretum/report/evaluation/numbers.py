"""Evaluation of regressors, one output or several."""

from __future__ import annotations

from typing import Any

import numpy as np

from arboretum.estimators import targets
from arboretum.report.evaluation.charts import histogram, metric, points
from arboretum.report.subject import FloatArray, Rows, Subject


def predictions(model: Any, rows: Rows, of: str = "") -> tuple[FloatArray, FloatArray]:
    """Targets and predictions, (rows, outputs); several predictions of one target share it."""
    assert rows.y is not None
    told = np.asarray(model.predict(rows.X), np.float64).reshape(rows.n_rows, -1)
    truth = targets.regression_outputs(rows.y, f"y{of}")
    if truth.shape[1] == 1 < told.shape[1]:
        truth = np.repeat(truth, told.shape[1], axis=1)
    return truth, told


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate each output of a regressor."""
    truth, told = predictions(subject.model, subject.test)
    weight = np.ones(len(truth)) if subject.test.weight is None else subject.test.weight
    train = None if subject.train is None else predictions(subject.model, subject.train, "_train")
    outputs = []
    for k in range(told.shape[1]):
        before = None if train is None else (train[0][:, k], train[1][:, k])
        facts = _one_output(truth[:, k], told[:, k], weight, before, subject.train)
        outputs.append({"name": f"output {k}" if told.shape[1] > 1 else "", **facts})
    return outputs


def _one_output(truth: FloatArray, told: FloatArray, weight: FloatArray, train: Any, rows: Rows | None) -> Any:
    known = ~np.isnan(truth)  # a target of several outputs may be unknown in some
    truth, told, weight = truth[known], told[known], weight[known]
    fit_y, fit_told, fit_weight = None, None, None
    if train is not None and rows is not None:
        has = ~np.isnan(train[0])
        fit_y, fit_told = train[0][has], train[1][has]
        fit_weight = None if rows.weight is None else rows.weight[has]
    level = float(np.average(truth, weights=weight) if fit_y is None else np.average(fit_y, weights=fit_weight))
    error = truth - told

    def size(deviation: FloatArray | None, power: int, w: Any = None) -> float | None:
        if deviation is None:
            return None
        return float(np.average(np.abs(deviation) ** power, weights=w) ** (1 / power))

    fit_error = None if fit_y is None else fit_y - fit_told
    metrics = [
        metric(
            "RMSE",
            size(error, 2, weight),
            size(truth - level, 2, weight),
            "root of the mean squared error",
            train=size(fit_error, 2, fit_weight),
            better="low",
        ),
        metric(
            "MAE",
            size(error, 1, weight),
            size(truth - level, 1, weight),
            "mean absolute error",
            train=size(fit_error, 1, fit_weight),
            better="low",
        ),
        metric(
            "R²",
            _r2(truth, told, weight),
            _r2(truth, np.full_like(truth, level), weight),
            "share of the variance that is explained",
            train=None if fit_y is None else _r2(fit_y, fit_told, fit_weight),
            better="high",
        ),
        metric("bias", float(np.average(-error, weights=weight)), None, "mean of prediction − actual", better="zero"),
    ]
    charts = [
        points("Predicted and actual", "actual", "predicted", truth, told, reference="diagonal"),
        points("Residuals", "predicted", "actual − predicted", told, error, reference="zero"),
        histogram(
            "Distribution of residuals", "actual − predicted", {"residuals": error}, weight={"residuals": weight}
        ),
        histogram("Distribution of values", "value", {"actual": truth, "predicted": told}),
    ]
    return {"metrics": metrics, "charts": charts}


def _r2(truth: FloatArray, told: Any, weight: Any) -> float | None:
    spread = np.average((truth - np.average(truth, weights=weight)) ** 2, weights=weight)
    return float(1 - np.average((truth - told) ** 2, weights=weight) / spread) if spread > 0 else None
