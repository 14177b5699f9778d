"""Where the rows of a Dataset come from: files, queries, batches. All give Arrow record batches, again and again.

::

    Parquet ────────────────────────────────────────────► parquet_files.py ──► record batches, in the order of the rows
    CSV, JSON, SQL ──(DuckDB, once)──► temporary Parquet ──┘
    batches of the user ─────────────────────────────────────────────────────► record batches

What is slow to read (text), or might not give the same rows twice (a query), is kept as Parquet in a temporary folder,
which is removed with the source (csv_files.py, json_files.py). duckdb and pyarrow are imported when the first row is
wanted.
"""

from __future__ import annotations

import glob
import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.data.arrow_types import Parts
from arboretum.data.file_order import in_natural_order
from arboretum.data.memory_budget import (
    READER_BYTES,
    MemoryBudget,
    ReaderMemoryError,
    as_text,
    available_bytes,
    give_back,
    resident,
)
from arboretum.data.parquet_files import ParquetFiles
from arboretum.running.interruption import is_interruption, on_interruption

BATCH_ROWS = 65_536
# Bytes of DuckDB; COLUMN_MEMORY is what it needs for a column that one thread reads and writes.
LEAST_QUERY_MEMORY, QUERY_MEMORY, MOST_QUERY_MEMORY, COLUMN_MEMORY = 32_000_000, 512_000_000, 16_000_000_000, 250_000
ROW_GROUP, LEAST_ROW_GROUP = 122_880, 2_048  # rows; DuckDB works with 2,048 at a time
CELL_MEMORY = 200  # bytes of a value as a Python object, in lists and in Arrow
SQLITE_MAGIC = b"SQLite format 3\0"


class Source(Protocol):
    """Rows that can be read several times, the same ones in the same order."""

    def prepare(self, budget: MemoryBudget | None) -> None:
        """Do what must be done once before rows can be read."""

    def schema(self) -> Any:
        """Return names and types, a pyarrow.Schema."""

    def n_rows(self) -> int:
        """Count the rows."""

    def batches(self, names: Sequence[str], size: int, memory: int | None = None) -> Iterator[Any]:
        """Yield pyarrow.RecordBatch of these columns, of at most ``size`` rows.

        ``memory`` is about how many bytes the reader may hold; copies that are made of a batch count as its own.
        """

    def buffers(self, names: Sequence[str]) -> list[int]:
        """Return the bytes that a reader holds of each of these columns, besides batches."""


@runtime_checkable
class TypelessSource(Source, Protocol):
    """Rows of a file without types, whose columns can be read in several ways."""

    @property
    def names(self) -> list[str]:
        """Names of the columns, which are known before the rows are read."""

    def read_as(self, kinds: Mapping[str, Any]) -> Source:
        """Return the same rows with columns read as these kinds."""


@runtime_checkable
class PartedSource(Source, Protocol):
    """Rows of which any stretch can be read without those before it, in this process or another."""

    def parted(self, n_rows: int) -> Sequence[Source]:
        """Return sources of about this many rows each, one below the other."""


def parted(source: Source, n_rows: int) -> Sequence[Source]:
    """Return sources of about this many rows each, one below the other."""
    if not isinstance(source, PartedSource):
        raise ValueError("these rows can only be read one after the other: write them as Parquet files first")
    return source.parted(n_rows)


def read_as(source: Source, kinds: Mapping[str, Any]) -> Source:
    """Return a source with columns read as these kinds, if they have no types of their own."""
    if isinstance(source, ChosenRows):
        return ChosenRows(read_as(source.inner, kinds), source.chosen)
    return source.read_as(kinds) if isinstance(source, TypelessSource) else source


def names_of(source: Source, budget: MemoryBudget | None) -> list[str]:
    """Return the names of the columns, without reading rows if that can be."""
    if isinstance(source, ChosenRows):
        return names_of(source.inner, budget)
    if isinstance(source, TypelessSource):
        return list(source.names)
    source.prepare(budget)
    return list(source.schema().names)


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


def connect(memory: int | None, database: str = ":memory:") -> Any:
    """Open DuckDB, with a database of its own or that of a file: no extensions from the network, rows in their order.

    ``memory`` is what it may hold; with little of it, it works alone, as each thread has buffers of its own.
    """
    from arboretum.running.threads import available_cores

    memory = query_memory(memory)
    settings = {
        "memory_limit": f"{memory}B",
        "threads": available_cores() if memory >= QUERY_MEMORY else 1,
        "temp_directory": tempfile.gettempdir(),
        "preserve_insertion_order": True,
        "autoinstall_known_extensions": False,
    }
    connection = import_engine().connect(database, read_only=database != ":memory:", config=settings)
    connection.execute("SET enable_progress_bar = false")  # it would write into the output of the program
    return Interruptible(connection)


class Interruptible:
    """A connection of DuckDB whose queries end with Ctrl-C; DuckDB alone would let its threads finish their work."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, query: str) -> Any:
        """Run a query."""
        with on_interruption(self.connection.interrupt):
            return self.connection.execute(query)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)


def connect_wide(n_columns: int, memory: int | None) -> Any:
    """Open a DuckDB database for a table of this many columns, each of which takes buffers and an expression."""
    needed = n_columns * COLUMN_MEMORY
    if memory is None:
        memory = max(query_memory(None), needed)
    connection = connect(memory)
    connection.execute("SET disabled_optimizers = 'common_subexpressions'")  # quadratic in the number of columns
    if needed > memory / 2:
        connection.execute("SET threads = 1")
    return connection


def query_memory(memory: int | None) -> int:
    """Return what DuckDB may hold: the given limit, or a quarter of what is free."""
    if memory is None:
        return max(QUERY_MEMORY, int(min(available_bytes() / 4, MOST_QUERY_MEMORY)))
    return max(memory, LEAST_QUERY_MEMORY)


def lacking_memory(memory: int | None, what: str) -> ReaderMemoryError:
    """Return the error for a DuckDB without enough memory: its own advice needs access to the connection."""
    return ReaderMemoryError(2 * query_memory(memory), what)


def quoted(text: str) -> str:
    """Return a string of SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def found_files(path: Any) -> list[str]:
    """Return the files of a path, a pattern or a list of them; those of a pattern come in natural order."""
    if isinstance(path, list | tuple):
        if not path:
            raise ValueError("the list of files is empty: give at least one")
        return [file for one in path for file in found_files(one)]
    text = os.fspath(path)
    if Path(text).is_file():
        return [text]
    matches = glob.glob(text, recursive=True)  # noqa: PTH207  # Path.glob takes no absolute patterns
    files = in_natural_order(file for file in matches if Path(file).is_file())
    if files:
        return files
    if Path(text).is_dir():
        raise ValueError(f"{text} is a folder: name its files, as {str(Path(text) / '*.parquet')!r}")
    raise FileNotFoundError(f"no file is named {text!r}; the working folder is {str(Path.cwd())!r}")


def refuse_empty(files: Iterable[str]) -> None:
    """Reject empty files, which readers would take for tables without columns."""
    for file in files:
        if not Path(file).stat().st_size:
            raise ValueError(f"{file} is empty: a table needs a header and rows below it")


class Delegating:
    """A source that reads another one; a kind of it changes what differs."""

    inner: Source  # an attribute or a property

    def prepare(self, budget: MemoryBudget | None) -> None:
        """Prepare the other source."""
        self.inner.prepare(budget)

    def schema(self) -> Any:
        """Return names and types."""
        return self.inner.schema()

    def n_rows(self) -> int:
        """Return the number of rows."""
        return self.inner.n_rows()

    def batches(self, names: Sequence[str], size: int, memory: int | None = None) -> Iterator[Any]:
        """Stream the rows of the other source."""
        return self.inner.batches(names, size, memory)

    def buffers(self, names: Sequence[str]) -> list[int]:
        """Return the bytes that a reader holds of each column."""
        return self.inner.buffers(names)

    def parted(self, n_rows: int) -> Sequence[Source]:
        """Part the other source."""
        return parted(self.inner, n_rows)


class Snapshot(Delegating):
    """Rows that are written to a temporary Parquet folder when they are first wanted.

    Parameters
    ----------
    write : callable
        Writes all rows as Parquet files into the folder that it is given, within this many bytes of memory.
    what : str
        What is done, in an error: "the query", "reading sales.csv".
    """

    def __init__(self, write: Callable[[Path, int | None], None], what: str) -> None:
        self.write, self.what = write, what
        self._kept: ParquetFiles | None = None

    def prepare(self, budget: MemoryBudget | None) -> None:
        """Write the files."""
        if self._kept is None:
            folder = Path(tempfile.mkdtemp(prefix="arboretum-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._write(folder, budget)
            self._kept = ParquetFiles(in_natural_order(str(file) for file in folder.glob("*.parquet")))

    def _write(self, folder: Path, budget: MemoryBudget | None) -> None:
        memory = None
        try:
            if budget is not None:
                budget = budget.begun()
                connect(LEAST_QUERY_MEMORY).close()  # loads DuckDB, which counts as well
                memory = budget.working()
                if memory < LEAST_QUERY_MEMORY:
                    raise ReaderMemoryError(LEAST_QUERY_MEMORY, self.what)
            self.write(folder, memory)
        except ReaderMemoryError as error:
            if budget is None:
                raise MemoryError(f"{error.what} needs more memory than there is: {as_text(error.needed)}") from None
            raise budget.too_small(budget.least_for(error.needed), error.what) from None
        except Exception as error:
            if is_interruption(error):
                raise KeyboardInterrupt from error
            raise

    @property
    def inner(self) -> Source:  # type: ignore[override]
        """The files."""
        self.prepare(None)
        assert self._kept is not None
        return self._kept


def copy_out(connection: Any, query: str, folder: Path, memory: int | None, name: str = "rows") -> None:
    """Write the rows of a query as one Parquet file, with row groups that a sixteenth of the memory holds.

    LZ4 costs less than the bytes that it saves.
    """
    rows = ROW_GROUP
    if memory is not None:
        n_columns = len(connection.execute(f"DESCRIBE {query}").fetchall())
        rows = max(LEAST_ROW_GROUP, min(rows, query_memory(memory) // (16 * 8 * n_columns)))
    target = quoted(str(folder / f"{name}.parquet"))
    connection.execute(f"COPY ({query}) TO {target} (FORMAT parquet, COMPRESSION lz4_raw, ROW_GROUP_SIZE {rows})")


class ChosenRows(Delegating):
    """Some rows of another source.

    Parameters
    ----------
    inner : Source
        All rows.
    chosen : ndarray of bool
        Which of them.
    """

    def __init__(self, inner: Source, chosen: NDArray[np.bool_]) -> None:
        self.inner, self.chosen = inner, chosen
        self._n_rows = int(chosen.sum())

    def n_rows(self) -> int:
        """Return the number of chosen rows."""
        return self._n_rows

    def batches(self, names: Sequence[str], size: int, memory: int | None = None) -> Iterator[Any]:
        """Stream the source without the rows that are not chosen."""
        seen = 0
        for batch in self.inner.batches(names, size, memory):
            chosen = self.chosen[seen : seen + batch.num_rows]
            seen += batch.num_rows
            if seen > len(self.chosen):
                break
            yield batch if chosen.all() else batch.filter(chosen)
        if seen != len(self.chosen):
            raise ValueError(f"{len(self.chosen)} rows were chosen from, but the source has others now: read it again")

    def parted(self, n_rows: int) -> Sequence[Source]:
        """Part all rows, and choose from each part."""
        parts = super().parted(n_rows)
        ends = np.cumsum([part.n_rows() for part in parts])[:-1]
        return [ChosenRows(part, chosen) for part, chosen in zip(parts, np.split(self.chosen, ends), strict=True)]


# ------------------------------------------------------------------------------------------------------------- queries


def query_rows(query: str, connection: Any) -> Snapshot:
    """Read the answer of a query.

    ``connection`` is None (DuckDB in memory: ``FROM 'file.parquet'`` works), a file of DuckDB or SQLite, or an open
    connection of either.
    """
    query = query.strip().rstrip(";")

    def write(folder: Path, memory: int | None) -> None:
        if connection is not None and not isinstance(connection, str | os.PathLike):
            _answer(connection, query, folder, memory)
            return
        own = connect(memory) if connection is None else _open_database(Path(connection), memory)
        try:
            _answer(own, query, folder, memory)
        except MemoryError:
            raise lacking_memory(memory, "the query") from None
        finally:
            own.close()

    return Snapshot(write, "the query")


def _open_database(path: Path, memory: int | None) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"there is no database {str(path)!r}; the working folder is {str(Path.cwd())!r}")
    with path.open("rb") as file:
        is_sqlite = file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    if is_sqlite:
        import sqlite3

        return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    engine = import_engine()
    try:
        return connect(memory, str(path))
    except engine.Error as error:
        raise ValueError(f"{path} is neither a DuckDB nor an SQLite database: {first_line(error)}") from error


def _answer(connection: Any, query: str, folder: Path, memory: int | None) -> None:
    engine = import_engine()
    import sqlite3

    try:
        if isinstance(connection, sqlite3.Connection):
            _copy_cursor(connection.execute(query), folder, memory)
        elif isinstance(connection, engine.DuckDBPyConnection | Interruptible):
            copy_out(connection, query, folder, memory)
        else:
            raise TypeError(
                f"connection={connection!r}: give None, the path of a DuckDB or SQLite file, or a connection of duckdb "
                "or sqlite3; for another database, read frames and use Dataset.from_batches"
            )
    except engine.OutOfMemoryException as error:
        raise MemoryError(f"the query needs more memory than its connection may take\n{query}") from error
    except (engine.Error, sqlite3.Error) as error:
        raise ValueError(f"the query failed: {first_line(error)}\n{query}") from error


def _copy_cursor(cursor: Any, folder: Path, memory: int | None) -> None:
    """Write chunks of rows as files of their own: SQLite has no types of columns, and DuckDB finds the common one."""
    import pyarrow
    from pyarrow import parquet

    names = [column[0] for column in cursor.description]
    most = BATCH_ROWS if memory is None else max(1, min(BATCH_ROWS, memory // (CELL_MEMORY * len(names))))
    for number in itertools.count():
        rows = cursor.fetchmany(most)
        if not rows and number:
            return
        columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in names]
        table = pyarrow.table([_arrow_column(c, n) for c, n in zip(columns, names, strict=True)], names=names)
        parquet.write_table(table, folder / f"rows-{number:09d}.parquet")


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


class Batches(Parts):
    """Frames, record batches or dictionaries of arrays that the user makes, one after the other.

    Parameters
    ----------
    make : callable
        Returns a new iterator each time.
    what : str
        What messages call one of them.
    """

    def __init__(self, make: Callable[[], Iterable[Any]], what: str = "batch") -> None:
        self.make, self.what = make, what
        self._largest = 0  # bytes that this process took to hold a batch: none if all were in memory before

    def prepare(self, budget: MemoryBudget | None) -> None:
        """Do nothing: there is no work to be done once."""

    def survey(self) -> Iterator[tuple[Any, int, str]]:
        """Yield what the batches hold: one pass, which measures their memory."""
        before = _resident_with_arrow()
        for number, batch in enumerate(self.make()):
            table = as_arrow(batch)
            self._largest = max(self._largest, resident() - before)
            yield table.schema, table.num_rows, f"{self.what} {number}"

    def batches(self, names: Sequence[str], size: int, memory: int | None = None) -> Iterator[Any]:
        """Cut what the user gives to size, in the types of all batches; each is held whole."""
        import pyarrow

        types = pyarrow.schema([self.schema().field(name) for name in names])
        if memory is not None and self._largest > max(memory, READER_BYTES):
            what = f"holding a {self.what} of the data, which smaller ones would avoid,"
            raise ReaderMemoryError(self._largest, what)
        for batch in self.make():
            table = as_arrow(batch).select(list(names))
            yield from table.cast(types).to_batches(max_chunksize=size)

    def buffers(self, names: Sequence[str]) -> list[int]:
        """Return the bytes that a reader holds of each column: none."""
        return [0] * len(names)


def _resident_with_arrow() -> int:
    """Return the memory of this process once pyarrow is loaded."""
    with suppress(ImportError):  # of which as_arrow tells
        import pyarrow  # noqa: F401
    give_back()
    return resident()


def as_arrow(batch: Any) -> Any:
    """Return a pyarrow.Table of a frame, record batch or dictionary of arrays."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            "a Dataset or a dictionary of columns needs pyarrow, which is not installed: pip install 'arboretum[data]'"
        ) from error
    if isinstance(batch, pyarrow.Table):
        return batch
    if isinstance(batch, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([batch])
    if isinstance(batch, dict):
        return _of_columns(batch)
    if type(batch).__module__.partition(".")[0] == "pandas" and hasattr(batch, "columns"):
        return pyarrow.Table.from_pandas(batch, preserve_index=False)
    if hasattr(batch, "__arrow_c_stream__"):
        return pyarrow.table(batch)
    raise TypeError(
        f"a batch is a {type(batch).__name__}: give an Arrow record batch or table, a pandas or polars frame, or a "
        "dictionary of arrays"
    )


def _of_columns(columns: dict[Any, Any]) -> Any:
    """Return a pyarrow.Table of a dictionary of columns; an error names the column."""
    import pyarrow

    made = {}
    for name, values in columns.items():
        if not isinstance(name, str):
            raise TypeError(f"a dictionary of columns has the key {shown(name)}: use text, the names of the columns")
        try:
            if isinstance(values, str | bytes | dict | set):
                raise TypeError(f"a {type(values).__name__} is not a column")
            if isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.dtype == object):
                values = pyarrow.array(values, from_pandas=True)  # NaN among texts is missing
            made[name] = pyarrow.table({name: values}).column(0)
        except (pyarrow.ArrowException, TypeError) as error:
            raise TypeError(
                f"column {name!r} of a dictionary: {first_line(error)}; give a list or 1-D array of values of one "
                "type, with None where they are missing"
            ) from None
    lengths = {name: len(column) for name, column in made.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns of a dictionary differ in length, {lengths!r:.200}: give one value per row to each")
    return pyarrow.table(made)


def first_line(error: Exception) -> str:
    """Return what an error says before it goes into detail."""
    return str(error).partition("\n")[0].strip().rstrip(".")
