"""``arboretum train``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.command import command
from arboretum.cli.terminal import Terminal

if TYPE_CHECKING:
    from arboretum.cli.leaderboard import Line
    from arboretum.cli.problem import Judging, Problem


@command
def train(
    terminal: Terminal,
    columns: options.Learning,
    data: options.Reading,
    task: options.Task = "auto",
    model: Annotated[str, typer.Option("--model", "-m", metavar="METHOD", help=options.METHODS_HELP)] = "auto",
    members: Annotated[
        options.Name,
        options.named(
            "--members",
            "METHODS",
            "What stack, blend or vote combines, such as boosted,forest,extra,linear; linear is boosted trees with "
            "linear leaves. By default boosted,forest,extra; boosted trees of three losses for rankings; "
            "boosted,forest for survival.",
        ),
    ] = None,
    settings: Annotated[
        options.Names, options.named("--set", "NAME=VALUE", "A parameter of the estimator; repeatable.")
    ] = None,
    test: Annotated[options.Name, options.named("--test", "DATA", "Rows to judge by.")] = None,
    cv: options.Folds = None,
    holdout: options.Holdout = None,
    time_limit: options.TimeLimit = None,
    memory_limit: options.MemoryLimit = None,
    cluster: options.Cluster = None,
    checkpoint: Annotated[
        Path | None, options.named("--checkpoint", "FILE", "Go on from this file, if a run was killed; write it.")
    ] = None,
    every: Annotated[float, options.named("--checkpoint-every", "SECONDS", "How often to write it.", min=0.0)] = 30.0,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Model file to write.")] = Path("model.arb"),
    report: Annotated[Path | None, options.named("--report", "FILE", "HTML report to write.")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Train a model, judge it by rows it has not seen, beside a baseline, and write it.

    The task and the kinds of columns are guessed, and said. With --cv, or with few rows, folds judge and the model
    that is written learns from all rows, while --report shows that of the last fold; otherwise the model that is
    judged is the one that is written. --memory-limit leaves rows in their files, and --cluster lets workers read and
    fit them; the model is the same. After a crash the same command with the same --checkpoint goes on to the model
    that it would have written, and then removes the file.
    """
    budget = options.memory_budget(memory_limit)
    from arboretum.cli import files, leaderboard, methods, opening, tasks
    from arboretum.cli.cluster import opened
    from arboretum.cli.report import report_bytes, some_rows, write_report

    outputs = {"--checkpoint": checkpoint, "--out": out, "--report": report}
    inputs = {"DATA": data.data, "--test": test}
    files.check_outputs(outputs, inputs, overwrite=overwrite, renewed=("--checkpoint",))
    roles = columns.roles()
    chosen = methods.parse_settings(settings or [])

    def needed(n_rows: int, n_columns: int) -> int:
        of_report = 0 if report is None else report_bytes(n_columns, parts=2)
        return max(of_report, methods.training_bytes(model, n_rows, n_columns, settings=chosen))

    if cluster is not None:
        _check_cluster(model, memory_limit)
    reading: dict[str, Any] = {"budget": budget, "streams": budget is not None or cluster is not None}
    with opened(cluster) as client:
        problem = opening.open_problem(terminal, data, roles, task, training_bytes=needed, **reading)
        if budget is not None:
            methods.check_streams(model, problem.task)
        if cluster is not None:
            methods.check_on_cluster(model, problem.task)
        if roles.offset:
            methods.check_offset(model, problem.task)
        if "control" not in chosen:
            tasks.check_control(problem.rows.treatment, roles, "name the control, as in --set control={}")
        judging = opening.open_judging(terminal, data, problem, cv, holdout, test=test, **reading)
        new_model = partial(methods.make, model, problem.task, settings=chosen, members=members)
        given = {**fit_options(new_model(), time_limit, checkpoint, every), "client": client}
        with methods.setting_errors(chosen):
            fitted, line = _fit_and_judge(terminal, new_model, problem, judging, given)
    if line is not None:
        show_scores(terminal, problem, judging, line, leaderboard.measure_baseline(problem, judging))
    files.save_model(terminal, fitted, out, problem.roles, with_size=True)
    terminal.result |= {"fingerprint": fitted.fingerprint(), "class": type(fitted).__name__}
    if terminal.interrupted:
        terminal.text(_after_interruption(line is not None, checkpoint, report))
        return
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
        terminal.text(f"removed {checkpoint}, because the run is done")
    if report is not None:
        assert line is not None
        *_, (learnt, judged) = judging.parts(problem)
        judged, compared = some_rows(terminal, budget, judged, learnt)
        share = judging.describe_last(problem)
        write_report(terminal, line.model, judged, report, learnt=compared, share=share)
        if judging.n_folds is not None:
            terminal.text(f"the report is about {share}; the model that was written was trained on all rows")
            terminal.result |= {"report_about": share}


def _check_cluster(model: str, memory_limit: str | None) -> None:
    """Reject what a cluster cannot do, before it is asked."""
    from arboretum.cli.errors import UsageError
    from arboretum.cli.methods import check_on_cluster

    check_on_cluster(model)
    if memory_limit is not None:
        raise UsageError(
            "--memory-limit and --cluster contradict each other: the rows of a fit are with the workers, whose memory "
            "is set where they are started; leave out one of them"
        )


def fit_options(model: Any, time_limit: float | None, checkpoint: Path | None, every: float) -> dict[str, Any]:
    """Return what ``leaderboard.fit`` takes besides rows; reject what the estimator does not know."""
    from arboretum import Checkpoint
    from arboretum.cli.errors import UsageError
    from arboretum.estimators.classes import arguments

    name, cure = type(model).__name__, "boosted trees do (--model boosted)"
    if checkpoint is not None and "checkpoint" not in arguments(type(model).fit):
        raise UsageError(f"--checkpoint: {name} has none; {cure}")
    if time_limit is not None and "time_limit" not in model.get_params(deep=False):
        raise UsageError(f"--time-limit: {name} knows none; {cure}")
    return {
        "time_limit": time_limit,
        "checkpoint": None if checkpoint is None else Checkpoint(checkpoint, seconds=every),
    }


def _fit_and_judge(
    terminal: Terminal,
    new_model: Callable[[], Any],
    problem: Problem,
    judging: Judging,
    given: dict[str, Any],
) -> tuple[Any, Line | None]:
    """Return the model to write, and how it, or its like of each fold, is judged; None if Ctrl-C came first."""
    from arboretum.cli.leaderboard import fit, measure, whole_fits
    from arboretum.running.interruption import InterruptedFit

    name, given = type(new_model()).__name__, {**given, "progress": terminal.shows_progress}
    if judging.n_folds is None:
        line = measure(name, new_model, problem, judging, **given)
        return line.model, line
    fitted = fit(new_model(), problem.rows, **given)
    try:
        if not terminal.interrupted:
            with whole_fits():
                return fitted, measure(name, new_model, problem, judging, **{**given, "checkpoint": None})
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


def show_scores(terminal: Terminal, problem: Problem, judging: Judging, line: Line, base: Line) -> None:
    """Print the metrics of a model beside those of the baseline."""
    from arboretum.cli.scores import lines

    baseline = {**base.mean, **line.constant}
    terminal.result |= problem.to_json(judging) | {
        "scores": dict(line.mean),
        "deviations": dict(line.deviation),
        "baseline": baseline,
        "seconds": line.seconds,
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
