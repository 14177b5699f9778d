"""The model file: named arrays and one JSON header in a safetensors container.

::

    0         8                        8 + n                                end of file
    ├─ n ─────┼─ layout: JSON, n bytes ┼─ array ─┼─ array ─┼ … ┼─ array ─────┤
      uint64    {"__metadata__": {"arboretum": header, "sha256": checksum},
                 name: {"dtype", "shape", "data_offsets": [begin, end]}, …}

All numbers are little-endian. The layout is padded with spaces so that the arrays start at a multiple of
64 bytes; they follow each other without gaps, the widest items first, so that each is aligned to its items
and can be used where it lies in the memory map. Arrays that become smaller by it are encoded unless
``compact=False``: the file of a forest shrinks to a third or less, but they are decoded into memory of their own.
``docs/format.md`` describes every field.

The ``safetensors`` package reads these files, but its reader copies every array; this one does not. Nothing
here runs code from the file, and every number in it is checked before it is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

import arboretum
from arboretum.arguments import check_flag, shown
from arboretum.model import encodings, exact_json
from arboretum.model.arrays import (
    DTYPE_NAMES,
    Arrays,
    ModelFileError,
    are_sizes,
    check_shape,
    damaged,
    read_type,
    unexpected,
)
from arboretum.model.whole_file import replacing

__all__ = ["FORMAT_VERSION", "ModelFileError", "fingerprint", "from_bytes", "load", "save", "to_bytes"]

FORMAT_VERSION = 2  # the newest that is read; a file without encodings is written as format 1

Header = dict[str, Any]

# Who wrote the file and how, not what the model is: set by to_bytes, left out of the fingerprint.
_STAMPS = ("format", "version", "library", "encodings")

_ALIGNMENT = 64
_MAX_JSON_BYTES = 100_000_000  # the limit of the safetensors package
_MAX_NAME = 256
_MAX_VERSION = 1_000_000

_LOOKS = (  # the first bytes of files that are taken for ours
    (b"tree\nversion=", "a LightGBM text model"),
    (b"CBM1", "a CatBoost model"),
    (b"{L\x00", "an XGBoost UBJSON model"),
    (b"{", "JSON text"),
    (b"PK\x03\x04", "a zip archive, as .npz, PyTorch and skops files are"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x93NUMPY", "a NumPy .npy file"),
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow file"),
    (b"\x89HDF", "an HDF5 file"),
    *((bytes([0x80, protocol]), "a Python pickle") for protocol in range(2, 6)),
)
_CURE = "Give a file written by save() of an arboretum model."


def to_bytes(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], *, compact: bool = True) -> bytes:
    """Return a model file as bytes, which do not depend on the order of both dicts.

    Parameters
    ----------
    header : dict
        Any JSON content with a string under ``"model"``. Floats and integers come back exactly, NaN and
        infinities included. ``"format"``, ``"version"``, ``"library"`` and ``"encodings"`` are set here.
    arrays : dict of str to ndarray
        Integers or floats of 1 to 8 bytes (no float16), of any stride and byte order.
    compact : bool
        Encode arrays that become much smaller by it. They come back to the bit, but are decoded into memory of
        their own when the file is read; with False all of them are used where they lie in the file.

    Examples
    --------
    >>> import numpy as np
    >>> from arboretum.model import from_bytes, to_bytes
    >>> data = to_bytes({"model": "forest"}, {"base": np.array([0.5])})
    >>> header, arrays = from_bytes(data)
    >>> header["model"], arrays["base"]
    ('forest', array([0.5]))
    """
    return b"".join(_parts(header, arrays, compact))


def from_bytes(data: bytes | bytearray | memoryview) -> tuple[Header, Arrays]:
    """Header and arrays of a model file in memory.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        Content of a model file. Arbitrary bytes are safe.

    Returns
    -------
    header : dict
        As given to :func:`to_bytes`, with ``"format"``, ``"version"`` and ``"library"``.
    arrays : dict of str to ndarray
        Read-only; views of `data` but for those that are encoded.

    Raises
    ------
    ModelFileError
        If `data` is not a model file, is damaged, or was written by a newer version.

    Examples
    --------
    >>> import numpy as np
    >>> from arboretum.model import from_bytes, to_bytes
    >>> header, arrays = from_bytes(to_bytes({"model": "forest"}, {"gain": np.arange(3)}))
    >>> header["format"], header["version"]
    ('arboretum', 1)
    >>> arrays["gain"].flags.writeable
    False
    """
    buffer = memoryview(data).cast("B")
    layout, data_start = _read_layout(buffer)
    canonical, checksum = _metadata(layout)
    header = _parse_header(canonical)
    arrays = _view_arrays(layout, buffer, data_start)
    if _digest(canonical, arrays) != checksum:
        raise damaged("its content does not match its checksum")
    if header["version"] > 1:
        arrays = encodings.decode(arrays, header.pop("encodings", None), len(buffer))
    return header, arrays


def with_fields(data: bytes | bytearray | memoryview, fields: Mapping[str, Any]) -> bytes:
    """Model file with more fields in its header; arrays are neither decoded nor encoded again.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        Content of a model file.
    fields : dict
        JSON content to add.

    Examples
    --------
    >>> import numpy as np
    >>> data = to_bytes({"model": "forest"}, {"base": np.array([0.5])})
    >>> from_bytes(with_fields(data, {"owner": "me"}))[0]["owner"]
    'me'
    """
    buffer = memoryview(data).cast("B")
    layout, data_start = _read_layout(buffer)
    canonical, _ = _metadata(layout)
    return b"".join(_laid_out({**_parse_header(canonical), **fields}, _view_arrays(layout, buffer, data_start)))


def save(
    path: str | os.PathLike[str] | BinaryIO,
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    compact: bool = True,
) -> None:
    """Write a model file, completely or not at all.

    The bytes go to a new file in the same folder, which takes the place of `path` once it is on disk: a failing write
    leaves an existing file as it was. New files of processes that were killed while they saved to `path` are removed.

    Parameters
    ----------
    path : str, path or binary file object
        File to write; a link is followed. A file object gets the bytes as they come.
    header, arrays : dict
        See :func:`to_bytes`.
    compact : bool
        A small file; False for one whose arrays are shared between the processes that load it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from arboretum.model import load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.arb"
    ...     save(path, {"model": "forest"}, {"base": np.zeros(2)})
    ...     header, arrays = load(path)
    ...     print(arrays["base"].tolist())
    ...     del arrays
    [0.0, 0.0]
    """
    parts = _parts(header, arrays, compact)  # content errors come before any file is touched
    if not isinstance(path, str | os.PathLike):
        _write_to_object(path, parts)
        return
    target = Path(path).resolve()
    if target.is_dir():
        raise IsADirectoryError(f"Cannot save to {str(path)!r}: it is a folder. Add a file name.")
    if target.exists() and not target.is_file():
        raise OSError(f"Cannot save to {str(path)!r}: it is not a regular file. Give the path of a file.")
    try:
        with replacing(target) as new, new.open("wb") as file:
            for part in parts:
                file.write(part)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        folder = str(target.parent)
        reason = {
            FileNotFoundError: f"the folder {folder!r} does not exist. Create it first.",
            NotADirectoryError: f"{folder!r} is not a folder. Give another path.",
            PermissionError: f"no permission to write in the folder {folder!r}. Give another path or change the "
            "permissions.",
        }
        raise type(error)(f"Cannot save to {str(path)!r}: {reason[type(error)]}") from error
    except OSError as error:
        raise OSError(error.errno, f"Cannot save to {str(path)!r}: {error.strerror}") from error


def load(path: str | os.PathLike[str] | BinaryIO) -> tuple[Header, Arrays]:
    """Read a model file; arrays that are not encoded stay in the file and are mapped into memory.

    Processes that load the same file share its pages. The map lives as long as one of the arrays in it. Another
    program must not write into the file meanwhile; :func:`save` replaces it and is safe.

    Parameters
    ----------
    path : str, path or binary file object
        File written by :func:`save`; a file object is read to its end.

    Returns
    -------
    header : dict
    arrays : dict of str to ndarray
        Read-only; zero-copy but for those that are encoded.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, or was written by a newer version.

    Examples
    --------
    >>> from arboretum.model import load
    >>> load("no such file.arb")
    Traceback (most recent call last):
    FileNotFoundError: Cannot load 'no such file.arb': there is no such file. Check the path.
    """
    if not isinstance(path, str | os.PathLike):
        return from_bytes(_read_object(path))
    if Path(path).is_dir():
        raise IsADirectoryError(f"Cannot load {str(path)!r}: it is a folder. Add a file name.")
    try:
        with Path(path).open("rb") as file:
            empty = os.fstat(file.fileno()).st_size == 0  # which cannot be mapped
            content = b"" if empty else memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError as error:
        raise FileNotFoundError(f"Cannot load {str(path)!r}: there is no such file. Check the path.") from error
    except PermissionError as error:
        message = f"Cannot load {str(path)!r}: no permission to read it. Change the permissions of the file."
        raise PermissionError(message) from error
    try:
        return from_bytes(content)
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load {str(path)!r}. {error}") from None


def fingerprint(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """SHA-256 of the content of a model, in hexadecimal.

    The same for every order of the dicts, byte order and stride of the arrays, and for a model read back from
    a file, encoded or not. ``"format"``, ``"version"``, ``"library"`` and ``"encodings"`` do not count: they tell who
    wrote the file and how.

    Parameters
    ----------
    header, arrays : dict
        See :func:`to_bytes`.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from arboretum.model import fingerprint
    >>> fingerprint({"model": "forest"}, {"base": np.array([0.5])})[:8]
    '0409d39b'
    """
    return _digest(_canonical_json(_content(header)), _checked_arrays(arrays))


# File objects


@contextmanager
def as_damage() -> Iterator[None]:
    """Report errors while the content of a file becomes a model as damage of the file."""
    try:
        yield
    except ModelFileError:
        raise
    except KeyError as error:
        raise ModelFileError(f"damaged model file: its header or its arrays lack {error}") from error
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        raise ModelFileError(f"damaged model file: {error}") from error


def _write_to_object(file: Any, parts: Iterable[bytes | memoryview]) -> None:
    if not hasattr(file, "write"):
        raise TypeError(f"Cannot save to {shown(file)}: give a path, or a file object opened for writing bytes.")
    try:
        for part in parts:
            _write_whole(file, memoryview(part).cast("B"))
    except TypeError as error:
        raise TypeError(f"Cannot save to {file!r}: it takes text. Open it with mode 'wb'.") from error
    except ValueError as error:  # io.UnsupportedOperation is one too
        raise ValueError(f"Cannot save to {file!r}: {error}. Open it with mode 'wb'.") from error


def _write_whole(file: Any, part: memoryview) -> None:
    """Write all bytes: a raw file may take some of them at a time, and says how many."""
    while len(part):
        written = file.write(part)
        if written is None:  # of objects that do not say
            return
        part = part[written:]


def _read_object(file: Any) -> bytes:
    if not hasattr(file, "read"):
        raise TypeError(f"Cannot load {shown(file)}: give a path, or a file object opened for reading bytes.")
    parts: list[bytes] = []
    try:
        while not parts or parts[-1]:  # a raw file may give some bytes at a time
            part = file.read()
            if not isinstance(part, bytes | bytearray | memoryview):
                raise TypeError(f"Cannot load {file!r}: it gives {type(part).__name__}. Open it with mode 'rb'.")
            parts.append(bytes(part))
    except ValueError as error:  # io.UnsupportedOperation is one too
        raise ValueError(f"Cannot load {file!r}: {error}. Open it with mode 'rb'.") from error
    return b"".join(parts)


# Writing


def _parts(
    header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], compact: bool
) -> list[bytes | memoryview]:
    """Pieces of the file in order; arrays that are not encoded are not copied unless strided or big-endian."""
    if not isinstance(header.get("model"), str):
        raise ModelFileError("The header needs the kind of the model, a string under 'model'.")
    check_flag("compact", compact)
    checked = _checked_arrays(arrays)
    stored, steps = encodings.encode(checked) if compact else (checked, {})
    return _laid_out(_content(header) | _stamps(steps), stored)


def _laid_out(header: Mapping[str, Any], stored: Arrays) -> list[bytes | memoryview]:
    """Pieces of the file of a header with its stamps and of arrays as they are stored."""
    canonical = _canonical_json(header)
    order = sorted(stored, key=lambda name: (-stored[name].itemsize, name))
    layout: Header = {"__metadata__": {"arboretum": canonical.decode(), "sha256": _digest(canonical, stored)}}
    begin = 0
    for name in order:
        array = stored[name]
        end = begin + array.nbytes
        layout[name] = {
            "dtype": DTYPE_NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
        begin = end
    text = json.dumps(layout, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    if len(text) > _MAX_JSON_BYTES:
        raise ModelFileError(
            f"The header takes {len(text)} bytes; a model file holds at most {_MAX_JSON_BYTES}. "
            "Store long lists of numbers as arrays."
        )
    return [struct.pack("<Q", len(text)), text, *(_raw(stored[name]) for name in order)]


def _stamps(steps: dict[str, Any]) -> Header:
    stamps = {"format": "arboretum", "version": 1, "library": arboretum.__version__}
    return stamps | {"version": 2, "encodings": steps} if steps else stamps


def _content(header: Mapping[str, Any]) -> Header:
    return {key: value for key, value in header.items() if key not in _STAMPS}


def _checked_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Arrays in C order and little-endian, if their names, types and shapes can be stored."""
    checked = {}
    for name, array in arrays.items():
        _check_name(name)
        if name == "__metadata__":
            raise ModelFileError("Array name '__metadata__' belongs to the container. Rename it.")
        dtype = array.dtype.newbyteorder("<")
        if dtype not in DTYPE_NAMES:
            raise ModelFileError(
                f"Array {name!r} has dtype {array.dtype}, which a model file cannot hold. "
                "Convert it to float32, float64 or an integer type."
            )
        check_shape(name, array.shape, dtype)
        checked[name] = np.asarray(array, dtype=dtype, order="C")
    return checked


def _raw(array: npt.NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _canonical_json(header: Mapping[str, Any]) -> bytes:
    try:
        return exact_json.dumps(header)
    except ValueError as error:
        raise ModelFileError(f"The header cannot be saved: {error}") from None


# Reading


def _read_layout(buffer: memoryview) -> tuple[Header, int]:
    """Parse the layout; the arrays start at the returned position."""
    if len(buffer) == 0:
        raise ModelFileError(f"Not an arboretum model file: it is empty. {_CURE}")
    if len(buffer) < 9 or buffer[8] != ord("{"):
        _refuse(buffer)
    (length,) = struct.unpack_from("<Q", buffer)
    if length > _MAX_JSON_BYTES:
        _refuse(buffer)
    data_start = 8 + length
    if data_start > len(buffer):
        if bytes(buffer[8:40]).startswith(b'{"__metadata__":{"arboretum":'):
            _refuse_truncated(len(buffer), data_start)
        _refuse(buffer)
    layout = _parse_json(bytes(buffer[8:data_start]), "layout")
    if not isinstance(layout, dict):
        _refuse(buffer)
    return layout, data_start


def _refuse(buffer: memoryview) -> NoReturn:
    start = bytes(buffer[:16])
    look = next((look for first, look in _LOOKS if start.startswith(first)), "random or damaged bytes")
    raise ModelFileError(f"Not an arboretum model file: it looks like {look}. {_CURE}")


def _refuse_truncated(size: int, expected: int) -> NoReturn:
    raise ModelFileError(
        f"The model file is cut off: it has {size} bytes, but {expected} are needed. Copy or download it again."
    )


def _parse_json(text: bytes, what: str) -> Any:
    try:
        return exact_json.loads(text)
    except ValueError as error:
        raise damaged(f"its {what} is not valid JSON ({error})") from None


def _metadata(layout: Header) -> tuple[bytes, str]:
    """Header text and checksum; `layout` keeps only the arrays."""
    metadata = layout.pop("__metadata__", None)
    if not isinstance(metadata, dict) or "arboretum" not in metadata:
        raise ModelFileError(f"Not an arboretum model file: it is a safetensors file of another program. {_CURE}")
    canonical, checksum = metadata["arboretum"], metadata.get("sha256")
    if not isinstance(canonical, str):
        raise unexpected("its header", canonical, "a string")
    if not isinstance(checksum, str):
        raise unexpected("its checksum", checksum, "a string")
    return canonical.encode(errors="surrogatepass"), checksum


def _parse_header(canonical: bytes) -> Header:
    header = _parse_json(canonical, "header")
    if not isinstance(header, dict):
        raise unexpected("its header", header, "a JSON object")
    version = header.get("version")
    if header.get("format") != "arboretum":
        raise unexpected("'format' of its header", header.get("format"), "'arboretum'")
    if type(version) is not int or not 1 <= version < _MAX_VERSION:
        raise unexpected("'version' of its header", version, f"an integer from 1 to {_MAX_VERSION - 1}")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"The model file was written by a newer arboretum (format {version}; "
            f"this one reads up to {FORMAT_VERSION}): upgrade with pip install --upgrade arboretum."
        )
    for key in ("library", "model"):
        if not isinstance(header.get(key), str):
            raise unexpected(f"{key!r} of its header", header.get(key), "a string")
    return header


def _view_arrays(layout: Header, buffer: memoryview, data_start: int) -> Arrays:
    """Read-only views of `buffer`, once the arrays are known to follow each other up to its end."""
    entries = sorted(_entries(layout), key=lambda entry: entry[3:])
    position = 0
    for name, _, _, begin, end in entries:
        if begin != position:
            raise unexpected(f"the first byte of array {name!r}", begin, f"{position}, the end of the array before it")
        position = end
    expected = data_start + position
    if expected > len(buffer):
        _refuse_truncated(len(buffer), expected)
    if expected < len(buffer):
        raise damaged(f"it has {len(buffer) - expected} bytes after its last array")
    content = buffer[data_start:]
    return {name: _view(content[begin:end], dtype, shape) for name, dtype, shape, begin, end in entries}


def _entries(layout: Header) -> Iterator[tuple[str, np.dtype[Any], list[int], int, int]]:
    """Name, type, shape, first and last byte of every array, each possible by itself."""
    for name, entry in layout.items():
        _check_name(name)
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise unexpected(f"the entry of array {name!r}", entry, "an object with dtype, shape and data_offsets")
        dtype, shape = read_type(name, entry)
        offsets, size = entry["data_offsets"], math.prod(shape) * dtype.itemsize
        if not are_sizes(offsets) or len(offsets) != 2:
            raise unexpected(f"data_offsets of array {name!r}", offsets, "a list of two integers from 0")
        if offsets[1] - offsets[0] != size:
            raise unexpected(f"data_offsets of array {name!r}", offsets, f"{size} bytes, by its shape and dtype")
        yield name, dtype, shape, offsets[0], offsets[1]


def _view(content: memoryview, dtype: np.dtype[Any], shape: list[int]) -> npt.NDArray[Any]:
    array = np.frombuffer(content, dtype=dtype) if len(content) else np.empty(0, dtype)
    if not array.flags.aligned:  # a memoryview that starts at an odd address, or a file of another writer
        array = array.copy()
    array = array.reshape(shape)
    array.flags.writeable = False
    return array


# Both


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME or not name.isprintable():
        shown = name[:_MAX_NAME] if isinstance(name, str) else name
        raise ModelFileError(
            f"Array name {shown!r} is not allowed: use a string of 1 to {_MAX_NAME} printable characters."
        )


def _digest(canonical: bytes, arrays: Arrays) -> str:
    """SHA-256 of length and text of the header, of the array table, then of the arrays by name."""
    names = sorted(arrays)
    table = json.dumps([[name, DTYPE_NAMES[arrays[name].dtype], arrays[name].shape] for name in names]).encode()
    digest = hashlib.sha256()
    for text in (canonical, table):
        digest.update(struct.pack("<Q", len(text)))
        digest.update(text)
    for name in names:
        digest.update(_raw(arrays[name]))
    return digest.hexdigest()
