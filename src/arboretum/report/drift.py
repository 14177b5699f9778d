"""Drift: how far the rows of the report lie from the training rows, column by column, and what chance would do.

A column is cut into bins: ten of equal numbers of training rows, or its categories. Missing values have a bin of their
own. Categories of fewer than ten rows share one bin with those that training rows do not have: which of them fall into
which part of a random split is chance, so that the bin, unlike its members, says something.

With shares p and q of two samples of n and m rows::

    stability index   Σ (p − q) ln(p / q) − (1/n + 1/m) (bins − 1)       the last term is what chance adds
    test              Pearson's χ² of homogeneity, with bins − 1 degrees of freedom

Rows of one query are not independent: χ² is divided by the design effect, how much more the shares of whole queries
vary than those of as many rows would (Rao & Scott 1981).

References
----------
Yurdakul, B. (2018). Statistical properties of population stability index. Western Michigan University.
Rao, J. and Scott, A. (1981). The analysis of categorical data from complex sample surveys. JASA 76.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import UNKNOWN, ColumnSchema
from arboretum.report.chance import chi_square_limit
from arboretum.report.columns import each_column, quantile
from arboretum.report.subject import Rows, Subject

BINS = 10
LEAST_COUNT = 10  # rows of both samples that a category needs for a bin of its own
SLIGHT, MODERATE, LARGE = 0.02, 0.1, 0.25  # stability index; the last two are the usual limits
UNIT_MARKS = (0.1, 0.3, 0.5, 0.7, 0.9)  # shares of rows whose values are compared to find a change of units
SAME_FACTOR = 0.05  # largest relative difference of the factors at these marks

Verdict: TypeAlias = Literal["stable", "may be chance", "moved slightly", "moved a little", "moved"]
Codes: TypeAlias = NDArray[np.intp]
Units: TypeAlias = "Codes | None"


@dataclass(frozen=True)
class Drift:
    """How far a column has moved.

    ``factor`` is what its values are multiplied by, if the quantiles of both samples differ by one factor: units.
    """

    name: str
    index: float
    chi_square: float
    freedom: int
    distance: float | None = None
    factor: float | None = None
    limit: float = np.inf

    @property
    def is_certain(self) -> bool:
        """Whether chance can hardly explain it."""
        return self.chi_square > self.limit

    @property
    def verdict(self) -> Verdict:
        """The verdict in a few words."""
        if self.index <= SLIGHT or not self.is_certain:
            return "may be chance" if self.index > MODERATE else "stable"
        return "moved" if self.index > LARGE else "moved a little" if self.index > MODERATE else "moved slightly"

    def facts(self) -> dict[str, Any]:
        """Return what the page shows."""
        return {"name": self.name, "psi": max(self.index, 0.0), "ks": self.distance, "verdict": self.verdict}


def column_drifts(subject: Subject) -> list[Drift]:
    """Compare training rows and the rows of the report, column by column; nothing if training rows are not known."""
    train, test = subject.train, subject.test
    if train is None:
        return []
    units = query_numbers(train, test)
    pairs = zip(each_column(train.table), each_column(test.table), strict=True)
    found = [_column_drift(column, before, after, units) for (column, before), (_, after) in pairs]
    return with_limits(found)


def target_drifts(subject: Subject) -> list[Drift]:
    """Compare the targets: shares of classes, or numbers; times of survival by their lower bound."""
    train, test = subject.train, subject.test
    if train is None or train.y is None or test.y is None:
        return []
    units = query_numbers(train, test)
    found = []
    for place in range(1 if subject.task.role == "event" else train.y.shape[1]):
        before, after = train.y[:, place], test.y[:, place]
        if subject.task.has_numbers or subject.task.role == "event":
            numbers, others = before.astype(np.float64), after.astype(np.float64)
            edges = bin_edges(np.sort(numbers[~np.isnan(numbers)]))
            codes = number_codes(edges, numbers), number_codes(edges, others)
        else:
            known, place_of = np.unique(np.concatenate([before, after]), return_inverse=True)
            codes = pooled(place_of[: len(before)], place_of[len(before) :], len(known))
        found.append(_drift("", *codes, units))
    return with_limits(found)


def with_limits(found: list[Drift]) -> list[Drift]:
    """Set what χ² exceeds by chance, of all columns together."""
    limits = chi_square_limit(np.array([drift.freedom for drift in found], np.int64), len(found))
    return [replace(drift, limit=float(limit)) for drift, limit in zip(found, limits, strict=True)]


def query_numbers(train: Rows, test: Rows) -> Units:
    """Return the query of each training row, then of each row of the report; None where rows are independent."""
    if train.group is None or test.group is None:
        return None
    first, second = (np.unique(group, return_inverse=True)[1] for group in (train.group, test.group))
    return np.concatenate([first, second + first.max(initial=-1) + 1])


def _column_drift(column: ColumnSchema, before: NDArray[Any], after: NDArray[Any], units: Units) -> Drift:
    if column.kind == "categorical":
        shift = -UNKNOWN  # the first code of all: missing comes next, then the categories
        codes = pooled(before + shift, after + shift, len(column.categories) + shift)
        return _drift(column.name, *codes, units)
    first, second = (np.sort(values[~np.isnan(values)]) for values in (before, after))
    edges = bin_edges(first)
    if units is None:
        counts = [_counted(edges, *pair) for pair in ((first, len(before)), (second, len(after)))]
        found = _compared(column.name, counts[0], counts[1])
    else:
        found = _drift(column.name, number_codes(edges, before), number_codes(edges, after), units)
    distance = kolmogorov_smirnov(first, second)
    return replace(found, distance=distance, factor=unit_factor(first, second) if found.index > MODERATE else None)


def bin_edges(rising: NDArray[Any], n_bins: int = BINS) -> NDArray[Any]:
    """Return the largest values of all bins but the last, each with as many rows as the others as far as ties allow."""
    shares = np.arange(1, n_bins) / n_bins
    return np.unique([quantile(rising, share) for share in shares]) if len(rising) else np.empty(0)


def _counted(edges: NDArray[Any], rising: NDArray[Any], n_rows: int) -> NDArray[np.int64]:
    """Count the rows of each bin, and those whose value is missing."""
    ends = np.searchsorted(rising, edges, side="right")
    return np.diff(np.concatenate([[0], ends, [len(rising), n_rows]]))


def number_codes(edges: NDArray[Any], values: NDArray[Any]) -> Codes:
    """Return the bin of each number; the last one is of missing values."""
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="left"))


def pooled(before: NDArray[Any], after: NDArray[Any], n_codes: int) -> tuple[Codes, Codes]:
    """Return the bins of categories, of which code 0 stands for those that training rows do not have.

    Examples
    --------
    >>> pooled(np.array([1] * 20 + [2]), np.array([1] * 9 + [0]), 3)[1].tolist()
    [1, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    """
    both = np.bincount(before, minlength=n_codes) + np.bincount(after, minlength=n_codes)
    own = both >= LEAST_COUNT
    own[0] = False
    place = np.where(own, np.cumsum(own), 0)
    return place[before], place[after]


def _drift(name: str, before: Codes, after: Codes, units: Units) -> Drift:
    n_bins = int(max(before.max(initial=0), after.max(initial=0))) + 1
    counts = [np.bincount(codes, minlength=n_bins) for codes in (before, after)]
    spread = 1.0 if units is None else design_effect(np.concatenate([before, after]), units)
    return _compared(name, counts[0], counts[1], spread)


def _compared(name: str, before: NDArray[np.int64], after: NDArray[np.int64], spread: float = 1.0) -> Drift:
    used = before + after > 0
    before, after = before[used], after[used]
    freedom = len(before) - 1
    chance = (1 / max(before.sum(), 1) + 1 / max(after.sum(), 1)) * freedom * spread
    return Drift(name, stability_index(before, after) - chance, homogeneity(before, after) / spread, freedom)


def stability_index(before: NDArray[Any], after: NDArray[Any]) -> float:
    """Return the population stability index of two histograms over the same bins; half a row is added to each.

    Examples
    --------
    >>> stability_index(np.array([5, 5]), np.array([5, 5]))
    0.0
    >>> round(stability_index(np.array([900, 100]), np.array([100, 900])), 2)
    3.5
    """
    p, q = ((counts + 0.5) / (counts + 0.5).sum() for counts in (before, after))
    return float(((p - q) * np.log(p / q)).sum())


def homogeneity(before: NDArray[Any], after: NDArray[Any]) -> float:
    """Return Pearson's χ² for two histograms being of one distribution; every bin has a row.

    Examples
    --------
    >>> round(homogeneity(np.array([10, 20]), np.array([20, 10])), 3)
    6.667
    """
    n, m = before.sum(), after.sum()
    if not n or not m:
        return 0.0
    return float(((np.sqrt(m / n) * before - np.sqrt(n / m) * after) ** 2 / (before + after)).sum())


def design_effect(codes: Codes, unit: Codes) -> float:
    """Return how much more the shares of bins vary than those of independent rows would, at least 1.

    Examples
    --------
    >>> codes = np.repeat([0, 1, 0, 1, 1, 0], 10)  # all rows of a unit are alike
    >>> round(design_effect(codes, np.repeat(np.arange(6), 10)))
    12
    """
    n_bins, n_units, n = int(codes.max()) + 1, int(unit.max()) + 1, len(codes)
    counts = np.bincount(unit * n_bins + codes, minlength=n_units * n_bins).reshape(n_units, n_bins)
    sizes, share = counts.sum(axis=1), counts.sum(axis=0) / n
    variance = ((counts - sizes[:, None] * share) ** 2).sum(axis=0) / n**2 * n_units / max(n_units - 1, 1)
    usual = share * (1 - share) / n
    effects = variance[usual > 0] / usual[usual > 0]
    return float(max(1.0, effects.mean())) if len(effects) else 1.0


def kolmogorov_smirnov(before: NDArray[Any], after: NDArray[Any]) -> float | None:
    """Largest distance of the distribution functions of rising values; None if there are none.

    Examples
    --------
    >>> kolmogorov_smirnov(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    if not len(before) or not len(after):
        return None
    both = np.concatenate([before, after])
    shares = [np.searchsorted(values, both, side="right") / len(values) for values in (before, after)]
    return float(np.abs(shares[0] - shares[1]).max())


def unit_factor(before: NDArray[Any], after: NDArray[Any]) -> float | None:
    """Return the factor between the quantiles of rising values, if it is one for all of them and not 1.

    Examples
    --------
    >>> unit_factor(np.arange(1.0, 100.0), 1000 * np.arange(1.0, 100.0))
    1000.0
    """
    if not len(before) or not len(after):
        return None
    first, second = (np.array([quantile(values, mark) for mark in UNIT_MARKS]) for values in (before, after))
    if not (first != 0).all() or not np.isfinite(first).all() or not np.isfinite(second).all():
        return None
    factors = second / first
    middle = float(np.median(factors))
    if middle <= 0 or np.ptp(first) == 0 or np.abs(factors / middle - 1).max() > SAME_FACTOR:
        return None
    return middle if abs(np.log(middle)) > np.log1p(2 * SAME_FACTOR) else None


def moved(found: list[Drift]) -> Iterator[Drift]:
    """Yield those that chance can hardly explain."""
    yield from (drift for drift in found if drift.index > SLIGHT and drift.is_certain)
