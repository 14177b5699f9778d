"""From a table and what a person said about it to rows, a task and a way to judge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from arboretum.cli.columns import Distinct, Examples, Roles, examples, find_features
from arboretum.cli.errors import UsageError
from arboretum.cli.splits import Chosen, folds, holdout
from arboretum.cli.tasks import check_positive, check_target, check_task, guess_task, positive_class
from arboretum.data.dataset import Dataset
from arboretum.tasks import TASKS, Task

FEW_ROWS = 2_000  # below which five folds judge rather than one held-out share
DEFAULT_FOLDS, DEFAULT_SHARE = 5, 0.2
ROWS_SEEN, LEAST_ROWS_SEEN, CELLS_SEEN = 100_000, 1_000, 5_000_000  # of rows that stay in their files
SEEN_SHARE = 1 / 8  # of what is left of a memory limit: looking for identifiers copies a column of text


@dataclass(frozen=True)
class Problem:
    """Rows to learn from, what is asked of them, and what there is to say about both."""

    rows: Examples
    roles: Roles
    task: Task
    remarks: list[str]

    @property
    def question(self) -> str:
        """What is predicted, for headings."""
        positive = self.positive
        return f"{self.task.name} of {self.roles.target!r}{'' if positive is None else f' (positive: {positive!r})'}"

    @property
    def positive(self) -> Any:
        """The positive one of two classes; None for another task."""
        return None if self.rows.y is None else positive_class(self.task, Distinct(self.rows.y)[:], self.roles.positive)

    def to_json(self, judging: Judging) -> dict[str, Any]:
        """Return what a result says about the rows, whatever was done with them."""
        return {
            "task": self.task.name,
            **({} if self.positive is None else {"positive": self.positive}),
            "rows": len(self.rows),
            "columns": dict(self.roles.kinds),
            "judged_by": judging.describe(self),
            "remarks": self.remarks,
        }


def understand(table: Any, roles: Roles, task: str, where: str) -> Problem:
    """Find features and task.

    Parameters
    ----------
    table : pyarrow.Table or Dataset
        All columns. Those of a Dataset are known by their types and its first rows.
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
        check_task(TASKS[task], roles)
    seen = _first_rows(table) if isinstance(table, Dataset) else table
    features = find_features(seen, roles)
    roles = replace(roles, kinds=features.kinds, ids=(*roles.ids, *features.ids))
    rows, dropped = examples(table, roles, features.kinds, where)
    remarks = [f"{where}: {len(rows)} rows, {features.summary()}", *features.remarks, *dropped]
    if isinstance(table, Dataset):
        remarks.insert(1, f"rows stay in {where}; columns are known by their types and the first {seen.num_rows} rows")
    if task == "auto":
        guess = guess_task(rows.y, roles)
        remarks.append(f"task: {guess.task.name}, because {guess.reason} (--task overrules)")
    asked = guess.task if task == "auto" else TASKS[task]
    check_target(rows.y, asked, roles)
    if roles.positive is not None:
        check_positive([] if rows.y is None else Distinct(rows.y)[:], asked, roles)
    return Problem(rows, replace(roles, task=asked.name), asked, remarks)


def _first_rows(dataset: Dataset) -> Any:
    """Return enough rows to know the columns by, as an Arrow table."""
    import pyarrow as pa

    most = max(LEAST_ROWS_SEEN, min(ROWS_SEEN, CELLS_SEEN // len(dataset.names)))
    most_bytes = math.inf if dataset.budget is None else SEEN_SHARE * dataset.budget.free()
    found: list[Any] = []
    n_rows = n_bytes = 0
    for batch in dataset.batches(most):
        if found and n_bytes + batch.nbytes > most_bytes:
            break
        found.append(batch)
        n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
        if n_rows >= most:
            break
    return pa.Table.from_batches(found).slice(0, most)


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
        found: Iterator[tuple[Chosen, Chosen]] | list[tuple[Chosen, Chosen]]
        if self.n_folds is not None:
            found = folds(problem.rows, problem.task, self.n_folds)
        else:
            assert self.share is not None
            found = [holdout(problem.rows, problem.task, self.share)]
        for learnt, judged in found:
            yield problem.rows.filter(learnt), problem.rows.filter(judged)

    def describe(self, problem: Problem) -> str:
        """Say which rows judge."""
        last = problem.roles.time is not None
        if self.test is not None:
            return f"{len(self.test)} test rows"
        if self.n_folds is not None:
            return f"{self.n_folds} {'later parts' if last else 'folds'}"
        return f"{'the last ' if last else ''}{self.share:.0%} of the rows{'' if last else ', held out'}"

    def describe_last(self, problem: Problem) -> str | None:
        """Say which rows of the data the last part judges by; None if they are not of the data."""
        if self.test is not None:
            return None
        if self.n_folds is None:
            return self.describe(problem)
        number = f"{self.n_folds} of {self.n_folds}"
        if problem.roles.time is not None:
            return f"part {number}, predicted by the model of the rows before it"
        return f"fold {number}, predicted by the model of the other folds"


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
