"""Open data and models: what options name becomes rows, a task and a way to judge, or a model and rows for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from arboretum.cli.columns import Examples, Roles, examples, require, target_kind
from arboretum.cli.errors import DataError, UsageError
from arboretum.cli.files import ModelFile
from arboretum.cli.options import Columns, Consent, Reading
from arboretum.cli.problem import Judging, Problem, choose_judging, understand
from arboretum.cli.scores import judging_bytes
from arboretum.cli.sources import Rows, reading
from arboretum.cli.tasks import check_model
from arboretum.cli.terminal import Terminal
from arboretum.data.dataset import Dataset
from arboretum.data.memory_budget import ROW_BYTES, MemoryBudget, available_bytes
from arboretum.tasks import Task

COMMAND_BYTES = 60_000_000  # of libraries that a command has yet to load, and of a reader with small batches


def open_problem(
    terminal: Terminal,
    given: Reading,
    roles: Roles,
    task: str,
    *,
    budget: MemoryBudget | None = None,
    streams: bool = False,
    training_bytes: Callable[[int, int], int] = lambda n_rows, n_columns: 0,
) -> Problem:
    """Read the data, or only look into them if they are to stay where they are, and say what was understood.

    ``training_bytes`` says how much memory a fit of so many rows and columns needs at least.
    """
    text = given.text().knowing(roles.kinds, asked=roles.kinds)

    def needed(dataset: Dataset) -> int:
        fit = training_bytes(dataset.n_rows, len(dataset.names))
        return COMMAND_BYTES + ROW_BYTES * dataset.n_rows + fit

    source = given.open(text, budget, needed)
    ignored = {*roles.ids, *roles.ignored, *(name for name, kind in roles.kinds.items() if kind == "ignore")}
    used = [column for column in source.texts if column.name not in ignored]
    if questions := [column.question for column in used if column.question]:
        raise DataError("; ".join(questions))
    formats = {column.name: column.format for column in used if column.format} | dict(text.date_formats)
    roles = replace(roles, missing=text.missing, decimal=text.decimal, asked=text.asked, date_formats=formats)
    if not streams:
        _remark_size(terminal, source)
    about_text = source.remarks([column.name for column in used])
    terminal.remark(*about_text)  # before anything fails, for they may tell why
    with reading(source.name):
        rows = source.rows(streams=streams)
        require(rows, roles.named, source.name)
        problem = understand(rows, roles, task, source.name)
    terminal.remark(*problem.remarks)
    return replace(problem, remarks=[*problem.remarks, *about_text])


def _remark_size(terminal: Terminal, source: Rows) -> None:
    needed, free = source.nbytes(), available_bytes()
    if needed > free / 2:
        terminal.remark(
            f"{source.name} takes about {needed / 1e9:.1f} GB in memory, of which {free / 1e9:.1f} GB are free: "
            f"arboretum train --memory-limit {max(free / 4e6, 1):.0f}MB leaves rows in their files"
        )


def open_judging(
    terminal: Terminal,
    given: Reading,
    problem: Problem,
    n_folds: int | None,
    share: float | None,
    *,
    test: str | None = None,
    budget: MemoryBudget | None = None,
    streams: bool = False,
    prefer_folds: bool = False,
) -> Judging:
    """Read the rows of ``--test``, if there are some, and choose how to judge."""
    rows = None
    if test is not None:
        roles, y = problem.roles, problem.rows.y
        kinds = {**roles.kinds, **({roles.target: target_kind(y)} if roles.target and y is not None else {})}
        known = given.text().knowing(kinds, roles.asked, roles.missing, roles.date_formats, roles.decimal)
        source = Reading(test).open(known, budget)
        with reading(source.name):
            rows, remarks = examples(source.rows(streams=streams), roles, roles.kinds, source.name)
        terminal.remark(*(f"{source.name}: {remark}" for remark in [*source.remarks(list(kinds)), *remarks]))
    return choose_judging(problem, test=rows, n_folds=n_folds, share=share, prefer_folds=prefer_folds)


def open_model(
    terminal: Terminal,
    path: Path,
    given: Reading,
    columns: Columns,
    consent: Consent,
    *,
    needs_target: bool = True,
    budget: MemoryBudget | None = None,
    needed_bytes: Callable[[Any, Task, int], int] = judging_bytes,
) -> tuple[ModelFile, Examples]:
    """Read a model and rows for it, whose features are of the kinds that it knows.

    With a limit to memory, features stay in their files; ``needed_bytes`` of the model, the task and the number of rows
    says how much memory their use needs at least. By default the rows judge the model.
    """
    file = ModelFile.load(path, consent).with_roles(columns.given)
    roles = replace(file.roles, time=None)
    if needs_target and roles.target is None:
        raise UsageError(f"{path} does not tell its target: name it with --target COLUMN")
    kinds, known = file.kinds, file.text(given.text())
    if roles.target is not None and file.classes and target_kind(file.classes) == "category":
        known = known.knowing({roles.target: "category"})  # classes such as 01 are text wherever they are
    source = given.open(
        known, budget, lambda dataset: COMMAND_BYTES + needed_bytes(file.model, file.task, dataset.n_rows)
    )
    with reading(source.name):
        found = source.rows(streams=budget is not None)
        roles = roles if needs_target else roles.without_beside(found.schema.names)
        rows, remarks = examples(found, roles, kinds, source.name)
    check_model(file.model, rows.y, file.task, roles)
    terminal.remark(*source.remarks(list(kinds)), *remarks)
    return file, rows
