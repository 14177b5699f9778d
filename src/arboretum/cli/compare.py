"""``arboretum compare``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arboretum.cli import options
from arboretum.cli.terminal import Terminal, session

if TYPE_CHECKING:
    from arboretum.cli.leaderboard import Line
    from arboretum.cli.problem import Judging, Problem


def compare(
    data: options.Data = None,
    target: options.Target = None,
    task: options.Task = "auto",
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", metavar="METHOD", help=f"Only this method; repeatable. One of {options.METHODS_HELP}"
        ),
    ] = None,
    weight: options.Weight = None,
    group: options.Group = None,
    time: options.Time = None,
    event: options.Event = None,
    treatment: options.Treatment = None,
    offset: options.Offset = None,
    positive: options.Positive = None,
    ids: options.Ids = None,
    ignore: options.Ignore = None,
    kind: options.Kinds = None,
    cv: options.Folds = None,
    holdout: options.Holdout = None,
    time_limit: options.TimeLimit = None,
    table: options.Table = None,
    sql: options.Sql = None,
    missing: options.Missing = None,
    date_format: options.DateFormats = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    decimal: options.Decimal = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File of the best model.")] = Path(
        "model.arb"
    ),
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Compare every method that suits the task on the same folds, and write the best, fitted to all rows.

    boosted:lightgbm and the like are boosted trees of arboretum with the switches of that library; the library itself
    does not run. With --offset, only the methods that take offsets are compared.
    """
    with session(as_json=as_json, quiet=quiet, traceback=traceback, out=out) as terminal:
        from arboretum.cli.errors import CommandError, UsageError
        from arboretum.cli.files import check_outputs, save_model, tell_written
        from arboretum.cli.leaderboard import BASELINE, candidates, fit_whole, leader_board
        from arboretum.cli.tasks import check_control

        check_outputs({"--out": out}, {"DATA": data}, overwrite=overwrite)
        roles = options.roles_of(target, weight, group, time, event, treatment, offset, positive, ids, ignore, kind)
        text = options.text_of(missing, date_format, delimiter, encoding, decimal)
        problem = options.read_problem(terminal, data, table, sql, text, roles, task)
        if problem.rows.y is None:
            raise UsageError("compare judges by a target: give --target COLUMN, of anomalies too")
        check_control(problem.rows.treatment, roles, "call one of them so by --sql")
        judging = options.read_judging(terminal, problem, None, text, cv, holdout, prefer_folds=True)
        entries = candidates(problem.task, methods, with_offset=bool(roles.offset))
        lines = leader_board(problem, judging, entries, time_limit=time_limit, tell=told(terminal))
        show_board(terminal, problem, judging, lines)
        if ends_interrupted(terminal, lines):
            return
        best = next((line for line in lines if line.method != BASELINE and line.failure is None), None)
        if best is None:
            raise CommandError(
                "no method could be fitted: " + "; ".join(f"{line.method}: {line.failure}" for line in lines)
            )
        fitted = fit_whole(entries[best.method](), problem.rows, progress=terminal.shows_progress)
        replaces = out.exists()
        save_model(fitted, out, problem.roles)
        more = f": {best.method}, fitted to all {len(problem.rows)} rows"
        tell_written(terminal, out, replaces=replaces, more=more)
        terminal.result |= {"model": str(out), "best": best.method, "fingerprint": fitted.fingerprint()}


def told(terminal: Terminal) -> Callable[[Line], None]:
    """Return what says how each method went, as soon as it is known."""

    def tell(line: Line) -> None:
        terminal.remark(f"{line.method}: {line.failure or f'{line.seconds:.1f} s'}")

    return tell


def ends_interrupted(terminal: Terminal, lines: list[Line]) -> bool:
    """Whether Ctrl-C ended a comparison, which is said then."""
    from arboretum.cli.leaderboard import INTERRUPTED_LINE

    if any(line.failure == INTERRUPTED_LINE for line in lines):
        terminal.interrupted = True
        terminal.text("interrupted: no model was written")
    return terminal.interrupted


def show_board(terminal: Terminal, problem: Problem, judging: Judging, lines: list[Line]) -> None:
    """Print the leader board."""
    names = [name for name in problem.task.metrics if any(name in line.mean for line in lines)]
    spread = names[:1] if judging.n_folds is not None else []  # one part has no deviation
    header = ["", "method", names[0], *["deviation" for _ in spread], *names[1:], "seconds"]
    body = [
        [
            place,
            line.method,
            line.mean.get(names[0]),
            *[line.deviation.get(name) for name in spread],
            *[line.mean.get(name) for name in names[1:]],
            line.seconds or None,
        ]
        for place, line in enumerate(lines, start=1)
        if line.failure is None
    ]
    better = "higher" if problem.task.metrics[names[0]] else "lower"
    asked = f"{problem.question}, judged by {judging.describe(problem)}"
    terminal.table(f"{asked}; {names[0]}: {better} is better", header, body)
    for line in lines:
        if line.failure is not None:
            terminal.text(f"{line.method} was left out: {line.failure}")
    terminal.result |= {
        "task": problem.task.name,
        **({} if problem.positive is None else {"positive": problem.positive}),
        "rows": len(problem.rows),
        "columns": dict(problem.roles.kinds),
        "judged_by": judging.describe(problem),
        "leader_board": [line.to_json() for line in lines],
        "remarks": problem.remarks,
    }
