"""``arboretum report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.terminal import Terminal, session

if TYPE_CHECKING:
    from arboretum.cli.columns import Examples


def report(
    model: options.Model,
    data: options.Data = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="HTML file to write.")] = Path("report.html"),
    train: Annotated[
        str | None,
        typer.Option("--train", metavar="DATA", help="Rows that the model learnt from, to compare with."),
    ] = None,
    target: options.Target = None,
    table: options.Table = None,
    sql: options.Sql = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Write a report of a model on the rows of DATA: one HTML file that opens from disk."""
    with session(as_json=as_json, quiet=quiet, traceback=traceback) as terminal:
        from arboretum.cli.files import check_output

        check_output(out, overwrite=overwrite)
        named = {"target": target}
        fitted, _, rows = options.read_for_model(terminal, model, data, table, sql, named)
        learnt = None
        if train is not None:
            _, _, learnt = options.read_for_model(terminal, model, train, None, None, named)
        write_report(terminal, fitted, rows, out, learnt=learnt)


def write_report(terminal: Terminal, model: Any, rows: Examples, path: Path, *, learnt: Examples | None) -> None:
    """Write the report and say how to open it."""
    from arboretum.cli.errors import ModelError
    from arboretum.cli.files import written_whole

    if not hasattr(model, "report"):
        raise ModelError(f"{type(model).__name__} has no report: train another --model")
    replaces, given = path.exists(), rows.fit_arguments(model)
    if learnt is not None:
        given |= {"X_train": learnt.X, "y_train": learnt.target}
        of_learnt = learnt.fit_arguments(model)
        given |= {f"{name}_train": of_learnt[name] for name in ("group", "treatment") if name in given}
    with written_whole(path) as temporary:
        model.report(rows.X, rows.target, temporary, **given)
    terminal.text(f"{'replaced' if replaces else 'wrote'} {path}; open it in a browser: {path.resolve().as_uri()}")
    terminal.result |= {"report": str(path)}
