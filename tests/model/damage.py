"""Ways to take a model file apart, to damage it and to watch it being read."""

from __future__ import annotations

import json
import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

from arboretum.model import ModelFileError, from_bytes
from arboretum.model.model_file import _digest, _view_arrays


def same_arrays(left, right) -> bool:
    return set(left) == set(right) and all(
        left[name].shape == right[name].shape
        and left[name].dtype == right[name].dtype.newbyteorder("=")
        and left[name].tobytes() == right[name].astype(left[name].dtype).tobytes()
        for name in left
    )


def split_file(data: bytes) -> tuple[dict, bytes]:
    (length,) = struct.unpack_from("<Q", data)
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def join_file(layout, content: bytes) -> bytes:
    text = json.dumps(layout).encode()
    return struct.pack("<Q", len(text)) + text + content


def signed(layout, content: bytes) -> bytes:
    """Join layout and arrays with the checksum that belongs to them; ModelFileError if they do not fit."""
    canonical = layout["__metadata__"]["arboretum"].encode()
    entries = {name: entry for name, entry in layout.items() if name != "__metadata__"}
    checksum = _digest(canonical, _view_arrays(entries, memoryview(content), 0))
    return join_file({**layout, "__metadata__": {"arboretum": canonical.decode(), "sha256": checksum}}, content)


def peak_of(data: bytes) -> int:
    """Return the bytes that reading takes."""

    def read() -> None:
        with suppress(ModelFileError):
            from_bytes(data)

    return peak_bytes(read)


def peak_bytes(call: Callable[[], object]) -> int:
    """Return the bytes that a call takes, the least of three: other threads, as those of a Dask client, count too."""
    peaks = []
    for _ in range(3):
        tracemalloc.start()
        try:
            call()
        finally:
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    return min(peaks)
