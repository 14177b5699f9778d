"""How good the answers of a model are, beside those of a baseline that knows only the target of the training rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arboretum.cli.columns import Examples
from arboretum.cli.tasks import place_of_class
from arboretum.data.queries import MetricName
from arboretum.data.targets import unique_labels
from arboretum.losses.ranking import RankingLoss
from arboretum.metrics.named import Answered, find_metric
from arboretum.tasks import BINARY, Task

FloatArray = NDArray[np.float64]

OF_SEPARATION = ("roc auc", "average precision")  # undefined for rows of a single class
USUAL = {"RMSE": "rmse", "MAE": "mae", "log loss": "log loss"}  # losses of models that are also metrics of a task
BELOW = "rows below"  # share of rows at or below a quantile


class Answers(NamedTuple):
    """Predictions: probabilities (rows, classes) of classes, or one number per row."""

    values: FloatArray
    classes: NDArray[Any] | None = None


def ask(model: Any, rows: Examples, task: Task) -> Answers:
    """Predict in the form that the metrics of a task want."""
    values = np.asarray(task.answers(model, rows.X, **rows.predict_arguments))
    return Answers(values, np.asarray(model.classes_) if task.has_classes else None)


def baseline(learnt: Examples, judged: Examples, task: Task) -> Answers:
    """Answer every row alike: the share of each class, the mean, or 0 for another task."""
    y, weight = learnt.y, learnt.weight
    if y is None or not task.has_classes:
        constant = np.average(y, weights=weight) if task.has_numbers and y is not None else 0.0
        return Answers(np.full(len(judged), constant))
    if weight is None and y.dtype != object:  # without the place of each row, which takes eight times the memory
        classes, share = np.unique(y, return_counts=True)
    else:
        classes, codes = unique_labels(y)
        share = np.bincount(codes, weight, len(classes))
    return Answers(np.tile(share / share.sum(), (len(judged), 1)), classes)


def score(answers: Answers, judged: Examples, task: Task) -> dict[str, float]:
    """Return the metrics of a task, by name; none without a target.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from arboretum.tasks import REGRESSION
    >>> rows = Examples(pa.table({"a": [1, 2]}), np.array([3.0, 5.0]))
    >>> score(Answers(np.array([3.0, 4.0])), rows, REGRESSION)
    {'rmse': 0.7071067811865476, 'mae': 0.5, 'r2': 0.5}
    """
    if judged.y is None:
        return {}
    if task.role == "treatment":
        return {"qini": 0.0}  # of an uplift that is the same for all rows
    if task.orders_rows:
        return _of_orders(answers.values, judged, task)
    rows, found = _answered(answers, judged, task), {}
    for name in task.metrics:
        metric = find_metric(name.replace(" ", "_"), task.scored_as or task.name)
        assert metric is not None
        value = metric.value(rows)
        if name not in OF_SEPARATION or not np.isnan(value):
            found[name] = value
    return found


def _answered(answers: Answers, judged: Examples, task: Task) -> Answered:
    """Return truth and answers as metrics read them."""
    assert judged.y is not None
    if task.has_classes:
        assert answers.classes is not None
        known = np.isin(judged.y, answers.classes)  # a class that only judged rows have was never thought possible
        place = np.searchsorted(answers.classes, np.where(known, judged.y, answers.classes[0]))
        if _first_is_positive(answers.classes, judged):  # metrics of two classes take the second for the positive one
            return Answered(np.where(known, 1 - place, -1), answers.values[:, ::-1], judged.weight)
        return Answered(np.where(known, place, -1), answers.values, judged.weight)
    if not task.needs_target:
        labels, counts = np.unique(judged.y, return_counts=True)
        return Answered((judged.y == labels[counts.argmin()]).astype(np.intp), answers.values, judged.weight)
    return Answered(judged.y.astype(np.float64), answers.values, judged.weight)


def _first_is_positive(classes: NDArray[Any], judged: Examples) -> bool:
    return judged.positive is not None and len(classes) == 2 and place_of_class(classes, judged.positive) == 0


def _of_followed(model: Any, answers: Answers, judged: Examples) -> dict[str, float]:
    """Return the metric that a boosted ranking was fitted by."""
    loss = getattr(model, "loss_", None)
    if not isinstance(loss, RankingLoss):
        return {}
    from arboretum import metrics

    of_queries = {"ndcg": metrics.ndcg_score, "map": metrics.map_score, "mrr": metrics.mrr_score}[loss.followed.metric]
    given = judged.target, answers.values, judged.group
    return {str(loss.followed): of_queries(*given, k=loss.followed.k, sample_weight=judged.weight)}


def _of_orders(values: FloatArray, judged: Examples, task: Task) -> dict[str, float]:
    from arboretum import metrics

    y, weight = judged.target, judged.weight
    if task.role == "event":
        return {"concordance": metrics.concordance_index(y, values, sample_weight=weight)}
    return {
        "ndcg@10": metrics.ndcg_score(y, values, judged.group, sample_weight=weight),
        "map": metrics.map_score(y, values, judged.group, sample_weight=weight),
    }


def judging_bytes(model: Any, task: Task, n_rows: int) -> int:
    """Return the memory that judging holds: targets, answers, and the arrays that metrics make of both."""
    return n_rows * (88 + 8 * (len(model.classes_) if task.has_classes else 0) + (64 if task is BINARY else 0))


def judge(model: Any, learnt: Examples, judged: Examples, task: Task) -> tuple[dict[str, float], dict[str, float]]:
    """Predict some rows, once; return the metrics of the model, and the loss of the best constant answer.

    The loss that the model was trained for comes first. The constant, which is the same for all rows, is learned from
    other rows; there is none where it would be the baseline of the task: the mean, or the shares of the classes.
    """
    if judged.y is None:
        return {}, {}
    if task.role == "treatment":  # each treatment against the control: the model knows which label is which
        return {"qini": model.score(judged.X, judged.y, judged.treatment, sample_weight=judged.weight)}, {}
    answers = ask(model, judged, task)
    own = _own_losses(model, answers, judged, task)
    if not own:
        return _of_followed(model, answers, judged) | score(answers, judged, task), {}
    y, told = _truth(answers, judged), list(answers.values.T) if len(own) > 1 else [answers.values]
    found = {} if _are_quantiles(own) else score(answers, judged, task)
    first = USUAL.get(own[0].name, "")
    found = ({first: found[first]} if first in found else _of_losses(own, y, told, judged.weight)) | found
    if own[0].name in ("RMSE", "log loss"):
        return found, {}
    known = _truth(answers, learnt)
    constants = [loss.repeated(loss.constant(known, learnt.weight), len(y)) for loss in own]
    return found, _of_losses(own, y, constants, judged.weight)


def _of_losses(own: list[Any], y: NDArray[Any], told: list[Any], weight: FloatArray | None) -> dict[str, float]:
    """Return the mean of each loss; of quantiles, the shares of rows below them too.

    Squares of errors say nothing about quantiles: the mean, not a quantile, minimises them.
    """
    pairs = list(zip(own, told, strict=True))
    found = {USUAL.get(loss.name, loss.name): loss.mean(y, part, weight) for loss, part in pairs}
    if _are_quantiles(own):
        below = {loss.name.removeprefix("pinball loss "): np.average(y <= part, weights=weight) for loss, part in pairs}
        found |= {f"{BELOW} {quantile}": float(share) for quantile, share in below.items()}
    return found


def lines(found: Mapping[str, float], base: Mapping[str, float], task: Task) -> list[tuple[str, float, Any, str]]:
    """Return name, figure, that of the baseline, and what is better, of every metric.

    Examples
    --------
    >>> from arboretum.tasks import REGRESSION
    >>> lines({"rows below (0.1)": 0.12, "pinball loss (0.1)": 2.0}, {"pinball loss (0.1)": 3.0}, REGRESSION)
    [('rows below (0.1)', 0.12, None, 'near 0.1'), ('pinball loss (0.1)', 2.0, 3.0, 'lower')]
    """
    return [(name, figure, base.get(name), _better(name, task.metrics)) for name, figure in found.items()]


def _better(name: str, usual: Mapping[str, bool]) -> str:
    if name.startswith(BELOW):
        return f"near {name[len(BELOW) + 2 : -1]}"
    return "higher" if usual.get(name, False) or MetricName.read(name) is not None else "lower"


def _own_losses(model: Any, answers: Answers, judged: Examples, task: Task) -> list[Any]:
    """Return the loss of a model, or of each of its quantiles."""
    if judged.y is None or not task.has_row_losses:
        return []
    from arboretum.metrics.own_loss import own_loss

    values = answers.values
    try:
        y = _truth(answers, judged)
    except ValueError:  # a class that the model does not know
        return []
    if task.has_numbers and values.ndim > 1:
        return [own_loss(model, y, part, judged.weight, k) for k, part in enumerate(values.T)]
    return [own_loss(model, y, values, judged.weight)]


def _truth(answers: Answers, rows: Examples) -> NDArray[Any]:
    """Return numbers, or codes of the classes that the model knows."""
    from arboretum.data.targets import encode_classes

    assert rows.y is not None
    return rows.y.astype(np.float64) if answers.classes is None else encode_classes(rows.y, answers.classes, "y")


def _are_quantiles(own: list[Any]) -> bool:
    return bool(own) and own[0].name.startswith("pinball")
