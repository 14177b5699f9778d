"""Predictions as columns, written batch by batch."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arboretum.cli.columns import OFFSET_ROLE, Roles, read_offset, require, select
from arboretum.cli.errors import UsageError
from arboretum.cli.files import destination, task_of
from arboretum.cli.sources import Rows
from arboretum.cli.tasks import place_of_class
from arboretum.cli.writers import open_writer
from arboretum.data.sources import identifier
from arboretum.tasks import Task


def predictions(model: Any, X: Any, task: Task, *, positive: str | None = None, offset: Any = None) -> dict[str, Any]:
    """Return the columns of predictions, by name; the probability of the positive class comes first.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    >>> predictions(model, [[1]], model.task_)
    {'prediction': array(['yes'], dtype='<U3'), 'probability of no': array([0.]), 'probability of yes': array([1.])}
    """
    given = {} if offset is None else {"offset": offset}
    first = None if positive is None else place_of_class(model.classes_, positive)
    return task.columns(model, X, positive=first, **given)


def write_predictions(
    model: Any,
    roles: Roles,
    source: Rows,
    kinds: Mapping[str, str],
    kept: Sequence[str],
    path: Path,
    wanted: str,
    batch_rows: int,
) -> int:
    """Predict and write batch by batch; return the number of rows."""
    import pyarrow as pa

    require(source.dataset, [*kinds, *kept], source.name)
    require(source.dataset, roles.offset, source.name, OFFSET_ROLE)
    task, n_rows, writer = task_of(model, roles), 0, None
    with destination(path) as target:
        try:
            for batch in source.batches(batch_rows, [*kinds, *kept, *roles.offset]):
                offset = read_offset(batch, roles.offset)
                X = select(batch, kinds, source.name)
                found = predictions(model, X, task, positive=roles.positive, offset=offset)
                if clash := [name for name in kept if name in found]:
                    column = identifier(clash[0])
                    query = f"SELECT * EXCLUDE ({column}), {column} AS given FROM data"
                    raise UsageError(
                        f"the column {clash[0]!r} of {source.name} would stand beside predictions of that name: rename "
                        f"it, as in --sql {shlex.quote(query)}"
                    )
                columns = {**{name: batch[name] for name in kept}, **{name: pa.array(v) for name, v in found.items()}}
                table = pa.table(columns)
                if writer is None:
                    writer = open_writer(target, path.name, wanted, table.schema)
                writer.write(table)
                n_rows += table.num_rows
        finally:
            if writer is not None:
                writer.close()
    return n_rows
