"""Encodings: the arrays of a forest in a third of their bytes or less, and back to the bit.

An encoding is a list of steps. Each takes an array and leaves a smaller one, and maybe an array beside it::

    threshold    0.5  0  0  1.5  0  0  0.5  0  0     9 float64
    inner        0.5        1.5        0.5           3 float64: leaves hold 0, their places follow from `kind`
    dictionary   0          1          0             3 uint32, and beside it the table 0.5, 1.5
    narrow       010                                 1 byte

The first steps use the shape of the trees and are taken wherever they hold (``differences``, ``inner``, ``after_node``,
``after_left``); the last ones use repetition, and the smallest form wins (``float32``, ``dictionary``, ``narrow``).
Arithmetic on integers is modulo 2 to the power of their bits, so that no step can overflow.

Decoding knows how many items each step must give before it makes an array of them, and what all decoded arrays take is
bounded by the size of the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from arboretum.cached import cached_property
from arboretum.model.arrays import DTYPE_NAMES, Arrays, damaged, read_type, unexpected

Array = npt.NDArray[Any]
Step = dict[str, Any]

MAX_EXPANSION = 64  # bytes of decoded arrays for each byte of the file
_MIN_SAVED = 256  # bytes, about what the description of an encoding takes
_MAX_STEPS = 5
_STARTS = ("tree_start", "set_start", "projection_start", "slope_start")
_AFTER = {"left": "after_node", "right": "after_left"}
_NARROW_BITS = (8, 16, 32)
_CODE = np.dtype("<u4")
_FLOAT, _HALF = np.dtype("<f8"), np.dtype("<f4")


@dataclass(frozen=True)
class Encoded:
    """An array after some steps: what is left of it, and what the steps put beside it."""

    main: Array
    steps: tuple[Step, ...] = ()
    beside: Arrays = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return self.main.nbytes + sum(array.nbytes for array in self.beside.values())


class Nodes:
    """Where the inner nodes are: what steps on trees need of the arrays that are known by then."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = arrays

    def _known(self, name: str, dtype: str) -> Array:
        array = self._arrays.get(name)
        if array is None or array.ndim != 1 or array.dtype != np.dtype(dtype):
            raise ValueError(f"it needs {name!r}, a 1-D array of {DTYPE_NAMES[np.dtype(dtype)]}")
        return array

    @cached_property
    def kind(self) -> Array:
        """Kind of each node; 0 at a leaf."""
        return self._known("kind", "u1")

    @cached_property
    def inner(self) -> npt.NDArray[np.intp]:
        """Inner nodes."""
        return np.flatnonzero(self.kind != 0)

    @cached_property
    def leaves(self) -> npt.NDArray[np.intp]:
        """All other nodes."""
        return np.flatnonzero(self.kind == 0)

    @cached_property
    def place(self) -> npt.NDArray[np.int64]:
        """Place of each inner node in its tree."""
        start = self._known("tree_start", "<i8")
        rising = start.size > 0 and start[0] == 0 and start[-1] == self.kind.size and (start[1:] >= start[:-1]).all()
        if not rising:
            raise ValueError("it needs 'tree_start' to rise from 0 to the number of nodes")
        first: npt.NDArray[np.int64] = np.repeat(start[:-1], np.diff(np.searchsorted(self.inner, start)))
        return self.inner - first

    @cached_property
    def left(self) -> Array:
        """Left child of each inner node."""
        left = self._known("left", "<i4")
        if left.size != self.kind.size:
            raise ValueError("it needs 'left' to be as long as 'kind'")
        return left[self.inner]


# Writing


def encode(arrays: Mapping[str, Array]) -> tuple[Arrays, dict[str, Any]]:
    """Arrays as a model file stores them, and how each that was changed is to be decoded.

    Parameters
    ----------
    arrays : dict of str to ndarray
        Little-endian, in C order.

    Returns
    -------
    stored : dict of str to ndarray
        What a step puts beside array ``"x"`` is called ``"x.table"`` or ``"x.wide"``.
    encodings : dict
        For each changed array its dtype, shape and steps. Empty if nothing would become much smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from arboretum.model.encodings import decode, encode
    >>> stored, encodings = encode({"n_rows": np.arange(5000) % 200})
    >>> encodings["n_rows"]
    {'dtype': 'I64', 'shape': [5000], 'steps': [{'step': 'narrow', 'bits': 8, 'minimum': 0}]}
    >>> decode(stored, encodings, 5000)["n_rows"][-3:]
    array([197, 198, 199])
    """
    stored: Arrays = {}
    encodings: dict[str, Any] = {}
    nodes = Nodes(arrays)
    for name, array in arrays.items():
        if any(other.startswith(f"{name}.") for other in arrays):  # its name may be needed
            stored[name] = array
            continue
        encoded = _encoded(name, array.reshape(-1), nodes)
        if array.nbytes - encoded.nbytes < _MIN_SAVED:
            stored[name] = array
            continue
        stored[name] = encoded.main
        stored |= {f"{name}.{suffix}": beside for suffix, beside in encoded.beside.items()}
        encodings[name] = {"dtype": DTYPE_NAMES[array.dtype], "shape": list(array.shape), "steps": list(encoded.steps)}
    decoded = sum(arrays[name].nbytes for name in encodings)
    if decoded > MAX_EXPANSION * sum(array.nbytes for array in stored.values()):
        return dict(arrays), {}
    return stored, encodings


def _encoded(name: str, values: Array, nodes: Nodes) -> Encoded:
    if not values.size:
        return Encoded(values)
    steps: list[Step] = []
    for step, kept in _structured(name, values, nodes):
        steps.append(step)
        values = kept
    form = smallest(values)
    return Encoded(form.main, (*steps, *form.steps), form.beside)


def _structured(name: str, values: Array, nodes: Nodes) -> Iterator[tuple[Step, Array]]:
    """Yield the steps that hold, each with the array that it leaves."""
    if name in _STARTS and values.dtype.kind in "iu" and values[0] == 0:
        values = np.diff(values.view(_unsigned(values.dtype))).view(values.dtype)
        yield {"step": "differences"}, values
    try:
        rest = rest_of_leaves(values, nodes)
        if rest is None or name == "kind":
            return
        values = values[nodes.inner]
        yield {"step": "inner", "rest": rest}, values
        if name in _AFTER and values.dtype.kind in "iu":
            yield {"step": _AFTER[name]}, _shifted(values, -_reference(_AFTER[name], nodes))
    except ValueError:  # not a forest, or one that is not valid: the steps so far hold
        return


def rest_of_leaves(values: Array, nodes: Nodes) -> int | None:
    """0 or −1 if that is what all leaves hold, to the bit; else None."""
    if values.size != nodes.kind.size:
        return None
    leaves = values[nodes.leaves]
    for rest in (0, -1):
        if rest < 0 and values.dtype.kind == "u":
            continue
        like = np.full(1, rest, values.dtype).view(_unsigned(values.dtype))
        if (leaves.view(like.dtype) == like).all():
            return rest
    return None


def smallest(values: Array) -> Encoded:
    """Of the forms that use repetition and of `values` itself the one of fewest bytes, the plainest of several."""
    forms = [Encoded(values)]
    if values.size:
        forms += [form for make in (narrow, float32, dictionary) if (form := make(values)) is not None]
    return min(forms, key=lambda form: form.nbytes)


def narrow(values: Array) -> Encoded | None:
    """Integers less their minimum in 1, 8, 16 or 32 bits. The largest code means: the next item of ``wide``."""
    if values.dtype.kind not in "iu":
        return None
    minimum = int(values.min())
    unsigned = _unsigned(values.dtype)
    offsets = values.view(unsigned) - _modular(minimum, unsigned)
    largest = int(offsets.max())
    if largest <= 1:
        return Encoded(np.packbits(offsets.astype(np.uint8)), ({"step": "narrow", "bits": 1, "minimum": minimum},))
    wide = next(np.dtype(t) for t in ("<u2", "<u4", "<u8") if largest <= np.iinfo(t).max)
    sizes = {
        bits: values.size * bits // 8 + wide.itemsize * np.count_nonzero(offsets >= _escape(bits))
        for bits in _NARROW_BITS
        if bits < 8 * values.itemsize
    }
    if not sizes:
        return None
    bits = min(sizes, key=lambda bits: (sizes[bits], -bits))  # of equals the one with fewest wide items
    escape = _escape(bits)
    return Encoded(
        np.minimum(offsets, escape).astype(f"<u{bits // 8}"),
        ({"step": "narrow", "bits": bits, "minimum": minimum},),
        {"wide": offsets[offsets >= escape].astype(wide)},
    )


def float32(values: Array) -> Encoded | None:
    """Doubles that are floats as well, to the bit."""
    if values.dtype != _FLOAT:
        return None
    with np.errstate(all="ignore"):
        halves = values.astype(_HALF)
        same = (halves.astype(_FLOAT).view(np.uint64) == values.view(np.uint64)).all()
    return Encoded(halves, ({"step": "float32"},)) if same else None


def dictionary(values: Array) -> Encoded | None:
    """Distinct floats in a table, the frequent ones first, and their places in it. Told apart by their bits."""
    if values.dtype.kind != "f":
        return None
    bits = values.view(_unsigned(values.dtype))
    rising = np.sort(bits)
    first = np.flatnonzero(np.append(True, rising[1:] != rising[:-1]))
    if first.size * values.itemsize + values.size >= values.nbytes:
        return None
    counts = np.diff(np.append(first, rising.size))
    frequent = np.argsort(-counts, kind="stable")
    code = np.empty(first.size, _CODE)
    code[frequent] = np.arange(first.size, dtype=_CODE)
    codes = np.empty(values.size, _CODE)
    codes[np.argsort(bits)] = np.repeat(code, counts)
    form = smallest(codes)
    table = rising[first[frequent]].view(values.dtype)
    return Encoded(form.main, ({"step": "dictionary"}, *form.steps), {"table": table, **form.beside})


# Reading


def decode(stored: Mapping[str, Array], encodings: Any, file_size: int) -> Arrays:
    """Arrays that were given to :func:`encode`; safe for any `stored` and `encodings`.

    Parameters
    ----------
    stored : dict of str to ndarray
    encodings : JSON value
        As :func:`encode` gives them, if they are valid.
    file_size : int
        Bytes of the file: the decoded arrays may have 64 times as many.

    Returns
    -------
    dict of str to ndarray
        Read-only; those without encoding are the stored ones.

    Raises
    ------
    ModelFileError
        If the encodings do not fit the stored arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from arboretum.model.encodings import decode
    >>> encodings = {"x": {"dtype": "F64", "shape": [2], "steps": [{"step": "float32"}]}}
    >>> decode({"x": np.array([0.5, 1.5], np.float32)}, encodings, 1000)
    {'x': array([0.5, 1.5])}
    """
    if not isinstance(encodings, dict):
        raise unexpected("'encodings' of its header", encodings, "a JSON object")
    claims = {name: (*_read_entry(name, entry), entry["steps"]) for name, entry in encodings.items()}
    size = sum(math.prod(shape) * dtype.itemsize for dtype, shape, _ in claims.values())
    if size > MAX_EXPANSION * file_size:
        raise damaged(f"its arrays would take {size} bytes, more than {MAX_EXPANSION} times the file")
    left_over = dict(stored)
    decoded = {name: array for name, array in stored.items() if name not in claims}
    nodes = Nodes(decoded)
    first = [name for name in ("kind", "tree_start", "left") if name in claims]  # what other steps need
    for name in (*first, *(name for name in claims if name not in first)):
        dtype, shape, steps = claims[name]
        try:
            array = _undo(steps, _Source(name, left_over, nodes), dtype, math.prod(shape))
        except ValueError as error:
            raise damaged(f"array {name!r} cannot be decoded: {error}") from None
        decoded[name] = array.reshape(shape)
        decoded[name].flags.writeable = False
    return {name: array for name, array in decoded.items() if name in left_over or name in claims}


def _read_entry(name: str, entry: Any) -> tuple[np.dtype[Any], list[int]]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "steps"}:
        raise unexpected(f"the encoding of array {name!r}", entry, "an object with dtype, shape and steps")
    steps = entry["steps"]
    if not isinstance(steps, list) or not 0 < len(steps) <= _MAX_STEPS:
        raise unexpected(f"the encoding of array {name!r}", steps, f"a list of 1 to {_MAX_STEPS} steps")
    for step in steps:
        keys = _KEYS.get(step["step"]) if isinstance(step, dict) and isinstance(step.get("step"), str) else None
        if keys is None or set(step) != {"step", *keys} or any(type(step[key]) is not int for key in keys):
            known = "; ".join(" with ".join(filter(None, (one, " and ".join(keys)))) for one, keys in _KEYS.items())
            raise unexpected(f"an encoding step of array {name!r}", step, f"one of {known}")
    return read_type(name, entry)


@dataclass(frozen=True)
class _Source:
    """Where the steps of one array find what is stored of it."""

    name: str
    left_over: Arrays
    nodes: Nodes

    def take(self, suffix: str = "") -> Array:
        array = self.left_over.pop(self.name + suffix, None)
        if array is None or array.ndim != 1:
            raise ValueError(f"{self.name + suffix!r} is missing or not 1-D")
        return array


def _undo(steps: list[Step], source: _Source, dtype: np.dtype[Any], count: int) -> Array:
    """`count` items of `dtype`: the last step is undone first, but how many items it gives is known from the first."""
    if not steps:
        array = source.take()
        if array.dtype != dtype or array.size != count:
            raise ValueError(f"it has {array.size} items of {array.dtype}, not {count} of {dtype}")
        return array
    step, *later = steps
    return _UNDO[step["step"]](step, lambda dtype, count: _undo(later, source, dtype, count), source, dtype, count)


Inside = Callable[[np.dtype[Any], int], Array]  # undoes the later steps


def _undo_differences(step: Step, inside: Inside, source: _Source, dtype: np.dtype[Any], count: int) -> Array:
    _require_integers(dtype)
    if count == 0:
        raise ValueError("it has 0 items, expected at least 1 after the step 'differences'")
    unsigned = _unsigned(dtype)
    starts = np.empty(count, unsigned)
    starts[0] = 0
    np.cumsum(inside(dtype, count - 1).view(unsigned), out=starts[1:])
    return starts.view(dtype)


def _undo_inner(step: Step, inside: Inside, source: _Source, dtype: np.dtype[Any], count: int) -> Array:
    nodes, rest = source.nodes, step["rest"]
    if count != nodes.kind.size:
        raise ValueError(f"it has {count} items, but there are {nodes.kind.size} nodes")
    if rest not in (0, -1) or (rest < 0 and dtype.kind == "u"):
        raise ValueError(f"'rest' of its leaves is {rest}, expected {'0' if dtype.kind == 'u' else '0 or −1'}")
    kept = inside(dtype, nodes.inner.size)
    array = np.full(count, rest, dtype) if rest else np.zeros(count, dtype)
    array[nodes.inner] = kept
    return array


def _undo_after(step: Step, inside: Inside, source: _Source, dtype: np.dtype[Any], count: int) -> Array:
    _require_integers(dtype)
    if count != source.nodes.inner.size:
        raise ValueError(f"it has {count} items, but there are {source.nodes.inner.size} inner nodes")
    return _shifted(inside(dtype, count), _reference(step["step"], source.nodes))


def _undo_float32(step: Step, inside: Inside, source: _Source, dtype: np.dtype[Any], count: int) -> Array:
    if dtype != _FLOAT:
        raise ValueError(f"its dtype is {dtype}, expected float64 after the step 'float32'")
    with np.errstate(invalid="ignore"):  # of a NaN that signals
        return inside(_HALF, count).astype(_FLOAT)


def _undo_dictionary(step: Step, inside: Inside, source: _Source, dtype: np.dtype[Any], count: int) -> Array:
    table = source.take(".table")
    if table.dtype != dtype:
        raise ValueError(f"its table is of {table.dtype}, not {dtype}")
    codes = inside(_CODE, count)
    if count and int(codes.max()) >= table.size:
        raise ValueError(f"its codes reach {codes.max()}, but its table has {table.size} items")
    return table[codes]


def _undo_narrow(step: Step, inside: Inside, source: _Source, dtype: np.dtype[Any], count: int) -> Array:
    _require_integers(dtype)
    bits, unsigned = step["bits"], _unsigned(dtype)
    if bits == 1:
        packed = inside(np.dtype("u1"), -(-count // 8))
        offsets = np.unpackbits(packed, count=count).astype(unsigned)
    elif bits in _NARROW_BITS and bits < 8 * dtype.itemsize:
        codes = inside(np.dtype(f"<u{bits // 8}"), count)
        escaped = np.flatnonzero(codes == _escape(bits))
        wide = source.take(".wide")
        if wide.dtype.kind != "u" or wide.dtype.itemsize > dtype.itemsize or wide.size != escaped.size:
            raise ValueError(f"{escaped.size} wide items are needed, not {wide.size} of {wide.dtype}")
        offsets = codes.astype(unsigned)
        offsets[escaped] = wide
    else:
        raise ValueError(f"{dtype} cannot be narrowed to {bits} bits")
    if step["minimum"]:
        offsets += _modular(step["minimum"], unsigned)
    return offsets.view(dtype)


_KEYS: dict[str, tuple[str, ...]] = {
    "differences": (),
    "inner": ("rest",),
    "after_node": (),
    "after_left": (),
    "float32": (),
    "dictionary": (),
    "narrow": ("bits", "minimum"),
}
_UNDO: dict[str, Callable[[Step, Inside, _Source, np.dtype[Any], int], Array]] = {
    "differences": _undo_differences,
    "inner": _undo_inner,
    "after_node": _undo_after,
    "after_left": _undo_after,
    "float32": _undo_float32,
    "dictionary": _undo_dictionary,
    "narrow": _undo_narrow,
}


# Both


def _reference(step: str, nodes: Nodes) -> Array:
    return nodes.place if step == "after_node" else nodes.left.astype(np.int64)  # −2³¹ has no negative in 32 bits


def _shifted(values: Array, by: Array) -> Array:
    """Sum modulo 2 to the power of the bits of `values`."""
    unsigned = _unsigned(values.dtype)
    shifted: Array = values.view(unsigned) + by.astype(unsigned)
    return shifted.view(values.dtype)


def _modular(number: int, unsigned: np.dtype[Any]) -> Array:
    return np.array(number % 2 ** (8 * unsigned.itemsize), unsigned)


def _unsigned(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"<u{dtype.itemsize}")


def _escape(bits: int) -> int:
    return int(2**bits - 1)


def _require_integers(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "iu":
        raise ValueError(f"{dtype} is not an integer type")
