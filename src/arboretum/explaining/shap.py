"""Shapley values of the columns of a row: exact for every kind of condition and of leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.arguments import check_flag
from arboretum.data.table import Table, values_as_given
from arboretum.encoding.category_encoding import CategoryEncoding
from arboretum.estimators.combined import CombinedModel
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.explaining.explanation import Explanation
from arboretum.explaining.weighted_sum import explain_sum
from arboretum.model.forest import Forest
from arboretum.running.threads import n_threads

FloatArray = NDArray[np.float64]


def shap_values(
    forest: Forest,
    columns: Sequence[NDArray[Any]],
    n_rows: int,
    *,
    background: Sequence[NDArray[Any]] | None = None,
    interactions: bool = False,
    threads: int = 1,
    unknown: str = "average",
) -> tuple[FloatArray, FloatArray]:
    """Split the raw predictions of a forest into Shapley values of its columns.

    ::

        v(S) = Σ_leaves value · Π_{i in S} o_i · Π_{i not in S} z_i           worth of knowing the columns S of a row

    with ``o_i`` = 1 if the row takes all branches of column i on the way to the leaf, else 0; ``z_i`` is the share of
    the training rows at these branches that take them or, with a background, the same 0 or 1 of a row of the
    background, over which v is averaged. Value i is the mean of ``v(S + i) − v(S)`` over all orders in which columns
    may become known. An oblique condition is known once all of its columns are.

    Parameters
    ----------
    forest : Forest
        The trees.
    columns, n_rows, threads, unknown
        As in :meth:`Forest.raw`.
    background : sequence of 1-D arrays, optional
        Columns of rows that stand for what is not known.
    interactions : bool
        Whether to give values of pairs of columns.

    Returns
    -------
    values : float64 array (n_rows, columns, outputs), or (n_rows, columns, columns, outputs)
    base : float64 array (outputs)
        v of no column: values and this sum to :meth:`Forest.raw`.

    Examples
    --------
    >>> import arboretum as arb
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [9.0, 5.0]])
    >>> forest = arb.BoostedTreesRegressor(min_samples_leaf=1).fit(X, X.prod(axis=1)).forest_
    >>> values, base = shap_values(forest, list(X.T), 4)
    >>> bool(np.allclose(base + values.sum(axis=1), forest.raw(list(X.T), 4)))
    True
    """
    forest.validate(len(columns))
    arrays = forest.to_arrays()
    pairs = (len(columns),) if interactions else ()
    values = np.zeros((n_rows, len(columns), *pairs, forest.n_outputs))
    n_background = 0 if background is None else len(background[0])
    others, average = list(background or ()), unknown == "average"
    _kernel.shap_values(
        arrays, list(columns), n_rows, others, n_background, values.ravel(), interactions, average, threads
    )
    if background is not None:
        return values, forest.raw(background, n_background, threads=threads, unknown=unknown).mean(axis=0)
    base = forest.base.copy()
    _kernel.expected_values(arrays, base)
    return values, base


def explain(model: Any, X: Any, *, background: Any = None, interactions: bool = False) -> Explanation:
    """Explain predictions of a fitted model; see :meth:`arboretum.estimators.protocol.Estimator.explain`."""
    check_flag("interactions", interactions)
    if isinstance(model, CombinedModel):
        return explain_sum(
            model, X, lambda member, rows: explain(member, rows, background=background, interactions=interactions)
        )
    forest, divisor = explained_trees(model)
    threads, inner = n_threads(model.n_jobs), model.model_
    table = inner.conform(X)
    known = None if background is None else _whole(inner.as_read(inner.conform(background), threads)).columns
    values, base = None, forest.base
    for first, part in inner.as_read(table, threads).row_batches():
        of_read, base = shap_values(
            forest,
            part.columns,
            part.n_rows,
            background=known,
            interactions=interactions,
            threads=threads,
            unknown=inner.routing,
        )
        of_part = _to_user(inner.encoding, of_read, interactions)
        if values is None:
            values = np.empty((table.n_rows, *of_part.shape[1:]))
        np.divide(of_part, divisor, out=values[first : first + part.n_rows])
    assert values is not None
    bases = np.repeat(base[np.newaxis] / divisor, table.n_rows, axis=0)
    if forest.n_outputs == 1:
        values, bases = values[..., 0], bases[:, 0]
    return Explanation(values, bases, values_as_given(X, inner.schema), inner.schema.names, inner.head.output_names)


def explained_trees(model: Any) -> tuple[Forest, float]:
    """Return the forest whose sums, divided by the number, SHAP values split; TypeError if there is none."""
    if not isinstance(model, GrownTrees):
        raise TypeError(
            f"{type(model).__name__} predicts no sum of trees, which SHAP values would split: explain its members, or "
            "a model of one forest such as BoostedTreesRegressor or RandomForestClassifier"
        )
    return model.model_.explained()


def _whole(table: Table) -> Table:
    """Return a table whose columns are dense."""
    parts = [part.columns for _, part in table.row_batches(table.n_rows)]
    return Table(table.schema, [np.concatenate(columns) for columns in zip(*parts, strict=True)])


def _to_user(encoding: CategoryEncoding | None, values: FloatArray, interactions: bool) -> FloatArray:
    """Sum values of the columns that trees read to those of the user's columns that they were made of."""
    if encoding is None:
        return values
    shares = encoding.shares()
    values = np.einsum("rf...,fu->ru...", values, shares)
    return np.einsum("rufo,fv->ruvo", values, shares) if interactions else values
