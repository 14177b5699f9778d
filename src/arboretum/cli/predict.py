"""``arboretum predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arboretum.cli import options
from arboretum.cli.terminal import session


def predict(
    model: options.Model,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write: .parquet, .csv or .arrow.")],
    data: options.Data = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COLUMN", help="Column of DATA to write beside predictions; repeatable."),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", metavar="NUMBER", min=1, help="Rows to read at a time.")] = 100_000,
    table: options.Table = None,
    sql: options.Sql = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Predict the rows of DATA, batch by batch, and write predictions with the id columns of the model.

    Columns of classifiers: prediction, and the probability of each class; of anomalies: prediction and score, higher
    for stranger rows; of several outputs or treatments, one column each.
    """
    with session(as_json=as_json, quiet=quiet, traceback=traceback) as terminal:
        from arboretum.cli.columns import kinds_of_model
        from arboretum.cli.files import check_output, load_model, task_of
        from arboretum.cli.predictions import check_format, write_predictions
        from arboretum.cli.sources import open_rows

        check_output(out, overwrite=overwrite)
        check_format(out)
        fitted, roles = load_model(model)
        kinds = {**kinds_of_model(fitted), **roles.kinds}
        source = open_rows(data, table=table, sql=sql, texts=options.texts(kinds))
        kept = list(dict.fromkeys([*roles.ids, *(keep or [])]))
        replaces = out.exists()
        n_rows = write_predictions(fitted, task_of(fitted, roles), source, kinds, kept, out, batch)
        terminal.text(f"{'replaced' if replaces else 'wrote'} {out}: {n_rows} rows")
        terminal.result |= {"file": str(out), "rows": n_rows}
