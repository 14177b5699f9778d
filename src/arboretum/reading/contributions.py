"""What each column of a row contributes to its prediction, along the paths of the row (Saabas 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.model.forest import Forest


def path_contributions(
    forest: Forest,
    columns: Sequence[NDArray[Any]],
    n_rows: int,
    *,
    threads: int = 1,
    unknown: str = "average",
) -> tuple[NDArray[np.float64], float]:
    """Split the sum of the trees, for each row, into contributions of columns.

    ::

        Σ_trees value(leaf) = Σ_trees E(root) + Σ_columns contribution       E(node): mean of the leaves below, by rows

    A split on the path of a row gives ``E(child) − E(node)`` to its column. The columns of an oblique condition share
    it by how far their terms ``|weight · (value − fill)|`` lead.

    Parameters
    ----------
    forest : Forest
        Trees with leaves of one value, without slopes.
    columns, n_rows, threads, unknown
        As in :meth:`Forest.raw`.

    Returns
    -------
    contributions : float64 array (n_rows, columns)
        What each column adds.
    expected : float
        Sum over the trees of E(root).

    Examples
    --------
    >>> import arboretum as arb
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [9.0, 5.0]])
    >>> forest = arb.BoostedTreesRegressor(n_estimators=3, min_samples_leaf=1).fit(X, X[:, 0]).forest_
    >>> contributions, expected = path_contributions(forest, list(X.T), 4)
    >>> bool(np.allclose(forest.base + expected + contributions.sum(axis=1), forest.raw(list(X.T), 4)[:, 0]))
    True
    >>> contributions[:, 1]
    array([0., 0., 0., 0.])
    """
    if forest.width != 1 or forest.n_outputs != 1 or forest.has_slopes:
        raise ValueError("contributions along paths need trees of one output with constant leaves")
    forest.validate(len(columns))
    contributions = np.zeros((n_rows, len(columns)))
    expected = _kernel.path_contributions(
        forest.to_arrays(), list(columns), unknown == "average", contributions, threads
    )
    return contributions, expected
