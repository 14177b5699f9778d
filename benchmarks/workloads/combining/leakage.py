"""Targets that no column tells: a stack that learns from rows its members have seen is worse than a constant."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import LOSS, Bench, Row, score
from benchmarks.rivals.base import by_target
from benchmarks.table import Column, Table
from benchmarks.task import Kind, Settings, Task
from benchmarks.workloads.combining.members import three_kinds

ROWS, SEEDS = 2_000, 20
ROWS_PER_TEXT, ROWS_PER_GROUP = 2, 10
STEP = 0.2
"""Standard deviation of a step of a walk between walls at 0 and 1, which forgets within some ten rows."""
KINDS: tuple[Kind, ...] = ("binary", "regression")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trap:
    """Training rows and fresh ones, with a target of either sign, and what says which rows belong together."""

    X: Any
    y: Floats
    X_fresh: Any
    y_fresh: Floats
    groups: NDArray[np.int64] | None = None
    time_ordered: bool = False

    def task(self, kind: Kind, settings: Settings) -> Task:
        """Return the target as numbers, or as two classes."""
        y, y_fresh = ((part > 0).astype(np.int64) if kind == "binary" else part for part in (self.y, self.y_fresh))
        return Task(kind, self.X, y, self.X_fresh, y_fresh, settings)


def frame(rng: np.random.Generator, rows: int, **columns: Any) -> Any:
    """Return a table of these columns and two of noise."""
    import pandas as pd

    return pd.DataFrame({**columns, "noise": rng.normal(size=rows), "count": rng.poisson(3.0, rows)})


def identifiers(rng: np.random.Generator, rows: int) -> Trap:
    """Return rows with a number of their own."""
    first, fresh = np.split(rng.permutation(2 * rows), 2)
    y = rng.normal(size=(2, rows))
    return Trap(frame(rng, rows, id=first), y[0], frame(rng, rows, id=fresh), y[1])


def texts(rng: np.random.Generator, rows: int) -> Trap:
    """Return rows with a text that few others have, among training rows and fresh ones."""
    drawn = rng.integers(0, rows // ROWS_PER_TEXT, (2, rows))
    first, fresh = ([f"customer {number}" for number in part] for part in drawn)
    y = rng.normal(size=(2, rows))
    return Trap(frame(rng, rows, id=first), y[0], frame(rng, rows, id=fresh), y[1])


def groups(rng: np.random.Generator, rows: int) -> Trap:
    """Return groups of one target and of one place; fresh rows are of other groups."""
    number = np.arange(2 * rows) // ROWS_PER_GROUP
    places, targets = rng.normal(size=(2, number.max() + 1))
    parts = [part[rng.permutation(rows)] for part in np.split(number, 2)]
    first, fresh = (frame(rng, rows, place=places[part], name=[f"group {group}" for group in part]) for part in parts)
    return Trap(first, targets[parts[0]], fresh, targets[parts[1]], groups=parts[0])


def walk(rng: np.random.Generator, rows: int) -> Floats:
    """Return a random walk between two walls that reflect it."""
    free = np.cumsum(np.append(rng.random(), STEP * rng.normal(size=rows - 1)))
    return np.asarray(1 - np.abs(free % 2 - 1))


def time(rng: np.random.Generator, rows: int) -> Trap:
    """Return rows in the order of time, whose target and columns walk on their own; fresh rows come later."""
    y, speed, heat = (walk(rng, 2 * rows) for _ in range(3))
    tables = [
        frame(rng, rows, time=np.arange(rows) + start, speed=speed[start:][:rows], heat=heat[start:][:rows])
        for start in (0, rows)
    ]
    return Trap(tables[0], y[:rows] - 0.5, tables[1], y[rows:] - 0.5, time_ordered=True)


TRAPS: dict[str, Callable[[np.random.Generator, int], Trap]] = {
    "identifiers": identifiers,
    "text identifiers": texts,
    "groups": groups,
    "time": time,
}


def loss(task: Task, predicted: NDArray[Any]) -> float:
    """Return the log loss or the RMSE on fresh rows."""
    return score(task, predicted)[LOSS[task.kind]]


def excess(trap: Trap, kind: Kind, settings: Settings, *, told: bool) -> float:
    """Return by which share the loss of the stack is above that of a constant; ``told``: of groups and time."""
    import arboretum as arb

    task = trap.task(kind, settings)
    ordered = {"time_ordered": True} if told and trap.time_ordered else {}
    model = getattr(arb, by_target("Stacking", task))(
        estimators=three_kinds("arboretum", task), n_jobs=settings.threads, **ordered
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that look like identifiers
        model.fit(task.X, task.y, groups=trap.groups if told else None)
        predicted = model.predict(task.X_test) if kind == "regression" else model.predict_proba(task.X_test)[:, 1]
    return loss(task, predicted) / loss(task, np.full(len(task.y_test), task.y.mean())) - 1


def measure(trap_of: Callable[[np.random.Generator, int], Trap], kind: Kind, bench: Bench) -> Row:
    """Return mean over the seeds in percent, its standard error, and the largest; also of a stack not told."""
    rows, settings = bench.scaled(ROWS), bench.settings()
    traps = [trap_of(np.random.default_rng(seed), rows) for seed in range(SEEDS)]
    found = [100 * excess(trap, kind, settings, told=True) for trap in traps]
    row = {"mean": float(np.mean(found)), "error": float(np.std(found) / SEEDS**0.5), "largest": max(found)}
    if traps[0].time_ordered or traps[0].groups is not None:
        row["untold"] = float(np.mean([100 * excess(trap, kind, settings, told=False) for trap in traps]))
    return row


def run(bench: Bench) -> Iterator[Table]:
    """Stack three kinds of members on targets that nothing predicts."""
    columns = (
        Column("mean", "mean %"),
        Column("error", "±", 2),
        Column("largest", "largest %"),
        Column("untold", "not told of groups or time: mean %"),
    )
    title = f"loss on fresh rows above a constant's, targets of noise, {bench.scaled(ROWS):,} rows, {SEEDS} seeds"
    table = Table("leakage", title, columns, rows_are="columns and target")
    for name, trap_of in TRAPS.items():
        for kind in KINDS:
            table.rows[f"{name}, {kind}"] = measure(trap_of, kind, bench)
    yield table
