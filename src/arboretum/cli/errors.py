"""Errors that a person can act on, each with its exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

INTERRUPTED = 130
EXIT_CODES = {
    0: "done",
    1: "the run failed: the model could not be fitted or asked",
    2: "usage: an option or setting is unknown, lacks a value, has a wrong one, or contradicts another",
    3: "data: a file, table or column is missing, broken, empty or of the wrong type",
    4: "model: the file is missing, damaged, holds a model of another task, or needs --foreign",
    5: "output: a file exists already or cannot be written, or standard output cannot be written",
    INTERRUPTED: "interrupted: train writes the model as far as it got, other commands write nothing more",
}


class CommandError(Exception):
    """The run failed; the message says what to do."""

    exit_code = 1


class UsageError(CommandError):
    """An option or a setting is wrong."""

    exit_code = 2


class DataError(CommandError):
    """The data cannot be read or used."""

    exit_code = 3


class ModelError(CommandError):
    """The model file cannot be used."""

    exit_code = 4


class OutputError(CommandError):
    """A file cannot be written."""

    exit_code = 5


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint: the nearest known name, or the first few names.

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
