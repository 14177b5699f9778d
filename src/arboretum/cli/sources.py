"""Where rows come from: what a person types, as a Dataset.

::

    sales.csv, part-*.parquet, folder/   ─► files of one format
    file.db::table, file.duckdb          ─► a table of a data base
    --sql "SELECT …"                     ─► a query: of the data base, or of the files as the table "data"
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arboretum.cli.errors import CommandError, DataError, UsageError, nearest
from arboretum.schema import listed

if TYPE_CHECKING:
    from arboretum.dataset import Dataset

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
}
COMPRESSED = ("gz", "zst")
DATABASES = ("db", "sqlite", "sqlite3", "duckdb")


@dataclass(frozen=True)
class Rows:
    """A dataset and what to call it in messages."""

    name: str
    dataset: Dataset

    def batches(self, size: int) -> Iterator[Any]:
        """Yield Arrow record batches."""
        with reading(self.name):
            yield from self.dataset.batches(size)

    def nbytes(self) -> int:
        """Return about how many bytes all rows take in memory."""
        with reading(self.name):
            widths = [_width(column.type) for column in self.dataset.schema]
            return sum(widths) * self.dataset.n_rows

    def table(self) -> Any:
        """Return all rows as an Arrow table."""
        with reading(self.name):
            return self.dataset.to_frame()


def _width(kind: Any) -> int:
    """Return the bytes of a value; a text of some twenty letters, with its end, stands for all that have no width."""
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:
        return 24


def open_rows(data: str | None, *, table: str | None = None, sql: str | None = None, texts: Iterable[str] = ()) -> Rows:
    """Find what a person means by DATA, --table and --sql.

    Parameters
    ----------
    data, table, sql : str, optional
        What is typed.
    texts : iterable of str
        Columns of CSV files to read as text, so that 01234 stays what it is.

    Examples
    --------
    >>> open_rows(None, sql="SELECT 1 AS a").table().to_pydict()
    {'a': [1]}
    """
    from arboretum.dataset import Dataset

    if data is None:
        if sql is None:
            raise UsageError("give DATA, a file or folder, or --sql with a query that reads one")
        return Rows("the query", Dataset.from_sql(sql))
    path, _, inner = data.partition("::") if not Path(data).exists() else (data, "", "")
    files = _files(path)
    formats = sorted({_format(file) for file in files})
    if len(formats) > 1:
        raise DataError(f"{data} holds files of several formats, {listed(formats)}: name one, as in '*.csv'")
    if formats == ["database"]:
        return Rows(data, _of_database(files, inner or table, sql))
    if inner or table:
        raise UsageError(f"{path} is a {formats[0]} file and has no tables: leave out the name of the table")
    with reading(data):
        dataset = of_files(files, formats[0], texts)
        return Rows(data, dataset if sql is None else asked(sql, data=dataset))


def of_files(files: list[Path], kind: str, texts: Iterable[str] = ()) -> Dataset:
    """Return the dataset of files of one format."""
    from arboretum.dataset import Dataset
    from arboretum.dataset_sources import csv_names

    if kind == "arrow":
        return Dataset.from_batches(lambda: _arrow_batches(files))
    names = [str(file) for file in files]
    if kind == "csv":
        return _of_csv(names, sorted(set(csv_names(names[0])) & set(texts)))
    return Dataset.from_json(names) if kind == "json" else Dataset.from_parquet(names)


def _of_csv(names: list[str], texts: list[str]) -> Dataset:
    """Read CSV files; words such as yes and no stay labels, for DuckDB takes them for true and false."""
    import pyarrow as pa

    from arboretum.dataset import Dataset

    dataset = Dataset.from_csv(names, types=dict.fromkeys(texts, "VARCHAR"))
    booleans = [column.name for column in dataset.schema if pa.types.is_boolean(column.type)]
    if not booleans:
        return dataset
    found = [_spellings(file, booleans) for file in names]
    words = [name for name in booleans if not set().union(*(one[name] for one in found)) <= {"true", "false", ""}]
    return Dataset.from_csv(names, types=dict.fromkeys([*texts, *words], "VARCHAR")) if words else dataset


def _spellings(file: str, columns: list[str]) -> dict[str, set[str]]:
    """Return how a CSV file writes the values of some columns, in small letters."""
    import pyarrow as pa
    import pyarrow.csv

    from arboretum.dataset_sources import delimiter_of

    table = pa.csv.read_csv(
        file,
        parse_options=pa.csv.ParseOptions(delimiter=delimiter_of(file), newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            include_columns=columns, column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=True
        ),
    )
    return {name: {word.lower() for word in table[name].unique().drop_null().to_pylist()} for name in columns}


def _arrow_batches(files: list[Path]) -> Iterator[Any]:
    import pyarrow.dataset

    yield from pyarrow.dataset.dataset([str(file) for file in files], format="feather").to_batches()


def asked(sql: str, **tables: Dataset) -> Dataset:
    """Return the answer of a query to datasets, each a table of its name."""
    from arboretum.dataset import Dataset
    from arboretum.dataset_sources import QUERY_MEMORY, connect

    connection = connect(QUERY_MEMORY)
    for name, dataset in tables.items():
        connection.register(name, dataset.to_frame())
    return Dataset.from_sql(sql, connection)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn errors of readers into failures that name the data."""
    try:
        yield
    except CommandError:
        raise
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}; convert it first") from None
    except (ValueError, TypeError, ImportError) as error:
        raise DataError(_as_options(str(error))) from None


def _as_options(message: str) -> str:
    """Name options of the command where a message names arguments of Dataset.

    Examples
    --------
    >>> _as_options("line 3: no BIGINT; correct it, add it to missing=, or read it as text: types={'x': 'VARCHAR'}")
    'line 3: no BIGINT; correct it, or read it as text: --kind x=category'
    """
    message = re.sub(r"types=\{['\"](.*)['\"]: 'VARCHAR'\}", r"--kind \1=category", message)
    return message.replace("correct it, add it to missing=, or", "correct it, or").replace(", or give delimiter=", "")


# ---------------------------------------------------------------------------------------------------- files


def _files(path: str) -> list[Path]:
    """Return the files of a path, pattern or folder; all can be read."""
    found = Path(path)
    if found.is_dir():
        inside = (
            file for file in sorted(found.rglob("*")) if file.is_file() and not _is_hidden(file.relative_to(found))
        )
        files = [file for file in inside if _suffix(file) in FORMATS]
        if not files:
            raise DataError(f"the folder {path} has no file of a known format: {', '.join(FORMATS)}")
    elif found.exists():
        files = [found]
    else:
        matches = glob.glob(path, recursive=True)  # noqa: PTH207  # Path.glob takes no absolute patterns
        files = [Path(name) for name in sorted(matches)]
        if not files:
            raise DataError(f"there is no file {path}{_neighbour(found)}")
    for file in files:
        if not os.access(file, os.R_OK):
            raise DataError(f"no permission to read {file}: change the permissions of the file")
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
    suffix = _suffix(file)
    if suffix in DATABASES:
        return "database"
    if suffix not in FORMATS:
        raise DataError(
            f"{file} has no known format: {', '.join(FORMATS)}, also with {' or '.join('.' + c for c in COMPRESSED)}; "
            f"{', '.join(DATABASES)}"
        )
    return FORMATS[suffix]


# ----------------------------------------------------------------------------------------------- data bases


def _of_database(files: list[Path], table: str | None, sql: str | None) -> Dataset:
    """Return the answer of a data base: to a query, or all of a table, or of its only one."""
    from arboretum.dataset import Dataset

    if len(files) > 1:
        raise DataError(f"{len(files)} data bases at once, {listed(list(map(str, files)))}: name one")
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
    escaped = name.replace('"', '""')
    return Dataset.from_sql(f'SELECT * FROM "{escaped}"', file)


def _tables(file: Path) -> list[str]:
    from arboretum.dataset import Dataset

    with file.open("rb") as content:
        is_sqlite = content.read(6) == b"SQLite"
    catalogue = (
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        if is_sqlite
        else "SELECT table_name AS name FROM information_schema.tables ORDER BY name"
    )
    return list(Dataset.from_sql(catalogue, file).to_frame()["name"].to_pylist())
