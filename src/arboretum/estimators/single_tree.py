"""What single trees share: one tree grown on all rows or on those that are not held out, pruned, and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.data.schema import MISSING, UNKNOWN, Schema
from arboretum.data.splits import split_rows
from arboretum.data.table import Table, conform
from arboretum.ensembles.bagging.parameters import SingleTree
from arboretum.ensembles.bagging.trees import BaggedTarget, grow_tree
from arboretum.estimators.bagged_trees import BaggedTrees, GivenRows
from arboretum.estimators.base import FloatArray
from arboretum.estimators.classes import defaults
from arboretum.model.forest import LEAF, Forest
from arboretum.model.model import Model
from arboretum.parameters.checking import seed_of
from arboretum.running.threads import n_threads
from arboretum.trees.cart import training_errors, validation_losses
from arboretum.trees.multiway import MultiwayTree
from arboretum.trees.pruning import (
    cost_complexity,
    parents,
    pessimistic,
    prune_forest,
    prune_multiway,
    prune_to_alpha,
    reduced_error,
)

Single = TypeVar("Single", bound="SingleTreeModel")

# Which pruning reads a parameter; with another it must keep its default.
READ_BY_PRUNING = {
    "ccp_alpha": ("cost_complexity",),
    "confidence": ("pessimistic",),
    "validation_fraction": ("reduced_error",),
}


class PruningPath(NamedTuple):
    """The steps of cost-complexity pruning: alpha from which each subtree is the best, and its impurity."""

    ccp_alphas: FloatArray
    impurities: FloatArray


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree with what pruning asks of its nodes: parent, weight · impurity, and weight."""

    nodes: Forest | MultiwayTree
    parent: NDArray[Any]
    risk: FloatArray
    weight: FloatArray

    @property
    def risk_share(self) -> FloatArray:
        """Impurity times share of the weight."""
        return np.asarray(self.risk / self.weight[0])

    @property
    def errors(self) -> FloatArray:
        """Training weight that a node would get wrong as a leaf."""
        nodes = self.nodes
        return nodes.errors if isinstance(nodes, MultiwayTree) else training_errors(nodes, self.weight)

    def pruned(self, mask: NDArray[np.bool_]) -> Forest | MultiwayTree:
        """Return the tree whose marked nodes are leaves."""
        nodes = self.nodes
        return prune_multiway(nodes, mask) if isinstance(nodes, MultiwayTree) else prune_forest(nodes, mask)


class SingleTreeModel(SingleTree, BaggedTrees):
    """One tree of impurity on all rows, a bag of one."""

    n_estimators = 1
    bootstrap = False
    max_samples = None
    oob_score = False
    warm_start = False
    verbose = 0

    confidence: float  # a parameter of a classifier

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(
        self: Single,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Single:
        """Grow the tree and prune it; nothing of the model changes before all has gone well.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows: numbers, text, categories, dates, with holes.
        y : array-like, (n_rows,) or (n_rows, n_outputs)
            Target.
        sample_weight : array-like, optional
            Weight of each row: a row of weight 3 is the same as three equal rows.
        X_val, y_val, sample_weight_val : optional
            Rows to prune by (``pruning="reduced_error"``), in place of a held-out share of the training rows.

        Returns
        -------
        self
        """
        self.check_parameters()
        self._check_validation(X_val, y_val, sample_weight_val)
        threads, seed = n_threads(self.n_jobs), seed_of(self.random_state)
        given, facts = self._read_rows(X, y, sample_weight)
        held = None
        if self._pruning == "reduced_error" and X_val is None:
            given, held = self._hold_out(given, seed)
        schema, grown = self._grow_one(given, seed, threads)
        if X_val is not None:
            held = self._read_validation(X_val, y_val, sample_weight_val, schema, facts)
        tree = grown.pruned(self._leaves_to_be(grown, held, threads))
        self._take_facts(facts)
        self._take_tree(tree)
        self.schema_, self._seed = schema, seed
        self._set_input_names()
        return self

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> PruningPath:
        """Find the subtrees that cost-complexity pruning chooses from, by growing a tree of these rows.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``; the fitted tree is left as it is.

        Returns
        -------
        path
            ``path.ccp_alphas``, rising from 0, the least alpha of each step; ``path.impurities``, the impurity of its
            leaves, by their shares of the weight. As in scikit-learn, but entropies are natural, not in bits.
        """
        self.check_parameters()
        given, _ = self._read_rows(X, y, sample_weight)
        _, grown = self._grow_one(given, seed_of(self.random_state), n_threads(self.n_jobs))
        path = cost_complexity(grown.parent, grown.risk_share)
        return PruningPath(path.alphas, path.risks)

    def _grow_one(self, given: GivenRows, seed: int, threads: int) -> tuple[Schema, GrownTree]:
        training = self._bin(given, threads)
        grown = grow_tree(
            training.data,
            training.edges,
            training.target,
            self._rules(training),
            seed=seed,
            threads=threads,
            projections=training.projections,
        )
        return training.schema, GrownTree(grown.forest, parents(grown.forest), grown.risk, grown.weight)

    def _take_tree(self, tree: Forest | MultiwayTree) -> None:
        assert isinstance(tree, Forest)
        self.forest_ = tree

    # ---- parameters ----------------------------------------------------------------------------------------------

    @property
    def _pruning(self) -> str | None:
        return "cost_complexity" if self.pruning == "auto" else self.pruning

    def check_parameters(self) -> None:
        super().check_parameters()
        self._refuse_unread("pruning", self._pruning, READ_BY_PRUNING)

    def _refuse_unread(self, setting: str, chosen: Any, readers: Mapping[str, tuple[str, ...]]) -> None:
        """Refuse parameters that were changed although what was chosen does not read them."""
        usual = defaults(type(self))
        for name in [name for name in readers if name in usual]:
            value, default = getattr(self, name), usual[name]
            if chosen not in readers[name] and not _is_same(value, default):
                cures = " or ".join(f"{setting}={reader!r}" for reader in readers[name])
                raise ValueError(
                    f"{name}={value!r} has no meaning for {setting}={getattr(self, setting)!r}: "
                    f"use {cures}, or leave {name}={default!r}"
                )

    def _check_validation(self, X_val: Any, y_val: Any, sample_weight_val: Any) -> None:
        if X_val is None and (y_val is not None or sample_weight_val is not None):
            raise ValueError("y_val or sample_weight_val is given without X_val: give X_val as well")
        if X_val is None:
            return
        if self._pruning != "reduced_error":
            raise ValueError(
                f"X_val is given, but pruning={self.pruning!r} does not look at it: set pruning='reduced_error' or "
                "leave X_val out"
            )
        if y_val is None:
            raise ValueError("X_val is given without y_val: give both")

    # ---- pruning -------------------------------------------------------------------------------------------------

    def _leaves_to_be(self, grown: GrownTree, held: GivenRows | None, threads: int) -> NDArray[np.bool_]:
        """Mark the inner nodes that become leaves."""
        if held is not None:
            return reduced_error(grown.parent, *self._errors_on(held, grown.nodes, threads))
        if self._pruning == "pessimistic":
            return pessimistic(grown.parent, grown.errors, grown.weight, float(self.confidence))
        if self._pruning == "cost_complexity" and self.ccp_alpha > 0:
            return prune_to_alpha(grown.parent, grown.risk_share, float(self.ccp_alpha))
        return np.zeros(len(grown.parent), dtype=bool)

    def _errors_on(
        self, held: GivenRows, tree: Forest | MultiwayTree, threads: int
    ) -> tuple[FloatArray, FloatArray | None]:
        """Errors of nodes as leaves on validation rows, and of them those of rows that stop at inner nodes."""
        assert isinstance(tree, Forest)
        routing = Model(tree, held.table.schema, unknown=self.unknown).routing
        leaves = [
            tree.apply(part.columns, part.n_rows, threads=threads, unknown=routing)[:, 0]
            for _, part in held.table.row_batches()
        ]
        return validation_losses(tree, np.concatenate(leaves), held.target), None

    def _hold_out(self, given: GivenRows, seed: int) -> tuple[GivenRows, GivenRows]:
        """Rows to grow on and rows to prune by."""
        n_rows = given.table.n_rows
        kept, out = split_rows(n_rows, float(self.validation_fraction), seed, self._strata(given.target))
        if not len(out) or not len(kept):
            raise ValueError(
                f"pruning='reduced_error', but validation_fraction={self.validation_fraction} of {n_rows} rows leaves "
                "no row to grow on or to prune by: give X_val or raise validation_fraction"
            )
        training = given.take(kept).relearn()
        held, unknown = given.take(out), MISSING if self.unknown == "missing" else UNKNOWN
        table = recoded(held.table, training.table.schema, unknown)
        return training, GivenRows(table, held.target, held.numbers, held.n_given)

    def _strata(self, target: BaggedTarget) -> NDArray[Any] | None:
        return None

    def _read_validation(self, X: Any, y: Any, sample_weight: Any, schema: Schema, facts: Any) -> GivenRows:
        name = type(self).__name__
        table = conform(X, schema, unknown=self.unknown, missing=self.missing, estimator_name=name)
        columns = targets.as_columns(y, table.n_rows, "y_val", "X_val")
        weight = targets.row_weights(sample_weight, table.n_rows, "sample_weight_val", "X_val")
        target = self._read_validation_target(columns, weight, facts)
        return GivenRows(table, target, np.arange(table.n_rows), table.n_rows)

    def _read_validation_target(self, columns: NDArray[Any], weight: FloatArray | None, facts: Any) -> BaggedTarget:
        raise NotImplementedError

    # ---- reading the tree ----------------------------------------------------------------------------------------

    def get_depth(self) -> int:
        """Depth of the deepest leaf; 0 if the root is a leaf."""
        return int(self._fitted().tree_depths()[0])

    def get_n_leaves(self) -> int:
        """Count the leaves."""
        return int(np.count_nonzero(self._fitted().kind == LEAF))

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to route.

        Returns
        -------
        ndarray of int32, (n_rows,)
            Node numbers; 0 is the root.
        """
        return super().apply(X)[:, 0]

    def decision_path(self, X: Any) -> Any:
        """Nodes that rows pass on their way to the leaves.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to route.

        Returns
        -------
        scipy.sparse.csr_matrix, (n_rows, n_nodes)
            1 where a row passes a node.
        """
        from arboretum.reading import decision_path

        return decision_path(self._fitted(), self.apply(X)[:, None])[0]

    def to_text(self, *, max_depth: int | None = None, digits: int = 4) -> str:  # type: ignore[override]
        """Write the tree as indented text.

        Parameters
        ----------
        max_depth : int, optional
            Deeper nodes are left out.
        digits : int
            Significant digits of values; conditions are always exact.
        """
        return super().to_text(0, max_depth=max_depth, digits=digits)

    def plot_tree(self, *, ax: Any = None, max_depth: int = 4) -> Any:  # type: ignore[override]
        """Draw the tree with Matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        max_depth : int
            Deeper nodes are left out.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return super().plot_tree(ax=ax, max_depth=max_depth)

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        super()._read_facts(header, forest)
        if forest.n_trees != 1:
            raise ValueError(f"a decision tree of {forest.n_trees} trees")


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


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str | int | float | np.generic) and bool(value == default))
