"""Parquet files as rows of a Dataset: any layout is read within the memory that the reader is given.

::

    a page of every column fits    columns side by side, some rows at a time ──────────────────────────► record batches
    it does not                    columns in groups ──► temporary files (column_spool.py), some rows at a time ──┘

pyarrow decodes pages when their rows are wanted, so the sizes of row groups and files do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

import numpy as np

from arboretum.cached import cached_property
from arboretum.data.arrow_types import Parts, as_type, plain_type, width_of
from arboretum.data.column_spool import ColumnSpool
from arboretum.data.memory_budget import (
    BATCH_SHARE,
    MOST_READING,
    PAGES_SHARE,
    READER_BYTES,
    MemoryBudget,
    ReaderMemoryError,
    give_back,
    grouped,
)
from arboretum.data.parquet_pages import ENCRYPTED_MAGIC, MAGIC, STREAM_BUFFER, footer_bytes, open_bytes, overhead

UNLIMITED = 512_000_000  # bytes that batches are planned for where there is no limit
OBJECT_BYTES = 96  # of a text as a Python object, and of the place that refers to it
PROBED_ROWS = 256  # which tell how long text is
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


class ParquetFiles(Parts):
    """Parquet files, one below the other; columns are matched by name.

    Folders named ``column=value`` on the way to the files are columns, as of a partitioned table.

    Parameters
    ----------
    files : sequence of str
        Their paths.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self.files = list(files)
        self._spools: list[ColumnSpool] = []

    def prepare(self, budget: MemoryBudget | None) -> None:
        """Read the footers, which stay in memory one at a time; a limit that does not hold the largest is rejected."""
        if "surveyed" not in vars(self) and budget is not None:
            largest = max(map(_footer_of, self.files))
            if largest > READER_BYTES:
                budget.begun().require(READER_BYTES + largest, f"reading the footer of {self._shown}")
        self.schema()

    @property
    def _shown(self) -> str:
        return self.files[0] + (f" and {len(self.files) - 1} more" if len(self.files) > 1 else "")

    @cached_property
    def _parts(self) -> list[_Part]:
        texts = [_folder_texts(file) for file in self.files]
        shared = [name for name in texts[0] if all(name in one for one in texts)]
        columns = {name: _parsed([one[name] for one in texts]) for name in shared}
        footer = _Footer()
        return [_Part(file, {name: columns[name][i] for name in shared}, footer) for i, file in enumerate(self.files)]

    def survey(self) -> Iterator[tuple[Any, int, str]]:
        """Yield what the footers say."""
        return ((part.schema, part.n_rows, part.path) for part in self._parts)

    def batches(self, names: Sequence[str], size: int, memory: int | None = None) -> Iterator[Any]:
        """Stream the files in their order."""
        schema = _chosen(self.schema(), names)
        pages = 0 if memory is None else sum(self.buffers(names))
        if memory is None or pages <= PAGES_SHARE * memory:
            # Threads have heaps of their own, of which nothing is given back before they end.
            threads = memory is None or memory >= MOST_READING + 2 * pages
            return self._slices(schema, self._rows_of_batch(schema, size, memory), threads=threads)
        if not any(spool.holds(names) for spool in self._spools):
            self._spools.append(self._spool(schema, memory))
        return next(spool for spool in self._spools if spool.holds(names)).batches(names, size)

    def _slices(self, schema: Any, n_rows: int, *, threads: bool = False) -> Iterator[Any]:
        for part in self._parts:
            yield from part.batches(schema, n_rows, threads=threads)

    def buffers(self, names: Sequence[str]) -> list[int]:
        """Return the bytes of the pages that a reader holds of each column."""
        return _most_held(self._parts, names)

    def parted(self, n_rows: int) -> list[ParquetRows]:
        """Return sources of about this many rows each, one below the other, which end with row groups if they can."""
        edges = np.cumsum([count for part in self._parts for count in part.groups])
        total = self.n_rows()
        cuts = np.linspace(0, total, max(1, round(total / n_rows)) + 1).astype(int)
        nearest = edges[np.abs(edges[:, None] - cuts[1:-1]).argmin(axis=0)] if len(edges) else cuts[1:-1]
        cuts[1:-1] = np.where(np.abs(nearest - cuts[1:-1]) <= n_rows // 2, nearest, cuts[1:-1])
        return [self._between(first, last) for first, last in pairwise(np.unique(cuts).tolist() if total else [0, 0])]

    def _between(self, first: int, last: int) -> ParquetRows:
        found, start = [], 0
        for part in self._parts:
            rows = range(max(first - start, 0), min(last - start, part.n_rows))
            found += [(part, rows)] if rows else []
            start += part.n_rows
        return ParquetRows(self.schema(), tuple(found))

    def _rows_of_batch(self, schema: Any, size: int, memory: int | None) -> int:
        of_row = max(1.0, self._parts[0].row_bytes(schema))
        planned = UNLIMITED if memory is None else min(memory, MOST_READING)
        return min(size, max(1, int(BATCH_SHARE * planned / of_row)))

    def _spool(self, schema: Any, memory: int) -> ColumnSpool:
        """Write as many columns at a time as have pages that fit in memory."""
        held = dict(zip(schema.names, self.buffers(schema.names), strict=True))
        widest = max(held, key=held.__getitem__)
        if held[widest] > PAGES_SHARE * memory:
            raise ReaderMemoryError(int(held[widest] / PAGES_SHARE), f"reading column {widest!r} of {self._shown}")
        spool, n_rows = ColumnSpool(), self._rows_of_batch(schema, 1 << 20, memory)
        for places in grouped(list(held.values()), int(PAGES_SHARE * memory)):
            group = _chosen(schema, [schema.names[place] for place in places])
            spool.write(self._slices(group, n_rows), group)
            give_back()
        return spool


@dataclass(frozen=True)
class ParquetRows:
    """Some rows of Parquet files that follow each other; no other files and row groups are read.

    Parameters
    ----------
    types : pyarrow.Schema
        Names and types of all files.
    parts : tuple of (file, range)
        The files that hold the rows, and which of their rows.
    """

    types: Any
    parts: tuple[tuple[_Part, range], ...]

    def prepare(self, budget: MemoryBudget | None) -> None:
        """Do nothing: the footers are known."""

    def schema(self) -> Any:
        """Return names and types."""
        return self.types

    def n_rows(self) -> int:
        """Return the number of rows."""
        return sum(len(rows) for _, rows in self.parts)

    def batches(self, names: Sequence[str], size: int, memory: int | None = None) -> Iterator[Any]:
        """Stream the rows in their order."""
        for part, rows in self.parts:
            yield from part.batches(_chosen(self.types, names), size, rows=rows, threads=True)

    def buffers(self, names: Sequence[str]) -> list[int]:
        """Return the bytes of the pages that a reader holds of each column."""
        return _most_held([part for part, _ in self.parts], names)


@dataclass
class _Footer:
    """The footer of the file that was opened last: large ones take long to read, and who holds one has counted it."""

    file: tuple[str, int, int] | None = None  # path, size and time of the last change
    metadata: Any = None

    def __reduce__(self) -> tuple[type[_Footer], tuple[()]]:
        """Leave the footer behind: who reads elsewhere opens the file anew."""
        return _Footer, ()


class _Part:
    """One file, and the columns that the names of its folders give to its rows."""

    def __init__(self, path: str, of_folders: Mapping[str, Any], footer: _Footer) -> None:
        self.path, self._footer = path, footer
        with self._opened() as file:
            self._stored, self.n_rows = file.schema_arrow, int(file.metadata.num_rows)
        names = self._stored.names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{path}: the column name {twice!r} occurs twice; rename one of the columns")
        self._of_folders = {name: value for name, value in of_folders.items() if name not in names}
        self._held: dict[str, int] = {}

    @property
    def schema(self) -> Any:
        """Names and types."""
        import pyarrow

        stored = {field.name: plain_type(field.type) for field in self._stored}
        return pyarrow.schema(stored | {name: value.type for name, value in self._of_folders.items()})

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file; errors of pyarrow are replaced by ours."""
        import pyarrow
        from pyarrow import parquet

        footer = self._footer
        try:
            found = Path(self.path).stat()
            version = (self.path, found.st_size, found.st_mtime_ns)
            if footer.file != version:
                footer.file, footer.metadata = version, None
            with parquet.ParquetFile(
                self.path,
                metadata=footer.metadata,
                buffer_size=STREAM_BUFFER,
                pre_buffer=False,
                coerce_int96_timestamp_unit="us",
            ) as file:
                footer.metadata = file.metadata
                yield file
        except (pyarrow.ArrowException, OSError, MemoryError) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> Exception:
        if isinstance(error, OSError) and error.errno is not None:
            return error
        if isinstance(error, MemoryError):
            return MemoryError(f"{self.path}: there is not enough memory to read it; set memory_limit to what there is")
        with Path(self.path).open("rb") as file:
            file.seek(max(0, Path(self.path).stat().st_size - len(MAGIC)))
            end = file.read()
        if end == ENCRYPTED_MAGIC or "crypt" in str(error):
            return ValueError(f"{self.path} is encrypted: decrypt it first")
        if end != MAGIC:
            return ValueError(f"{self.path} is not a Parquet file, or its end is missing: write or copy it again")
        if isinstance(error, NotImplementedError):
            return ValueError(
                f"{self.path} uses a feature of Parquet that the installed pyarrow lacks: upgrade pyarrow"
            )
        return ValueError(f"{self.path} is damaged: its data are not what its footer describes; write or copy it again")

    def __getstate__(self) -> dict[str, Any]:
        """Name the file in full, for who reads it elsewhere."""
        return {**vars(self), "path": str(Path(self.path).absolute())}

    @property
    def groups(self) -> list[int]:
        """Numbers of rows of the row groups."""
        with self._opened() as file:
            return _group_rows(file)

    def held(self, names: Sequence[str]) -> list[int]:
        """Return the bytes of pages that are open while each of these columns is read."""
        unknown = set(names) - set(self._held)
        if unknown:
            self._held |= dict.fromkeys(unknown, 0)
            with self._opened() as file, Path(self.path).open("rb") as raw:
                for name, held in _open_pages(file, raw, unknown):
                    self._held[name] += held
        return [self._held[name] for name in names]

    def row_bytes(self, schema: Any) -> float:
        """Return about how many bytes a row of these columns takes, its texts as Python objects besides."""
        widths = {field.name: width_of(field.type) for field in schema}
        texts = [name for name, width in widths.items() if width is None]
        probe = next(self.batches(_chosen(schema, texts), PROBED_ROWS), None) if texts else None
        of_texts = 0.0 if probe is None else probe.nbytes / probe.num_rows
        return of_texts + OBJECT_BYTES * len(texts) + sum(width for width in widths.values() if width is not None)

    def batches(self, schema: Any, n_rows: int, *, rows: range | None = None, threads: bool = False) -> Iterator[Any]:
        """Yield batches of at most ``n_rows`` rows, with the names and types of a schema; all rows, or some of them."""
        stored = [name for name in schema.names if name not in self._of_folders]
        if not stored:
            count = self.n_rows if rows is None else len(rows)
            for first in range(0, count, n_rows):
                yield self._completed({}, schema, min(n_rows, count - first))
            return
        with self._opened() as file:
            ends = np.cumsum([0, *_group_rows(file)])
            rows = range(int(ends[-1])) if rows is None else rows
            groups = np.flatnonzero((ends[1:] > rows.start) & (ends[:-1] < rows.stop)).tolist()
            place = int(ends[groups[0]]) if groups else 0
            reading = file.iter_batches(batch_size=n_rows, row_groups=groups, columns=stored, use_threads=threads)
            for batch in reading:
                first, last = max(rows.start - place, 0), min(rows.stop - place, batch.num_rows)
                place += batch.num_rows
                batch = batch.slice(first, max(last - first, 0))
                # A name stands for the columns inside it as well: "a" brings a column that is called "a.b".
                found = dict(zip(batch.schema.names, batch.columns, strict=True))
                if batch.num_rows:
                    yield self._completed(found, schema, batch.num_rows)

    def _completed(self, found: Mapping[str, Any], schema: Any, n_rows: int) -> Any:
        """Return a batch in the types of a schema, with the columns that folders name."""
        import pyarrow

        columns = [
            found[name] if name in found else pyarrow.repeat(self._of_folders[name], n_rows) for name in schema.names
        ]
        for place, field in enumerate(schema):
            columns[place] = self._as_type(columns[place], field)
        return pyarrow.record_batch(columns, schema=schema)

    def _as_type(self, column: Any, field: Any) -> Any:
        import pyarrow

        try:
            return as_type(column, field.type)
        except pyarrow.ArrowInvalid as error:
            raise ValueError(
                f"{self.path}: column {field.name!r} has values that {field.type}, its type in other parts, cannot "
                "hold; convert it to one type"
            ) from error


def _most_held(parts: Sequence[_Part], names: Sequence[str]) -> list[int]:
    """Return the most bytes that a reader holds of each column in any of the files."""
    factor = overhead()
    return [int(factor * max(held)) for held in zip(*(part.held(names) for part in parts), strict=True)]


def _footer_of(path: str) -> int:
    with Path(path).open("rb") as file:
        return footer_bytes(file)


def _group_rows(file: Any) -> list[int]:
    metadata = file.metadata
    return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]


def _chosen(schema: Any, names: Sequence[str]) -> Any:
    import pyarrow

    return pyarrow.schema([schema.field(name) for name in names])


def _open_pages(file: Any, raw: BinaryIO, names: set[str]) -> Iterator[tuple[str, int]]:
    """Yield (column, bytes of its open pages) for each stored column of the largest row group."""
    metadata = file.metadata
    if not metadata.num_row_groups:
        return
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    largest = max(groups, key=lambda group: int(group.total_byte_size))
    for place in range(metadata.num_columns):
        column = file.schema.column(place)
        name = column.name if column.path == column.name else column.path.partition(".")[0]  # inside a nested column
        if name in names:
            yield name, open_bytes(raw, largest.column(place))


# ------------------------------------------------------------------------------------------------ partitioned folders


def _folder_texts(file: str) -> dict[str, str]:
    """Return the columns and values of folders named ``column=value``.

    Examples
    --------
    >>> _folder_texts("sales/year=2024/city=S%C3%A3o Paulo/part.parquet")
    {'year': '2024', 'city': 'São Paulo'}
    """
    pairs = (part.partition("=") for part in Path(file).parent.parts)
    return {unquote(name): unquote(value) for name, equals, value in pairs if equals and name}


def _parsed(texts: Sequence[str]) -> list[Any]:
    """Return the values of folders as Arrow scalars of one type: whole numbers, dates or text."""
    import pyarrow

    given = [None if text == HIVE_NULL else text for text in texts]
    known = [text for text in given if text is not None]
    if all(re.fullmatch(r"-?\d{1,18}", text) for text in known):
        return list(pyarrow.array([None if text is None else int(text) for text in given], pyarrow.int64()))
    if all(re.fullmatch(r"\d{4}-\d\d-\d\d", text) for text in known):
        return list(pyarrow.array(given, pyarrow.string()).cast(pyarrow.date32()))
    return list(pyarrow.array(given, pyarrow.string()))
