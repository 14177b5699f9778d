"""Errors that a person can act on, each with its exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

INTERRUPTED = 130
EXIT_CODES = {
    0: "done",
    1: "the run failed: the model could not be fitted or asked",
    2: "usage: an option or setting is unknown, has no value or a wrong one, or contradicts another",
    3: "data: a file, table or column is absent, broken, empty or of the wrong type",
    4: "model: the file is absent, damaged, or holds a model of another task",
    5: "output: a file exists already or cannot be written; or standard output cannot, after files were written",
    INTERRUPTED: "interrupted: train writes the model as far as it got, other commands write nothing more",
}


class CommandError(Exception):
    """The run failed; the message says what to do."""

    exit_code = 1


class UsageError(CommandError):
    """Options that cannot be followed."""

    exit_code = 2


class DataError(CommandError):
    """Data that cannot be read or used."""

    exit_code = 3


class ModelError(CommandError):
    """A model file that cannot be used."""

    exit_code = 4


class OutputError(CommandError):
    """A file that cannot be written."""

    exit_code = 5


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint at the nearest known name, or the first few of them.

    Examples
    --------
    >>> nearest("pirce", ["price", "size"])
    "did you mean 'price'?"
    >>> nearest("x", ["price", "size"])
    "there are 'price', 'size'"
    """
    from arboretum.data.schema import listed

    names = list(known)
    lower = {candidate.lower(): candidate for candidate in names}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    return f"did you mean {lower[near[0]]!r}?" if near else f"there are {listed(names, limit=10)}"
