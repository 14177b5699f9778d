"""From a table, and what a person said about it, to rows, a task and the rows that judge.

Rows that judge are the last in time, whole groups, or an equal share of each class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.cli.columns import Distinct, Examples, Roles, examples, find_features
from arboretum.cli.errors import DataError, UsageError
from arboretum.cli.tasks import check_positive, check_target, check_task, guess_task, positive_class
from arboretum.data.dataset import Dataset
from arboretum.data.targets import unique_labels
from arboretum.tasks import TASKS, Task

Chosen = NDArray[np.bool_]
SEED, DEALT_ROWS = 0, 100_000  # of random splits, and rows that are dealt at a time
FEW_ROWS = 2_000  # below which five folds judge rather than one held-out share
DEFAULT_FOLDS, DEFAULT_SHARE = 5, 0.2
ROWS_SEEN, LEAST_ROWS_SEEN, CELLS_SEEN = 100_000, 1_000, 5_000_000  # of data that stay in their files
SEEN_SHARE = 1 / 8  # of the memory left: looking for identifiers copies a column of text


@dataclass(frozen=True)
class Problem:
    """Rows to learn from, the task, and remarks about both."""

    rows: Examples
    roles: Roles
    task: Task
    remarks: list[str]

    @property
    def question(self) -> str:
        """The task and the target, for headings."""
        positive = self.positive
        return f"{self.task.name} of {self.roles.target!r}{'' if positive is None else f' (positive: {positive!r})'}"

    @property
    def positive(self) -> Any:
        """The positive one of two classes; None for another task."""
        return None if self.rows.y is None else positive_class(self.task, Distinct(self.rows.y)[:], self.roles.positive)

    def to_json(self, judging: Judging) -> dict[str, Any]:
        """Return what results say about the rows and their task."""
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
        All columns. Columns of a Dataset are known by their types and its first rows.
    roles : Roles
        What the options say about columns.
    task : str
        One of ``TASKS``, or "auto".
    where : str
        Name of the table in messages.
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
        asked, reason = guess_task(rows.y, roles)
        remarks.append(f"task: {asked.name}, because {reason} (--task overrules)")
    else:
        asked = TASKS[task]
    check_target(rows.y, asked, roles)
    if roles.positive is not None:
        check_positive([] if rows.y is None else Distinct(rows.y)[:], asked, roles)
    return Problem(rows, replace(roles, task=asked.name), asked, remarks)


def _first_rows(dataset: Dataset) -> Any:
    """Return enough rows to know the kinds of columns, as an Arrow table."""
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
    """How a model is judged: by test rows, by a held-out share, or by folds."""

    n_folds: int | None
    share: float
    test: Examples | None

    def parts(self, problem: Problem) -> Iterator[tuple[Examples, Examples]]:
        """Yield rows to learn from and rows to judge by."""
        if self.test is not None:
            yield problem.rows, self.test
            return
        split = _by_time if problem.rows.time is not None else _at_random
        for learnt, judged in split(problem.rows, problem.task, self.n_folds, self.share):
            if not learnt.any() or not judged.any():
                raise DataError(_too_few(problem, self.n_folds))
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
        """Say which rows of the data judge in the last part; None if they come from elsewhere."""
        if self.test is not None or self.n_folds is None:
            return None if self.test is not None else self.describe(problem)
        part, learnt = ("fold", "the other folds") if problem.roles.time is None else ("part", "the rows before it")
        return f"{part} {self.n_folds} of {self.n_folds}, predicted by the model of {learnt}"


def choose_judging(
    problem: Problem, *, test: Examples | None, n_folds: int | None, share: float | None, prefer_folds: bool = False
) -> Judging:
    """Choose how to judge: as told, else by folds if rows are few, else by a held-out share."""
    given = [name for name, value in (("--test", test), ("--cv", n_folds), ("--holdout", share)) if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} contradict each other: give one of them")
    n_rows = len(problem.rows)
    if not given and (prefer_folds or n_rows < FEW_ROWS):
        n_folds = min(DEFAULT_FOLDS, n_rows)
    if n_folds is not None and n_folds > n_rows:
        raise UsageError(f"--cv {n_folds}: there are only {n_rows} rows")
    return Judging(n_folds, DEFAULT_SHARE if share is None else share, test)


# -------------------------------------------------------------------------------------------------- splits


def _by_time(rows: Examples, task: Task, n: int | None, share: float) -> Iterator[tuple[Chosen, Chosen]]:
    """Yield earlier rows and rows to judge by: the last share, or n parts; rows of equal time stay together."""
    time = np.asarray(rows.time)
    places = [max(1, round(len(rows) * (1 - share)))] if n is None else np.linspace(0, len(rows), n + 2)[1:-1]
    cuts = time[np.argsort(time, kind="stable")[np.asarray(places).astype(np.intp)]]
    for start, end in zip(cuts, [*cuts[1:], None], strict=True):
        yield time < start, (time >= start) & (True if end is None else time < end)


def _at_random(rows: Examples, task: Task, n: int | None, share: float) -> Iterator[tuple[Chosen, Chosen]]:
    """Yield rows to learn from and rows to judge by: a share, or n folds of equal size; groups stay together."""
    if rows.group is not None:
        _, unit = np.unique(rows.group, return_inverse=True)
        fold = _dealt(np.zeros(unit.max() + 1, dtype=np.uint8), n, share)[unit]
    else:
        fold = _dealt(_strata(rows, task), n, share)
    for number in range(n or 1):
        yield fold != number, fold == number


def _too_few(problem: Problem, n_folds: int | None) -> str:
    if problem.rows.time is not None and n_folds is not None:
        return f"the time column has too few different values for {n_folds} folds: use fewer with --cv"
    return f"{len(problem.rows)} rows are too few to hold some out: give others with --test"


def _strata(rows: Examples, task: Task) -> NDArray[Any]:
    labels = getattr(rows, task.stratified_by)
    if labels is None:
        return np.zeros(len(rows), dtype=np.uint8)
    known, stratum = unique_labels(labels)
    return stratum.astype(np.min_scalar_type(len(known)))


def _dealt(stratum: NDArray[Any], n: int | None, share: float) -> NDArray[Any]:
    """Deal in turn through all strata, so that each fold has its share of each; types are small: rows may be many."""
    rows = np.arange(len(stratum), dtype=np.min_scalar_type(len(stratum)))
    shuffled = np.random.default_rng(SEED).permutation(rows)
    by_stratum = shuffled[np.argsort(stratum[shuffled], kind="stable")]
    fold = np.empty(len(stratum), dtype=np.min_scalar_type(n or 1))
    for first in range(0, len(stratum), DEALT_ROWS):
        place = np.arange(first, min(first + DEALT_ROWS, len(stratum)))
        dealt = place % n if n else np.floor((place + 1) * share) == np.floor(place * share)
        fold[by_stratum[first : first + DEALT_ROWS]] = dealt
    return fold
