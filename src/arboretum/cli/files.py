"""Files that commands write: whole or not at all, and never over another without being told to."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arboretum.cli.columns import Roles
from arboretum.cli.errors import ModelError, OutputError

HEADER = "command"  # the field of a model file's header that holds the roles of columns


def check_output(path: Path | None, *, overwrite: bool) -> None:
    """Refuse, before any work is done, a path that cannot be written or that exists."""
    if path is None:
        return
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a folder; add a file name")
    if path.exists() and not path.is_file():
        raise OutputError(f"cannot write {path}: it is not a regular file")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists already: choose another name, or replace it with --overwrite")
    if not path.resolve().parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {path.parent}; create it first")
    if not os.access(path.resolve().parent, os.W_OK):
        raise OutputError(f"cannot write {path}: no permission to write in {path.parent}")


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a temporary path in the same folder, which takes the place of ``path`` if the body succeeds."""
    target = path.resolve()
    temporary = target.with_name(f".{secrets.token_hex(8)}{''.join(target.suffixes[-2:])[-32:]}")
    try:
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def save_model(model: Any, path: Path, roles: Roles) -> None:
    """Write a model file that knows the roles of its columns."""
    from arboretum.io import model_file

    try:
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder) / "model.arb"
            model.save(plain)
            header, arrays = model_file.load(plain)
            model_file.save(path, {**header, HEADER: roles.to_json()}, arrays)
            del arrays  # they may lie in the file that is removed now
    except OSError as error:
        raise OutputError(str(error.strerror or error)) from None


def load_model(path: Path) -> tuple[Any, Roles]:
    """Read a model file, and the roles of its columns if the command wrote it."""
    from arboretum.estimators.base import from_file
    from arboretum.io import model_file

    try:
        header, arrays = model_file.load(path)
    except OSError as error:
        raise ModelError(str(error)) from None
    model, stored = from_file(header, arrays), header.get(HEADER, {})
    try:
        roles = Roles.from_json(stored)
    except (AttributeError, TypeError) as error:
        raise ModelError(f"{path} is damaged: {error}") from None
    return model, roles


def task_of(model: Any, roles: Roles) -> str:
    """Return the task of a model: as it was trained, or by its class."""
    if roles.task is not None:
        return roles.task
    name = type(model).__name__
    for part, task in (("Ranker", "ranking"), ("Surviv", "survival"), ("Uplift", "uplift"), ("Isolation", "anomaly")):
        if part in name:
            return task
    if not hasattr(model, "classes_"):
        return "regression"
    return "binary" if len(model.classes_) == 2 else "multiclass"
