"""What every fitted estimator that is made of other estimators can do: tell its columns, be loaded.

::

    ModelOfModels    its fitted state is Members (model/members.py)
    OfOneEstimator   all members are made from its parameter ``estimator``, or from a default
    only_if          a method that it has only if its members can answer
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arboretum.estimators import files
from arboretum.model.arrays import Arrays
from arboretum.model.foreign import Incoming
from arboretum.model.members import Base, Joint, Members
from arboretum.model.model_file import as_damage


class ModelOfModels:
    """Methods of a fitted estimator whose state is Members; stands left of ``Estimator`` among the bases.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    joint_kind: ClassVar[type[Joint]] = Joint  # what a file of the estimator holds
    _members: Members

    goal: Callable[[], Any]  # how the target is read, and what members are asked
    learned: Callable[[], Any]  # of Estimator
    check_parameters: Callable[[], None]

    @property
    def n_features_in_(self) -> int:
        """Number of columns at fit."""
        n_columns: int | None = self.learned().n_columns
        if n_columns is None:
            raise AttributeError(f"this {type(self).__name__} was fitted to rows that are not a table")
        return n_columns

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns at fit, if they had names."""
        schema = self.learned().schema
        if schema is None or not schema.named:
            raise AttributeError(f"this {type(self).__name__} was fitted to columns without names")
        return np.array(schema.names, dtype=object)

    # ---- files ---------------------------------------------------------------------------------------------------

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take up the members that a file holds; ``arboretum.load`` calls it.

        Parameters
        ----------
        header, arrays
            Content of the file.
        """
        with as_damage():
            foreign, calls = Incoming.allowed(header, arrays), self.joint_kind.bases_from_json(header)
            bases = self._take_bases([(name, files.call_from_json(call, foreign)) for name, call in calls])
            self.check_parameters()
            name, read = type(self).__name__, files.from_file
            self._members = Members.from_file(header, arrays, bases, self.joint_kind, self.goal(), read, name, foreign)

    def _take_bases(self, bases: list[Base]) -> list[Base]:
        """Make the estimators of a file parameters again; return those of the fit, a default among them."""
        return bases


class OfOneEstimator:
    """Members that are made from ``estimator``; stands left of ``ModelOfModels``."""

    default: ClassVar[Callable[[], Any]]  # what ``estimator=None`` means
    estimator: Any
    learned: Callable[[], Any]

    def base(self) -> Any:
        """Return what members are made from."""
        return type(self).default() if self.estimator is None else self.estimator

    @property
    def estimator_(self) -> Any:
        """What members were made from."""
        ((_, base),) = self.learned().bases
        return base

    def _take_bases(self, bases: list[Base]) -> list[Base]:
        self.estimator = bases[0][1] if bases else None
        return bases

    def __sklearn_tags__(self) -> Any:
        """Accept what the members accept."""
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags = get_tags(self.base()).input_tags
        return tags


def only_if(has: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], Any]:
    """Let only some estimators of a class have a method: others raise AttributeError where it is asked for.

    Examples
    --------
    >>> class Model:
    ...     @only_if(lambda model: False)
    ...     def predict_proba(self, X): ...
    >>> hasattr(Model(), "predict_proba"), callable(Model.predict_proba)
    (False, True)
    """
    return lambda method: _OnlyIf(method, has)


class _OnlyIf:
    """A method that is looked up by ``__get__``; an attribute of the instance takes its place, as for any method."""

    def __init__(self, method: Callable[..., Any], has: Callable[[Any], bool]) -> None:
        self.method, self.has, self.__name__ = method, has, method.__name__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self.method
        if not self.has(instance):
            raise AttributeError(
                f"this {owner.__name__} has no {self.method.__name__}: its members have no such answers",
                name=self.method.__name__,
                obj=instance,
            )
        return self.method.__get__(instance, owner)
