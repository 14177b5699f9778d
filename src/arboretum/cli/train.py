"""``arboretum train``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.terminal import Terminal, session

if TYPE_CHECKING:
    from arboretum import Checkpoint
    from arboretum.cli.leaderboard import Line
    from arboretum.cli.problem import Judging, Problem

REPORT_ROWS = 100_000  # of rows that stay in their files


def train(
    data: options.Data = None,
    target: options.Target = None,
    task: options.Task = "auto",
    model: Annotated[str, typer.Option("--model", "-m", metavar="METHOD", help=options.METHODS_HELP)] = "auto",
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="NAME", help="gbm, xgboost, lightgbm, catboost.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the estimator; repeatable."),
    ] = None,
    weight: options.Weight = None,
    group: options.Group = None,
    time: options.Time = None,
    event: options.Event = None,
    treatment: options.Treatment = None,
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
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Model file to write.")] = Path("model.arb"),
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="HTML report to write.")] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Train a model, judge it by rows it has not seen, beside a baseline, and write it.

    The task and the kinds of columns are guessed, and said. With --cv, or with few rows, folds judge and the model that
    is written learns from all rows; otherwise the model that is judged is the one that is written. --memory-limit
    leaves rows in their files; the model is the same. After a crash the same command with the same --checkpoint goes on
    to the model that it would have written, and then removes the file.
    """
    with session(as_json=as_json, quiet=quiet, traceback=traceback) as terminal:
        from arboretum.cli.files import check_output, save_model
        from arboretum.cli.leaderboard import fit, measure, measure_baseline
        from arboretum.cli.methods import check_streams, make, parse_settings

        check_output(out, overwrite=overwrite)
        check_output(report, overwrite=overwrite)
        check_output(checkpoint, overwrite=True)
        limit = options.parse_memory_limit(memory_limit, data=data, sql=sql)
        roles = options.roles_of(target, weight, group, time, event, treatment, ids, ignore, kind)
        problem = options.read_problem(terminal, data, table, sql, roles, task, memory_limit=limit)
        if limit is not None:
            check_streams(model, problem.task)
        judging = options.read_judging(terminal, problem, test, cv, holdout, memory_limit=limit)
        chosen = parse_settings(settings or [])

        def new_model() -> Any:
            return make(model, problem.task, preset=preset, settings=chosen)

        fit_options: dict[str, Any] = {
            "time_limit": _limit(new_model(), time_limit),
            "progress": terminal.shows_progress,
        }
        kept = _checkpoint(new_model(), checkpoint, every, out)
        in_folds = judging.n_folds is not None
        fitted = fit(new_model(), problem.rows, **fit_options, checkpoint=kept) if in_folds else None
        name = type(new_model()).__name__
        line = measure(name, new_model, problem, judging, **fit_options, checkpoint=None if in_folds else kept)
        fitted = line.model if fitted is None else fitted
        show_scores(terminal, problem, judging, line, measure_baseline(problem, judging))
        replaces = out.exists()
        save_model(fitted, out, problem.roles)
        terminal.text(f"{'replaced' if replaces else 'wrote'} {out} ({out.stat().st_size / 1024:.0f} KB)")
        terminal.result |= {"model": str(out), "fingerprint": fitted.fingerprint(), "class": type(fitted).__name__}
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
            terminal.text(f"removed {checkpoint}, for the run is done")
        if report is not None:
            from arboretum.cli.report import write_report

            learnt, judged = list(judging.parts(problem))[-1]
            if limit is not None:
                learnt, judged = learnt.in_memory(REPORT_ROWS), judged.in_memory(REPORT_ROWS)
                terminal.remark(
                    f"the report reads at most {REPORT_ROWS} of the rows that judge, and of those learnt from"
                )
            write_report(terminal, fitted, judged, report, learnt=None if in_folds else learnt)


def _checkpoint(model: Any, path: Path | None, seconds: float, out: Path) -> Checkpoint | None:
    from inspect import signature

    from arboretum import Checkpoint
    from arboretum.cli.errors import UsageError

    if path is None:
        return None
    if "checkpoint" not in signature(model.fit).parameters:
        raise UsageError(f"--checkpoint: {type(model).__name__} has none; boosted trees do (--model boosted)")
    if path.resolve() == out.resolve():
        raise UsageError(f"--checkpoint and --out both name {path}: the checkpoint is removed at the end; rename one")
    return Checkpoint(path, seconds=seconds)


def _limit(model: Any, time_limit: float | None) -> float | None:
    from arboretum.cli.errors import UsageError

    if time_limit is not None and "time_limit" not in model.get_params(deep=False):
        raise UsageError(f"--time-limit: {type(model).__name__} knows none; boosted trees do (--model boosted)")
    return time_limit


def show_scores(terminal: Terminal, problem: Problem, judging: Judging, line: Line, base: Line) -> None:
    """Print the metrics of a model beside those of the baseline."""
    from arboretum.cli.scores import METRICS

    terminal.result |= {
        "task": problem.task,
        "rows": len(problem.rows),
        "columns": dict(problem.roles.kinds),
        "judged_by": judging.describe(problem),
        "scores": dict(line.mean),
        "deviations": dict(line.deviation),
        "baseline": dict(base.mean),
        "seconds": line.seconds,
        "remarks": problem.remarks,
    }
    if not line.mean:
        terminal.text("no target, so no scores")
        return
    several = judging.n_folds is not None
    header = ["metric", line.method, *(["deviation"] if several else []), "baseline", "better is"]
    lines = [
        [name, line.mean[name], *([line.deviation[name]] if several else []), base.mean.get(name), _better(higher)]
        for name, higher in METRICS[problem.task].items()
        if name in line.mean
    ]
    title = f"{problem.task} of {problem.roles.target!r}, judged by {judging.describe(problem)}, {line.seconds:.1f} s"
    terminal.table(title, header, lines)


def _better(higher: bool) -> str:
    return "higher" if higher else "lower"
