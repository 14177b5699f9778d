"""Ways to damage a model file: its bytes, or what it says under a checksum that is right."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.model import ModelFileError, from_bytes, to_bytes
from arboretum.model.arrays import DTYPES

Arrays = dict[str, NDArray[Any]]


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


NUMBERS: list[Any] = [
    *(-1, 0, 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**400, 1e308, 0.5),
    *(True, None, "8", [], {}),
]


def mutate_json(rng: random.Random, value: Any) -> Any:
    """Replace one random place of a JSON value by an odd one."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(sorted(value))
        return {**value, key: mutate_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        i = rng.randrange(len(value))
        return [*value[:i], mutate_json(rng, value[i]), *value[i + 1 :]]
    return rng.choice([*NUMBERS, *DTYPES, [0, 0], [2**40, 2**40], {"__float__": "inf"}])


def mutate_leaf(rng: random.Random, value: Any) -> Any:
    """Replace one number, text, boolean or empty collection of a JSON value by an odd one, each with equal chance."""
    place = rng.choice(list(leaves(value)))
    return replaced(value, place, rng.choice(NUMBERS))


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Keys and positions that lead to each leaf of a JSON value."""
    keys = sorted(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    if not keys:
        yield place
    for key in keys:
        yield from leaves(value[key], (*place, key))


def replaced(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """Return a copy of a JSON value with another leaf."""
    if not place:
        return odd
    copy = value.copy()
    copy[place[0]] = replaced(value[place[0]], place[1:], odd)
    return copy


def mutate_content(rng: random.Random, data: bytes) -> bytes:
    """Change the header, an array or a file inside the file, and sign the result."""
    header, arrays = from_bytes(data)
    while True:
        changed_header, changed_arrays = header, arrays
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            if rng.random() < 0.5:
                changed_header = rng.choice([mutate_json, mutate_leaf])(rng, changed_header)
            else:
                changed_arrays = mutate_arrays(rng, changed_arrays)
        try:
            return to_bytes(changed_header, changed_arrays, compact=rng.random() < 0.5)
        except (AttributeError, ModelFileError):  # not a header, or an array that no file holds
            continue


def mutate_arrays(rng: random.Random, arrays: Arrays) -> Arrays:
    """Change, remove or rename an array, or let it take the place of another."""
    if not arrays:
        return arrays
    name, other = rng.choice(sorted(arrays)), rng.choice(sorted(arrays))
    way = rng.random()
    if way < 0.85:
        return {**arrays, name: mutate_array(rng, arrays[name])}
    if way < 0.9:
        return {kept: array for kept, array in arrays.items() if kept != name}
    if way < 0.95:
        return {**arrays, name: arrays[other]}
    return {f"{kept} 2" if kept == name else kept: array for kept, array in arrays.items()}


def mutate_array(rng: random.Random, array: NDArray[Any]) -> NDArray[Any]:
    """Change some entries, the length, the shape or the type; a file inside is changed as files are."""
    if array.dtype == np.uint8 and array.nbytes > 8 and rng.random() < 0.8:
        try:
            return np.frombuffer(mutate_content(rng, array.tobytes()), np.uint8)
        except ModelFileError:  # bytes that are not a file
            pass
    match rng.choice(["entries"] * 6 + ["cut", "repeat", "shape", "type", "order"]):
        case "entries":
            changed = array.copy()
            for _ in range(rng.choice([1, 1, 2, 8])):
                if changed.size:
                    changed.flat[rng.randrange(changed.size)] = odd_entry(rng, array)
            return changed
        case "cut":
            return array[: rng.randrange(len(array) + 1)] if array.ndim else array.reshape(1)
        case "repeat":
            return np.concatenate([array, array]) if array.ndim else np.repeat(array, 2)
        case "shape":
            return array.reshape(rng.choice([(-1,), (-1, 1), (1, -1), (1, 1, -1)]) if array.size else (0, 2))
        case "type":
            with np.errstate(all="ignore"):
                return array.astype(rng.choice(["i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8"]))
    return array[::-1] if array.ndim else array


def odd_entry(rng: random.Random, array: NDArray[Any]) -> Any:
    """Return a value of the array's type: an extreme one, or another entry or a neighbour of it."""
    entry = array.flat[rng.randrange(array.size)]
    if array.dtype.kind == "f":
        return rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e30, -1e30, entry])
    limits = np.iinfo(array.dtype)
    near = min(max(int(entry) + rng.choice([-1, 0, 1]), limits.min), limits.max)
    return rng.choice([limits.min, limits.max, 0, 1, near, min(len(array) if array.ndim else 1, limits.max)])
