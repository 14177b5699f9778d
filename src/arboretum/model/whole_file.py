"""Files that are written whole or not at all.

The content goes to a new file beside the old one, which takes its place once it is on disk::

    .model.arb.0123456789abcdef.arb ──► model.arb

A process that is killed leaves its new file behind. Whoever writes the same file next removes it: a writer holds a lock
on its new file for as long as it lives, so that a file whose lock is free belongs to nobody.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the path of a new, empty file, which takes the place of ``path`` if the block succeeds.

    Parameters
    ----------
    path : Path
        A link is followed; the permissions of a file that exists are kept.

    Yields
    ------
    Path
        In the same folder and with the same suffix; to be written by opening it, not by another rename.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "page.html"
    ...     with replacing(file) as new:
    ...         _ = new.write_text("whole")
    ...     file.read_text(), len(list(file.parent.iterdir()))
    ('whole', 1)
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "It is not a regular file", str(path))
    remove_abandoned(target)
    new, held = _create_beside(target)
    try:
        yield new
        os.fsync(held.fileno())
        if target.exists():
            shutil.copymode(target, new)
        if fcntl is None:
            held.close()
        new.replace(target)
    except BaseException:
        held.close()
        new.unlink(missing_ok=True)
        raise
    held.close()
    _sync_folder(target.parent)


def remove_abandoned(target: Path) -> None:
    """Remove what processes that were killed while they wrote ``target`` left behind."""
    left = re.compile(rf"\.{re.escape(_beginning(target))}\.[0-9a-f]{{16}}({re.escape(_suffix(target))})?")
    try:
        with os.scandir(target.parent) as entries:
            found = [entry.path for entry in entries if left.fullmatch(entry.name) and entry.is_file()]
    except OSError:  # no such folder, or not readable: writing tells
        return
    for name in found:
        with contextlib.suppress(OSError), Path(name).open("rb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error: its writer lives
            Path(name).unlink()


def _create_beside(target: Path) -> tuple[Path, BinaryIO]:
    """Create a file that nobody else has; others know by its lock that its writer lives."""
    while True:
        new = target.with_name(f".{_beginning(target)}.{secrets.token_hex(8)}{_suffix(target)}")
        held = new.open("xb")
        if fcntl is None:
            return new, held
        with contextlib.suppress(OSError):  # a file system without locks: nothing is ever removed there
            fcntl.flock(held, fcntl.LOCK_EX)
        if new.exists():  # else it was removed before it was locked
            return new, held
        held.close()


def _beginning(target: Path) -> str:
    """Return what there is room for: names are limited by their bytes."""
    return target.name.encode(errors="replace")[:64].decode(errors="ignore")


def _suffix(target: Path) -> str:
    return "".join(target.suffixes[-2:])[-32:]


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a loss of power; only POSIX lets a folder be opened for it."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
