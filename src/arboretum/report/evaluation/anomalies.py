"""Evaluation of outlier detectors: scores, and their order if anomalies are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.report.evaluation.charts import histogram, roc_chart
from arboretum.report.evaluation.figures import Figure, Measure, mean_of, measured, of_two_sides
from arboretum.report.subject import FloatArray, Rows, Subject


def known_anomalies(rows: Rows) -> NDArray[np.bool_] | None:
    """Return which rows are anomalies, from labels −1 and 1, as of ``predict``, or 1 and 0; None without labels."""
    if rows.y is None:
        return None
    labels = rows.y[:, 0]
    found = set(np.unique(labels).tolist())
    if found <= {-1, 1} and -1 in found:
        return np.asarray(labels == -1)
    if found <= {0, 1}:
        return np.asarray(labels == 1)
    raise ValueError(f"y has the labels {sorted(found)[:5]}: mark anomalies by −1 and others by 1, or by 1 and 0")


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Show the scores; with labels, how well they tell anomalies from other rows."""
    test, score, limit = subject.test, subject.told, -float(subject.model.offset_)
    weight, is_anomaly = test.weights, known_anomalies(test)
    about = f"share of rows with a score above {limit:.3g}"
    figures = [Figure("rows told anomalous", about, mean_of(score > limit, weight), better="")]
    note = "higher is more anomalous; the line is where rows begin to be told anomalous"
    parts = {"rows": score} if is_anomaly is None else {"others": score[~is_anomaly], "anomalies": score[is_anomaly]}
    charts = [histogram("Anomaly scores", "score", parts, note=note, rule=limit)]
    if is_anomaly is not None and 0 < is_anomaly.sum() < len(is_anomaly):
        figures = [*_separation(is_anomaly, score, weight), *figures]
        charts.append(roc_chart(is_anomaly, score, weight))
    return [{"name": "", "metrics": measured(figures, test.n_rows), "charts": charts}]


def _separation(is_anomaly: NDArray[np.bool_], score: FloatArray, weight: FloatArray) -> list[Figure]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    def measure(metric: Any) -> Measure:
        return lambda at: of_two_sides(metric, is_anomaly[at], score[at], weight[at])

    area, mean = measure(roc_auc_score), measure(average_precision_score)
    return [
        Figure("ROC AUC", "chance that an anomaly has the higher score", area, lambda at: 0.5, "high"),
        Figure("average precision", "precision averaged over recall", mean, mean_of(is_anomaly, weight), "high"),
    ]
