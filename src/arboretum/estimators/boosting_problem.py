"""What boosted trees are fitted to: checked rows, a checked target, and what members of an ensemble share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.binning import BinMap
from arboretum.category_encoding import CategoryEncoding
from arboretum.ensembles.boosting import BoostingParams
from arboretum.ensembles.resampling import Bag, columns_of_table
from arboretum.estimators.base import FloatArray
from arboretum.losses import Loss
from arboretum.schema import Schema
from arboretum.table import Table


@dataclass(frozen=True, eq=False)
class Target:
    """A checked target: numbers or class codes, the loss they call for, and the classes of a classifier.

    Several outputs have y (rows, outputs) and a list of classes.
    """

    y: FloatArray
    weight: FloatArray | None
    loss: Loss
    classes: Any = None
    factors: FloatArray | None = None  # class weights, by class


@dataclass(frozen=True, eq=False)
class Problem:
    """Checked rows."""

    table: Table
    y: FloatArray
    weight: FloatArray | None
    query: NDArray[np.int64] | None = None  # number of the row's query, rising

    def take(self, rows: NDArray[np.intp]) -> Problem:
        """Return the problem of these rows."""
        weight = None if self.weight is None else self.weight[rows]
        query = None if self.query is None else self.query[rows]
        return Problem(self.table.take(rows), self.y[rows], weight, query)

    def without_zero_weights(self) -> Problem:
        """Drop rows of weight 0: they take no part, not even as rows of a leaf or as known categories."""
        if self.weight is None or self.weight.all():
            return self
        kept = self.take(np.flatnonzero(self.weight))
        weight = kept.weight if np.any(kept.weight != 1) else None
        return Problem(kept.table.relearn(), kept.y, weight, kept.query)


@dataclass(frozen=True, eq=False)
class Run:
    """A problem that is being boosted: what makes a model of its forest."""

    problem: Problem
    target: Target
    schema: Schema
    encoding: CategoryEncoding | None
    params: BoostingParams


@dataclass(frozen=True, eq=False)
class Shared:
    """A table read and cut once for all members of an ensemble; the weights are those of classes alone."""

    problem: Problem
    target: Target
    bin_map: BinMap

    def part(self, bag: Bag) -> Problem:
        """Return the problem of a member."""
        weight = bag.weight if self.problem.weight is None else bag.weight * self.problem.weight[bag.rows]
        table = self.problem.table if bag.columns is None else columns_of_table(self.problem.table, bag.columns)
        rows = bag.rows[weight > 0]
        weight = weight[weight > 0]
        return Problem(table.take(rows), self.problem.y[rows], weight if np.any(weight != 1) else None)
