"""SAGE: how much each column lowers the loss, shared out as Shapley values (Covert, Lundberg & Lee 2020).

::

    v(S) = loss without columns − loss if only columns S are known
    sage(j) = mean over orders of the columns of  v(those before j, and j) − v(those before j)

A column that is not known takes its values from background rows, and predictions are averaged over them. Rows, orders
and background are drawn at random; every order is also run backwards, which halves the noise for the same price.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.data.table import Table
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.standing_in import with_table
from arboretum.explaining.reading import class_lists

FloatArray = NDArray[np.float64]
N_DRAWS, N_BACKGROUND = 256, 32
MOST_ROWS = 1 << 16  # that are predicted at once
LEAST_PROBABILITY = 1e-15


@dataclass(frozen=True, eq=False)
class _Task:
    """How to ask a model, and the loss of mean predictions (rows, steps, outputs) for rows at given positions."""

    ask: Callable[[Any], FloatArray]
    loss: Callable[[FloatArray, NDArray[np.intp]], FloatArray]


def sage_values(
    model: GrownTrees, table: Table, y: Any, groups: Sequence[Sequence[int]], *, seed: int, n_draws: int = N_DRAWS
) -> FloatArray:
    """Return the SAGE value of each group of columns: logarithmic loss of classes, squared error of numbers.

    Parameters
    ----------
    model : GrownTrees
        A fitted classifier or regressor of one output.
    table, y
        Dense rows, read by the model's schema, and their targets.
    groups : list of lists of int
        Columns of the user that are known together.
    seed : int
        Of rows, orders and background.
    n_draws : int
        Rows that are explained, each with an order and its reverse.

    Examples
    --------
    >>> import arboretum as arb
    >>> from arboretum.data.table import read_table
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> model = arb.BoostedTreesRegressor(n_estimators=50).fit(X, X[:, 0])
    >>> sage_values(model, read_table(X), X[:, 0], [[0], [1]], seed=0).round(2)
    array([0.07, 0.  ])
    """
    task = _task_of(model, y, table.n_rows)
    draw = np.random.default_rng([seed, 1])
    background = table.take(draw.permutation(table.n_rows)[:N_BACKGROUND])
    rows = draw.integers(0, table.n_rows, n_draws)
    orders = np.argsort(draw.random((n_draws, len(groups))), axis=1)
    rows, orders = np.repeat(rows, 2), np.stack([orders, orders[:, ::-1]], axis=1).reshape(2 * n_draws, -1)
    total = np.zeros(len(groups))
    step = max(1, MOST_ROWS // (background.n_rows * (len(groups) + 1)))
    for begin in range(0, len(rows), step):
        some, order = rows[begin : begin + step], orders[begin : begin + step]
        losses = _losses_as_columns_come(model, task, table, background, groups, some, order)
        np.add.at(total, order, losses[:, :-1] - losses[:, 1:])
    return total / len(rows)


def _losses_as_columns_come(
    model: GrownTrees,
    task: _Task,
    table: Table,
    background: Table,
    groups: Sequence[Sequence[int]],
    rows: NDArray[np.intp],
    orders: NDArray[np.intp],
) -> FloatArray:
    """Loss of each row with none, one, … all groups known, in its order, (rows, groups + 1)."""
    n_steps, shape = len(groups) + 1, (len(rows), len(groups) + 1, background.n_rows)
    turn = np.argsort(orders, axis=1)  # of each group
    columns: list[Any] = [None] * len(table.columns)
    for group, members in enumerate(groups):
        known = turn[:, group, None] < np.arange(n_steps)
        for column in members:
            own, other = table.columns[column][rows], background.columns[column]
            columns[column] = np.where(known[:, :, None], own[:, None, None], other).reshape(-1)
    response = task.ask(with_table(model, Table(table.schema, columns))).reshape(*shape, -1)
    return task.loss(response.mean(axis=2), rows)


def _task_of(model: Any, y: Any, n_rows: int) -> _Task:
    classes, n_outputs = class_lists(model), targets.to_numpy(y, "y").shape[1:]
    if n_outputs not in ((), (1,)) or not (classes or model.task_.has_numbers):
        raise ValueError(f"sage=True needs a classifier or a regressor of one output, not {type(model).__name__}")
    truth = targets.as_column(y, n_rows)
    if classes:
        codes = targets.encode_classes(truth, classes[0], "y").astype(np.intp)

        def log_loss(mean: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
            chosen = np.take_along_axis(mean, codes[rows][:, None, None], axis=2)[:, :, 0]
            return -np.log(np.maximum(chosen, LEAST_PROBABILITY))

        return _Task(lambda one: np.asarray(one.predict_proba(None)), log_loss)
    numbers = targets.regression_target(truth)

    def squared_error(mean: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
        return np.asarray((numbers[rows][:, None] - mean[:, :, 0]) ** 2)

    return _Task(lambda one: np.asarray(one.predict(None)), squared_error)
