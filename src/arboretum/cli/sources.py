"""Where rows come from: the Dataset that a person means.

::

    sales.csv, part-*.parquet, folder/   ─► files of one format
    -                                    ─► standard input, of any format of files
    file.db::table, file.duckdb          ─► a table of a database
    --sql "SELECT …"                     ─► a query: to the database, or to the files as the table "data"
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from arboretum.cli.errors import CommandError, DataError, UsageError, nearest
from arboretum.cli.file_formats import (
    FORMATS,
    STANDARD,
    files_named,
    is_hidden,
    recognise,
    shown,
    suffix_of,
    temporary_file,
)
from arboretum.cli.text import CURES, TextOptions, read_text, without_numbers
from arboretum.data.arrow_types import width_of
from arboretum.data.csv_files import CsvFiles
from arboretum.data.dataset import Dataset
from arboretum.data.json_files import json_files
from arboretum.data.memory_budget import MemoryBudget, MemoryLimitError
from arboretum.data.schema import listed
from arboretum.data.sources import connect, identifier
from arboretum.data.text_columns import TextColumn, lines_about

TEXT_BYTES = 24  # of a value that has no width: a text of about twenty letters, and its end


@dataclass(frozen=True)
class Rows:
    """A dataset, what to call it in messages, and what its columns of text were read as."""

    name: str
    dataset: Dataset
    texts: list[TextColumn] = field(default_factory=list)

    def batches(self, size: int, names: Iterable[str]) -> Iterator[Any]:
        """Yield Arrow record batches of the named columns, as far as they exist."""
        with reading(self.name):
            wanted = set(names)
            yield from self.dataset.select([name for name in self.dataset.names if name in wanted]).batches(size)

    def nbytes(self) -> int:
        """Estimate the bytes that all rows take in memory."""
        with reading(self.name):
            widths = [width_of(column.type) or TEXT_BYTES for column in self.dataset.schema]
            return int(sum(widths) * self.dataset.n_rows)

    def rows(self, *, streams: bool = False) -> Any:
        """Return all rows as an Arrow table, or the dataset if they are to stay where they are."""
        with reading(self.name):
            return self.dataset if streams else self.dataset.to_frame()

    def remarks(self, names: Sequence[str]) -> list[str]:
        """Say what a user should know about text in these columns."""
        return lines_about([column for column in self.texts if column.name in set(names)])


def open_rows(
    data: str | None,
    *,
    table: str | None = None,
    sql: str | None = None,
    text: TextOptions | None = None,
    budget: MemoryBudget | None = None,
    needed_bytes: Callable[[Dataset], int] | None = None,
) -> Rows:
    """Find what a person means by DATA, --table and --sql.

    Parameters
    ----------
    data, table, sql : str, optional
        As typed.
    text : TextOptions, optional
        What is known about columns and files of text.
    budget : MemoryBudget, optional
        Memory that reading may take; unlimited by default.
    needed_bytes : callable, optional
        Returns the least memory that a command on this dataset needs.

    Examples
    --------
    >>> open_rows(None, sql="SELECT 1 AS a").rows().to_pydict()
    {'a': [1]}
    """
    text = text or TextOptions()
    texts: list[TextColumn] = []
    if data is None:
        if sql is None:
            raise UsageError("give DATA, a file or folder, or --sql with a query that reads one")
        name, found = "the query", replace(Dataset.from_sql(sql), budget=budget)
    else:
        name, found, texts = _of_place(data, table, sql, text, budget)
    with reading(name):
        if budget is not None and needed_bytes is not None:
            needed = needed_bytes(found)
            needed += found.reader_bytes() if needed > budget.free() else 0  # the limit that is named holds both
            budget.require(needed, f"a command on {found.n_rows} rows of {len(found.names)} columns")
        is_typeless = isinstance(found.source, CsvFiles)
        found, others = (found, []) if is_typeless else read_text(found, text.rules(believed=True))
        found = without_numbers(found, text.missing)
        if not found.n_rows:
            cure = "check the query and its filters" if sql else "add some below the header"
            raise DataError(f"{name} has no rows: {cure}")
        if missing := [column for column in text.date_formats if column not in found.names]:
            raise DataError(f"{name} has no column {missing[0]!r}: {nearest(missing[0], found.names)}")
    known = {column.name for column in others}
    return Rows(name, found, [*(column for column in texts if column.name not in known), *others])


def _of_place(
    data: str, table: str | None, sql: str | None, text: TextOptions, budget: MemoryBudget | None
) -> tuple[str, Dataset, list[TextColumn]]:
    """Return the name of the data in messages, its rows, and what columns of CSV files were read as."""
    path, _, inner = data.partition("::") if not Path(data).exists() else (data, "", "")
    files, name = ([_standard_input()], "standard input") if data == STANDARD else (_files(path), shown(data))
    with reading(name):
        recognised = [recognise(file) for file in files]
    formats, files = sorted({found for found, _ in recognised}), [file for _, file in recognised]
    if len(formats) > 1:
        raise DataError(f"{name} holds files of several formats, {listed(formats)}: name one, as in '*.csv'")
    if formats == ["database"]:
        return name, replace(_of_database(files, inner or table, sql), budget=budget), []
    if inner or table:
        raise UsageError(f"{shown(path)} is a {formats[0]} file and has no tables: leave out the name of the table")
    if sql is not None and budget is not None:
        raise UsageError(
            "--memory-limit: --sql holds all of DATA in memory; leave DATA out and let the query read the file, as in "
            f"--sql \"SELECT … FROM '{name}'\""
        )
    with reading(name):
        dataset, texts = of_files(files, formats[0], text, budget)
        return name, dataset if sql is None else asked(sql, data=dataset), texts


def of_files(
    files: list[Path], kind: str, text: TextOptions, budget: MemoryBudget | None
) -> tuple[Dataset, list[TextColumn]]:
    """Return the dataset of files of one format, and what columns of CSV files were read as."""
    names = [str(file) for file in files]
    texts: list[TextColumn] = []
    makers: dict[str, Callable[[], Dataset]] = {
        "arrow": lambda: Dataset.from_batches(lambda: _arrow_batches(files)),
        "json": lambda: Dataset(json_files(names, text.encoding, CURES)),
        "parquet": lambda: Dataset.from_parquet(names),
        "csv": lambda: Dataset(
            CsvFiles(names, text.delimiter, text.encoding, text.rules(believed=False), texts.extend)
        ),
    }
    dataset = replace(makers[kind](), budget=budget)
    if kind == "csv":
        dataset.schema  # reads the files, and tells of their columns  # noqa: B018
    return dataset, texts


def _arrow_batches(files: list[Path]) -> Iterator[Any]:
    """Yield the batches of Arrow files, and of streams, which have no magic bytes."""
    import pyarrow as pa

    for file in files:
        with file.open("rb") as content:
            is_file = content.read(6) == b"ARROW1"
            content.seek(0)
            try:
                if not is_file:
                    yield from pa.ipc.open_stream(content)
                    continue
                reader = pa.ipc.open_file(content)
                for place in range(reader.num_record_batches):
                    yield reader.get_batch(place)
            except pa.ArrowInvalid as error:
                raise DataError(f"{shown(str(file))} is not a whole Arrow file: {error}") from None


def asked(sql: str, **tables: Dataset) -> Dataset:
    """Return the answer to a query of datasets, each a table of its name."""
    connection = connect(None)
    for name, dataset in tables.items():
        connection.register(name, dataset.to_frame())
    return Dataset.from_sql(sql, connection)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn errors of readers into data errors."""
    try:
        yield
    except (CommandError, MemoryLimitError):
        raise
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror or error}") from None
    except (ValueError, TypeError, ImportError) as error:
        raise DataError(str(error)) from None


# ---------------------------------------------------------------------------------------------------- files


def _standard_input() -> Path:
    """Copy standard input to a temporary file: rows are read in several passes."""
    if sys.stdin is None:
        raise DataError("standard input is closed: give it a table with a header, or name a file")
    file = temporary_file(STANDARD)
    with file.open("wb") as content:
        shutil.copyfileobj(sys.stdin.buffer, content)
    if not file.stat().st_size:
        raise DataError("standard input is empty, or was read already: give it a table with a header")
    return file


def _files(path: str) -> list[Path]:
    """Return the files of a path, pattern or folder; all can be read."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path):
        raise DataError(f"{path} is an address on the network: download the file first, for example with curl -O")
    files = files_named(path)
    if Path(path).expanduser().is_dir():
        files = [file for file in files if suffix_of(file) in FORMATS]
        if not files:
            raise DataError(f"the folder {shown(path)} has no file of a known format: {', '.join(FORMATS)}")
    if not files:
        raise DataError(f"there is no file {shown(path)}{_neighbour(Path(path).expanduser())}")
    for file in files:
        if not os.access(file, os.R_OK):
            raise DataError(f"no permission to read {shown(str(file))}: change the permissions of the file")
    return files


def _neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return f": there is no folder {path.parent}"
    near = nearest(path.name, (file.name for file in path.parent.iterdir() if not is_hidden(Path(file.name))))
    return f": {near}" if near.startswith("did") else ""


# ------------------------------------------------------------------------------------------------ databases


def _of_database(files: list[Path], table: str | None, sql: str | None) -> Dataset:
    """Return the rows of a database: the answer to a query, or a table, by default its only one."""
    if len(files) > 1:
        raise DataError(f"{len(files)} databases at once, {listed(list(map(str, files)))}: name one")
    (file,) = files
    with reading(str(file)):
        if sql is not None:
            return Dataset.from_sql(sql, file)
        known = _tables(file)
    if table is None and len(known) != 1:
        choice = f"choose one, as in '{file}::{known[0]}'" if known else "fill it first"
        raise DataError(f"{file} has {len(known)} tables, {listed(known)}: {choice}")
    name = table or known[0]
    if name not in known:
        raise DataError(f"{file} has no table {name!r}: {nearest(name, known)}")
    return Dataset.from_sql(f"SELECT * FROM {identifier(name)}", file)


def _tables(file: Path) -> list[str]:
    with file.open("rb") as content:
        catalogue = (
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
            if content.read(6) == b"SQLite"
            else "SELECT table_name AS name FROM information_schema.tables ORDER BY name"
        )
    return list(Dataset.from_sql(catalogue, file).to_frame()["name"].to_pylist())
