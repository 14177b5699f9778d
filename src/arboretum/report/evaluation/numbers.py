"""Evaluation of regressors, one output or several, by the loss that each was trained for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arboretum.data import targets
from arboretum.losses import Quantiles
from arboretum.metrics.own_loss import ABSOLUTE, SQUARED, OwnLoss, own_loss
from arboretum.report.calibration import coverages
from arboretum.report.evaluation.charts import UNIT_SQUARE, curves, diagonal, histogram, points, series
from arboretum.report.evaluation.figures import Figure, Measure, mean_of, measured
from arboretum.report.evaluation.judged import Judged, Output
from arboretum.report.subject import INTERVAL, FloatArray, Rows, Subject

INTERVAL_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


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
    tests = _known(subject.test, subject.told)
    trains: list[Any] = [None] * len(tests)
    if subject.train is not None:
        trains = _known(subject.train, subject.told_of_training, "_train")
    names = [""] if len(tests) == 1 else [f"output {k}" for k in range(len(tests))]
    if (levels := quantiles(subject.model)) is not None:
        names = [f"{level:g}-quantile" for level in levels]
    return [
        Output(name, rows, train, own_loss(subject.model, rows.truth, rows.told, rows.weight, k))
        for k, (name, rows, train) in enumerate(zip(names, tests, trains, strict=True))
    ]


def _known(rows: Rows, told: Any, of: str = "") -> list[Judged]:
    """Return each output without the rows whose target is not known: of several outputs, some may be."""
    found = []
    for truth, said in zip(*(part.T for part in predictions(rows, told, of)), strict=True):
        known = ~np.isnan(truth)
        found.append(Judged(truth[known], said[known], rows.weights[known]))
    return found


def quantiles(model: Any) -> Sequence[float] | None:
    """Return the levels of a model of several quantiles."""
    loss = getattr(model, "loss_", None)
    return loss.quantile if isinstance(loss, Quantiles) else None


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate each output of a regressor; intervals, if the model has some, stand with the first."""
    found = []
    for number, output in enumerate(outputs(subject)):
        figures, charts = _figures(output), _charts(output)
        if number == 0 and hasattr(subject.model, "predict_interval"):
            more, chart = _interval_figures(subject, output), _interval_chart(subject)
            figures, charts = [*figures[:2], *more, *figures[2:]], [chart, *charts]
        if number == 0 and quantiles(subject.model) is not None:
            charts = [_coverage_chart(subject), *charts]
        found.append({"name": output.name, "metrics": measured(figures, len(output.rows.truth)), "charts": charts})
    return found


# ---- figures ---------------------------------------------------------------------------------------------------------


def _loss_figure(output: Output, loss: OwnLoss) -> Figure:
    return output.loss_figure(loss, loss.constant(output.learned.truth, output.learned.weight))


def _share_figure(output: Output) -> Figure:
    """Share of the loss of the best constant that the model explains: R², or D² for other losses."""
    loss, constant = output.judge, output.constant

    def of_model(part: Judged) -> float | None:
        return loss.explained(part.truth, part.told, part.weight)

    def of_constant(part: Judged) -> float | None:
        return loss.explained(part.truth, loss.repeated(constant, len(part.truth)), part.weight)

    about = "share of the variance that is explained" if loss.share == "R²" else f"1 − {loss.name} / baseline's"
    return output.figure(loss.share or "", about, of_model, of_constant, "high")


def _figures(output: Output) -> list[Figure]:
    rows, judge = output.rows, output.judge
    figures = [_loss_figure(output, judge)]
    if judge.share is not None:
        figures.append(_share_figure(output))
    if output.is_quantile:
        about = "share of rows; the quantile's level, if predictions are right"
        below = mean_of(rows.truth <= rows.told, rows.weight)
        return [*figures, Figure("rows at or below the prediction", about, below, better="")]
    figures += [_loss_figure(output, loss) for loss in (SQUARED, ABSOLUTE) if loss.name != judge.name]
    if output.predicts_mean:
        bias = mean_of(rows.told - rows.truth, rows.weight)
        figures.append(Figure("bias", "mean of prediction − actual", bias, better=""))
    return figures


def _interval_figures(subject: Subject, output: Output) -> list[Figure]:
    """Return coverage, width, and the interval score, which charges both (Gneiting & Raftery 2007)."""
    (low, high), truth, weight = subject.intervals.T, output.rows.truth, output.rows.weight
    alpha = 1 - INTERVAL
    ends = np.quantile(np.sort(output.learned.truth), [alpha / 2, 1 - alpha / 2])
    usual_low, usual_high = (np.full(len(truth), end) for end in ends)

    def score(low: FloatArray, high: FloatArray) -> Measure:
        miss = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
        return mean_of(high - low + 2 / alpha * miss, weight)

    def inside(low: FloatArray, high: FloatArray) -> Measure:
        return mean_of((low <= truth) & (truth <= high), weight)

    name = f"{INTERVAL:.0%} intervals"
    return [
        Figure(
            f"interval score of {name}",
            f"width, and {2 / alpha:.0f} times the distance of targets outside; lower is better",
            score(low, high),
            score(usual_low, usual_high),
        ),
        Figure(
            f"coverage of {name}",
            "share of rows whose target lies in its interval",
            inside(low, high),
            inside(usual_low, usual_high),
            better="",
        ),
        Figure(
            f"mean width of {name}",
            "of the same interval for every row, beside it",
            mean_of(high - low, weight),
            lambda at: float(ends[1] - ends[0]),
            better="",
        ),
    ]


# ---- charts ----------------------------------------------------------------------------------------------------------


def _charts(output: Output) -> list[dict[str, Any]]:
    truth, told, weight = output.rows.truth, output.rows.told, output.rows.weight
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
    lines = [series("model", levels, shares), diagonal("perfect")]
    return curves("Coverage", "level", y, lines, **UNIT_SQUARE, dots=True)
