"""From a checked problem to the rows that boosting reads: categories encoded, offsets added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.binning import BinnedData
from arboretum.data.schema import Schema
from arboretum.data.streamed_table import StreamedTable
from arboretum.data.table import Table
from arboretum.encoding.category_encoding import CategoryEncoding
from arboretum.encoding.encoded_stream import OrderedStream
from arboretum.ensembles.boosting.problem import Problem
from arboretum.ensembles.boosting.rows import start_raw
from arboretum.losses import Loss
from arboretum.losses.base import constant_raw

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training rows as trees read them.

    With statistics of categories there are several versions of the rows, each from another random order; rounds of
    boosting read them in turn.
    """

    problem: Problem
    responses: FloatArray  # numbers or class codes that statistics of categories average
    encoding: CategoryEncoding | None
    n_orders: int
    seed: int
    threads: int

    @property
    def n_versions(self) -> int:
        """Number of versions."""
        return 1 if self.encoding is None else self.n_orders

    def tables(self) -> Iterator[Table]:
        """Yield one version after the other: they are large."""
        table, y, weight = self.problem.table, self.responses, self.problem.weight
        if self.encoding is None:
            yield table
            return
        categories = table.categories()
        for number in range(self.n_versions):
            if isinstance(table, StreamedTable):
                yield OrderedStream(table, self.encoding, categories, y, weight, number, self.seed, self.threads)
            else:
                yield self.encoding.ordered(table, y, weight, number, seed=self.seed, threads=self.threads)

    def marked_schema(self, data: BinnedData) -> Schema:
        """Return the schema of the user's table, with columns that have missing values marked."""
        table = self.problem.table
        read = self.encoding.schema if self.encoding is not None else table.schema
        missing = [False] * read.n_features
        for feature, column in enumerate(data.bin_map.order):
            missing[column] = data.has_missing[feature]
        return table.schema.with_missing(
            missing if self.encoding is None else self.encoding.has_missing(table, missing)
        )


def beside_offset(raw: FloatArray, offset: FloatArray | None) -> FloatArray:
    """Add offsets, shaped as losses see them, to raw predictions (rows, outputs)."""
    return raw if offset is None else raw + offset.reshape(raw.shape)


def downhill(loss: Loss, problem: Problem) -> FloatArray:
    """Return negative gradients of the constant model, shaped like the target: its shortfall."""
    y, weight, offset = problem.y, problem.weight, problem.offset
    raw = constant_raw(start_raw(loss, y, weight, offset), len(y))
    raw = raw if offset is None else raw + offset
    short = -loss.for_round(y, raw, weight).gradients(y, raw)[0]
    return short.sum(axis=1) if short.ndim > y.ndim else short  # several quantiles of one target
