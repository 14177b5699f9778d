"""The model itself: worse than a baseline, overfitted, wrong probabilities or intervals, exchanged labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from arboretum.report.calibration import Calibration, calibration_of, coverages
from arboretum.report.chance import mean_and_error, normal_limit
from arboretum.report.evaluation import classes, numbers
from arboretum.report.evaluation.judged import Judged, Output
from arboretum.report.facts import LeftOut
from arboretum.report.findings.finding import LEAST_ROWS, Finding, Grade
from arboretum.report.subject import Subject

CLEARLY = 2.0  # standard errors that a model must be better by
LOST_SOME, LOST_HALF = 0.1, 0.5  # shares of what a model gains over the baseline
MISCALIBRATED = 0.05  # root mean square of probability less share, beyond chance
OVERCONFIDENT = 0.1  # mean probability of the predicted class less the share of right ones
BIASED, VERY_BIASED = 0.1, 0.3  # mean error in deviations of the target
MISCOVERED, VERY_MISCOVERED = 0.05, 0.2  # coverage less what was asked for


def find(subject: Subject) -> Iterator[Finding]:
    """Judge a classifier or a regressor, output by output, by the loss that it was trained for."""
    if not subject.task.has_row_losses or subject.test.n_rows < LEAST_ROWS:
        return
    outputs = numbers.outputs(subject) if subject.task.has_numbers else classes.outputs(subject)
    for output in outputs:
        yield from _against_baseline(output)
    try:
        stages = subject.stages
    except LeftOut:
        stages = None
    if stages is not None and stages.has_rows:
        yield from _overfitted(subject, stages)
    if subject.task.has_numbers:
        yield from _numbers(subject, outputs)
    else:
        for output in outputs:
            yield from _miscalibrated(output.rows, output.labels, subject.positive)
            yield from _exchanged(output.rows, output.labels)


def _against_baseline(output: Output) -> Iterator[Finding]:
    gain, error = mean_and_error(output.baseline_losses - output.losses, output.rows.weight)
    of = f" ({output.name})" if output.name else ""
    if gain < -normal_limit(1) * error:
        yield Finding(
            "serious",
            "worse than the baseline",
            f"The loss of the model{of} is {-gain:.3g} ± {error:.2g} above that of one answer for all rows.",
            "See whether the target of these rows is what the model was trained for, and their columns in its units.",
        )
    elif gain < CLEARLY * error:
        yield Finding(
            "caution",
            "no better than the baseline",
            f"The loss of the model{of} is {abs(gain):.3g} ± {error:.2g} {'below' if gain > 0 else 'above'} that of "
            "one answer for all rows: chance may explain it.",
            "The columns may not tell the target, or the rows are too few to learn it from.",
        )


def _overfitted(subject: Subject, stages: Any) -> Iterator[Finding]:
    """Compare the model with its own best stage, chosen by one half of the rows and judged by the other.

    Choosing and judging by the same rows would find a better stage by chance alone.
    """
    half = np.random.default_rng(0).permutation(stages.test.shape[1]) % 2 == 0
    gains, best = [], []
    for chosen, judged in ((half, ~half), (~half, half)):
        stage = int(stages.test[:, chosen].mean(axis=1).argmin())
        best.append(int(stages.at[stage]))
        gains.append((stages.test[-1] - stages.test[stage])[judged])
    change = np.concatenate(gains)
    lost, error = mean_and_error(change)
    # A few rows whose loss explodes make the mean uncertain; most rows having become worse is certain all the same.
    is_certain = max(lost / error if error > 0 else 0.0, np.sign(change).sum() / np.sqrt(len(change))) > normal_limit(2)
    least = float(stages.test.mean(axis=1).min())
    gained = max(stages.constant - least, 0.0)
    share = lost / (lost + gained) if lost + gained > 0 else 0.0
    if not is_certain or lost <= 0 or share < LOST_SOME:
        return
    grade: Grade = "serious" if share > LOST_HALF else "caution"
    when = f"depth {best[0]}" if stages.axis == "depth" else f"{best[0]} {stages.axis}"
    yield Finding(
        grade,
        "overfitted",
        f"The model was better on these rows at {when} than it is at {int(stages.at[-1])}: since then it lost "
        f"{min(share, 1):.0%} of what it gains over one answer for all rows.",
        "Stop early, lower the learning rate, or grow smaller trees (min_samples_leaf, max_depth).",
    )


def _miscalibrated(judged: Judged, names: list[str], positive: int) -> Iterator[Finding]:
    surest = judged.told.max(axis=1)
    right = judged.told.argmax(axis=1) == judged.truth
    gap, error = mean_and_error(surest - right, judged.weight)
    mean_sureness, mean_right = (np.average(values, weights=judged.weight) for values in (surest, right))
    if gap > OVERCONFIDENT and gap > normal_limit(1) * error:
        yield Finding(
            "serious",
            "not calibrated",
            f"The model is too sure: its predicted class has a probability of {mean_sureness:.0%} on average and is "
            f"right in {mean_right:.0%} of the rows.",
            "Use CalibratedClassifier before you decide by probabilities; see whether the labels are right.",
        )
        return
    tested = [positive] if len(names) == 2 else range(len(names))
    found: list[tuple[str, Calibration]] = [(names[k], calibration_of(judged, k)) for k in tested]
    bad = [(name, one) for name, one in found if one.error > MISCALIBRATED and one.is_certain(len(found))]
    if bad:
        name, one = max(bad, key=lambda pair: pair[1].error)
        yield Finding(
            "caution",
            "not calibrated",
            f"Probabilities of {name} miss the observed shares by {one.error:.2f} (root mean square over bins), beyond "
            "chance.",
            "Use CalibratedClassifier before you decide by probabilities.",
        )


def _exchanged(judged: Judged, names: list[str]) -> Iterator[Finding]:
    """Find out whether more rows would be right if labels were exchanged."""
    from scipy.optimize import linear_sum_assignment

    counts = classes.confusion(replace(judged, weight=np.ones(len(judged.truth))))
    _, best = linear_sum_assignment(-counts)
    moved = np.flatnonzero(best != np.arange(len(names)))
    gained = int(counts[moved, best[moved]].sum() - counts[moved, moved].sum())
    concerned = int(counts[moved, best[moved]].sum() + counts[moved, moved].sum())
    if gained > normal_limit(1) * np.sqrt(concerned) and gained > 0:
        pairs = ", ".join(f"{names[k]} for {names[best[k]]}" for k in moved[:4].tolist())
        yield Finding(
            "serious",
            "exchanged labels",
            f"{gained:,} more rows would be right if these rows had other labels: {pairs}.",
            "See how labels were coded in these rows and in the training rows.",
        )


def _numbers(subject: Subject, outputs: list[Output]) -> Iterator[Finding]:
    """Find means that are too high or too low on average, and quantiles or intervals with the wrong coverage."""
    for output in outputs:
        if output.predicts_mean:
            rows = output.rows
            bias, error = mean_and_error(rows.told - rows.truth, rows.weight)
            size = abs(bias) / max(float(rows.truth.std()), 1e-300)
            if size > BIASED and abs(bias) > normal_limit(1) * error:
                yield Finding(
                    "serious" if size > VERY_BIASED else "caution",
                    "not calibrated",
                    f"Predictions{f' of {output.name}' if output.name else ''} are too {'high' if bias > 0 else 'low'} "
                    f"by {abs(bias):.4g} ± {error:.2g} on average.",
                    "See whether the target has moved since training, or is in other units.",
                )
    for cover in coverages(subject):
        gap = cover.share - cover.wanted
        if abs(gap) > MISCOVERED and abs(gap) > normal_limit(1) * cover.error:
            yield Finding(
                "serious" if abs(gap) > VERY_MISCOVERED else "caution",
                "not calibrated",
                f"{cover.name} cover {cover.share:.1%} of the rows instead of {cover.wanted:.0%}.",
                "Use ConformalRegressor around the model; see whether these rows are like the training rows.",
            )
