"""What a command says: results on standard output, remarks and progress on standard error, errors as exit codes."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import format_exc
from typing import TYPE_CHECKING, Any, TextIO

from arboretum.cli.errors import INTERRUPTED, CommandError, DataError, ModelError, OutputError, UsageError
from arboretum.cli.file_formats import STANDARD
from arboretum.running.interruption import InterruptedFit, is_interruption

if TYPE_CHECKING:
    from arboretum.cli.options import Output

Cell = str | float | int | None


class Terminal:
    """Where a command writes.

    Parameters
    ----------
    as_json : bool
        Standard output is one JSON object, and nothing else.
    quiet : bool
        Print no remarks and no progress.
    gives_way : bool
        Print results to standard error, because standard output is for data.
    """

    def __init__(self, *, as_json: bool, quiet: bool, gives_way: bool = False) -> None:
        self.as_json, self.quiet, self.gives_way = as_json, quiet, gives_way
        self.result: dict[str, Any] = {}
        self.interrupted = False  # whether Ctrl-C ended a fit, which kept what it had
        self.warned: set[str] = set()
        self.written: list[str] = []  # names of files
        self.unprinted: OutputError | None = None  # why a part of the result is not on standard output

    @property
    def shows_progress(self) -> bool:
        """Whether a person is watching."""
        return not (self.quiet or self.as_json) and sys.stderr is not None and sys.stderr.isatty()

    def remark(self, *texts: str) -> None:
        """Print something besides the result, one line per text."""
        if texts and not (self.quiet or self.as_json):
            to_standard_error(lambda stream: print(*texts, sep="\n", file=stream))

    def text(self, text: str) -> None:
        """Print a part of the result."""
        self._print(lambda stream: print(text, file=stream))

    def table(self, title: str, header: Sequence[str], lines: Sequence[Sequence[Cell]]) -> None:
        """Print a part of the result as a table: numbers on the right, with four digits."""
        cells = [[_shown(cell) for cell in line] for line in lines]
        numeric = [all(not isinstance(line[j], str) for line in lines) for j in range(len(header))]
        self._print(
            lambda stream: (_rich_table if stream.isatty() else _plain_table)(stream, title, header, cells, numeric)
        )

    def _print(self, write: Callable[[TextIO], object]) -> None:
        """Print a part of the result; if that fails, the command says so when its other work is done."""
        if self.as_json:
            return
        if self.gives_way:
            to_standard_error(write)
            return
        try:
            with standard_output() as stream:
                write(stream)
        except OutputError as error:
            self.unprinted = self.unprinted or error

    def finish(self) -> None:
        """Print the JSON object, and flush."""
        if self.unprinted is not None:
            raise self.unprinted
        if self.gives_way:
            return
        with standard_output() as stream:
            if self.as_json:
                print(json.dumps(_plain(self.result), indent=2, allow_nan=False), file=stream)
            stream.flush()


def _plain_table(
    stream: TextIO, title: str, header: Sequence[str], cells: list[list[str]], numeric: list[bool]
) -> None:
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    print(title, file=stream)
    for line in [list(header), *cells]:
        aligned = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ]
        print("  ".join(aligned).rstrip(), file=stream)


def _rich_table(stream: TextIO, title: str, header: Sequence[str], cells: list[list[str]], numeric: list[bool]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD)
    for name, right in zip(header, numeric, strict=True):
        table.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for line in cells:
        table.add_row(*map(Text, line))  # Text: a column named [red] is not markup
    Console(file=stream).print(table)


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Ignore a reader that has seen enough, such as head; raise an error if output cannot be written."""
    if sys.stdout is None:
        raise OutputError("cannot write to standard output: it is closed")
    try:
        yield sys.stdout
    except BrokenPipeError:
        _mute(sys.stdout)
    except OSError as error:
        _mute(sys.stdout)
        raise OutputError(f"cannot write to standard output: {error.strerror or error}") from None


def to_standard_error(write: Callable[[TextIO], object]) -> None:
    """Write remarks, or drop them if standard error is closed or full: they are not worth losing work."""
    if sys.stderr is None:
        return
    try:
        write(sys.stderr)
        sys.stderr.flush()
    except OSError:
        _mute(sys.stderr)


def _mute(stream: TextIO) -> None:
    """Discard the rest, about which the interpreter would complain when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def session(output: Output, out: Path | None = None) -> Iterator[Terminal]:
    """Run the body of a command that may write to ``out``: its failures become a message and an exit code."""
    gives_way = out is not None and str(out) == STANDARD
    terminal = Terminal(as_json=output.as_json, quiet=output.quiet, gives_way=gives_way)
    try:
        from arboretum.data.schema import TextColumnWarning

        if gives_way and output.as_json:
            raise UsageError("--json and --out - both write to standard output: leave out one of them")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TextColumnWarning)  # the command says it in its own words
            warnings.showwarning = lambda message, *_: _remark_warning(terminal, message)
            yield terminal
        if terminal.interrupted:
            terminal.result |= {"interrupted": True, "exit_code": INTERRUPTED}
        terminal.finish()
    except (Exception, KeyboardInterrupt) as error:
        if output.traceback:
            trace = format_exc()
            to_standard_error(lambda stream: stream.write(trace))
        code, message = _judge(error, terminal.written)
        if terminal.written and code != INTERRUPTED:
            message += f"; {_are_written(terminal.written)} all the same"
        tell_failure(message, code, as_json=output.as_json)
        raise SystemExit(code) from None
    if terminal.interrupted:
        raise SystemExit(INTERRUPTED)


def tell_failure(message: str, code: int, *, as_json: bool) -> None:
    """Say why a command failed, on standard error, and as a JSON object in place of the result."""
    if as_json:
        with suppress(OutputError), standard_output() as stream:
            print(json.dumps({"error": message, "exit_code": code}, indent=2), file=stream, flush=True)
    to_standard_error(lambda stream: print(f"error: {message}", file=stream))


def _remark_warning(terminal: Terminal, message: Warning | str) -> None:
    """Say a warning once, though each fold gives it, with a cure that the command has."""
    terminal.interrupted = terminal.interrupted or isinstance(message, InterruptedFit)
    text = re.sub(r"give y as pandas\.Categorical.*", "number them in their order by --sql", str(message))
    if text not in terminal.warned:
        terminal.warned.add(text)
        terminal.remark(f"note: {text}")


def interruption(written: Sequence[str] = ()) -> str:
    """Say that Ctrl-C ended a command, and which files are written.

    Examples
    --------
    >>> interruption(["flights.arb"])
    'interrupted; flights.arb was written, nothing else'
    """
    return f"interrupted; {_are_written(written)}, nothing else" if written else "interrupted; nothing was written"


def _are_written(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} {'was' if len(names) == 1 else 'were'} written"


def _judge(error: BaseException, written: Sequence[str]) -> tuple[int, str]:
    """Return the exit code and the message of an error."""
    if is_interruption(error):
        return INTERRUPTED, interruption(written)
    from arboretum import ModelFileError
    from arboretum.data.memory_budget import MemoryLimitError

    known: dict[type[BaseException], tuple[type[CommandError], str]] = {  # the first that fits
        CommandError: (CommandError, str(error)),
        ModelFileError: (ModelError, str(error)),
        MemoryLimitError: (UsageError, str(error).replace("memory_limit=", "--memory-limit ", 1)),
        MemoryError: (CommandError, "out of memory: choose fewer rows or columns with --sql"),
        UnicodeDecodeError: (DataError, f"a file is not UTF-8 text: {error}"),
        ValueError: (CommandError, str(error)),
        TypeError: (CommandError, str(error)),
        BaseException: (CommandError, f"{error} ({type(error).__name__}; --traceback shows where)"),
    }
    kind, message = next(told for cls, told in known.items() if isinstance(error, cls))
    return error.exit_code if isinstance(error, CommandError) else kind.exit_code, message


def _shown(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.4f}" if 1e-3 <= abs(cell) < 1e5 or cell == 0 else f"{cell:.4g}"
    return str(cell)


def _plain(value: Any) -> Any:
    """Return a value that strict JSON can hold: scalars of NumPy as numbers, NaN and infinities as null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
