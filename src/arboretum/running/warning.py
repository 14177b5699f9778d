"""Warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings
from inspect import currentframe


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the first line outside this package.

    Python drops a warning that cannot be written, but raises ValueError where standard error is a closed file: a
    remark must not end a fit.
    """
    package, level, frame = __name__.partition(".")[0], 1, currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    try:
        warnings.warn(message, category, stacklevel=level)
    except ValueError:
        if not getattr(sys.stderr, "closed", False):
            raise
