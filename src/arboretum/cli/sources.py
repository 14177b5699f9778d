"""Where rows come from: what a person types, as a query of a connection.

::

    sales.csv, part-*.parquet, folder/   ─► DuckDB, in memory: the files are the view "data"
    file.db::table, file.duckdb          ─► that data base: the table is the view "data"
    --sql "SELECT …"                     ─► the query, in the same connection; else SELECT * FROM data
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arboretum.cli.failures import DataFailure, UsageFailure, nearest
from arboretum.schema import listed

FORMATS = {
    "csv": "csv",
    "tsv": "csv",
    "txt": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "parquet": "parquet",
    "pq": "parquet",
    "arrow": "arrow",
    "feather": "arrow",
    "ipc": "arrow",
}
COMPRESSED = ("gz", "zst")
DATABASES = ("db", "sqlite", "sqlite3", "duckdb")
DELIMITERS = ",\t;|"
MISSING_TEXTS = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "?")  # of CSV files


@dataclass(frozen=True)
class Source:
    """A query of a connection, and what to call it in messages."""

    name: str
    connection: Any
    query: str


def open_source(data: str | None, *, table: str | None = None, sql: str | None = None) -> Source:
    """Find what a person means by DATA, --table and --sql.

    Examples
    --------
    >>> open_source(None, sql="SELECT 1 AS a").query
    'SELECT 1 AS a'
    """
    if data is None:
        if sql is None:
            raise UsageFailure("give DATA, a file or folder, or --sql with a query that reads one")
        return Source("the query", _memory(), sql)
    path, _, inner = data.partition("::") if not Path(data).exists() else (data, "", "")
    files = _files(path)
    kinds = {_format(file) for file in files}
    if len(kinds) > 1:
        raise DataFailure(f"{data} holds files of several formats, {listed(sorted(kinds))}: name one, as in '*.csv'")
    (kind,) = kinds
    if kind in ("sqlite", "duckdb"):
        connection = _database(files, kind, inner or table, needs_table=sql is None)
    elif inner or table:
        raise UsageFailure(f"{path} is a {kind} file and has no tables: leave out the name of the table")
    else:
        connection = _memory()
        with reading(path):
            _view(connection, files, kind)
    return Source(data, connection, sql or "SELECT * FROM data")


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn errors of readers into failures that name the data."""
    import sqlite3

    import duckdb
    import pyarrow

    try:
        yield
    except (duckdb.Error, sqlite3.Error, pyarrow.ArrowException) as error:
        raise DataFailure(f"cannot read {name}: {_first_lines(error)}") from None
    except OSError as error:
        raise DataFailure(f"cannot read {name}: {error.strerror or error}") from None


def _first_lines(error: Exception) -> str:
    """Return what a reader says about the data, without its list of settings."""
    said = str(error).split("\n\n")[0].split("Possible fixes:")[0].split("\nLINE ")[0]
    return " ".join(line.strip() for line in said.splitlines() if line.strip())


# ---------------------------------------------------------------------------------------------------- files


def _files(path: str) -> list[Path]:
    """Return the files of a path, glob or folder; all can be read and none is empty."""
    found = Path(path)
    if found.is_dir():
        inside = (file for file in sorted(found.rglob("*")) if file.is_file() and not _is_hidden(file.relative_to(found)))
        files = [file for file in inside if _suffix(file) in FORMATS]
        if not files:
            raise DataFailure(f"the folder {path} has no file of a known format: {', '.join(FORMATS)}")
    elif found.exists():
        files = [found]
    else:
        files = [Path(name) for name in sorted(glob.glob(path, recursive=True))]  # noqa: PTH207  # absolute patterns too
        if not files:
            raise DataFailure(f"there is no file {path}{_neighbour(found)}")
    for file in files:
        if not os.access(file, os.R_OK):
            raise DataFailure(f"no permission to read {file}: change the permissions of the file")
        if file.stat().st_size == 0:
            raise DataFailure(f"{file} is empty")
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return f": there is no folder {path.parent}"
    near = nearest(path.name, (file.name for file in path.parent.iterdir() if not _is_hidden(Path(file.name))))
    return f": {near}" if near.startswith("did") else ""


def _suffix(file: Path) -> str:
    parts = file.name.lower().split(".")
    return parts[-2] if len(parts) > 2 and parts[-1] in COMPRESSED else parts[-1]


def _format(file: Path) -> str:
    with file.open("rb") as content:
        start = content.read(16)
    if start.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if start[8:12] == b"DUCK":
        return "duckdb"
    suffix = _suffix(file)
    if suffix in DATABASES:
        raise DataFailure(f"{file} is neither a SQLite nor a DuckDB data base")
    if suffix not in FORMATS:
        raise DataFailure(
            f"{file} has no known format: {', '.join(FORMATS)}, also with {' or '.join('.' + c for c in COMPRESSED)}; "
            f"{', '.join(DATABASES)}"
        )
    return FORMATS[suffix]


def _view(connection: Any, files: list[Path], kind: str) -> None:
    """Make the files the view "data"."""
    if kind == "arrow":
        import pyarrow.dataset

        connection.register("data", pyarrow.dataset.dataset([str(file) for file in files], format="feather"))
        return
    names = [str(file) for file in files]
    if kind == "csv":
        delimiter = _delimiter(connection, files[0])
        options = (
            f", header = true, delim = {_quoted(delimiter)}, quote = '\"', escape = '\"', sample_size = -1, "
            f"nullstr = {_quoted(MISSING_TEXTS)}, union_by_name = {len(files) > 1}"
        )
        _refuse_repeated(_first_line(connection, files[0], delimiter), names[0])
        call = f"read_csv({_quoted(names)}{options})"
    elif kind == "json":
        call = f"read_json({_quoted(names)}, sample_size = -1)"
    else:
        call = f"read_parquet({_quoted(names)})"
    connection.execute(f"CREATE VIEW data AS SELECT * FROM {call}")


def _first_line(connection: Any, file: Path, delimiter: str) -> list[str]:
    line = connection.execute(
        f"SELECT * FROM read_csv({_quoted(str(file))}, header = false, all_varchar = true, delim = {_quoted(delimiter)}, "
        "quote = '\"', escape = '\"', null_padding = true, strict_mode = false) LIMIT 1"
    ).fetchone()
    return [str(name) for name in line or () if name is not None]


def _delimiter(connection: Any, file: Path) -> str:
    """Return the delimiter that cuts the first line into the most names."""
    return max(DELIMITERS, key=lambda delimiter: len(_first_line(connection, file, delimiter)))


def _refuse_repeated(names: list[str], where: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataFailure(f"{where} has columns of one name, {listed(repeated)}: rename them, so that each has its own")


def _quoted(value: str | list[str] | tuple[str, ...]) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "[" + ", ".join(map(_quoted, value)) + "]"


# ----------------------------------------------------------------------------------------------- data bases


def _memory() -> Any:
    import duckdb

    return duckdb.connect()


def _database(files: list[Path], kind: str, table: str | None, *, needs_table: bool) -> Any:
    """Connect to a data base, read-only; its table, or the only one, is the view "data"."""
    if len(files) > 1:
        raise DataFailure(f"{len(files)} data bases at once, {listed(list(map(str, files)))}: name one")
    (file,) = files
    with reading(str(file)):
        connection = _sqlite(file) if kind == "sqlite" else _duckdb(file)
        catalogue = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        if kind == "duckdb":
            catalogue = "SELECT table_name FROM information_schema.tables WHERE table_catalog <> 'temp'"
        known = [name for (name,) in connection.execute(catalogue).fetchall()]
        if table is None and len(known) == 1:
            (table,) = known
        if table is not None and table not in known:
            raise DataFailure(f"{file} has no table {table!r}: {nearest(table, known)}")
        if table is not None and table != "data":
            escaped = table.replace('"', '""')
            connection.execute(f'CREATE TEMPORARY VIEW data AS SELECT * FROM "{escaped}"')
        elif table is None and needs_table:
            raise DataFailure(f"{file} has {len(known)} tables, {listed(known)}: choose one, as in '{file}::{known[0]}'")
    return connection


def _sqlite(file: Path) -> Any:
    import sqlite3

    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)


def _duckdb(file: Path) -> Any:
    import duckdb

    return duckdb.connect(str(file), read_only=True)


# ------------------------------------------------------------------------------------------------------ rows


def read_table(source: Source) -> Any:
    """Return all rows as an Arrow table."""
    import pyarrow as pa

    with reading(source.name):
        if not hasattr(source.connection, "sql"):
            cursor = source.connection.execute(source.query)
            names = [entry[0] for entry in cursor.description]
            rows = cursor.fetchall()
            return pa.table({name: pa.array([row[j] for row in rows]) for j, name in enumerate(names)})
        return source.connection.sql(source.query).to_arrow_table()


def batches(source: Source, rows: int) -> Any:
    """Yield the rows as Arrow record batches."""
    with reading(source.name):
        if not hasattr(source.connection, "sql"):
            yield from read_table(source).to_batches(rows)
        else:
            yield from source.connection.sql(source.query).to_arrow_reader(rows)
