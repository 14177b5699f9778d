"""BoostedTreesSurvival."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.elementary import EXP_LIMIT
from arboretum.ensembles.boosting import goals
from arboretum.ensembles.boosting.problem import Problem
from arboretum.ensembles.boosting.training_rows import beside_offset
from arboretum.estimators.base import FloatArray
from arboretum.estimators.boosting import BoostedTrees
from arboretum.estimators.boosting_parameters import BoostedStopping, Objective
from arboretum.estimators.parameters import Choice, Number, declares_parameters, fitted, like, parameter
from arboretum.estimators.protocol import not_fitted
from arboretum.estimators.shared_parameters import EarlyStopping
from arboretum.estimators.standing_in import twin
from arboretum.estimators.survival_model import SurvivalModel, read_event_times
from arboretum.losses import AcceleratedFailure, Cox, GradientFunction, Loss
from arboretum.losses.survival import DISTRIBUTIONS, is_event
from arboretum.model.heads import RiskHead


@declares_parameters
class BoostedTreesSurvival(SurvivalModel, BoostedTrees):
    """Gradient-boosted trees for times to an event, of which some are censored.

    ``loss="cox"`` models hazards: ``predict`` gives the logarithm of each row's hazard ratio. ``loss="aft"`` models
    times: ln T = raw prediction + aft_scale · Z; it takes bounds of times too. The risk of ``predict`` is higher for
    earlier events with either loss. See docs/survival.md.

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

    loss: str | Loss | GradientFunction = like(Objective, default="cox", filled={"losses": '"cox", "aft"'})
    aft_distribution: str | None = parameter(
        None,
        Choice(None, *DISTRIBUTIONS),
        'Of Z in the "aft" loss: T is log-normal (the default), log-logistic or Weibull.',
        before="monotonic_cst",
    )
    aft_scale: float | None = parameter(
        None,
        Number(0.0, 1e100, open_low=True, optional=True),
        'Of the "aft" loss (1).',
        before="monotonic_cst",
    )
    scoring: Any = like(EarlyStopping, filled={"metrics": '"concordance"'})
    validation_fraction: float = like(
        BoostedStopping, filled={"stratified": ", the same of rows with events and without,"}
    )
    _log_baseline: FloatArray | None = fitted()  # of Cox: logarithm of the cumulative hazard of raw 0 at event_times_

    # ---- fitting -------------------------------------------------------------------------------------------------

    def goal(self) -> goals.Survival:
        """Return how times and events are read, and which loss is minimised."""
        return goals.Survival(self.loss, aft_distribution=self.aft_distribution, aft_scale=self.aft_scale)

    def _after_training(self, problem: Problem, threads: int) -> None:
        loss = self.loss_
        if isinstance(loss, Cox):
            raw = beside_offset(self.model_.raw(problem.table, threads), problem.offset)[:, 0]
            self.event_times_, self._log_baseline = loss.baseline(problem.y, raw, problem.weight)
        else:
            self.event_times_ = np.unique(problem.y[is_event(problem.y), 0])
            self._log_baseline = None

    # ---- prediction ----------------------------------------------------------------------------------------------

    def predict(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Risk of each row, higher for earlier events.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.
        offset : array-like, optional
            What the raw prediction of each row starts from, as in ``fit``; one number stands for all rows.

        Returns
        -------
        ndarray of float64, (n_rows,)
            Logarithm of the hazard ratio with ``loss="cox"``; minus the logarithm of the time, which
            ``predict_time`` gives, with ``loss="aft"``.
        """
        return self._head().numbers(self._raw_beside(X, offset))

    def _head(self) -> RiskHead:
        if not hasattr(self, "loss_"):
            raise not_fitted(self)
        return RiskHead(self.loss_)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield the risk after each round."""
        for raw in self._staged_raw(X, offset):
            yield self._head().numbers(raw)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the concordance index of the risks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to predict.
        y : structured array, data frame or array-like (rows, 2)
            Their times and events.
        sample_weight : array-like, optional
            Weight of each row.
        offset : array-like, optional
            As for ``predict``.
        """
        return SurvivalModel.score(self._asked(X, offset), X, y, sample_weight)

    def predict_cumulative_hazard(self, X: Any, times: Any = None, *, offset: Any = None) -> FloatArray:
        """Cumulative hazard of each row at some times: −ln of the probability to outlive them.

        Parameters
        ----------
        X, offset
            As for ``predict``.
        times : array-like, optional
            At least 0; by default ``event_times_``.

        Returns
        -------
        ndarray of float64, (n_rows, n_times)
        """
        return SurvivalModel.predict_cumulative_hazard(self._asked(X, offset), X, times)

    def predict_survival_function(self, X: Any, times: Any = None, *, offset: Any = None) -> FloatArray:
        """Probability of each row to outlive some times: exp(−cumulative hazard).

        Parameters
        ----------
        X, offset
            As for ``predict``.
        times : array-like, optional
            At least 0; by default ``event_times_``.

        Returns
        -------
        ndarray of float64, (n_rows, n_times)
        """
        return SurvivalModel.predict_survival_function(self._asked(X, offset), X, times)

    def predict_time(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Time scale exp(raw prediction) of each row, with ``loss="aft"``: the median of a (log-)symmetric time.

        Parameters
        ----------
        X, offset
            As for ``predict``.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        if not isinstance(self._fitted_loss(), AcceleratedFailure):
            raise ValueError(
                "loss='cox' orders rows by risk and has no time scale: use predict_survival_function, or loss='aft'"
            )
        return self.loss_.predict(self._raw_beside(X, offset)[:, 0])

    def _fitted_loss(self) -> Loss:
        self._fitted()
        return self.loss_

    def _cumulative_hazard(self, X: Any, times: FloatArray) -> FloatArray:
        raw, loss = self._raw_beside(X, None)[:, 0], self.loss_
        if isinstance(loss, AcceleratedFailure):
            return -loss.log_survival(times, raw)
        if isinstance(loss, Cox) and self._log_baseline is None:
            raise ValueError(
                "the baseline hazard is that of all rounds, and first_rounds has left some out: fit a model with "
                f"n_estimators={self.n_iter_}"
            )
        if self._log_baseline is None:
            raise ValueError(f"no hazards are known of the loss {loss!r}: use loss='cox' or loss='aft'")
        place = self._last_events(times)
        exponent = self._log_baseline[np.maximum(place, 0)] + raw[:, np.newaxis]
        return np.where(place >= 0, np.exp(np.minimum(exponent, EXP_LIMIT)), 0.0)

    def first_rounds(self, n_rounds: int) -> BoostedTreesSurvival:
        """Return the model of the first rounds alone.

        With ``loss="cox"`` it ranks rows by risk; it has no survival functions, whose baseline is that of all rounds.

        Parameters
        ----------
        n_rounds : int
            How many rounds to keep, from 1 to ``n_iter_``.

        Returns
        -------
        BoostedTreesSurvival
        """
        model = super().first_rounds(n_rounds)
        return twin(model, _log_baseline=None) if n_rounds < self.n_iter_ else model

    # ---- files ---------------------------------------------------------------------------------------------------

    def _notes(self) -> dict[str, Any]:
        left_out = isinstance(self.loss_, Cox) and self._log_baseline is None
        return {**super()._notes(), **({"first_rounds": True} if left_out else {})}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        baseline = {} if self._log_baseline is None else {"log_baseline": self._log_baseline}
        return {**super()._arrays(), "event_times": self.event_times_, **baseline}

    def _read_trees(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._read_trees(header, arrays)
        self.event_times_ = read_event_times(arrays["event_times"])
        baseline = arrays.get("log_baseline")
        has_baseline = isinstance(self.loss_, Cox) and header.get("first_rounds") is not True
        if has_baseline != (baseline is not None):
            raise ValueError("a baseline hazard that does not belong to the loss")
        if baseline is not None and (
            baseline.shape != self.event_times_.shape
            or baseline.dtype != np.float64
            or not np.isfinite(baseline).all()
            or (np.diff(baseline) < 0).any()
        ):
            raise ValueError("a baseline hazard that does not rise with the times of events")
        self._log_baseline = baseline
