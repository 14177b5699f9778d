"""Metrics by name: what ``scoring`` follows in early stopping and cross-validation, and what the command reports.

::

    task         what a model answers            metrics
    binary       probabilities (rows, 2)         accuracy  balanced_accuracy  log_loss  roc_auc  average_precision
    multiclass   probabilities (rows, classes)   accuracy  balanced_accuracy  log_loss
    regression   numbers                         rmse  mae  r2
    ranking      scores within queries           ndcg  map  mrr, each also of the first places: ndcg@10
    survival     risks                           concordance  concordance_ipcw  cumulative_auc
    uplift       effects                         qini  auuc

Where scikit-learn has a scorer of the same name, the values are the same; it takes seconds to import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.queries import Metric as RankingMetric
from arboretum.data.queries import MetricName, Queries
from arboretum.metrics.survival import concordance_of_bounds, mean_auc_of_bounds, weighted_concordance_of_bounds
from arboretum.metrics.uplift import auuc_score, qini_score

FloatArray: TypeAlias = NDArray[np.float64]

CLASSES = ("binary", "multiclass")
BINARY, NUMBERS, RANKING, SURVIVAL, UPLIFT = (
    (task,) for task in ("binary", "regression", "ranking", "survival", "uplift")
)
LEAST_PROBABILITY = 1e-15  # of a class that a model thinks impossible


@dataclass(frozen=True, eq=False)
class Answered:
    """Rows with their truth, and what a model answers.

    Parameters
    ----------
    y : ndarray
        Codes of classes (−1: one that the model does not know), numbers, grades, bounds of times, outcomes; of several
        outputs (rows, outputs), NaN where the truth is unknown.
    answer : ndarray, or list of them
        Probabilities (rows, classes), of several outputs a list; or predictions.
    weight : ndarray, optional
        Weight of each row.
    queries : Queries, optional
        Of a ranking, whose rows are sorted by query.
    treated : ndarray of bool, optional
        Of an uplift.
    """

    y: NDArray[Any]
    answer: Any
    weight: FloatArray | None = None
    queries: Queries | None = None
    treated: NDArray[Any] | None = None

    def outputs(self) -> Iterator[Answered]:
        """Yield the rows of each output whose truth is known."""
        answers = self.answer if isinstance(self.answer, list) else self.answer.T
        for y, answer in zip(self.y.T, answers, strict=True):
            known = ~np.isnan(y)
            if known.any():
                yield Answered(y[known], answer[known], None if self.weight is None else self.weight[known])


@dataclass(frozen=True)
class Metric:
    """A way to score answers, and which way it improves.

    Examples
    --------
    >>> find_metric("mae", "regression").value(Answered(np.array([1.0, 3.0]), np.array([2.0, 3.0])))
    0.5
    """

    name: str
    greater_is_better: bool
    tasks: tuple[str, ...]
    function: Callable[[Answered], float]

    def value(self, rows: Answered) -> float:
        """Score the answers; of several outputs, the mean of their scores."""
        if rows.y.ndim == 2 and self.tasks != SURVIVAL:
            return float(np.mean([self.function(output) for output in rows.outputs()]))
        if np.ndim(rows.answer) == 2 and self.tasks == NUMBERS:
            raise ValueError(
                f"scoring={self.name!r} reads one prediction per row, but the model gives {rows.answer.shape[1]}: use "
                "scoring='loss', or a function of (model, X, y)"
            )
        return self.function(rows)


# ---- classes ---------------------------------------------------------------------------------------------------------


def accuracy(rows: Answered) -> float:
    """Share of rows whose most probable class is theirs."""
    return float(np.average(_is_right(rows), weights=rows.weight))


def balanced_accuracy(rows: Answered) -> float:
    """Mean over the classes of the share of their rows that is right."""
    right, weight = _is_right(rows), np.ones(len(rows.y)) if rows.weight is None else rows.weight
    classes = [rows.y == code for code in np.unique(rows.y)]
    return float(np.mean([np.average(right[own], weights=weight[own]) for own in classes]))


def log_loss(rows: Answered) -> float:
    """Mean of −log of the probability of each row's class."""
    codes = rows.y.astype(np.intp)
    chance = np.where(codes >= 0, rows.answer[np.arange(len(codes)), codes], 0.0)
    return float(np.average(-np.log(np.clip(chance, LEAST_PROBABILITY, 1.0)), weights=rows.weight))


def _is_right(rows: Answered) -> NDArray[np.bool_]:
    return np.asarray(rows.answer.argmax(axis=1) == rows.y)


def roc_auc(rows: Answered) -> float:
    """Probability that a row of the second class has a higher score than one of the first; ties count half.

    NaN if all rows have the same class.
    """
    true, false = _steps(rows)
    if not true[-1] or not false[-1]:
        return float("nan")
    below = true - np.diff(true, prepend=0.0) / 2  # middle of each step of the curve of true against false
    return float((below * np.diff(false, prepend=0.0)).sum() / (true[-1] * false[-1]))


def average_precision(rows: Answered) -> float:
    """Mean over the rows of the second class of the share of such rows among those of the same score or higher.

    NaN if all rows have the same class.
    """
    true, false = _steps(rows)
    if not true[-1] or not false[-1]:
        return float("nan")
    share = np.divide(true, true + false, out=np.zeros_like(true), where=true + false > 0)
    return float((np.diff(true, prepend=0.0) * share).sum() / true[-1])


def _steps(rows: Answered) -> tuple[FloatArray, FloatArray]:
    """Weight of the second and of the first class down to each score, falling; rows of equal score are one step."""
    positive = rows.y == 1
    score = rows.answer[:, 1] if rows.answer.ndim == 2 else rows.answer
    order = np.argsort(-score, kind="stable")
    mass = np.ones(len(score)) if rows.weight is None else rows.weight[order]
    falling = score[order]
    last = np.append(falling[1:] != falling[:-1], True)
    true = np.cumsum(np.where(positive[order], mass, 0.0))[last]
    false = np.cumsum(np.where(positive[order], 0.0, mass))[last]
    return true, false


# ---- numbers ---------------------------------------------------------------------------------------------------------


def rmse(rows: Answered) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(np.average((rows.y - rows.answer) ** 2, weights=rows.weight)))


def mae(rows: Answered) -> float:
    """Mean absolute error."""
    return float(np.average(np.abs(rows.y - rows.answer), weights=rows.weight))


def r2(rows: Answered) -> float:
    """1 − mean squared error / variance of the truth; NaN if all rows have the same."""
    variance = np.average((rows.y - np.average(rows.y, weights=rows.weight)) ** 2, weights=rows.weight)
    square = np.average((rows.y - rows.answer) ** 2, weights=rows.weight)
    return float(1 - square / variance) if variance else float("nan")


# ---- orders ----------------------------------------------------------------------------------------------------------


def of_queries(metric: RankingMetric, k: int | None, rows: Answered) -> float:
    """Mean of a ranking metric over the queries."""
    queries = rows.queries or Queries.single(len(rows.y))
    return queries.mean_metric(metric, rows.y, rows.answer, k, rows.weight)


def concordance(rows: Answered) -> float:
    """Share of comparable pairs of rows in which the one of higher risk has its event first."""
    return concordance_of_bounds(rows.y, rows.answer, rows.weight)


def concordance_ipcw(rows: Answered) -> float:
    """Share of comparable pairs in the right order, weighted by the inverse probability of not being censored."""
    return weighted_concordance_of_bounds(rows.y, rows.answer, rows.weight)


def cumulative_auc(rows: Answered) -> float:
    """Mean over time of the area under the ROC curve of rows with an event against rows at risk."""
    return mean_auc_of_bounds(rows.y, rows.answer, rows.weight)


def qini(rows: Answered) -> float:
    """Qini coefficient of the order of effects."""
    assert rows.treated is not None
    return qini_score(rows.y, rows.answer, rows.treated, sample_weight=rows.weight)


def auuc(rows: Answered) -> float:
    """Area under the uplift curve; if outcomes are 0 and 1, as a share of that of the best order."""
    assert rows.treated is not None
    normalise = bool(np.isin(rows.y, (0.0, 1.0)).all())
    return auuc_score(rows.y, rows.answer, rows.treated, normalise=normalise, sample_weight=rows.weight)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", True, CLASSES, accuracy),
        Metric("balanced_accuracy", True, CLASSES, balanced_accuracy),
        Metric("log_loss", False, CLASSES, log_loss),
        Metric("roc_auc", True, BINARY, roc_auc),
        Metric("average_precision", True, BINARY, average_precision),
        Metric("rmse", False, NUMBERS, rmse),
        Metric("mae", False, NUMBERS, mae),
        Metric("r2", True, NUMBERS, r2),
        Metric("ndcg", True, RANKING, partial(of_queries, "ndcg", None)),
        Metric("map", True, RANKING, partial(of_queries, "map", None)),
        Metric("mrr", True, RANKING, partial(of_queries, "mrr", None)),
        Metric("concordance", True, SURVIVAL, concordance),
        Metric("concordance_ipcw", True, SURVIVAL, concordance_ipcw),
        Metric("cumulative_auc", True, SURVIVAL, cumulative_auc),
        Metric("qini", True, UPLIFT, qini),
        Metric("auuc", True, UPLIFT, auuc),
    )
}


def find_metric(name: str, task: str) -> Metric | None:
    """Return the metric of a name; None if there is none, an error if it is one of another task.

    Parameters
    ----------
    name : str
        Such as "rmse", "ndcg@5".
    task : str
        "binary", "multiclass", "regression", "ranking", "survival" or "uplift".

    Examples
    --------
    >>> find_metric("ndcg@5", "ranking").name, find_metric("f1", "binary")
    ('ndcg@5', None)
    """
    of_places = MetricName.read(name)
    metric = METRICS.get(name if of_places is None else of_places.metric)
    if metric is None:
        return None
    if task not in metric.tasks:
        fitting = ", ".join(named_metrics(task))
        raise ValueError(f"scoring={name!r} is a metric of {' and '.join(metric.tasks)}, not of {task}: use {fitting}")
    if of_places is None or of_places.k is None:
        return metric
    return replace(metric, name=name, function=partial(of_queries, *of_places))


def named_metrics(task: str) -> list[str]:
    """Return the names of a task's metrics.

    Examples
    --------
    >>> named_metrics("regression")
    ['rmse', 'mae', 'r2']
    """
    return [name for name, metric in METRICS.items() if task in metric.tasks]
