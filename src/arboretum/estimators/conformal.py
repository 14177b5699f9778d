"""ConformalRegressor: intervals that hold as often as they say."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.correcting.conformal import WAYS_OF_NUMBERS, Conformal, Ends, Scores, conform
from arboretum.correcting.held_out import Calibrating
from arboretum.estimators.boosted_trees import BoostedTreesRegressor
from arboretum.estimators.column_arguments import values_of
from arboretum.estimators.held_out import HeldOutModel
from arboretum.estimators.protocol import Regressor
from arboretum.model.members import Members
from arboretum.parameters.checking import as_float
from arboretum.parameters.declaring import FLAG, Anything, Choice, declares_parameters, like, parameter
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]

# The spread is smoother than the target and its sizes are noisy: a small model is enough, a large one learns noise.
SPREAD: dict[str, Any] = {
    "loss": "gamma",
    "n_estimators": 50,
    "learning_rate": 0.1,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 20,
    "l2": 0.0,
    "subsample": 1.0,
    "max_features": 1.0,
    "early_stopping": False,
}


@declares_parameters
class ConformalRegressor(Regressor, HeldOutModel):
    """Prediction intervals around any regressor, valid for any model and any distribution of rows.

    Intervals are as wide as the errors on rows that the model has not seen, and follow them: they are wide where the
    target is uncertain. A small boosted model learns the spread of the errors; an estimator that predicts quantiles
    brings it along (conformalised quantile regression).

    Attributes
    ----------
    members_ : list
        The models behind the intervals: one of each fold, or ``estimator_`` alone.
    spreads_ : list or None
        Models of the size of errors, one for each of ``members_``, learned on other rows.
    scores_ : Scores
        Errors of these models on rows that they have not seen, divided by their spread.
    groups_ : tuple or None
        Groups within which intervals hold, if ``fit`` was given ``by``.

    Notes
    -----
    For rows that are exchangeable with the training rows, an interval of "split" holds y with a probability of at least
    ``coverage``; of "cross" with at least 1 − 2 (1 − coverage) in the worst case and mostly more than ``coverage`` in
    practice; of "pooled" and "oob" about ``coverage``. Time series and rows of groups are not exchangeable.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 4, (1000, 1))
    >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=1000)
    >>> base = arb.BoostedTreesRegressor(n_estimators=30, max_leaf_nodes=8, learning_rate=0.1)
    >>> model = arb.ConformalRegressor(estimator=base).fit(X[:500], y[:500])
    >>> low, high = model.predict_interval(X[500:], coverage=0.9).T
    >>> round(float(np.mean((low <= y[500:]) & (y[500:] <= high))), 1)
    0.9
    """

    estimator: Any = like(
        Calibrating,
        doc="A regressor of arboretum, scikit-learn or any library that follows its protocol; by default "
        '``BoostedTreesRegressor()``. If it predicts several columns (``loss="quantile", quantile=[0.05, 0.95]``), '
        "the first and the last are the ends of the interval to correct.",
    )
    adaptive: bool = parameter(
        True,
        FLAG,
        "Let widths follow the spread of the errors; False gives about the same width everywhere. No effect if the "
        "estimator predicts several columns.",
        before="calibration",
    )
    bounds: tuple[float | None, float | None] | None = parameter(
        None,
        Anything("pair of numbers"),
        "Smallest and largest value that the target can have, such as (0, 100); None for either is no bound. Intervals "
        "end there. It takes effect in ``predict_interval``.",
        before="calibration",
    )
    calibration: str = like(
        Calibrating,
        default="pooled",
        allowed=Choice(*WAYS_OF_NUMBERS),
        doc='Source of rows that the model has not seen. "cross" fits a model without each of ``n_folds`` folds, and '
        "one to all rows, which predicts; all of them make the intervals (CV+), which mostly cover more than is asked. "
        '"pooled" fits the same, and takes the errors of the folds for those of the model of all rows: closest to the '
        'coverage, without a guarantee. "split" fits one model and holds a share of the rows out. "oob" fits one '
        "forest and takes its out-of-bag predictions.",
    )
    n_folds: int = like(Calibrating, filled={"spread": '; with "oob", folds of the model of the spread'})
    calibration_fraction: float = like(Calibrating, filled={"halves": "; if ``adaptive``, half of them for the spread"})
    default: ClassVar = BoostedTreesRegressor
    joint_kind = Conformal

    def goal(self) -> Ends:
        """Return how numbers are read; models are asked for the ends of intervals."""
        return Ends()

    def check_parameters(self) -> None:
        """Check the parameters by themselves and together, as ``fit`` does."""
        super().check_parameters()
        _read_bounds(self.bounds)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, by: Any = None) -> ConformalRegressor:
        """Fit the estimator, and score its errors on rows that it has not seen; an error leaves all as it was.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows.
        y : array-like
            Target.
        sample_weight : array-like, optional
            Weights of the rows.
        by : array-like, optional
            Group of each row, texts or numbers: intervals then hold as often as they say within each group, and not
            only on average. The name of a column takes it out of the features; give its values to keep it there.

        Returns
        -------
        self
        """
        self.check_parameters()
        self._members = self._correct(X, y, sample_weight, by)
        return self

    def _correct(self, X: Any, y: Any, sample_weight: Any, by: Any = None) -> Members:
        shared = {name: self._option(name) for name in ("categorical_features", "n_jobs")}
        spread = BoostedTreesRegressor(**SPREAD, **shared) if self.adaptive else None
        return conform(self.held_out(), spread, X, y, sample_weight, by)

    def _option(self, name: str) -> Any:
        """Return a parameter that the estimator may have."""
        return getattr(self.estimator, name, None)

    @property
    def _joint(self) -> Conformal:
        joint = self.learned().joint
        assert isinstance(joint, Conformal)
        return joint

    @property
    def members_(self) -> list[Any]:
        """The models behind the intervals."""
        return self._joint.models(self.learned())

    @property
    def spreads_(self) -> list[Any] | None:
        """Models of the size of errors."""
        return self._joint.spreads(self.learned())

    @property
    def scores_(self) -> Scores:
        """Errors on rows that the models have not seen."""
        return self._joint.scores

    @property
    def groups_(self) -> tuple[Any, ...] | None:
        """Groups within which intervals hold, None if the model was fitted without ``by``."""
        return self._joint.groups

    @property
    def judged_as_(self) -> Any:
        """The model inside: its loss judges the whole."""
        return self.estimator_

    def predict(self, X: Any) -> FloatArray:
        """Predict the target, as ``estimator_`` does.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_levels)
        """
        return np.asarray(self.estimator_.predict(X), dtype=np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of ``estimator_``: R², or that of its quantiles."""
        return float(self.estimator_.score(X, y, sample_weight=sample_weight))

    def predict_interval(self, X: Any, coverage: Any = 0.9, *, by: Any = None) -> FloatArray:
        """Return an interval for the target of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to predict.
        coverage : float or sequence of float, default=0.9
            Share of targets that should lie in their intervals, strictly between 0 and 1; several for several
            intervals per row.
        by : array-like or str, optional
            Group of each row, or the column that holds it, if the model was fitted with groups.

        Returns
        -------
        ndarray of float64, (n_rows, 2), or (n_coverages, n_rows, 2) for a sequence
            Lower and upper ends, which belong to the interval. Of a sequence, the interval of a larger coverage
            contains that of a smaller one. No end lies beyond ``bounds``, or where the estimator cannot predict: those
            around counts (``loss="poisson"``, "gamma", "tweedie") are at least 0.
        """
        levels, threads = _levels(coverage), n_threads(self._option("n_jobs"))
        group, bounds = values_of(X, by, "by"), _read_bounds(self.bounds)
        intervals = self._joint.intervals(self.learned(), X, levels, threads, group, bounds)
        return np.asarray(intervals[0]) if np.ndim(coverage) == 0 else intervals


def _read_bounds(bounds: Any) -> tuple[float, float]:
    """Check the range of the target."""
    if bounds is None:
        return -np.inf, np.inf
    wanted = f"bounds={shown(bounds)}: use a pair of numbers that rise, such as (0, 100), or None for either"
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ValueError(wanted)
    for bound in bounds:
        if bound is not None and (isinstance(bound, bool | np.bool_) or not isinstance(bound, numbers.Real)):
            raise ValueError(wanted)
    low, high = (no if bound is None else as_float(bound) for bound, no in zip(bounds, (-np.inf, np.inf), strict=True))
    if not low < high:
        raise ValueError(wanted)
    return low, high


def _levels(coverage: Any) -> list[float]:
    """Check coverages, one or several."""
    several = np.ndim(coverage) == 1 and not isinstance(coverage, str)
    levels = list(coverage) if several else [coverage]
    for level in levels:
        if isinstance(level, bool | np.bool_) or not isinstance(level, numbers.Real) or not 0 < as_float(level) < 1:
            raise ValueError(
                f"coverage={shown(coverage)}: use a number strictly between 0 and 1, or a list of such numbers"
            )
    if not levels:
        raise ValueError("coverage is empty: give at least one number strictly between 0 and 1")
    return [float(level) for level in levels]
