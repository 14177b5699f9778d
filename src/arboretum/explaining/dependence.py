"""How predictions depend on one or two columns: partial dependence and the curves of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_integer, holds_others, shown
from arboretum.data import targets
from arboretum.data.table import Table
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.explaining.by_predictions import as_asked
from arboretum.explaining.grid import Axis, axis_of, given_axis
from arboretum.explaining.reading import column_position, draw_rows
from arboretum.explaining.response import Response, response_of
from arboretum.explaining.substitution import Substitution
from arboretum.running.threads import n_threads

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Dependence:
    """How predictions depend on some columns.

    Parameters
    ----------
    features : list of str
        Names of the columns.
    grid : list of arrays
        Points of each column: numbers, labels of categories, dates; NaN, None or NaT is a missing value.
    values : float64 array (points of each column …, outputs)
        The mean over rows, accumulated effects, or strengths of interactions.
    individual : float64 array (rows, points of each column …, outputs) or None
        Curves of single rows.
    kind : {"partial_dependence", "ice", "accumulated_effects", "interaction_strength"}
        What the values are.
    output_names : list of str or None
        What the outputs are called.
    """

    features: list[str]
    grid: list[NDArray[Any]]
    values: FloatArray
    individual: FloatArray | None
    kind: str
    output_names: list[str] | None = None


@dataclass(frozen=True, eq=False)
class Question:
    """What all kinds of dependence read from their arguments."""

    model: GrownTrees
    parts: list[Table]
    columns: list[int]
    response: Response
    threads: int

    @classmethod
    def read(cls, model: GrownTrees, X: Any, features: Any, response: str, n_jobs: int | None) -> Question:
        """Read the arguments that all kinds of dependence share."""
        model = as_asked(model, X)
        parts = [part for _, part in model.model_.conform(X).row_batches()]
        columns = read_features(features, model)
        threads = n_threads(model.n_jobs if n_jobs is None else n_jobs)
        return cls(model, parts, columns, response_of(model, response), threads)

    @property
    def names(self) -> list[str]:
        """Names of the columns that are asked about."""
        return [self.model.schema_.names[column] for column in self.columns]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(part.n_rows for part in self.parts)

    def values_of(self, column: int) -> NDArray[Any]:
        """Return the values of a column in all rows, as a Table holds them."""
        return np.concatenate([part.columns[column] for part in self.parts])

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return some rows as one dense table."""
        whole = [np.concatenate(pieces) for pieces in zip(*(part.columns for part in self.parts), strict=True)]
        return Table(self.model.schema_, whole).take(rows)

    def at(self, points: Sequence[NDArray[Any]]) -> Substitution:
        """Replace the columns by points."""
        return Substitution(self.model, self.response, self.columns, points, self.threads)


def read_features(features: Any, model: GrownTrees) -> list[int]:
    """Return the positions of one column or of two."""
    several = isinstance(features, list | tuple | np.ndarray) and holds_others(features)
    pair = list(features) if several else [features]
    if len(pair) not in (1, 2):
        raise ValueError(f"features={shown(features)}: give one column or a pair of columns")
    columns = [column_position(column, model.schema_) for column in pair]
    if len(set(columns)) < len(columns):
        raise ValueError(f"features={shown(features)} has the same column twice: give one column, or two")
    return columns


def partial_dependence(
    model: GrownTrees,
    X: Any,
    features: Any,
    *,
    grid: Any = None,
    grid_resolution: int = 100,
    percentiles: tuple[float, float] = (0.05, 0.95),
    with_missing: bool = False,
    response: str = "auto",
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> Dependence:
    """Mean prediction over the rows of X if all of them had the same value in a column (Friedman 2001).

    ::

        PD(v) = Σ_i w_i f(x_i with v in the columns) / Σ_i w_i

    The values are those of predicting X once for each point, found in one walk of rows and points through each tree.

    Parameters
    ----------
    model : fitted model
        Any of arboretum's models with trees.
    X : array-like, sparse matrix or data frame
        Rows to average over.
    features : str, int or a pair of them
        The column, or two, by name or position.
    grid : list of values, or one for each of two columns, optional
        Points; chosen by the next parameters if None.
    grid_resolution : int, default=100
        Points of a column of numbers; all distinct values, if there are fewer.
    percentiles : pair of float, default=(0.05, 0.95)
        Shares of the rows below the first and above the last point.
    with_missing : bool, default=False
        Add a point for a missing value.
    response : {"auto", "raw"}, default="auto"
        "auto": probabilities of a classifier (of the second class, if there are two), or predictions. "raw": sums of
        the trees before the link.
    sample_weight : array-like, optional
        Weight of each row.
    n_jobs : int, optional
        Threads; those of the model by default. They change nothing in the result.

    Returns
    -------
    Dependence

    References
    ----------
    Friedman, J. H. (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29.

    Examples
    --------
    >>> import numpy as np, arboretum as arb, arboretum.explaining
    >>> X = np.random.default_rng(0).random((1000, 2))
    >>> model = arb.BoostedTreesRegressor(n_estimators=50).fit(X, 3.0 * (X[:, 0] > 0.5) + X[:, 1])
    >>> found = arb.explaining.partial_dependence(model, X, 0, grid=[0.2, 0.8])
    >>> found.values[:, 0].round(1)
    array([0.5, 3.5])
    """
    question = Question.read(model, X, features, response, n_jobs)
    points: Any = {"grid_resolution": grid_resolution, "percentiles": percentiles, "with_missing": with_missing}
    axes = _axes(question, grid, **points)
    weight = targets.row_weights(sample_weight, question.n_rows)
    mean = question.at(_product(axes)).mean(question.parts, weight)
    return _found(question, axes, mean, None, "partial_dependence")


def ice(
    model: GrownTrees,
    X: Any,
    features: Any,
    *,
    response: str = "auto",
    max_rows: int | None = 1000,
    random_state: int = 0,
    n_jobs: int | None = None,
    **points: Any,
) -> Dependence:
    """Prediction of each row over all values of a column: individual conditional expectation (Goldstein et al. 2015).

    Parameters
    ----------
    model, X, features, response, n_jobs
        As for :func:`partial_dependence`.
    max_rows : int or None, default=1000
        Most rows to draw curves of, chosen at random; None takes all.
    random_state : int, default=0
        Seed of that choice.
    **points
        ``grid``, ``grid_resolution``, ``percentiles`` and ``with_missing``, as for :func:`partial_dependence`; the grid
        is chosen from all rows.

    Returns
    -------
    Dependence
        ``individual`` holds the curves, ``values`` their mean.

    References
    ----------
    Goldstein, A., Kapelner, A., Bleich, J. and Pitkin, E. (2015). Peeking inside the black box. Journal of
    Computational and Graphical Statistics 24.

    Examples
    --------
    >>> import numpy as np, arboretum as arb, arboretum.explaining
    >>> X = np.random.default_rng(0).random((1000, 2))
    >>> model = arb.BoostedTreesRegressor(n_estimators=50).fit(X, 3.0 * (X[:, 0] > 0.5) + X[:, 1])
    >>> found = arb.explaining.ice(model, X[:5], 0, grid=[0.2, 0.8])
    >>> np.allclose(found.individual[:, 1, 0], model.predict(np.column_stack([np.full(5, 0.8), X[:5, 1]])))
    True
    """
    question = Question.read(model, X, features, response, n_jobs)
    check_integer("max_rows", max_rows, optional=True)
    axes = _axes(question, **points)
    rows = draw_rows(question.n_rows, max_rows, random_state)
    curves = np.concatenate(list(question.at(_product(axes)).each(question.take(rows))))
    return _found(question, axes, curves.mean(axis=0), curves, "ice")


def _axes(
    question: Question,
    grid: Any = None,
    grid_resolution: int = 100,
    percentiles: tuple[float, float] = (0.05, 0.95),
    with_missing: bool = False,
) -> list[Axis]:
    check_integer("grid_resolution", grid_resolution, low=2)
    if len(percentiles) != 2 or not 0 <= percentiles[0] < percentiles[1] <= 1:
        raise ValueError(f"percentiles={shown(percentiles)}: give two rising shares between 0 and 1")
    schemas = [question.model.schema_.columns[column] for column in question.columns]
    if grid is None:
        values = map(question.values_of, question.columns)
        chosen: Any = {"resolution": grid_resolution, "percentiles": percentiles, "with_missing": with_missing}
        return [axis_of(schema, part, **chosen) for schema, part in zip(schemas, values, strict=True)]
    given = [grid] if len(schemas) == 1 else list(grid)
    if len(given) != len(schemas):
        raise ValueError(f"grid has {len(given)} lists of values: give one for each of the two columns")
    return [given_axis(schema, values, with_missing) for schema, values in zip(schemas, given, strict=True)]


def _product(axes: Sequence[Axis]) -> list[NDArray[Any]]:
    """All pairs of points, the last column fastest."""
    grids = np.meshgrid(*(np.arange(len(axis.values)) for axis in axes), indexing="ij")
    return [axis.values[places.ravel()] for axis, places in zip(axes, grids, strict=True)]


def _found(
    question: Question, axes: Sequence[Axis], mean: FloatArray, curves: FloatArray | None, kind: str
) -> Dependence:
    shape = tuple(len(axis.values) for axis in axes)
    return Dependence(
        question.names,
        [axis.shown for axis in axes],
        mean.reshape(*shape, -1),
        None if curves is None else curves.reshape(len(curves), *shape, -1),
        kind,
        question.response.output_names,
    )
