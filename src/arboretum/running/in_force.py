"""Context variables that hold within a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def in_force(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Let a context variable have a value in the body.

    Examples
    --------
    >>> depth = ContextVar("depth", default=0)
    >>> with in_force(depth, 3):
    ...     depth.get()
    3
    >>> depth.get()
    0
    """
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)
