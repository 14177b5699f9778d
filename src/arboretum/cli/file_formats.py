"""Formats of files, recognised by their first bytes, or else by their names."""

from __future__ import annotations

import atexit
import glob
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from arboretum.cli.errors import DataError
from arboretum.data.file_order import in_natural_order

if TYPE_CHECKING:
    from arboretum.data.text_files import TextFile

STANDARD = "-"  # standard input or output
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
    "arrows": "arrow",
    "feather": "arrow",
}
COMPRESSED = {"gz": "gzip", "zst": "zstd", "bz2": "bz2"}
SQLITE, DATABASES = ("db", "sqlite", "sqlite3"), ("db", "sqlite", "sqlite3", "duckdb")
MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # a stream
    b"SQLite format 3\0": "database",
}
REJECTED = {  # formats that are not read, and what to do
    b"PK\x03\x04": "a zip archive: unpack it first; a sheet of Excel, save as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel file: save the sheet as CSV",
    b"\xfd7zXZ": "compressed by xz: decompress it first, with unxz",
    b"FEA1": "a Feather file of the old version: write it again, as Feather version 2 or Parquet",
    b"ORC": "an ORC file: write it as Parquet",
    b"Obj\x01": "an Avro file: write it as Parquet",
    b"\x89HDF": "an HDF5 file: write its table as Parquet or CSV",
}


def shown(name: str) -> str:
    """Return a file name that can be printed, whatever its bytes are."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def files_named(data: str) -> list[Path]:
    """Return the files of a path, a table of a database, a pattern or a folder, in natural order.

    There may be none.

    Examples
    --------
    >>> files_named("no such file.csv")
    []
    """
    found = Path(data) if Path(data).exists() else Path(data.partition("::")[0]).expanduser()
    if found.is_dir():
        inside = (file for file in found.rglob("*") if file.is_file() and not is_hidden(file.relative_to(found)))
        return in_natural_order(inside)
    if found.exists():
        return [found]
    matches = glob.glob(str(found), recursive=True)  # noqa: PTH207  # Path.glob takes no absolute patterns
    return in_natural_order(Path(name) for name in matches)


def is_hidden(path: Path) -> bool:
    """Whether a file, or a folder of it, is ignored, as .git and _SUCCESS are."""
    return any(part.startswith((".", "_")) for part in path.parts)


def suffix_of(file: Path) -> str:
    """Return the ending of a file name, in front of that of a compression.

    Examples
    --------
    >>> suffix_of(Path("sales.csv.gz")), suffix_of(Path("Sales.PQ"))
    ('csv', 'pq')
    """
    parts = file.name.lower().split(".")
    return parts[-2] if len(parts) > 2 and parts[-1] in COMPRESSED else parts[-1]


def recognise(file: Path) -> tuple[str, Path]:
    """Return the format (csv, json, parquet, arrow, database) and the file, decompressed unless it is text."""
    from arboretum.data.text_columns import ARGUMENTS
    from arboretum.data.text_files import TextFile

    with file.open("rb") as content:
        head = content.read(16)
    found, text = _by_content(head, file), TextFile.find(str(file), "utf-8", ARGUMENTS)
    if found is None and text.compression is not None:
        with text.bytes() as content:
            found = _by_content(content.read(16), file)
        if found is not None:
            file = temporary_file(file.name)
            with text.bytes() as content, file.open("wb") as plain:
                shutil.copyfileobj(content, plain)
    return found or _by_name(file, text), file


def _by_content(head: bytes, file: Path) -> str | None:
    """Return the format by the first bytes; None if they are text, such as a column called ORCID."""
    if all(byte >= 0x20 or byte in b"\t\r\n" for byte in head):
        return None
    for magic, reason in REJECTED.items():
        if head.startswith(magic):
            raise DataError(f"{shown(str(file))} is {reason}")
    if head[8:12] == b"DUCK":
        return "database"
    return next((found for magic, found in MAGIC.items() if head.startswith(magic)), None)


def _by_name(file: Path, text: TextFile) -> str:
    suffix = suffix_of(file)
    if suffix in DATABASES:
        return "database"
    if suffix in FORMATS:
        return FORMATS[suffix]
    if file.name == STANDARD:
        with text.open(errors="replace") as content:
            begin = content.read(1 << 12)
        return "json" if re.match(r"\ufeff?\s*(\{|\[\s*\{)", begin) else "csv"
    name = shown(str(file))
    raise DataError(
        f"{name} has no known format: {', '.join(FORMATS)}, also with {' or '.join('.' + c for c in COMPRESSED)}; "
        f"{', '.join(DATABASES)}. Rename it, or give it to standard input: - < {name}"
    )


def temporary_file(name: str) -> Path:
    """Return a path in a new folder that is removed when the program ends."""
    folder = Path(tempfile.mkdtemp(prefix="arboretum-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder / name
