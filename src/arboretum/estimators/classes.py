"""What a class of estimators has: parameters, arguments of its methods, public members."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from arboretum.other_libraries import Place

# Class name in a model file → class; nothing else can be loaded.
MODELS: dict[str, type[Any]] = {}


@cache
def arguments(function: Callable[..., Any]) -> dict[str, Any]:
    """Arguments of a method, by name, and their defaults; without self and collectors."""
    arguments = list(inspect.signature(function).parameters.values())[1:]
    return {a.name: a.default for a in arguments if a.kind not in (a.VAR_POSITIONAL, a.VAR_KEYWORD)}


@cache
def _collects(function: Callable[..., Any]) -> bool:
    """Whether a function takes named arguments of any name."""
    return any(a.kind is a.VAR_KEYWORD for a in inspect.signature(function).parameters.values())


def parameters(cls: type) -> dict[str, Any]:
    """Parameters of an estimator, by name, and their defaults.

    A constructor that collects ``**others`` has those of the class that it derives from too, to which it hands them.
    """
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        if "__init__" in vars(base) and base is not object:
            constructor = vars(base)["__init__"]
            found = arguments(constructor) | found
            if not _collects(constructor):
                break
    return found


def register(cls: type[Any]) -> type[Any]:
    """Let model files name a class; those of this package are registered as they are defined.

    A subclass that is not registered is written as the class that it derives from.

    Parameters
    ----------
    cls : type
        An estimator with parameters.

    Returns
    -------
    type
        The same one.
    """
    MODELS[cls.__name__] = cls
    return cls


def own_class(cls: type) -> type:
    """Return the class that files name: the first that an estimator is or derives from, among those registered."""
    return next(base for base in cls.__mro__ if "__init__" in vars(base) and MODELS.get(base.__name__) is base)


def is_own(cls: type) -> bool:
    """Whether a class is defined in this package."""
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def defaults(cls: type) -> dict[str, Any]:
    """Return the defaults of all parameters, those that a subclass hides among them."""
    return parameters(own_class(cls)) | parameters(cls)


@cache
def members(cls: type) -> frozenset[str]:
    """Public methods of an estimator, and attributes of a fitted one: those that classes define or announce."""
    announced = {name for base in cls.__mro__ for name in inspect.get_annotations(base) if name.endswith("_")}
    defined = {name: inspect.getattr_static(cls, name) for name in dir(cls) if not name.startswith("_")}
    return frozenset(announced | {name for name, member in defined.items() if _is_member(name, member)})


def _is_member(name: str, member: Any) -> bool:
    return name.endswith("_") or isinstance(member, FunctionType | classmethod | property)


@cache
def place_of(cls: type) -> Place:
    """Return what the users of a class can write, for advice to them."""
    own = {f"{name}=" for name in parameters(cls)} | {f"model.{name}" for name in members(cls)}
    return Place(cls.__name__, own | {f"fit({name}=)" for name in arguments(cls.fit)} if hasattr(cls, "fit") else own)
