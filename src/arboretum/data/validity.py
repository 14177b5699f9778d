"""Content of files of unknown origin: frozen arrays, and errors that name the field, the value and the rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous view that cannot be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def freeze(struct: Any) -> None:
    """Make all arrays of a frozen dataclass read-only."""
    for part in fields(struct):
        object.__setattr__(struct, part.name, read_only(getattr(struct, part.name)))


@dataclass(frozen=True)
class Rules:
    """Rules of the content of one kind of thing, ``what``; whatever breaks one is a ValueError.

    Examples
    --------
    >>> rules = Rules("schema")
    >>> rules.require(False, "named", "yes", "true or false")
    Traceback (most recent call last):
        ...
    ValueError: invalid schema: named is 'yes', expected true or false
    >>> rules.everywhere("gain", np.array([1.0, np.nan]), np.array([True, False]), "must be finite")
    Traceback (most recent call last):
        ...
    ValueError: invalid schema: gain[1] = nan must be finite
    """

    what: str

    def fail(self, message: str) -> NoReturn:
        """Raise ValueError."""
        raise ValueError(f"invalid {self.what}: {message}")

    def require(self, holds: object, field: str, found: Any, expected: str) -> None:
        """Reject the value found in a field."""
        if not holds:
            self.fail(f"{field} is {shown(found)}, expected {expected}")

    def keys(self, found: Any, expected: set[str], where: str) -> None:
        """Reject anything but a JSON object with these keys."""
        if not isinstance(found, dict) or set(found) != expected:
            got = sorted(found) if isinstance(found, dict) else shown(found)
            self.fail(f"{where} must be an object with the keys {sorted(expected)}, got {got}")

    def everywhere(self, name: str, array: NDArray[Any], holds: NDArray[np.bool_], rule: str) -> None:
        """Reject an array at the first position where a rule does not hold."""
        if not holds.all():
            position = np.unravel_index(int(np.argmin(holds)), holds.shape)
            self.fail(f"{name}[{', '.join(map(str, position))}] = {array[position]} {rule}")

    def arrays(self, names: Mapping[str, Any], given: Mapping[str, Any], owner: str) -> None:
        """Reject arrays of which some are missing."""
        if absent := [name for name in names if name not in given]:
            raise ValueError(f"{owner} needs the arrays {', '.join(absent)}")

    def types(self, struct: Any, dtypes: Mapping[str, Any], matrix: str = "") -> None:
        """Reject arrays of another type, or with another number of dimensions: 2 of ``matrix``, 1 of the others."""
        for name, dtype in dtypes.items():
            array, n_dims = getattr(struct, name), 2 if name == matrix else 1
            if array.dtype != dtype or array.ndim != n_dims:
                self.fail(f"{name} must be a {n_dims}-D {np.dtype(dtype)} array, not {array.ndim}-D {array.dtype}")

    def lengths(self, struct: Any, lengths: Mapping[str, int]) -> None:
        """Reject arrays of another length."""
        for name, length in lengths.items():
            if len(getattr(struct, name)) != length:
                self.fail(f"{name} must have length {length}, not {len(getattr(struct, name))}")

    def starts(self, name: str, start: NDArray[np.int64], end: int) -> None:
        """Reject starts of consecutive parts that do not rise from 0 to ``end``."""
        self.everywhere(name, start, start >= np.append(0, start[:-1]), "must not be less than the one before")
        for place, expected in ((0, 0), (len(start) - 1, end)):
            if start[place] != expected:
                self.fail(f"{name}[{place}] = {start[place]} must be {expected}")
