"""Ctrl-C during a fit: the model keeps what was fitted, and a warning says so."""

from __future__ import annotations

__all__ = ["InterruptedFit", "warn_interrupted"]


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
