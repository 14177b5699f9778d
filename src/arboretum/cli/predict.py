"""``arboretum predict``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from arboretum.cli import options
from arboretum.cli.command import command
from arboretum.cli.terminal import Terminal

BATCH_BYTES = 32_000_000  # of the predictions of a batch, their encoding and the file that they are written to


@command
def predict(
    terminal: Terminal,
    model: options.Model,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write, in any format that is read; - for standard output."
        ),
    ],
    data: options.Reading,
    consent: options.Consent,
    keep: Annotated[
        options.Names, options.named("--keep", "COLUMN", "Column of DATA to write beside predictions; repeatable.")
    ] = None,
    form: Annotated[
        options.Name,
        options.named("--format", "NAME", "csv, tsv, json, jsonl, parquet, arrow, …; by the name of FILE."),
    ] = None,
    offset: options.Offset = None,
    positive: options.Positive = None,
    batch: Annotated[int, options.named("--batch", "NUMBER", "Most rows to read at a time.", min=1)] = 100_000,
    memory_limit: options.MemoryLimit = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Predict the rows of DATA, batch by batch, and write predictions with the id columns of the model.

    Columns of classifiers: prediction, and the probability of each class, that of --positive first; of anomalies:
    prediction and score, higher for stranger rows; of several outputs or treatments, one column each.
    """
    budget = options.memory_budget(memory_limit)
    from arboretum.cli import files, opening, predictions, writers

    files.check_outputs({"--out": out}, {"MODEL": model, "DATA": data.data}, overwrite=overwrite)
    wanted = writers.format_to_write(out, form)
    columns = options.Columns(offset=offset, positive=positive)
    file = files.ModelFile.load(model, consent).with_roles(columns.given)
    text = file.text(data.text())
    if budget is not None:
        budget = replace(budget, reserved=writers.writer_bytes(wanted))
    source = data.open(text, budget, lambda dataset: opening.COMMAND_BYTES + BATCH_BYTES)
    absent = [name for name in file.roles.ids if name not in source.dataset.names]
    remarks = source.remarks(list(file.kinds))
    if absent:
        remarks.append(f"{source.name} has no column {', '.join(map(repr, absent))} to name rows by")
    terminal.remark(*remarks)
    kept = list(dict.fromkeys([*(name for name in file.roles.ids if name not in absent), *(keep or [])]))
    with files.told(terminal, out) as words:
        n_rows = predictions.write_predictions(file, source, kept, out, wanted, batch)
        words.append(f": {n_rows} rows")
    terminal.result |= {"file": str(out), "rows": n_rows, "remarks": remarks}
