"""``arboretum train``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.terminal import Terminal, session

if TYPE_CHECKING:
    from arboretum import Checkpoint
    from arboretum.cli.leaderboard import Line
    from arboretum.cli.problem import Judging, Problem


def train(
    data: options.Data = None,
    target: options.Target = None,
    task: options.Task = "auto",
    model: Annotated[str, typer.Option("--model", "-m", metavar="METHOD", help=options.METHODS_HELP)] = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the estimator; repeatable."),
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
    test: Annotated[str | None, typer.Option("--test", metavar="DATA", help="Rows to judge by.")] = None,
    cv: options.Folds = None,
    holdout: options.Holdout = None,
    time_limit: options.TimeLimit = None,
    memory_limit: options.MemoryLimit = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FILE", help="Go on from this file, if a run was killed; write it."),
    ] = None,
    every: Annotated[
        float, typer.Option("--checkpoint-every", metavar="SECONDS", min=0.0, help="How often to write it.")
    ] = 30.0,
    table: options.Table = None,
    sql: options.Sql = None,
    missing: options.Missing = None,
    date_format: options.DateFormats = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    decimal: options.Decimal = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Model file to write.")] = Path("model.arb"),
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="HTML report to write.")] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Train a model, judge it by rows it has not seen, beside a baseline, and write it.

    The task and the kinds of columns are guessed, and said. With --cv, or with few rows, folds judge and the model
    that is written learns from all rows, while --report shows that of the last fold; otherwise the model that is
    judged is the one that is written. --memory-limit leaves rows in their files; the model is the same. After a
    crash the same command with the same --checkpoint goes on to the model that it would have written, and then
    removes the file.
    """
    with session(as_json=as_json, quiet=quiet, traceback=traceback, out=out) as terminal:
        budget = options.memory_budget(memory_limit)
        from arboretum.cli.errors import UsageError
        from arboretum.cli.file_formats import STANDARD
        from arboretum.cli.files import check_outputs, save_model, tell_written
        from arboretum.cli.leaderboard import measure_baseline
        from arboretum.cli.methods import (
            check_offset,
            check_streams,
            make,
            parse_settings,
            setting_errors,
            training_bytes,
        )
        from arboretum.cli.report import report_bytes, some_rows, write_report
        from arboretum.cli.tasks import check_control

        outputs = {"--checkpoint": checkpoint, "--out": out, "--report": report}
        check_outputs(outputs, {"DATA": data, "--test": test}, overwrite=overwrite, renewed=("--checkpoint",))
        for option, path in (("--report", report), ("--checkpoint", checkpoint)):
            if path is not None and str(path) == STANDARD:
                raise UsageError(f"{option} -: name a file; only --out can be standard output")
        roles = options.roles_of(target, weight, group, time, event, treatment, offset, positive, ids, ignore, kind)
        text = options.text_of(missing, date_format, delimiter, encoding, decimal)
        chosen = parse_settings(settings or [])

        def needed(n_rows: int, n_columns: int) -> int:
            of_report = 0 if report is None else report_bytes(n_columns, parts=2)
            return max(of_report, training_bytes(model, n_rows, n_columns, settings=chosen))

        problem = options.read_problem(
            terminal, data, table, sql, text, roles, task, budget=budget, training_bytes=needed
        )
        if budget is not None:
            check_streams(model, problem.task)
        if roles.offset:
            check_offset(model, problem.task)
        if "control" not in chosen:
            check_control(problem.rows.treatment, roles, "name the control, as in --set control={}")
        judging = options.read_judging(terminal, problem, test, text, cv, holdout, budget=budget)

        def new_model() -> Any:
            return make(model, problem.task, settings=chosen)

        fit_options: dict[str, Any] = {
            "time_limit": _limit(new_model(), time_limit),
            "progress": terminal.shows_progress,
        }
        kept = _checkpoint(new_model(), checkpoint, every)
        in_folds = judging.n_folds is not None
        with setting_errors(chosen):
            fitted, line = _fit_and_judge(terminal, new_model, problem, judging, kept, fit_options)
        if line is not None:
            show_scores(terminal, problem, judging, line, measure_baseline(problem, judging))
        replaces = out.exists()
        save_model(fitted, out, problem.roles)
        tell_written(terminal, out, replaces=replaces, with_size=True)
        terminal.result |= {"model": str(out), "fingerprint": fitted.fingerprint(), "class": type(fitted).__name__}
        if terminal.interrupted:
            terminal.text(_after_interruption(line is not None, checkpoint, report))
            return
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
            terminal.text(f"removed {checkpoint}, for the run is done")
        if report is not None:
            assert line is not None
            *_, (learnt, judged) = judging.parts(problem)
            judged, compared = some_rows(terminal, budget, judged, learnt)
            share = judging.describe_last(problem)
            write_report(terminal, line.model, judged, report, learnt=compared, share=share)
            if in_folds:
                terminal.text(f"the report is about {share}; the model that was written has learnt from all rows")
                terminal.result |= {"report_about": share}


def _fit_and_judge(
    terminal: Terminal,
    new_model: Callable[[], Any],
    problem: Problem,
    judging: Judging,
    checkpoint: Checkpoint | None,
    fit_options: dict[str, Any],
) -> tuple[Any, Line | None]:
    """Return the model to write, and how it, or its like of each fold, is judged; None if Ctrl-C came first."""
    from arboretum.cli.leaderboard import fit, measure
    from arboretum.running.interruption import InterruptedFit

    name = type(new_model()).__name__
    if judging.n_folds is None:
        line = measure(name, new_model, problem, judging, **fit_options, checkpoint=checkpoint)
        return line.model, line
    fitted = fit(new_model(), problem.rows, **fit_options, checkpoint=checkpoint)
    if terminal.interrupted:
        return fitted, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", InterruptedFit)  # half a model of a fold judges nothing
            return fitted, measure(name, new_model, problem, judging, **fit_options)
    except (KeyboardInterrupt, InterruptedFit):
        terminal.interrupted = True
        return fitted, None


def _after_interruption(is_judged: bool, checkpoint: Path | None, report: Path | None) -> str:
    """Say what an interrupted run has left undone."""
    words = ["interrupted: the model is as far as it got"]
    words += [] if is_judged else ["it was not judged"]
    words += ["there is no report"] if report is not None else []
    words += [f"the same command with --overwrite goes on from {checkpoint}"] if checkpoint is not None else []
    return "; ".join(words)


def _checkpoint(model: Any, path: Path | None, seconds: float) -> Checkpoint | None:
    from inspect import signature

    from arboretum import Checkpoint
    from arboretum.cli.errors import UsageError

    if path is None:
        return None
    if "checkpoint" not in signature(model.fit).parameters:
        raise UsageError(f"--checkpoint: {type(model).__name__} has none; boosted trees do (--model boosted)")
    return Checkpoint(path, seconds=seconds)


def _limit(model: Any, time_limit: float | None) -> float | None:
    from arboretum.cli.errors import UsageError

    if time_limit is not None and "time_limit" not in model.get_params(deep=False):
        raise UsageError(f"--time-limit: {type(model).__name__} knows none; boosted trees do (--model boosted)")
    return time_limit


def show_scores(terminal: Terminal, problem: Problem, judging: Judging, line: Line, base: Line) -> None:
    """Print the metrics of a model beside those of the baseline."""
    from arboretum.cli.scores import lines

    baseline = {**base.mean, **line.constant}
    terminal.result |= {
        "task": problem.task.name,
        **({} if problem.positive is None else {"positive": problem.positive}),
        "rows": len(problem.rows),
        "columns": dict(problem.roles.kinds),
        "judged_by": judging.describe(problem),
        "scores": dict(line.mean),
        "deviations": dict(line.deviation),
        "baseline": baseline,
        "seconds": line.seconds,
        "remarks": problem.remarks,
    }
    if not line.mean:
        terminal.text("no target, so no scores")
        return
    several = judging.n_folds is not None
    header = ["metric", line.method, *(["deviation"] if several else []), "baseline", "better is"]
    rows = [
        [name, mean, *([line.deviation[name]] if several else []), usual, better]
        for name, mean, usual, better in lines(line.mean, baseline, problem.task)
    ]
    title = f"{problem.question}, judged by {judging.describe(problem)}, {line.seconds:.1f} s"
    terminal.table(title, header, rows)
