"""Properties that are computed once, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")
Self = TypeVar("Self", bound="cached_property[Any]")


class cached_property(Generic[Value]):  # noqa: N801
    """A property that keeps its value in the instance.

    ``functools.cached_property`` holds a lock while it computes, before Python 3.12 one for all instances of a class.
    The child of a fork finds it taken for ever if another thread was computing. Without a lock, two threads may both
    compute; all of them get the first value that was stored.

    Examples
    --------
    >>> class Circle:
    ...     radius = 2.0
    ...     @cached_property
    ...     def area(self):
    ...         print("computed")
    ...         return 3.14 * self.radius**2
    >>> circle = Circle()
    >>> circle.area + circle.area
    computed
    25.12
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self: Self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        """Return the value; the next access finds it in the instance and does not come here."""
        if instance is None:
            return self
        value = self.compute(instance)
        return vars(instance).setdefault(self.name, value)
