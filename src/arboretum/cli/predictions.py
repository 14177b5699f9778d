"""Predictions as columns, written batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arboretum.cli.columns import require, select
from arboretum.cli.errors import DataError, UsageError
from arboretum.cli.files import written_whole
from arboretum.cli.sources import Rows

FORMATS = (".parquet", ".csv", ".arrow")


def check_format(path: Path) -> None:
    """Refuse a file whose format cannot be written."""
    if path.suffix not in FORMATS:
        raise UsageError(f"--out {path}: predictions are written as {', '.join(FORMATS)}")


def predictions(model: Any, X: Any, task: str) -> dict[str, Any]:
    """Return the columns of predictions, by name.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    >>> predictions(model, [[1]], "binary")
    {'prediction': array(['yes'], dtype='<U3'), 'probability of no': array([0.]), 'probability of yes': array([1.])}
    """
    if task in ("binary", "multiclass"):
        chance = np.asarray(model.predict_proba(X))
        named = {f"probability of {label}": chance[:, j] for j, label in enumerate(model.classes_.tolist())}
        return {"prediction": np.asarray(model.predict(X)), **named}
    values = np.asarray(model.predict(X))
    if task == "anomaly":
        return {"prediction": values, "score": -np.asarray(model.score_samples(X))}
    name = {"uplift": "uplift", "survival": "risk", "ranking": "score"}.get(task, "prediction")
    if values.ndim == 1:
        return {name: values}
    labels = model.arms_[1:].tolist() if task == "uplift" else range(values.shape[1])
    return {f"{name} {label}": values[:, j] for j, label in enumerate(labels)}


def write_predictions(
    model: Any, task: str, source: Rows, kinds: Mapping[str, str], kept: Sequence[str], path: Path, batch_rows: int
) -> int:
    """Predict and write batch by batch; return the number of rows."""
    import pyarrow as pa

    n_rows, writer = 0, None
    with written_whole(path) as temporary:
        try:
            for batch in source.batches(batch_rows):
                require(batch, kept, source.name)
                found = predictions(model, select(batch, kinds, source.name), task)
                if clash := [name for name in kept if name in found]:
                    raise UsageError(f"--keep {clash[0]}: predictions have a column of that name; rename it by --sql")
                columns = {**{name: batch[name] for name in kept}, **{name: pa.array(v) for name, v in found.items()}}
                table = pa.table(columns)
                if writer is None:
                    writer = _writer(temporary, table.schema)
                writer.write_table(table)
                n_rows += table.num_rows
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise DataError(f"{source.name} has no rows: see whether the query or its filter is right")
    return n_rows


def _writer(path: Path, schema: Any) -> Any:
    if path.suffix == ".parquet":
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(str(path), schema)
    if path.suffix == ".csv":
        import pyarrow.csv

        return pyarrow.csv.CSVWriter(str(path), schema)
    import pyarrow.ipc

    return pyarrow.ipc.new_file(str(path), schema)
