"""What users call columns and classes, and which of their columns trees read."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.data.schema import Schema
from arboretum.estimators.grown_trees import GrownTrees


def sources(model: GrownTrees) -> list[tuple[int, ...]]:
    """Return the input columns behind each column that trees read."""
    if model.encoding_ is not None:
        return model.encoding_.sources
    return [(column,) for column in range(model.schema_.n_features)]


def class_lists(model: Any) -> list[NDArray[Any]]:
    """Return the classes of each output of a classifier; nothing for other models.

    Examples
    --------
    >>> import arboretum as arb
    >>> class_lists(arb.DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"]))
    [array(['no', 'yes'], dtype='<U3')]
    """
    if not model.task_.has_classes:
        return []
    return list(model.classes_) if isinstance(model.classes_, list) else [model.classes_]


def column_position(column: Any, schema: Schema) -> int:
    """Return the position of a column that is given by name or position.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> column_position("x1", read_table([[1.0, 2.0], [4.0, 5.0]]).schema)
    1
    """
    names = schema.names
    if isinstance(column, str):
        if column in names:
            return names.index(column)
        near = difflib.get_close_matches(column, names, n=1)
        raise ValueError(f"no column is called {column!r}" + (f": did you mean {near[0]!r}?" if near else ""))
    if isinstance(column, bool | np.bool_) or not isinstance(column, numbers.Integral):
        raise TypeError(f"expected the name or position of a column, got {column!r}")
    if not 0 <= int(column) < len(names):
        raise ValueError(f"there is no column {column}: the model has columns 0 to {len(names) - 1}")
    return int(column)


def read_groups(groups: Any, schema: Schema) -> tuple[list[str], list[list[int]]]:
    """Return names and columns of groups: those given, and each other column by itself.

    Parameters
    ----------
    groups : mapping of names to columns, sequence of sequences of columns, or None
        Columns by name or position; no column twice.
    schema : Schema
        Of the user's table.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> read_groups({"place": [0, 2]}, read_table([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).schema)
    (['place', 'x1'], [[0, 2], [1]])
    """
    if groups is None:
        return schema.names, [[column] for column in range(schema.n_features)]
    if not isinstance(groups, Mapping):
        if isinstance(groups, str) or not isinstance(groups, Sequence):
            raise ValueError(
                f"groups={shown(groups)}: give a mapping of names to columns, or a list of lists of columns"
            )
        places = [[column_position(column, schema) for column in members] for members in groups]
        groups = {" + ".join(schema.names[column] for column in members): members for members in places}
    found = {str(name): [column_position(column, schema) for column in members] for name, members in groups.items()}
    empty = next((name for name, members in found.items() if not members), None)
    if empty is not None:
        raise ValueError(f"group {empty!r} has no columns")
    taken = [column for members in found.values() for column in members]
    twice = next((column for column in taken if taken.count(column) > 1), None)
    if twice is not None:
        raise ValueError(f"column {schema.names[twice]!r} is in two groups, or twice in one: give it once")
    firsts = {members[0]: (name, members) for name, members in found.items()}
    singles = {column: (schema.names[column], [column]) for column in range(schema.n_features) if column not in taken}
    entries = [entry for _, entry in sorted((firsts | singles).items())]
    return [name for name, _ in entries], [members for _, members in entries]


def draw_rows(n_rows: int, most: int | None, seed: int) -> Any:
    """Return at most ``most`` positions of rows, drawn without replacement, rising."""
    if most is None or n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).permutation(n_rows)[:most])
