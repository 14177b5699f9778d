"""Ways to take a model file apart, to damage it and to watch it being read."""

from __future__ import annotations

import json
import random
import struct
import tracemalloc

from arboretum.io import ModelFileError, from_bytes
from arboretum.io.arrays import DTYPES
from arboretum.io.model_file import _digest, _view_arrays


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


def mutate(rng: random.Random, data: bytes) -> bytes:
    """Flip bits, cut, repeat, drop, insert or move a piece; one to three times."""
    for _ in range(rng.randint(1, 3)):
        begin = rng.randrange(len(data) + 1)
        end = min(len(data), begin + rng.choice([1, 2, 8, 64, 1000]))
        piece = data[begin:end]
        match rng.randrange(6):
            case 0:
                flipped = bytes(byte ^ (1 << rng.randrange(8)) for byte in piece[:4])
                data = data[:begin] + flipped + data[begin + len(flipped) :]
            case 1:
                data = data[:begin]
            case 2:
                data = data[:begin] + piece * rng.choice([2, 3, 50]) + data[end:]
            case 3:
                data = data[:begin] + data[end:]
            case 4:
                data = data[:begin] + rng.randbytes(rng.randint(1, 16)) + data[begin:]
            case 5:
                data = data[:8] + rng.choice([b"", b"{", b"[" * 200, b'{"":']) + data[8 + rng.randint(0, 4) :]
    return data


NUMBERS = [
    -1,
    0,
    1,
    2**31,
    2**32,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
    10**400,
    1e308,
    0.5,
    True,
    None,
    "8",
    [],
    {},
]


def mutate_json(rng: random.Random, value):
    """Replace one random place of a JSON value by an odd one."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(sorted(value))
        return {**value, key: mutate_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        i = rng.randrange(len(value))
        return [*value[:i], mutate_json(rng, value[i]), *value[i + 1 :]]
    return rng.choice([*NUMBERS, *DTYPES, [0, 0], [2**40, 2**40], {"__float__": "inf"}])


def peak_of(data: bytes) -> int:
    tracemalloc.start()
    try:
        from_bytes(data)
    except ModelFileError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak
