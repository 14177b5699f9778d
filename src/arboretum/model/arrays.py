"""Arrays that a model file can hold: their types, their shapes, and the errors for all others."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from arboretum.arguments import shown

Arrays = dict[str, npt.NDArray[Any]]

DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}

_MAX_DIMENSIONS = 8
_MAX_BYTES = 2**62  # of the dimensions that are not 0: NumPy refuses shapes that overflow int64


class ModelFileError(ValueError):
    r"""A model file that cannot be read, or content that cannot be written to one.

    Examples
    --------
    >>> from arboretum.model import ModelFileError, from_bytes
    >>> try:
    ...     from_bytes(b"tree\nversion=v4")
    ... except ModelFileError as error:
    ...     print(str(error)[:65])
    Not an arboretum model file: it looks like a LightGBM text model.
    """


def damaged(what: str) -> ModelFileError:
    """Error of a file whose content contradicts itself."""
    return ModelFileError(f"The model file is damaged: {what}. Copy or download it again.")


def unexpected(field: str, found: Any, expected: str) -> ModelFileError:
    """Error of a file with an invalid value in one of its fields.

    Examples
    --------
    >>> str(unexpected("version of the header", True, "an integer"))[:74]
    'The model file is damaged: version of the header is True, expected an inte'
    """
    return damaged(f"{field} is {shown(found)}, expected {expected}")


def read_type(name: str, entry: dict[str, Any]) -> tuple[np.dtype[Any], list[int]]:
    """Type and shape of array `name`, as claimed by the keys ``"dtype"`` and ``"shape"`` of a file."""
    found, shape = entry["dtype"], entry["shape"]
    if not isinstance(found, str) or found not in DTYPES:
        raise unexpected(f"the dtype of array {name!r}", found, f"one of {', '.join(DTYPES)}")
    if not are_sizes(shape):
        raise unexpected(f"the shape of array {name!r}", shape, "a list of integers from 0")
    check_shape(name, shape, DTYPES[found])
    return DTYPES[found], shape


def are_sizes(numbers: Any) -> bool:
    """Whether a JSON value is a list of integers from 0."""
    return isinstance(numbers, list) and all(type(number) is int and number >= 0 for number in numbers)


def check_shape(name: str, shape: Iterable[int], dtype: np.dtype[Any]) -> None:
    """Reject a shape that NumPy would not take."""
    sizes = list(shape)
    if len(sizes) > _MAX_DIMENSIONS:
        raise ModelFileError(
            f"Array {name!r} has {len(sizes)} dimensions; a model file holds at most {_MAX_DIMENSIONS}. Reshape it."
        )
    if math.prod(max(size, 1) for size in sizes) * dtype.itemsize > _MAX_BYTES:
        raise ModelFileError(f"Array {name!r} has an impossible shape: it would exceed any memory. Reshape it.")
