"""What single columns tell about the target: the rows in a bin of a column are predicted by the mean of the bin.

Targets are numbers whose squared distance is a loss: ranks of numbers, indicators of classes. The *share* of a column
is 1 − its loss / that of the overall mean, on rows that the means were not taken from: R² of ranks, or the Brier skill.
Bins are those of ``cells``: 32 of equal numbers of rows, or the categories; missing values are one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import ColumnSchema
from arboretum.report.chance import mean_and_error
from arboretum.report.columns import each_column
from arboretum.report.drift import bin_edges
from arboretum.report.subject import FloatArray, Rows, Subject

Codes: TypeAlias = NDArray[np.intp]

BINS = 32
MOST_ROWS = 10_000  # of each part
MOST_COLUMNS = 60  # those of most gain
MOST_CLASSES = 12  # the others are one
LEAST_ROWS = 5  # of a category that has a bin of its own
PRIOR_ROWS = 2.0  # that every bin is thought to have besides, of the overall mean
MISSING_CELL, RARE_CELL = 0, 1

# The model of all other columns: small, for it must only show what they know together.
OTHERS: dict[str, Any] = {
    "n_estimators": 80,
    "learning_rate": 0.1,
    "max_leaf_nodes": 15,
    "min_samples_leaf": 10,
    "early_stopping": False,
}
OTHERS_ROWS = 4_000


@dataclass(frozen=True)
class Skill:
    """What a column explains: a share of the loss, and the same per row in units of the loss, with its error."""

    share: float
    gain: float
    error: float


@dataclass(frozen=True, eq=False)
class Probe:
    """One column: its bins in both parts, and the targets of both; without training rows, halves of the others."""

    name: str
    train: Codes
    test: Codes
    target_train: FloatArray
    target: FloatArray

    @cached_property
    def skill(self) -> Skill:
        """What the column explains in the rows of the report, by the means of training rows."""
        return _skill(self.train, self.target_train, self.test, self.target)

    @cached_property
    def skill_in_training(self) -> Skill:
        """What the column explains in training rows, each half by the means of the other."""
        half = np.random.default_rng(0).permutation(len(self.train)) % 2 == 0
        first, second = (
            _skill(self.train[fit], self.target_train[fit], self.train[~fit], self.target_train[~fit])
            for fit in (half, ~half)
        )
        error = float(np.hypot(first.error, second.error) / 2)
        return Skill((first.share + second.share) / 2, (first.gain + second.gain) / 2, error)

    @cached_property
    def holes(self) -> Probe:
        """The same column, of which only is known whether values are missing."""
        train, test = ((codes == MISSING_CELL).astype(np.intp) for codes in (self.train, self.test))
        return Probe(self.name, train, test, self.target_train, self.target)


def _skill(fit: Codes, fit_target: FloatArray, codes: Codes, target: FloatArray) -> Skill:
    n_cells = int(max(fit.max(initial=0), codes.max(initial=0))) + 1
    mean = fit_target.mean(axis=0)
    rows = np.bincount(fit, minlength=n_cells)
    sums = np.column_stack([np.bincount(fit, part, n_cells) for part in fit_target.T])
    means = (sums + PRIOR_ROWS * mean) / (rows + PRIOR_ROWS)[:, None]
    constant = ((target - mean) ** 2).sum(axis=1)
    gain, error = mean_and_error(constant - ((target - means[codes]) ** 2).sum(axis=1))
    total = float(constant.mean())
    return Skill(gain / total if total > 0 else 0.0, gain, error)


# ---- all columns of a report -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Probes:
    """Columns of most gain, each by itself, and what all columns but some know together."""

    columns: dict[int, Probe]
    train: Rows
    test: Rows
    target_train: FloatArray
    target: FloatArray
    is_number: bool

    def share_of_others(self, left_out: list[int]) -> float:
        """Return what all probed columns but these explain together, by a small boosted model."""
        import arboretum as arb

        kept = [place for place in self.columns if place not in left_out]
        if not kept:
            return 0.0
        some = np.random.default_rng(1).permutation(self.train.n_rows)[:OTHERS_ROWS]
        train, test = self.train.take(np.sort(some)), self.test
        X_train, X = (_matrix(rows, kept) for rows in (train, test))
        schema = self.train.table.schema
        categorical = [at for at, place in enumerate(kept) if schema.columns[place].kind == "categorical"]
        fit_target, settings = self.target_train[np.sort(some)], {**OTHERS, "categorical_features": categorical}
        told = np.empty_like(self.target)
        if self.is_number:
            told[:, 0] = arb.BoostedTreesRegressor(**settings).fit(X_train, fit_target[:, 0]).predict(X)
        else:
            code = fit_target.argmax(axis=1)
            if len(np.unique(code)) < 2:
                return 0.0
            model = arb.BoostedTreesClassifier(**settings).fit(X_train, code)
            told[:] = 0.0
            told[:, model.classes_] = model.predict_proba(X)
        constant = ((self.target - fit_target.mean(axis=0)) ** 2).sum()
        return float(1 - ((self.target - told) ** 2).sum() / constant) if constant > 0 else 0.0


def _matrix(rows: Rows, columns: list[int]) -> FloatArray:
    """Return columns as numbers; codes of categories too, with missing and unknown ones as NaN."""
    matrix = np.empty((rows.n_rows, len(columns)))
    wanted = {place: at for at, place in enumerate(columns)}
    for place, (column, values) in enumerate(each_column(rows.table)):
        if place in wanted:
            numbers = values.astype(np.float64)
            if column.kind == "categorical":
                numbers[values < 0] = np.nan
            matrix[:, wanted[place]] = numbers
    return matrix


def probes_of(subject: Subject) -> Iterator[Probes]:
    """Probe the columns for each output of the target; nothing for outlier detectors."""
    if not subject.task.needs_target or subject.test.y is None:
        return
    train, test = _parts(subject)
    if min(train.n_rows, test.n_rows) < 2 * BINS:
        return
    columns = _columns_of_most_gain(subject)
    codes = {}
    pairs = zip(each_column(train.table), each_column(test.table), strict=True)
    for place, ((column, before), (_, after)) in enumerate(pairs):
        if place in columns:
            codes[place] = (column.name, *cells(column, before, after))
    for target_train, target, is_number in _targets(subject, train, test):
        known = {place: Probe(*of, target_train, target) for place, of in codes.items()}
        yield Probes(known, train, test, target_train, target, is_number)


def _parts(subject: Subject) -> tuple[Rows, Rows]:
    """Return rows to take means from and rows to judge them by."""
    draw = np.random.default_rng(0)

    def some(rows: Rows, drawn: NDArray[np.intp]) -> Rows:
        return rows.take(np.sort(drawn[:MOST_ROWS]))

    order = draw.permutation(subject.test.n_rows)
    if subject.train is None:
        half = len(order) // 2
        return some(subject.test, order[:half]), some(subject.test, order[half:])
    return some(subject.train, draw.permutation(subject.train.n_rows)), some(subject.test, order)


def _columns_of_most_gain(subject: Subject) -> list[int]:
    gain = subject.use_by_trees("gain")
    gain = np.zeros(subject.schema.n_features) if gain is None else np.nan_to_num(gain)
    return [int(place) for place in np.argsort(-gain, kind="stable")[:MOST_COLUMNS]]


def cells(column: ColumnSchema, before: NDArray[Any], after: NDArray[Any]) -> tuple[Codes, Codes]:
    """Return the bins of a column in both parts; bin 0 is of missing values, bin 1 of rare and unseen categories.

    Examples
    --------
    >>> cells(ColumnSchema("x", "numeric", "number"), np.array([1.0, 2.0, np.nan]), np.array([9.0]))
    (array([1, 2, 0]), array([2]))
    """
    if column.kind == "categorical":
        own = np.bincount(before[before >= 0], minlength=len(column.categories)) >= LEAST_ROWS
        place = np.where(own, RARE_CELL + np.cumsum(own), RARE_CELL)
        place = np.append(place, [RARE_CELL, MISSING_CELL])  # where the codes −2 and −1 point
        return place[before], place[after]
    known = np.sort(before[~np.isnan(before)])
    edges = bin_edges(known, BINS)
    first, second = (
        np.where(np.isnan(values), MISSING_CELL, 1 + np.searchsorted(edges, values, side="left"))
        for values in (before, after)
    )
    return first, second


# ---- targets as numbers whose squared distance is a loss -------------------------------------------------------------


def _targets(subject: Subject, train: Rows, test: Rows) -> Iterator[tuple[FloatArray, FloatArray, bool]]:
    assert train.y is not None
    assert test.y is not None
    if subject.task.role == "event":
        yield _residual_times(train.y), _residual_times(test.y), True
        return
    for before, after in zip(train.y.T, test.y.T, strict=True):
        if subject.task.has_numbers or subject.task.role == "group":
            yield (*_ranks(before.astype(np.float64), after.astype(np.float64)), True)
        else:
            yield (*_indicators(before, after), False)


def _ranks(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of training rows below each number, ties in the middle."""
    rising = np.sort(before[~np.isnan(before)])

    def ranks(values: FloatArray) -> FloatArray:
        below = np.searchsorted(rising, values, side="left") + np.searchsorted(rising, values, side="right")
        share = below / (2 * max(len(rising), 1))
        return np.where(np.isnan(values), 0.5, share)[:, None]

    return ranks(before), ranks(after)


def _indicators(before: NDArray[Any], after: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Return whether each row is of each class; all but the most frequent classes count as one."""
    labels, code, counts = np.unique(np.concatenate([before, after]), return_inverse=True, return_counts=True)
    rank = np.empty(len(labels), np.intp)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(labels))
    code = np.minimum(rank[code], MOST_CLASSES - 1)
    table = np.eye(int(code.max()) + 1)[code]
    return table[: len(before)], table[len(before) :]


def _residual_times(bounds: FloatArray) -> FloatArray:
    """Event less cumulative hazard of all rows (Nelson–Aalen) at the time of each: martingale residuals."""
    time, event = bounds[:, 0], bounds[:, 0] == bounds[:, 1]
    place = np.unique(time, return_inverse=True)[1]
    at_risk = np.bincount(place)[::-1].cumsum()[::-1]
    hazard = np.cumsum(np.bincount(place, event) / at_risk)
    return np.asarray(event - hazard[place], np.float64)[:, None]
