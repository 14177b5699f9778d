"""A race: arboretum and its rivals take turns at the same work, and a ratio is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from benchmarks.measuring import LOSS, Row, better, score, timed
from benchmarks.rivals import Rival
from benchmarks.table import HOME, Column
from benchmarks.task import Settings, Task

COLUMNS = (
    Column("ours", "ours"),
    Column("its", "best rival"),
    Column("ratio", "× better"),
    Column("goal", "goal"),
    Column("our_loss", "our loss", 5),
    Column("its_loss", "its loss", 5),
)

Turn = Callable[[], Row]
"""Does the work once; returns seconds, as ``s``, or megabytes, as ``mb``, and ``loss`` where there is one."""
Tell = Callable[[Mapping[str, Row]], list[str]]
"""Makes notes of what the best turns of all returned."""


@dataclass(frozen=True)
class Options:
    """The options of a run; ``share`` is the part of the full size, files are written into ``folder``."""

    folder: Path
    turns: int = 5
    threads: int = 2
    share: float = 1.0
    patience: float = 60.0
    data: Path | None = None

    def scaled(self, full: int) -> int:
        """Scale a number of rows of the full-size run."""
        return max(400, round(full * self.share))

    def settings(self, **changes: Any) -> Settings:
        """Return the common settings of this run."""
        return Settings(**{"threads": self.threads, **changes})


@dataclass(frozen=True)
class Race:
    """The same work by arboretum and by others.

    ``goal`` is how many times as fast as the fastest, or as small as the smallest, it must be; None asks for
    nothing. Those ``beside`` take turns as well, but are not compared: only ``tell`` sees what they took.
    """

    goal: float | None
    runners: Mapping[str, Turn] = field(default_factory=dict)
    beside: Mapping[str, Turn] = field(default_factory=dict)
    unit: Literal["s", "mb"] = "s"
    tell: Tell = lambda best: []


def fits(goal: float, task: Task, ours: Rival, *others: Rival) -> Race:
    """Return a race of fits to one task."""
    runners = {HOME: ours, **{other.name: other for other in others if other.available()}}
    return Race(goal, {name: fitting(rival, task) for name, rival in runners.items()})


def fitting(rival: Rival, task: Task) -> Turn:
    """Return what fits once, and judges the model."""

    def turn() -> Row:
        with rival.limited(task.settings.threads):
            seconds, model = timed(lambda: rival.fit(task))
        return {"s": seconds, "loss": score(task, rival.predict(model, task.X_test))[LOSS[task.kind]]}

    return turn


def within(limit: float, turn: Turn) -> Race:
    """Return a race against a limit in seconds: a runner that takes as long as is allowed."""
    return Race(1.0, {HOME: turn, "what is allowed": lambda: {"s": limit}})


def calls(goal: float | None, **runners: Callable[[], Any]) -> Race:
    """Return a race of calls."""
    return Race(goal, {name: _call(call) for name, call in runners.items()})


def _call(call: Callable[[], Any]) -> Turn:
    return lambda: {"s": timed(call)[0]}


def run(name: str, race: Race, options: Options) -> tuple[Row, list[str]]:
    """Let all take turns; the best of each counts. A turn that outlasts the patience is the last of its runner.

    Returns a row of the table, and notes.
    """
    best: dict[str, Row] = {}
    waiting = {**race.runners, **race.beside}
    cost = f"took_{race.unit}"
    for _ in range(options.turns):
        for runner, turn in list(waiting.items()):
            start = perf_counter()
            found = turn()
            best[runner] = better(best.get(runner, {}), {cost: found.pop(race.unit), **found})
            if perf_counter() - start > options.patience:
                del waiting[runner]
            print(f"  {name} {runner} {best[runner][cost]:.4g} {race.unit}", file=sys.stderr, flush=True)
    ours = best[HOME]
    row = {"ours": ours[cost]} | ({} if race.goal is None else {"goal": race.goal})
    if rivals := [runner for runner in race.runners if runner != HOME]:
        its = min((best[runner] for runner in rivals), key=lambda one: one[cost])
        row |= {"its": its[cost], "ratio": its[cost] / ours[cost]}
        if "loss" in ours:
            row |= {"our_loss": ours["loss"], "its_loss": its["loss"]}
    return row, [f"{name}: {note}" for note in race.tell(best)]
