"""``arboretum compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arboretum.cli import options
from arboretum.cli.command import command
from arboretum.cli.terminal import Terminal

if TYPE_CHECKING:
    from arboretum.cli.leaderboard import Line
    from arboretum.cli.problem import Judging, Problem


@command
def compare(
    terminal: Terminal,
    columns: options.Learning,
    data: options.Reading,
    task: options.Task = "auto",
    methods: Annotated[
        options.Names,
        typer.Option(
            "--model", "-m", metavar="METHOD", help=f"Only this method; repeatable. One of {options.METHODS_HELP}"
        ),
    ] = None,
    cv: options.Folds = None,
    holdout: options.Holdout = None,
    time_limit: options.TimeLimit = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File of the best model.")] = Path(
        "model.arb"
    ),
    overwrite: options.Overwrite = False,
) -> None:
    """Compare every method that suits the task on the same folds, and write the best, fitted to all rows.

    boosted:lightgbm and the like are boosted trees of arboretum with the switches of that library; the library itself
    does not run. With --offset, only the methods that take offsets are compared.
    """
    from arboretum.cli import errors, files, leaderboard, opening, tasks

    files.check_outputs({"--out": out}, {"DATA": data.data}, overwrite=overwrite)
    roles = columns.roles()
    problem = opening.open_problem(terminal, data, roles, task)
    if problem.rows.y is None:
        raise errors.UsageError("compare judges by a target: give --target COLUMN, for anomalies too")
    tasks.check_control(problem.rows.treatment, roles, "rename one of them by --sql")
    judging = opening.open_judging(terminal, data, problem, cv, holdout, prefer_folds=True)
    entries = leaderboard.candidates(problem.task, methods, with_offset=bool(roles.offset))
    lines = leaderboard.leader_board(terminal, problem, judging, entries, time_limit=time_limit)
    show_board(terminal, problem, judging, lines)
    if terminal.interrupted:
        return
    best = next((line for line in lines if line.method in entries and line.failure is None), None)
    if best is None:
        raise errors.CommandError(
            "no method could be fitted: " + "; ".join(f"{line.method}: {line.failure}" for line in lines)
        )
    with leaderboard.whole_fits():
        fitted = leaderboard.fit(entries[best.method](), problem.rows, progress=terminal.shows_progress)
    files.save_model(terminal, fitted, out, problem.roles, f": {best.method}, fitted to all {len(problem.rows)} rows")
    terminal.result |= {"best": best.method, "fingerprint": fitted.fingerprint()}


def show_board(terminal: Terminal, problem: Problem, judging: Judging, lines: list[Line]) -> None:
    """Print the leader board, and what was left out of it."""
    first, *others = [name for name in problem.task.metrics if any(name in line.mean for line in lines)]
    spread = [first] if judging.n_folds is not None else []  # one part has no deviation
    header = ["", "method", first, *["deviation" for _ in spread], *others, "seconds"]
    body = [
        [
            place,
            line.method,
            line.mean.get(first),
            *[line.deviation.get(name) for name in spread],
            *[line.mean.get(name) for name in others],
            line.seconds or None,
        ]
        for place, line in enumerate(lines, start=1)
        if line.failure is None
    ]
    better = "higher" if problem.task.metrics[first] else "lower"
    asked = f"{problem.question}, judged by {judging.describe(problem)}"
    terminal.table(f"{asked}; {first}: {better} is better", header, body)
    for line in lines:
        if line.failure is not None:
            terminal.text(f"{line.method} was left out: {line.failure}")
    terminal.result |= problem.to_json(judging) | {"leader_board": [line.to_json() for line in lines]}
    if terminal.interrupted:
        terminal.text("interrupted: no model was written")
