"""ConformalRegressor: intervals that hold as often as they say."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.correcting.conformal import Scores, nonconformity
from arboretum.data import targets
from arboretum.ensembles.bagging.resampling import Positions
from arboretum.estimators.bagging_members import FloatArray, GivenTable, is_classifier
from arboretum.estimators.bagging_model import BaggingModel, read_member
from arboretum.estimators.boosted_trees import BoostedTreesRegressor
from arboretum.estimators.held_out import Calibrating, HeldOutModel, Unseen, quiet
from arboretum.estimators.protocol import Estimator, Regressor
from arboretum.losses import Loss
from arboretum.losses.links import RANGES
from arboretum.parameters.checking import as_float
from arboretum.parameters.declaring import FLAG, declares_parameters, fitted, like, parameter
from arboretum.running.threads import n_threads

POSITIVE = {"poisson", "gamma", "tweedie"}

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
LEAST_SPREAD = 1e-3  # of the mean size: errors of 0 have no logarithm


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

    Notes
    -----
    For rows that are exchangeable with the training rows, an interval of "split" holds y with a probability of at least
    ``coverage``; of "cross" with at least 1 − 2 (1 − coverage) in the worst case and about ``coverage`` in practice; of
    "oob" about ``coverage``. Time series and rows of groups are not exchangeable.

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
        doc="A regressor of arboretum, scikit-learn or any other that follows its protocol; by default "
        '``BoostedTreesRegressor()``. If it predicts several columns (``loss="quantile", quantile=[0.05, 0.95]``), '
        "the first and the last are the ends of the interval to correct.",
    )
    adaptive: bool = parameter(
        True,
        FLAG,
        "Let widths follow the spread of the errors; False gives about the same width everywhere. Of no effect if the "
        "estimator predicts several columns.",
        before="calibration",
    )
    n_folds: int = like(Calibrating, filled={"spread": '; of "oob" those of the spread'})
    calibration_fraction: float = like(Calibrating, filled={"halves": "; if ``adaptive``, half of them for the spread"})
    members_: list[Any] = fitted()
    spreads_: list[Any] | None = fitted()
    scores_: Scores = fitted()
    _classifies = False

    def _default_estimator(self) -> Any:
        return BoostedTreesRegressor()

    def _read_target(self, column: NDArray[Any]) -> tuple[Any, FloatArray]:
        return None, targets.regression_target(column)

    def _outcome(self, model: Any, part: Any, facts: Any) -> FloatArray:
        return ends_of(model.predict(part))

    def _out_of_bag(self, model: Any) -> FloatArray:
        return ends_of(model.oob_prediction_)

    def _correct(
        self, source: GivenTable, kept: Positions, facts: Any, numbers: FloatArray, unseen: list[Unseen]
    ) -> None:
        errors = [nonconformity(part.prediction, numbers[part.rows]) for part in unseen]
        spreads = None
        if self.adaptive and all((part.prediction[:, 0] == part.prediction[:, 1]).all() for part in unseen):
            tables = [source.part(kept[part.rows], None) for part in unseen]
            scored = slice(0, 1) if self.calibration == "split" else slice(None)
            spreads = self._fit_spreads(source, kept, unseen, errors)[scored]
            unseen = unseen[scored]
            with quiet():
                errors = [e / s.predict(X) for e, s, X in zip(errors, spreads, tables, strict=False)]
        self.scores_ = Scores.of([(error, part.weight) for error, part in zip(errors, unseen, strict=True)])
        self.members_, self.spreads_ = [part.model for part in unseen], spreads

    def _fit_spreads(
        self, source: GivenTable, kept: Positions, unseen: list[Unseen], errors: list[FloatArray]
    ) -> list[BoostedTreesRegressor]:
        """Fit a model of the size of the errors of all parts but each."""
        if source.table is None:
            raise ValueError("adaptive=True needs a table of rows and columns: set adaptive=False")
        if len(unseen) < 2:
            raise ValueError("adaptive=True needs more than one row to calibrate on: give more or set adaptive=False")
        rows = np.concatenate([part.rows for part in unseen])
        weight = np.concatenate([part.weight for part in unseen])
        size = np.abs(np.concatenate(errors))
        number = np.repeat(np.arange(len(unseen)), [len(part.rows) for part in unseen])
        spreads = []
        for part in range(len(unseen)):
            others = number != part
            mean = float(np.average(size[others], weights=weight[others]))
            target = np.maximum(size[others], LEAST_SPREAD * mean) if mean > 0 else np.ones(int(others.sum()))
            spread = BoostedTreesRegressor(**SPREAD, categorical_features=self._option("categorical_features"))
            spread.set_params(n_jobs=self._option("n_jobs"))
            spreads.append(spread.fit(source.part(kept[rows[others]], None), target, weight[others]))
        return spreads

    def _option(self, name: str) -> Any:
        """Return a parameter that the estimator may have."""
        return getattr(self.estimator, name, None)

    @property
    def judged_as_(self) -> Any:
        """The model inside: its loss judges the whole."""
        return self._fitted()

    def predict(self, X: Any) -> FloatArray:
        """Predict the target, as ``estimator_`` does.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_levels)
        """
        return np.asarray(self._fitted().predict(X), dtype=np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of ``estimator_``: R², or that of its quantiles.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to predict.
        y : array-like
            Their targets.
        sample_weight : array-like, optional
            Weight of each row.
        """
        return float(self._fitted().score(X, y, sample_weight=sample_weight))

    def predict_interval(self, X: Any, coverage: Any = 0.9) -> FloatArray:
        """Return an interval for the target of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to predict.
        coverage : float or sequence of float, default=0.9
            Share of targets that should lie in their intervals, strictly between 0 and 1; several for several
            intervals per row.

        Returns
        -------
        ndarray of float64, (n_rows, 2), or (n_coverages, n_rows, 2) for a sequence
            Lower and upper ends, which belong to the interval. Of a sequence, the interval of a larger coverage
            contains that of a smaller one. No end lies where the estimator cannot predict: those around counts
            (``loss="poisson"``, "gamma", "tweedie") are at least 0.
        """
        model = self._fitted()
        levels = _levels(coverage)
        for level in levels:
            self.scores_.needed(level)  # refuses before the work of predicting
        asked = {id(member): ends_of(member.predict(X)) for member in {id(m): m for m in self.members_}.values()}
        ends = np.stack([asked[id(member)] for member in self.members_], axis=1)
        with quiet():  # the members have warned
            spread = None if self.spreads_ is None else np.stack([s.predict(X) for s in self.spreads_], axis=1)
        low, high, threads = ends[..., 0], ends[..., 1], n_threads(self._option("n_jobs"))
        found = [self.scores_.intervals(low, high, level, spread=spread, threads=threads) for level in levels]
        intervals = np.clip(np.stack(found), *range_of(model))
        if np.ndim(coverage) == 0:
            return np.asarray(intervals[0])
        # An interval that was turned inside out need not lie within the next larger one.
        for larger, smaller in pairwise(np.argsort(levels)[::-1].tolist()):
            intervals[smaller] = np.clip(intervals[smaller], intervals[larger, :, :1], intervals[larger, :, 1:])
        return intervals

    # ---- files ---------------------------------------------------------------------------------------------------

    def _models(self) -> Iterator[tuple[str, Any]]:
        yield from super()._models()
        if self.calibration == "cross":
            yield from ((f"member {number}", member) for number, member in enumerate(self.members_))
        yield from ((f"spread {number}", spread) for number, spread in enumerate(self.spreads_ or []))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return self.scores_.to_arrays()

    def _read_correction(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.scores_ = Scores.from_arrays(arrays)
        lists = range(self.scores_.n_lists)
        crossed = self.calibration == "cross"
        self.members_ = [read_member(arrays[f"member {number}"]) if crossed else self.estimator_ for number in lists]
        spreads = [read_member(arrays[f"spread {number}"]) for number in lists] if "spread 0" in arrays else None
        for member in (*self.members_, *(spreads or [])):
            if is_classifier(member) or member.n_features_in_ != self.estimator_.n_features_in_:
                raise ValueError(f"a member of class {type(member).__name__} that is unlike the estimator")
        self.spreads_ = spreads


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


def range_of(model: Any) -> tuple[float, float]:
    """Least and largest value that a regressor can predict, as far as its loss tells.

    Examples
    --------
    >>> range_of(BoostedTreesRegressor(loss="poisson", n_estimators=1).fit([[0.0], [1.0]], [0, 1]))
    (0.0, inf)
    """
    if isinstance(model, BaggingModel) and model.estimators_:
        return range_of(model.estimators_[0])
    if isinstance(loss := getattr(model, "loss_", None), Loss):
        return RANGES[loss.link]
    if isinstance(model, Estimator) and (base := getattr(model, "estimator", None)) is not None:
        return range_of(base)
    # Such as "poisson", "count:poisson" or "Tweedie:variance_power=1.5", in the words of several libraries.
    given = [getattr(model, name, None) for name in ("criterion", "loss", "objective", "loss_function")]
    if any(set(re.split("[:_]", name.lower())) & POSITIVE for name in given if isinstance(name, str)):
        return RANGES["exp"]
    if isinstance(model, Estimator):
        return RANGES["identity"]
    from sklearn.utils import get_tags

    try:
        return RANGES["exp" if get_tags(model).target_tags.positive_only else "identity"]
    except (AttributeError, TypeError):  # it has no tags
        return RANGES["identity"]


def ends_of(prediction: Any) -> FloatArray:
    """First and last column of quantiles, (rows, 2); a point prediction is both.

    Examples
    --------
    >>> ends_of([3.0]), ends_of([[1.0, 2.0, 5.0]])
    (array([[3., 3.]]), array([[1., 5.]]))
    """
    columns = np.asarray(prediction, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    return np.stack([columns[:, 0], columns[:, -1]], axis=1)
