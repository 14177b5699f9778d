"""A progress line for long fits: rich where it is installed, plain text otherwise.

A display must never end a fit. Standard error may be absent (``pythonw``), closed, or a pipe whose reader has gone:
what cannot be written is dropped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeAlias

from arboretum.running.in_force import in_force

PLAIN_SECONDS = 1.0  # between two lines of plain text


@dataclass(frozen=True)
class RoundReport:
    """What callbacks are told after a round.

    ``number`` counts from 1; losses and scores are None where they are not tracked. ``moved_bytes`` is what the worker
    that decides has sent to others and got from them so far; None if all rows are in one process.
    """

    number: int
    n_rounds: int
    seconds: float
    training_loss: float | None
    validation_loss: float | None
    validation_score: float | None = None
    moved_bytes: int | None = None


Callback: TypeAlias = Callable[[RoundReport], object]

_FOLLOWER: ContextVar[Callback | None] = ContextVar("arboretum_follower", default=None)


def followed_by(callback: Callback) -> AbstractContextManager[None]:
    """Report the rounds and trees of fits in the body to a function, in a process that no user looks at."""
    return in_force(_FOLLOWER, callback)


def followers(bar: Callback | None = None) -> list[Callback]:
    """Return what follows a fit: a progress bar, if there is one, and who has asked for it."""
    return [one for one in (bar, _FOLLOWER.get()) if one is not None]


class Unfailing:
    """A text stream that falls silent when it cannot be written to.

    rich ends the process with ``SystemExit`` where it meets a broken pipe, so that it must not meet one.

    Examples
    --------
    >>> import io
    >>> gone = io.StringIO()
    >>> gone.close()
    >>> stream = Unfailing(gone)
    >>> stream.write("round 1")
    7
    >>> stream.flush()
    >>> stream.isatty()
    False
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, or drop it."""
        self._attempt("write", text)
        return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        self._attempt("flush")

    def isatty(self) -> bool:
        """Whether a person looks on."""
        return bool(self._attempt("isatty"))

    @property
    def encoding(self) -> str:
        """The encoding of the stream, by which rich chooses its symbols."""
        return getattr(self._stream, "encoding", None) or "ascii"

    def fileno(self) -> int:
        """Return the number by which the width of the terminal is asked for."""
        return int(self._stream.fileno())

    def _attempt(self, method: str, *arguments: Any) -> Any:
        if self._stream is None:
            return None
        try:
            return getattr(self._stream, method)(*arguments)
        except (AttributeError, OSError, ValueError):  # no such method, a broken pipe or full disk, a closed file
            self._stream = None
            return None


class ProgressBar:
    """A callback that shows round, loss and time left; use it as a context manager.

    Examples
    --------
    >>> bar = ProgressBar(100)
    >>> bar.describe(RoundReport(50, 100, 2.0, training_loss=0.5, validation_loss=None))
    'round 50/100  training loss 0.5  2 s left'
    """

    def __init__(self, n_rounds: int, noun: str = "round") -> None:
        self.n_rounds, self.noun = n_rounds, noun
        self._last_line = -PLAIN_SECONDS
        self._stream = Unfailing(sys.stderr)
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> ProgressBar:
        self._stream = Unfailing(sys.stderr)
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn
        except ImportError:
            return self
        console = Console(file=self._stream)  # type: ignore[arg-type]
        self._bar = Progress(BarColumn(), TextColumn("{task.description}"), console=console)
        self._bar.start()
        self._task = self._bar.add_task("", total=self.n_rounds)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, report: RoundReport) -> None:
        """Show one round."""
        if self._bar is not None:
            self._bar.update(self._task, completed=report.number, description=self.describe(report))
        elif report.seconds - self._last_line >= PLAIN_SECONDS or report.number == report.n_rounds:
            self._last_line = report.seconds
            self._stream.write(f"{self.describe(report)}\n")

    def describe(self, report: RoundReport) -> str:
        """Say how far the fit is, in one line."""
        left = report.seconds / report.number * (report.n_rounds - report.number)
        followed = {
            "training loss": report.training_loss,
            "validation loss": report.validation_loss,
            "validation score": report.validation_score,
        }
        shown = [f"{name} {value:.6g}" for name, value in followed.items() if value is not None]
        if report.moved_bytes is not None:
            shown.append(f"{report.moved_bytes / 1e6:.0f} MB moved")
        return "  ".join([f"{self.noun} {report.number}/{report.n_rounds}", *shown, f"{left:.0f} s left"])
