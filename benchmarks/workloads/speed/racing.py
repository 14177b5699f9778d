"""A race: arboretum and its rivals take turns at the same work, and a ratio is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measuring import LOSS, better, score, timed
from benchmarks.rivals import Rival
from benchmarks.table import HOME, Column
from benchmarks.task import Settings, Task

COLUMNS = (
    Column("ours_s", "ours s"),
    Column("its_s", "fastest rival s"),
    Column("ratio", "× faster"),
    Column("goal", "goal"),
    Column("our_loss", "our loss", 5),
    Column("its_loss", "its loss", 5),
)

Turn = Callable[[], dict[str, float]]
"""Does the work once; returns seconds, as ``s``, and ``loss`` where there is one."""


@dataclass(frozen=True)
class Options:
    """The options of a run; ``share`` is the part of the full size."""

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
    """The same work by arboretum and by others; ``goal`` is how many times as fast as the fastest it must be."""

    goal: float
    runners: Mapping[str, Turn] = field(default_factory=dict)


def fits(goal: float, task: Task, ours: Rival, *others: Rival) -> Race:
    """Return a race of fits to one task."""
    runners = {HOME: ours, **{other.name: other for other in others if other.available()}}
    return Race(goal, {name: _fit(rival, task) for name, rival in runners.items()})


def _fit(rival: Rival, task: Task) -> Turn:
    def turn() -> dict[str, float]:
        with rival.limited(task.settings.threads):
            seconds, model = timed(lambda: rival.fit(task))
        return {"s": seconds, "loss": score(task, rival.predict(model, task.X_test))[LOSS[task.kind]]}

    return turn


def calls(goal: float, **runners: Callable[[], Any]) -> Race:
    """Return a race of calls."""
    return Race(goal, {name: _call(call) for name, call in runners.items()})


def _call(call: Callable[[], Any]) -> Turn:
    return lambda: {"s": timed(call)[0]}


def run(name: str, race: Race, options: Options) -> dict[str, float]:
    """Let all take turns; the best of each counts. A turn that outlasts the patience is the last of its runner."""
    best: dict[str, dict[str, float]] = {}
    waiting = dict(race.runners)
    for _ in range(options.turns):
        for runner, turn in list(waiting.items()):
            found = turn()
            best[runner] = better(best.get(runner, {}), {"took_s": found.pop("s"), **found})
            if best[runner]["took_s"] > options.patience:
                del waiting[runner]
            print(f"  {name} {runner} {best[runner]['took_s']:.4g} s", file=sys.stderr, flush=True)
    ours, others = best.pop(HOME), best
    row = {"ours_s": ours["took_s"], "goal": race.goal}
    if others:
        rival = min(others, key=lambda other: others[other]["took_s"])
        row |= {"its_s": others[rival]["took_s"], "ratio": others[rival]["took_s"] / ours["took_s"]}
        if "loss" in ours:
            row |= {"our_loss": ours["loss"], "its_loss": others[rival]["loss"]}
    return row
