"""The input of boosting: checked rows, a checked target, and what members of an ensemble share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.data.binning import BinMap
from arboretum.data.schema import Schema
from arboretum.data.table import Table
from arboretum.data.weights import in_rows
from arboretum.encoding.category_encoding import CategoryEncoding
from arboretum.ensembles.bagging.resampling import Bag, columns_of_table
from arboretum.ensembles.boosting.history import Judge
from arboretum.ensembles.boosting.rounds import BoostingParams
from arboretum.ensembles.boosting.rows import Rows
from arboretum.losses import Loss

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Target:
    """A checked target: numbers or class codes, their loss, and the classes of a classifier.

    Several outputs have y (rows, outputs) and a list of classes.
    """

    y: FloatArray
    weight: FloatArray | None
    loss: Loss
    classes: Any = None
    factors: FloatArray | None = None  # class weights, by class


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Validation rows as they were given; there are none if X is None."""

    X: Any = None
    y: Any = None
    weight: Any = None
    offset: Any = None

    @property
    def is_given(self) -> bool:
        """Whether there are any; targets or weights without X are rejected."""
        names = {"y_val": self.y, "sample_weight_val": self.weight, "offset_val": self.offset}
        given = [name for name, part in names.items() if part is not None]
        if self.X is None and given:
            raise ValueError(f"{given[0]} is given without X_val: give X_val as well")
        return self.X is not None


@dataclass(frozen=True, eq=False)
class Problem:
    """Checked rows."""

    table: Table
    y: FloatArray
    weight: FloatArray | None
    query: NDArray[np.int64] | None = None  # number of the row's query, rising
    offset: FloatArray | None = None  # what raw predictions start from, shaped as losses see them
    group: NDArray[np.intp] | None = None  # number of the row's group; rows are held out by whole groups
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)  # columns that only scorers read, by name

    def count_rows(self) -> int:
        """Return the number of rows, those of other places included."""
        return places.total(self.table.n_rows)

    def take(self, rows: NDArray[np.intp]) -> Problem:
        """Return the problem of these rows."""
        weight = None if self.weight is None else self.weight[rows]
        query = None if self.query is None else self.query[rows]
        offset = None if self.offset is None else self.offset[rows]
        group = None if self.group is None else self.group[rows]
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Problem(self.table.take(rows), self.y[rows], weight, query, offset, group, columns)

    def without_zero_weights(self) -> Problem:
        """Drop rows of weight 0: they do not count at all, not even as rows of a leaf or as known categories."""
        if self.weight is None or places.everywhere(bool(self.weight.all())):
            return self
        kept = self.take(np.flatnonzero(self.weight))
        weight = kept.weight if places.anywhere(bool(np.any(kept.weight != 1))) else None
        return replace(kept, table=kept.table.relearn(), weight=weight)


@dataclass(frozen=True, eq=False)
class Run:
    """A problem during boosting, with what turns its forest into a model."""

    problem: Problem
    target: Target
    schema: Schema
    encoding: CategoryEncoding | None
    params: BoostingParams
    has_offset: bool = False  # whether any round, earlier ones included, was fitted with offsets


@dataclass(frozen=True, eq=False)
class Training:
    """Everything that rounds are grown from."""

    run: Run
    rows: Rows
    reordered: list[Rows]
    validation: Rows | None
    judge: Judge | None
    base: FloatArray
    first_round: int
    held: Problem | None = None  # rows held out of those given, which ``validation`` has as codes

    def count_held(self) -> int:
        """Return the number of validation rows, or of their queries."""
        assert self.validation is not None
        queries = self.validation.queries
        return places.total(len(self.validation.y) if queries is None else len(queries.start) - 1)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``BoostingRun``."""
        return {
            "rows": self.rows,
            "loss": self.run.target.loss,
            "params": self.run.params,
            "base": self.base,
            "first_round": self.first_round,
            "reordered": self.reordered,
            "validation": self.validation,
            "judge": self.judge,
        }


@dataclass(frozen=True, eq=False)
class Shared:
    """A table read and cut once for all members of an ensemble; its weights are class weights only."""

    problem: Problem
    target: Target
    bin_map: BinMap

    def part(self, bag: Bag) -> Problem:
        """Return the problem of a member."""
        weight = in_rows(bag.weight)
        if weight is None:
            weight = np.ones(len(bag.rows))
        if self.problem.weight is not None:
            weight = weight * self.problem.weight[bag.rows]
        table = self.problem.table if bag.columns is None else columns_of_table(self.problem.table, bag.columns)
        rows = bag.rows[weight > 0]
        weight = weight[weight > 0]
        return Problem(table.take(rows), self.problem.y[rows], weight if np.any(weight != 1) else None)
