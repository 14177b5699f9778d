"""A progress line for long fits: rich where it is installed, plain text otherwise."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from arboretum.ensembles.boosting import RoundReport

PLAIN_SECONDS = 1.0  # between two lines of plain text


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
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> ProgressBar:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn
        except ImportError:
            return self
        self._bar = Progress(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True))
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
            print(self.describe(report), file=sys.stderr)

    def describe(self, report: RoundReport) -> str:
        """Say how far the fit is, in one line."""
        left = report.seconds / report.number * (report.n_rounds - report.number)
        losses = [("training", report.training_loss), ("validation", report.validation_loss)]
        shown = [f"{name} loss {loss:.6g}" for name, loss in losses if loss is not None]
        return "  ".join([f"{self.noun} {report.number}/{report.n_rounds}", *shown, f"{left:.0f} s left"])
