"""Evaluation of classifiers: binary and multiclass, one output or several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.explaining.reading import class_lists
from arboretum.metrics.own_loss import BRIER, LOG_LOSS, RANKED, OwnLoss, mean_distance, own_loss
from arboretum.report.calibration import calibration_of
from arboretum.report.chance import Positions
from arboretum.report.evaluation.charts import curves, histogram, series
from arboretum.report.evaluation.figures import Figure, Measure, measured
from arboretum.report.subject import FloatArray, Rows, Subject

THRESHOLDS = np.linspace(0, 1, 201)
MATRIX_CLASSES = 25  # more are told by the table alone
CURVE_CLASSES = 6  # whose calibration is drawn


@dataclass(frozen=True, eq=False)
class Judged:
    """Rows of one output: true class, probabilities, weights."""

    code: NDArray[np.intp]
    proba: FloatArray
    weight: FloatArray

    def take(self, rows: Positions) -> Judged:
        """Return some of the rows."""
        return Judged(self.code[rows], self.proba[rows], self.weight[rows])

    def accuracy(self, guess: Any = None) -> float:
        """Share of right classes; ``guess`` replaces the most probable one."""
        guess = self.proba.argmax(axis=1) if guess is None else guess
        return float(np.average(self.code == guess, weights=self.weight))

    def mean(self, loss: OwnLoss, proba: FloatArray | None = None) -> float:
        """Mean loss of the probabilities, or of the same ones for all rows."""
        told = self.proba if proba is None else np.broadcast_to(proba, self.proba.shape)
        return loss.mean(self.code, told, self.weight)

    @property
    def shares(self) -> FloatArray:
        """Share of each class."""
        counts = np.bincount(self.code, self.weight, minlength=self.proba.shape[1])
        return np.asarray(counts / counts.sum())


@dataclass(frozen=True, eq=False)
class Output:
    """One output: its rows, the loss that the model was trained for, and what the baseline says of every row."""

    name: str
    labels: list[str]
    rows: Judged
    train: Judged | None
    judge: OwnLoss
    positive: int  # place of the class, of two, whose probability is shown

    @property
    def shares(self) -> FloatArray:
        """Shares of the classes: what the baseline says of every row."""
        return (self.train or self.rows).shares

    @property
    def losses(self) -> FloatArray:
        """Own loss of each row."""
        return self.judge.values(self.rows.code, self.rows.proba)

    @property
    def baseline_losses(self) -> FloatArray:
        """Own loss of each row by the baseline."""
        return self.judge.values(self.rows.code, np.broadcast_to(self.shares, self.rows.proba.shape))

    @property
    def weight(self) -> FloatArray:
        """Weights of the rows."""
        return self.rows.weight


def judged(subject: Subject) -> list[Judged]:
    """Return the rows of the report, output by output."""
    return _judge(subject.model, subject.test, subject.told)


def _judge(model: Any, rows: Rows, proba: Any, of: str = "") -> list[Judged]:
    assert rows.y is not None
    probas = proba if isinstance(proba, list) else [proba]
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    codes = [
        targets.encode_classes(column, labels, f"y{of}").astype(np.intp)
        for column, labels in zip(rows.y.T, class_lists(model), strict=True)
    ]
    return [Judged(code, part, weight) for code, part in zip(codes, probas, strict=True)]


def outputs(subject: Subject) -> list[Output]:
    """Return every output of a classifier with its judge."""
    tests, trains = judged(subject), None
    if subject.train is not None:
        trains = _judge(subject.model, subject.train, subject.told_of_training, "_train")
    found = []
    for number, (test, labels) in enumerate(zip(tests, class_lists(subject.model), strict=True)):
        judge = own_loss(subject.model, test.code, test.proba, test.weight)
        name = f"output {number}" if len(tests) > 1 else ""
        names = [str(label) for label in labels.tolist()]
        found.append(Output(name, names, test, None if trains is None else trains[number], judge, subject.positive))
    return found


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate each output of a classifier."""
    return [
        {"name": output.name, **(_binary(output) if len(output.labels) == 2 else _multiclass(output))}
        for output in outputs(subject)
    ]


# ---- figures ---------------------------------------------------------------------------------------------------------


def _figure(output: Output, loss: OwnLoss, is_own: bool = False) -> Figure:
    rows, train, shares = output.rows, output.train, output.shares
    return Figure(
        loss.name,
        loss.about,
        lambda at: rows.take(at).mean(loss),
        lambda at: rows.take(at).mean(loss, shares),
        train=None if train is None else train.mean(loss),
        is_own=is_own,
    )


def _figures(output: Output) -> list[Figure]:
    """Return what two classes and many share, the own loss first."""
    rows, train, most = output.rows, output.train, int(output.shares.argmax())
    others = [loss for loss in (LOG_LOSS, BRIER) if loss.name != output.judge.name]
    accuracy = Figure(
        "accuracy",
        "share of rows whose most probable class is right",
        lambda at: rows.take(at).accuracy(),
        lambda at: rows.take(at).accuracy(most),
        better="high",
        train=None if train is None else train.accuracy(),
    )
    return [_figure(output, output.judge, is_own=True), accuracy, *(_figure(output, loss) for loss in others)]


def _distance(output: Output) -> Figure:
    rows, train, shares = output.rows, output.train, output.shares

    def of(part: Judged, proba: FloatArray | None = None) -> float:
        return mean_distance(part.code, part.proba if proba is None else proba, part.weight)

    return Figure(
        "mean distance",
        "mean number of places between the class and the middle of its prediction",
        lambda at: of(rows.take(at)),
        lambda at: of(rows.take(at), np.broadcast_to(shares, (len(at), len(shares)))),
        train=None if train is None else of(train),
    )


# ---- two classes -----------------------------------------------------------------------------------------------------


def _binary(output: Output) -> dict[str, Any]:
    rows, place = output.rows, output.positive
    names = [output.labels[1 - place], output.labels[place]]
    score, weight, positive = rows.proba[:, place], rows.weight, rows.code == place
    base = float(rows.shares[place])
    figures, charts = _figures(output), []
    if 0 < positive.sum() < len(positive):
        figures = [figures[0], *_ranking_figures(output), *figures[1:]]
        charts += _ranking_charts(positive, score, weight, base)
    charts.append(_calibration_chart(output, [place]))
    charts.append(
        histogram(
            "Scores by class",
            f"probability of {names[1]}",
            {names[0]: score[~positive], names[1]: score[positive]},
            weight={names[0]: weight[~positive], names[1]: weight[positive]},
        )
    )
    charts.append(_threshold(positive, score, weight, names))
    return {"metrics": measured(figures, len(score)), "charts": charts}


def _ranking_figures(output: Output) -> list[Figure]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    def of(score: Any, rows: Judged | None) -> float | None:
        if rows is None or len(np.unique(rows.code)) < 2:
            return None
        return float(score(rows.code == place, rows.proba[:, place], sample_weight=rows.weight))

    def measure(score: Any) -> Measure:
        return lambda at: of(score, output.rows.take(at))

    area, mean, place = roc_auc_score, average_precision_score, output.positive
    about = f"chance that a row of {output.labels[place]} has the higher probability of it than one of the other class"
    return [
        Figure("ROC AUC", about, measure(area), lambda at: 0.5, "high", of(area, output.train)),
        Figure(
            "average precision",
            f"precision averaged over recall, of {output.labels[place]}",
            measure(mean),
            lambda at: float(output.rows.take(at).shares[place]),
            "high",
            of(mean, output.train),
        ),
    ]


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


def _calibration_chart(output: Output, drawn: list[int]) -> dict[str, Any]:
    """Mean probability and share of some classes, in bins of equal numbers of rows."""
    found = [calibration_of(output.rows, k) for k in drawn]
    lines = [
        series(output.labels[k] if len(drawn) > 1 else "model", one.told, one.seen)
        for k, one in zip(drawn, found, strict=True)
    ]
    lines.append(series("perfect", [0, 1], [0, 1], "baseline"))
    certain = [one for one in found if one.is_certain(len(found))]
    note = "bins of equal numbers of rows; " + (
        f"off by up to {max(one.error for one in certain):.3f} beyond chance"
        if certain
        else "no more off than chance explains"
    )
    return curves(
        "Calibration",
        "predicted probability",
        "observed share",
        lines,
        note,
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


def _confusion(rows: Judged) -> FloatArray:
    n = rows.proba.shape[1]
    guess = rows.proba.argmax(axis=1)
    return np.asarray(np.bincount(rows.code * n + guess, rows.weight, minlength=n * n).reshape(n, n))


def _balanced_accuracy(rows: Judged) -> float:
    counts = _confusion(rows)
    total = counts.sum(axis=1)
    return float((counts.diagonal()[total > 0] / total[total > 0]).mean())


def _multiclass(output: Output) -> dict[str, Any]:
    rows, names = output.rows, output.labels
    n, counts = len(names), _confusion(output.rows)
    figures = _figures(output)
    figures.append(
        Figure(
            "balanced accuracy",
            "recall, averaged over the classes",
            lambda at: _balanced_accuracy(rows.take(at)),
            lambda at: 1 / max(len(np.unique(rows.code[at])), 1),
            "high",
            None if output.train is None else _balanced_accuracy(output.train),
        )
    )
    if output.judge.name == RANKED.name:
        figures.insert(1, _distance(output))
    charts: list[dict[str, Any]] = [_class_table(output, counts)]
    if n <= MATRIX_CLASSES:
        charts.append({"kind": "matrix", "title": "Confusion matrix", "labels": names, "counts": counts})
    charts.append(_calibration_chart(output, np.argsort(-rows.shares, kind="stable")[:CURVE_CLASSES].tolist()))
    guess = rows.proba.argmax(axis=1)
    own, right = rows.proba[np.arange(len(guess)), guess], guess == rows.code
    sure = {"right": own[right], "wrong": own[~right]}
    charts.append(histogram("How sure the model is", "probability of the predicted class", sure))
    return {"metrics": measured(figures, len(guess)), "charts": charts}


def _class_table(output: Output, counts: FloatArray) -> dict[str, Any]:
    n, rows, hits, guesses = len(output.labels), counts.sum(axis=1), counts.diagonal(), counts.sum(axis=0)
    recall = np.divide(hits, rows, out=np.full(n, np.nan), where=rows > 0)
    precision = np.divide(hits, guesses, out=np.full(n, np.nan), where=guesses > 0)
    f1 = 2 * hits / np.maximum(rows + guesses, 1e-300)
    area = [_area_against_rest(output.rows, k) for k in range(n)]
    off = [calibration_of(output.rows, k) for k in range(n)]
    mean = output.rows.proba.T @ output.rows.weight / output.rows.weight.sum()
    return {
        "kind": "table",
        "title": "Each class",
        "note": "calibration error: root mean square of probability less share over ten bins, beyond chance",
        "columns": [
            "class",
            "rows",
            "precision",
            "recall",
            "F1",
            "AUC against the rest",
            "mean probability",
            "share",
            "calibration error",
        ],
        "rows": [
            [
                output.labels[k],
                rows[k],
                precision[k],
                recall[k],
                f1[k],
                area[k],
                mean[k],
                output.rows.shares[k],
                off[k].error if off[k].is_certain(n) else 0,
            ]
            for k in range(n)
        ],
    }


def _area_against_rest(rows: Judged, k: int) -> float | None:
    from sklearn.metrics import roc_auc_score

    is_class = rows.code == k
    if not 0 < is_class.sum() < len(is_class):
        return None
    return float(roc_auc_score(is_class, rows.proba[:, k], sample_weight=rows.weight))
