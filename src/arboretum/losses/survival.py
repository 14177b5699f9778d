"""Losses of times that may be censored: Cox's partial likelihood and accelerated failure times.

Targets are bounds of each row's time, (rows, 2)::

    lower = upper            the event was seen at this time
    upper = infinity         nothing had happened when the row was last seen: censored
    0 < lower < upper        it happened between two looks         accelerated failure times only
    lower = 0                it had happened before the first look         "
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.arguments import first_true
from arboretum.elementary import bounded_exp, log
from arboretum.losses.base import LARGEST_TARGET, Loss, weighted_mean
from arboretum.losses.links import FloatArray
from arboretum.losses.root_finding import zero_near

DISTRIBUTIONS = ("normal", "logistic", "extreme")
SCALES = (1e-3, 1e3)  # what a learnt scale stays within: rows that are fitted exactly would make it 0
FARTHEST = (-50.0, 50.0)  # logarithms that a constant is sought within: those of times mostly censored grow without end
NARROW = 1e-6  # intervals of z whose density is that of an event (kernel/losses/survival_losses.cpp)


@dataclass(frozen=True)
class Cox(Loss):
    """Negative logarithm of Cox's partial likelihood: raw predictions are logarithms of hazard ratios.

    Ties are counted after Efron. Raw predictions are known up to a constant; boosting starts from 0.

    References
    ----------
    Cox, D. R. (1972). Regression models and life tables. JRSS B 34.
    Efron, B. (1977). The efficiency of Cox's likelihood function for censored data. JASA 72.

    Examples
    --------
    Three rows, of which the second leaves at time 2 without event:

    >>> y = np.array([[1.0, 1.0], [2.0, np.inf], [3.0, 3.0]])
    >>> gradient, hessian = Cox().gradients(y, raw=np.zeros(3))
    >>> gradient.round(3), hessian.round(3)
    (array([-0.667,  0.333,  0.333]), array([0.222, 0.222, 0.222]))
    """

    name = "cox"
    task = "survival"
    self_concordant = True
    row_wise = False

    def check_target(self, y: FloatArray) -> None:
        """Reject intervals and targets without any event."""
        check_bounds(y)
        if (row := first_interval(y)) is not None:
            raise ValueError(
                f"y[{row}] lies between {y[row, 0]:g} and {y[row, 1]:g}: loss='cox' takes only events and "
                "right-censored rows; use loss='aft'"
            )
        check_events(y)

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return 0: constants cancel."""
        return np.zeros(1)

    def start_from(self, y: FloatArray, offset: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return 0: constants cancel."""
        return self.start(y, weight)

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return derivatives of the whole loss by each raw prediction: gradient, and diagonal of the hessian."""
        return self.weighted_gradients(y, raw, None)

    def weighted_gradients(
        self, y: FloatArray, raw: FloatArray, weight: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the same with weights, which count in the risk sets too."""

        def of_all(y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> list[FloatArray]:
            gradient, hessian = np.empty_like(raw), np.empty_like(raw)
            _kernel.cox_gradients(y, raw, weight, by_time(y), gradient, hessian)
            return [gradient, hessian]

        gradient, hessian = of_all_rows(of_all, y, raw, weight)
        return gradient, hessian

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return what each event costs; censored rows cost nothing themselves."""
        return self._weighted_values(y, raw, None)

    def value(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None = None) -> float:
        """Mean over all rows, weighted in risk sets and outside."""
        values = self._weighted_values(y, raw, weight)
        return float(weighted_mean(values, weight))

    def _weighted_values(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> FloatArray:
        def of_all(y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> list[FloatArray]:
            values = np.empty_like(raw)
            _kernel.cox_values(y, np.ascontiguousarray(raw), weight, by_time(y), values)
            return [values]

        (values,) = of_all_rows(of_all, y, raw, weight)
        return values

    def baseline(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return times of events, rising, and ln of the cumulative hazard of raw prediction 0 (Breslow 1974)."""
        found: list[tuple[FloatArray, FloatArray]] = []

        def of_all(y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> list[FloatArray]:
            found.append(_kernel.cox_baseline(y, np.ascontiguousarray(raw), weight, by_time(y)))
            return []

        of_all_rows(of_all, y, raw, weight)
        return places.told(lambda: found[0])


@dataclass(frozen=True)
class AcceleratedFailure(Loss):
    """Negative log likelihood of ln T = raw + scale · Z: raw predictions are logarithms of times.

    Parameters
    ----------
    distribution : {"normal", "logistic", "extreme"}
        Of Z; T is log-normal, log-logistic or Weibull.
    scale : float
        Above 0.
    learns_scale : bool
        Whether the scale is that of the greatest likelihood for the raw predictions: ``for_round`` finds it at the
        beginning of each round, ``fitted`` after the last.

    References
    ----------
    Barnwal, A., Cho, H., Hocking, T. (2022). Survival regression with accelerated failure time model in XGBoost.
    Journal of Computational and Graphical Statistics 31.

    Examples
    --------
    An event at time 1, a row censored then, and one known to lie between 1 and e:

    >>> y = np.array([[1.0, 1.0], [1.0, np.inf], [1.0, np.e]])
    >>> gradient, hessian = AcceleratedFailure("logistic").gradients(y, raw=np.zeros(3))
    >>> gradient.round(3), hessian.round(3)
    (array([ 0.   , -0.5  , -0.231]), array([0.5  , 0.25 , 0.447]))

    The scale of errors that are normal is the root of their mean square:

    >>> y = np.exp([[-1.0, -1.0], [3.0, 3.0]])
    >>> loss = AcceleratedFailure(learns_scale=True).fitted(y, raw=np.zeros(2), weight=None)
    >>> round(loss.scale**2, 4)
    5.0
    """

    name = "aft"
    task = "survival"
    link = "exp"

    distribution: str = "normal"
    scale: float = 1.0
    learns_scale: bool = False

    def __post_init__(self) -> None:
        if self.distribution not in DISTRIBUTIONS:
            raise ValueError(f"distribution={self.distribution!r}: use one of {', '.join(map(repr, DISTRIBUTIONS))}")
        if not 0 < self.scale <= LARGEST_TARGET:
            raise ValueError(f"scale={self.scale!r}: use a number above 0")

    def parameters(self) -> dict[str, Any]:
        """Return the distribution, the scale and, if so, that it was learnt."""
        learnt = {"learns_scale": True} if self.learns_scale else {}
        return {"distribution": self.distribution, "scale": self.scale, **learnt}

    @property
    def learns_from_raw(self) -> bool:
        """Whether the scale follows from raw predictions."""
        return self.learns_scale

    def continues(self, fitted: Loss) -> bool:
        """Whether rounds of this loss can be added to a model of that one: whatever the scale, if both learn it."""
        if not isinstance(fitted, AcceleratedFailure) or not (self.learns_scale and fitted.learns_scale):
            return super().continues(fitted)
        return fitted.distribution == self.distribution

    @property
    def self_concordant(self) -> float:  # type: ignore[override]  # a fact of its parameters
        """Growth of hessians: for the logistic and the extreme value distribution, that of odds and hazards.

        For the latter this holds for events and right-censored rows; the loss of others grows at most linearly.
        """
        return 0.0 if self.distribution == "normal" else 1 / self.scale

    def check_target(self, y: FloatArray) -> None:
        """Reject events at time 0, and targets without any upper bound."""
        check_bounds(y)
        if (row := first_true(y[:, 1] <= 0)) is not None:
            raise ValueError(
                f"y[{row}] has its event at time {y[row, 1]:g}: loss='aft' needs events after time 0, because it takes "
                "logarithms; give the upper bound of the first look, or use loss='cox'"
            )
        check_events(y)

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Best constant, from the mean of the logarithms: by Newton's method, or together with its scale."""
        middle = float(weighted_mean(_known_logarithms(y), weight))
        best = self._start_with_scale if self.learns_scale else super().start
        return middle + best(y / bounded_exp(middle), weight)

    def _start_with_scale(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Best constant, each with the best scale for it."""

        def slope(constant: float) -> float:
            raw = np.full(len(y), constant)
            loss = self.fitted(y, raw, weight)
            return float(weighted_mean(loss.gradients(y, raw)[0], weight)) * loss.scale**2

        return np.array([zero_near(slope, 0.0, 1.0, *FARTHEST)])

    def start_from(self, y: FloatArray, offset: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Best constant for times in units of exp(offset)."""
        return self.start(y / bounded_exp(offset)[:, np.newaxis], weight)

    def for_round(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> AcceleratedFailure:
        """Return this loss with the best scale for these raw predictions, if it is to learn it."""
        return self.fitted(y, raw, weight)

    def fitted(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> AcceleratedFailure:
        """Return this loss with the best scale for these raw predictions, if it is to learn it.

        The likelihood is concave in 1 / scale, as the logarithms of the densities are (Burridge 1981): it is greatest
        where its slope changes its sign.
        """
        if not self.learns_scale:
            return self
        logarithms, (low, high) = _known_logarithms(y), log(SCALES)

        def slope(logarithm: float) -> float:
            loss = replace(self, scale=float(bounded_exp(logarithm)))
            return float(weighted_mean(loss.slopes_by_scale(y, raw, logarithms), weight))

        square = float(weighted_mean((logarithms - raw) ** 2, weight))
        first = float(log(min(max(square, SCALES[0] ** 2), SCALES[1] ** 2))) / 2
        return replace(self, scale=float(bounded_exp(zero_near(slope, first, 2.0, low, high))))

    def slopes_by_scale(self, y: FloatArray, raw: FloatArray, logarithms: FloatArray) -> FloatArray:
        """Return the derivatives of values by ln(scale): 1 for a density, −Σ over bounds of z · derivative by z."""
        values, gradient, _ = self._terms(y, raw)
        lower, upper = y.T
        slopes = gradient * (logarithms - raw)
        inside = (lower > 0) & np.isfinite(upper)
        is_interval = inside & (lower < upper)
        if is_interval.any():
            a, b = (log(bound[is_interval]) for bound in (lower, upper))
            is_interval[is_interval] = (b - a) / self.scale >= NARROW
        slopes[inside & ~is_interval] += 1.0
        if is_interval.any():
            slopes[is_interval] = 0.0
            for bound, sign in ((lower, -1.0), (upper, 1.0)):
                at, centre = bound[is_interval], raw[is_interval]
                distance = log(at) - centre
                density = log(at) + log(self.scale) - self._terms(np.column_stack([at, at]), centre)[0]
                slopes[is_interval] += sign * distance / self.scale * bounded_exp(values[is_interval] + density)
        return slopes

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return derivatives of the negative log likelihood of each row."""
        _, gradient, hessian = self._terms(y, raw)
        return gradient, hessian

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return the negative log likelihood of each row."""
        return self._terms(y, raw)[0]

    def _terms(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        values, gradient, hessian = np.empty_like(raw), np.empty_like(raw), np.empty_like(raw)
        bounds, raw = np.ascontiguousarray(y), np.ascontiguousarray(raw)
        _kernel.aft_terms(self._kind, self.scale, bounds, raw, values, gradient, hessian)
        return values, gradient, hessian

    def log_survival(self, times: FloatArray, raw: FloatArray) -> FloatArray:
        """Logarithm of the probability of an event after each time, (rows, times)."""
        with np.errstate(divide="ignore"):
            z = (np.log(times) - raw[:, np.newaxis]) / self.scale
        logarithm = np.empty_like(z)
        _kernel.aft_log_survival(self._kind, z, logarithm)
        return logarithm

    def quantiles(self, level: float, raw: FloatArray) -> FloatArray:
        """Return the time by which the event comes with this probability, between 0 and 1, for each row."""
        odds = math.log(level) - math.log1p(-level)
        z = {
            "normal": NormalDist().inv_cdf(level),
            "logistic": odds,
            "extreme": math.log(-math.log1p(-level)),
        }
        return self.predict(raw + self.scale * z[self.distribution])

    @property
    def _kind(self) -> _kernel.AftDistribution:
        return _kernel.AftDistribution[self.distribution]


def _known_logarithms(y: FloatArray) -> FloatArray:
    """Return the logarithm of each row's upper bound, or of its lower one if there is none."""
    return log(np.where(np.isfinite(y[:, 1]), y[:, 1], np.maximum(y[:, 0], np.finfo(np.float64).tiny)))


def of_all_rows(
    compute: Callable[[FloatArray, FloatArray, FloatArray | None], list[FloatArray]],
    y: FloatArray,
    raw: FloatArray,
    weight: FloatArray | None,
) -> list[FloatArray]:
    """Return columns that are computed from all rows: an event is compared with all that are still at risk.

    Rows in several places are gathered at one of them, 16 to 32 bytes each, and the columns are sent back.
    """
    if places.here() is None:
        return compute(y, raw, weight)
    nothing: list[Any] = [None] * (places.count() - 1)
    came = places.exchanged([(y, raw, weight), *nothing])
    sent: list[Any] = [None, *nothing]
    if places.index() == 0:
        of_rows: list[Any] = [None if part[0] is None else np.concatenate(part) for part in zip(*came, strict=True)]
        ends = np.cumsum([len(part[0]) for part in came])[:-1]
        with places.among(None):
            columns = compute(*of_rows)
        sent = [list(part) for part in zip(*(np.split(column, ends) for column in columns), strict=True)] or sent
    columns_here: list[FloatArray] = places.exchanged(sent)[0] or []
    return columns_here


def by_time(y: FloatArray) -> NDArray[np.int64]:
    """Rows in the order of their times; as good as free if they come in it."""
    return np.argsort(y[:, 0], kind="stable").astype(np.int64, copy=False)


def first_interval(y: FloatArray) -> int | None:
    """Return the first row whose event lies between two known times; None if there is none."""
    return first_true(~is_event(y) & np.isfinite(y[:, 1]))


def is_event(y: FloatArray) -> NDArray[np.bool_]:
    """Whether the event of each row was seen."""
    return np.asarray(y[:, 0] == y[:, 1])


def check_bounds(y: FloatArray) -> None:
    """Reject values that are not bounds of times."""
    if y.ndim != 2 or y.shape[1] != 2 or not places.total(len(y)):
        raise ValueError(f"y has shape {y.shape}: a survival target is bounds of times, (rows, 2)")
    lower, upper = y.T
    bad = ~((lower >= 0) & (lower <= upper) & (lower <= LARGEST_TARGET))
    if (row := first_true(bad)) is not None:
        raise ValueError(
            f"y[{row}] = ({y[row, 0]:g}, {y[row, 1]:g}): the lower bound must be finite, at least 0, and not above the "
            "upper one"
        )


def check_events(y: FloatArray, name: str = "y") -> None:
    """Reject a target without any event."""
    if not places.anywhere(bool(np.isfinite(y[:, 1]).any())):
        raise ValueError(
            f"{name} has no event in {places.total(len(y))} rows, all are censored: there is nothing to learn; check "
            "the event column (1 or True where the event was seen)"
        )
