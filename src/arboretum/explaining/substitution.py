"""Predictions of rows with some columns replaced: the one place where partial dependence is computed.

::

    each(row, point) = response(columns of the row, but some of the point)         rows × points × outputs
    mean(point)      = Σ_rows weight · each(row, point) / Σ_rows weight            points × outputs

Trees route rows and points together (kernel/explain/dependence.hpp). Where a condition would divide pairs, all pairs
are predicted, with the same values: oblique conditions on a replaced column, statistics of categories that combine a
replaced column with others, and models whose predictions are not sums of trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.table import Table
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.standing_in import with_table
from arboretum.explaining.reading import sources
from arboretum.explaining.response import Response

FloatArray = NDArray[np.float64]

MOST_VALUES = 1 << 18  # rows × points × outputs that are held at once, and stay in the caches


@dataclass(frozen=True, eq=False)
class Substitution:
    """A model, and points whose values take the place of some columns.

    Parameters
    ----------
    model, response
        A fitted model, and what it is asked.
    columns : list of int
        Columns of the user that are replaced.
    points : list of arrays
        Their values, one array per column, as a Table holds them.
    threads : int
        Threads to use; they change nothing in the result.

    Examples
    --------
    >>> import arboretum as arb
    >>> from arboretum.explaining.response import response_of
    >>> from arboretum.data.table import read_table
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> model = arb.DecisionTreeRegressor().fit(X, X[:, 0] + 2 * X[:, 1])
    >>> asked = Substitution(model, response_of(model, "auto"), [0], [np.array([0.0, 1.0])])
    >>> asked.mean([read_table(X)])
    array([[1.],
           [2.]])
    """

    model: GrownTrees
    response: Response
    columns: Sequence[int]
    points: Sequence[NDArray[Any]]
    threads: int = 1

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.points[0])

    def mean(self, parts: Sequence[Table], weight: FloatArray | None = None) -> FloatArray:
        """Return the weighted mean over all rows, (points, outputs).

        Parameters
        ----------
        parts : list of Table
            Dense tables of consecutive rows.
        weight : float64 array, optional
            Of each row.
        """
        total = float(sum(part.n_rows for part in parts)) if weight is None else float(weight.sum())
        if self.response.is_affine and all(self._trees_route(part) for part in parts):
            forest = self.model.model_.summed
            sums = np.zeros((forest.n_outputs, self.n_points))
            for part, some in _with_weights(parts, weight):
                self._pairs(part).mean(some, sums, self.threads)
            return self.response.from_raw(self.model, sums.T / total + forest.base)
        mean: Any = 0.0
        for part, some in _with_weights(parts, weight):
            row = 0
            for values in self.each(part):
                block = None if some is None else some[row : row + len(values)]
                mean = mean + (values.sum(axis=0) if block is None else np.tensordot(block, values, 1))
                row += len(values)
        return np.asarray(mean / total)

    def each(self, part: Table) -> Iterator[FloatArray]:
        """Yield the responses, (rows, points, outputs), of consecutive blocks of rows."""
        ask = self._by_trees if self._trees_route(part) else self._by_predictions
        width = self.model.model_.summed.n_outputs if self._trees_route(part) else len(part.columns)
        step = max(1, MOST_VALUES // (self.n_points * width))
        for begin in range(0, part.n_rows, step):
            block = Table(part.schema, [column[begin : begin + step] for column in part.columns])
            yield ask(block).reshape(block.n_rows, self.n_points, -1)

    # ------------------------------------------------------------------------------------------ by the trees

    def _trees_route(self, part: Table) -> bool:
        """Whether conditions divide either rows or points, never pairs."""
        if not self.model.model_.head.determines or not part.n_rows:
            return False
        replaced = set(self.columns)
        read = sources(self.model)
        touched = self._touched()
        if any(not set(read[column]) <= replaced for column in touched):
            return False
        return not np.isin(self.model.model_.summed.projection_feature, touched).any()

    def _touched(self) -> list[int]:
        """Columns of the table that trees read that are made from a replaced one."""
        replaced = set(self.columns)
        return [place for place, made_from in enumerate(sources(self.model)) if replaced & set(made_from)]

    def _by_trees(self, block: Table) -> FloatArray:
        forest = self.model.model_.summed
        raw = np.empty((block.n_rows, forest.n_outputs, self.n_points))
        raw[:] = forest.base[:, np.newaxis]
        self._pairs(block).each(raw, self.threads)
        return self.response.from_raw(
            self.model, np.ascontiguousarray(raw.transpose(0, 2, 1)).reshape(-1, forest.n_outputs)
        )

    def _pairs(self, part: Table) -> _kernel.Dependence:
        points = [np.repeat(column[:1], self.n_points) for column in part.columns]
        for column, values in zip(self.columns, self.points, strict=True):
            points[column] = values
        read_rows = self.model.model_.as_read(part, self.threads)
        read_points = self.model.model_.as_read(Table(part.schema, points), self.threads)
        replaced: list[Any] = [None] * len(read_rows.columns)
        for place in self._touched():
            replaced[place] = read_points.columns[place]
        return _kernel.Dependence(
            self.model.model_.summed.to_arrays(),
            read_rows.columns,
            replaced,
            part.n_rows,
            self.n_points,
            self.model.model_.routing == "average",
        )

    # ------------------------------------------------------------------------------------------ by predictions

    def _by_predictions(self, block: Table) -> FloatArray:
        columns = [np.repeat(column, self.n_points) for column in block.columns]
        for column, values in zip(self.columns, self.points, strict=True):
            columns[column] = np.tile(values, block.n_rows)
        return self.response.ask(with_table(self.model, Table(block.schema, columns)), None)


def _with_weights(parts: Sequence[Table], weight: FloatArray | None) -> Iterator[tuple[Table, FloatArray | None]]:
    begin = 0
    for part in parts:
        yield part, None if weight is None else weight[begin : begin + part.n_rows]
        begin += part.n_rows
