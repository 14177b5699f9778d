"""Warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from inspect import currentframe
from typing import TypeAlias

from arboretum.running.in_force import in_force

Hearer: TypeAlias = Callable[[str, type[Warning]], object]

_HEARER: ContextVar[Hearer | None] = ContextVar("arboretum_hearer", default=None)


def heard_by(hearer: Hearer) -> AbstractContextManager[None]:
    """Hand warnings of the body to a function instead, in a process that no user looks at."""
    return in_force(_HEARER, hearer)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the first line outside this package.

    Python drops a warning that cannot be written, but raises ValueError where standard error is a closed file: a
    remark must not end a fit.
    """
    if (hearer := _HEARER.get()) is not None:
        hearer(message, category)
        return
    package, level, frame = __name__.partition(".")[0], 1, currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    try:
        warnings.warn(message, category, stacklevel=level)
    except ValueError:
        if not getattr(sys.stderr, "closed", False):
            raise
