"""Constraints as users write them, by name or position, as the grower reads them, per column."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from arboretum.arguments import holds_others, shown
from arboretum.data.schema import Schema


def monotone_directions(spec: Any, schema: Schema) -> tuple[int, ...]:
    """Return −1, 0 or 1 for each column; empty when nothing is constrained.

    Parameters
    ----------
    spec : mapping of name to direction, sequence of directions, or None
        What the user gave as ``monotonic_cst``.
    schema : Schema
        Names and kinds of the columns.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> monotone_directions([1, 0], read_table([[1.0, 2.0]]).schema)
    (1, 0)
    """
    if spec is None:
        return ()
    n = schema.n_features
    if isinstance(spec, Mapping):
        directions = [0] * n
        for name, direction in spec.items():
            directions[_column(name, schema, "monotonic_cst")] = direction
    elif not holds_others(spec):
        raise ValueError(
            f"monotonic_cst={shown(spec)}: use a mapping of names or a list of 1, -1 and 0, one per column"
        )
    else:
        directions = list(spec)
        if len(directions) != n:
            raise ValueError(f"monotonic_cst has {len(directions)} entries, but X has {n} columns: give one each")
    for column, direction in zip(schema.columns, directions, strict=True):
        if not isinstance(direction, numbers.Real) or direction not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst of column {column.name!r} is {shown(direction)}: "
                "use 1 (rising), -1 (falling) or 0 (free)"
            )
        if direction != 0 and column.kind == "categorical":
            raise ValueError(
                f"monotonic_cst on the categorical column {column.name!r}: categories have no order; "
                "give the column as numbers or leave it free"
            )
    return tuple(int(d) for d in directions) if any(directions) else ()


def interaction_sets(spec: Any, schema: Schema) -> tuple[tuple[int, ...], ...]:
    """Return the sets of columns that may meet on a path; empty when all may.

    Parameters
    ----------
    spec : "pairwise", "no_interactions", sequence of sets of names or positions, or None
        What the user gave as ``interaction_cst``. Columns in no set form one more set.
    schema : Schema
        Names of the columns.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> interaction_sets([{0, 1}], read_table([[1.0, 2.0, 3.0]]).schema)
    ((0, 1), (2,))
    """
    if spec is None:
        return ()
    n = schema.n_features
    if isinstance(spec, str) and spec == "no_interactions":
        return tuple((column,) for column in range(n))
    if isinstance(spec, str) and spec == "pairwise":
        return tuple(combinations(range(n), 2)) if n > 1 else ((0,),)
    if not holds_others(spec):
        raise ValueError(
            f"interaction_cst={shown(spec)}: use 'pairwise', 'no_interactions' or a list of sets of columns"
        )
    sets = [_column_set(item, schema) for item in spec]
    rest = tuple(sorted(set(range(n)).difference(*sets)))
    return (*sets, rest) if rest else tuple(sets)


def in_binned_order(per_column: Sequence[Any], order: Sequence[int]) -> tuple[Any, ...]:
    """Reorder one entry per column to one entry per binned feature."""
    return tuple(per_column[column] for column in order) if per_column else ()


def _column_set(item: Any, schema: Schema) -> tuple[int, ...]:
    if not holds_others(item):
        raise ValueError(f"interaction_cst holds {shown(item)}: each entry must be a set of columns")
    return tuple(sorted({_column(name, schema, "interaction_cst") for name in item}))


def _column(name: Any, schema: Schema, parameter: str) -> int:
    names = schema.names
    if isinstance(name, str):
        if name in names:
            return names.index(name)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f": did you mean {near[0]!r}?" if near else f"; columns are {names[:10]}"
        raise ValueError(f"{parameter} names column {name!r}, which X does not have{hint}")
    if isinstance(name, bool) or not isinstance(name, numbers.Integral):
        raise ValueError(f"{parameter} names column {shown(name)}: use a name or a position")
    position = int(name)
    if not 0 <= position < len(names):
        raise ValueError(f"{parameter} names column {shown(position)}, but X has {len(names)} columns")
    return position
