"""Rows of the report that are unlike the training rows: drift, relations that changed, copied rows."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.report.chance import normal_limit
from arboretum.report.columns import each_column
from arboretum.report.drift import LARGE, MODERATE, Drift, moved, target_drifts
from arboretum.report.findings.finding import LEAST_ROWS, Finding, Grade
from arboretum.report.probe import Probes
from arboretum.report.subject import Rows, Subject

RELATED = 0.03  # share of the target that a column must explain in training to be asked about
LOST, LOST_MOST = 0.5, 0.8  # shares of what a column explained in training that are lost
NOTED_COPIES, SERIOUS_COPIES = 0.01, 0.05  # shares of the rows
EXCESS = 1.5  # times as many copies as training rows have among themselves


def of_columns(subject: Subject) -> Iterator[Finding]:
    """Name the columns that have moved, as far as the model reads them."""
    if not _are_enough(subject):
        return
    nodes = subject.use_by_trees("nodes")
    for drift in moved(subject.drifts):
        is_read = nodes is None or nodes[subject.names.index(drift.name)] > 0
        yield Finding(
            _grade(drift.index, is_read),
            "drift",
            f"{drift.name} is distributed differently than in training: {_figures(drift)}"
            f"{'' if is_read else '; no split reads it'}.",
            "Find out why these rows differ; if they will stay so, train on newer rows.",
            drift.name,
        )


def of_target(subject: Subject) -> Iterator[Finding]:
    """Find out whether the target has moved."""
    if not _are_enough(subject):
        return
    for drift in moved(target_drifts(subject)):
        yield Finding(
            _grade(drift.index, True),
            "drift of the target",
            f"The target is distributed differently than in training: {_figures(drift)}.",
            "Probabilities and means are those of the training rows: weigh or calibrate the model for these.",
        )


def _are_enough(subject: Subject) -> bool:
    return subject.train is not None and min(subject.train.n_rows, subject.test.n_rows) >= LEAST_ROWS


def _grade(index: float, is_read: bool) -> Grade:
    if index > LARGE and is_read:
        return "serious"
    return "caution" if index > MODERATE else "note"


def _figures(drift: Drift) -> str:
    distance = "" if drift.distance is None else f", Kolmogorov–Smirnov distance {drift.distance:.2f}"
    units = "" if drift.factor is None else f"; its values are {drift.factor:.4g} times as large: other units?"
    return f"stability index {drift.index:.2f}{distance}{units}"


# ---- relations -------------------------------------------------------------------------------------------------------


def relations(subject: Subject, probes: Probes) -> Iterator[Finding]:
    """Name columns that tell much less about the target than they did in training, beyond chance."""
    if not _are_enough(subject) or subject.task.role == "group":  # rows of a query are not independent
        return
    asked = [probe for probe in probes.columns.values() if probe.skill_in_training.share > RELATED]
    limit = normal_limit(len(asked))
    lost = {}
    for probe in asked:
        then, now = probe.skill_in_training, probe.skill
        if then.gain - now.gain > limit * np.hypot(then.error, now.error) and now.share < (1 - LOST) * then.share:
            lost[probe.name] = (then.share, max(now.share, 0.0))
    if len(lost) > max(1, len(asked) // 2):
        yield Finding(
            "serious",
            "changed relation",
            f"{len(lost)} of {len(asked)} columns that tell about the target in training tell much less about it in "
            "these rows.",
            "Look at the target of these rows: labels may be wrong, mixed up, or mean something else.",
        )
        return
    for name, (before, after) in lost.items():
        yield Finding(
            "serious" if after < (1 - LOST_MOST) * before else "caution",
            "changed relation",
            f"{name} alone explains {before:.0%} of the target in training, but {after:.0%} in these rows.",
            "See whether its values belong to these rows: a join by the wrong key or a shifted file looks like this.",
            name,
        )


# ---- copies ----------------------------------------------------------------------------------------------------------


def copies(subject: Subject) -> Iterator[Finding]:
    """Find out whether training rows occur again among these, more often than they do among themselves."""
    train, test = subject.train, subject.test
    if train is None or not _are_enough(subject):
        return
    before, after = row_keys(train), row_keys(test)
    _, place, counts = np.unique(before, return_inverse=True, return_counts=True)
    among = float((counts[place] > 1).mean())  # training rows that have a twin in training
    found = np.isin(after, before)
    share = float(found.mean())
    error = np.sqrt(2 * (among + 1 / len(before)) / len(after))  # by chance; twins come in pairs
    if share <= NOTED_COPIES or share < EXCESS * among or share - among < normal_limit(1) * error:
        return
    yield Finding(
        "serious" if share - among > SERIOUS_COPIES else "caution",
        "copied rows",
        f"{int(found.sum()):,} rows of this report ({share:.1%}) are training rows, target included; "
        f"{among:.1%} of the training rows have a twin among themselves.",
        "Remove them: a model knows rows that it was trained on, so that all figures are too good.",
    )


def row_keys(rows: Rows) -> NDArray[np.uint64]:
    """Hash all values of each row, with its target: equal rows have equal keys."""
    keys = np.zeros(rows.n_rows, np.uint64)
    for _, values in each_column(rows.table):
        keys = _mixed(keys, values)
    if rows.y is not None:
        for part in rows.y.T:
            keys = _mixed(keys, part if part.dtype.kind in "fiub" else _text_codes(part))
    return keys


def _text_codes(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the same number for the same label in any table."""
    labels, place = np.unique(values.astype(str), return_inverse=True)
    # 48 bits: float64, as which keys are mixed, holds them all
    known = [int.from_bytes(blake2b(label.encode(), digest_size=6).digest(), "little") for label in labels.tolist()]
    return np.array(known, np.int64)[place]


def _mixed(keys: NDArray[np.uint64], values: NDArray[Any]) -> NDArray[np.uint64]:
    """Add values to keys (the finaliser of SplitMix64: Steele, Lea & Flood 2014)."""
    numbers = values.astype(np.float64) + 0.0  # −0 becomes 0
    numbers = np.where(np.isnan(numbers), np.nan, numbers)  # one bit pattern for all
    with np.errstate(over="ignore"):
        mixed = keys * np.uint64(0x9E3779B97F4A7C15) + numbers.view(np.uint64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
