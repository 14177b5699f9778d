"""Forests as a recipe: parameters, a goal and rows make a Model.

::

    X, y, weight ──Preparation──► TrainingSet ──bag──► Forest ──Head──► Model
                                       │                                 │  hazards or honest leaves (goal)
                                       └── draws of each tree ──────────►│  bags, out-of-bag predictions (notes)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.cached import cached_property
from arboretum.data import targets
from arboretum.ensembles.bagging.choosing import choose
from arboretum.ensembles.bagging.goals import Goal
from arboretum.ensembles.bagging.model_notes import Bags, ForestNotes, notes_of
from arboretum.ensembles.bagging.parameters import ForestParameters
from arboretum.ensembles.bagging.preparation import Preparation, TrainingSet
from arboretum.ensembles.bagging.settings import Choice, Settings
from arboretum.ensembles.bagging.trees import BaggingParams, bag, out_of_bag_sums
from arboretum.ensembles.recipe import Recipe
from arboretum.ensembles.training_memory import forest_bytes
from arboretum.model.forest import Forest
from arboretum.model.heads import MeanHead
from arboretum.model.model import Model
from arboretum.parameters.checking import seed_of
from arboretum.running.interruption import warn_interrupted
from arboretum.running.progress import ProgressBar, followers
from arboretum.running.threads import n_threads
from arboretum.running.warning import warn_user

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bagging(Recipe[ForestParameters, Goal]):
    """Trees that are grown independently, each on its own draw of the rows or at random thresholds.

    Parameters
    ----------
    estimator : callable
        Makes an estimator for scorers from a fitted model.
    random_thresholds : bool
        Whether thresholds are drawn, not searched.
    """

    estimator: Callable[[Model], Any]
    random_thresholds: bool = False

    @cached_property
    def settings(self) -> Settings:
        """The settings of growing that the parameters give."""
        return Settings.of(self.given, random_thresholds=self.random_thresholds)

    @cached_property
    def preparation(self) -> Preparation:
        """How rows are read and cut, and usually split."""
        asked, usual = Preparation(self.settings, self.goal), self.goal.usual(self.settings)
        return asked if usual is None else asked.settled(usual)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, earlier: Model | None = None) -> Model:
        """Grow the trees, or those that an earlier model still lacks."""
        wanted, done = int(self.given.n_estimators), 0 if earlier is None else earlier.forest.n_trees
        if wanted < done:
            raise ValueError(
                f"n_estimators={wanted} is less than the {done} trees already fitted (warm_start=True); raise it or "
                "set warm_start=False"
            )
        if earlier is not None and wanted == done:
            return earlier
        threads = n_threads(self.given.n_jobs)
        seed = seed_of(self.given.random_state) if earlier is None else notes_of(earlier).seed
        X = self.preparation.table(X)
        y, sample_weight = self.goal.of_all_places(y, X.n_rows), targets.whole_weights(sample_weight)
        given = self.preparation.read(X, y, sample_weight)
        training = self.preparation.cut(given, threads)
        if earlier is not None:
            _check_continuing(earlier, training)
        training = self.goal.prepared(training, seed, threads)
        choice = self._chosen(training, seed, threads) if earlier is None else notes_of(earlier).choice
        forest = given.head.with_prior(self._grown(training, wanted - done, earlier, choice, seed, threads))
        notes, policy = ForestNotes(seed, given.target.n_outputs, choice=choice), self.settings.policy
        model = Model(forest, training.schema, name=self.name, head=given.head.of(forest), notes=notes, **policy)
        model = self.goal.finished(model, training, self.settings, seed, threads, earlier)
        return replace(model, notes=self._noted(model, training, y, sample_weight, threads))

    def _chosen(self, training: TrainingSet, seed: int, threads: int) -> Choice | None:
        """Return what "auto" stands for; None if no setting is "auto"."""
        usual = self.goal.usual(self.settings)
        if usual is None or usual.settle(self.settings) == self.settings:
            return None
        return choose(Preparation(self.settings, self.goal), training, usual, seed, threads)

    def _grown(
        self,
        training: TrainingSet,
        n_trees: int,
        earlier: Model | None,
        choice: Choice | None,
        seed: int,
        threads: int,
    ) -> Forest:
        first = 0 if earlier is None else earlier.forest.n_trees
        preparation = self.preparation if choice is None else Preparation(self.settings, self.goal).settled(choice)
        params = BaggingParams(n_trees, preparation.rules(training), seed, threads, first)
        with ProgressBar(n_trees, "tree") if self.given.verbose else nullcontext() as bar:
            forest, interrupted = bag(
                training.data,
                training.edges,
                training.target,
                training.bootstrap,
                params,
                followers(bar),
                training.projections,
                partial(_check_size, training, n_trees),
            )
        if interrupted:
            warn_interrupted(forest.n_trees, "trees")
        return forest if earlier is None else Forest.concat([earlier.forest, forest])

    # ---- what bags tell --------------------------------------------------------------------------------------------

    def _noted(self, model: Model, training: TrainingSet, y: Any, sample_weight: Any, threads: int) -> ForestNotes:
        """Return the notes of a model, with bags and out-of-bag predictions if requested."""
        settings, notes = self.settings, notes_of(model)
        if settings.keep_bags:
            notes = replace(notes, bags=Bags.of(model, training, notes.seed, threads))
        if settings.oob_score is False:
            return notes
        mean = self._out_of_bag(model, training, threads)
        with places.among(None):
            score = self._score(model, mean, y, sample_weight)
        return replace(notes, oob_score=score, oob_mean=mean)

    def _score(self, model: Model, mean: FloatArray, y: Any, sample_weight: Any) -> float:
        """Score out-of-bag means where they are known."""
        known = ~np.isnan(mean[:, 0])
        if not known.any():
            return math.nan
        truth, weight = self.goal.truth(y, len(known)), targets.row_weights(sample_weight, len(known))
        weight = None if weight is None else weight[known]
        return self.goal.score(self.settings.oob_score, truth[known], mean[known], weight, self.estimator(model))

    def _out_of_bag(self, model: Model, training: TrainingSet, threads: int) -> FloatArray:
        """Return, for each given row, the mean of the trees that never saw it; NaN if there is none."""
        forest, given, n_rows = model.summed, training.given, training.target.n_rows
        found = out_of_bag_sums(forest, training.bagged_here(forest, notes_of(model).seed, threads))
        sums, counts = map(places.whole, found)
        if not counts.all():
            warn_user(
                f"{int((counts == 0).sum())} of {n_rows} rows are in the bag of every tree and have no out-of-bag "
                f"prediction (NaN): raise n_estimators={self.given.n_estimators}"
            )
        whole = np.full((given.n_given, sums.shape[1]), np.nan)
        seen = counts > 0
        whole[given.numbers[seen]] = sums[seen] / model.head_as(MeanHead).weight_of(counts[seen, None])
        return whole


def _check_continuing(earlier: Model, training: TrainingSet) -> None:
    """Reject trees whose columns or classes differ from those of the existing trees, and trees for an average."""
    if notes_of(earlier).is_averaged:
        raise ValueError(
            "warm_start=True, but the fitted forest is an average, whose trees have weights: add trees to a "
            "forest that it was made from, or set warm_start=False"
        )
    given = training.given
    is_same = earlier.forest.width == given.target.width and given.head.is_like(earlier.head)
    if not is_same or not training.schema.describes_like(earlier.schema):
        raise ValueError(
            "warm_start=True, but columns, categories or classes are not those of the fitted trees: "
            "give the same rows or set warm_start=False"
        )


def _check_size(training: TrainingSet, n_trees: int, done: int, n_nodes: int) -> None:
    """Reject a memory limit that is too small for all trees, if they are as large as those so far."""
    width = training.target.width
    more = forest_bytes(n_nodes * n_trees // done, width) - forest_bytes(n_nodes, width) // 2
    training.table.require_memory(more, f"a forest of {n_trees} trees with some {n_nodes // done} nodes each")
