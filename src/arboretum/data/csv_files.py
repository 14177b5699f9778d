"""CSV files as rows of a Dataset.

::

    files ──(as UTF-8, if DuckDB cannot read them as they are)──► DuckDB ──once──► temporary Parquet of text
               ──text_columns.py: what each column holds, from all rows──► temporary Parquet with types

What a column holds is known after its last row, so text is kept until then, and each file is read once. Columns are
named c0, c1, … in DuckDB, which takes ``a`` and ``A`` for the same name.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from arboretum.data.sources import (
    Delegating,
    Snapshot,
    Source,
    connect_wide,
    copy_out,
    first_line,
    import_engine,
    lacking_memory,
    quoted,
    refuse_empty,
)
from arboretum.data.text_columns import Kind, TextColumn, TextRules, WrongValueError, lines_about, read_columns
from arboretum.data.text_files import TextFile, escaped
from arboretum.running.warning import warn_user

DELIMITERS = ",;\t|"
LEAST_BUFFER, MOST_BUFFER = 4_000_000, 32_000_000  # bytes of a file that DuckDB reads at a time

Tell = Callable[[Sequence[TextColumn]], None]


def warn(columns: Sequence[TextColumn]) -> None:
    """Warn of what was guessed about columns of text."""
    for line in [*lines_about(columns, guesses_only=True), *(column.question for column in columns if column.question)]:
        warn_user(line)


class CsvPart(NamedTuple):
    """One CSV file, its delimiter, and the names in its first line."""

    file: TextFile
    delimiter: str
    names: list[str]

    @classmethod
    def find(cls, file: TextFile, delimiter: str | None) -> CsvPart:
        """Read the first line of a file."""
        with file.open() as lines:
            mark = delimiter or _delimiter_of(lines.readline())
        with file.open() as lines:
            try:
                names = next(csv.reader(lines, delimiter=mark, strict=True), [])
            except csv.Error as error:  # a field without end, or text after the end of one
                raise ValueError(f"{file.path}, line 1: {error}; check for a quote that is not closed") from None
        # A nameless first column is the index that pandas wrote; it gets the name that pandas would give it.
        names = [name or f"Unnamed: {place}" for place, name in enumerate(names)]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"{file.path}, line 1: the column name {repeated[0]!r} occurs twice; rename one of them")
        return cls(file, mark, names)


def _delimiter_of(line: str) -> str:
    """Return the most frequent delimiter in the header, outside quotes."""
    line = re.sub('"[^"]*"', "", line)
    return max(DELIMITERS, key=line.count)


@dataclass(frozen=True)
class Renamed(Delegating):
    """Rows in columns named c0, c1 and so on, under the names that they have in files."""

    inner: Source
    names: tuple[str, ...]

    def schema(self) -> Any:
        """Return names and types."""
        import pyarrow

        stored = self.inner.schema()
        return pyarrow.schema([stored.field(f"c{place}").with_name(name) for place, name in enumerate(self.names)])

    def batches(self, names: Sequence[str], size: int, memory: int | None = None) -> Iterator[Any]:
        """Stream the rows."""
        for batch in self.inner.batches(self._stored(names), size, memory):
            yield batch.rename_columns(list(names))

    def buffers(self, names: Sequence[str]) -> list[int]:
        """Return the bytes that a reader holds of each column."""
        return self.inner.buffers(self._stored(names))

    def parted(self, n_rows: int) -> Sequence[Source]:
        """Part the rows."""
        return [Renamed(part, self.names) for part in super().parted(n_rows)]

    def _stored(self, names: Sequence[str]) -> list[str]:
        places = {name: f"c{place}" for place, name in enumerate(self.names)}
        return [places[name] for name in names]


@dataclass(eq=False)
class CsvFiles(Delegating):
    """CSV files, one below the other; columns are matched by name.

    Parameters
    ----------
    files : sequence of str
        Their paths.
    delimiter, encoding : str, optional
        As for ``Dataset.from_csv``.
    rules : TextRules
        What is known about the columns.
    tell : callable
        Called with what the columns were read as.
    """

    files: Sequence[str]
    delimiter: str | None
    encoding: str | None
    rules: TextRules
    tell: Tell
    _parts: list[CsvPart] = field(default_factory=list)
    _found: list[TextColumn] = field(default_factory=list)
    _rows: Renamed | None = None
    _others: dict[tuple[tuple[str, Kind], ...], CsvFiles] = field(default_factory=dict)

    @property
    def parts(self) -> list[CsvPart]:
        """The files, all with the same names."""
        if not self._parts:
            refuse_empty(self.files)
            found = []
            for path in self.files:
                file = TextFile.find(path, self.encoding, self.rules.cures)
                with file.decoded(self.rules.cures):
                    found.append(CsvPart.find(file, self.delimiter))
                _same_names(found[0], found[-1])
            self._parts = found
        return self._parts

    @property
    def names(self) -> list[str]:
        """Names of the columns, in the order of the first file."""
        return self.parts[0].names

    @property
    def inner(self) -> Source:  # type: ignore[override]
        """The rows, which are kept in columns named c0, c1 and so on."""
        if self._rows is None:
            unknown = [name for name in (*self.rules.types, *self.rules.date_formats) if name not in self.names]
            if unknown:
                raise ValueError(f"{self.files[0]} has no column {unknown[0]!r}: its columns are {self.names}")
            write = partial(_write_csv, self.parts, self.rules, self._tell)
            self._rows = Renamed(Snapshot(write, f"reading {self.files[0]}"), tuple(self.names))
        return self._rows

    @property
    def _tell(self) -> Tell:
        found, tell = self._found, self.tell

        def told(columns: Sequence[TextColumn]) -> None:
            found.extend(columns)
            tell(columns)

        return told

    def read_as(self, kinds: Mapping[str, Kind]) -> CsvFiles:
        """Return the same rows with columns read as these kinds, which are those of a fit."""
        wanted = {name: kind for name, kind in kinds.items() if name in self.names and name not in self.rules.types}
        found = {column.name: column.kind for column in self._found}
        if found and all(found[name] == kind for name, kind in wanted.items()):
            return self
        key = tuple(sorted(wanted.items()))
        if key not in self._others:
            self._others[key] = CsvFiles(
                self.files, self.delimiter, self.encoding, replace(self.rules, kinds=wanted), self.tell, self._parts
            )
        return self._others[key]


def _same_names(first: CsvPart, other: CsvPart) -> None:
    missing = [name for name in first.names if name not in other.names]
    extra = [name for name in other.names if name not in first.names]
    if missing or extra:
        raise ValueError(
            f"{other.file.path} has other columns than {first.file.path}: missing {missing}, unexpected {extra}"
        )


def _write_csv(parts: Sequence[CsvPart], rules: TextRules, tell: Tell, folder: Path, memory: int | None) -> None:
    """Keep the rows as Parquet of text, find out what each column holds, and write them with types."""
    engine = import_engine()
    texts = folder / "texts"
    texts.mkdir()
    names = parts[0].names
    relations = _relations(parts, texts, rules, memory)
    connection = connect_wide(len(names), memory)
    try:
        kept = []
        for number, relation in enumerate(relations):
            copy_out(connection, relation, texts, memory, f"rows-{number:06d}")
            kept.append(f"SELECT * FROM read_parquet({quoted(escaped(str(texts / f'rows-{number:06d}.parquet')))})")
        connection.execute(f"CREATE VIEW rows AS {' UNION ALL '.join(kept)}")
        columns = read_columns(lambda query: connection.execute(query).fetchall(), names, range(len(names)), rules)
        tell(columns)
        chosen = ", ".join(f"{column.expression(f'c{j}')} AS c{j}" for j, column in enumerate(columns))
        for number, relation in enumerate(kept):
            copy_out(connection, f"SELECT {chosen} FROM ({relation})", folder, memory, f"rows-{number:06d}")
    except engine.OutOfMemoryException:
        raise lacking_memory(memory, f"reading {parts[0].file.path}") from None
    except engine.Error as error:
        raise _csv_error(parts, rules, error) from error
    except WrongValueError as error:
        raise ValueError(f"{_place_of(parts, error)}{error}") from None
    finally:
        connection.close()
        shutil.rmtree(texts)


def _relations(parts: Sequence[CsvPart], folder: Path, rules: TextRules, memory: int | None) -> list[str]:
    """Return SQL that reads the files in their order, in as few queries as possible."""
    readable = []
    for part in parts:
        with part.file.decoded(rules.cures):
            readable.append(part._replace(file=part.file.as_utf8(folder)))
    relations = []
    for (delimiter, names, compression), group in groupby(
        readable, key=lambda part: (part.delimiter, part.names, part.file.compression)
    ):
        files = ", ".join(quoted(escaped(part.file.path)) for part in group)
        columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(names)))
        # Everything that DuckDB would guess otherwise: it skips headers that are shorter than the rows.
        options = [
            f"[{files}], auto_detect=false, columns={{{columns}}}, delim={quoted(delimiter)}, header=true, quote='\"'",
            f"escape='\"', comment='', skip=0, strict_mode=true, compression={quoted(compression or 'none')}",
        ]
        if memory is not None:
            options.append(f"buffer_size={max(LEAST_BUFFER, min(MOST_BUFFER, memory // 8))}")
        if rules.missing:
            options.append(f"nullstr=[{', '.join(map(quoted, rules.missing))}]")
        else:
            options.append(f"force_not_null=[{', '.join(quoted(f'c{place}') for place in range(len(names)))}]")
        order = ", ".join(f"c{names.index(name)} AS c{place}" for place, name in enumerate(parts[0].names))
        relations.append(f"SELECT {order} FROM read_csv({', '.join(options)})")
    return relations


def _csv_error(parts: Sequence[CsvPart], rules: TextRules, error: Exception) -> ValueError:
    """Return an error that names the line that cannot be read, and the cure."""
    said = str(error)
    if "unicode" in said.lower():
        for part in parts:
            with part.file.decoded(rules.cures), part.file.open() as lines:
                while lines.read(1 << 20):
                    pass
    for part in parts:
        if uneven := _uneven_line(part, rules) or _mixed_ends(part):
            return uneven
    line = re.search(r"CSV Error on Line: (\d+)", said)
    where = f", line {line[1]}" if line and len(parts) == 1 else ""
    reason = "a quote is not closed" if "quote" in said else first_line(error)
    return ValueError(f"{parts[0].file.path}{where}: {reason}; is its delimiter {parts[0].delimiter!r}?")


def _uneven_line(part: CsvPart, rules: TextRules) -> ValueError | None:
    width = len(part.names)
    for number, record in _records(part):
        if record and len(record) != width:
            return ValueError(
                f"{part.file.path}, line {number}: {len(record)} fields, but the header has {width}; quote "
                f"fields that hold {part.delimiter!r}, or give {rules.cures.delimiter}"
            )
    return None


def _mixed_ends(part: CsvPart) -> ValueError | None:
    """Return an error for the first line that ends differently; lines inside quotes do not count."""
    ends: set[str] = set()
    with part.file.open(errors="replace") as lines:
        for number, line in enumerate(re.sub('"[^"]*"', "", lines.read(1 << 24)).splitlines(keepends=True), 1):
            ends.add(line[len(line.rstrip("\r\n")) :] or next(iter(ends), ""))
            if len(ends) > 1:
                return ValueError(
                    f"{part.file.path}, line {number}: lines end in two ways, {' and '.join(map(repr, sorted(ends)))}; "
                    "convert them to one, for instance with dos2unix"
                )
    return None


def _place_of(parts: Sequence[CsvPart], error: WrongValueError) -> str:
    """Return the file and the line of a value."""
    for part in parts:
        place = part.names.index(error.name)
        for number, record in _records(part):
            if len(record) > place and record[place].strip() == error.value:
                return f"{part.file.path}, line {number}, "
    return ""


def _records(part: CsvPart) -> Iterator[tuple[int, list[str]]]:
    """Yield the records below the header, each with the number of its first line."""
    with part.file.open(errors="replace") as lines:
        reader = csv.reader(lines, delimiter=part.delimiter)
        try:
            next(reader, None)
            before = reader.line_num
            for record in reader:
                yield before + 1, record
                before = reader.line_num
        except csv.Error:  # a field of more than 128 KB, as after a stray quote: lines below are unknown
            return
