"""Influence of training rows on predictions: what would change if one of them were left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_integer
from arboretum.estimators.averaged_trees import ClassTrees, NumberTrees
from arboretum.estimators.boosted_trees import BoostedTrees
from arboretum.explaining.boosting_influence import boosting_influence
from arboretum.explaining.forest_influence import forest_influence

FloatArray: TypeAlias = NDArray[np.float64]
Part: TypeAlias = Callable[[slice, int], FloatArray]
"""Rows and an output → influence (rows, training rows); a block of rows takes a bounded room besides its result."""

CELLS_AT_ONCE = 1 << 23


def influence(
    model: Any, X: Any, y: Any = None, *, X_train: Any, y_train: Any, sample_weight: Any = None, top: int | None = None
) -> FloatArray | tuple[NDArray[np.int64], FloatArray]:
    """Estimate how predictions would change if a training row were left out and the trees kept their shape.

    Of boosted trees this is the first-order effect on all leaf values of all rounds, the effect of earlier rounds on
    later ones included (LeafInfluence of B. Sharchilev, Y. Ustinovskiy, P. Serdyukov & M. de Rijke, *Finding
    influential training samples for gradient boosted decision trees*, ICML 2018), in reverse: one pass over rounds and
    training rows for each row of X. Of trees and forests it is exact: the leaves' means without the row, which counts
    as often as the bag of each tree holds it. A model that is really fitted anew may choose other splits, which no
    estimate of this kind foresees.

    Parameters
    ----------
    model : BoostedTrees…, RandomForest…, ExtraTrees… or DecisionTree… estimator
        A fitted model.
    X : array-like, sparse matrix or data frame
        Rows whose predictions are asked about.
    y : array-like, optional
        Their targets: tell the change of the loss in place of that of the raw prediction. The loss is that of boosting,
        or the squared error of numbers or probabilities of a forest.
    X_train, y_train, sample_weight
        What the model was fitted on.
    top : int, optional
        Tell only the training rows of the largest influence, up or down, on each row of X: memory does not grow with
        rows times training rows.

    Returns
    -------
    ndarray of float64, (rows, training rows)
        Change of the raw prediction, or of the loss, without the training row. A loss that would rise (positive) tells
        of a row that helps; one that would fall (negative), of a row that harms, perhaps with a wrong label. Without
        ``y``, a model of several outputs has a last axis for them.
    indices, values : ndarrays of int64 and float64, (rows, top), with ``top``
        Numbers of the training rows and their influence, the largest first; of equal ones the first rows.

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
    part: Part
    if isinstance(model, BoostedTrees):
        part, n_rows, n_train, n_outputs = boosting_influence(model, X, y, X_train, y_train, sample_weight)
    elif isinstance(model, NumberTrees | ClassTrees):
        part, n_rows, n_train, n_outputs = forest_influence(model, X, y, X_train, y_train, sample_weight)
    else:
        raise TypeError(
            f"influence is not known for {type(model).__name__}: use boosted trees, a random forest or a decision tree"
        )
    step = max(1, min(256, CELLS_AT_ONCE // max(1, n_train)))
    blocks = [slice(first, min(first + step, n_rows)) for first in range(0, n_rows, step)]
    if top is not None:
        check_integer("top", top)
        found = [[_largest(part(rows, output), min(top, n_train)) for rows in blocks] for output in range(n_outputs)]
        columns = [_joined([one[i] for one in of_output], min(top, n_train)) for i in (0, 1) for of_output in found]
        indices, values = (_stacked(columns[i * n_outputs : (i + 1) * n_outputs]) for i in (0, 1))
        return indices.astype(np.int64), values
    whole = np.empty((n_rows, n_train, n_outputs))
    for output in range(n_outputs):
        for rows in blocks:
            whole[rows, :, output] = part(rows, output)
    return whole[:, :, 0] if n_outputs == 1 else whole


def _joined(parts: list[NDArray[Any]], width: int) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros((0, width))


def _stacked(outputs: list[NDArray[Any]]) -> NDArray[Any]:
    return outputs[0] if len(outputs) == 1 else np.stack(outputs, axis=-1)


def _largest(values: FloatArray, top: int) -> tuple[NDArray[np.int64], FloatArray]:
    """Columns of the largest sizes in each row, falling; of equal ones the first.

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
