"""Stacks of rankers and of survival models: answers that order rows, in one scale, with greedy weights."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.boosting.goals import judged
from arboretum.ensembles.combining.goals import Grades, Times
from arboretum.ensembles.combining.orders import OrderRecipe
from arboretum.ensembles.combining.parameters import CombiningRun, Folds, MemberList, OutOfFold
from arboretum.ensembles.combining.recipe import StackingRecipe
from arboretum.estimators.boosted_trees import BoostedTreesRanker, BoostedTreesSurvival
from arboretum.estimators.random_survival_forest import RandomSurvivalForest
from arboretum.estimators.stacking import StackedModel
from arboretum.estimators.survival_model import SurvivalModel, read_times
from arboretum.metrics.ranking import ndcg_score
from arboretum.model.members import Base
from arboretum.parameters.declaring import Anything, declares_parameters, like, parameter, parameter_group
from arboretum.parameters.shared import OF_TIMES
from arboretum.tasks import RANKING, Task

FloatArray: TypeAlias = NDArray[np.float64]


@parameter_group("Combining")
class OrderScoring:
    """What weights are chosen by."""

    scoring: Any = parameter(
        None,
        Anything("str, callable or None"),
        "What the weights of the members maximise: <metrics>; a function of (model, X, y) whose greater values are "
        "better; or None for ``score``.",
    )


class StackedOrders:
    """Members whose answers order rows; stands left of ``StackedModel`` among the bases.

    Attributes
    ----------
    weights_ : ndarray
        Weight of each member: predictions are Σ weight · answer. It is the member's share of the mean, divided by the
        standard deviation of its answers to rows that it had not seen.
    """

    recipe_kind: ClassVar[type[StackingRecipe]] = OrderRecipe

    # What the recipe of stacking reads; orders have neither.
    final_estimator = None
    passthrough = False
    stack_method = "predict"


@parameter_group()
class StackingRankerParameters(MemberList, OrderScoring, Folds, CombiningRun):
    """Parameters of stacked rankers."""


@parameter_group()
class StackingSurvivalParameters(MemberList, OrderScoring, OutOfFold, CombiningRun):
    """Parameters of stacked survival models."""


@declares_parameters
class StackingRanker(StackedOrders, StackingRankerParameters, StackedModel):
    """Stacked rankers: the weighted mean of scores that puts queries not seen into the best order.

    Each member is fitted without the queries of each fold and scores them. Scores are divided by their standard
    deviation within queries, and weights are chosen greedily for ``scoring`` (Caruana et al. 2004). Members are then
    fitted to all rows.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> random = np.random.default_rng(0)
    >>> X, query = random.normal(size=(600, 3)), random.integers(40, size=600)
    >>> grade = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + 1), 0, 4)
    >>> members = [(loss, arb.BoostedTreesRanker(n_estimators=20, loss=loss)) for loss in ("lambdamart", "listwise")]
    >>> model = arb.StackingRanker(estimators=members, scoring="ndcg@5").fit(X, grade, group=query)
    >>> model.predict(X).shape, sorted(model.member_scores_)
    ((600,), ['lambdamart', 'listwise'])
    >>> model.score(X, grade, group=query) > 0.9
    True
    """

    estimators: Any = like(
        MemberList,
        doc="Rankers: ``BoostedTreesRanker``, or any whose class has the attribute ``task_`` of rankings and whose "
        "``fit`` takes ``group``; by default boosted trees of the losses lambdamart, pairwise and listwise. "
        '``"drop"`` leaves one out.',
    )
    scoring: Any = like(
        OrderScoring,
        default="ndcg",
        filled={"metrics": '"ndcg", "map", "mrr", or of the first places: "ndcg@10"'},
    )
    cv: Any = like(
        Folds,
        doc='Folds. A number deals whole queries out by a hash of their content; "auto" is 5, or as many as there are '
        "queries. Or a splitter of scikit-learn that keeps groups, or pairs (training rows, held-out rows).",
    )
    time_ordered: bool = like(
        Folds,
        doc="Rows are in the order of time: each of ``cv`` blocks of queries is predicted by a model of those before "
        "it. A query has the time of its first row.",
    )

    out_of_bag = False  # what the recipe of stacking reads
    task_: ClassVar[Task] = RANKING

    def goal(self) -> Grades:
        """Return how grades are read."""
        return Grades()

    def default_members(self) -> list[Base]:
        """Return what ``estimators=None`` means."""
        return [(loss, BoostedTreesRanker(loss=loss)) for loss in ("lambdamart", "pairwise", "listwise")]

    def fit(  # type: ignore[override]  # group comes third: ids given there must not pass for weights
        self, X: Any, y: Any, group: Any = None, sample_weight: Any = None
    ) -> StackingRanker:
        """Fit the members and their weights; an error leaves the model as it was.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows.
        y : array-like
            Grade of each row, from 0 (not relevant) to 31; fractions are allowed.
        group : array-like
            Id of each row's query: numbers, text, dates. A query is never on both sides of a split.
        sample_weight : array-like, optional
            Weight of each row, for members and for their combination.

        Returns
        -------
        self
        """
        column = judged(y, group)
        return super().fit(X, column, sample_weight, groups=None if column is None else column["query"])

    def predict(self, X: Any) -> FloatArray:
        """Score rows; within a query, the highest comes first.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        return self._outcome(X)

    def score(self, X: Any, y: Any, group: Any = None, sample_weight: Any = None) -> float:
        """Return NDCG of the first 10 places: ``arboretum.metrics.ndcg_score``."""
        return ndcg_score(y, self.predict(X), group, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@declares_parameters
class StackingSurvival(StackedOrders, SurvivalModel, StackingSurvivalParameters, StackedModel):
    """Stacked survival models: the weighted mean of risks that puts rows not seen into the best order.

    Each member is fitted without each fold and gives the risks of its rows. Risks are divided by their standard
    deviation, and weights are chosen greedily for ``scoring`` (Caruana et al. 2004). Members are then fitted to all
    rows. The survival function is the mean of those of the members, S(t) = Σ wᵢ Sᵢ(t), with the same shares.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> x = np.arange(200.0)
    >>> y = np.column_stack([300 - x, np.arange(200) % 3 > 0])  # time, event
    >>> members = [("boosted", arb.BoostedTreesSurvival(n_estimators=20)), ("forest", arb.RandomSurvivalForest())]
    >>> model = arb.StackingSurvival(estimators=members).fit(x[:, None], y)
    >>> model.predict([[190.0]]) > model.predict([[10.0]])
    array([ True])
    """

    estimators: Any = like(
        MemberList,
        doc="Survival models: ``BoostedTreesSurvival``, ``RandomSurvivalForest``, or any whose class has the attribute "
        '``task_`` of survival; by default one of each. ``"drop"`` leaves one out.',
    )
    scoring: Any = like(OrderScoring, default="concordance", filled={"metrics": OF_TIMES})
    cv: Any = like(
        OutOfFold,
        filled={"strata": ", the same share of events", "fewer": ", or as many as there are events"},
    )

    def goal(self) -> Times:
        """Return how times and events are read."""
        return Times()

    def default_members(self) -> list[Base]:
        """Return what ``estimators=None`` means."""
        return [("boosted", BoostedTreesSurvival()), ("forest", RandomSurvivalForest())]

    @property
    def event_times_(self) -> FloatArray:
        """Times of events of the training rows, rising."""
        return np.unique(np.concatenate([model.event_times_ for model in self.learned().models]))

    def predict(self, X: Any) -> FloatArray:
        """Risk of each row, higher for earlier events.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        return self._outcome(X)

    def predict_survival_function(self, X: Any, times: Any = None) -> FloatArray:
        """Probability of each row to outlive some times: the weighted mean of what the members say.

        Returns
        -------
        ndarray of float64, (n_rows, n_times)
        """
        at = read_times(times, self.event_times_)
        return self._joint.mixture(self.learned(), X, lambda model, rows: model.predict_survival_function(rows, at))

    def predict_cumulative_hazard(self, X: Any, times: Any = None) -> FloatArray:
        """Cumulative hazard of each row at some times: −ln of the probability to outlive them.

        Finite: a probability of 0 counts as the smallest normal number.

        Returns
        -------
        ndarray of float64, (n_rows, n_times)
        """
        return -np.log(np.maximum(self.predict_survival_function(X, times), np.finfo(np.float64).tiny))
