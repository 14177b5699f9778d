"""RandomSurvivalForest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.data import targets
from arboretum.ensembles.bagging.leaf_hazards import LeafHazards, TimedRows
from arboretum.ensembles.bagging.parameters import TimesForest
from arboretum.ensembles.bagging.trees import BaggedTarget
from arboretum.estimators.bagged_trees import BaggedTrees, GivenRows, TrainingSet
from arboretum.estimators.base import FloatArray
from arboretum.estimators.survival_model import SurvivalModel, read_event_times
from arboretum.losses.survival_targets import event_times
from arboretum.metrics.survival import concordance_index
from arboretum.model.forest import Forest
from arboretum.parameters.declaring import Allowed, declares_parameters, fitted, parameter
from arboretum.running.threads import n_threads


class ConcordanceFlag(Allowed):
    """Whether to score rows by trees that have not seen them; there is one score of times."""

    @property
    def text(self) -> str:
        """Type."""
        return "bool"

    def check(self, owner: Any, name: str) -> None:
        """Reject other scores."""
        value = getattr(owner, name)
        if not isinstance(value, bool):
            raise ValueError(f"{name}={shown(value)}: use True for the concordance index, or False")


@declares_parameters
class RandomSurvivalForest(SurvivalModel, TimesForest, BaggedTrees):
    """Random forest for times to an event, of which some are censored.

    Trees are grown on bootstrapped rows by log-rank splits, the statistic itself over all times of events. A leaf has
    the Nelson–Aalen estimate of its rows' cumulative hazard and the Kaplan–Meier estimate of their survival; those of
    the forest are the means over its trees (docs/survival.md).

    Attributes
    ----------
    forest_ : Forest
        The trees, plain frozen arrays; the value of a leaf is its mortality, see ``predict``.
    oob_score_, oob_prediction_
        Concordance index and risks by trees that never saw the row; NaN where there is none.
    feature_importances_ : ndarray
        Log-rank statistics of the splits on each feature, normalised.

    References
    ----------
    Ishwaran, H., Kogalur, U. B., Blackstone, E. H., Lauer, M. S. (2008). Random survival forests. Annals of Applied
    Statistics 2.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> x = np.arange(100.0)
    >>> y = np.column_stack([100 - x / 2, np.arange(100) % 3 > 0])  # time, event
    >>> model = arb.RandomSurvivalForest(n_estimators=20).fit(x[:, None], y)
    >>> risk = model.predict([[10.0], [90.0]])
    >>> bool(risk[0] < risk[1])
    True
    >>> model.predict_survival_function([[10.0], [90.0]], times=[60.0]).round(1)
    array([[1.],
           [0.]])
    """

    oob_score: bool = parameter(
        False,
        ConcordanceFlag(),
        "Compute the concordance index of risks that are predicted by trees that did not draw the row.",
        before="categorical_features",
    )
    criterion = "log_rank"
    min_impurity_decrease = 0.0
    monotonic_cst = None
    _hazards: LeafHazards = fitted()

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[GivenRows, Any]:
        """Rows in the order of their times: the kernel counts on it (log_rank.hpp)."""
        given, facts = super()._read_rows(X, y, sample_weight)
        ranks = given.target.numbers
        assert ranks is not None
        if not (ranks > 0).any():
            raise ValueError("no row of positive sample_weight has an event: nothing can be learnt from the rest")
        return given.take(np.argsort(np.abs(ranks[:, 0]), kind="stable")), facts

    def _as_columns(self, y: Any, n_rows: int) -> NDArray[Any]:
        return np.column_stack(event_times(y, n_rows))

    def _read_target(self, columns: NDArray[Any], weight: FloatArray | None) -> tuple[BaggedTarget, Any]:
        """Ranks of times, from 1 on, less than 0 for rows without event; and the times of events."""
        time, event = columns[:, 0], columns[:, 1] == 1
        counts = np.ones(len(time), dtype=bool) if weight is None else weight > 0
        if not event.any():
            raise ValueError(
                f"y has no event in {len(time)} rows, all are censored: nothing can be learnt from it; check the event "
                "column (1 or True where the event was seen)"
            )
        rank = 1.0 + np.searchsorted(np.unique(time[counts]), time)
        ranks = np.where(event, rank, -rank)[:, None]
        return BaggedTarget(self.criterion, weight, numbers=ranks), np.unique(time[event & counts])

    def _take_facts(self, facts: Any) -> None:
        self.event_times_, self.n_outputs_ = facts, 1

    def _has_facts(self, facts: Any) -> bool:
        return np.array_equal(facts, self.event_times_)

    def _after_growing(self, training: TrainingSet, threads: int) -> None:
        """Give leaves their hazards; trees of an earlier fit have theirs."""
        ranks, table, forest = training.target.numbers, training.table, self.forest_
        assert ranks is not None
        rows = TimedRows(np.ascontiguousarray(ranks[:, 0]), training.target.weight)
        earlier = getattr(self, "_hazards", None) if self.warm_start else None
        done = 0 if earlier is None else int(np.searchsorted(forest.tree_start, earlier.n_nodes))

        def leaves(first: int, last: int) -> NDArray[np.int32]:
            parts = [
                forest.apply(part.columns, part.n_rows, threads=threads, first=first, last=last)
                for _, part in table.row_batches()
            ]
            return parts[0] if len(parts) == 1 else np.concatenate(parts)

        hazards = LeafHazards.of(forest, leaves, training.bootstrap, self._seed, rows, done)
        self._hazards = hazards if earlier is None else LeafHazards.concat([earlier, hazards])
        self.forest_ = replace(forest, value=self._hazards.mortality(forest, len(self.event_times_))[:, None])

    def _set_out_of_bag(self, training: TrainingSet, y: Any, sample_weight: Any, threads: int) -> None:
        self._oob_mean = self._out_of_bag(training, threads)
        known = ~np.isnan(self._oob_mean[:, 0])
        truth = np.column_stack(event_times(y, len(known)))[known]
        weight = targets.row_weights(sample_weight, len(known))
        self.oob_score_ = concordance_index(
            truth, self.oob_prediction_[known], sample_weight=None if weight is None else weight[known]
        )

    @property
    def oob_prediction_(self) -> FloatArray:
        """Risks of training rows by trees that never saw them; NaN where there is none."""
        return self._known_out_of_bag[:, 0]

    # ---- prediction ----------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> FloatArray:
        """Risk of each row, higher for earlier events: the mortality of its leaves, a mean over the trees.

        Mortality is the sum of the cumulative hazard over the times of events: the number of events that would be
        expected if all training rows were like this one.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        return self._mean(X)[:, 0]

    def _cumulative_hazard(self, X: Any, times: FloatArray) -> FloatArray:
        return self._mean_of_steps(X, times, self._hazards.step)

    def _survival(self, X: Any, times: FloatArray) -> FloatArray:
        return np.maximum(1.0 - self._mean_of_steps(X, times, self._hazards.survival_steps()), 0.0)

    def _mean_of_steps(self, X: Any, times: FloatArray, steps: FloatArray) -> FloatArray:
        """Add up the steps of each row's leaves until some times, a mean over the trees."""
        forest, model, threads = self._fitted(), self.model_, n_threads(self.n_jobs)
        table = model.conform(X)
        sums = np.empty((table.n_rows, len(self.event_times_)))
        for part, summing in self._hazards.forests(forest, len(self.event_times_), steps):
            sums[:, part] = model.raw(table, threads, summing)
        mean = np.cumsum(sums, axis=1) / forest.n_trees
        place = self._last_events(times)
        return np.where(place >= 0, mean[:, np.maximum(place, 0)], 0.0)

    # ---- files ---------------------------------------------------------------------------------------------------

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._arrays(), "event_times": self.event_times_, **self._hazards.to_arrays()}

    def _read_trees(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._read_trees(header, arrays)
        self.event_times_ = read_event_times(arrays["event_times"])
        self._hazards = LeafHazards.from_arrays(arrays, self.forest_, len(self.event_times_))

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        super()._read_facts(header, forest)
        if forest.n_outputs != 1:
            raise ValueError(f"{forest.n_outputs} values a leaf, not one")
