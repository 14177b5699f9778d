"""Evaluation of classifiers: binary and multiclass, one output or several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.estimators import targets
from arboretum.report.evaluation.charts import curves, histogram, metric, series
from arboretum.report.subject import LEAST_PROBABILITY, FloatArray, Rows, Subject, class_lists

THRESHOLDS = np.linspace(0, 1, 201)
CALIBRATION_BINS = 10
MATRIX_CLASSES = 25  # more are told by the table alone


@dataclass(frozen=True, eq=False)
class Judged:
    """Rows of one output: true class, probabilities, weights."""

    code: NDArray[np.intp]
    proba: FloatArray
    weight: FloatArray

    def log_loss(self, proba: FloatArray | None = None) -> float:
        """Mean of −ln of the probability that the true class was given."""
        proba = self.proba if proba is None else proba
        own = np.clip(proba[np.arange(len(self.code)), self.code], LEAST_PROBABILITY, 1)
        return float(np.average(-np.log(own), weights=self.weight))

    def accuracy(self, guess: Any = None) -> float:
        """Share of right classes; ``guess`` replaces the most probable one."""
        guess = self.proba.argmax(axis=1) if guess is None else guess
        return float(np.average(self.code == guess, weights=self.weight))

    @property
    def shares(self) -> FloatArray:
        """Share of each class."""
        counts = np.bincount(self.code, self.weight, minlength=self.proba.shape[1])
        return np.asarray(counts / counts.sum())


def judge(model: Any, rows: Rows, of: str = "") -> list[Judged]:
    """Predict rows, output by output."""
    assert rows.y is not None
    proba = model.predict_proba(rows.X)
    probas = proba if isinstance(proba, list) else [proba]
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    codes = [
        targets.encode_classes(column, labels, f"y{of}").astype(np.intp)
        for column, labels in zip(rows.y.T, class_lists(model), strict=True)
    ]
    return [Judged(code, part, weight) for code, part in zip(codes, probas, strict=True)]


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate each output of a classifier."""
    tests = judge(subject.model, subject.test)
    trains = [None] * len(tests) if subject.train is None else judge(subject.model, subject.train, "_train")
    outputs = []
    for number, (test, train, labels) in enumerate(zip(tests, trains, class_lists(subject.model), strict=True)):
        names = [str(label) for label in labels.tolist()]
        facts = _binary(test, train, names) if len(names) == 2 else _multiclass(test, train, names)
        outputs.append({"name": f"output {number}" if len(tests) > 1 else "", **facts})
    return outputs


def _common_metrics(test: Judged, train: Judged | None) -> list[dict[str, Any]]:
    """Return what two classes and many share; the baseline knows the shares of classes and nothing else."""
    shares = (train or test).shares
    constant = np.broadcast_to(shares, test.proba.shape)
    return [
        metric(
            "log loss",
            test.log_loss(),
            test.log_loss(constant),
            "mean of −ln of the probability given to the true class",
            train=None if train is None else train.log_loss(),
            better="low",
        ),
        metric(
            "accuracy",
            test.accuracy(),
            test.accuracy(int(shares.argmax())),
            "share of rows whose most probable class is right",
            train=None if train is None else train.accuracy(),
            better="high",
        ),
    ]


# ---- two classes -----------------------------------------------------------------------------------------------------


def _binary(test: Judged, train: Judged | None, names: list[str]) -> dict[str, Any]:
    score, weight = test.proba[:, 1], test.weight
    positive = test.code == 1
    base = float(test.shares[1])
    has_both = 0 < positive.sum() < len(positive)
    metrics = _common_metrics(test, train)
    charts: list[dict[str, Any]] = []
    if has_both:
        metrics = [*_ranking_metrics(test, train, base), *metrics]
        charts += _ranking_charts(positive, score, weight, base)
    brier = float(np.average((positive - score) ** 2, weights=weight))
    metrics.append(metric("Brier score", brier, base * (1 - base), "mean squared error of probabilities", better="low"))
    charts.append(_calibration(positive, score, weight))
    charts.append(
        histogram(
            "Scores by class",
            f"probability of {names[1]}",
            {names[0]: score[~positive], names[1]: score[positive]},
            weight={names[0]: weight[~positive], names[1]: weight[positive]},
        )
    )
    charts.append(_threshold(positive, score, weight, names))
    return {"metrics": metrics, "charts": charts}


def _ranking_metrics(test: Judged, train: Judged | None, base: float) -> list[dict[str, Any]]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    def of(score: Any, rows: Judged | None) -> float | None:
        if rows is None or len(np.unique(rows.code)) < 2:
            return None
        return float(score(rows.code, rows.proba[:, 1], sample_weight=rows.weight))

    about = "chance that a row of the second class has the higher score"
    area = metric("ROC AUC", of(roc_auc_score, test), 0.5, about, train=of(roc_auc_score, train), better="high")
    about = "precision averaged over recall"
    mean = average_precision_score
    return [area, metric("average precision", of(mean, test), base, about, train=of(mean, train), better="high")]


def _ranking_charts(positive: Any, score: FloatArray, weight: FloatArray, base: float) -> list[dict[str, Any]]:
    from sklearn.metrics import precision_recall_curve, roc_curve

    false_rate, true_rate, _ = roc_curve(positive, score, sample_weight=weight)
    precision, recall, _ = precision_recall_curve(positive, score, sample_weight=weight)
    unit: dict[str, Any] = {"x_domain": [0, 1], "y_domain": [0, 1], "square": True}
    roc = [series("model", false_rate, true_rate), series("chance", [0, 1], [0, 1], "baseline")]
    pair = [series("model", recall, precision, steps=True), series("chance", [0, 1], [base, base], "baseline")]
    return [
        curves("ROC curve", "false positive rate", "true positive rate", roc, **unit),
        curves("Precision and recall", "recall", "precision", pair, **unit),
    ]


def _calibration(positive: Any, score: FloatArray, weight: FloatArray) -> dict[str, Any]:
    """Mean score and share of the second class in bins of equal numbers of rows."""
    edges = np.unique(np.quantile(score, np.linspace(0, 1, CALIBRATION_BINS + 1)[1:-1]))
    place = np.searchsorted(edges, score, side="right")
    total = np.bincount(place, weight)
    full = total > 0
    told = np.bincount(place, weight * score)[full] / total[full]
    seen = np.bincount(place, weight * positive)[full] / total[full]
    lines = [series("model", told, seen), series("perfect", [0, 1], [0, 1], "baseline")]
    return curves(
        "Calibration",
        "predicted probability",
        "observed share",
        lines,
        f"{int(full.sum())} bins of equal numbers of rows",
        x_domain=[0, 1],
        y_domain=[0, 1],
        square=True,
        dots=True,
    )


def _threshold(positive: Any, score: FloatArray, weight: FloatArray, names: list[str]) -> dict[str, Any]:
    """Rows at or above each threshold, by class: all that a confusion matrix needs."""
    place = np.searchsorted(THRESHOLDS, score, side="right")  # rows are positive at the first ``place`` thresholds

    def above(chosen: Any) -> FloatArray:
        counts = np.bincount(place[chosen], weight[chosen], minlength=len(THRESHOLDS) + 1)
        return np.asarray(counts[::-1].cumsum()[::-1][1:])

    return {
        "kind": "threshold",
        "title": "Confusion matrix by threshold",
        "labels": names,
        "thresholds": THRESHOLDS,
        "true_positives": above(positive),
        "false_positives": above(~positive),
        "positives": weight[positive].sum(),
        "negatives": weight[~positive].sum(),
    }


# ---- several classes -------------------------------------------------------------------------------------------------


def _multiclass(test: Judged, train: Judged | None, names: list[str]) -> dict[str, Any]:
    n = len(names)
    guess = test.proba.argmax(axis=1)
    counts = np.bincount(test.code * n + guess, test.weight, minlength=n * n).reshape(n, n)
    rows, hits, guesses = counts.sum(axis=1), counts.diagonal(), counts.sum(axis=0)
    recall = np.divide(hits, rows, out=np.full(n, np.nan), where=rows > 0)
    precision = np.divide(hits, guesses, out=np.full(n, np.nan), where=guesses > 0)
    f1 = 2 * hits / np.maximum(rows + guesses, 1e-300)
    area = [_area_against_rest(test, k) for k in range(n)]
    balanced = float(recall[rows > 0].mean())
    metrics = _common_metrics(test, train)
    about = "recall, averaged over the classes"
    metrics.append(metric("balanced accuracy", balanced, 1 / max((rows > 0).sum(), 1), about, better="high"))
    table = {
        "kind": "table",
        "title": "Each class",
        "columns": ["class", "rows", "precision", "recall", "F1", "AUC against the rest"],
        "rows": [[names[k], rows[k], precision[k], recall[k], f1[k], area[k]] for k in range(n)],
    }
    charts: list[dict[str, Any]] = [table]
    if n <= MATRIX_CLASSES:
        charts.append({"kind": "matrix", "title": "Confusion matrix", "labels": names, "counts": counts})
    own = test.proba[np.arange(len(guess)), guess]
    right = guess == test.code
    sure = {"wrong": own[~right], "right": own[right]}
    charts.append(histogram("How sure the model is", "probability of the predicted class", sure))
    return {"metrics": metrics, "charts": charts}


def _area_against_rest(test: Judged, k: int) -> float | None:
    from sklearn.metrics import roc_auc_score

    is_class = test.code == k
    if not 0 < is_class.sum() < len(is_class):
        return None
    return float(roc_auc_score(is_class, test.proba[:, k], sample_weight=test.weight))
