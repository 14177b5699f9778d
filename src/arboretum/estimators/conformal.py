"""ConformalRegressor: intervals that hold as often as they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.conformal import Scores, nonconformity
from arboretum.estimators import targets
from arboretum.estimators.bagging_members import FloatArray
from arboretum.estimators.bagging_model import read_member
from arboretum.estimators.held_out import HeldOutModel, Unseen
from arboretum.estimators.protocol import Regressor
from arboretum.estimators.threads import n_threads


class ConformalRegressor(Regressor, HeldOutModel):
    """Prediction intervals around any regressor, valid for any model and any distribution of rows.

    Intervals are as wide as the errors on rows that the model has not seen. An estimator that predicts quantiles gives
    intervals that are wide where the target is uncertain (conformalised quantile regression); any other gives intervals
    of about the same width everywhere.

    Parameters
    ----------
    estimator : estimator, optional
        A regressor of arboretum, scikit-learn or any other that follows its protocol; by default
        ``BoostedTreesRegressor()``. If it predicts several columns (``loss="quantile", quantile=[0.05, 0.95]``), the
        first and the last are the ends of the interval to correct.
    calibration : {"cross", "split", "oob"}, default="cross"
        Where rows come from that the model has not seen. "cross" fits a model without each of ``n_folds`` folds, and
        one to all rows, which predicts (CV+). "split" fits one model and holds a share of the rows out. "oob" fits one
        forest and takes its out-of-bag predictions.
    n_folds : int, default=5
        Folds of "cross".
    calibration_fraction : float, default=0.2
        Share of the rows that "split" holds out.
    random_state : int, RandomState or None, default=0
        Seed of folds and shares.

    Attributes
    ----------
    estimator_ : estimator
        What ``predict`` asks.
    members_ : list
        The models behind the intervals: one of each fold, or ``estimator_`` alone.
    scores_ : Scores
        Errors of these models on rows that they have not seen.
    n_features_in_, feature_names_in_
        As in scikit-learn.

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
    >>> base = arb.BoostedTreesRegressor(n_estimators=30, max_leaf_nodes=8)
    >>> model = arb.ConformalRegressor(estimator=base).fit(X[:500], y[:500])
    >>> low, high = model.predict_interval(X[500:], coverage=0.9).T
    >>> round(float(np.mean((low <= y[500:]) & (y[500:] <= high))), 1)
    0.9
    """

    members_: list[Any]
    scores_: Scores
    _classifies = False

    def __init__(
        self,
        *,
        estimator: Any = None,
        calibration: str = "cross",
        n_folds: int = 5,
        calibration_fraction: float = 0.2,
        random_state: Any = 0,
    ) -> None:
        self._keep(locals())

    def _default_estimator(self) -> Any:
        from arboretum.estimators.boosted_regressor import BoostedTreesRegressor

        return BoostedTreesRegressor()

    def _read_target(self, column: NDArray[Any]) -> tuple[Any, FloatArray]:
        return None, targets.regression_target(column)

    def _outcome(self, model: Any, part: Any, facts: Any) -> FloatArray:
        return ends_of(model.predict(part))

    def _out_of_bag(self, model: Any) -> FloatArray:
        return ends_of(model.oob_prediction_)

    def _correct(self, facts: Any, numbers: FloatArray, unseen: list[Unseen]) -> None:
        lists = []
        for part in unseen:
            low, high = part.prediction.T
            lists.append((nonconformity(low, high, numbers[part.rows]), part.weight))
        self.scores_ = Scores.of(lists)
        self.members_ = [part.model for part in unseen]

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

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Return an interval for the target of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to predict.
        coverage : float, default=0.9
            Share of targets that are to lie in their intervals, strictly between 0 and 1.

        Returns
        -------
        ndarray of float64, (n_rows, 2)
            Lower and upper ends, which belong to the interval.
        """
        self._fitted()
        if isinstance(coverage, bool | str) or not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r}: use a number strictly between 0 and 1")
        self.scores_.needed(coverage)  # refuses before the work of predicting
        ends = np.stack([ends_of(member.predict(X)) for member in self.members_], axis=1)
        threads = n_threads(getattr(self.estimator_, "n_jobs", None))
        return self.scores_.intervals(ends[..., 0], ends[..., 1], float(coverage), threads)

    # ---- files ---------------------------------------------------------------------------------------------------

    def _models(self) -> Iterator[tuple[str, Any]]:
        yield from super()._models()
        if self.calibration == "cross":
            yield from ((f"member {number}", member) for number, member in enumerate(self.members_))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return self.scores_.to_arrays()

    def _read_correction(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.scores_ = Scores.from_arrays(arrays)
        self.members_ = [self.estimator_]
        if self.calibration == "cross":
            self.members_ = [read_member(arrays[f"member {number}"]) for number in range(self.scores_.n_lists)]
        if len(self.members_) != self.scores_.n_lists:
            raise ValueError(f"{self.scores_.n_lists} lists of scores for {len(self.members_)} models")
        for member in self.members_:
            if type(member) is not type(self.estimator_) or member.n_features_in_ != self.estimator_.n_features_in_:
                raise ValueError(f"a member of class {type(member).__name__} that is unlike the estimator")


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
