"""From a table and what a person said about it to rows, a task and a way to judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from arboretum.cli.columns import Examples, Roles, examples, find_features
from arboretum.cli.errors import DataError, UsageError
from arboretum.cli.splits import Positions, folds, holdout
from arboretum.cli.tasks import TASKS, check_target, check_task, guess_task

FEW_ROWS = 2_000  # below which five folds judge rather than one held-out share
DEFAULT_FOLDS, DEFAULT_SHARE = 5, 0.2


@dataclass(frozen=True)
class Problem:
    """Rows to learn from, what is asked of them, and what there is to say about both."""

    rows: Examples
    roles: Roles
    task: str
    remarks: list[str]


def understand(table: Any, roles: Roles, task: str, where: str) -> Problem:
    """Find features and task.

    Parameters
    ----------
    table : pyarrow.Table
        All columns.
    roles : Roles
        What the options say about columns.
    task : str
        One of ``TASKS``, or "auto".
    where : str
        What messages call the table.
    """
    if task not in ("auto", *TASKS):
        raise UsageError(f"--task {task}: choose auto, {', '.join(TASKS)}")
    if task != "auto":
        check_task(task, roles)
    if not table.num_rows:
        raise DataError(f"{where} has no rows: see whether the query or its filter is right")
    features = find_features(table, roles)
    rows, dropped = examples(table, roles, features.kinds, where)
    remarks = [f"{where}: {len(rows)} rows, {features.summary()}", *features.remarks, *dropped]
    if task == "auto":
        guess = guess_task(rows.y, roles)
        task = guess.name
        remarks.append(f"task: {task}, because {guess.reason} (--task overrules)")
    check_target(rows.y, task, roles)
    return Problem(rows, replace(roles, kinds=features.kinds, task=task), task, remarks)


@dataclass(frozen=True)
class Judging:
    """How a model is judged: by rows of its own, by a held-out share, or by folds."""

    n_folds: int | None
    share: float | None
    test: Examples | None

    def parts(self, problem: Problem) -> Iterator[tuple[Examples, Examples]]:
        """Yield rows to learn from and rows to judge by."""
        if self.test is not None:
            yield problem.rows, self.test
            return
        found: Iterator[tuple[Positions, Positions]] | list[tuple[Positions, Positions]]
        if self.n_folds is not None:
            found = folds(problem.rows, problem.task, self.n_folds)
        else:
            assert self.share is not None
            found = [holdout(problem.rows, problem.task, self.share)]
        for learnt, judged in found:
            yield problem.rows.take(learnt), problem.rows.take(judged)

    def describe(self, problem: Problem) -> str:
        """Say which rows judge."""
        last = problem.roles.time is not None
        if self.test is not None:
            return f"{len(self.test)} test rows"
        if self.n_folds is not None:
            return f"{self.n_folds} {'later parts' if last else 'folds'}"
        return f"{'the last ' if last else ''}{self.share:.0%} of the rows{'' if last else ', held out'}"


def choose_judging(
    problem: Problem, *, test: Examples | None, n_folds: int | None, share: float | None, prefer_folds: bool = False
) -> Judging:
    """Choose how to judge: as told, else by folds if rows are few, else by a held-out share."""
    given = [name for name, value in (("--test", test), ("--cv", n_folds), ("--holdout", share)) if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} contradict each other: give one of them")
    if not given:
        if prefer_folds or len(problem.rows) < FEW_ROWS:
            n_folds = min(DEFAULT_FOLDS, len(problem.rows))
        else:
            share = DEFAULT_SHARE
    if n_folds is not None and n_folds > len(problem.rows):
        raise UsageError(f"--cv {n_folds}: there are {len(problem.rows)} rows only")
    return Judging(n_folds, share, test)
