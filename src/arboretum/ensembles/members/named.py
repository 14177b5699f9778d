"""Named estimators as the parameter ``estimators`` of an ensemble: how they are checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from arboretum.arguments import shown
from arboretum.model.members import Base
from arboretum.tasks import RANKING, SURVIVAL, Task

LIST = "a list of (name, estimator)"
KINDS = {RANKING: "ranker", SURVIVAL: "survival model"}  # which scikit-learn has no names for


def named_members(estimators: Any, taken: Collection[str], *, kind: str, fitted: bool) -> list[Base]:
    """Check a list of (name, estimator): unique names, estimators of the task.

    Parameters
    ----------
    estimators : list of (str, estimator)
        What the user gave. ``"drop"`` in the place of an estimator leaves it out, as in scikit-learn.
    taken : collection of str
        Names that parameters of the ensemble have.
    kind : {"classifier", "regressor", "ranker", "survival model"}
        What members must be.
    fitted : bool
        Whether members are fitted already, so that they need no ``fit``.

    Examples
    --------
    >>> named_members([("a", 3)], [], kind="classifier", fitted=False)
    Traceback (most recent call last):
        ...
    ValueError: estimators: 'a' is 3, which has no fit: use an estimator object, with fit, predict and get_params
    """
    if not isinstance(estimators, list | tuple):
        raise ValueError(f"estimators={shown(estimators)}: give {LIST}")
    members: list[Base] = []
    for given in estimators:
        if not isinstance(given, list | tuple) or len(given) != 2 or not isinstance(given[0], str):
            raise ValueError(f"estimators has the entry {shown(given)}: give {LIST}, with names that are text")
        name, estimator = given
        if isinstance(estimator, str) and estimator == "drop":
            continue
        check_member(name, estimator, kind=kind, fitted=fitted)
        members.append((name, estimator))
    if not members:
        raise ValueError(f"estimators={shown(estimators)} has no members: give {LIST}, at least one")
    check_names([given[0] for given in estimators], taken)
    return members


def check_names(names: Sequence[str | int], taken: Collection[str]) -> None:
    """Reject names that occur twice, or that could be taken for parameters; a position is no such name."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"estimators has the name {name!r} {names.count(name)} times: give each its own")
        if name in taken or "__" in str(name):
            raise ValueError(
                f"estimators has the name {name!r}, which would be mistaken for a parameter: give it another, without "
                "two underscores"
            )


def check_member(name: str, estimator: Any, *, kind: str, fitted: bool) -> None:
    """Reject what cannot be a member, by its name."""
    check_object(name, estimator, ("predict",) if fitted else ("fit", "predict", "get_params"))
    found = kind_of(estimator)
    if found != kind:
        told, unknown = (f"the {found.replace('_', ' ')} ", "") if found else ("", ", whose kind is unknown")
        raise ValueError(f"estimators: {name!r} is {told}{type(estimator).__name__}{unknown}: use a {kind}")


def check_object(name: str | int, estimator: Any, methods: Sequence[str] = ("fit", "predict", "get_params")) -> None:
    """Reject a class in the place of an object, and an object that lacks a method."""
    if isinstance(estimator, type):
        raise ValueError(f"estimators: {name!r} is the class {estimator.__name__}: use {estimator.__name__}()")
    for method in methods:
        if not hasattr(estimator, method):
            raise ValueError(
                f"estimators: {name!r} is {shown(estimator)}, which has no {method}: use an estimator object, with "
                "fit, predict and get_params"
            )


def kind_of(estimator: Any) -> str | None:
    """Return "classifier", "regressor", "ranker", "survival model", or what else scikit-learn calls an estimator.

    None if there is no name for it. Rankers and survival models have the attribute ``task_`` of their class.
    """
    own, task = getattr(type(estimator), "estimator_type", None), getattr(type(estimator), "task_", None)
    if isinstance(own, str):
        return own
    if isinstance(task, Task) and task in KINDS:
        return KINDS[task]
    import sklearn.base

    for kind in ("classifier", "regressor", "outlier_detector"):
        if getattr(sklearn.base, f"is_{kind}")(estimator):
            return kind
    return None
