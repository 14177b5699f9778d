"""What a command says: results on standard output, remarks and progress on standard error, failures as exit codes."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import typer

from arboretum.cli.errors import INTERRUPTED, CommandError, DataError, ModelError, OutputError, UsageError
from arboretum.cli.file_formats import STANDARD
from arboretum.interruption import InterruptedFit

Cell = str | float | int | None


class Terminal:
    """Where a command writes.

    Parameters
    ----------
    as_json : bool
        Standard output is one JSON object, and nothing else.
    quiet : bool
        No remarks, no progress.
    gives_way : bool
        Standard output is for data: results go to standard error.
    """

    def __init__(self, *, as_json: bool, quiet: bool, gives_way: bool = False) -> None:
        self.as_json, self.quiet, self.gives_way = as_json, quiet, gives_way
        self.result: dict[str, Any] = {}
        self.interrupted = False  # Ctrl-C ended a fit, which kept what it had

    @property
    def shows_progress(self) -> bool:
        """Whether a person looks on."""
        return not (self.quiet or self.as_json) and sys.stderr.isatty()

    @property
    def stream(self) -> TextIO:
        """Where results go."""
        return sys.stderr if self.gives_way else sys.stdout

    def remark(self, text: str) -> None:
        """Say something besides the result."""
        if not (self.quiet or self.as_json):
            print(text, file=sys.stderr)

    def text(self, text: str) -> None:
        """Print a part of the result."""
        if not self.as_json:
            with standard_output():
                print(text, file=self.stream)

    def table(self, title: str, header: Sequence[str], lines: Sequence[Sequence[Cell]]) -> None:
        """Print a part of the result as a table: numbers to the right, four digits."""
        if self.as_json:
            return
        cells = [[_shown(cell) for cell in line] for line in lines]
        numeric = [all(not isinstance(line[j], str) for line in lines) for j in range(len(header))]
        with standard_output():
            if self.stream.isatty():
                self._rich_table(title, header, cells, numeric)
            else:
                self._plain_table(title, header, cells, numeric)

    def _plain_table(self, title: str, header: Sequence[str], cells: list[list[str]], numeric: list[bool]) -> None:
        widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
        print(title, file=self.stream)
        for line in [list(header), *cells]:
            aligned = [
                text.rjust(width) if right else text.ljust(width)
                for text, width, right in zip(line, widths, numeric, strict=True)
            ]
            print("  ".join(aligned).rstrip(), file=self.stream)

    def _rich_table(self, title: str, header: Sequence[str], cells: list[list[str]], numeric: list[bool]) -> None:
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD)
        for name, right in zip(header, numeric, strict=True):
            table.add_column(Text(name), justify="right" if right else "left", overflow="fold")
        for line in cells:
            table.add_row(*map(Text, line))  # Text: a column named [red] is no markup
        Console(file=self.stream).print(table)

    def finish(self) -> None:
        """Print the JSON object and see that all of it is out."""
        with standard_output():
            if self.as_json:
                print(json.dumps(_plain(self.result), indent=2, allow_nan=False))
            sys.stdout.flush()


@contextmanager
def standard_output() -> Iterator[None]:
    """Go on in silence where the reader, as head, has seen enough; say so where output cannot be written."""
    try:
        yield
    except BrokenPipeError:
        _mute()
    except OSError as error:
        _mute()
        raise OutputError(f"cannot write to standard output: {error.strerror}") from None


def _mute() -> None:
    """Send the rest to nowhere, or the interpreter complains about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def session(*, as_json: bool, quiet: bool, traceback: bool, out: Path | None = None) -> Iterator[Terminal]:
    """Run the body of a command that may write to ``out``: its failures become a message and an exit code."""
    from arboretum.schema import TextColumnWarning

    gives_way = out is not None and str(out) == STANDARD
    terminal = Terminal(as_json=as_json, quiet=quiet, gives_way=gives_way)
    try:
        if gives_way and as_json:
            raise UsageError("--json and --out - both write to standard output: leave out one of them")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TextColumnWarning)  # the command says so in words of its own
            warnings.showwarning = lambda message, *_: _remark_warning(terminal, message)
            yield terminal
        if terminal.interrupted:
            terminal.result |= {"interrupted": True, "exit_code": INTERRUPTED}
        terminal.finish()
    except typer.Exit:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if traceback:
            raise
        code, message = _judge(error)
        tell_failure(message, code, as_json=as_json)
        raise typer.Exit(code) from None
    if terminal.interrupted:
        raise typer.Exit(INTERRUPTED)


def tell_failure(message: str, code: int, *, as_json: bool) -> None:
    """Say why a command failed, on standard error, and as the JSON object that stands for its result."""
    if as_json:
        with standard_output():
            print(json.dumps({"error": message, "exit_code": code}, indent=2), flush=True)
    print(f"error: {message}", file=sys.stderr)


def _remark_warning(terminal: Terminal, message: Warning | str) -> None:
    terminal.interrupted = terminal.interrupted or isinstance(message, InterruptedFit)
    terminal.remark(f"note: {message}")


def _judge(error: BaseException) -> tuple[int, str]:
    """Return exit code and message of an error."""
    from arboretum import ModelFileError
    from arboretum.memory_budget import MemoryLimitError

    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted; nothing was written"
    if isinstance(error, CommandError):
        return error.exit_code, str(error)
    if isinstance(error, ModelFileError):
        return ModelError.exit_code, str(error)
    if isinstance(error, MemoryLimitError):
        return UsageError.exit_code, str(error).replace("memory_limit=", "--memory-limit ", 1)
    if isinstance(error, MemoryError):
        return CommandError.exit_code, "out of memory: choose fewer rows or columns with --sql"
    if isinstance(error, UnicodeDecodeError):
        return DataError.exit_code, f"a file is not UTF-8 text: {error}"
    hint = "" if isinstance(error, ValueError | TypeError) else f" ({type(error).__name__}; --traceback shows where)"
    return CommandError.exit_code, f"{error}{hint}"


def _shown(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.4f}" if 1e-3 <= abs(cell) < 1e5 or cell == 0 else f"{cell:.4g}"
    return str(cell)


def _plain(value: Any) -> Any:
    """Return what strict JSON can hold: NumPy's scalars as numbers, NaN and infinities as null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
