"""The loss of a model while it grew: after each round, with each tree, or at each depth.

One pass over the stages serves the training curve and the finding that a model is overfitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.ensembles.bagging.estimators import first_members
from arboretum.estimators.bagging import BaggingModel
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.held_out import HeldOutModel
from arboretum.estimators.standing_in import with_members
from arboretum.explaining.reading import class_lists
from arboretum.explaining.stages import by_depth, by_rounds, evenly
from arboretum.metrics import concordance_index, ndcg_score
from arboretum.metrics.own_loss import OwnLoss, own_loss
from arboretum.report.chance import FloatArray
from arboretum.report.evaluation.anomalies import known_anomalies
from arboretum.report.facts import LeftOut
from arboretum.report.subject import Rows, Subject, answers, draw_rows
from arboretum.tasks import Task

ROWS = 2_000  # that stages are predicted for
MOST_ROUNDS, MOST_DEPTHS, MOST_MEMBERS = 60, 16, 10


@dataclass(frozen=True, eq=False)
class Stages:
    """Losses at rising stages: ``at`` counts rounds, trees or depths.

    ``test`` and ``train`` are (stages, rows) where each row has a loss, else (stages, 1). ``root`` says that people
    know the root of their mean.
    """

    axis: str
    figure: str
    at: NDArray[np.intp]
    test: FloatArray
    train: FloatArray | None
    rows: int
    constant: float = np.nan  # mean loss of the best answer that is the same for all rows
    root: bool = False
    higher_is_better: bool = False

    @property
    def has_rows(self) -> bool:
        """Whether each row has a loss of its own."""
        return bool(self.test.shape[1] > 1)

    def means(self, losses: FloatArray) -> FloatArray:
        """Mean of each stage."""
        mean = losses.mean(axis=1)
        return np.asarray(np.sqrt(mean) if self.root else mean)


def by_round(subject: Subject) -> Stages:
    """Follow a model by its rounds, trees or members."""
    follows = hasattr(subject.model, "n_iter_") or hasattr(subject.model, "estimator_weights_")
    model = subject.model.estimator_ if isinstance(subject.model, HeldOutModel) else subject.model
    return _follow(subject, model, "members" if isinstance(model, BaggingModel) else "rounds" if follows else "trees")


def by_depths(subject: Subject) -> Stages:
    """Follow trees that were grown independently of each other by their depth."""
    return _follow(subject, subject.model, "depth")


def _follow(subject: Subject, model: Any, axis: str) -> Stages:
    if not isinstance(model, GrownTrees | BaggingModel) and not hasattr(model, "staged_predict"):
        raise LeftOut(f"{type(model).__name__} does not tell how it came about step by step.")
    if subject.test.y is None:
        raise LeftOut("Without targets, rows have no loss that could fall with the number of trees.")
    if subject.test.y.shape[1] > 1 and subject.task.role != "event":
        raise LeftOut("Losses by stage are drawn for one output alone.")
    try:
        found = [(rows, list(_losses(subject.task, model, rows, axis))) for rows in _rows(subject)]
    except (NotImplementedError, TypeError, ValueError) as error:
        raise LeftOut(f"No loss by stage: {error}.") from error
    (rows, test), train = found[0], found[1][1] if len(found) > 1 else None
    if not test:
        raise LeftOut("The model has no stages.")
    judges = _judges(subject.task, model, rows)
    return Stages(
        axis,
        _figure_name(subject.task, judges),
        np.array([number for number, _ in test], np.intp),
        np.stack([losses for _, losses in test]),
        None if train is None else np.stack([losses for _, losses in train]),
        rows.n_rows,
        _constant(subject, model, judges, rows),
        bool(judges) and judges[0].root,
        not judges,
    )


def _figure_name(task: Task, judges: list[OwnLoss]) -> str:
    if not judges:
        return str(task.figure)
    return judges[0].name if len(judges) == 1 else "sum of pinball losses"


def _constant(subject: Subject, model: Any, judges: list[OwnLoss], rows: Rows) -> float:
    """Return the mean loss of the best constants for the training rows, or for these."""
    if not judges:
        return float("nan")
    learned = _truth(subject.task, model, rows if subject.train is None else subject.train)
    truth = _truth(subject.task, model, rows)
    constants = [(judge, judge.repeated(judge.constant(learned, None), len(truth))) for judge in judges]
    return float(sum(judge.values(truth, told).mean() for judge, told in constants))


def _rows(subject: Subject) -> Iterator[Rows]:
    for rows in (subject.test, subject.train):
        if rows is not None and rows.y is not None:
            yield rows.take(draw_rows(rows, ROWS))


def _judges(task: Task, model: Any, rows: Rows) -> list[OwnLoss]:
    """Return the own loss of a model, or of each of its quantiles; nothing where rows have no loss of their own."""
    if not task.has_row_losses:
        return []
    truth, told = _truth(task, model, rows), answers(model, rows)
    if task.has_numbers and told.ndim > 1:
        return [own_loss(model, truth, part, output=k) for k, part in enumerate(told.T)]
    return [own_loss(model, truth, told)]


def _truth(task: Task, model: Any, rows: Rows) -> FloatArray:
    assert rows.y is not None
    if task.has_numbers:
        return targets.regression_target(rows.y[:, 0])
    return targets.encode_classes(rows.y[:, 0], class_lists(model)[0], "y")


def _losses(task: Task, model: Any, rows: Rows, axis: str) -> Iterator[tuple[int, FloatArray]]:
    """Yield the number of each stage, and the loss of each row after it."""
    judges = _judges(task, model, rows)
    if not judges:
        yield from ((number, np.array([_figure(task, stage, rows)])) for number, stage in _grown(model, rows.X, axis))
        return
    truth = _truth(task, model, rows)
    for number, told in _stages(task, model, rows, axis):
        parts = told.T if len(judges) > 1 else [told]
        losses = [judge.values(truth, part) for judge, part in zip(judges, parts, strict=True)]
        yield number, np.sum(losses, axis=0)


def _figure(task: Task, stage: Any, rows: Rows) -> float:
    """Score a stage of a model whose rows have no loss of their own."""
    assert rows.y is not None
    if task.role == "treatment":
        return float(stage.score(rows.X, rows.target, rows.treatment))
    told = answers(stage, rows)
    if task.role == "group":
        return ndcg_score(rows.target, told, rows.group)
    if task.role == "event":
        return concordance_index(np.column_stack([rows.y[:, 0], rows.y[:, 0] == rows.y[:, 1]]), told)
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(known_anomalies(rows), told))


def _grown(model: Any, X: Any, axis: str) -> Iterator[tuple[int, Any]]:
    return by_depth(model, X, most=MOST_DEPTHS) if axis == "depth" else by_rounds(model, X, most=MOST_ROUNDS)


def _stages(task: Task, model: Any, rows: Rows, axis: str) -> Iterator[tuple[int, Any]]:
    """Yield what the model says after each stage."""
    if isinstance(model, BaggingModel):
        yield from _by_members(model, rows)
    elif isinstance(model, GrownTrees) and not hasattr(model, "estimator_weights_"):
        yield from ((number, answers(stage, rows)) for number, stage in _grown(model, rows.X, axis))
    else:
        name = "staged_predict_proba" if task.has_classes else "staged_predict"
        whole = list(getattr(model, name)(rows.X))
        yield from ((number, whole[number - 1]) for number in evenly(len(whole), MOST_ROUNDS).tolist())


def _by_members(model: BaggingModel, rows: Rows) -> Iterator[tuple[int, Any]]:
    """Ask bags of the first members."""
    for number in evenly(len(model), MOST_MEMBERS).tolist():
        yield number, answers(with_members(model, first_members(model.learned(), number)), rows)
