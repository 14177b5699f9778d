"""Evaluation of regressors, one output or several, by the loss that each was trained for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arboretum.data import targets
from arboretum.losses import Quantiles
from arboretum.metrics.own_loss import ABSOLUTE, SQUARED, OwnLoss, own_loss
from arboretum.report.calibration import coverages
from arboretum.report.chance import Positions
from arboretum.report.evaluation.charts import curves, histogram, points, series
from arboretum.report.evaluation.figures import Figure, measured
from arboretum.report.subject import INTERVAL, FloatArray, Rows, Subject

INTERVAL_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True, eq=False)
class Part:
    """Targets, predictions and weights of one output, of rows whose target is known."""

    truth: FloatArray
    told: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, truth: FloatArray, told: FloatArray, weight: FloatArray | None) -> Part:
        """Leave rows out whose target is not known: of several outputs, some may be."""
        known = ~np.isnan(truth)
        return cls(truth[known], told[known], np.ones(int(known.sum())) if weight is None else weight[known])

    def mean(self, loss: OwnLoss, rows: Positions | None = None, constant: FloatArray | None = None) -> float:
        """Mean loss of some rows, of the predictions or of one for all."""
        at = np.arange(len(self.truth)) if rows is None else rows
        told = self.told[at] if constant is None else loss.repeated(constant, len(at))
        return loss.mean(self.truth[at], told, self.weight[at])


@dataclass(frozen=True, eq=False)
class Output:
    """One output: its rows, the loss that the model was trained for, and the best constant prediction."""

    name: str
    rows: Part
    train: Part | None
    judge: OwnLoss

    @property
    def learned(self) -> Part:
        """The rows that the baseline knows: training rows, if they are known."""
        return self.train or self.rows

    @property
    def constant(self) -> FloatArray:
        """Prediction of least loss that is the same for every row."""
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
    def truth(self) -> FloatArray:
        """Targets."""
        return self.rows.truth

    @property
    def told(self) -> FloatArray:
        """Predictions."""
        return self.rows.told

    @property
    def weight(self) -> FloatArray:
        """Weights of the rows."""
        return self.rows.weight

    @property
    def predicts_mean(self) -> bool:
        """Whether the best constant is the mean, so that predictions are right on average."""
        return self.judge.name == SQUARED.name or self.judge.name.endswith("deviance")

    @property
    def is_quantile(self) -> bool:
        """Whether the model predicts a quantile."""
        return self.judge.name.startswith("pinball")


def predictions(rows: Rows, told: Any, of: str = "") -> tuple[FloatArray, FloatArray]:
    """Targets and predictions, (rows, outputs); several predictions of one target share it."""
    assert rows.y is not None
    told = np.asarray(told, np.float64).reshape(rows.n_rows, -1)
    truth = targets.regression_outputs(rows.y, f"y{of}")
    if truth.shape[1] == 1 < told.shape[1]:
        truth = np.repeat(truth, told.shape[1], axis=1)
    return truth, told


def outputs(subject: Subject) -> list[Output]:
    """Return every output of a regressor, or each of its quantiles, with its judge."""
    truth, told = predictions(subject.test, subject.told)
    train = None if subject.train is None else predictions(subject.train, subject.told_of_training, "_train")
    loss = getattr(subject.model, "loss_", None)
    found = []
    for k in range(told.shape[1]):
        rows = Part.of(truth[:, k], told[:, k], subject.test.weight)
        before = None
        if train is not None and subject.train is not None:
            before = Part.of(train[0][:, k], train[1][:, k], subject.train.weight)
        name = f"output {k}" if told.shape[1] > 1 else ""
        if isinstance(loss, Quantiles):
            name = f"{loss.quantile[k]:g}-quantile"
        found.append(Output(name, rows, before, own_loss(subject.model, rows.truth, rows.told, rows.weight, k)))
    return found


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate each output of a regressor; intervals, if the model has some, stand with the first."""
    found = []
    for number, output in enumerate(outputs(subject)):
        figures, charts = _figures(output), _charts(output)
        if number == 0 and hasattr(subject.model, "predict_interval"):
            more, chart = _interval_figures(subject, output), _interval_chart(subject)
            figures, charts = [*figures[:2], *more, *figures[2:]], [chart, *charts]
        if number == 0 and isinstance(getattr(subject.model, "loss_", None), Quantiles):
            charts = [_coverage_chart(subject), *charts]
        found.append({"name": output.name, "metrics": measured(figures, len(output.truth)), "charts": charts})
    return found


# ---- figures ---------------------------------------------------------------------------------------------------------


def _loss_figure(output: Output, loss: OwnLoss, is_own: bool = False) -> Figure:
    rows, train, learned = output.rows, output.train, output.learned
    constant = loss.constant(learned.truth, learned.weight)
    return Figure(
        loss.name,
        loss.about,
        lambda at: rows.mean(loss, at),
        lambda at: rows.mean(loss, at, constant),
        train=None if train is None else train.mean(loss),
        is_own=is_own,
    )


def _share_figure(output: Output, loss: OwnLoss) -> Figure:
    """Share of the loss of the best constant that the model explains: R², or D² for other losses."""
    rows, train, learned = output.rows, output.train, output.learned
    constant = loss.constant(learned.truth, learned.weight)

    def of(part: Part, at: Positions | None = None, told: FloatArray | None = None) -> float | None:
        at = np.arange(len(part.truth)) if at is None else at
        answers = part.told[at] if told is None else loss.repeated(told, len(at))
        return loss.explained(part.truth[at], answers, part.weight[at])

    about = "share of the variance that is explained" if loss.share == "R²" else f"1 − {loss.name} / baseline's"
    return Figure(
        loss.share or "",
        about,
        lambda at: of(rows, at),
        lambda at: of(rows, at, constant),
        "high",
        None if train is None else of(train),
    )


def _figures(output: Output) -> list[Figure]:
    rows, judge = output.rows, output.judge
    figures = [_loss_figure(output, judge, is_own=True)]
    if judge.share is not None:
        figures.append(_share_figure(output, judge))
    if output.is_quantile:
        figures.append(
            Figure(
                "rows at or below the prediction",
                "share of rows; the quantile's level, if predictions are right",
                lambda at: float(np.average(rows.truth[at] <= rows.told[at], weights=rows.weight[at])),
                better="",
            )
        )
        return figures
    figures += [_loss_figure(output, loss) for loss in (SQUARED, ABSOLUTE) if loss.name != judge.name]
    if output.predicts_mean:
        figures.append(
            Figure(
                "bias",
                "mean of prediction − actual",
                lambda at: float(np.average(rows.told[at] - rows.truth[at], weights=rows.weight[at])),
                better="",
            )
        )
    return figures


def _interval_figures(subject: Subject, output: Output) -> list[Figure]:
    """Return coverage, width, and the interval score, which charges both (Gneiting & Raftery 2007)."""
    ends, truth, weight = subject.intervals, output.truth, output.weight
    alpha = 1 - INTERVAL
    known = np.sort(output.learned.truth)
    usual = np.quantile(known, [alpha / 2, 1 - alpha / 2])

    def score(low: Any, high: Any, at: Positions) -> float:
        miss = np.maximum(low - truth[at], 0) + np.maximum(truth[at] - high, 0)
        return float(np.average(high - low + 2 / alpha * miss, weights=weight[at]))

    name = f"{INTERVAL:.0%} intervals"
    return [
        Figure(
            f"interval score of {name}",
            f"width, and {2 / alpha:.0f} times the distance of targets outside; lower is better",
            lambda at: score(ends[at, 0], ends[at, 1], at),
            lambda at: score(usual[0], usual[1], at),
        ),
        Figure(
            f"coverage of {name}",
            "share of rows whose target lies in its interval",
            lambda at: float(np.average((ends[at, 0] <= truth[at]) & (truth[at] <= ends[at, 1]), weights=weight[at])),
            lambda at: float(np.average((usual[0] <= truth[at]) & (truth[at] <= usual[1]), weights=weight[at])),
            better="",
        ),
        Figure(
            f"mean width of {name}",
            "of the same interval for every row, beside it",
            lambda at: float(np.average(ends[at, 1] - ends[at, 0], weights=weight[at])),
            lambda at: float(usual[1] - usual[0]),
            better="",
        ),
    ]


# ---- charts ----------------------------------------------------------------------------------------------------------


def _charts(output: Output) -> list[dict[str, Any]]:
    truth, told, weight = output.truth, output.told, output.weight
    error = truth - told
    return [
        points("Predicted and actual", "actual", "predicted", truth, told, reference="diagonal"),
        points("Residuals", "predicted", "actual − predicted", told, error, reference="zero"),
        histogram(
            "Distribution of residuals", "actual − predicted", {"residuals": error}, weight={"residuals": weight}
        ),
        histogram("Distribution of values", "value", {"actual": truth, "predicted": told}),
    ]


def _coverage_chart(subject: Subject) -> dict[str, Any]:
    found = list(coverages(subject))
    return _levels_chart([one.wanted for one in found], [one.share for one in found], "share of rows below")


def _interval_chart(subject: Subject) -> dict[str, Any]:
    rows, levels, shares = subject.sample, [], []
    truth = targets.regression_target(rows.target)
    for level in INTERVAL_LEVELS:
        try:
            ends = np.asarray(subject.model.predict_interval(rows.X, coverage=level), np.float64)
        except ValueError:  # too few rows were kept for so high a coverage
            break
        inside = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        levels.append(level)
        shares.append(float(np.average(inside, weights=rows.weight)))
    return _levels_chart(levels, shares, "share of rows inside")


def _levels_chart(levels: list[float], shares: list[float], y: str) -> dict[str, Any]:
    lines = [series("model", levels, shares), series("perfect", [0, 1], [0, 1], "baseline")]
    return curves("Coverage", "level", y, lines, x_domain=[0, 1], y_domain=[0, 1], square=True, dots=True)
