"""Models that predict from what is known already: all methods of a model, without its trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.data.table import Table
from arboretum.estimators.base import ForestModel
from arboretum.model.model import Model

FloatArray = NDArray[np.float64]
Twin = TypeVar("Twin")


@dataclass(frozen=True, eq=False)
class AskedModel(Model):
    """A model that is known by its predictions alone.

    Parameters
    ----------
    ask : callable
        From a table to the model as if all that it is asked about were the rows of the table.
    """

    ask: Callable[[Table], Any] = field(kw_only=True)


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
    if isinstance(model.model_, AskedModel):
        return model.model_.ask(table)
    return twin(model, _standing=replace(model.model_, table=table))


def after_round(model: Any, X: Any, raw: FloatArray, **learnt: Any) -> Any:
    """Return a model in training as scorers see it: it knows its predictions of X, and of nothing else.

    Parameters
    ----------
    model : estimator
        All of its predictions follow from ``predict_raw(X)``.
    X : object
        Rows that scorers hand to its methods.
    raw : ndarray
        Their raw predictions after the round, (rows,) or (rows, outputs).
    **learnt
        What else the predictions need: ``loss_``, ``classes_``.
    """

    def known(asked: Any) -> FloatArray:
        if asked is not X:
            raise ValueError(
                "scoring asks a model in training about other rows than the validation rows that it was given: score X "
                "as it is"
            )
        return in_columns(raw)

    return twin(model, predict_raw=known, **learnt)


def in_columns(raw: FloatArray) -> FloatArray:
    """Return raw predictions as (rows, outputs)."""
    return raw[:, np.newaxis] if raw.ndim == 1 else raw


def twin(model: Twin, **attributes: Any) -> Twin:
    """Copy an estimator without copying what it holds, and give it some attributes."""
    copied = object.__new__(type(model))
    copied.__dict__.update(model.__dict__, **attributes)
    return copied
