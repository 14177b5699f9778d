"""BoostedTreesSurvival."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import losses
from arboretum.ensembles.rows import start_raw
from arboretum.estimators.base import FloatArray
from arboretum.estimators.boosting import BoostedTrees
from arboretum.estimators.boosting_docs import describe
from arboretum.estimators.boosting_problem import Problem, Target
from arboretum.estimators.survival_model import SurvivalModel, read_event_times
from arboretum.estimators.survival_targets import survival_bounds
from arboretum.estimators.validation import choice, number
from arboretum.forest import Forest
from arboretum.losses import AcceleratedFailure, Cox, Loss
from arboretum.losses.base import constant_raw
from arboretum.losses.links import EXP_LIMIT
from arboretum.losses.survival import DISTRIBUTIONS, by_time, check_events, is_event
from arboretum.schema import Schema

_SUMMARY = """\
Gradient-boosted trees for times to an event, of which some are censored.

    ``loss="cox"`` models hazards: ``predict`` gives the logarithm of each row's hazard ratio. ``loss="aft"`` models
    times: ln T = raw prediction + aft_scale · Z; it takes bounds of times too. The risk of ``predict`` is higher for
    earlier events with either loss. See docs/survival.md.
"""

_LOSS_PARAMETERS = """\
    aft_distribution : {"normal", "logistic", "extreme"}, optional
        Of Z in the "aft" loss: T is log-normal (the default), log-logistic or Weibull.
    aft_scale : float, optional
        Of the "aft" loss (1).
"""

_ATTRIBUTES = """\
    event_times_ : ndarray
        Times of events of the training rows, rising.
"""

_EXAMPLES = """\
    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> x = np.arange(200.0)
    >>> y = np.column_stack([300 - x, np.arange(200) % 3 > 0])  # time, event
    >>> model = arb.BoostedTreesSurvival(n_estimators=20, learning_rate=0.3, l2=0.0).fit(x[:, None], y)
    >>> risk = model.predict([[10.0], [190.0]])
    >>> bool(risk[0] < risk[1])
    True
    >>> model.predict_survival_function([[10.0], [190.0]], times=[200.0]).round(1)
    array([[1.],
           [0.]])
    """


class BoostedTreesSurvival(SurvivalModel, BoostedTrees):
    __doc__ = describe(
        _SUMMARY,
        _EXAMPLES,
        losses='"cox", "aft"',
        output_parameters="",
        loss_parameters=_LOSS_PARAMETERS,
        class_parameters="",
        class_attributes=_ATTRIBUTES,
        stratified=", the same of rows with events and without,",
    )
    aft_distribution: str | None
    aft_scale: float | None

    _log_baseline: FloatArray | None  # of Cox: logarithm of the cumulative hazard of raw prediction 0 at event_times_

    def __init__(
        self,
        *,
        n_estimators: int = 1000,
        trees_per_round: int = 1,
        learning_rate: float | str = "auto",
        growth: str = "leaf",
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        l1: float = 0.0,
        l2: float | str = "auto",
        min_gain: float = 0.0,
        split_score: str = "gain",
        score_noise: float = 0.0,
        prune: bool = False,
        second_order: bool = True,
        leaf_steps: int = 1,
        ordered_boosting: int = 0,
        leaf_model: str = "constant",
        linear_l2: float = 10.0,
        max_delta_step: float = 0.0,
        max_bins: int | None = 255,
        category_levels: int | None = 20,
        category_combinations: int = 2,
        category_orders: int = 4,
        subsample: float | str = "auto",
        sampling: str = "subsample",
        top_rate: float | None = None,
        other_rate: float | None = None,
        bagging_temperature: float | None = None,
        max_features: float | int = 0.3,
        colsample_tree: float | int = 1.0,
        colsample_level: float | int = 1.0,
        dart_rate: float = 0.0,
        dart_skip: float = 0.5,
        dart_max: int = 50,
        loss: str | Loss = "cox",
        aft_distribution: str | None = None,
        aft_scale: float | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        categorical_features: Any = None,
        unknown: str = "average",
        missing: str = "warn",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 50,
        refit: bool | str = "auto",
        time_limit: float | None = None,
        warm_start: bool = False,
        callbacks: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _as_column(self, y: Any, n_rows: int, name: str = "y", table: str = "X") -> NDArray[Any]:
        return survival_bounds(y, n_rows, name, table)

    def _read_target(self, column: NDArray[Any], weight: FloatArray | None, continuing: bool) -> Target:
        choice(self, "aft_distribution", (None, *DISTRIBUTIONS))
        number(self, "aft_scale", low=0.0, high=1e100, open_low=True, optional=True)
        loss = losses.resolve(self.loss, task="survival", **self._loss_parameters())
        return Target(column, weight, loss)

    def _loss_parameters(self) -> dict[str, Any]:
        if self.loss == "aft":
            return {"distribution": self.aft_distribution, "scale": self.aft_scale}
        for name in ("aft_distribution", "aft_scale"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name}={getattr(self, name)!r} with loss={self.loss!r}: it is one of loss='aft'")
        return {}

    def _read_validation_target(
        self, column: NDArray[Any], weight: FloatArray | None, target: Target
    ) -> tuple[FloatArray, FloatArray | None]:
        check_events(column, "y_val")
        return column, weight

    def _read_problem(self, X: Any, y: Any, sample_weight: Any, earlier: Forest | None) -> tuple[Problem, Target]:
        """Rows in the order of their times: sorting them again in each round is as good as free."""
        problem, target = super()._read_problem(X, y, sample_weight, earlier)
        return problem.take(by_time(problem.y)), target

    def _strata(self, y: FloatArray) -> NDArray[Any] | None:
        return is_event(y).astype(np.float64)

    def _monotone(self, schema: Schema, target: Target) -> tuple[int, ...]:
        """Directions of raw predictions, where users give those of risks."""
        directions = super()._monotone(schema, target)
        return tuple(-sign for sign in directions) if isinstance(target.loss, AcceleratedFailure) else directions

    def _responses(self, problem: Problem, loss: Loss) -> FloatArray:
        """Downhill gradients of the constant model: high where events come early (Cox) or late (accelerated times)."""
        if self.category_levels is None:
            return problem.y  # nobody asks
        raw = constant_raw(start_raw(loss, problem.y, problem.weight), len(problem.y))
        return -loss.gradients(problem.y, raw)[0]

    def _after_training(self, problem: Problem, threads: int) -> None:
        loss = self.loss_
        if isinstance(loss, Cox):
            raw = self._raw_of(self._fitted(), problem.table, threads)[:, 0]
            self.event_times_, self._log_baseline = loss.baseline(problem.y, raw, problem.weight)
        else:
            self.event_times_ = np.unique(problem.y[is_event(problem.y), 0])
            self._log_baseline = None

    # ---- prediction ----------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> FloatArray:
        """Risk of each row, higher for earlier events.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

        Returns
        -------
        ndarray of float64, (n_rows,)
            Logarithm of the hazard ratio with ``loss="cox"``; minus the logarithm of the time, which
            ``predict_time`` gives, with ``loss="aft"``.
        """
        return self._to_risk(self._raw(X)[:, 0])

    def _to_risk(self, raw: FloatArray) -> FloatArray:
        return -raw if isinstance(self.loss_, AcceleratedFailure) else raw

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield the risk after each round."""
        for raw in self._staged_raw(X):
            yield self._to_risk(raw[:, 0])

    def predict_time(self, X: Any) -> FloatArray:
        """Time scale exp(raw prediction) of each row, with ``loss="aft"``: the median of a (log-)symmetric time.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        if not isinstance(self._fitted_loss(), AcceleratedFailure):
            raise ValueError(
                "loss='cox' orders rows by risk and has no time scale: use predict_survival_function, or loss='aft'"
            )
        return self.loss_.predict(self._raw(X)[:, 0])

    def _fitted_loss(self) -> Loss:
        self._fitted()
        return self.loss_

    def _cumulative_hazard(self, X: Any, times: FloatArray) -> FloatArray:
        raw, loss = self._raw(X)[:, 0], self.loss_
        if isinstance(loss, AcceleratedFailure):
            return -loss.log_survival(times, raw)
        if self._log_baseline is None:
            raise ValueError(f"no hazards are known of the loss {loss!r}: use loss='cox' or loss='aft'")
        place = self._last_events(times)
        exponent = self._log_baseline[np.maximum(place, 0)] + raw[:, np.newaxis]
        return np.where(place >= 0, np.exp(np.minimum(exponent, EXP_LIMIT)), 0.0)

    # ---- files ---------------------------------------------------------------------------------------------------

    def _arrays(self) -> dict[str, NDArray[Any]]:
        baseline = {} if self._log_baseline is None else {"log_baseline": self._log_baseline}
        return {**super()._arrays(), "event_times": self.event_times_, **baseline}

    def _read_trees(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._read_trees(header, arrays)
        self.event_times_ = read_event_times(arrays["event_times"])
        baseline = arrays.get("log_baseline")
        if isinstance(self.loss_, Cox) != (baseline is not None):
            raise ValueError("a baseline hazard that does not belong to the loss")
        if baseline is not None and (
            baseline.shape != self.event_times_.shape
            or baseline.dtype != np.float64
            or not np.isfinite(baseline).all()
            or (np.diff(baseline) < 0).any()
        ):
            raise ValueError("a baseline hazard that does not rise with the times of events")
        self._log_baseline = baseline
