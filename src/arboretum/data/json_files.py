"""JSON files as rows of a Dataset: read once by DuckDB into a temporary Parquet file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from arboretum.data.sources import (
    Snapshot,
    connect_wide,
    copy_out,
    first_line,
    identifier,
    import_engine,
    lacking_memory,
    quoted,
    refuse_empty,
)
from arboretum.data.text_columns import Cures, TextRules, read_columns
from arboretum.data.text_files import TextFile, escaped


def json_files(files: Sequence[str], encoding: str | None, cures: Cures) -> Snapshot:
    """Read JSON files: an array of objects, or objects one after the other, as one per line."""
    refuse_empty(files)
    rules = TextRules(missing=(), believed=True, cures=cures)
    found = [TextFile.find(path, encoding, cures) for path in files]
    return Snapshot(partial(_write_json, found, rules), f"reading {files[0]}")


def _write_json(files: Sequence[TextFile], rules: TextRules, folder: Path, memory: int | None) -> None:
    """Write all rows as Parquet; text in ISO form becomes dates, which JSON does not have."""
    engine = import_engine()
    texts = folder / "texts"
    texts.mkdir()
    connection = connect_wide(0, memory)
    try:
        relation = _json_relation(files, texts, rules)
        described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        names, types = [row[0] for row in described], [row[1] for row in described]
        cells = [
            f"{_plain_json(identifier(name), kind)} AS c{j}"
            for j, (name, kind) in enumerate(zip(names, types, strict=True))
        ]
        connection.execute(f"CREATE VIEW rows AS SELECT {', '.join(cells)} FROM {relation}")
        text = [j for j, kind in enumerate(types) if kind in ("VARCHAR", "JSON", "UUID")]
        columns = read_columns(
            lambda query: connection.execute(query).fetchall(), [names[j] for j in text], text, rules
        )
        dates = {
            j: column for j, column in zip(text, columns, strict=True) if column.kind == "date" and not column.format
        }
        chosen = (dates[j].expression(f"c{j}") if j in dates else f"c{j}" for j in range(len(names)))
        query = ", ".join(f"{cell} AS {identifier(name)}" for cell, name in zip(chosen, names, strict=True))
        copy_out(connection, f"SELECT {query} FROM rows", folder, memory)
    except engine.OutOfMemoryException:
        raise lacking_memory(memory, f"reading {files[0].path}") from None
    except engine.Error as error:
        raise _json_error(files, error) from error
    finally:
        connection.close()
        shutil.rmtree(texts)


def _json_relation(files: Sequence[TextFile], folder: Path, rules: TextRules) -> str:
    readable = []
    for file in files:
        with file.decoded(rules.cures):
            with file.open() as content:
                begin = content.read(1 << 16).lstrip()
            if not re.match(r"\{|\[\s*[{\]]", begin):
                raise ValueError(
                    f"{file.path} begins with {begin[:20]!r}: JSON must be an array of objects, [{{…}}, {{…}}], or one "
                    "object per line"
                )
            readable.append(file.as_utf8(folder, plain=True))
    # sample_size: all rows tell the types. Only dates in ISO form are dates: others would be guesses.
    names = ", ".join(quoted(escaped(file.path)) for file in readable)
    return (
        f"read_json([{names}], format='auto', records=true, sample_size=-1, dateformat='%Y-%m-%d', "
        "timestampformat='%Y-%m-%dT%H:%M:%S')"
    )


def _plain_json(column: str, kind: str) -> str:
    """Return SQL for a column, as text if it is a UUID or mixes types, which DuckDB calls JSON."""
    return f"({column} ->> '$')" if kind == "JSON" else f"CAST({column} AS VARCHAR)" if kind == "UUID" else column


def _json_error(files: Sequence[TextFile], error: Exception) -> ValueError:
    """Return an error that names the line that cannot be read."""
    for file in files:
        with file.open(errors="replace") as lines:
            is_array = lines.read(1 << 16).lstrip().startswith("[")
        with file.open(errors="replace") as lines:
            if is_array:
                if broken := _broken_array(file.path, lines):
                    return broken
                continue
            for number, line in enumerate(lines, 1):
                if line.strip() and not _is_object(line):
                    return ValueError(
                        f"{file.path}, line {number}: {line.strip()!r:.60} is not a JSON object; each line must be one"
                    )
    return ValueError(f"{files[0].path}: {first_line(error)}")


def _broken_array(path: str, lines: TextIO) -> ValueError | None:
    try:
        rows = json.load(lines)
    except json.JSONDecodeError as error:
        return ValueError(f"{path}, line {error.lineno}: {error.msg}; correct it")
    wrong = next((place for place, row in enumerate(rows) if not isinstance(row, dict)), None)
    if wrong is not None:
        return ValueError(
            f"{path}: element {wrong} is {rows[wrong]!r:.60}, not a JSON object; each element must be one"
        )
    return None if any(rows) else ValueError(f"{path} has no rows: its objects are empty, or there are none")


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
