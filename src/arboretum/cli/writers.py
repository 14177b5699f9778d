"""Formats that rows are written in: every one that is read."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from arboretum.cli.errors import OutputError, UsageError
from arboretum.cli.file_formats import COMPRESSED, DATABASES, FORMATS, SQLITE, STANDARD, suffix_of

NAMES = (*FORMATS, *DATABASES)
TABLE = "predictions"  # of a data base
DUCKDB_BYTES = 60_000_000  # of DuckDB while it writes a row group of a few columns


class Writer(Protocol):
    """Takes tables of one schema, one below the other."""

    def write(self, table: Any) -> Any:
        """Write the rows of an Arrow table."""

    def close(self) -> None:
        """Write what is left."""


def format_to_write(path: Path, given: str | None) -> str:
    """Return the format of a file to write: as given, or by its name; CSV on standard output."""
    is_standard = str(path) == STANDARD
    wanted = given or ("csv" if is_standard else suffix_of(path))
    if wanted not in NAMES:
        raise UsageError(
            f"{f'--format {given}' if given else f'--out {path}'}: rows are written as {', '.join(NAMES)}; text also "
            f"compressed, with {' or '.join('.' + end for end in COMPRESSED)}"
        )
    if wanted in DATABASES and is_standard:
        raise UsageError(f"--format {wanted}: a data base cannot go to standard output; name a file with --out")
    if wanted in DATABASES and path.exists():
        raise OutputError(f"{path} exists already, and may hold other tables: choose another name")
    return wanted


def writer_bytes(wanted: str) -> int:
    """Load what a format needs, and return what its writer will hold beside that."""
    if wanted not in DATABASES or wanted in SQLITE:
        return 0
    from arboretum.data.sources import LEAST_QUERY_MEMORY, connect

    connect(LEAST_QUERY_MEMORY).close()
    return DUCKDB_BYTES


def open_writer(target: Path | BinaryIO, name: str, wanted: str, schema: Any) -> Writer:
    """Open a file, or standard output, to write rows of a schema.

    Parameters
    ----------
    target : path or binary file
        Where to write.
    name : str
        What the user calls it: its end tells the compression.
    wanted : str
        One of ``NAMES``.
    schema : pyarrow.Schema
        Names and types.
    """
    import pyarrow as pa

    if wanted in DATABASES:
        assert isinstance(target, Path)
        return SqliteWriter(target, schema) if wanted in SQLITE else DuckdbWriter(target, schema)
    compression = COMPRESSED.get(name.lower().rpartition(".")[2])
    if isinstance(target, Path):  # opened by Python: Arrow takes no names that are not UTF-8
        sink: Any = pa.output_stream(target.open("wb"), compression=compression)
    else:
        sink = StandardOutput(target)
    if FORMATS[wanted] == "csv":
        import pyarrow.csv

        options = pa.csv.WriteOptions(delimiter="\t" if wanted == "tsv" else ",")
        return Closing(pa.csv.CSVWriter(sink, schema, write_options=options), sink)
    if FORMATS[wanted] == "json":
        return JsonWriter(sink, is_array=wanted == "json")
    if FORMATS[wanted] == "parquet":
        import pyarrow.parquet

        return Closing(pa.parquet.ParquetWriter(sink, schema), sink)
    is_stream = wanted == "arrows" or not isinstance(target, Path)
    return Closing(pa.ipc.new_stream(sink, schema) if is_stream else pa.ipc.new_file(sink, schema), sink)


class StandardOutput(io.RawIOBase):
    """A stream that stays open for the next to write."""

    def __init__(self, below: BinaryIO) -> None:
        self.below = below

    def writable(self) -> bool:
        """Say so."""
        return True

    def write(self, content: Any) -> int:
        """Pass bytes on."""
        return self.below.write(content)

    def flush(self) -> None:
        """See that all of it is out."""
        self.below.flush()


class Closing:
    """A writer of Arrow, which leaves the stream below it open."""

    def __init__(self, writer: Any, sink: Any) -> None:
        self.writer, self.sink = writer, sink

    def write(self, table: Any) -> None:
        """Write the rows of an Arrow table."""
        self.writer.write_table(table)

    def close(self) -> None:
        """Write what is left."""
        self.writer.close()
        self.sink.close()


class JsonWriter:
    """One object per line, or an array of them; numbers that JSON does not have are null."""

    def __init__(self, sink: Any, *, is_array: bool) -> None:
        self.sink, self.is_array, self.n_rows = sink, is_array, 0

    def write(self, table: Any) -> None:
        """Write the rows of an Arrow table."""
        lines = [json.dumps(_in_json(row), ensure_ascii=False, default=str) for row in table.to_pylist()]
        between = ",\n" if self.is_array else "\n"
        begin = ("[\n" if self.is_array else "") if not self.n_rows else between
        self.sink.write((begin + between.join(lines)).encode())
        self.n_rows += len(lines)

    def close(self) -> None:
        """Write what is left."""
        self.sink.write(b"\n]\n" if self.is_array else b"\n")
        self.sink.close()


def _in_json(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in row.items()}


class SqliteWriter:
    """A SQLite file with one table."""

    def __init__(self, path: Path, schema: Any) -> None:
        import sqlite3

        from arboretum.data.sources import identifier

        self.connection = sqlite3.connect(path)
        self.connection.execute(f"CREATE TABLE {TABLE} ({', '.join(map(identifier, schema.names))})")
        self.marks = ", ".join("?" for _ in schema.names)

    def write(self, table: Any) -> None:
        """Write the rows of an Arrow table; dates as text in ISO form."""
        columns = [[_in_sqlite(value) for value in column.to_pylist()] for column in table.columns]
        self.connection.executemany(f"INSERT INTO {TABLE} VALUES ({self.marks})", zip(*columns, strict=True))

    def close(self) -> None:
        """Write what is left."""
        self.connection.commit()
        self.connection.close()


def _in_sqlite(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


class DuckdbWriter:
    """A DuckDB file with one table, written by one thread; numbers with the memory that they need and no more."""

    def __init__(self, path: Path, schema: Any) -> None:
        from arboretum.data.arrow_types import width_of
        from arboretum.data.sources import COLUMN_MEMORY, LEAST_QUERY_MEMORY, ROW_GROUP, import_engine

        path.unlink(missing_ok=True)  # DuckDB refuses an empty file
        settings: dict[str, Any] = {"threads": 1}
        widths = [width_of(column.type) for column in schema]
        if None not in widths:  # a row group is held until it is written: how much text it has is not known
            row_group = sum(COLUMN_MEMORY + ROW_GROUP * (width or 0) for width in widths)
            settings["memory_limit"] = f"{LEAST_QUERY_MEMORY + 2 * int(row_group)}B"
        self.connection, self.is_new = import_engine().connect(str(path), config=settings), True

    def write(self, table: Any) -> None:
        """Write the rows of an Arrow table."""
        self.connection.register("given", table)
        begin = f"CREATE TABLE {TABLE} AS" if self.is_new else f"INSERT INTO {TABLE}"
        self.connection.execute(f"{begin} SELECT * FROM given")
        self.connection.unregister("given")
        self.is_new = False

    def close(self) -> None:
        """Write what is left."""
        self.connection.close()
