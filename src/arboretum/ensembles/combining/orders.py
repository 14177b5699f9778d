"""Combining answers that order rows: scores of rankers, risks of survival models.

::

    answers to rows not seen ──/ standard deviation──► one scale ──greedy, by the metric──► shares
                                                       weights = shares / standard deviations
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.combining.combiners import Combiner, ScaledSum
from arboretum.ensembles.combining.fitting import Fitted
from arboretum.ensembles.combining.folds import Split
from arboretum.ensembles.combining.greedy import Greed, select
from arboretum.ensembles.combining.recipe import Given, SelectionRecipe, learned_from
from arboretum.metrics.named import Metric, find_metric, named_metrics
from arboretum.metrics.scoring import Scorer, find_scoring
from arboretum.model.members import Members

FloatArray: TypeAlias = NDArray[np.float64]

ROUNDING = 1e-12  # of answers that are equal, relative to the largest
FROM_THE_BEST = Greed(n_steps=50, n_best=1, n_bags=1, share=1.0, seed=0)


@dataclass(frozen=True, eq=False)
class OrderRecipe(SelectionRecipe):
    """Members whose answers order rows, each in a scale of its own: greedy weights in one scale."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Members:
        """Fit as a stack does, once it is known what answers are judged by."""
        self.scoring()
        return super().fit(X, y, sample_weight, groups)

    def scoring(self) -> Metric | Scorer:
        """Return what answers are judged by."""
        task = self.goal.task.name
        found = find_scoring(self.given.scoring, task)
        if found is None:
            usable = ", ".join(named_metrics(task))
            raise ValueError(f"scoring={self.given.scoring!r}: members have losses of their own; use {usable}")
        return found

    def splits(self, given: Given) -> tuple[list[Split], list[str | int]]:
        """Return the parts of the rows; no query may be on both sides."""
        parts, bags = super().splits(given)
        if (query := given.query) is None:
            return parts, bags
        for number, (fit, held) in enumerate(parts):
            if len(both := np.intersect1d(query[fit], query[held])):
                row = given.kept[np.flatnonzero(query == both[0])[0]]
                raise ValueError(
                    f"cv: split {number} has rows of one query, that of row {row}, among the training rows and the "
                    "held-out rows: use a splitter that keeps groups, such as GroupKFold"
                )
        return parts, bags

    def combine(
        self, given: Given, found: Sequence[Fitted], answers: Sequence[FloatArray], rows: NDArray[np.intp], final: Any
    ) -> tuple[Combiner | None, Any]:
        """Return the sum of scaled answers with greedy weights."""
        query = None if given.query is None else given.query[rows]
        scales = np.array([spread(one[:, 0], given.weight[rows], query) for one in answers])
        scaled = [one / scale for one, scale in zip(answers, scales, strict=True)]
        return ScaledSum.of(select(scaled, self._score(given, self.scoring(), rows), FROM_THE_BEST), scales), None

    def member_scores(self, given: Given, found: Sequence[Fitted]) -> tuple[str, dict[str, float]]:
        """Return the metric of each member on rows that it has not seen."""
        scoring = self.scoring()
        metric = scoring if isinstance(scoring, Metric) else find_metric(given.goal.metric, given.task)
        assert metric is not None
        scores = {}
        for one in found:
            assert one.unseen is not None
            rows = learned_from([one], given)
            scores[one.name] = metric.value(given.answering(rows)(one.unseen[rows]))
        return metric.name, scores


def spread(answers: FloatArray, weight: FloatArray, query: NDArray[np.intp] | None) -> float:
    """Return the standard deviation of answers, within queries if there are some; 1 if all are equal.

    Only differences within a query matter to a ranking.

    Examples
    --------
    >>> answers = np.array([0.0, 2.0, 100.0, 102.0])
    >>> spread(answers, np.ones(4), np.array([0, 0, 1, 1])), round(spread(answers, np.ones(4), None))
    (1.0, 50)
    """
    unit = np.zeros(len(answers), dtype=np.intp) if query is None else np.unique(query, return_inverse=True)[1]
    mass = np.bincount(unit, weight)
    off = answers - (np.bincount(unit, weight * answers) / mass)[unit]
    found = float(np.sqrt((weight * off * off).sum() / mass.sum()))
    least = max(float(np.finfo(np.float64).tiny), ROUNDING * float(np.abs(answers).max()))
    return found if np.isfinite(found) and found > least else 1.0
