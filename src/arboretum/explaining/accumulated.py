"""Accumulated local effects (Apley & Zhu 2020).

::

    effect(k) = mean over rows with z_{k−1} < x_j ≤ z_k of  f(x with z_k) − f(x with z_{k−1})
    ALE(z_k)  = effect(1) + … + effect(k) − constant                            the mean over rows is 0

Unlike partial dependence, a row is only moved to the ends of its own interval: columns that go together do not meet in
places where there is no data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_integer
from arboretum.data import targets
from arboretum.data.table import Table
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.standing_in import with_table
from arboretum.explaining.dependence import Dependence, Question

FloatArray = NDArray[np.float64]


def accumulated_effects(
    model: GrownTrees,
    X: Any,
    features: Any,
    *,
    grid_resolution: int = 40,
    response: str = "auto",
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> Dependence:
    """Accumulated local effects of one column of numbers, or the interaction of two (Apley & Zhu 2020).

    Parameters
    ----------
    model, X, features, response, sample_weight, n_jobs
        As for :func:`partial_dependence`. Rows with a missing or infinite value in one of the columns are left out.
    grid_resolution : int, default=40
        Intervals of a column, each with about as many rows as the others; fewer, if there are fewer distinct values.

    Returns
    -------
    Dependence
        ``grid`` holds the ends of the intervals; the effects have mean 0. For two columns, they are what the columns do
        together beyond their single effects.

    References
    ----------
    Apley, D. W. and Zhu, J. (2020). Visualizing the effects of predictor variables in black box supervised learning
    models. Journal of the Royal Statistical Society B 82.

    Examples
    --------
    >>> import numpy as np, arboretum as arb, arboretum.explaining
    >>> X = np.random.default_rng(0).random((1000, 2))
    >>> model = arb.BoostedTreesRegressor(n_estimators=50).fit(X, 3.0 * (X[:, 0] > 0.5) + X[:, 1])
    >>> found = arb.explaining.accumulated_effects(model, X, 0, grid_resolution=3)
    >>> found.values[:, 0].round(1)
    array([-1.5, -1.5,  1.5,  1.5])
    """
    check_integer("grid_resolution", grid_resolution)
    question = Question.read(model, X, features, response, n_jobs)
    for name, column in zip(question.names, question.columns, strict=True):
        if question.model.schema_.columns[column].kind == "categorical":
            raise ValueError(
                f"accumulated effects need an order of the values, and column {name!r} holds categories: "
                "use partial_dependence"
            )
    values = [question.values_of(column) for column in question.columns]
    weight = targets.row_weights(sample_weight, question.n_rows)
    known = np.all([np.isfinite(one) for one in values], axis=0)
    rows = np.flatnonzero(known if weight is None else known & (weight > 0))
    if not len(rows):
        raise ValueError(f"no row has finite values of {' and '.join(question.names)}, and a weight above 0")
    table = question.take(rows)
    edges = [_edges(one[rows], grid_resolution) for one in values]
    places = [np.maximum(np.searchsorted(ends, one[rows]), 1) for ends, one in zip(edges, values, strict=True)]
    moved = _moved(question, table, edges, places)
    shape = tuple(len(ends) - 1 for ends in edges)
    cell = np.ravel_multi_index([place - 1 for place in places], shape)
    mass = np.bincount(cell, weights=None if weight is None else weight[rows], minlength=int(np.prod(shape)))
    sums = [
        np.bincount(cell, weights=one if weight is None else one * weight[rows], minlength=len(mass)) for one in moved.T
    ]
    means = np.stack(sums, axis=1) / np.maximum(mass, np.finfo(np.float64).tiny)[:, None]
    accumulate = _along_one if len(edges) == 1 else _along_two
    effects = accumulate(means.reshape(*shape, -1), mass.reshape(shape).astype(np.float64))
    return Dependence(question.names, list(edges), effects, None, "accumulated_effects", question.response.output_names)


def _edges(values: NDArray[Any], n_intervals: int) -> FloatArray:
    """Choose ends of intervals with about as many rows each, at values that occur."""
    edges = np.unique(np.quantile(values.astype(np.float64), np.linspace(0, 1, n_intervals + 1), method="inverted_cdf"))
    return edges if len(edges) > 1 else np.repeat(edges, 2)


def _moved(question: Question, table: Table, edges: list[FloatArray], places: list[NDArray[np.intp]]) -> FloatArray:
    """Return how the response changes over the interval of each row, or over its cell for two columns."""
    change: Any = 0.0
    for corner in range(2 ** len(edges)):
        columns, sign = list(table.columns), 1
        for axis, column in enumerate(question.columns):
            down = corner >> axis & 1
            columns[column] = edges[axis][places[axis] - down]
            sign *= -1 if down else 1
        stand_in = with_table(question.model, Table(table.schema, columns))
        change = change + sign * question.response.ask(stand_in, None)
    return np.asarray(change)


def _along_one(means: FloatArray, mass: FloatArray) -> FloatArray:
    """Accumulate (intervals, outputs) and subtract the mean over rows."""
    effects = np.concatenate([np.zeros((1, means.shape[1])), np.cumsum(means, axis=0)])
    middle = (effects[1:] + effects[:-1]) / 2
    return np.asarray(effects - mass @ middle / mass.sum())


def _along_two(means: FloatArray, mass: FloatArray) -> FloatArray:
    """Accumulate (intervals, intervals, outputs), and subtract the effects of each column and the mean."""
    means = _filled(means, mass)
    effects = np.zeros((means.shape[0] + 1, means.shape[1] + 1, means.shape[2]))
    effects[1:, 1:] = means.cumsum(axis=0).cumsum(axis=1)
    first = _main_effect(effects, mass)
    second = _main_effect(effects.transpose(1, 0, 2), mass.T)
    effects = effects - first[:, None] - second[None, :]
    corners = (effects[1:, 1:] + effects[1:, :-1] + effects[:-1, 1:] + effects[:-1, :-1]) / 4
    return np.asarray(effects - np.tensordot(mass, corners, 2) / mass.sum())


def _main_effect(effects: FloatArray, mass: FloatArray) -> FloatArray:
    """Find the effect of the first column alone: a mean over the rows of each of its intervals."""
    steps = np.diff(effects, axis=0)
    of_cells = (steps[:, 1:] + steps[:, :-1]) / 2
    local = np.einsum("kl,klo->ko", mass, of_cells) / mass.sum(axis=1)[:, None]
    return np.concatenate([np.zeros((1, local.shape[1])), np.cumsum(local, axis=0)])


def _filled(means: FloatArray, mass: FloatArray) -> FloatArray:
    """Give cells without rows the mean of the nearest cell with rows, counted in intervals; the first of several."""
    full, filled = np.argwhere(mass > 0), means.copy()
    for cell in np.argwhere(mass == 0):
        nearest = full[np.argmin(((full - cell) ** 2).sum(axis=1))]
        filled[tuple(cell)] = means[tuple(nearest)]
    return filled
