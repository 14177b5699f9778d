"""Model files in memory: what a model would write, changed, and loaded again."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import arboretum as arb
from arboretum.model import model_file

Arrays = dict[str, Any]


def content(model: Any, **how: Any) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of the file of a model; both may be changed. ``how`` are options of ``save``."""
    file = io.BytesIO()
    model.save(file, **how)
    header, arrays = model_file.from_bytes(file.getvalue())
    return header, {name: array.copy() for name, array in arrays.items()}


def loaded(header: dict[str, Any], arrays: Arrays, **how: Any) -> Any:
    """Return the model of a file with this content and a valid checksum. ``how`` are options of ``load``."""
    return arb.load(io.BytesIO(model_file.to_bytes(header, arrays)), **how)


def reloaded(model: Any, change: Callable[[dict[str, Any], Arrays], object] | None = None) -> Any:
    """Return the model that its file gives, perhaps after a change of its header and arrays."""
    header, arrays = content(model)
    if change is not None:
        change(header, arrays)
    return loaded(header, arrays)


def seed_of(model: Any) -> int:
    """Return the seed of the trees, which files keep."""
    return content(model)[0]["seed"]
