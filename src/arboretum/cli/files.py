"""Model files with the roles of columns, and files that commands write: whole or not at all, and never unasked.

A file replaces another one only with ``--overwrite``.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from arboretum.cli.columns import Roles, kinds_of_model
from arboretum.cli.errors import ModelError, OutputError, UsageError
from arboretum.cli.file_formats import STANDARD, files_named, shown
from arboretum.cli.options import Consent
from arboretum.cli.tasks import check_positive
from arboretum.cli.terminal import Terminal, standard_output
from arboretum.cli.text import TextOptions
from arboretum.estimators.classes import arguments
from arboretum.estimators.files import from_file
from arboretum.model import model_file
from arboretum.model.arrays import Arrays
from arboretum.model.whole_file import replacing
from arboretum.tasks import TASKS, Task

HEADER = "command"  # the field of a model file's header that holds the roles of columns


def check_outputs(
    outputs: Mapping[str, Path | None],
    inputs: Mapping[str, Path | str | None],
    *,
    overwrite: bool,
    renewed: Sequence[str] = (),
) -> None:
    """Reject, before any work is done, paths that cannot be written, that exist, or that are read or written already.

    Parameters
    ----------
    outputs, inputs : dict
        Files to write, and files or DATA to read, by option or argument.
    overwrite : bool
        Whether files that exist are replaced.
    renewed : sequence of str
        Outputs that are always replaced.
    """
    given = {name: path for name, path in outputs.items() if path is not None}
    standard = [name for name, path in given.items() if str(path) == STANDARD]
    if wrong := [name for name in standard if name not in ("--out", "OUT")]:
        raise UsageError(f"{wrong[0]} -: name a file; only --out can be standard output")
    given = {name: path for name, path in given.items() if name not in standard}
    for place, (name, path) in enumerate(given.items()):
        for other in list(given)[:place]:
            if _is_same(path, given[other]):
                raise UsageError(f"{other} and {name} both name {path}: one would replace the other; rename one")
        for other, data in inputs.items():
            if data is not None and any(_is_same(path, file) for file in files_named(str(data))):
                raise UsageError(f"{name} {path} is a file of {other}, which it would replace: choose another name")
    for name, path in given.items():
        _check_output(path, overwrite=overwrite or name in renewed)


def _is_same(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve() or (path.exists() and other.exists() and path.samefile(other))


def check_folder(path: Path) -> None:
    """Reject, before any work is done, a folder that cannot be made or written to."""
    if path.exists() and not path.is_dir():
        raise OutputError(f"cannot write into {path}: it is a file, not a folder; name another")
    with output_errors(path):
        if not path.exists():
            path.mkdir()
            path.rmdir()


def _check_output(path: Path, *, overwrite: bool) -> None:
    folder = path.resolve().parent
    problems = {
        f"cannot write {path}: it is a folder; add a file name": path.is_dir(),
        f"cannot write {path}: it is not a regular file": path.exists() and not path.is_file(),
        f"{path} exists already: choose another name, or replace it with --overwrite": path.exists() and not overwrite,
        f"cannot write {path}: there is no folder {path.parent}; create it first": not folder.is_dir(),
        f"cannot write {path}: no permission to write in {path.parent}": not os.access(folder, os.W_OK),
    }
    for problem, is_there in problems.items():
        if is_there:
            raise OutputError(problem)


@contextmanager
def told(terminal: Terminal, path: Path, *, with_size: bool = False) -> Iterator[list[str]]:
    """Say that the body has written a file; words that it adds to the list follow the name."""
    is_standard, replaces = str(path) == STANDARD, path.exists()
    more: list[str] = []
    yield more
    name = "standard output" if is_standard else shown(str(path))
    size = f" ({path.stat().st_size / 1024:.0f} KB)" if with_size and not is_standard else ""
    terminal.written.append(name)
    terminal.text(f"{'replaced' if replaces else 'wrote'} {name}{size}{''.join(more)}")


@contextmanager
def destination(path: Path) -> Iterator[Path | BinaryIO]:
    """Give a place to write: standard output, or a new file that replaces ``path`` if the body succeeds."""
    if str(path) == STANDARD:
        with standard_output() as stream:
            yield stream.buffer
            stream.flush()
    else:
        with output_errors(path), replacing(path) as new:
            yield new


def write(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all, or to standard output."""
    with destination(path) as target:
        if isinstance(target, Path):
            target.write_bytes(content)
        else:
            target.write(content)


@contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Add the name of the file to errors of the system."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None


def save_model(terminal: Terminal, model: Any, path: Path, roles: Roles, *more: str, with_size: bool = False) -> None:
    """Write a model file that knows the roles of its columns, and say so."""
    content = io.BytesIO()
    model.save(content)
    with told(terminal, path, with_size=with_size) as words:
        write(path, model_file.with_fields(content.getbuffer(), {HEADER: roles.to_json()}))
        words += more
    terminal.result |= {"model": str(path)}


def read_content(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a model file."""
    try:
        return model_file.load(path)
    except OSError as error:
        raise ModelError(str(error)) from None


def read_roles(path: Path, header: Mapping[str, Any]) -> Roles:
    """Return the roles of columns that a header tells."""
    try:
        roles = Roles.from_json(header.get(HEADER, {}))
    except TypeError as error:
        raise ModelError(f"{path} is damaged: {error}") from None
    if roles.task not in (None, *TASKS):
        raise ModelError(f"{path} is damaged, or of a later version: its task is {roles.task!r}")
    return roles


@dataclass(frozen=True)
class ModelFile:
    """A model, and the roles of its columns if the command wrote its file."""

    model: Any
    roles: Roles

    @classmethod
    def load(cls, path: Path, consent: Consent) -> ModelFile:
        """Read a model file, with estimators of other libraries if there is consent."""
        return cls.of(path, *read_content(path), consent)

    @classmethod
    def of(cls, path: Path, header: dict[str, Any], arrays: Arrays, consent: Consent) -> ModelFile:
        """Make the model of the content of a file."""
        with consent.given():
            model = from_file(header, arrays)
        return cls(model, read_roles(path, header))

    @property
    def task(self) -> Task:
        """The task that the model was trained for, by its file or by itself."""
        task: Task = self.model.task_ if self.roles.task is None else TASKS[self.roles.task]
        return task

    @property
    def name(self) -> str:
        """Name of the estimator."""
        return type(self.model).__name__

    @property
    def classes(self) -> list[Any]:
        """Labels of the classes; none if the task has none."""
        return np.asarray(self.model.classes_).tolist() if self.task.has_classes else []

    @property
    def kinds(self) -> dict[str, str]:
        """Kinds of the columns that the model reads, "" where it does not tell."""
        return {**kinds_of_model(self.model), **self.roles.kinds}

    def text(self, given: TextOptions) -> TextOptions:
        """Return options for text, with what the model knows."""
        kinds, roles = self.kinds, self.roles
        formats = {name: form for name, form in roles.date_formats.items() if name in kinds}  # --time is not asked for
        return given.knowing(kinds, roles.asked, roles.missing, formats, roles.decimal)

    def with_roles(self, given: Mapping[str, Any]) -> ModelFile:
        """Return the model with roles from options; reject those that do not suit it."""
        if "offset" in given and "offset" not in arguments(type(self.model).predict):
            raise UsageError(f"--offset: {self.name} takes none; boosted trees do (train --model boosted)")
        for other in TASKS.values():
            if other.role in ("event", "treatment") and other.role in given and self.task.role != other.role:
                raise UsageError(
                    f"--{other.role}: the model is for {self.task.name}, not for {other.name}; leave the option out"
                )
        roles = replace(self.roles, **given)
        check_positive(self.classes, self.task, roles)
        return replace(self, roles=roles)
