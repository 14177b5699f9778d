"""Evaluation of outlier detectors: scores, and their order if anomalies are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.report.evaluation.charts import curves, histogram, metric, series
from arboretum.report.subject import Rows, Subject


def known_anomalies(rows: Rows) -> NDArray[np.bool_] | None:
    """Which rows are anomalies, from labels −1 and 1 as ``predict`` gives them, or 1 and 0; None if not told."""
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
    test = subject.test
    score = -subject.model.score_samples(test.X)
    limit = -float(subject.model.offset_)
    is_anomaly = known_anomalies(test)
    flagged = float(np.average(score > limit, weights=test.weight))
    metrics = [metric("rows told anomalous", flagged, None, f"share of rows with a score above {limit:.3g}", better="")]
    note = "higher is more anomalous; the line is where rows begin to be told anomalous"
    parts = {"rows": score} if is_anomaly is None else {"others": score[~is_anomaly], "anomalies": score[is_anomaly]}
    charts = [histogram("Anomaly scores", "score", parts, note=note, rule=limit)]
    if is_anomaly is not None and 0 < is_anomaly.sum() < len(is_anomaly):
        from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

        area = float(roc_auc_score(is_anomaly, score, sample_weight=test.weight))
        mean = float(average_precision_score(is_anomaly, score, sample_weight=test.weight))
        share = float(np.average(is_anomaly, weights=test.weight))
        metrics = [
            metric("ROC AUC", area, 0.5, "chance that an anomaly has the higher score", better="high"),
            metric("average precision", mean, share, "precision averaged over recall", better="high"),
            *metrics,
        ]
        across, up, _ = roc_curve(is_anomaly, score, sample_weight=test.weight)
        lines = [series("model", across, up), series("chance", [0, 1], [0, 1], "baseline")]
        unit: dict[str, Any] = {"x_domain": [0, 1], "y_domain": [0, 1], "square": True}
        charts.append(curves("ROC curve", "false positive rate", "true positive rate", lines, **unit))
    return [{"name": "", "metrics": metrics, "charts": charts}]
