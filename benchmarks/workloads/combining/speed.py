"""The time of a stack: ours, scikit-learn's stack of our members, and its stack of its own kinds of members."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from time import process_time
from typing import Any, ClassVar

from benchmarks.duel import HELD_OUT
from benchmarks.measuring import Bench, Row, fit_and_loss
from benchmarks.real_sets import SETS
from benchmarks.rivals import Rival
from benchmarks.rivals.base import EstimatorRival, Model, by_target
from benchmarks.table import HOME, Column, Table
from benchmarks.task import Growth, Task
from benchmarks.workloads.combining.members import three_kinds

MOST_ROWS, FOLDS = 10_000, 5
CHOSEN = ("adult", "phoneme", "california", "house_8L")
COLUMNS = (
    Column("ours_s", "ours s"),
    Column("folds_s", "no out-of-bag s"),
    Column("around_s", "sklearn's of ours s"),
    Column("theirs_s", "sklearn's own s"),
    Column("around", "× sklearn's of ours"),
    Column("own", "× sklearn's own"),
    Column("own_folds", "no out-of-bag ×"),
    Column("around_cpu", "× CPU, of ours"),
    Column("own_cpu", "× CPU, its own"),
    Column("ours_loss", "our loss", 5),
    Column("theirs_loss", "its loss", 5),
)


class Stack(EstimatorRival):
    """A stack of ``library``, of three kinds of members of ``of``."""

    module = "sklearn"
    growths: ClassVar[frozenset[Growth]] = frozenset()

    def __init__(self, name: str, library: str, of: str, **changes: Any) -> None:
        self.name = name
        self.library = library
        self.of = of
        self.changes = changes

    def limited(self, threads: int) -> AbstractContextManager[Any]:
        from threadpoolctl import threadpool_limits

        limits: AbstractContextManager[Any] = threadpool_limits(threads, user_api="openmp")
        return limits

    def class_name(self, task: Task) -> str:
        return by_target("Stacking", task)

    def settings(self, task: Task) -> dict[str, Any]:
        return {"estimators": three_kinds(self.of, task), "cv": FOLDS, **self.changes}

    def fit(self, task: Task) -> Model:
        stack = getattr(import_module(self.library), self.class_name(task))(**self.settings(task))
        return Model(stack.fit(task.X, task.y), task)


STACKS = (
    Stack("ours", HOME, HOME),
    Stack("folds", HOME, HOME, out_of_bag=False),
    Stack("around", "sklearn.ensemble", HOME),
    Stack("theirs", "sklearn.ensemble", "sklearn"),
)


def run(bench: Bench) -> Iterator[Table]:
    """Let the stacks take turns on each set."""
    rows, size = bench.scaled(MOST_ROWS), bench.settings().size
    title = f"stacks of boosted trees, forest and extra trees, {FOLDS} folds, {size}, at most {rows:,} rows"
    table = Table("speed", title, COLUMNS, rows_are="set")
    for name in CHOSEN:
        if bench.data is None or not SETS[name].found(bench.data):
            table.rows[name] = "not under --data"
            continue
        task = next(SETS[name].folds(bench.data, rows, HELD_OUT, bench.settings()))
        turn = partial(fit_once, task=task)
        table.rows[name] = side_by_side(bench.measure(f"speed {name}", STACKS, bench.repeat, turn, bench.threads))
    table.notes.append("ours: the forest's out-of-bag predictions in the place of folds, the other members in folds")
    table.notes.append("sklearn's own members get numbers in place of text")
    yield table


def fit_once(rival: Rival, task: Task) -> Row:
    """Fit and judge once; CPU seconds are those of all threads."""
    start = process_time()
    row = fit_and_loss(rival, task)
    return row | {"cpu_s": process_time() - start}


def side_by_side(found: dict[str, Row | str]) -> dict[str, float] | str:
    """Return times, losses and ratios of one set; a sentence if a stack failed."""
    rows = {name: row for name, row in found.items() if isinstance(row, dict)}
    if len(rows) < len(found):
        return next(f"{name} {row}" for name, row in found.items() if isinstance(row, str))
    seconds, work = ({name: row[key] for name, row in rows.items()} for key in ("fit_s", "cpu_s"))
    return {
        **{f"{name}_s": time for name, time in seconds.items()},
        "around": seconds["around"] / seconds["ours"],
        "own": seconds["theirs"] / seconds["ours"],
        "own_folds": seconds["theirs"] / seconds["folds"],
        "around_cpu": work["around"] / work["ours"],
        "own_cpu": work["theirs"] / work["ours"],
        "ours_loss": rows["ours"]["loss"],
        "theirs_loss": rows["theirs"]["loss"],
    }
