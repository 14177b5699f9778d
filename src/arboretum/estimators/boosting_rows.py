"""From a checked problem to the rows that boosting reads: categories encoded, values cut into bins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from arboretum.binning import BinnedData
from arboretum.category_encoding import CategoryEncoding
from arboretum.estimators.base import FloatArray
from arboretum.estimators.boosting_problem import Problem
from arboretum.schema import Schema
from arboretum.table import Table


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training rows as trees read them.

    With statistics of categories there are several versions of them, each of another random order of the rows; rounds
    of boosting read them in turn.
    """

    problem: Problem
    responses: FloatArray  # numbers or class codes that statistics of categories are taken of
    encoding: CategoryEncoding | None
    n_orders: int
    seed: int
    threads: int

    @property
    def n_versions(self) -> int:
        """Number of versions."""
        return 1 if self.encoding is None else self.n_orders

    def tables(self) -> Iterator[Table]:
        """Make one version after the other: they are large."""
        part = self.problem
        for number in range(self.n_versions):
            if self.encoding is None:
                yield part.table
            else:
                yield self.encoding.ordered(
                    part.table, self.responses, part.weight, number, seed=self.seed, threads=self.threads
                )

    def marked_schema(self, data: BinnedData) -> Schema:
        """Return the schema of the user's table, its columns with missing values marked."""
        table = self.problem.table
        read = self.encoding.schema if self.encoding is not None else table.schema
        missing = [False] * read.n_features
        for feature, column in enumerate(data.bin_map.order):
            missing[column] = data.has_missing[feature]
        return table.schema.with_missing(
            missing if self.encoding is None else self.encoding.has_missing(table, missing)
        )
