"""Ctrl-C during a fit: the model keeps what was fitted, and a warning says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["InterruptedFit", "inner_fits", "keeps_part", "warn_interrupted"]

_IS_INNER: ContextVar[bool] = ContextVar("whether another fit waits for this one", default=False)


@contextmanager
def inner_fits() -> Iterator[None]:
    """Mark fits inside as parts of another: Ctrl-C ends the outer fit, which must not go on with half a member.

    Examples
    --------
    >>> with inner_fits():
    ...     keeps_part(7)
    False
    """
    before = _IS_INNER.set(True)
    try:
        yield
    finally:
        _IS_INNER.reset(before)


def keeps_part(n: int) -> bool:
    """Whether a fit that Ctrl-C ended after ``n`` rounds or trees keeps them, rather than pass the interrupt on.

    Examples
    --------
    >>> keeps_part(7), keeps_part(0)
    (True, False)
    """
    return n > 0 and not _IS_INNER.get()


class InterruptedFit(UserWarning):
    """A fit ended early because of Ctrl-C; the model has the rounds or trees that were done.

    Turn it into an error to end a program on Ctrl-C instead: ``warnings.simplefilter("error", InterruptedFit)``.

    Examples
    --------
    >>> import arboretum as arb
    >>> issubclass(arb.InterruptedFit, UserWarning)
    True
    """


def warn_interrupted(n: int, what: str) -> None:
    """Warn that a fit was interrupted after ``n`` rounds or trees.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_interrupted(7, "rounds")
    >>> str(caught[0].message)
    'fit was interrupted: the model keeps the 7 rounds so far'
    """
    from arboretum.schema import warn_user

    warn_user(f"fit was interrupted: the model keeps the {n} {what} so far", InterruptedFit)
