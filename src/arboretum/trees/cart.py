"""What pruning needs to know of a CART tree: the errors of its nodes as leaves, on training and validation rows."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum.ensembles.bagging import criteria
from arboretum.ensembles.bagging.trees import BaggedTarget
from arboretum.model.forest import Forest, majorities
from arboretum.trees.pruning import parents

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]


def training_errors(forest: Forest, weight: FloatArray) -> FloatArray:
    """Return the training weight that each node of a tree with one output of classes would get wrong as a leaf.

    Parameters
    ----------
    forest : Forest
        One tree; its values are the share of the second of two classes, or the shares of all.
    weight : float64 array (nodes)
        Training weight of each node.
    """
    shares = forest.value
    largest = np.maximum(shares[:, 0], 1 - shares[:, 0]) if forest.width == 1 else shares.max(axis=1)
    return np.asarray(np.maximum(weight * (1 - largest), 0.0))


def validation_losses(forest: Forest, leaves: ArrayLike, target: BaggedTarget) -> FloatArray:
    """Return the loss of each node of a tree as a leaf, on the validation rows that pass it, up to a common factor.

    Classes count the outputs that are wrong; numbers have the loss of the criterion: squared, absolute, or the Poisson
    deviance.

    Parameters
    ----------
    forest : Forest
        One tree.
    leaves : int array (rows)
        Leaf of each row.
    target : BaggedTarget
        Targets of the rows, and their weights.

    Examples
    --------
    A root of mean 2 and its leaves 1 and 3; the second row is 2.5, but goes to the leaf of 1:

    >>> import arboretum as arb
    >>> forest = arb.DecisionTreeRegressor().fit([[0.0], [1.0]], [1.0, 3.0]).forest_
    >>> target = BaggedTarget("squared_error", None, numbers=np.array([[1.0], [2.5], [3.0]]))
    >>> validation_losses(forest, [1, 1, 2], target)
    array([0.25, 0.25, 0.  ])
    """
    parent = parents(forest)
    weight = np.ones(target.n_rows) if target.weight is None else target.weight
    predicted = forest.value if target.classes is None else majorities(forest, target.n_classes)
    # Squares of huge numbers would overflow; a common factor does not matter to pruning.
    scale = 1.0 if target.numbers is None else max(np.abs(target.numbers).max(), np.abs(forest.value).max()) or 1.0
    losses = np.zeros(forest.n_nodes)
    row, node = np.arange(target.n_rows), np.asarray(leaves, np.int64)
    while len(row):
        loss = weight[row] * _loss(target, row, predicted[node], scale)
        losses += np.bincount(node, weights=loss, minlength=len(losses))
        climbs = node > 0
        row, node = row[climbs], parent[node[climbs]]
    return losses


def _loss(target: BaggedTarget, row: IntArray, predicted: NDArray[Any], scale: float) -> FloatArray:
    if target.classes is not None:
        return np.asarray((target.classes[row] != predicted).sum(axis=1), np.float64)
    assert target.numbers is not None
    truth, guess = target.numbers[row] / scale, np.asarray(predicted, np.float64) / scale
    return np.asarray(criteria.OF_NUMBERS[target.criterion].loss(truth, guess).sum(axis=1))
