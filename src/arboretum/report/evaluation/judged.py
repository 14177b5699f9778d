"""One output of a classifier or regressor: its rows, the loss that judges it, and the constant that it must beat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from arboretum.metrics.own_loss import SQUARED, OwnLoss
from arboretum.report.chance import FloatArray, Positions
from arboretum.report.evaluation.figures import Better, Figure


@dataclass(frozen=True, eq=False)
class Judged:
    """Rows of one output: numbers or class codes, predictions or probabilities (rows, classes), and weights."""

    truth: NDArray[Any]
    told: FloatArray
    weight: FloatArray

    def take(self, rows: Positions) -> Judged:
        """Return the rows at these positions."""
        return Judged(self.truth[rows], self.told[rows], self.weight[rows])

    def mean(self, loss: OwnLoss, constant: FloatArray | None = None) -> float:
        """Return the mean loss of the predictions, or of the same prediction for all rows."""
        told = self.told if constant is None else loss.repeated(constant, len(self.truth))
        return loss.mean(self.truth, told, self.weight)


@dataclass(frozen=True, eq=False)
class Output:
    """One output and the loss that the model was trained for; ``labels`` and ``positive`` are those of classes."""

    name: str
    rows: Judged
    train: Judged | None
    judge: OwnLoss
    labels: list[str] = field(default_factory=list)
    positive: int = 1  # place of the class, of two, whose probability is shown

    @property
    def learned(self) -> Judged:
        """The rows that the baseline knows: training rows, if they are known."""
        return self.train or self.rows

    @property
    def constant(self) -> FloatArray:
        """Prediction of least loss that is the same for every row: what the baseline says."""
        return self.judge.constant(self.learned.truth, self.learned.weight)

    @property
    def losses(self) -> FloatArray:
        """Own loss of each row."""
        return self.judge.values(self.rows.truth, self.rows.told)

    @property
    def baseline_losses(self) -> FloatArray:
        """Own loss of each row by the baseline."""
        return self.judge.values(self.rows.truth, self.judge.repeated(self.constant, len(self.rows.truth)))

    @property
    def predicts_mean(self) -> bool:
        """Whether the best constant is the mean, so that predictions are right on average."""
        return self.judge.name == SQUARED.name or self.judge.name.endswith("deviance")

    @property
    def is_quantile(self) -> bool:
        """Whether the model predicts a quantile."""
        return self.judge.name.startswith("pinball")

    def figure(
        self,
        name: str,
        about: str,
        measure: Callable[[Judged], float | None],
        of_baseline: Callable[[Judged], float | None],
        better: Better = "low",
        *,
        is_own: bool = False,
    ) -> Figure:
        """Return a figure of these rows, beside those of a baseline and of the training rows."""
        rows, of_train = self.rows, None if self.train is None else measure(self.train)
        return Figure(
            name,
            about,
            lambda at: measure(rows.take(at)),
            lambda at: of_baseline(rows.take(at)),
            better,
            of_train,
            is_own,
        )

    def loss_figure(self, loss: OwnLoss, constant: FloatArray) -> Figure:
        """Return the mean of a loss, beside that of a constant."""

        def of_constant(part: Judged) -> float:
            return part.mean(loss, constant)

        is_own = loss.name == self.judge.name
        return self.figure(loss.name, loss.about, lambda part: part.mean(loss), of_constant, is_own=is_own)
