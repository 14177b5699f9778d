"""Whether probabilities and intervals hold as often as they claim, and what chance would do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arboretum.losses import Quantile, Quantiles
from arboretum.report.chance import chi_square_limit, normal_limit
from arboretum.report.subject import INTERVAL, FloatArray, Subject

if TYPE_CHECKING:
    from arboretum.report.evaluation.judged import Judged

BINS = 10
SMALLEST_DOUBT = 1e-3  # of probabilities 0 and 1, which one row would refute
LEAST_VARIANCE = 1.0  # of the number of hits that a bin must have to be tested by χ²


@dataclass(frozen=True, eq=False)
class Calibration:
    """Mean probability and share of a class, in bins of equal numbers of rows by probability.

    ``error`` is the root mean square of their difference, less what chance adds to the square. ``sureness`` is a
    standard normal number if probabilities are right: negative where they are too near to 0 and 1 (Spiegelhalter 1986).
    """

    told: FloatArray
    seen: FloatArray
    error: float
    chi_square: float
    freedom: int
    sureness: float

    def is_certain(self, n_tests: int) -> bool:
        """Return whether chance can hardly explain it, by either of two tests, if ``n_tests`` classes are tested."""
        limit = float(chi_square_limit(np.array([self.freedom]), 2 * n_tests)[0])
        by_bins = self.freedom > 0 and self.chi_square > limit
        return by_bins or abs(self.sureness) > normal_limit(4 * n_tests)


def calibration_of(judged: Judged, k: int) -> Calibration:
    """Compare the probabilities of class k with how often it occurs (Hosmer & Lemeshow 1980).

    If probabilities are right, the rows of a class in a bin are a sum of independent draws: their number has the
    variance Σ p (1 − p).
    """
    return calibration(judged.told[:, k], judged.truth == k, judged.weight)


def calibration(proba: FloatArray, hit: Any, weight: FloatArray) -> Calibration:
    """Compare probabilities of an event with how often it occurs.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> proba = draw.random(4000)
    >>> honest = calibration(proba, draw.random(4000) < proba, np.ones(4000))
    >>> sure = calibration(np.round(proba), draw.random(4000) < proba, np.ones(4000))
    >>> honest.error < 0.02, honest.is_certain(1), round(sure.error, 1), sure.is_certain(1)
    (True, False, 0.3, True)
    """
    edges = np.unique(np.quantile(proba, np.linspace(0, 1, BINS + 1)[1:-1]))
    place = np.searchsorted(edges, proba, side="right")
    total = np.bincount(place, weight)
    full = total > 0
    total = total[full]
    hits, told = (np.bincount(place, weight * part)[full] for part in (hit, proba))
    doubt = np.clip(proba, SMALLEST_DOUBT, 1 - SMALLEST_DOUBT)
    variance = np.bincount(place, weight**2 * doubt * (1 - doubt))[full]
    square = float((((hits - told) ** 2 - variance) / total).sum() / total.sum())
    tested = variance >= LEAST_VARIANCE
    chi_square = float(((hits - told)[tested] ** 2 / variance[tested]).sum())
    # Bins of probabilities near 0 and 1 have next to no variance: they are tested as one.
    rest = float(variance[~tested].sum())
    if rest >= LEAST_VARIANCE:
        chi_square += float((hits - told)[~tested].sum() ** 2 / rest)
    freedom = int(tested.sum()) + int(rest >= LEAST_VARIANCE)
    spread = float((weight**2 * (1 - 2 * proba) ** 2 * doubt * (1 - doubt)).sum())
    sureness = float((weight * (hit - proba) * (2 * proba - 1)).sum()) / max(spread, LEAST_VARIANCE) ** 0.5
    error = float(np.sqrt(max(square, 0.0)))
    return Calibration(told / total, hits / total, error, chi_square, freedom, sureness)


@dataclass(frozen=True)
class Coverage:
    """How many rows lie below a quantile, or within intervals, beside how many were asked for."""

    name: str
    wanted: float
    share: float
    error: float
    width: float | None = None


def coverages(subject: Subject) -> Iterator[Coverage]:
    """Yield what the quantiles or the intervals of a regressor cover; nothing for models of means."""
    if not subject.task.has_numbers or subject.test.y is None or subject.test.y.shape[1] > 1:
        return
    truth, weight = subject.test.y[:, 0].astype(np.float64), subject.test.weight
    loss = getattr(subject.model, "loss_", None)
    if isinstance(loss, Quantile | Quantiles):
        levels = [loss.quantile] if isinstance(loss, Quantile) else list(loss.quantile)
        told = np.asarray(subject.told, np.float64).reshape(len(truth), -1)
        for level, part in zip(levels, told.T, strict=True):
            yield _coverage(f"Predictions of the {level:g}-quantile", level, truth <= part, truth < part, weight)
    if hasattr(subject.model, "predict_interval"):
        ends = subject.intervals
        inside = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        cover = _coverage(f"Intervals of {INTERVAL:.0%}", INTERVAL, inside, inside, weight)
        width = float(np.average(ends[:, 1] - ends[:, 0], weights=weight))
        yield Coverage(cover.name, cover.wanted, cover.share, cover.error, width)


def _coverage(name: str, wanted: float, most: Any, least: Any, weight: FloatArray | None) -> Coverage:
    """Take the share nearest to what is wanted: targets that equal a prediction may count to either side."""
    low, high = (float(np.average(part, weights=weight)) for part in (least, most))
    n_rows = len(most) if weight is None else float(weight.sum() ** 2 / (weight**2).sum())
    return Coverage(name, wanted, min(max(wanted, low), high), float(np.sqrt(wanted * (1 - wanted) / n_rows)))
