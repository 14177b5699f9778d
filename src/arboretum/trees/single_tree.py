"""Single trees as a recipe: one tree is grown, pruned, and becomes a Model.

::

    X, y, weight ──read──► GivenRows ──grow──► GrownTree ──prune──► Model
                               │       CART, ID3, C4.5      ▲
                               └── held out, or X_val ──────┘  reduced error
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.cached import cached_property
from arboretum.data import targets
from arboretum.data.schema import MISSING, UNKNOWN, Schema
from arboretum.data.shared_rows import PlacedTable
from arboretum.data.splits import split_rows
from arboretum.data.table import Table, conform
from arboretum.ensembles.bagging.goals import SingleTreeGoal
from arboretum.ensembles.bagging.model_notes import ForestNotes
from arboretum.ensembles.bagging.preparation import GivenRows, Preparation
from arboretum.ensembles.bagging.settings import Settings, rows_of_share
from arboretum.ensembles.recipe import Recipe
from arboretum.model.model import Model
from arboretum.parameters.checking import seed_of
from arboretum.running.threads import n_threads
from arboretum.trees.c45 import grow_c45
from arboretum.trees.grown_tree import BinaryTree, BranchingTree, GrownTree
from arboretum.trees.id3 import grow_id3
from arboretum.trees.multiway import MultiwayTree
from arboretum.trees.parameters import ClassTree, SingleTree, pruning_of
from arboretum.trees.pruning import cost_complexity, pessimistic, prune_to_alpha, reduced_error

FloatArray: TypeAlias = NDArray[np.float64]

C45_LEAST_CASES = 2  # in the branches of a split, as in the book


class PruningPath(NamedTuple):
    """The steps of cost-complexity pruning: the alpha from which each subtree is best, and its impurity."""

    ccp_alphas: FloatArray
    impurities: FloatArray


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows to prune by, as users give them; ``X`` is None if there are none."""

    X: Any = None
    y: Any = None
    weight: Any = None


NO_ROWS = HeldRows()


@dataclass(frozen=True, eq=False)
class PrunedTree(Recipe[SingleTree, SingleTreeGoal]):
    """One tree on all rows, or on those that are not held out to prune it."""

    @property
    def method(self) -> str:
        """How the tree is grown: "cart", "id3" or "c45"."""
        return self.given.method if isinstance(self.given, ClassTree) else "cart"

    @property
    def pruning(self) -> str | None:
        """How the tree is pruned."""
        return pruning_of(self.given)

    @cached_property
    def preparation(self) -> Preparation:
        """How rows are read, cut and split."""
        return Preparation(Settings.of(self.given), self.goal)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, held: HeldRows = NO_ROWS) -> Model:
        """Grow the tree and prune it."""
        self._check_held(held)
        threads, seed = n_threads(self.given.n_jobs), seed_of(self.given.random_state)
        rows, out = self.read(X, y, sample_weight), None
        if self.pruning == "reduced_error" and held.X is None:
            rows, out = self._hold_out(rows, seed)
        schema, grown = self.grow(rows, seed, threads)
        if held.X is not None:
            out = self._read_held(held, schema, rows)
        leaves, notes = self.leaves_to_be(grown, out, threads), ForestNotes(seed, rows.target.n_outputs)
        policy = self.preparation.settings.policy
        return grown.model(leaves, schema, rows.head, notes, name=self.name, **policy)

    def path(self, X: Any, y: Any, sample_weight: Any = None) -> PruningPath:
        """Return the steps of cost-complexity pruning of the tree of these rows."""
        rows = self.read(X, y, sample_weight)
        _, grown = self.grow(rows, seed_of(self.given.random_state), n_threads(self.given.n_jobs))
        found = cost_complexity(grown.parent, grown.risk_share)
        return PruningPath(found.alphas, found.risks)

    def read(self, X: Any, y: Any, sample_weight: Any = None) -> GivenRows:
        """Return the rows that have weight; reject several outputs if method or pruning do not support them."""
        rows = self.preparation.read(X, y, sample_weight)
        n_outputs = rows.target.n_outputs
        if n_outputs > 1 and self.method != "cart":
            raise ValueError(f"method={self.method!r} needs one output, but y has {n_outputs}: use method='cart'")
        if n_outputs > 1 and self.pruning == "pessimistic":
            raise ValueError(
                f"pruning='pessimistic' needs one output, but y has {n_outputs}: use pruning='reduced_error' or "
                "'cost_complexity'"
            )
        return rows

    # ---- growing -------------------------------------------------------------------------------------------------

    def grow(self, rows: GivenRows, seed: int, threads: int) -> tuple[Schema, GrownTree]:
        """Return the columns, marked if they have missing values, and the unpruned tree."""
        if self.method == "cart":
            training = self.preparation.cut(rows, threads)
            return training.schema, BinaryTree.of(self.preparation.grow_tree(training, seed, threads))
        missing = [bool((column != column).any()) for _, batch in rows.table.column_batches() for column in batch]
        return rows.table.schema.with_missing(missing), BranchingTree.of(self._grow_multiway(rows, threads))

    def _grow_multiway(self, rows: GivenRows, threads: int) -> MultiwayTree:
        settings, table, target = self.preparation.settings, rows.table, rows.target
        n_rows, cases = table.n_rows, (table, np.asarray(target.classes)[:, 0], target.weight)
        limits: dict[str, Any] = {"n_classes": target.n_classes[0], "max_depth": settings.max_depth}
        if self.method == "id3":
            return grow_id3(
                *cases, **limits, min_samples_split=max(2, rows_of_share(settings.min_samples_split, n_rows))
            )
        total = n_rows if target.weight is None else float(target.weight.sum())
        least = rows_of_share(self.given.min_samples_leaf or C45_LEAST_CASES, n_rows)
        return grow_c45(
            *cases,
            **limits,
            min_samples_leaf=max(least, float(settings.min_weight_fraction_leaf) * total),
            confidence=None,  # pruned like any tree
            threads=threads,
        )

    # ---- pruning -------------------------------------------------------------------------------------------------

    def leaves_to_be(self, grown: GrownTree, held: GivenRows | None, threads: int) -> NDArray[np.bool_]:
        """Mark the inner nodes that become leaves."""
        if held is not None:
            return reduced_error(grown.parent, *grown.errors_on(held, self.given.unknown, threads))
        if self.pruning == "pessimistic" and isinstance(self.given, ClassTree):
            return pessimistic(grown.parent, grown.errors, grown.weight, float(self.given.confidence))
        if self.pruning == "cost_complexity" and self.given.ccp_alpha > 0:
            return prune_to_alpha(grown.parent, grown.risk_share, float(self.given.ccp_alpha))
        return np.zeros(len(grown.weight), dtype=bool)

    def _check_held(self, held: HeldRows) -> None:
        if held.X is None and (held.y is not None or held.weight is not None):
            raise ValueError("y_val or sample_weight_val is given without X_val: give X_val as well")
        if held.X is None:
            return
        if self.pruning != "reduced_error":
            raise ValueError(
                f"X_val is given, but pruning={self.given.pruning!r} does not use it: set pruning='reduced_error' "
                "or leave X_val out"
            )
        if held.y is None:
            raise ValueError("X_val is given without y_val: give both")

    def _hold_out(self, rows: GivenRows, seed: int) -> tuple[GivenRows, GivenRows]:
        """Return rows to grow on and rows to prune by."""
        n_rows, share = rows.table.n_rows, float(self.given.validation_fraction)
        kept, out = split_rows(n_rows, share, seed, self.goal.strata(rows.target))
        if not len(out) or not len(kept):
            raise ValueError(
                f"pruning='reduced_error', but validation_fraction={self.given.validation_fraction} of {n_rows} rows "
                "leaves no row to grow on or to prune by: give X_val or raise validation_fraction"
            )
        training, held = rows.take(kept).relearn(), rows.take(out)
        unknown = MISSING if self.given.unknown == "missing" else UNKNOWN
        recoded_table = recoded(held.table, training.table.schema, unknown)
        return training, replace(held, placed=replace(held.placed, table=recoded_table))

    def _read_held(self, held: HeldRows, schema: Schema, rows: GivenRows) -> GivenRows:
        table = conform(held.X, schema, estimator_name=self.name, **self.preparation.settings.policy)
        columns = self.goal.as_columns(held.y, table.n_rows, "y_val", "X_val")
        weight = targets.row_weights(held.weight, table.n_rows, "sample_weight_val", "X_val")
        target = self.goal.read_more(columns, weight, rows, "y_val")
        return GivenRows.of(PlacedTable.of(table), target, rows.head)


def recoded(table: Table, schema: Schema, unknown: int) -> Table:
    """Return a table under another schema of the same columns; categories that it lacks become ``unknown``.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> table, other = read_table([["b"], ["a"], ["b"], [None]]), read_table([["a"]])
    >>> recoded(table, other.schema, UNKNOWN).columns
    [array([-2,  0, -2, -1], dtype=int32)]
    """
    if not schema.categorical:
        return table
    columns = list(table.columns)
    for j in schema.categorical:
        new = [schema.columns[j].code.get(category, unknown) for category in table.schema.columns[j].categories]
        columns[j] = np.array([*new, MISSING], dtype=np.int32)[columns[j]]  # −1, missing, is the last
    return Table(schema, columns)
