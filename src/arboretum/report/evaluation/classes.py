"""Evaluation of classifiers: binary and multiclass, one output or several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arboretum.data import targets
from arboretum.explaining.reading import class_lists
from arboretum.metrics.own_loss import BRIER, LOG_LOSS, RANKED, mean_distance, own_loss
from arboretum.report.calibration import calibration_of
from arboretum.report.evaluation.charts import UNIT_SQUARE, curves, diagonal, histogram, roc_chart, series
from arboretum.report.evaluation.figures import Figure, measured, of_two_sides
from arboretum.report.evaluation.judged import Judged, Output
from arboretum.report.subject import FloatArray, Rows, Subject

THRESHOLDS = np.linspace(0, 1, 201)
MATRIX_CLASSES = 25  # more are told by the table alone
CURVE_CLASSES = 6  # whose calibration is drawn


def judged(subject: Subject) -> list[Judged]:
    """Return the rows of the report, output by output."""
    return _judge(subject.model, subject.test, subject.told)


def _judge(model: Any, rows: Rows, proba: Any, of: str = "") -> list[Judged]:
    assert rows.y is not None
    probas = proba if isinstance(proba, list) else [proba]
    return [
        Judged(targets.encode_classes(column, labels, f"y{of}").astype(np.intp), part, rows.weights)
        for column, labels, part in zip(rows.y.T, class_lists(model), probas, strict=True)
    ]


def outputs(subject: Subject) -> list[Output]:
    """Return every output of a classifier with its judge."""
    tests = judged(subject)
    trains: list[Any] = [None] * len(tests)
    if subject.train is not None:
        trains = _judge(subject.model, subject.train, subject.told_of_training, "_train")
    found = []
    for number, (rows, train, labels) in enumerate(zip(tests, trains, class_lists(subject.model), strict=True)):
        judge = own_loss(subject.model, rows.truth, rows.told, rows.weight)
        name = f"output {number}" if len(tests) > 1 else ""
        found.append(Output(name, rows, train, judge, [str(label) for label in labels.tolist()], subject.positive))
    return found


def shares(rows: Judged) -> FloatArray:
    """Return the share of each class."""
    counts = np.bincount(rows.truth, rows.weight, minlength=rows.told.shape[1])
    return np.asarray(counts / counts.sum())


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate each output of a classifier."""
    return [
        {"name": output.name, **(_binary(output) if len(output.labels) == 2 else _multiclass(output))}
        for output in outputs(subject)
    ]


# ---- figures ---------------------------------------------------------------------------------------------------------


def _figures(output: Output) -> list[Figure]:
    """Return what two classes and many share, the own loss first."""
    usual = shares(output.learned)
    others = [loss for loss in (LOG_LOSS, BRIER) if loss.name != output.judge.name]

    def accuracy(part: Judged, guess: Any = None) -> float:
        guess = part.told.argmax(axis=1) if guess is None else guess
        return float(np.average(part.truth == guess, weights=part.weight))

    def of_most_frequent(part: Judged) -> float:
        return accuracy(part, int(usual.argmax()))

    about = "share of rows whose most probable class is right"
    return [
        output.loss_figure(output.judge, usual),
        output.figure("accuracy", about, accuracy, of_most_frequent, "high"),
        *(output.loss_figure(loss, usual) for loss in others),
    ]


def _distance(output: Output) -> Figure:
    usual = shares(output.learned)

    def of_model(part: Judged) -> float:
        return mean_distance(part.truth, part.told, part.weight)

    def of_baseline(part: Judged) -> float:
        return mean_distance(part.truth, np.broadcast_to(usual, part.told.shape), part.weight)

    about = "mean number of places between the class and the middle of its prediction"
    return output.figure("mean distance", about, of_model, of_baseline)


# ---- two classes -----------------------------------------------------------------------------------------------------


def _binary(output: Output) -> dict[str, Any]:
    rows, place = output.rows, output.positive
    names = [output.labels[1 - place], output.labels[place]]
    score, weight, positive = rows.told[:, place], rows.weight, rows.truth == place
    figures, charts = _figures(output), []
    if 0 < positive.sum() < len(positive):
        figures = [figures[0], *_ranking_figures(output), *figures[1:]]
        charts += [roc_chart(positive, score, weight), _precision_chart(positive, score, weight, shares(rows)[place])]
    sides = {names[0]: ~positive, names[1]: positive}
    scores, weights = ({name: values[side] for name, side in sides.items()} for values in (score, weight))
    charts += [
        _calibration_chart(output, [place]),
        histogram("Scores by class", f"probability of {names[1]}", scores, weight=weights),
        _threshold(positive, score, weight, names),
    ]
    return {"metrics": measured(figures, len(score)), "charts": charts}


def _ranking_figures(output: Output) -> list[Figure]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    def measure(metric: Any) -> Callable[[Judged], float | None]:
        return lambda part: of_two_sides(metric, part.truth == place, part.told[:, place], part.weight)

    def share(part: Judged) -> float:
        return float(shares(part)[place])

    place, label = output.positive, output.labels[output.positive]
    higher = f"chance that a row of {label} has the higher probability of it than one of the other class"
    averaged = f"precision averaged over recall, of {label}"
    return [
        output.figure("ROC AUC", higher, measure(roc_auc_score), lambda part: 0.5, "high"),
        output.figure("average precision", averaged, measure(average_precision_score), share, "high"),
    ]


def _precision_chart(positive: Any, score: FloatArray, weight: FloatArray, base: float) -> dict[str, Any]:
    from sklearn.metrics import precision_recall_curve

    precision, recall, _ = precision_recall_curve(positive, score, sample_weight=weight)
    lines = [series("model", recall, precision, steps=True), series("chance", [0, 1], [base, base], "baseline")]
    return curves("Precision and recall", "recall", "precision", lines, **UNIT_SQUARE)


def _calibration_chart(output: Output, drawn: list[int]) -> dict[str, Any]:
    """Mean probability and share of some classes, in bins of equal numbers of rows."""
    found = [calibration_of(output.rows, k) for k in drawn]
    lines = [
        series(output.labels[k] if len(drawn) > 1 else "model", one.told, one.seen)
        for k, one in zip(drawn, found, strict=True)
    ]
    lines.append(diagonal("perfect"))
    certain = [one for one in found if one.is_certain(len(found))]
    note = "bins of equal numbers of rows; " + (
        f"off by up to {max(one.error for one in certain):.3f} beyond chance"
        if certain
        else "no more off than chance explains"
    )
    return curves("Calibration", "predicted probability", "observed share", lines, note, **UNIT_SQUARE, dots=True)


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


def confusion(rows: Judged) -> FloatArray:
    """Return the weight of the rows of each true and predicted class."""
    n = rows.told.shape[1]
    place = rows.truth * n + rows.told.argmax(axis=1)
    return np.asarray(np.bincount(place, rows.weight, minlength=n * n).reshape(n, n))


def _balanced_accuracy(rows: Judged) -> float:
    counts = confusion(rows)
    total = counts.sum(axis=1)
    return float((counts.diagonal()[total > 0] / total[total > 0]).mean())


def _multiclass(output: Output) -> dict[str, Any]:
    rows, figures, counts = output.rows, _figures(output), confusion(output.rows)

    def by_chance(part: Judged) -> float:
        return 1 / max(len(np.unique(part.truth)), 1)

    about = "recall, averaged over the classes"
    figures.append(output.figure("balanced accuracy", about, _balanced_accuracy, by_chance, "high"))
    if output.judge.name == RANKED.name:
        figures.insert(1, _distance(output))
    charts: list[dict[str, Any]] = [_class_table(output, counts)]
    if len(output.labels) <= MATRIX_CLASSES:
        charts.append({"kind": "matrix", "title": "Confusion matrix", "labels": output.labels, "counts": counts})
    charts.append(_calibration_chart(output, np.argsort(-shares(rows), kind="stable")[:CURVE_CLASSES].tolist()))
    guess = rows.told.argmax(axis=1)
    own, right = rows.told[np.arange(len(guess)), guess], guess == rows.truth
    sure = {"right": own[right], "wrong": own[~right]}
    charts.append(histogram("How sure the model is", "probability of the predicted class", sure))
    return {"metrics": measured(figures, len(guess)), "charts": charts}


def _class_table(output: Output, counts: FloatArray) -> dict[str, Any]:
    from sklearn.metrics import roc_auc_score

    judged, n = output.rows, len(output.labels)
    rows, hits, guesses = counts.sum(axis=1), counts.diagonal(), counts.sum(axis=0)
    off = [calibration_of(judged, k) for k in range(n)]
    table = {
        "class": output.labels,
        "rows": rows,
        "precision": np.divide(hits, guesses, out=np.full(n, np.nan), where=guesses > 0),
        "recall": np.divide(hits, rows, out=np.full(n, np.nan), where=rows > 0),
        "F1": 2 * hits / np.maximum(rows + guesses, 1e-300),
        "AUC against the rest": [
            of_two_sides(roc_auc_score, judged.truth == k, judged.told[:, k], judged.weight) for k in range(n)
        ],
        "mean probability": judged.told.T @ judged.weight / judged.weight.sum(),
        "share": shares(judged),
        "calibration error": [one.error if one.is_certain(n) else 0 for one in off],
    }
    return {
        "kind": "table",
        "title": "Each class",
        "note": "calibration error: root mean square of probability less share over ten bins, beyond chance",
        "columns": list(table),
        "rows": [list(row) for row in zip(*table.values(), strict=True)],
    }
