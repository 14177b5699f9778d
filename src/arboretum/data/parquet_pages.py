"""How much memory it takes to read columns of a Parquet file side by side, a few rows at a time.

::

    row group   chunk of column a   [dictionary page] [data page] [data page] …
                chunk of column b   [data page] [data page] …

A page is compressed as a whole: to read one of its values is to hold it, as stored and as decoded. A reader of several
columns holds a page of each, and their dictionaries. Most writers make pages of up to 1 MB, some make one page of a
whole chunk. The footer of the file does not tell; the headers of the pages do.
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO

STREAM_BUFFER = 65_536  # bytes of a column that are fetched from the file at a time
HEADER_BYTES = 64  # more than the fields of a page header that are read here
MAGIC, ENCRYPTED_MAGIC = b"PAR1", b"PARE"  # the last bytes of a file
FOOTER_FACTOR = 11  # bytes that pyarrow takes for a byte of a footer: 8.8 for 8,000 columns, 10.6 for 200 row groups


def footer_bytes(file: BinaryIO) -> int:
    """Return the memory that an open file takes for its footer, which describes every column of every row group.

    Examples
    --------
    >>> import io
    >>> footer_bytes(io.BytesIO(bytes(100) + (96).to_bytes(4, "little") + b"PAR1"))
    1056
    """
    file.seek(max(0, file.seek(0, io.SEEK_END) - 4 - len(MAGIC)))
    end = file.read()
    return FOOTER_FACTOR * int.from_bytes(end[:4], "little") if end[4:] == MAGIC else 0


def page_sizes(header: bytes) -> tuple[int, int]:
    """Return the bytes of a page, as decoded and as stored.

    A page header is a Thrift struct in the compact protocol. Its first three fields are ``type``,
    ``uncompressed_page_size`` and ``compressed_page_size``: the byte 0x15 (the next field, a 32-bit integer), then the
    value as a zigzag varint.

    Examples
    --------
    >>> page_sizes(bytes([0x15, 0x00, 0x15, 0xC8, 0x01, 0x15, 0x64]))
    (100, 50)
    """
    values, at = [], 0
    for _ in range(3):
        if header[at] != 0x15:
            raise ValueError("no page header")
        at, value, shift = at + 1, 0, 0
        while True:
            value |= (header[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if header[at - 1] < 0x80:
                break
        values.append(value >> 1)
    return values[1], values[2]


def overhead() -> float:
    """Return how many bytes of memory the allocator of pyarrow takes for a byte of pages."""
    import pyarrow

    return 1.1 if pyarrow.default_memory_pool().backend_name == "jemalloc" else 2.0


def open_bytes(file: BinaryIO, chunk: Any) -> int:
    """Return what a reader of a column chunk holds: its first data page and its dictionary, as stored and as decoded.

    Parameters
    ----------
    file : binary file
        The Parquet file.
    chunk : pyarrow.parquet.ColumnChunkMetaData
        What the footer says about the chunk.
    """
    held = min(STREAM_BUFFER, int(chunk.total_compressed_size))
    for offset in (chunk.dictionary_page_offset, chunk.data_page_offset):
        if offset:
            file.seek(offset)
            try:
                held += sum(page_sizes(file.read(HEADER_BYTES)))
            except (ValueError, IndexError):  # damaged or encrypted, as the reader will find out
                return held + int(chunk.total_compressed_size + chunk.total_uncompressed_size)
    return held
