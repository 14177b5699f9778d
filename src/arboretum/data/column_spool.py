"""Columns that cannot be read side by side: they are written to temporary files group by group, and joined row by row.

::

    group 1   a b c │ rows 0 … 999 │ rows 1000 … 1999 │ …      an Arrow file each, of which a block of rows
    group 2   d e f │ rows 0 … 999 │ rows 1000 … 1999 │ …      is read without holding anything else
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any


class ColumnSpool:
    """Groups of columns of the same rows, in a temporary folder that goes with the object.

    Examples
    --------
    >>> import pyarrow as pa
    >>> spool = ColumnSpool()
    >>> for name in "ab":
    ...     batch = pa.record_batch({name: [1, 2, 3]})
    ...     spool.write([batch], batch.schema)
    >>> [batch.to_pydict() for batch in spool.batches(["b", "a"], 2)]
    [{'b': [1, 2], 'a': [1, 2]}, {'b': [3], 'a': [3]}]
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="arboretum-"))
        self._groups: list[tuple[Path, list[str]]] = []
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def write(self, batches: Iterable[Any], schema: Any) -> None:
        """Add a group: all its rows, in their order."""
        from pyarrow import ipc

        path = self._folder / f"{len(self._groups)}.arrow"
        with ipc.new_file(str(path), schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        self._groups.append((path, schema.names))

    def holds(self, names: Sequence[str]) -> bool:
        """Return whether all of these columns were written."""
        return set(names) <= {name for _, held in self._groups for name in held}

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield record batches of these columns, of at most ``size`` rows."""
        import pyarrow

        wanted = set(names)
        streams = [_blocks(path, held, wanted, size) for path, held in self._groups if wanted & set(held)]
        for blocks in _aligned(streams):
            columns = {name: block[name] for block in blocks for name in block.schema.names}
            yield pyarrow.record_batch([columns[name] for name in names], names=list(names))


def _blocks(path: Path, held: list[str], wanted: set[str], size: int) -> Iterator[Any]:
    from pyarrow import OSFile, ipc

    options = ipc.IpcReadOptions(included_fields=[place for place, name in enumerate(held) if name in wanted])
    with OSFile(str(path)) as file, ipc.open_file(file, options=options) as reader:
        for number in range(reader.num_record_batches):
            block = reader.get_batch(number)
            for first in range(0, block.num_rows, size):
                yield block.slice(first, size)


def _aligned(streams: Sequence[Iterator[Any]]) -> Iterator[list[Any]]:
    """Cut blocks of several streams of the same rows to the same lengths."""
    blocks: list[Any] = [next(stream, None) for stream in streams]
    while all(block is not None for block in blocks):
        n_rows = min(block.num_rows for block in blocks)
        yield [block.slice(0, n_rows) for block in blocks]
        blocks = [
            next(stream, None) if block.num_rows == n_rows else block.slice(n_rows)
            for block, stream in zip(blocks, streams, strict=True)
        ]
