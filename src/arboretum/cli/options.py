"""Options that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from arboretum.cli.columns import Examples, Roles
    from arboretum.cli.problem import Judging, Problem
    from arboretum.cli.sources import Rows as Source
    from arboretum.cli.terminal import Terminal
    from arboretum.cli.text import TextOptions
    from arboretum.data.dataset import Dataset
    from arboretum.data.memory_budget import MemoryBudget
    from arboretum.tasks import Task as TaskOfModel

COMMAND_BYTES = 60_000_000  # of libraries that a command has yet to load, and of a reader with small batches

Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, JSON, Parquet or Arrow; a pattern or folder of them; SQLite or DuckDB (file.db::table); "
        "- for standard input.",
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
METHODS_HELP = (
    "auto, boosted, forest, extra, adaboost, additive, bagging, tree, isolation; boosted:gbm, boosted:xgboost, "
    "boosted:lightgbm or boosted:catboost for boosted trees with the switches of that library."
)
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
Offset = Annotated[
    list[str] | None,
    typer.Option(
        "--offset",
        metavar="COLUMN",
        help="Where raw predictions of boosted trees start, such as the logarithm of an exposure; not learnt from. "
        "Repeat it for each class of several.",
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="Of two classes, the one whose probability, precision and recall are shown; by default the second.",
    ),
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
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing", metavar="MARK", help="Stands for a missing value too, as -999 or 'not known'; repeatable."
    ),
]
DateFormats = Annotated[
    list[str] | None,
    typer.Option("--date-format", metavar="COLUMN=FORMAT", help="Form of dates, as day=%d/%m/%Y; repeatable."),
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", metavar="MARK", help="Stands between fields of CSV; found by default.")
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="Of text files, as latin-1; UTF-8 by default.")
]
Decimal = Annotated[
    str | None, typer.Option("--decimal", metavar="MARK", help="Stands before fractions of numbers in text.")
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
        help="Leave rows in their files; hold at most so much memory, as 500MB, above the bare start of the command.",
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
    offset: list[str] | None,
    positive: str | None,
    ids: list[str] | None,
    ignore: list[str] | None,
    kind: list[str] | None,
) -> Roles:
    """Gather what options say about columns."""
    from arboretum.cli.columns import Roles, parse_kinds

    roles = Roles(
        target,
        weight,
        group,
        time,
        event,
        treatment,
        tuple(offset or ()),
        positive,
        tuple(ids or ()),
        tuple(ignore or ()),
        parse_kinds(kind or []),
    )
    roles.check()
    return roles


def text_of(
    missing: list[str] | None,
    date_format: list[str] | None,
    delimiter: str | None,
    encoding: str | None,
    decimal: str | None,
) -> TextOptions:
    """Gather what options say about text."""
    import codecs

    from arboretum.cli.errors import UsageError
    from arboretum.cli.text import TextOptions, parse_date_formats

    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise UsageError(f"--delimiter {delimiter}: give one character, or tab")
    if decimal not in (None, ".", ","):
        raise UsageError(f"--decimal {decimal}: give . or ,")
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise UsageError(f"--encoding {encoding}: it is not known; try latin-1, cp1252 or utf-16") from None
    formats = parse_date_formats(date_format or [])
    return TextOptions(delimiter, encoding, decimal, tuple(missing or ()), formats, asked=tuple(formats))


def read_problem(
    terminal: Terminal,
    data: str | None,
    table: str | None,
    sql: str | None,
    text: TextOptions,
    roles: Roles,
    task: str,
    *,
    budget: MemoryBudget | None = None,
    training_bytes: Callable[[int, int], int] = lambda n_rows, n_columns: 0,
) -> Problem:
    """Read the data, or only look into them if there is a limit to memory, and say what was understood.

    ``training_bytes`` says how much memory a fit of so many rows and columns needs at least.
    """
    from dataclasses import replace

    from arboretum.cli.columns import require
    from arboretum.cli.errors import DataError
    from arboretum.cli.problem import understand
    from arboretum.cli.sources import open_rows, reading
    from arboretum.data.memory_budget import ROW_BYTES

    text = text.knowing(roles.kinds, asked=roles.kinds)

    def needed(dataset: Dataset) -> int:
        fit = training_bytes(dataset.n_rows, len(dataset.names))
        return COMMAND_BYTES + ROW_BYTES * dataset.n_rows + fit

    source = open_rows(data, table=table, sql=sql, text=text, budget=budget, needed_bytes=needed)
    ignored = {*roles.ids, *roles.ignored, *(name for name, kind in roles.kinds.items() if kind == "ignore")}
    used = [column for column in source.texts if column.name not in ignored]
    if questions := [column.question for column in used if column.question]:
        raise DataError("; ".join(questions))
    found = {column.name: column.format for column in used if column.format}
    roles = replace(
        roles,
        missing=text.missing,
        decimal=text.decimal,
        asked=text.asked,
        date_formats={**found, **text.date_formats},
    )
    if budget is None:
        _remark_size(terminal, source)
    about_text = source.remarks([column.name for column in used])
    for remark in about_text:  # before anything fails, for they may tell why
        terminal.remark(remark)
    with reading(source.name):
        rows = source.table() if budget is None else source.dataset
        require(rows, roles.named, source.name)
        problem = understand(rows, roles, task, source.name)
    for remark in problem.remarks:
        terminal.remark(remark)
    return replace(problem, remarks=[*problem.remarks, *about_text])


def _remark_size(terminal: Terminal, source: Source) -> None:
    from arboretum.data.memory_budget import available_bytes

    needed, free = source.nbytes(), available_bytes()
    if needed > free / 2:
        terminal.remark(
            f"{source.name} takes about {needed / 1e9:.1f} GB in memory, of which {free / 1e9:.1f} GB are free: "
            f"arboretum train --memory-limit {max(free / 4e6, 1):.0f}MB leaves rows in their files"
        )


def memory_budget(limit: str | None) -> MemoryBudget | None:
    """Begin to count memory."""
    from arboretum.cli.errors import UsageError
    from arboretum.data.memory_budget import MemoryBudget, as_bytes, resident

    start = resident()
    # pyarrow looks when it is imported; its other allocators keep twice what they are asked for.
    if sys.platform == "linux":
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")

    if limit is None:
        return None
    try:
        return MemoryBudget(as_bytes(limit), start)
    except ValueError:
        raise UsageError(f"--memory-limit {limit}: use a number of bytes, or a size such as 500MB or 2GB") from None


def read_judging(
    terminal: Terminal,
    problem: Problem,
    test: str | None,
    text: TextOptions,
    n_folds: int | None,
    share: float | None,
    *,
    prefer_folds: bool = False,
    budget: MemoryBudget | None = None,
) -> Judging:
    """Read test rows, if there are some, and choose how to judge."""
    from arboretum.cli.columns import examples, target_kind
    from arboretum.cli.problem import choose_judging
    from arboretum.cli.sources import open_rows, reading

    rows = None
    if test is not None:
        roles, y = problem.roles, problem.rows.y
        kinds = {**roles.kinds, **({roles.target: target_kind(y)} if roles.target and y is not None else {})}
        known = text.knowing(kinds, roles.asked, roles.missing, roles.date_formats, roles.decimal)
        source = open_rows(test, text=known, budget=budget)
        with reading(source.name):
            found = source.table() if budget is None else source.dataset
            rows, remarks = examples(found, roles, roles.kinds, source.name)
        for remark in [*source.remarks(list(kinds)), *remarks]:
            terminal.remark(f"{source.name}: {remark}")
    return choose_judging(problem, test=rows, n_folds=n_folds, share=share, prefer_folds=prefer_folds)


def load_with_roles(model: Path, named: Mapping[str, str | None], offset: list[str] | None) -> tuple[Any, Roles]:
    """Read a model file, and the roles of columns that it keeps, unless options name others."""
    from dataclasses import replace

    from arboretum.cli.errors import UsageError
    from arboretum.cli.files import load_model, task_of
    from arboretum.cli.tasks import check_positive
    from arboretum.estimators.classes import arguments
    from arboretum.tasks import TASKS

    fitted, roles = load_model(model)
    given: dict[str, Any] = {role: name for role, name in named.items() if name is not None}
    if offset:
        if "offset" not in arguments(type(fitted).predict):
            raise UsageError(f"--offset: {type(fitted).__name__} takes none; boosted trees do (train --model boosted)")
        given["offset"] = tuple(offset)
    task = task_of(fitted, roles)
    for other in TASKS.values():
        if other.role in ("event", "treatment") and other.role in given and task.role != other.role:
            words = f"the model is one of {task.name}, not of {other.name}"
            raise UsageError(f"--{other.role}: {words}; leave the option out")
    roles = replace(roles, **given)
    check_positive(getattr(fitted, "classes_", ()), task, roles)
    return fitted, roles


def read_for_model(
    terminal: Terminal,
    model: Path,
    data: str | None,
    table: str | None,
    sql: str | None,
    text: TextOptions,
    named: Mapping[str, str | None],
    offset: list[str] | None = None,
    *,
    needs_target: bool = True,
    budget: MemoryBudget | None = None,
    needed_bytes: Callable[[Any, TaskOfModel, int], int] | None = None,
) -> tuple[Any, TaskOfModel, Examples]:
    """Read a model and rows for it: the model, its task, and rows with features of the kinds that it knows.

    With a limit to memory, features stay in their files; ``needed_bytes`` of the model, the task and the number of rows
    says how much memory their use needs at least. By default the rows judge the model.
    """
    from dataclasses import replace

    from arboretum.cli.columns import examples, target_kind
    from arboretum.cli.errors import UsageError
    from arboretum.cli.files import known_of, task_of
    from arboretum.cli.scores import judging_bytes
    from arboretum.cli.sources import open_rows, reading
    from arboretum.cli.tasks import check_model

    fitted, roles = load_with_roles(model, named, offset)
    roles = replace(roles, time=None)
    task = task_of(fitted, roles)
    if needs_target and roles.target is None:
        raise UsageError(f"{model} does not tell its target: name it with --target COLUMN")
    kinds, known = known_of(fitted, roles, text)
    if roles.target is not None and target_kind(getattr(fitted, "classes_", 0.0)) == "category":
        known = known.knowing({roles.target: "category"})  # classes such as 01 are text wherever they are

    def needed(dataset: Dataset) -> int:
        return COMMAND_BYTES + (needed_bytes or judging_bytes)(fitted, task, dataset.n_rows)

    source = open_rows(data, table=table, sql=sql, text=known, budget=budget, needed_bytes=needed)
    with reading(source.name):
        found = source.table() if budget is None else source.dataset
        needed_beside = (roles.target, roles.weight, roles.group, roles.event, roles.treatment, *roles.offset)
        absent = {name for name in needed_beside if name is not None} - set(found.schema.names)
        if not needs_target and (absent or roles.target is None):
            roles = replace(roles, target=None, weight=None, group=None, event=None, treatment=None, offset=())
        rows, remarks = examples(found, roles, kinds, source.name)
    check_model(fitted, rows.y, task, roles)
    for remark in [*source.remarks(list(kinds)), *remarks]:
        terminal.remark(remark)
    return fitted, task, rows
