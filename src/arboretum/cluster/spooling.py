"""Partitions on the disk of the worker that fits to them: read once, whatever passes a fit makes.

A partition is a task of Dask whose result is written to a file of Arrow on the worker where it was computed. What it
held is known by a digest: should the worker be lost, the partition is computed again elsewhere, and a source that does
not repeat itself is found out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arboretum.data.arrow_types import Parts
from arboretum.data.dask_rows import as_table
from arboretum.data.memory_budget import MemoryBudget
from arboretum.data.sources import BATCH_ROWS, as_arrow

GIVEN = "arboretum "  # begins the names of columns that were given beside X
DIGEST_BYTES = 1 << 20  # that are read at a time


@dataclass(frozen=True)
class Spooled:
    """A partition in a file."""

    number: int
    path: str
    n_rows: int
    digest: str


def spool(folder: str, number: int, X: Any, **given: Any) -> Spooled:
    """Write a partition, with the columns that were given beside it, to a folder of the worker that runs this task."""
    from distributed import get_worker
    from pyarrow import ipc

    table = with_columns(as_table(X), given, number)
    place = Path(get_worker().local_directory) / folder
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{number}.arrow"
    with ipc.new_file(str(path), table.schema) as file:
        for batch in table.to_batches(max_chunksize=BATCH_ROWS):
            file.write_batch(batch)
    return Spooled(number, str(path), table.num_rows, _digest(path))


def with_columns(table: Any, given: Mapping[str, Any], number: int) -> Any:
    """Return the table of a partition with the columns that were given beside it."""
    import pyarrow

    for name, values in given.items():
        is_array = isinstance(values, np.ndarray)
        column = pyarrow.array(values) if is_array else as_arrow(values.to_frame("given")).column(0)
        if len(column) != table.num_rows:
            raise ValueError(
                f"partition {number} of X has {table.num_rows} rows, but that of {name} has {len(column)}: give "
                "both the same partitions, or name a column of X"
            )
        table = table.append_column(f"{GIVEN}{name}", column)
    return table


def _digest(path: Path) -> str:
    found = hashlib.sha256()  # processors have instructions for it
    with path.open("rb", buffering=0) as file:
        while block := file.read(DIGEST_BYTES):
            found.update(block)
    return found.hexdigest()


class SpooledRows(Parts):
    """Rows of partitions on this worker, in their order.

    Parameters
    ----------
    partitions : sequence of Spooled
        At least one.
    """

    def __init__(self, partitions: Sequence[Spooled]) -> None:
        self.partitions = partitions

    def prepare(self, budget: MemoryBudget | None) -> None:
        """Do nothing: the files are there."""

    def survey(self) -> Iterator[tuple[Any, int, str]]:
        """Yield what the partitions hold."""
        for one in self.partitions:
            with _opened(one) as file:
                yield file.schema, one.n_rows, f"partition {one.number}"

    def batches(self, names: Sequence[str], size: int, memory: int | None = None) -> Iterator[Any]:
        """Read the columns of these names alone, in the types of all partitions."""
        import pyarrow

        types = pyarrow.schema([self.schema().field(name) for name in names])
        for one in self.partitions:
            with _opened(one) as file:
                for number in range(file.num_record_batches):
                    table = pyarrow.Table.from_batches([file.get_batch(number)]).select(list(names))
                    yield from table.cast(types).to_batches(max_chunksize=size)

    def buffers(self, names: Sequence[str]) -> list[int]:
        """Return the bytes that a reader holds of each column: none."""
        return [0] * len(names)


def _opened(partition: Spooled) -> Any:
    """Map a file into memory: columns that nobody looks at are not read, and rows are not copied.

    With ``included_fields`` Arrow would allocate whole batches, even for one column.
    """
    from pyarrow import ipc, memory_map

    return ipc.open_file(memory_map(partition.path))
