"""``arboretum predict``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arboretum.cli import options
from arboretum.cli.terminal import session

if TYPE_CHECKING:
    from arboretum.data.dataset import Dataset

BATCH_BYTES = 32_000_000  # of the predictions of a batch, their encoding and the file that they are written to


def predict(
    model: options.Model,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write, in any format that is read; - for standard output."
        ),
    ],
    data: options.Data = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COLUMN", help="Column of DATA to write beside predictions; repeatable."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="csv, tsv, json, jsonl, parquet, arrow, …; by the name of FILE."),
    ] = None,
    offset: options.Offset = None,
    positive: options.Positive = None,
    batch: Annotated[
        int, typer.Option("--batch", metavar="NUMBER", min=1, help="Most rows to read at a time.")
    ] = 100_000,
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
    """Predict the rows of DATA, batch by batch, and write predictions with the id columns of the model.

    Columns of classifiers: prediction, and the probability of each class, that of --positive first; of anomalies:
    prediction and score, higher for stranger rows; of several outputs or treatments, one column each.
    """
    with session(as_json=as_json, quiet=quiet, traceback=traceback, out=out) as terminal:
        budget = options.memory_budget(memory_limit)
        from arboretum.cli.files import check_outputs, known_of, tell_written
        from arboretum.cli.predictions import write_predictions
        from arboretum.cli.sources import open_rows
        from arboretum.cli.writers import format_to_write, writer_bytes

        check_outputs({"--out": out}, {"MODEL": model, "DATA": data}, overwrite=overwrite)
        wanted = format_to_write(out, form)
        text = options.text_of(missing, date_format, delimiter, encoding, decimal)
        fitted, roles = options.load_with_roles(model, {"positive": positive}, offset)
        kinds, known = known_of(fitted, roles, text)

        if budget is not None:
            budget = replace(budget, reserved=writer_bytes(wanted))

        def needed(dataset: Dataset) -> int:
            return options.COMMAND_BYTES + BATCH_BYTES

        source = open_rows(data, table=table, sql=sql, text=known, budget=budget, needed_bytes=needed)
        remarks = source.remarks(list(kinds))
        absent = [name for name in roles.ids if name not in source.dataset.names]
        if absent:
            remarks.append(f"{source.name} has no column {', '.join(map(repr, absent))} to name rows by")
        for remark in remarks:
            terminal.remark(remark)
        kept = list(dict.fromkeys([*(name for name in roles.ids if name not in absent), *(keep or [])]))
        replaces = out.exists()
        n_rows = write_predictions(fitted, roles, source, kinds, kept, out, wanted, batch)
        tell_written(terminal, out, replaces=replaces, more=f": {n_rows} rows")
        terminal.result |= {"file": str(out), "rows": n_rows, "remarks": remarks}
