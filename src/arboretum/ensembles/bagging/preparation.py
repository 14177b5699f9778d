"""From a user's table to the rows that impurity trees are grown on.

::

    X, y, weight ──read──► GivenRows ──cut──► TrainingSet ──rules──► SplitRules
                   goal                bins, draws, projections

Among other places (``places.py``) a table has the rows of one of them; target, weights and codes are those of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.cached import cached_property
from arboretum.data import targets
from arboretum.data.binning import BinnedData, assign_bins, bin_values, code_edges, learn_bins
from arboretum.data.schema import Schema
from arboretum.data.shared_rows import PlacedTable, shared_codes
from arboretum.data.table import Table, read_table
from arboretum.ensembles.bagging.goals import Goal
from arboretum.ensembles.bagging.settings import Choice, Settings, rows_of_share
from arboretum.ensembles.bagging.trees import BaggedRows, BaggedTarget, Pool, SingleTree, grow_tree
from arboretum.growing.constraints import in_binned_order
from arboretum.growing.grower import NO_LIMIT, SplitRules
from arboretum.model.forest import Forest
from arboretum.model.heads import MeanHead
from arboretum.parameters.checking import check_columns

Positions: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Rows with their target, as they were read, and the head for the mean of trees.

    ``numbers`` are their positions in the table that was given, of ``n_given`` rows: those without weight are left out.
    The target is that of the rows of all places, the table has those of this one.
    """

    placed: PlacedTable
    target: BaggedTarget
    head: MeanHead
    numbers: Positions
    n_given: int

    @classmethod
    def of(cls, placed: PlacedTable, target: BaggedTarget, head: MeanHead) -> GivenRows:
        """Return all rows that were given."""
        return cls(placed, target, head, np.arange(target.n_rows), target.n_rows)

    @property
    def table(self) -> Table:
        """The rows of this place."""
        return self.placed.table

    @property
    def own_weight(self) -> NDArray[np.float64] | None:
        """The weights of the rows of this place."""
        return None if self.target.weight is None else self.target.weight[self.placed.own]

    def take(self, rows: Positions) -> GivenRows:
        """Return some of the rows, under the schema of all."""
        return replace(self, placed=self.placed.take(rows), target=self.target.take(rows), numbers=self.numbers[rows])

    def relearn(self) -> GivenRows:
        """Return the rows under the schema that they give on their own."""
        return replace(self, placed=self.placed.relearn())


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows cut into bins, and how trees draw from them."""

    given: GivenRows
    schema: Schema
    data: BinnedData
    edges: _kernel.CodeEdges
    pool: Pool
    projections: _kernel.Projections | None

    @cached_property
    def bootstrap(self) -> _kernel.Bootstrap:
        """How trees draw rows."""
        return self.pool.bootstrap

    @property
    def table(self) -> Table:
        """The rows of this place as they were read."""
        return self.given.table

    @property
    def target(self) -> BaggedTarget:
        """What trees predict."""
        return self.given.target

    def copies(self, seed: int, tree: int) -> NDArray[Any]:
        """Return how often a tree has drawn each row."""
        return self.bootstrap.copies(seed, tree, self.target.n_rows)

    def bagged(self, forest: Forest, seed: int, threads: int) -> BaggedRows:
        """Return the rows as the trees of a forest saw them."""
        return BaggedRows(partial(self.leaves, forest, threads), self.bootstrap, seed, self.target.n_rows)

    def bagged_here(self, forest: Forest, seed: int, threads: int) -> BaggedRows:
        """Return the rows of this place as the trees of a forest saw them."""
        leaves = partial(self.leaves_here, forest, threads)
        return BaggedRows(leaves, self.bootstrap, seed, self.target.n_rows, self.given.placed.own)

    def leaves(self, forest: Forest, threads: int, first: int, last: int) -> NDArray[np.int32]:
        """Return the leaf of each row in some of the trees, (rows, trees)."""
        return places.whole(self.leaves_here(forest, threads, first, last))

    def leaves_here(self, forest: Forest, threads: int, first: int, last: int) -> NDArray[np.int32]:
        """Return the leaf of each row of this place in some of the trees, (rows, trees)."""
        parts = [
            forest.apply(part.columns, part.n_rows, threads=threads, first=first, last=last)
            for _, part in self.table.row_batches()
        ]
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros((0, last - first), np.int32), *parts])


@dataclass(frozen=True, eq=False)
class Preparation:
    """How rows are read, cut into bins and split, by the parameters of a model and its goal."""

    settings: Settings
    goal: Goal

    def settled(self, choice: Choice) -> Preparation:
        """Return the preparation with a choice in place of "auto"."""
        return replace(self, settings=choice.settle(self.settings))

    def table(self, X: Any) -> Table:
        """Read the rows of this place."""
        check_columns(self.settings.categorical_features)
        return read_table(X, categorical_features=self.settings.categorical_features)

    def read(self, X: Any, y: Any, sample_weight: Any = None) -> GivenRows:
        """Return the rows that have weight, in the order that the goal needs.

        X has the rows of this place, ``y`` and ``sample_weight`` belong to those of all places.
        """
        placed = PlacedTable.of(self.table(X))
        n_rows = places.total(placed.table.n_rows)
        with places.among(None):
            weight = targets.training_weights(sample_weight, n_rows)
            target, head = self.goal.read(self.goal.as_columns(y, n_rows), weight)
        given = GivenRows.of(placed, target, head)
        if target.weight is not None and not target.weight.all():
            given = given.take(np.flatnonzero(target.weight)).relearn()
        order = self.goal.order(given.target)
        return given if order is None else given.take(order)

    def cut(self, given: GivenRows, threads: int) -> TrainingSet:
        """Cut rows into bins, and prepare the draws of the trees."""
        table, target, settings = given.table, given.target, self.settings
        reserve = settings.training_bytes(target.n_rows, table.schema.n_features)
        if settings.max_bins is None:
            data = bin_values(table, threads=threads)
        else:
            bin_map = learn_bins(table, max_bins=settings.max_bins, weight=given.own_weight, threads=threads)
            table.require_memory(reserve)
            data = assign_bins(table, bin_map, reserve=reserve, threads=threads)
        data = shared_codes(data, reserve, threads)
        missing = np.zeros(table.schema.n_features, dtype=bool)
        missing[list(data.bin_map.order)] = data.has_missing
        projected = settings.projections(table, data.bin_map, given.own_weight)
        edges = code_edges(table, data.bin_map)
        pool = self.goal.draws(settings).pool(data, target, threads, projected, edges)
        return TrainingSet(given, table.schema.with_missing(missing.tolist()), data, edges, pool, projected)

    def rules(self, training: TrainingSet) -> SplitRules:
        """Return when a node may be split."""
        settings, schema, target = self.settings, training.schema, training.target
        n_rows, drawn = target.n_rows, training.bootstrap.n_draws
        total = float(drawn or (n_rows if target.weight is None else target.weight.sum()))
        directions = settings.directions(schema, target.width)
        return SplitRules(
            random_thresholds=settings.random_thresholds,
            max_depth=settings.max_depth or NO_LIMIT,
            max_leaf_nodes=settings.max_leaf_nodes or NO_LIMIT,
            min_samples_split=max(2, rows_of_share(settings.min_samples_split, n_rows)),
            min_samples_leaf=self.goal.least_rows_of_leaf(settings, n_rows, drawn),
            min_weight_leaf=max(float(settings.min_weight_fraction_leaf) * total, settings.least_weight),
            min_impurity_decrease=float(settings.min_impurity_decrease),
            max_features=settings.features_a_node(schema),
            monotone=in_binned_order(directions, training.data.bin_map.order),
        )

    def grow_tree(self, training: TrainingSet, seed: int, threads: int) -> SingleTree:
        """Grow one tree on all rows."""
        return grow_tree(
            training.data,
            training.edges,
            training.target,
            self.rules(training),
            seed=seed,
            threads=threads,
            projections=training.projections,
        )
