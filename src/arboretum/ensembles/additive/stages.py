"""Additive modelling of any base learners, stage by stage (Hastie, Tibshirani and Friedman 2009, 10.2–10.3).

F = argmin_c Σ w·L(y, c), or 0
each stage:   r   = −∂L/∂F                                 at every row (Friedman 2001)
              b_j = learner j fitted to r by least squares  for each j of the list, or for the next in turn
              β_j = argmin_β Σ w·L(y, F + β·b_j)            line_search.py
              F  += learning rate · β_j · b_j               of the j whose loss at β_j is least; or all coefficients
                                                            are fitted anew (coefficients.py)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.additive.coefficients import CorrectedSum, StagewiseSum
from arboretum.ensembles.additive.line_search import line_search
from arboretum.ensembles.boosting.gradients import check_gradients
from arboretum.ensembles.boosting.history import History, Judge, Patience
from arboretum.losses import Loss
from arboretum.running.interruption import keeps_part
from arboretum.running.progress import Callback, RoundReport

FloatArray: TypeAlias = NDArray[np.float64]


class Learners(Protocol):
    """A list of base learners and the training rows that they are fitted to."""

    def __len__(self) -> int:
        """Return the number of learners."""
        ...

    def fit(self, learner: int, stage: int, residual: FloatArray) -> list[Any]:
        """Fit one learner to residuals, (rows,) or (rows, outputs): one model for all outputs, or one per output."""
        ...

    def predict(self, learner: int, stage: int, models: list[Any], X: Any) -> FloatArray:
        """Return predictions of fitted models, shaped like the residuals."""
        ...


@dataclass(frozen=True)
class AdditiveParams:
    """How to add stages."""

    n_stages: int
    learning_rate: float
    cycles: bool  # learners take turns, rather than compete
    redraws: bool  # learners see different rows in each stage
    patience: Patience | None = None  # None: no early stopping
    corrects: bool = False  # all coefficients are fitted anew in each stage
    has_constant: bool = True  # which is then fitted, too


@dataclass(frozen=True, eq=False)
class Part:
    """Rows, as learners read them, with their targets and weights."""

    X: Any
    y: FloatArray
    weight: FloatArray | None


@dataclass(frozen=True, eq=False)
class Stage:
    """What was added, the fitted models of one learner; the constant and all coefficients of the model since then."""

    learner: int
    number: int
    models: list[Any]
    constant: FloatArray
    coefficients: FloatArray


@dataclass(frozen=True, eq=False)
class _Step:
    """What a learner offers: its predictions for the training rows, the best β, and the loss of the stage at it."""

    learner: int
    models: list[Any]
    direction: FloatArray
    beta: float
    loss: Loss
    value: float


class AdditiveRun:
    """Stages of an additive model; one in which no learner lowers the training loss is left out.

    Parameters
    ----------
    learners : Learners
        What may be added.
    training : Part
        Rows of the line search; the learners have their own.
    loss : Loss
        What to minimise.
    params : AdditiveParams
        How.
    start : ndarray
        Constant that the raw predictions start from, (outputs,).
    validation : Part, optional
        Rows whose loss is followed; with ``params.patience`` no stage after the best is kept.
    judge : Judge, optional
        Score of the validation rows by which stages are compared; without one, their loss.
    """

    def __init__(
        self,
        learners: Learners,
        training: Part,
        loss: Loss,
        params: AdditiveParams,
        *,
        start: FloatArray,
        validation: Part | None = None,
        judge: Judge | None = None,
    ) -> None:
        self.learners, self.training, self.loss, self.params = learners, training, loss, params
        self.validation, self.judge = validation, judge
        n_held = 0 if validation is None else len(validation.y)
        self.sum = StagewiseSum(start, training.y, training.weight, n_held, params.learning_rate)
        if params.corrects:
            self.sum = CorrectedSum(
                start, training.y, training.weight, n_held, params.learning_rate, has_constant=params.has_constant
            )
        self.stages: list[Stage] = []
        self.history = History()
        if judge is not None:
            self.history.scoring, self.history.greater_is_better = judge.name, judge.greater_is_better
        # Losses of different stages must be comparable, even if a loss adapts to each stage.
        self.scoring_loss = loss.for_round(training.y, self.sum.raw, training.weight)

    def complete(self, callbacks: Sequence[Callback] = ()) -> tuple[list[Stage], History]:
        """Add stages until a rule says stop; callbacks are called with a RoundReport after each."""
        started, idle = time.monotonic(), 0
        try:
            for number in range(self.params.n_stages):
                step = self.best_step(number)
                if step is None:
                    idle += 1
                    if self.is_hopeless(idle):
                        self.history.stopped_by = "no descent"
                        break
                    continue
                idle = 0
                self.take(step, number)
                report = self.report(number + 1, time.monotonic() - started)
                for callback in callbacks:
                    callback(report)
                if self.is_stale():
                    self.history.stopped_by = "early stopping"
                    break
        except KeyboardInterrupt:
            if not keeps_part(len(self.history.training_loss)):
                raise
            self.history.stopped_by = "interrupt"
        return self.kept(), self.history

    def best_step(self, number: int) -> _Step | None:
        """Return the step that lowers the training loss most, the first of equals; None if none does."""
        rows = self.training
        loss = self.loss.for_round(rows.y, self.sum.raw, rows.weight)
        gradient, hessian = loss.gradients(rows.y, self.sum.raw)
        check_gradients(loss, gradient, hessian, self.sum.raw, 0)
        residual = -gradient
        if not residual.any():
            return None
        turn = [number % len(self.learners)] if self.params.cycles else range(len(self.learners))
        steps = [self.step(loss, residual, learner, number) for learner in turn]
        best = min(steps, key=lambda step: step.value)
        return best if best.beta else None

    def step(self, loss: Loss, residual: FloatArray, learner: int, number: int) -> _Step:
        """Fit a learner to the residuals and find the best step along its predictions."""
        rows = self.training
        models = self.learners.fit(learner, number, residual)
        direction = self.learners.predict(learner, number, models, rows.X)
        beta, value = line_search(loss, rows.y, self.sum.raw, direction, rows.weight)
        return _Step(learner, models, direction, beta, loss, value)

    def take(self, step: _Step, number: int) -> None:
        """Add the step to the model."""
        held = None
        if self.validation is not None:
            held = self.learners.predict(step.learner, number, step.models, self.validation.X)
        self.sum.add(step.loss, step.direction, held, step.beta)
        self.stages.append(Stage(step.learner, number, step.models, self.sum.constant, self.sum.coefficients))

    def report(self, number: int, seconds: float) -> RoundReport:
        """Score the model so far."""
        rows, held = self.training, self.validation
        training = self.scoring_loss.value(rows.y, self.sum.raw, rows.weight)
        self.history.training_loss.append(training)
        validation = score = None
        if held is not None:
            validation = self.scoring_loss.value(held.y, self.sum.held_raw, held.weight)
            score = None if self.judge is None else self.judge.score(self.sum.held_raw, self.scoring_loss)
            self.history.add(validation, score)
        return RoundReport(number, self.params.n_stages, seconds, training, validation, score)

    def is_hopeless(self, idle: int) -> bool:
        """Whether further stages would repeat the last ``idle`` ones, which found nothing."""
        tried = len(self.learners) if self.params.cycles else 1
        return idle >= tried and not self.params.redraws

    def is_stale(self) -> bool:
        """Whether stages have not improved for too long."""
        return self.params.patience is not None and self.params.patience.is_over(self.history.curve)

    def kept(self) -> list[Stage]:
        """Return the stages that were reported, up to the best one."""
        reported = self.stages[: len(self.history.training_loss)]
        return reported if self.params.patience is None else reported[: self.history.best_round]
