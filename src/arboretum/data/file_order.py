"""The order of the files of a pattern or a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TypeVar

PathKind = TypeVar("PathKind", bound="str | os.PathLike[str]")


def in_natural_order(files: Iterable[PathKind]) -> list[PathKind]:
    """Return files in the order of their names, with digits compared as whole numbers, as Dask does.

    Names that differ in leading zeros alone, which Dask leaves in the order of the file system, come in text order.

    Parameters
    ----------
    files : iterable of str or path
        Names of files, with or without folders.

    Examples
    --------
    >>> in_natural_order(["part.10.csv", "part.9.csv", "part.010.csv", "all.csv"])
    ['all.csv', 'part.9.csv', 'part.010.csv', 'part.10.csv']
    """
    return sorted(files, key=_natural)


def _natural(file: str | os.PathLike[str]) -> tuple[list[str | int], str]:
    name = os.fspath(file)
    parts = re.split(r"(\d+)", name)  # text, digits, text, …, text
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], name
