"""``arboretum report``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.terminal import Terminal, session

if TYPE_CHECKING:
    from arboretum.cli.columns import Examples
    from arboretum.data.memory_budget import MemoryBudget
    from arboretum.tasks import Task

# Where there is a limit to memory: rows of a report, bytes of a value in all its copies, and bytes of the rest.
MOST_ROWS, LEAST_ROWS, CELL_BYTES, REPORT_BYTES = 100_000, 500, 40, 40_000_000
TEXT_COPIES = 4  # of a row: as Arrow reads it, chosen, as Python's own text, and as levels
METRICS_BYTES = 85_000_000  # of scikit-learn's metrics
LONGEST_ID = 100  # letters


def report(
    model: options.Model,
    data: options.Data = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="HTML file to write.")] = Path("report.html"),
    train: Annotated[
        str | None,
        typer.Option("--train", metavar="DATA", help="Rows that the model learnt from, to compare with."),
    ] = None,
    target: options.Target = None,
    offset: options.Offset = None,
    positive: options.Positive = None,
    memory_limit: options.MemoryLimit = None,
    table: options.Table = None,
    sql: options.Sql = None,
    missing: options.Missing = None,
    date_format: options.DateFormats = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    decimal: options.Decimal = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Write a report of a model on the rows of DATA: one HTML file that opens from disk."""
    with session(as_json=as_json, quiet=quiet, traceback=traceback, out=out) as terminal:
        budget = options.memory_budget(memory_limit)
        from arboretum.cli.files import check_outputs
        from arboretum.data.memory_budget import ROW_BYTES

        check_outputs({"--out": out}, {"MODEL": model, "DATA": data, "--train": train}, overwrite=overwrite)
        named = {"target": target, "positive": positive}
        text = options.text_of(missing, date_format, delimiter, encoding, decimal)

        def needed(fitted: Any, task: Task, n_rows: int) -> int:
            return ROW_BYTES * n_rows + report_bytes(fitted.n_features_in_, 1 if train is None else 2)

        fitted, _, rows = options.read_for_model(
            terminal, model, data, table, sql, text, named, offset, budget=budget, needed_bytes=needed
        )
        learnt = None
        if train is not None:
            _, _, learnt = options.read_for_model(
                terminal, model, train, None, None, text, named, offset, budget=budget, needed_bytes=needed
            )
        rows, learnt = some_rows(terminal, budget, rows, learnt)
        write_report(terminal, fitted, rows, out, learnt=learnt)


def report_bytes(n_columns: int, parts: int) -> int:
    """Return the memory of a report of so many columns at least; its rows come from one part of the data or two."""
    metrics = 0 if "sklearn.metrics" in sys.modules else METRICS_BYTES
    return metrics + REPORT_BYTES + parts * LEAST_ROWS * n_columns * CELL_BYTES


def some_rows(
    terminal: Terminal, budget: MemoryBudget | None, rows: Examples, learnt: Examples | None
) -> tuple[Examples, Examples | None]:
    """Return as many rows as memory holds, and say so; all without a limit to memory."""
    if budget is None:
        return rows, learnt
    parts, n_columns = 1 if learnt is None else 2, len(rows.X.names)
    budget.require(report_bytes(n_columns, parts), f"a report of {n_columns} columns")
    import sklearn.metrics  # noqa: F401  # which the report will import: rows are to fit beside it

    of_row = max(n_columns * CELL_BYTES, TEXT_COPIES * max(map(_row_bytes, filter(None, (rows, learnt)))))
    most = int(min(MOST_ROWS, max(LEAST_ROWS, (budget.free() - REPORT_BYTES) / (parts * of_row))))
    terminal.remark(f"the report reads at most {most} of the rows that judge, and of those learnt from")
    return rows.in_memory(most), None if learnt is None else learnt.in_memory(most)


def _row_bytes(rows: Examples) -> float:
    """Return what a row takes with its ids, by the first ones."""
    first = [next(iter(columns.batches(LEAST_ROWS))) for columns in (rows.X, rows.ids) if columns is not None]
    return float(sum(batch.nbytes / batch.num_rows for batch in first))


def write_report(
    terminal: Terminal, model: Any, rows: Examples, path: Path, *, learnt: Examples | None, share: str | None = None
) -> None:
    """Write the report and say how to open it; ``share`` says which rows of their source judge, if not all."""
    from arboretum.cli.errors import ModelError
    from arboretum.cli.file_formats import STANDARD
    from arboretum.cli.files import output_errors, output_path, tell_written
    from arboretum.cli.tasks import positive_class

    if not hasattr(model, "report"):
        raise ModelError(f"{type(model).__name__} has no report: train another --model")
    given = {**rows.fit_arguments(model), "target": rows.target_name, "ids": _columns(rows.ids)}
    given["source"] = rows.source if share is None else f"{rows.source} ({share})"
    replaces = path.exists()
    if learnt is not None:
        given |= {"X_train": learnt.X, "y_train": learnt.target, "ids_train": _columns(learnt.ids)}
        given["source_train"] = learnt.source
        of_learnt = learnt.fit_arguments(model)
        given |= {
            f"{name}_train": of_learnt[name]
            for name in ("sample_weight", "group", "treatment", "offset")
            if name in of_learnt
        }
    if rows.positive is not None:
        given["positive"] = positive_class(model.classes_, rows.positive)
    with output_errors(path), output_path(path) as file:
        model.report(rows.X, rows.target, file, **given)
    place = "" if str(path) == STANDARD else f"; open it in a browser: {path.resolve().as_uri()}"
    tell_written(terminal, path, replaces=replaces, more=place)
    terminal.result |= {"report": str(path)}


def _columns(table: Any) -> dict[str, Any] | None:
    """Return the columns that name rows, by name; a longer text would name no row better."""
    if table is None:
        return None
    import pyarrow as pa
    import pyarrow.compute as compute

    columns = {name: table[name] for name in table.column_names}
    texts = [name for name, column in columns.items() if pa.types.is_string(column.type)]
    columns |= {name: compute.utf8_slice_codeunits(columns[name], 0, LONGEST_ID) for name in texts}
    return {name: column.to_pylist() for name, column in columns.items()}
