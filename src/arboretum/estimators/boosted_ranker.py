"""BoostedTreesRanker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arboretum import losses
from arboretum.arguments import shown
from arboretum.data import targets
from arboretum.data.schema import Schema
from arboretum.ensembles.bagging.resampling import content_keys
from arboretum.estimators.base import FloatArray
from arboretum.estimators.boosting import BoostedTrees
from arboretum.estimators.boosting_parameters import BoostedStopping, Objective
from arboretum.estimators.boosting_problem import HeldRows, Problem, Target
from arboretum.estimators.checkpoints import Checkpoint
from arboretum.estimators.parameters import MOST, Anything, Choice, Number, declares_parameters, like, parameter
from arboretum.estimators.protocol import not_fitted
from arboretum.estimators.shared_parameters import EarlyStopping
from arboretum.estimators.validation import split_rows
from arboretum.losses import GradientFunction, Loss
from arboretum.losses.ranking import METRICS, LambdaMart, RankingLoss
from arboretum.metrics import ndcg_score
from arboretum.model.forest import Forest
from arboretum.model.heads import RankHead
from arboretum.tasks import RANKING, Task

JUDGED = np.dtype([("grade", np.float64), ("query", np.int64)])


def judged(y: Any, group: Any, suffix: str = "") -> NDArray[Any] | None:
    """Join grades and queries to one column; None, which is refused later, without grades."""
    if y is None:
        return None
    given = targets.to_numpy(y, f"y{suffix}")
    grade = targets.grades(targets.as_column(given, given.size, f"y{suffix}"), f"y{suffix}")
    column = np.empty(len(grade), dtype=JUDGED)
    column["grade"] = grade
    column["query"] = targets.query_numbers(group, len(grade), f"group{suffix}", f"y{suffix}")
    return column


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
            judged(y, group),
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
            judged(y, group),
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
        return None if X_val is None else judged(y_val, group_val, "_val")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.ordered_boosting:
            raise ValueError(
                f"ordered_boosting={self.ordered_boosting!r}: the gradient of a row depends on the other rows of its "
                "query, which a supporting model may not have seen; use ordered_boosting=0"
            )

    # ---- input ---------------------------------------------------------------------------------------------------

    def _read_problem(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, earlier: Forest | None
    ) -> tuple[Problem, Target]:
        problem, target = super()._read_problem(X, y, sample_weight, offset, earlier)
        problem = in_content_order(problem)
        assert problem.query is not None
        together = problem.query[1:] == problem.query[:-1]
        if not np.any(together & (problem.y[1:] != problem.y[:-1])):
            raise ValueError(
                f"no query has rows of different grades (n_samples={len(problem.y)}): there is no order to learn; "
                "check y and group"
            )
        return problem, target

    def _read_validation(self, held: HeldRows, schema: Schema, target: Target, has_offset: bool) -> Problem:
        problem = super()._read_validation(held, schema, target, has_offset)
        if problem.weight is not None:
            problem = problem.take(np.flatnonzero(problem.weight))
        return in_content_order(problem)

    def _read_target(self, column: NDArray[Any], weight: FloatArray | None, continuing: bool) -> Target:
        return Target(np.ascontiguousarray(column["grade"]), weight, self._resolve_loss())

    def _resolve_loss(self) -> Loss:
        loss, usual = losses.resolve(self.loss, task="ranking"), LambdaMart().parameters()
        changed = {name: getattr(self, name) for name in usual if getattr(self, name) != usual[name]}
        if isinstance(self.loss, Loss) and changed:
            raise ValueError(f"{', '.join(changed)} given beside the loss object {loss!r}: set it on the object")
        for name, value in changed.items():
            if name not in loss.parameters():
                raise ValueError(
                    f"{name}={value!r} means nothing to loss={shown(self.loss)}: leave it at {usual[name]!r}"
                )
        return replace(loss, **changed) if isinstance(loss, RankingLoss) else loss

    def _read_validation_target(
        self, column: NDArray[Any], weight: FloatArray | None, target: Target
    ) -> tuple[FloatArray, FloatArray | None]:
        return np.ascontiguousarray(column["grade"]), weight

    def _with_queries(self, y: Any, group: Any) -> Any:
        return judged(y, group)

    def _queries(self, column: NDArray[Any]) -> NDArray[np.int64]:
        return np.ascontiguousarray(column["query"])

    def _split(self, problem: Problem, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of whole queries to train and to validate on."""
        assert problem.query is not None
        queries = np.unique(problem.query)
        _, out = split_rows(len(queries), float(self.validation_fraction), seed, None)
        held = np.isin(problem.query, queries[out])
        return np.flatnonzero(~held), np.flatnonzero(held)

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _head(self) -> RankHead:
        if not hasattr(self, "loss_"):
            raise not_fitted(self)
        return RankHead(self.loss_)

    def _task_of(self, target: Target) -> str:
        return "ranking"

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


def in_content_order(problem: Problem) -> Problem:
    """Sort rows by query, and those of a query so that the order they came in does not matter."""
    assert problem.query is not None
    keys = content_keys(problem.table, problem.y)
    by_weight = () if problem.weight is None else (problem.weight,)
    return problem.take(np.lexsort((*by_weight, keys, problem.query)))
