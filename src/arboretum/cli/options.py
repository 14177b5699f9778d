"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from arboretum.cli.columns import Examples, Roles
    from arboretum.cli.problem import Judging, Problem
    from arboretum.cli.sources import Rows as Source
    from arboretum.cli.terminal import Terminal

Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, JSON lines, Parquet or Arrow; a pattern or folder of them; SQLite or DuckDB (file.db::table).",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that train or compare wrote.")]
Table = Annotated[str | None, typer.Option("--table", metavar="NAME", help="Table of a data base file.")]
Sql = Annotated[
    str | None,
    typer.Option(
        "--sql", metavar="QUERY", help="Query whose rows to use; DATA is its table 'data'. It may read files by itself."
    ),
]
Target = Annotated[str | None, typer.Option("--target", "-t", metavar="COLUMN", help="Column to predict.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No remarks and no progress, only the result.")]
Traceback = Annotated[bool, typer.Option("--traceback", help="Show where an error came from.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]
Rows = Annotated[int, typer.Option("--rows", metavar="NUMBER", min=1, help="How many rows to show.")]
METHODS_HELP = "auto, boosted, forest, extra, adaboost, additive, bagging, tree, isolation."
Task = Annotated[
    str,
    typer.Option(
        "--task", metavar="TASK", help="auto, binary, multiclass, regression, ranking, survival, uplift, anomaly."
    ),
]
Weight = Annotated[str | None, typer.Option("--weight", metavar="COLUMN", help="Weights of rows.")]
Group = Annotated[
    str | None, typer.Option("--group", metavar="COLUMN", help="Queries of ranking; else rows that stay together.")
]
Time = Annotated[
    str | None,
    typer.Option("--time", metavar="COLUMN", help="Order in time: later rows judge."),
]
Event = Annotated[
    str | None,
    typer.Option("--event", metavar="COLUMN", help="Of survival: 1 if it happened at the time --target, 0 if not yet."),
]
Treatment = Annotated[
    str | None,
    typer.Option("--treatment", metavar="COLUMN", help="Of uplift: 0 or 'control', and the treatments."),
]
Ids = Annotated[
    list[str] | None,
    typer.Option("--id", metavar="COLUMN", help="Column that names a row, not learnt from; repeatable."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="COLUMN", help="Column to leave out; repeatable."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="COLUMN=KIND", help="number, category, date, bool or ignore; repeatable."),
]
Folds = Annotated[int | None, typer.Option("--cv", metavar="NUMBER", min=2, help="Judge by so many folds.")]
Holdout = Annotated[
    float | None,
    typer.Option("--holdout", metavar="SHARE", min=0.01, max=0.9, help="Judge by this share of the rows."),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="Leave rows in their files and keep about so much, as 500MB, in memory while training.",
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", min=0.001, metavar="SECONDS", help="No new round, or method, begins after it."),
]


def roles_of(
    target: str | None,
    weight: str | None,
    group: str | None,
    time: str | None,
    event: str | None,
    treatment: str | None,
    ids: list[str] | None,
    ignore: list[str] | None,
    kind: list[str] | None,
) -> Roles:
    """Gather what options say about columns."""
    from arboretum.cli.columns import Roles, parse_kinds

    return Roles(
        target, weight, group, time, event, treatment, tuple(ids or ()), tuple(ignore or ()), parse_kinds(kind or [])
    )


def texts(kinds: Mapping[str, str]) -> list[str]:
    """Return the columns to read as text."""
    return [name for name, kind in kinds.items() if kind == "category"]


def read_problem(
    terminal: Terminal,
    data: str | None,
    table: str | None,
    sql: str | None,
    roles: Roles,
    task: str,
    *,
    memory_limit: int | None = None,
) -> Problem:
    """Read the data, or only look into them if there is a limit to memory, and say what was understood."""
    from arboretum.cli.columns import require
    from arboretum.cli.problem import understand
    from arboretum.cli.sources import open_rows, reading

    source = open_rows(data, table=table, sql=sql, texts=texts(roles.kinds))
    if memory_limit is None:
        _remark_size(terminal, source)
    rows = source.table() if memory_limit is None else source.dataset.with_memory_limit(memory_limit)
    with reading(source.name):
        require(rows, roles.named, source.name)
        problem = understand(rows, roles, task, source.name)
    for remark in problem.remarks:
        terminal.remark(remark)
    return problem


def _remark_size(terminal: Terminal, source: Source) -> None:
    from arboretum.ensembles.proximity import available_bytes

    needed, free = source.nbytes(), available_bytes()
    if needed > free / 2:
        terminal.remark(
            f"{source.name} takes about {needed / 1e9:.1f} GB in memory, of which {free / 1e9:.1f} GB are free: "
            f"arboretum train --memory-limit {max(free / 4e6, 1):.0f}MB leaves rows in their files"
        )


def parse_memory_limit(limit: str | None, *, data: str | None, sql: str | None) -> int | None:
    """Read a size in bytes, and refuse what would hold all rows nevertheless."""
    from arboretum.cli.errors import UsageError
    from arboretum.dataset import as_bytes

    if limit is None:
        return None
    if data is not None and sql is not None:
        raise UsageError(
            "--memory-limit: --sql holds all of DATA in memory; leave DATA out and let the query read the file, as in "
            f"--sql \"SELECT … FROM '{data}'\""
        )
    try:
        return as_bytes(limit)
    except ValueError:
        raise UsageError(f"--memory-limit {limit}: use a number of bytes, or a size such as 500MB or 2GB") from None


def read_judging(
    terminal: Terminal,
    problem: Problem,
    test: str | None,
    n_folds: int | None,
    share: float | None,
    *,
    prefer_folds: bool = False,
    memory_limit: int | None = None,
) -> Judging:
    """Read test rows, if there are some, and choose how to judge."""
    from arboretum.cli.columns import examples
    from arboretum.cli.problem import choose_judging
    from arboretum.cli.sources import open_rows, reading

    rows = None
    if test is not None:
        source = open_rows(test, texts=texts(problem.roles.kinds))
        with reading(source.name):
            found = source.table() if memory_limit is None else source.dataset
            rows, remarks = examples(found, problem.roles, problem.roles.kinds, source.name)
        for remark in remarks:
            terminal.remark(f"{source.name}: {remark}")
    return choose_judging(problem, test=rows, n_folds=n_folds, share=share, prefer_folds=prefer_folds)


def read_for_model(
    terminal: Terminal,
    model: Path,
    data: str | None,
    table: str | None,
    sql: str | None,
    named: dict[str, str | None],
    *,
    needs_target: bool = True,
) -> tuple[Any, str, Examples]:
    """Read a model and rows for it: the model, its task, and rows with features of the kinds that it knows."""
    from dataclasses import replace

    from arboretum.cli.columns import examples, kinds_of_model
    from arboretum.cli.errors import UsageError
    from arboretum.cli.files import load_model, task_of
    from arboretum.cli.sources import open_rows
    from arboretum.cli.tasks import check_model

    fitted, roles = load_model(model)
    given: dict[str, Any] = {role: name for role, name in named.items() if name is not None}
    roles = replace(roles, time=None, **given)
    task = task_of(fitted, roles)
    if needs_target and roles.target is None:
        raise UsageError(f"{model} does not tell its target: name it with --target COLUMN")
    kinds = {**kinds_of_model(fitted), **roles.kinds}
    source = open_rows(data, table=table, sql=sql, texts=texts(kinds))
    found = source.table()
    if not needs_target and roles.target not in found.column_names:
        roles = replace(roles, target=None, weight=None, group=None, event=None, treatment=None)
    rows, remarks = examples(found, roles, kinds, source.name)
    check_model(fitted, rows.y, task, roles)
    for remark in remarks:
        terminal.remark(remark)
    return fitted, task, rows
