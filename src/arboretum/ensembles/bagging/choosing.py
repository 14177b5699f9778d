"""What "auto" stands for in a forest, chosen by rows out of the bag (docs/forest-defaults.md).

::

    a few trees for each share of columns          ─► losses of rows that trees have not drawn ─► columns of a node
    a few trees for each least number of draws     ─► the same                                 ─► draws of a leaf

A forest averages more trees than those few, so what more trees average out is taken off the loss:

    loss = Σ (m − y)² − s² / c        m, s²: mean and variance of the c trees that have not drawn the row

which is, in expectation, the loss of infinitely many trees. Shares of classes have the same loss (Brier 1950). Copies
of a row count one by one, as those that trees have drawn or not: a row of weight 3 is the same as three rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.bagging.parameters import AUTO
from arboretum.ensembles.bagging.preparation import Preparation, TrainingSet
from arboretum.ensembles.bagging.settings import Choice
from arboretum.ensembles.bagging.trees import BaggedTarget, BaggingParams, Draws, bag, is_whole
from arboretum.exact_sums import rounded, words_of
from arboretum.model.forest import Forest
from arboretum.running.interruption import inner_fits

FloatArray: TypeAlias = NDArray[np.float64]

TREES = 25  # of each trial
MOST_PLACES = 20_000  # copies of rows, beyond which nothing is tried: trials would take too long
MOST_VALUES = 2_000_000  # the same for copies × values of a leaf, which trials add up
LEAST_DRAWS = (1, 2, 5)
COLUMNS: tuple[str | float, ...] = ("sqrt", 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Trial:
    """A forest of few trees on the training rows, judged out of the bag."""

    training: TrainingSet
    target: FloatArray  # (rows, values of a leaf)
    seed: int
    threads: int

    def loss(self, preparation: Preparation) -> float:
        """Return the mean loss of places out of the bag, as of infinitely many trees; inf if there are none."""
        training = self.training
        params = BaggingParams(TREES, preparation.rules(training), self.seed, self.threads)
        with inner_fits():
            forest, _ = bag(
                training.data, training.edges, training.target, training.bootstrap, params, (), training.projections
            )
        losses, weight = self._losses(forest)
        return rounded(words_of(losses, weight)) / rounded(words_of(weight)) if len(losses) else np.inf

    def _losses(self, forest: Forest) -> tuple[FloatArray, FloatArray]:
        """Return loss and weight of every place that at least two trees have not drawn."""
        pool = self.training.pool
        count = np.zeros(len(pool.rows))
        total, squares = np.zeros((2, len(pool.rows), forest.width))
        for tree, leaf in self.training.bagged(forest, self.seed, self.threads).leaves_of_trees(0, forest.n_trees):
            out = pool.drawn(self.seed, tree) == 0
            value = np.where(out[:, None], forest.value[forest.tree_start[tree] + leaf][pool.rows], 0.0)
            count += out
            total += value
            squares += value * value
        known = count > 1
        n, mean = count[known, None], total[known] / count[known, None]
        variance = np.maximum(squares[known] - n * mean * mean, 0.0) / (n - 1.0)
        losses = ((mean - self.target[pool.rows[known]]) ** 2 - variance / n).sum(axis=1)
        return losses, np.ones(len(losses)) if pool.weight is None else pool.weight[known]


def choose(preparation: Preparation, training: TrainingSet, usual: Choice, seed: int, threads: int) -> Choice:
    """Return the choice with the least loss out of the bag: columns first, then draws of a leaf.

    Parameters
    ----------
    preparation : Preparation
        With "auto" among its settings.
    training : TrainingSet
        Rows that it has cut.
    usual : Choice
        What "auto" stands for where nothing is tried.
    seed, threads : int
        Of the trials; the choice is the same for any number of threads.
    """
    settings = preparation.settings
    if not _is_tried(preparation, training):
        return usual
    if not training.pool.n_draws:
        pool = Draws(1.0).pool(training.data, training.target, threads, training.projections, training.edges)
        training = replace(training, pool=pool)
    trial = Trial(training, training.target.as_values, seed, threads)

    @cache
    def loss(choice: Choice) -> float:
        return trial.loss(preparation.settled(choice))

    chosen = usual
    if settings.max_features == AUTO:
        chosen = min((replace(chosen, max_features=columns) for columns in COLUMNS), key=loss)
    if settings.min_samples_leaf == AUTO:
        chosen = min((replace(chosen, least_draws=draws) for draws in LEAST_DRAWS), key=loss)
    return chosen


def _is_tried(preparation: Preparation, training: TrainingSet) -> bool:
    """Whether the loss is what the forest is for, and there are not too many rows."""
    target, settings = training.target, preparation.settings
    is_squared = target.n_outputs == 1 and target.criterion != "absolute_error"
    n_places = _n_places(target)
    is_small = n_places <= MOST_PLACES and n_places * target.width <= MOST_VALUES
    draws = preparation.goal.draws(settings)
    return is_squared and is_small and not (draws.balanced and draws.share is not None)


def _n_places(target: BaggedTarget) -> float:
    """Return the number of rows, or of their copies."""
    weight = target.weight
    return target.n_rows if weight is None or not is_whole(weight) else float(weight.sum())
