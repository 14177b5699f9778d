"""Text files, perhaps compressed, in any encoding."""

from __future__ import annotations

import codecs
import io
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arboretum.data.text_columns import Cures

COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
READ_BY_DUCKDB = (None, "gzip", "zstd")
BYTE_ORDER_MARKS = (  # the longer ones first: UTF-32 begins as UTF-16 does
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
UTF8 = ("utf-8", "utf-8-sig")


@dataclass(frozen=True)
class TextFile:
    """A text file, perhaps compressed, in some encoding.

    Parameters
    ----------
    path : str
        Where it is.
    encoding : str
        A codec of Python.
    compression : str, optional
        "gzip", "zstd" or "bz2".
    """

    path: str
    encoding: str
    compression: str | None

    @classmethod
    def find(cls, path: str, encoding: str | None, cures: Cures) -> TextFile:
        """Determine encoding and compression from the first bytes of a file."""
        if encoding is not None:
            try:
                codecs.lookup(encoding)
            except LookupError:
                raise ValueError(f"encoding={encoding!r} is unknown: use one such as 'latin-1' or 'utf-16'") from None
        with Path(path).open("rb") as file:
            head = file.read(8)
        compression = next((name for magic, name in COMPRESSIONS.items() if head.startswith(magic)), None)
        found = cls(path, encoding or "utf-8", compression)
        if encoding is None:
            with found.bytes() as content:
                head = content.read(200)
            marked = (name for mark, name in BYTE_ORDER_MARKS if head.startswith(mark))
            found = replace(found, encoding=next(marked, "utf-8"))
            if found.encoding == "utf-8" and head.count(0) > len(head) / 4:
                order = "le" if head[1:2] == b"\0" else "be"
                raise ValueError(f"{path} looks like UTF-16 text: {cures.encoding(f'utf-16-{order}')} reads it")
        return found

    def bytes(self) -> Any:
        """Open the file as bytes, decompressed."""
        import pyarrow

        return pyarrow.input_stream(Path(self.path).open("rb"), compression=self.compression)

    def open(self, errors: str = "strict") -> io.TextIOWrapper:
        """Open the file as text."""
        return io.TextIOWrapper(self.bytes(), encoding=self.encoding, errors=errors, newline="")

    def as_utf8(self, folder: Path, *, plain: bool = False) -> TextFile:
        """Return a file that DuckDB can read, this one or a copy; ``plain``: without compression and BOM."""
        encodings, compressions = (UTF8[:1], (None,)) if plain else (UTF8, READ_BY_DUCKDB)
        if self.encoding in encodings and self.compression in compressions and _is_text(self.path):
            return self
        copy = folder / f"text-{len(list(folder.iterdir())):06d}"
        with self.open() as content, copy.open("w", encoding="utf-8", newline="") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        return TextFile(str(copy), "utf-8", None)

    @contextmanager
    def decoded(self, cures: Cures) -> Iterator[None]:
        """Replace decoding errors by ones that name the line, the byte and the cure."""
        try:
            yield
        except UnicodeError:
            raise self._wrong_bytes(cures) from None

    def _wrong_bytes(self, cures: Cures) -> ValueError:
        if self.encoding not in UTF8:
            return ValueError(f"{self.path} is not {self.encoding} text: try {cures.encoding('latin-1')}")
        with self.bytes() as content:
            number, byte = next(
                (number, wrong)
                for number, line in enumerate(io.BufferedReader(content), 1)
                if (wrong := _wrong_byte(line)) is not None
            )
        return ValueError(
            f"{self.path}, line {number}: the byte 0x{byte:02x} is not UTF-8 text; {cures.encoding('cp1252')} or "
            f"{cures.encoding('latin-1')} reads Western European text"
        )


def _wrong_byte(line: bytes) -> int | None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return line[error.start]
    return None


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def escaped(path: str) -> str:
    """Return a path that DuckDB does not read as a pattern.

    Examples
    --------
    >>> escaped("sales[1].csv")
    'sales[[]1].csv'
    """
    return re.sub(r"([*?\[])", r"[\1]", path)
