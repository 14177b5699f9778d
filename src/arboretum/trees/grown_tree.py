"""Trees as they were grown, with what pruning needs to know of their nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import Schema
from arboretum.elementary import LN_2
from arboretum.ensembles.bagging.preparation import GivenRows
from arboretum.ensembles.bagging.trees import SingleTree
from arboretum.growing.criteria import total_entropy
from arboretum.model.forest import Forest
from arboretum.model.heads import ClassMeanHead, MeanHead
from arboretum.model.model import Model
from arboretum.model.notes import Notes
from arboretum.trees.cart import training_errors, validation_losses
from arboretum.trees.multiway import MultiwayTree
from arboretum.trees.multiway_model import MultiwayModel
from arboretum.trees.pruning import parents, prune_forest, prune_multiway, validation_errors

FloatArray: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class GrownTree(ABC):
    """A tree before pruning.

    Parameters
    ----------
    risk : ndarray, (n_nodes,)
        Weight · impurity of each node.
    weight : ndarray, (n_nodes,)
        Weight of each node.
    """

    risk: FloatArray
    weight: FloatArray

    @property
    @abstractmethod
    def parent(self) -> NDArray[Any]:
        """Parent of each node, −1 at the root."""

    @property
    def risk_share(self) -> FloatArray:
        """Impurity times share of the weight."""
        return np.asarray(self.risk / self.weight[0])

    @property
    @abstractmethod
    def errors(self) -> FloatArray:
        """Training weight that a node would get wrong as a leaf."""

    @abstractmethod
    def errors_on(self, held: GivenRows, unknown: Any, threads: int) -> tuple[FloatArray, FloatArray | None]:
        """Return errors of nodes as leaves on validation rows, and those of rows that stop at inner nodes."""

    @abstractmethod
    def model(self, leaves: Mask, schema: Schema, head: MeanHead, notes: Notes, **policy: Any) -> Model:
        """Return the model of the tree whose marked nodes are leaves."""


@dataclass(frozen=True, eq=False)
class BinaryTree(GrownTree):
    """A tree of CART, as a forest of one."""

    forest: Forest

    @classmethod
    def of(cls, grown: SingleTree) -> BinaryTree:
        """Take a tree from the engine."""
        return cls(grown.risk, grown.weight, grown.forest)

    @property
    def parent(self) -> NDArray[Any]:
        """Parent of each node, −1 at the root."""
        return parents(self.forest)

    @property
    def errors(self) -> FloatArray:
        """Training weight that a node would get wrong as a leaf."""
        return training_errors(self.forest, self.weight)

    def errors_on(self, held: GivenRows, unknown: Any, threads: int) -> tuple[FloatArray, None]:
        """Return the losses of nodes as leaves; no row stops at an inner node."""
        routing = Model(self.forest, held.table.schema, unknown=unknown)
        return validation_losses(self.forest, routing.leaves(held.table, threads)[:, 0], held.target), None

    def pruned(self, leaves: Mask) -> Forest:
        """Return the tree whose marked nodes are leaves."""
        return prune_forest(self.forest, leaves) if leaves.any() else self.forest

    def model(self, leaves: Mask, schema: Schema, head: MeanHead, notes: Notes, **policy: Any) -> Model:
        """Return the model of the pruned tree."""
        forest = self.pruned(leaves)
        return Model(forest, schema, head=head.of(forest), notes=notes, **policy)


@dataclass(frozen=True, eq=False)
class BranchingTree(GrownTree):
    """A tree of ID3 or C4.5."""

    tree: MultiwayTree

    @classmethod
    def of(cls, tree: MultiwayTree) -> BranchingTree:
        """Take a tree with its entropies, in natural units as in CART."""
        return cls(total_entropy(tree.counts) * LN_2, tree.weight, tree)

    @property
    def parent(self) -> NDArray[Any]:
        """Parent of each node, −1 at the root."""
        return self.tree.parent

    @property
    def errors(self) -> FloatArray:
        """Training weight that a node would get wrong as a leaf."""
        return self.tree.errors

    def errors_on(self, held: GivenRows, unknown: Any, threads: int) -> tuple[FloatArray, FloatArray]:
        """Return the errors of nodes as leaves, and those of rows without a branch."""
        leaf_errors, stopped_errors = np.zeros((2, self.tree.n_nodes))
        codes, weight = np.asarray(held.target.classes)[:, 0], held.target.weight
        for first, part in held.table.row_batches():
            rows = slice(first, first + part.n_rows)
            found = validation_errors(self.tree, part.columns, codes[rows], None if weight is None else weight[rows])
            leaf_errors, stopped_errors = leaf_errors + found[0], stopped_errors + found[1]
        return leaf_errors, stopped_errors

    def model(self, leaves: Mask, schema: Schema, head: MeanHead, notes: Notes, **policy: Any) -> Model:
        """Return the model of the pruned tree."""
        assert isinstance(head, ClassMeanHead)
        return MultiwayModel.of(prune_multiway(self.tree, leaves), schema, head.classes, notes, **policy)
