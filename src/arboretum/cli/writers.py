"""Writers of rows, for every format that is read."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from arboretum.cli.errors import OutputError, UsageError
from arboretum.cli.file_formats import COMPRESSED, DATABASES, FORMATS, SQLITE, STANDARD, suffix_of

NAMES = (*FORMATS, *DATABASES)
TABLE = "predictions"  # of a database
Write: TypeAlias = Callable[[Any], object]  # appends the rows of an Arrow table
DUCKDB_BYTES = 60_000_000  # of DuckDB while it writes a row group of a few columns


def format_to_write(path: Path, given: str | None) -> str:
    """Return the format to write: as given, or by the name of the file; CSV for standard output."""
    is_standard = str(path) == STANDARD
    wanted = given or ("csv" if is_standard else suffix_of(path))
    if wanted not in NAMES:
        raise UsageError(
            f"{f'--format {given}' if given else f'--out {path}'}: rows are written as {', '.join(NAMES)}; text also "
            f"compressed, with {' or '.join('.' + end for end in COMPRESSED)}"
        )
    if wanted in DATABASES and is_standard:
        raise UsageError(f"--format {wanted}: a database cannot go to standard output; name a file with --out")
    if wanted in DATABASES and path.exists():
        raise OutputError(f"{path} exists already, and may hold other tables: choose another name")
    return wanted


def writer_bytes(wanted: str) -> int:
    """Load the libraries of a format, and return the memory that its writer will hold besides."""
    if wanted not in DATABASES or wanted in SQLITE:
        return 0
    from arboretum.data.sources import LEAST_QUERY_MEMORY, connect

    connect(LEAST_QUERY_MEMORY).close()
    return DUCKDB_BYTES


def open_writer(target: Path | BinaryIO, name: str, wanted: str, schema: Any) -> AbstractContextManager[Write]:
    """Open a file, or standard output, to write tables of one schema, one below the other.

    Parameters
    ----------
    target : path or binary file
        Where to write.
    name : str
        Its name for the user; the ending tells the compression.
    wanted : str
        One of ``NAMES``.
    schema : pyarrow.Schema
        Names and types.
    """
    if wanted in DATABASES:
        assert isinstance(target, Path)
        return sqlite_writer(target, schema) if wanted in SQLITE else duckdb_writer(target, schema)
    return _file_writer(target, COMPRESSED.get(name.lower().rpartition(".")[2]), wanted, schema)


class StandardOutput(io.RawIOBase):
    """A stream that stays open when its writer is closed."""

    def __init__(self, below: BinaryIO) -> None:
        self.below = below

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any) -> int:
        """Pass bytes on."""
        return self.below.write(content)

    def flush(self) -> None:
        """Flush the stream."""
        self.below.flush()


@contextmanager
def _file_writer(target: Path | BinaryIO, compression: str | None, wanted: str, schema: Any) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if isinstance(target, Path):  # opened by Python: Arrow rejects names that are not UTF-8
        sink: Any = pa.output_stream(target.open("wb"), compression=compression)
    else:
        sink = StandardOutput(target)
    is_stream, kind = wanted == "arrows" or not isinstance(target, Path), FORMATS[wanted]
    with closing(sink):
        if kind == "json":
            with json_writer(sink, is_array=wanted == "json") as write:
                yield write
            return
        if kind == "csv":
            options = pa.csv.WriteOptions(delimiter="\t" if wanted == "tsv" else ",")
            writer: Any = pa.csv.CSVWriter(sink, schema, write_options=options)
        elif kind == "parquet":
            writer = pa.parquet.ParquetWriter(sink, schema)
        else:
            writer = (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(sink, schema)
        with closing(writer):
            yield writer.write_table


@contextmanager
def json_writer(sink: Any, *, is_array: bool) -> Iterator[Write]:
    """Write one object per line, or an array of them; NaN and infinities are null."""
    before, between = ("[\n", ",\n") if is_array else ("", "\n")

    def write(table: Any) -> None:
        nonlocal before
        rows = [
            {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in row.items()}
            for row in table.to_pylist()
        ]
        lines = between.join(json.dumps(row, ensure_ascii=False, default=str) for row in rows)
        sink.write((before + lines).encode())
        before = between

    yield write
    sink.write(b"\n]\n" if is_array else b"\n")


@contextmanager
def sqlite_writer(path: Path, schema: Any) -> Iterator[Write]:
    """Write a SQLite file with one table; dates are text in ISO form."""
    import sqlite3

    from arboretum.data.sources import identifier

    def write(table: Any) -> None:
        plain = (bool, int, float, str, type(None))
        columns = [[v if isinstance(v, plain) else str(v) for v in column.to_pylist()] for column in table.columns]
        marks = ", ".join("?" for _ in columns)
        connection.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", zip(*columns, strict=True))

    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE {TABLE} ({', '.join(map(identifier, schema.names))})")
        yield write
        connection.commit()


@contextmanager
def duckdb_writer(path: Path, schema: Any) -> Iterator[Write]:
    """Write a DuckDB file with one table, by one thread, with only as much memory as its numbers need."""
    from arboretum.data.arrow_types import width_of
    from arboretum.data.sources import COLUMN_MEMORY, LEAST_QUERY_MEMORY, ROW_GROUP, import_engine

    def write(table: Any) -> None:
        connection.register("given", table)
        connection.execute(f"INSERT INTO {TABLE} SELECT * FROM given")
        connection.unregister("given")

    path.unlink(missing_ok=True)  # DuckDB rejects an empty file
    settings: dict[str, Any] = {"threads": 1}
    widths = [width_of(column.type) for column in schema]
    if None not in widths:  # a row group is held until it is written; the size of its text is unknown
        row_group = sum(COLUMN_MEMORY + ROW_GROUP * (width or 0) for width in widths)
        settings["memory_limit"] = f"{LEAST_QUERY_MEMORY + 2 * int(row_group)}B"
    with closing(import_engine().connect(str(path), config=settings)) as connection:
        connection.register("given", schema.empty_table())
        connection.execute(f"CREATE TABLE {TABLE} AS SELECT * FROM given")
        yield write
