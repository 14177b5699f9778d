"""Two libraries over several problems: a row a problem, our loss and time beside its."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.measuring import Bench, Row, fit_and_loss
from benchmarks.real_sets import SETS
from benchmarks.rivals import Rival
from benchmarks.table import HOME, Column, Table
from benchmarks.task import Task

COLUMNS = (
    Column("our_loss", "our loss", 5),
    Column("its_loss", "its loss", 5),
    Column("loss_ratio", "ours / its", 5),
    Column("our_s", "our fit s"),
    Column("its_s", "its fit s"),
    Column("speed", "× faster"),
)
HELD_OUT = 4
"""One in so many rows is held out."""

Problem = tuple[str, "Task | str"]
"""A name and its task, or a sentence that says why there is none."""


def held_out(bench: Bench, names: Sequence[str], most_rows: int) -> Iterator[Problem]:
    """Yield real sets with a fixed quarter held out."""
    for name in names:
        if bench.data and SETS[name].found(bench.data):
            yield name, next(SETS[name].folds(bench.data, bench.scaled(most_rows), HELD_OUT, bench.settings()))
        else:
            yield name, "not under --data"


def duel(bench: Bench, name: str, title: str, ours: Rival, its: Rival, problems: Iterable[Problem]) -> Table:
    """Compare losses and times of training on every problem."""
    if len(bench.installed((HOME, its.name))) < 2:
        return Table(name, f"skipped: needs {HOME} and {its.name}, installed and among --libraries", ())
    table = Table(name, title, COLUMNS, rows_are="problem")
    for problem, task in problems:
        table.rows[problem] = task if isinstance(task, str) else bout(bench, f"{name} {problem}", task, ours, its)
    return table


def bout(bench: Bench, name: str, task: Task, ours: Rival, its: Rival) -> Row | str:
    """Let the two take turns on one task."""
    measured = bench.measure(name, (ours, its), bench.repeat, lambda rival: fit_and_loss(rival, task), bench.threads)
    our, other = measured[ours.name], measured[its.name]
    if isinstance(our, str) or isinstance(other, str):
        return next(f"{library} {row}" for library, row in measured.items() if isinstance(row, str))
    return {
        "our_loss": our["loss"],
        "its_loss": other["loss"],
        "loss_ratio": our["loss"] / other["loss"],
        "our_s": our["fit_s"],
        "its_s": other["fit_s"],
        "speed": other["fit_s"] / our["fit_s"],
    }
