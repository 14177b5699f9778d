"""Files that commands write: whole or not at all, and never over another without being told to."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from arboretum.cli.columns import Roles, kinds_of_model
from arboretum.cli.errors import ModelError, OutputError, UsageError
from arboretum.cli.file_formats import STANDARD, files_named, shown
from arboretum.cli.terminal import Terminal, standard_output
from arboretum.tasks import TASKS, Task

if TYPE_CHECKING:
    from arboretum.cli.text import TextOptions

HEADER = "command"  # the field of a model file's header that holds the roles of columns


def check_outputs(
    outputs: Mapping[str, Path | None],
    inputs: Mapping[str, Path | str | None],
    *,
    overwrite: bool,
    renewed: Sequence[str] = (),
) -> None:
    """Refuse, before any work is done, paths that cannot be written, that exist, or that are read or written already.

    Parameters
    ----------
    outputs, inputs : dict
        Files to write, and files or DATA to read, by what a person calls them.
    overwrite : bool
        Whether files that exist are replaced.
    renewed : sequence of str
        Outputs that are replaced in any case.
    """
    given = {name: path for name, path in outputs.items() if path is not None and str(path) != STANDARD}
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
    """Refuse, before any work is done, a folder that cannot be made or written to."""
    if path.exists() and not path.is_dir():
        raise OutputError(f"cannot write into {path}: it is a file, not a folder; name another")
    with output_errors(path):
        if not path.exists():
            path.mkdir()
            path.rmdir()


def _check_output(path: Path, *, overwrite: bool) -> None:
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


def tell_written(terminal: Terminal, path: Path, *, replaces: bool, with_size: bool = False, more: str = "") -> None:
    """Say that a file was written."""
    name = "standard output" if str(path) == STANDARD else shown(str(path))
    size = f" ({path.stat().st_size / 1024:.0f} KB)" if with_size and str(path) != STANDARD else ""
    terminal.written.append(name)
    terminal.text(f"{'replaced' if replaces else 'wrote'} {name}{size}{more}")


@contextmanager
def destination(path: Path) -> Iterator[Path | BinaryIO]:
    """Give where to write rows: standard output as it is, whose reader may end it, or a path as ``written_whole``."""
    if str(path) != STANDARD:
        with written_whole(path) as temporary:
            yield temporary
        return
    with standard_output() as stream:
        yield stream.buffer


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give the path of a new file, which takes the place of ``path`` if the body succeeds."""
    from arboretum.model.whole_file import replacing

    with output_errors(path), replacing(path) as new:
        yield new


@contextmanager
def output_path(path: Path) -> Iterator[Path]:
    """Give a path to a body that replaces files by itself; what it writes for standard output follows there."""
    if str(path) != STANDARD:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / "output"
        yield temporary
        with standard_output() as stream, temporary.open("rb") as content:
            shutil.copyfileobj(content, stream.buffer)
            stream.flush()


@contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Say of which file an error of the system is."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None


def save_model(model: Any, path: Path, roles: Roles) -> None:
    """Write a model file that knows the roles of its columns."""
    from arboretum.model import model_file

    content = io.BytesIO()
    model.save(content)
    with output_path(path) as file, written_whole(file) as new:
        new.write_bytes(model_file.with_fields(content.getbuffer(), {HEADER: roles.to_json()}))


def write_model_file(path: Path, header: dict[str, Any], arrays: dict[str, Any], *, compact: bool = True) -> None:
    """Write the content of a model file."""
    from arboretum.model import model_file

    with _model_file_errors():
        model_file.save(path, header, arrays, compact=compact)


@contextmanager
def _model_file_errors() -> Iterator[None]:
    """Pass on errors of writing a model file, which name it already."""
    try:
        yield
    except OSError as error:
        raise OutputError(str(error.strerror or error)) from None


def load_model(path: Path) -> tuple[Any, Roles]:
    """Read a model file, and the roles of its columns if the command wrote it."""
    from arboretum.estimators.base import from_file
    from arboretum.model import model_file

    try:
        header, arrays = model_file.load(path)
    except OSError as error:
        raise ModelError(str(error)) from None
    model, stored = from_file(header, arrays), header.get(HEADER, {})
    try:
        roles = Roles.from_json(stored)
    except TypeError as error:
        raise ModelError(f"{path} is damaged: {error}") from None
    if roles.task not in (None, *TASKS):
        raise ModelError(f"{path} is damaged, or of a later version: its task is {roles.task!r}")
    return model, roles


def known_of(model: Any, roles: Roles, text: TextOptions) -> tuple[dict[str, str], TextOptions]:
    """Return the kinds of a model's columns, and options that know what the model does about text."""
    kinds = {**kinds_of_model(model), **roles.kinds}
    formats = {name: form for name, form in roles.date_formats.items() if name in kinds}  # --time is not asked for
    return kinds, text.knowing(kinds, roles.asked, roles.missing, formats, roles.decimal)


def task_of(model: Any, roles: Roles) -> Task:
    """Return the task of a model: as it was trained, or as it says itself."""
    task: Task = model.task_ if roles.task is None else TASKS[roles.task]
    return task
