"""Predictions as columns, written batch by batch."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from arboretum.cli.columns import OFFSET_ROLE, read_offset, require, select
from arboretum.cli.errors import UsageError
from arboretum.cli.files import ModelFile, destination
from arboretum.cli.sources import Rows
from arboretum.cli.tasks import place_of_class
from arboretum.cli.writers import open_writer
from arboretum.data.sources import identifier


def predictions(file: ModelFile, X: Any, offset: Any = None) -> dict[str, Any]:
    """Return the columns of predictions, by name; the probability of the positive class comes first.

    Examples
    --------
    >>> import arboretum as arb
    >>> from arboretum.cli.columns import Roles
    >>> model = arb.DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    >>> predictions(ModelFile(model, Roles()), [[1]])
    {'prediction': array(['yes'], dtype='<U3'), 'probability of no': array([0.]), 'probability of yes': array([1.])}
    """
    given = {} if offset is None else {"offset": offset}
    positive = None if file.roles.positive is None else place_of_class(file.classes, file.roles.positive)
    return file.task.columns(file.model, X, positive=positive, **given)


def write_predictions(
    file: ModelFile, source: Rows, kept: Sequence[str], path: Path, wanted: str, batch_rows: int
) -> int:
    """Predict and write batch by batch; return the number of rows."""
    import pyarrow as pa

    kinds, offset = file.kinds, file.roles.offset
    require(source.dataset, [*kinds, *kept], source.name)
    require(source.dataset, offset, source.name, OFFSET_ROLE)
    n_rows, write = 0, None
    with destination(path) as target, ExitStack() as opened:
        for batch in source.batches(batch_rows, [*kinds, *kept, *offset]):
            found = predictions(file, select(batch, kinds, source.name), read_offset(batch, offset))
            if clash := [name for name in kept if name in found]:
                column = identifier(clash[0])
                query = f"SELECT * EXCLUDE ({column}), {column} AS given FROM data"
                raise UsageError(
                    f"the column {clash[0]!r} of {source.name} would stand beside predictions of that name: rename it, "
                    f"as in --sql {shlex.quote(query)}"
                )
            table = pa.table({name: batch[name] for name in kept} | {n: pa.array(v) for n, v in found.items()})
            write = write or opened.enter_context(open_writer(target, path.name, wanted, table.schema))
            write(table)
            n_rows += table.num_rows
    return n_rows
