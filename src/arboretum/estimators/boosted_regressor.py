"""BoostedTreesRegressor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from arboretum.data import targets
from arboretum.ensembles.boosting import goals
from arboretum.estimators.base import FloatArray
from arboretum.estimators.boosting import BoostedTrees
from arboretum.estimators.boosting_parameters import BoostedStopping, Objective, Outputs
from arboretum.estimators.parameters import Levels, Number, declares_parameters, like, parameter
from arboretum.estimators.protocol import Regressor
from arboretum.estimators.shared_parameters import LOSSES_OF_NUMBERS, OF_NUMBERS, EarlyStopping
from arboretum.losses import GradientFunction, Loss, Quantiles
from arboretum.losses.base import constant_raw


@declares_parameters
class BoostedTreesRegressor(Regressor, BoostedTrees):
    """Gradient-boosted trees for numbers.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = arb.BoostedTreesRegressor(n_estimators=50).fit(X, X[:, 0] ** 2)
    >>> model.predict([[0.5]]).round(2)
    array([0.25])
    """

    vector_leaves: bool | str = like(Outputs, before="leaf_model")
    loss: str | Loss | GradientFunction = like(Objective, default="squared_error", filled={"losses": LOSSES_OF_NUMBERS})
    quantile: float | Sequence[float] | None = parameter(
        None,
        Levels(),
        'Level of the "quantile" loss (0.5), or share of residuals that "huber" takes as small (0.9). Several rising '
        "levels make one model of quantiles that cannot cross: ``predict`` returns a column for each.",
        before="monotonic_cst",
    )
    power: float | None = parameter(
        None,
        Number(optional=True),
        'Variance power of the "tweedie" loss, between 1 and 2 (1.5).',
        before="monotonic_cst",
    )
    scoring: Any = like(EarlyStopping, filled={"metrics": OF_NUMBERS})
    validation_fraction: float = like(BoostedStopping, filled={"stratified": ""})

    def goal(self) -> goals.Numbers:
        """Return how the target is read, and which loss is minimised."""
        return goals.Numbers(self.loss, self.quantile, self.power)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_several_outputs
        return tags

    def predict(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Predict the target.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.
        offset : array-like, optional
            What the raw prediction of each row starts from, as in ``fit``: the logarithm of its exposure for losses of
            counts and amounts. One number stands for all rows.

        Returns
        -------
        ndarray of float64, (n_rows,)
            (n_rows, n_outputs) with several outputs; with several quantiles a column for each, rising in each row.
        """
        return self._head().numbers(self._raw_beside(X, offset))

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield the prediction after each round."""
        for raw in self._staged_raw(X, offset):
            yield self._head().numbers(raw)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return R²: 1 − Σ (y − prediction)² / Σ (y − mean of y)².

        With several quantiles, the same of their pinball losses: 1 − Σ loss of the predictions / Σ loss of the
        quantiles of y (Koenker & Machado 1999).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to predict.
        y : array-like
            Their targets.
        sample_weight : array-like, optional
            Weight of each row.
        offset : array-like, optional
            As for ``predict``.
        """
        asked = self._asked(X, offset)
        if not isinstance(getattr(self, "loss_", None), Quantiles):
            return Regressor.score(asked, X, y, sample_weight)
        predicted = asked.predict(X)
        target = targets.regression_target(targets.as_column(y, len(predicted)))
        weight = targets.row_weights(sample_weight, len(target))
        constant = constant_raw(self.loss_.start(target, weight), len(target))
        found, least = (self.loss_.value(target, raw, weight) for raw in (predicted, constant))
        return 1.0 - found / least if least else float(not found)
