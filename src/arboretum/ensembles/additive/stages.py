"""Forward stage-wise additive modelling of any base learners (Hastie, Tibshirani and Friedman 2009, 10.2–10.3).

    F = argmin_c Σ w·L(y, c)
    each stage:   r   = −∂L/∂F                                 at every row (Friedman 2001)
                  b_j = learner j fitted to r by least squares  for each j of the list, or for the next in turn
                  β_j = argmin_β Σ w·L(y, F + β·b_j)            the line search
                  F  += learning rate · β_j · b_j               of the j whose loss at β_j is least

Coefficients of earlier stages are never touched.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.boosting.gradients import check_gradients
from arboretum.ensembles.boosting.history import History, Judge, Patience
from arboretum.losses import Loss, SquaredError
from arboretum.losses.base import constant_raw
from arboretum.losses.root_finding import zero_between
from arboretum.running.interruption import keeps_part
from arboretum.running.progress import Callback, RoundReport

FloatArray: TypeAlias = NDArray[np.float64]

# Where classes are separated, or counts are all 0, the best step is infinite. In units of log odds or logarithms, a row
# moves by at most this much per stage; LogitBoost bounds its working response likewise (Friedman, Hastie and Tibshirani
# 2000).
LARGEST_MOVE = 4.0
LARGEST_STEP = 1e300
HALVINGS = 40


class Learners(Protocol):
    """A list of base learners and the training rows that they are fitted to."""

    def __len__(self) -> int:
        """Return the number of learners."""
        ...

    def fit(self, learner: int, stage: int, residual: FloatArray) -> list[Any]:
        """Fit one learner to each column of the residuals, (rows,) or (rows, outputs)."""
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


@dataclass(frozen=True, eq=False)
class Part:
    """Rows, as learners read them, with their targets and weights."""

    X: Any
    y: FloatArray
    weight: FloatArray | None


@dataclass(frozen=True, eq=False)
class Stage:
    """What was added: the fitted models of one learner, one per output, and their coefficient β · learning rate."""

    learner: int
    number: int
    models: list[Any]
    coefficient: float


@dataclass(frozen=True, eq=False)
class _Step:
    """What a learner offers: its predictions for the training rows, the best β, and the resulting loss."""

    learner: int
    models: list[Any]
    direction: FloatArray
    beta: float
    loss: float


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
        self.raw = constant_raw(start, len(training.y))
        self.held_raw = constant_raw(start, 0 if validation is None else len(validation.y))
        self.stages: list[Stage] = []
        self.history = History()
        if judge is not None:
            self.history.scoring, self.history.greater_is_better = judge.name, judge.greater_is_better
        # Losses of different stages must be comparable, even if a loss adapts to each stage.
        self.scoring_loss = loss.for_round(training.y, self.raw, training.weight)

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
        loss = self.loss.for_round(rows.y, self.raw, rows.weight)
        gradient, hessian = loss.gradients(rows.y, self.raw)
        check_gradients(loss, gradient, hessian, self.raw, 0)
        residual = -gradient
        if not residual.any():
            return None
        turn = [number % len(self.learners)] if self.params.cycles else range(len(self.learners))
        steps = [self.step(loss, residual, learner, number) for learner in turn]
        best = min(steps, key=lambda step: step.loss)
        return best if best.beta else None

    def step(self, loss: Loss, residual: FloatArray, learner: int, number: int) -> _Step:
        """Fit a learner to the residuals and find the best step along its predictions."""
        rows = self.training
        models = self.learners.fit(learner, number, residual)
        direction = self.learners.predict(learner, number, models, rows.X)
        beta, value = line_search(loss, rows.y, self.raw, direction, rows.weight)
        return _Step(learner, models, direction, beta, value)

    def take(self, step: _Step, number: int) -> None:
        """Add the step to the model."""
        coefficient = self.params.learning_rate * step.beta
        self.raw = self.raw + coefficient * step.direction
        if self.validation is not None:
            held = self.learners.predict(step.learner, number, step.models, self.validation.X)
            self.held_raw = self.held_raw + coefficient * held
        self.stages.append(Stage(step.learner, number, step.models, coefficient))

    def report(self, number: int, seconds: float) -> RoundReport:
        """Score the model so far."""
        rows, held = self.training, self.validation
        training = self.scoring_loss.value(rows.y, self.raw, rows.weight)
        self.history.training_loss.append(training)
        validation = score = None
        if held is not None:
            validation = self.scoring_loss.value(held.y, self.held_raw, held.weight)
            score = None if self.judge is None else self.judge.score(self.held_raw, self.scoring_loss)
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


# ---- the line search -----------------------------------------------------------------------------------------------


def line_search(
    loss: Loss, y: FloatArray, raw: FloatArray, direction: FloatArray, weight: FloatArray | None
) -> tuple[float, float]:
    """Find β that minimises the mean loss at raw + β·direction; return it with that loss, 0 if nothing is lower.

    For the squared error it is the least-squares coefficient, Σ w·r·b / Σ w·b². For other losses it is where the slope
    along the direction changes its sign. With a link, no row moves by more than ``LARGEST_MOVE``.

    Examples
    --------
    >>> y, raw, direction = np.array([1.0, 2.0, 4.0]), np.zeros(3), np.array([1.0, 1.0, 2.0])
    >>> line_search(SquaredError(), y, raw, direction, None)[0].__round__(6)
    1.833333
    """
    here = loss.value(y, raw, weight)
    with np.errstate(over="ignore", invalid="ignore"):
        if type(loss) is SquaredError:
            beta = _least_squares(y - raw, direction, weight)
        else:
            beta = _where_slope_ends(loss, y, raw, direction, weight)
        for _ in range(HALVINGS):  # rare: if a loss is not convex, or rounding decides
            if beta == 0:
                break
            value = loss.value(y, raw + beta * direction, weight)
            if value < here:
                return beta, value
            beta /= 2
    return 0.0, here


def _least_squares(residual: FloatArray, direction: FloatArray, weight: FloatArray | None) -> float:
    scale = np.abs(direction).max()  # avoids overflow and underflow of squares
    if scale == 0:
        return 0.0
    unit = direction / scale
    return float(_weighted_sum(residual * unit, weight) / _weighted_sum(unit * unit, weight) / scale)


def _where_slope_ends(
    loss: Loss, y: FloatArray, raw: FloatArray, direction: FloatArray, weight: FloatArray | None
) -> float:
    """Bracket the minimum by doubling, then close in on the zero of the slope."""
    farthest = float(np.abs(direction).max())
    if farthest == 0:
        return 0.0
    limit = LARGEST_STEP if loss.link == "identity" else LARGEST_MOVE / farthest

    def slope(beta: float) -> float:
        return _weighted_sum(loss.gradients(y, raw + beta * direction)[0] * direction, weight)

    at_zero = slope(0.0)
    if at_zero == 0:
        return 0.0
    sign = -1.0 if at_zero > 0 else 1.0  # downhill

    def rising(step: float) -> float:
        return sign * slope(sign * step)

    low, at_low, high = 0.0, sign * at_zero, min(1.0, limit)
    at_high = rising(high)
    while at_high < 0 and high < limit:
        low, at_low, high = high, at_high, min(2 * high, limit)
        at_high = rising(high)
    return sign * (high if at_high <= 0 else zero_between(rising, low, at_low, high, at_high))


def _weighted_sum(values: FloatArray, weight: FloatArray | None) -> float:
    # Not a matrix product: BLAS may sum in another order with another number of threads.
    of_rows = values if values.ndim == 1 else values.sum(axis=1)
    return float(of_rows.sum() if weight is None else (of_rows * weight).sum())
