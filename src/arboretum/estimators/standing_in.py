"""Models that predict from what is known already: all methods of a model, without its trees."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.data.table import Table
from arboretum.estimators.base import ForestModel
from arboretum.model.forest import Forest

FloatArray = NDArray[np.float64]
Twin = TypeVar("Twin")


def with_raw(model: ForestModel, raw: FloatArray) -> Any:
    """Return the model as if its raw predictions were these, whatever it is asked about.

    Parameters
    ----------
    model : ForestModel
        A fitted model all of whose predictions follow from raw ones.
    raw : float64 array (rows, outputs)
        Sums of base and trees.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.BoostedTreesClassifier(n_estimators=3).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> with_raw(model, np.array([[-1.0], [1.0]])).predict(None)
    array(['a', 'b'], dtype='<U1')
    """
    return twin(model, _raw_from=lambda forest, X: raw)


def with_table(model: ForestModel, table: Table) -> Any:
    """Return the model as if this were the table, read already, that it is asked about."""
    if hasattr(model, "_stand_in"):  # known by its predictions alone (by_predictions.py)
        return model._stand_in(table)
    return twin(model, _conform=lambda X: table, _is_ready=lambda X: False)


def after_round(model: Any, X: Any, raw: FloatArray, **learnt: Any) -> Any:
    """Return a model in training as scorers see it: it knows its predictions of X, and of nothing else.

    Parameters
    ----------
    model : estimator
        All of its predictions follow from ``_raw(X)``.
    X : object
        Rows that scorers hand to its methods.
    raw : ndarray
        Their raw predictions after the round.
    **learnt
        What else the predictions need: ``loss_``, ``classes_``.
    """

    def known(asked: Any) -> FloatArray:
        if asked is not X:
            raise ValueError(
                "scoring asks a model in training about other rows than the validation rows that it was given: score X "
                "as it is"
            )
        return raw

    return twin(model, _raw=known, **learnt)


def twin(model: Twin, **attributes: Any) -> Twin:
    """Copy an estimator without copying what it holds, and give it some attributes."""
    copied = object.__new__(type(model))
    copied.__dict__.update(model.__dict__, **attributes)
    return copied


def summed_forest(model: ForestModel) -> Forest:
    """Return the forest whose sums are the raw predictions: that of votes, for a forest that votes."""
    return getattr(model, "_averaged", None) or model._fitted()
