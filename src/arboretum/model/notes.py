"""Notes: what a model file stores about a fit besides what determines predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arboretum.model.arrays import Arrays
from arboretum.model.forest import Forest


class Notes:
    """No notes; recipes add what a continued fit, a report or a user needs to know.

    Examples
    --------
    >>> Notes().to_json({}), Notes().to_arrays()
    ({}, {})
    """

    def to_json(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the entries of the file header, which also has the parameters of the estimator."""
        return {}

    def to_arrays(self) -> Arrays:
        """Return the arrays of a file."""
        return {}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> Notes:
        """Make the notes of a file; raise a ValueError if they do not fit."""
        return cls()


def read_seed(seed: Any) -> int:
    """Return a seed from a file; reject an invalid one."""
    if type(seed) is not int or not 0 <= seed < 2**64:
        raise ValueError(f"seed={seed!r}: expected 0 ≤ seed < 2**64")
    return seed


def read_n_outputs(n_outputs: Any) -> int:
    """Return a number of outputs from a file; reject an invalid one."""
    if type(n_outputs) is not int or n_outputs < 1:
        raise ValueError(f"n_outputs={n_outputs!r}: expected an integer of at least 1")
    return n_outputs


def read_flag(header: Mapping[str, Any], name: str) -> bool:
    """Return a flag of a file, False if it is absent; reject any other value."""
    flag = header.get(name, False)
    if not isinstance(flag, bool):
        raise ValueError(f"{name} is {flag!r:.80}: expected true or false")
    return flag
