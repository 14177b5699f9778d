"""Models of one tree with many branches per node, as ID3 and C4.5 grow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import Schema
from arboretum.data.table import Table
from arboretum.model.arrays import Arrays
from arboretum.model.forest import Forest
from arboretum.model.heads import Head, MultiwayHead, label_names
from arboretum.model.model import Model, by_rows
from arboretum.model.notes import Notes
from arboretum.trees.multiway import MultiwayTree

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MultiwayModel(Model):
    """A model whose rows are routed by a MultiwayTree; its forest is empty."""

    tree: MultiwayTree = field(kw_only=True)

    @classmethod
    def of(
        cls, tree: MultiwayTree, schema: Schema, classes: Sequence[NDArray[Any]], notes: Notes, **policy: Any
    ) -> MultiwayModel:
        """Make the model of a tree."""
        return cls(Forest.empty(), schema, head=MultiwayHead(1, classes), notes=notes, tree=tree, **policy)

    @property
    def class_names(self) -> list[str]:
        """Labels of the classes as text."""
        return label_names(self.head.classes[0])

    def sums(self, X: Any, n_jobs: int | None) -> FloatArray:
        """Return the shares of classes for rows in any container, (rows, classes)."""
        return self.raw(self.conform(X), 1) if self.known is None else self.known(X)

    def raw_of_read(self, table: Table, threads: int, forest: Forest | None = None) -> FloatArray:
        """Return the shares of classes, (rows, classes)."""
        return by_rows(table, lambda part: self.tree.predict(part.columns, part.n_rows))

    def leaves_of_read(self, table: Table, threads: int) -> NDArray[np.int32]:
        """Return the node where each row ends, (rows, 1)."""
        return by_rows(table, lambda part: self.tree.apply(part.columns, part.n_rows)[:, None])

    def passed(self, table: Table) -> Any:
        """Return which nodes rows pass, (rows, nodes), as a scipy.sparse.csr_matrix of ones."""
        from scipy.sparse import csr_matrix

        tree, rows, nodes = self.tree, [], []
        for first, part in table.row_batches():
            for row, node, _ in tree.arrivals(part.columns, part.n_rows):
                while len(row):
                    rows.append(row + first)
                    nodes.append(node)
                    climbs = node > 0
                    row, node = row[climbs], tree.parent[node[climbs]].astype(np.int64)
        at = np.concatenate(rows), np.concatenate(nodes)
        passed = csr_matrix((np.ones(len(at[0]), np.int64), at), shape=(table.n_rows, tree.n_nodes))
        passed.sum_duplicates()
        passed.data[:] = 1
        return passed

    def _arrays(self) -> Arrays:
        return self.tree.to_arrays()

    @classmethod
    def from_file(
        cls, header: dict[str, Any], arrays: Arrays, head: type[Head], notes: type[Notes], **policy: Any
    ) -> MultiwayModel:
        """Make the model that a file describes; damage is a ValueError, KeyError or TypeError."""
        schema = Schema.from_json(header["schema"])
        sizes = [len(column.categories) if column.kind == "categorical" else -1 for column in schema.columns]
        tree, found = MultiwayTree.from_arrays(arrays, sizes), MultiwayHead.read_classes(header)
        if [len(labels) for labels in found.classes] != [tree.n_classes]:
            raise ValueError(f"the tree has {tree.n_classes} classes, but the labels are {found.classes!r:.80}")
        noted = notes.from_file(header, arrays, Forest.empty())
        return cls.of(tree, schema, found.classes, noted, **policy)
