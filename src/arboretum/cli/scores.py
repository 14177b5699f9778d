"""How good a model's answers are, and those of a baseline that knows the target of the training rows only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.cli.columns import Examples

FloatArray = NDArray[np.float64]

# Metrics of each task, the one that decides first; True: higher is better.
METRICS: dict[str, dict[str, bool]] = {
    "binary": {"roc auc": True, "log loss": False, "accuracy": True, "average precision": True},
    "multiclass": {"log loss": False, "accuracy": True, "balanced accuracy": True},
    "regression": {"rmse": False, "mae": False, "r2": True},
    "ranking": {"ndcg@10": True, "map": True},
    "survival": {"concordance": True},
    "uplift": {"qini": True},
    "anomaly": {"roc auc": True, "average precision": True},
}
LEAST = 1e-15  # probability of a class that a model thinks impossible


@dataclass(frozen=True)
class Answers:
    """Predictions: probabilities (rows, classes) of classes, or one number a row."""

    values: FloatArray
    classes: NDArray[Any] | None = None


def ask(model: Any, X: Any, task: str) -> Answers:
    """Predict in the form that the metrics of a task want."""
    if task in ("binary", "multiclass"):
        return Answers(np.asarray(model.predict_proba(X)), np.asarray(model.classes_))
    if task == "anomaly":
        return Answers(-np.asarray(model.score_samples(X)))
    return Answers(np.asarray(model.predict(X)))


def baseline(learnt: Examples, judged: Examples, task: str) -> Answers:
    """Answer every row alike: the share of each class, the mean, or nothing at all."""
    weight = learnt.weight
    if task in ("binary", "multiclass"):
        classes, share = _shares(_known(learnt.y), weight)
        return Answers(np.tile(share / share.sum(), (len(judged), 1)), classes)
    constant = np.average(learnt.y, weights=weight) if task == "regression" and learnt.y is not None else 0.0
    return Answers(np.full(len(judged), constant))


def _shares(y: NDArray[Any], weight: FloatArray | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the classes, and the rows or the weight of each."""
    if weight is None:
        return np.unique(y, return_counts=True)  # without the place of each row, which takes eight times the memory
    classes, codes = np.unique(y, return_inverse=True)
    return classes, np.bincount(codes, weight, len(classes))


def score(answers: Answers, judged: Examples, task: str) -> dict[str, float]:
    """Return the metrics of a task, by name; none without a target.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = Examples(pa.table({"a": [1, 2]}), np.array([3.0, 5.0]))
    >>> score(Answers(np.array([3.0, 4.0])), rows, "regression")
    {'rmse': 0.7071067811865476, 'mae': 0.5, 'r2': 0.5}
    """
    if judged.y is None:
        return {}
    if task in ("binary", "multiclass"):
        return _of_classes(answers, judged, task)
    if task == "regression":
        return _of_numbers(answers.values, judged.y.astype(np.float64), judged.weight)
    return _of_orders(answers.values, judged, task)


def _of_classes(answers: Answers, judged: Examples, task: str) -> dict[str, float]:
    assert answers.classes is not None
    weight, classes, y = judged.weight, answers.classes, judged.y
    known = np.isin(_known(y), classes)  # a class that only judged rows have was never thought possible
    place = np.searchsorted(classes, np.where(known, y, classes[0]))
    chance = np.where(known, answers.values[np.arange(len(place)), place], 0.0)
    right = classes[answers.values.argmax(axis=1)] == y
    found = {
        "log loss": float(np.average(-np.log(np.clip(chance, LEAST, 1.0)), weights=weight)),
        "accuracy": float(np.average(right, weights=weight)),
    }
    if task == "binary":
        found |= _of_separation(answers.values[:, 1], y == classes[1], weight)
    else:
        of_each = [np.average(right[y == label], weights=_of(weight, y == label)) for label in np.unique(_known(y))]
        found["balanced accuracy"] = float(np.mean(of_each))
    return {name: found[name] for name in METRICS[task] if name in found}


def _known(y: NDArray[Any] | None) -> NDArray[Any]:
    assert y is not None
    return y


def _of(weight: FloatArray | None, rows: Any) -> FloatArray | None:
    return None if weight is None else weight[rows]


def _of_separation(values: FloatArray, positive: Any, weight: FloatArray | None) -> dict[str, float]:
    """Return how well values separate two classes; nothing if there is one only.

    Rows of equal value are one step of both curves. scikit-learn has the same numbers, but takes two seconds to import.
    """
    order = np.argsort(-values, kind="stable")
    mass = np.ones(len(values)) if weight is None else weight[order]
    falling = values[order]
    last = np.append(falling[1:] != falling[:-1], True)
    true = np.cumsum(np.where(positive[order], mass, 0.0))[last]
    false = np.cumsum(np.where(positive[order], 0.0, mass))[last]
    if not true[-1] or not false[-1]:
        return {}
    found = np.diff(true, prepend=0.0)
    below = true - found / 2  # middle of each step of the curve of true against false
    share = np.divide(true, true + false, out=np.zeros_like(true), where=true + false > 0)
    return {
        "roc auc": float(below @ np.diff(false, prepend=0.0) / (true[-1] * false[-1])),
        "average precision": float(found @ share / true[-1]),
    }


def _of_numbers(values: FloatArray, y: FloatArray, weight: FloatArray | None) -> dict[str, float]:
    error = y - values
    square = float(np.average(error**2, weights=weight))
    variance = float(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
    r2 = 1 - square / variance if variance else float("nan")
    return {"rmse": square**0.5, "mae": float(np.average(np.abs(error), weights=weight)), "r2": r2}


def _of_orders(values: FloatArray, judged: Examples, task: str) -> dict[str, float]:
    from arboretum import metrics

    y, weight = judged.y, judged.weight
    if task == "ranking":
        return {
            "ndcg@10": metrics.ndcg_score(y, values, judged.group, sample_weight=weight),
            "map": metrics.map_score(y, values, judged.group, sample_weight=weight),
        }
    if task == "survival":
        return {"concordance": metrics.concordance_index(judged.target, values, sample_weight=weight)}
    if task == "anomaly":
        labels, counts = np.unique(_known(y), return_counts=True)
        return _of_separation(values, y == labels[counts.argmin()], weight)
    return {"qini": 0.0}  # of an uplift that is the same for all rows


def judge(model: Any, judged: Examples, task: str) -> dict[str, float]:
    """Return the metrics of a fitted model on some rows."""
    if task == "uplift":  # each treatment against the control: the model knows which label is which
        return {"qini": model.score(judged.X, judged.y, judged.treatment, sample_weight=judged.weight)}
    return score(ask(model, judged.X, task), judged, task)
