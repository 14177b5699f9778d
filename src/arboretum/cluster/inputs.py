"""Arguments of methods as partitions: X, and the collections beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arboretum.cluster.spooling import GIVEN
from arboretum.data.dask_rows import delayed_parts, has_names, is_distributed


@dataclass(frozen=True)
class Partitions:
    """Partitions of rows, in their order.

    Parameters
    ----------
    pieces : list of dict
        Delayed parts of each partition: "X", and by name what was given beside it.
    named : bool
        Whether columns go by name, or by position as those of arrays do.
    """

    pieces: list[dict[str, Any]]
    named: bool


def partitions_of(X: Any, given: Mapping[str, Any]) -> Partitions:
    """Part a collection, and what was given beside it, into their partitions."""
    parts = delayed_parts(X)
    columns = {name: delayed_parts(values) for name, values in given.items()}
    for name, of_column in columns.items():
        if len(of_column) != len(parts):
            raise ValueError(
                f"X has {len(parts)} partitions, but {name} has {len(of_column)}: give both the same partitions, or "
                "name a column of X"
            )
    pieces = [{"X": part, **{name: column[i] for name, column in columns.items()}} for i, part in enumerate(parts)]
    return Partitions(pieces, has_names(X))


def given_columns(arguments: Mapping[str, Any], suffix: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """Part arguments into collections, by name, and what is left: names of columns and numbers."""
    collections, plain = {}, {}
    for name, value in arguments.items():
        if is_distributed(value):
            collections[name] = value
            plain[name] = f"{GIVEN}{name.removesuffix(suffix)}"
        elif value is not None:
            plain[name] = value
    return collections, plain
