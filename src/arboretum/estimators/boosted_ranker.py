"""BoostedTreesRanker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, ClassVar

from numpy.typing import NDArray

from arboretum.ensembles.boosting import goals
from arboretum.estimators.base import FloatArray
from arboretum.estimators.boosting import BoostedTrees
from arboretum.estimators.boosting_parameters import BoostedStopping, Objective
from arboretum.estimators.checkpoints import Checkpoint
from arboretum.estimators.parameters import MOST, Anything, Choice, Number, declares_parameters, like, parameter
from arboretum.estimators.protocol import not_fitted
from arboretum.estimators.shared_parameters import EarlyStopping
from arboretum.losses import GradientFunction, Loss
from arboretum.losses.ranking import METRICS
from arboretum.metrics import ndcg_score
from arboretum.model.heads import RankHead
from arboretum.tasks import RANKING, Task


@declares_parameters
class BoostedTreesRanker(BoostedTrees):
    """Gradient-boosted trees that put the rows of each query into order.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> random = np.random.default_rng(0)
    >>> X, query = random.normal(size=(600, 3)), random.integers(40, size=600)
    >>> grade = np.clip(np.round(X[:, 0] + 1), 0, 4)
    >>> model = arb.BoostedTreesRanker(n_estimators=20, learning_rate=0.2, l2=1.0).fit(X, grade, group=query)
    >>> model.score(X, grade, group=query) > 0.95
    True
    """

    loss: str | Loss | GradientFunction = like(
        Objective,
        default="lambdamart",
        allowed=Anything("str or Loss"),
        doc='What to minimise: "lambdamart", "pairwise", "listwise". Or an object derived from '
        "``arboretum.losses.Loss``.",
    )
    metric: str = parameter(
        "ndcg",
        Choice(*METRICS),
        'What "lambdamart" weighs pairs by, and early stopping follows: NDCG of the first 10 places, or mean average '
        "precision. ``history_`` holds 1 - metric.",
        before="monotonic_cst",
    )
    truncation: int | None = parameter(
        30,
        Number(1, MOST, integer=True, optional=True),
        '"lambdamart" and "pairwise" compare pairs with a row among so many first places; None compares all.',
        before="monotonic_cst",
    )
    scoring: Any = like(EarlyStopping, filled={"metrics": '"ndcg", "map", "mrr", also of the first places as "ndcg@5"'})
    validation_fraction: float = like(BoostedStopping, filled={"stratified": ", by whole queries,"})

    task_: ClassVar[Task] = RANKING

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(  # type: ignore[override]  # group comes third: ids given there must not pass for weights
        self,
        X: Any,
        y: Any,
        group: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        group_val: Any = None,
        sample_weight_val: Any = None,
        *,
        offset: Any = None,
        offset_val: Any = None,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    ) -> BoostedTreesRanker:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows: numbers, text, categories, dates, with holes.
        y : array-like
            Grade of each row, from 0 (not relevant) to 31; fractions are allowed.
        group : array-like
            Id of each row's query: numbers, text, dates. The order of the rows does not matter.
        sample_weight : array-like, optional
            Weight of each row's gradients; rows of weight 0 are no rows. One weight for all rows of a query is the
            same as so many copies of the query.
        X_val, y_val, group_val, sample_weight_val, offset_val : optional
            Rows to stop early on, in place of a held-out share of the queries.
        offset : array-like, optional
            What the score of each row starts from, such as the score of another model.
        checkpoint : path or Checkpoint, optional
            File that keeps how far the fit is, as for the other boosted trees.

        Returns
        -------
        self
        """
        return super().fit(
            X,
            goals.judged(y, group),
            sample_weight,
            X_val,
            self._judge_held(X_val, y_val, group_val),
            sample_weight_val,
            offset=offset,
            offset_val=offset_val,
            checkpoint=checkpoint,
        )

    def fit_more(  # type: ignore[override]  # as fit
        self,
        X: Any,
        y: Any,
        group: Any = None,
        sample_weight: Any = None,
        *,
        n_estimators: int,
        X_val: Any = None,
        y_val: Any = None,
        group_val: Any = None,
        sample_weight_val: Any = None,
        offset: Any = None,
        offset_val: Any = None,
    ) -> BoostedTreesRanker:
        """Add rounds to a fitted model, on the same rows or on others with the same columns.

        Parameters
        ----------
        X, y, group, sample_weight, X_val, y_val, group_val, sample_weight_val, offset, offset_val
            As for ``fit``.
        n_estimators : int
            Rounds to add.

        Returns
        -------
        self
        """
        return super().fit_more(
            X,
            goals.judged(y, group),
            sample_weight,
            n_estimators=n_estimators,
            X_val=X_val,
            y_val=self._judge_held(X_val, y_val, group_val),
            sample_weight_val=sample_weight_val,
            offset=offset,
            offset_val=offset_val,
        )

    def _judge_held(self, X_val: Any, y_val: Any, group_val: Any) -> NDArray[Any] | None:
        if X_val is None and group_val is not None:
            raise ValueError("group_val is given without X_val: give X_val as well")
        return None if X_val is None else goals.judged(y_val, group_val, "_val")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.ordered_boosting:
            raise ValueError(
                f"ordered_boosting={self.ordered_boosting!r}: the gradient of a row depends on the other rows of its "
                "query, which a supporting model may not have seen; use ordered_boosting=0"
            )

    # ---- input ---------------------------------------------------------------------------------------------------

    def goal(self) -> goals.Ranking:
        """Return how grades and queries are read, and which loss is minimised."""
        return goals.Ranking(self.loss, metric=self.metric, truncation=self.truncation)

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _head(self) -> RankHead:
        if not hasattr(self, "loss_"):
            raise not_fitted(self)
        return RankHead(self.loss_)

    def predict(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Score rows; within a query, the highest comes first.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.
        offset : array-like, optional
            What the score of each row starts from, as in ``fit``; one number stands for all rows.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        return self._raw_beside(X, offset)[:, 0]

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield the scores after each round."""
        for raw in self._staged_raw(X, offset):
            yield raw[:, 0]

    def score(self, X: Any, y: Any, group: Any = None, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return NDCG of the first 10 places: ``arboretum.metrics.ndcg_score``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to score.
        y : array-like
            Their grades.
        group : array-like
            Ids of their queries.
        sample_weight : array-like, optional
            Weights; a query has the mean weight of its rows.
        offset : array-like, optional
            As for ``predict``.
        """
        return ndcg_score(y, self.predict(X, offset=offset), group, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
