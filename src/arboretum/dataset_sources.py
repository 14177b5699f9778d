"""Where the rows of a Dataset come from: files, queries, batches. All give Arrow record batches, again and again.

::

    Parquet ───────────────────────────────────────────────► DuckDB ──► record batches, in the order of the rows
    CSV, JSON, SQL ──(read once, whole or not at all)──► temporary Parquet ──┘
    batches of the user ──────────────────────────────────────────────► record batches

What is slow to read (text), or need not say the same twice (a query), is kept as Parquet in a temporary folder, which
goes when the source does. duckdb and pyarrow are imported when the first row is wanted.
"""

from __future__ import annotations

import csv
import glob
import io
import json
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

BATCH_ROWS = 65_536
READING_MEMORY = 128_000_000  # bytes of DuckDB while it reads; what it sorts or joins for a query may take more
COLUMN_MEMORY = 64_000  # bytes of buffers that it needs for each column of Parquet files
QUERY_MEMORY = "512MB"
DELIMITERS = ",;\t|"
SQLITE_MAGIC = b"SQLite format 3\0"


class Source(Protocol):
    """Rows that can be read several times, the same ones in the same order."""

    def schema(self) -> Any:
        """Return names and types, a pyarrow.Schema."""

    def n_rows(self) -> int:
        """Count the rows."""

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield pyarrow.RecordBatch of these columns, of at most ``size`` rows."""


def import_engine() -> Any:
    """Return duckdb, or say how to get it."""
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"reading files and queries needs duckdb and pyarrow, but {error.name} is not installed: "
            "pip install 'arboretum[data]'"
        ) from error
    return duckdb


def connect(memory: str) -> Any:
    """Open a DuckDB database of its own: no extensions from the network, rows in their order."""
    from arboretum.estimators.threads import available_cores

    settings = {
        "memory_limit": memory,
        "threads": available_cores(),
        "preserve_insertion_order": True,
        "autoinstall_known_extensions": False,
    }
    connection = import_engine().connect(":memory:", config=settings)
    connection.execute("SET enable_progress_bar = false")  # it would write into the output of the program
    return connection


def quoted(text: str) -> str:
    """Return a string of SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def found_files(path: Any) -> list[str]:
    """Return the files of a path, a pattern or a list of them; those of a pattern come in the order of their names."""
    if isinstance(path, list | tuple):
        return [file for one in path for file in found_files(one)]
    text = os.fspath(path)
    if Path(text).is_file():
        return [text]
    matches = glob.glob(text, recursive=True)  # noqa: PTH207  # Path.glob takes no absolute patterns
    files = sorted(file for file in matches if Path(file).is_file())
    if files:
        return files
    if Path(text).is_dir():
        raise ValueError(f"{text} is a folder: name its files, as {str(Path(text) / '*.parquet')!r}")
    raise FileNotFoundError(f"no file is named {text!r}; the working folder is {str(Path.cwd())!r}")


def refuse_empty(files: Iterable[str]) -> None:
    """Refuse files without a single byte, which readers take for tables without columns."""
    for file in files:
        if not Path(file).stat().st_size:
            raise ValueError(f"{file} is empty: a table needs a line of names and rows below it")


class ParquetFiles:
    """Parquet files, one below the other."""

    def __init__(self, files: Sequence[str], same_names: bool = False) -> None:
        self.files = list(files)
        # Chunks of one result may differ in type; files of the user must not.
        self.relation = f"read_parquet([{', '.join(map(quoted, self.files))}], union_by_name={same_names})"
        self._surveyed: tuple[Any, int] | None = None

    def _read(self, query: str, size: int, n_columns: int = 1) -> Iterator[Any]:
        engine = import_engine()
        connection = connect(f"{max(READING_MEMORY, n_columns * COLUMN_MEMORY)}B")
        try:
            relation = connection.sql(query)
            to_reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            yield from to_reader(size)
        except engine.Error as error:
            raise ValueError(f"{self._shown()}: {first_line(error)}; is it a Parquet file, and whole?") from error
        finally:
            connection.close()

    def _shown(self) -> str:
        return self.files[0] + (f" and {len(self.files) - 1} more" if len(self.files) > 1 else "")

    def _survey(self) -> tuple[Any, int]:
        """Names and types, and the number of rows, by one connection: to open one takes longer than to ask."""
        if self._surveyed is None:
            engine = import_engine()
            connection = connect(f"{READING_MEMORY}B")
            try:
                relation = connection.sql(f"SELECT * FROM {self.relation} LIMIT 0")
                table = (getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table)()
                ((n_rows,),) = connection.sql(f"SELECT count(*) FROM {self.relation}").fetchall()
            except engine.Error as error:
                raise ValueError(f"{self._shown()}: {first_line(error)}; is it a Parquet file, and whole?") from error
            finally:
                connection.close()
            self._surveyed = table.schema, n_rows
        return self._surveyed

    def schema(self) -> Any:
        """Return names and types of the first file; others must agree."""
        return self._survey()[0]

    def n_rows(self) -> int:
        """Sum what the files say of themselves."""
        return self._survey()[1]

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Stream the files in their order."""
        yield from self._read(f"SELECT {', '.join(map(identifier, names))} FROM {self.relation}", size, len(names))


class Snapshot:
    """Rows that are written to a temporary Parquet folder when they are first wanted.

    Parameters
    ----------
    write : callable
        Writes all rows as Parquet files into the folder that it is given.
    """

    def __init__(self, write: Callable[[Path], None]) -> None:
        self.write = write
        self._kept: ParquetFiles | None = None

    @property
    def kept(self) -> ParquetFiles:
        """The files."""
        if self._kept is None:
            folder = Path(tempfile.mkdtemp(prefix="arboretum-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self.write(folder)
            self._kept = ParquetFiles(sorted(str(file) for file in folder.glob("*.parquet")), same_names=True)
        return self._kept

    def schema(self) -> Any:
        """Return names and types."""
        return self.kept.schema()

    def n_rows(self) -> int:
        """Count the rows."""
        return self.kept.n_rows()

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Stream the files."""
        return self.kept.batches(names, size)


def copy_out(connection: Any, query: str, folder: Path) -> None:
    """Write the rows of a query as one Parquet file. LZ4 costs less than the bytes that it saves."""
    target = quoted(str(folder / "rows.parquet"))
    connection.execute(f"COPY ({query}) TO {target} (FORMAT parquet, COMPRESSION lz4_raw, ROW_GROUP_SIZE 122880)")


class ChosenRows:
    """Some rows of another source.

    Parameters
    ----------
    source : Source
        All rows.
    chosen : ndarray of bool
        Which of them.
    """

    def __init__(self, source: Source, chosen: NDArray[np.bool_]) -> None:
        self.source, self.chosen = source, chosen
        self._n_rows = int(chosen.sum())

    def schema(self) -> Any:
        """Return names and types."""
        return self.source.schema()

    def n_rows(self) -> int:
        """Count the chosen rows."""
        return self._n_rows

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Stream the source and pass over what is not chosen."""
        seen = 0
        for batch in self.source.batches(names, size):
            chosen = self.chosen[seen : seen + batch.num_rows]
            seen += batch.num_rows
            if seen > len(self.chosen):
                break
            yield batch if chosen.all() else batch.filter(chosen)
        if seen != len(self.chosen):
            raise ValueError(f"{len(self.chosen)} rows were chosen from, but there are others now: read them again")


# ---------------------------------------------------------------------------------------------------------- text files


def csv_files(
    files: Sequence[str], delimiter: str | None, missing: Sequence[str], types: Mapping[str, str] | None
) -> Snapshot:
    """Read CSV files with a line of names."""
    refuse_empty(files)

    def write(folder: Path) -> None:
        engine = import_engine()
        mark = delimiter or delimiter_of(files[0])
        for file in files:
            _check_header(file, mark)
        options = [
            f"[{', '.join(map(quoted, files))}]",
            # All that DuckDB would guess otherwise: it skips lines of names that are shorter than the rows.
            f"delim={quoted(mark)}, header=true, quote='\"', escape='\"', comment='', skip=0, strict_mode=true",
            f"nullstr=[{', '.join(map(quoted, missing))}]",
        ]
        if types:
            pairs = ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in types.items())
            options.append(f"types={{{pairs}}}")
        connection = connect(QUERY_MEMORY)
        try:
            copy_out(connection, f"SELECT * FROM read_csv({', '.join(options)})", folder)
        except engine.Error as error:
            raise _csv_error(files, mark, error) from error
        finally:
            connection.close()

    return Snapshot(write)


def csv_names(file: str, delimiter: str | None = None) -> list[str]:
    """Return the names that the first line of a CSV file gives to its columns."""
    return _first_record(file, delimiter or delimiter_of(file))


def _opened(file: str, errors: str = "strict") -> io.TextIOWrapper:
    """Open a text file that the end of its name may say to be compressed."""
    import pyarrow

    return io.TextIOWrapper(
        pyarrow.input_stream(file, compression="detect"), encoding="utf-8-sig", errors=errors, newline=""
    )


def _first_record(file: str, delimiter: str) -> list[str]:
    with _opened(file) as lines:
        return next(csv.reader(lines, delimiter=delimiter), [])


def delimiter_of(file: str) -> str:
    """Return the mark that the line of names has most of."""
    with _opened(file) as lines:
        names = lines.readline()
    return max(DELIMITERS, key=names.count)


def _check_header(file: str, delimiter: str) -> None:
    names = _first_record(file, delimiter)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{file}, line 1: the column name {repeated[0]!r} stands there twice; rename one of them")


def _csv_error(files: Sequence[str], delimiter: str, error: Exception) -> ValueError:
    """Say in which line and column a CSV file cannot be read, and what to do."""
    said = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", said)
    column = re.search(r'converting column "(.+?)"\. Could not convert string "(.*?)" to \'?(\w+)', said)
    file = re.search(r"^\s*file ?= ?(.+?)\s*$", said, re.MULTILINE)
    name = file[1] if file else files[0]
    if line and column:
        return ValueError(
            f"{name}, line {line[1]}, column {column[1]!r}: {column[2]!r} is no {column[3]}, as the lines before it; "
            f"correct it, add it to missing=, or read the column as text: types={{{column[1]!r}: 'VARCHAR'}}"
        )
    for one in files:
        if uneven := _uneven_line(one, delimiter):
            return uneven
    where = f", line {line[1]}" if line else ""
    return ValueError(f"{name}{where}: {first_line(error)}; is its delimiter {delimiter!r}?")


def _uneven_line(file: str, delimiter: str) -> ValueError | None:
    with _opened(file, errors="replace") as lines:
        reader = csv.reader(lines, delimiter=delimiter)
        width = len(next(reader, []))
        before = reader.line_num
        for record in reader:
            if record and len(record) != width:
                return ValueError(
                    f"{file}, line {before + 1}: {len(record)} fields, but the line of names has {width}; quote fields "
                    f"that hold {delimiter!r}, or give delimiter="
                )
            before = reader.line_num
    return None


def json_files(files: Sequence[str]) -> Snapshot:
    """Read JSON files of one object a line."""
    refuse_empty(files)

    def write(folder: Path) -> None:
        engine = import_engine()
        names = ", ".join(map(quoted, files))
        connection = connect(QUERY_MEMORY)
        try:
            copy_out(connection, f"SELECT * FROM read_json([{names}], format='newline_delimited')", folder)
        except engine.Error as error:
            raise _json_error(files, error) from error
        finally:
            connection.close()

    return Snapshot(write)


def _json_error(files: Sequence[str], error: Exception) -> ValueError:
    for file in files:
        with _opened(file, errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    is_object = not line.strip() or isinstance(json.loads(line), dict)
                except ValueError:
                    is_object = False
                if not is_object:
                    return ValueError(
                        f"{file}, line {number}: {line.strip()!r:.60} is no JSON object; each line must be one"
                    )
    return ValueError(f"{files[0]}: {first_line(error)}")


# ------------------------------------------------------------------------------------------------------------- queries


def query_rows(query: str, connection: Any) -> Snapshot:
    """Read the answer of a query.

    ``connection`` is None (DuckDB in memory: ``FROM 'file.parquet'`` works), a file of DuckDB or SQLite, or an open
    connection of either.
    """
    query = query.strip().rstrip(";")

    def write(folder: Path) -> None:
        if connection is None:
            own = connect(QUERY_MEMORY)
            _answer(own, query, folder, close=True)
        elif isinstance(connection, str | os.PathLike):
            opened = _open_database(Path(connection))
            _answer(opened, query, folder, close=True)
        else:
            _answer(connection, query, folder, close=False)

    return Snapshot(write)


def _open_database(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"there is no database {str(path)!r}; the working folder is {str(Path.cwd())!r}")
    with path.open("rb") as file:
        is_sqlite = file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    if is_sqlite:
        import sqlite3

        return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    engine = import_engine()
    try:
        return engine.connect(str(path), read_only=True)
    except engine.Error as error:
        raise ValueError(f"{path} is neither a DuckDB nor an SQLite database: {first_line(error)}") from error


def _answer(connection: Any, query: str, folder: Path, *, close: bool) -> None:
    engine = import_engine()
    import sqlite3

    try:
        if isinstance(connection, sqlite3.Connection):
            _copy_cursor(connection.execute(query), folder)
        elif isinstance(connection, engine.DuckDBPyConnection):
            copy_out(connection, query, folder)
        else:
            raise TypeError(
                f"connection={connection!r}: give None, the path of a DuckDB or SQLite file, or a connection of duckdb "
                "or sqlite3; of another database, read frames and use Dataset.from_batches"
            )
    except (engine.Error, sqlite3.Error) as error:
        raise ValueError(f"the query failed: {first_line(error)}\n{query}") from error
    finally:
        if close:
            connection.close()


def _copy_cursor(cursor: Any, folder: Path) -> None:
    """Write chunks of rows as files of their own: SQLite has no types of columns, and DuckDB finds the common one."""
    import pyarrow
    from pyarrow import parquet

    names = [column[0] for column in cursor.description]
    for number in range(1_000_000):
        rows = cursor.fetchmany(BATCH_ROWS)
        if not rows and number:
            return
        columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in names]
        table = pyarrow.table([_arrow_column(c, n) for c, n in zip(columns, names, strict=True)], names=names)
        parquet.write_table(table, folder / f"rows-{number:06d}.parquet")


def _arrow_column(values: list[Any], name: str) -> Any:
    import pyarrow

    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        kind = ", ".join(sorted(one.__name__ for one in kinds))
        raise TypeError(f"column {name!r} mixes types: {kind}; cast it in the query, as CAST({name} AS TEXT)")
    return pyarrow.array(values)


# ------------------------------------------------------------------------------------------------- batches of the user


class Batches:
    """Frames, record batches or dictionaries of arrays that the user makes, one after the other.

    Parameters
    ----------
    make : callable
        Returns a new iterator each time.
    """

    def __init__(self, make: Callable[[], Iterable[Any]]) -> None:
        self.make = make
        self._surveyed: tuple[Any, int] | None = None

    def _survey(self) -> tuple[Any, int]:
        """Types that hold the values of all batches, and the number of rows: one pass."""
        if self._surveyed is None:
            schema, n_rows = None, 0
            for number, batch in enumerate(self.make()):
                table = as_arrow(batch)
                schema = table.schema.remove_metadata() if schema is None else _joined(schema, table.schema, number)
                n_rows += table.num_rows
            if schema is None:
                raise ValueError("there is no batch: give at least one, with its columns")
            self._surveyed = schema, n_rows
        return self._surveyed

    def schema(self) -> Any:
        """Return names and types."""
        return self._survey()[0]

    def n_rows(self) -> int:
        """Count the rows."""
        return self._survey()[1]

    def batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Cut what the user gives to size, in the types of all batches."""
        import pyarrow

        types = pyarrow.schema([self.schema().field(name) for name in names])
        for batch in self.make():
            table = as_arrow(batch).select(list(names))
            yield from table.cast(types).to_batches(max_chunksize=size)


def _joined(schema: Any, other: Any, number: int) -> Any:
    """Return types that hold the values of two batches, such as numbers and nothing but holes."""
    import pyarrow

    missing = [name for name in schema.names if name not in other.names]
    extra = [name for name in other.names if name not in schema.names]
    if missing or extra:
        raise ValueError(f"batch {number} has other columns than the first: missing {missing}, unexpected {extra}")
    fields = []
    for mine in schema:
        pair = [pyarrow.schema([mine]), pyarrow.schema([other.field(mine.name)])]
        try:
            fields += pyarrow.unify_schemas(pair, promote_options="permissive")
        except (pyarrow.ArrowTypeError, pyarrow.ArrowInvalid):
            raise TypeError(
                f"column {mine.name!r} is {mine.type} at first, but {other.field(mine.name).type} in batch {number}: "
                "convert it to one type"
            ) from None
    return pyarrow.schema(fields)


def as_arrow(batch: Any) -> Any:
    """Return a pyarrow.Table of a frame, record batch or dictionary of arrays."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("a Dataset needs pyarrow, which is not installed: pip install 'arboretum[data]'") from error
    if isinstance(batch, pyarrow.Table):
        return batch
    if isinstance(batch, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([batch])
    if isinstance(batch, dict):
        return pyarrow.table(batch)
    if type(batch).__module__.partition(".")[0] == "pandas" and hasattr(batch, "columns"):
        return pyarrow.Table.from_pandas(batch, preserve_index=False)
    if hasattr(batch, "__arrow_c_stream__"):
        return pyarrow.table(batch)
    raise TypeError(
        f"a batch is a {type(batch).__name__}: give an Arrow record batch or table, a pandas or polars frame, or a "
        "dictionary of arrays"
    )


def first_line(error: Exception) -> str:
    """Return what an error says before it goes into detail."""
    return str(error).partition("\n")[0].strip().rstrip(".")
