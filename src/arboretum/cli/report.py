"""``arboretum report``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.command import command
from arboretum.cli.terminal import Terminal

if TYPE_CHECKING:
    from arboretum.cli.columns import Examples
    from arboretum.cli.files import ModelFile
    from arboretum.data.memory_budget import MemoryBudget
    from arboretum.tasks import Task

# With a memory limit: rows of a report, bytes of a value in all its copies, and bytes of the rest.
MOST_ROWS, LEAST_ROWS, CELL_BYTES, REPORT_BYTES = 100_000, 500, 40, 40_000_000
TEXT_COPIES = 4  # of a row: as Arrow reads it, chosen, as Python's own text, and as levels
METRICS_BYTES = 85_000_000  # of scikit-learn's metrics
LONGEST_ID = 100  # letters


@command
def report(
    terminal: Terminal,
    model: options.Model,
    columns: options.Columns,
    data: options.Reading,
    consent: options.Consent,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="HTML file to write.")] = Path("report.html"),
    train: Annotated[
        options.Name, options.named("--train", "DATA", "Rows that the model was trained on, to compare with.")
    ] = None,
    memory_limit: options.MemoryLimit = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write a report of a model on the rows of DATA: one HTML file that opens from disk."""
    budget = options.memory_budget(memory_limit)
    from arboretum.cli import files, opening
    from arboretum.data.memory_budget import ROW_BYTES

    files.check_outputs({"--out": out}, {"MODEL": model, "DATA": data.data, "--train": train}, overwrite=overwrite)

    def needed(fitted: Any, task: Task, n_rows: int) -> int:
        return ROW_BYTES * n_rows + report_bytes(fitted.n_features_in_, 1 if train is None else 2)

    def opened(where: options.Reading) -> tuple[ModelFile, Examples]:
        return opening.open_model(terminal, model, where, columns, consent, budget=budget, needed_bytes=needed)

    file, rows = opened(data)
    learnt = None if train is None else opened(replace(data, data=train, table=None, sql=None))[1]
    rows, learnt = some_rows(terminal, budget, rows, learnt)
    write_report(terminal, file.model, rows, out, learnt=learnt)


def report_bytes(n_columns: int, parts: int) -> int:
    """Return the least memory of a report of this many columns, whose rows come from one or two parts of the data."""
    metrics = 0 if "sklearn.metrics" in sys.modules else METRICS_BYTES
    return metrics + REPORT_BYTES + parts * LEAST_ROWS * n_columns * CELL_BYTES


def some_rows(
    terminal: Terminal, budget: MemoryBudget | None, rows: Examples, learnt: Examples | None
) -> tuple[Examples, Examples | None]:
    """Return as many rows as memory holds, and say so; return all of them if they are in memory."""
    from arboretum.data.dataset import Dataset

    if not isinstance(rows.X, Dataset):
        return rows, learnt
    most = MOST_ROWS if budget is None else _rows_within(budget, rows, learnt)
    terminal.remark(f"the report reads at most {most} of the rows that judge, and as many of the training rows")
    return rows.in_memory(most), None if learnt is None else learnt.in_memory(most)


def _rows_within(budget: MemoryBudget, rows: Examples, learnt: Examples | None) -> int:
    """Return how many rows of each part memory holds."""
    parts, n_columns = 1 if learnt is None else 2, len(rows.X.names)
    budget.require(report_bytes(n_columns, parts), f"a report of {n_columns} columns")
    import sklearn.metrics  # noqa: F401  # which the report will import, and rows must fit beside

    of_row = max(n_columns * CELL_BYTES, TEXT_COPIES * max(map(_row_bytes, filter(None, (rows, learnt)))))
    return int(min(MOST_ROWS, max(LEAST_ROWS, (budget.free() - REPORT_BYTES) / (parts * of_row))))


def _row_bytes(rows: Examples) -> float:
    """Estimate the bytes of a row with its ids from the first rows."""
    first = [next(iter(columns.batches(LEAST_ROWS))) for columns in (rows.X, rows.ids) if columns is not None]
    return float(sum(batch.nbytes / batch.num_rows for batch in first))


def write_report(
    terminal: Terminal, model: Any, rows: Examples, path: Path, *, learnt: Examples | None, share: str | None = None
) -> None:
    """Write the report and say how to open it; ``share`` names the rows of the data that judge, if not all do."""
    from arboretum.cli import files, tasks

    given = {**rows.fit_arguments(model), "target": rows.target_name, "ids": _columns(rows.ids)}
    given["source"] = rows.source if share is None else f"{rows.source} ({share})"
    if learnt is not None:
        given |= {"X_train": learnt.X, "y_train": learnt.target, "ids_train": _columns(learnt.ids)}
        given |= {f"{name}_train": value for name, value in learnt.fit_arguments(model).items()}
        given["source_train"] = learnt.source
    if rows.positive is not None:
        given["positive"] = tasks.positive_class(model.task_, model.classes_, rows.positive)
    with files.told(terminal, path) as words, files.destination(path) as target, TemporaryDirectory() as folder:
        if isinstance(target, Path):
            model.report(rows.X, rows.target, target, **given)
            words.append(f"; open it in a browser: {path.resolve().as_uri()}")
        else:
            page = Path(folder) / "report.html"
            model.report(rows.X, rows.target, page, **given)
            target.write(page.read_bytes())
    terminal.result |= {"report": str(path)}


def _columns(table: Any) -> dict[str, Any] | None:
    """Return the columns that name rows, by name, with long text cut."""
    if table is None:
        return None
    import pyarrow as pa
    import pyarrow.compute as compute

    cut = {
        name: compute.utf8_slice_codeunits(column, 0, LONGEST_ID) if pa.types.is_string(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return {name: column.to_pylist() for name, column in cut.items()}
