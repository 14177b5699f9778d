"""Influence of training rows on predictions: what would change if one of them were left out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_integer
from arboretum.explaining.boosting_influence import boosting_influence
from arboretum.explaining.by_predictions import has_own_trees
from arboretum.explaining.forest_influence import forest_influence
from arboretum.model.heads import LossHead, MeanHead

FloatArray: TypeAlias = NDArray[np.float64]
Part: TypeAlias = Callable[[slice, int], FloatArray]
"""Rows and an output → influence (rows, training rows); a block of rows takes a bounded room besides its result."""

CELLS_AT_ONCE = 1 << 23


def influence(
    model: Any, X: Any, y: Any = None, *, X_train: Any, y_train: Any, sample_weight: Any = None, top: int | None = None
) -> FloatArray | tuple[NDArray[np.int64], FloatArray]:
    """Estimate how predictions would change if a training row were left out and the trees kept their shape.

    For boosted trees this is the first-order effect on all leaf values of all rounds, the effect of earlier rounds on
    later ones included (LeafInfluence of B. Sharchilev, Y. Ustinovskiy, P. Serdyukov & M. de Rijke, *Finding
    influential training samples for gradient boosted decision trees*, ICML 2018), in reverse: one pass over rounds and
    training rows for each row of X. For trees and forests it is exact: the leaves' means without the row, which counts
    as often as the bag of each tree holds it. A model that is really fitted anew may choose other splits, which no
    estimate of this kind foresees.

    Parameters
    ----------
    model : BoostedTrees…, RandomForest…, ExtraTrees… or DecisionTree… estimator
        A fitted model.
    X : array-like, sparse matrix or data frame
        Rows whose predictions are asked about.
    y : array-like, optional
        Their targets: return the change of the loss in place of that of the raw prediction. The loss is that of
        boosting, or the squared error of numbers or probabilities of a forest.
    X_train, y_train, sample_weight
        What the model was fitted on.
    top : int, optional
        Return only the training rows with the largest influence, up or down, on each row of X: memory does not grow
        with rows times training rows.

    Returns
    -------
    ndarray of float64, (rows, training rows)
        Change of the raw prediction, or of the loss, without the training row. A loss that would rise (positive) tells
        of a row that helps; one that would fall (negative), of a row that harms, perhaps with a wrong label. Without
        ``y``, a model of several outputs has a last axis for them.
    indices, values : ndarrays of int64 and float64, (rows, top), with ``top``
        Numbers of the training rows and their influence, the largest first; ties by the order of rows.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X, y = np.array([[1.0], [2.0], [8.0], [9.0]]), np.array([0.0, 1.0, 5.0, 9.0])
    >>> tree = arb.DecisionTreeRegressor(max_depth=1).fit(X, y)
    >>> influence(tree, [[8.5]], X_train=X, y_train=y)  # the leaf's mean is 7
    array([[ 0.,  0.,  2., -2.]])
    >>> influence(tree, [[8.5]], X_train=X, y_train=y, top=1)
    (array([[2]]), array([[2.]]))
    """
    head = model.model_.head if has_own_trees(model) else None
    if isinstance(head, LossHead):
        of_model: Callable[..., tuple[Part, int, int, int]] = boosting_influence
    elif isinstance(head, MeanHead) and model.task_.has_row_losses:
        of_model = forest_influence
    else:
        raise TypeError(
            f"influence is not known for {type(model).__name__}: use boosted trees, a random forest or a decision tree"
        )
    part, n_rows, n_train, n_outputs = of_model(model, X, y, X_train, y_train, sample_weight)
    step = max(1, min(256, CELLS_AT_ONCE // max(1, n_train)))
    blocks = [slice(first, min(first + step, n_rows)) for first in range(0, n_rows, step)]
    if top is not None:
        check_integer("top", top)
        indices = np.empty((n_rows, min(top, n_train), n_outputs), np.int64)
        values = np.empty(indices.shape)
        for rows, output in product(blocks, range(n_outputs)):
            indices[rows, :, output], values[rows, :, output] = _largest(part(rows, output), indices.shape[1])
        return (indices[:, :, 0], values[:, :, 0]) if n_outputs == 1 else (indices, values)
    whole = np.empty((n_rows, n_train, n_outputs))
    for rows, output in product(blocks, range(n_outputs)):
        whole[rows, :, output] = part(rows, output)
    return whole[:, :, 0] if n_outputs == 1 else whole


def _largest(values: FloatArray, top: int) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the columns of the largest sizes in each row, falling; ties by the order of columns.

    Examples
    --------
    >>> _largest(np.array([[1.0, -3.0, 2.0, 3.0, 0.0]]), 3)
    (array([[1, 3, 2]]), array([[-3.,  3.,  2.]]))
    """
    size = np.abs(values)
    place = values.shape[1] - top
    least = np.partition(size, place, axis=1)[:, place] if top else np.zeros(len(size))
    indices = np.empty((len(values), top), np.int64)
    for row, (sizes, limit) in enumerate(zip(size, least, strict=True)):
        above = np.flatnonzero(sizes > limit)
        equal = np.flatnonzero(sizes == limit)[: top - len(above)]
        chosen = np.concatenate([above, equal])
        indices[row] = chosen[np.lexsort((chosen, -sizes[chosen]))]
    return indices, np.take_along_axis(values, indices, axis=1)
