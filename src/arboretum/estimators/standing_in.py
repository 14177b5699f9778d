"""Models that predict from what is known already: all methods of an estimator, without its trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.data.table import Table
from arboretum.model.members import Members
from arboretum.model.model import Model

FloatArray = NDArray[np.float64]
Twin = TypeVar("Twin")


@dataclass(frozen=True, eq=False)
class AskedModel(Model):
    """A model that is known by its predictions alone.

    Parameters
    ----------
    ask : callable
        From a table to the estimator as if all that it is asked about were the rows of the table.
    """

    ask: Callable[[Table], Any] = field(kw_only=True)


def with_model(estimator: Twin, model: Model) -> Twin:
    """Return a copy of an estimator that has learned another model."""
    return twin(estimator, _model=model)


def with_members(estimator: Twin, members: Members) -> Twin:
    """Return a copy of an estimator that has learned other members."""
    return twin(estimator, _members=members)


def with_raw(estimator: Any, raw: FloatArray) -> Any:
    """Return the estimator as if its raw predictions were these, whatever it is asked about.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator all of whose predictions follow from raw ones.
    raw : float64 array (rows, outputs)
        Sums of base and trees.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.BoostedTreesClassifier(n_estimators=3).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> with_raw(model, np.array([[-1.0], [1.0]])).predict(None)
    array(['a', 'b'], dtype='<U1')
    """
    return with_model(estimator, replace(estimator.model_, known=lambda X: raw))


def with_table(estimator: Any, table: Table) -> Any:
    """Return the estimator as if this were the table, read already, that it is asked about."""
    model = estimator.model_
    if isinstance(model, AskedModel):
        return model.ask(table)
    return with_model(estimator, replace(model, table=table))


def twin(estimator: Twin, **attributes: Any) -> Twin:
    """Copy an estimator without copying what it holds, and give it some attributes."""
    copied = object.__new__(type(estimator))
    copied.__dict__.update(estimator.__dict__, **attributes)
    return copied
