"""``fit(table, target="column")``: arguments that name columns of a table become those columns.

::

    fit(table, target="price", sample_weight="weight")
     = fit(table without price and weight, y=column "price", sample_weight=column "weight")

A table with names is a Dataset, a data frame of any library, an Arrow table, a dictionary of columns or an array of
named fields. Every method named in COLUMN_METHODS has this, by ``Estimator.__init_subclass__``; what it gets in the
place of X is the table of the features alone. The schema of the fitted model keeps the names that were set aside, so
that tables to predict on may still have such columns (data/schema.py).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from arboretum import places
from arboretum.arguments import shown
from arboretum.cluster.entry import on_cluster
from arboretum.data import selection
from arboretum.data.dask_rows import is_distributed
from arboretum.data.dataset import Dataset
from arboretum.data.memory_budget import READER_BYTES, ROW_BYTES
from arboretum.data.schema import listed, require_names
from arboretum.model.members import Members, is_ours
from arboretum.parameters.docstrings import with_target

FITS = ("fit", "fit_more")
COLUMN_METHODS = (*FITS, "score")
VALIDATION = "_val"
NO_COLUMNS = ("checkpoint", "cv", "n_estimators")  # arguments whose texts do not name a column


def takes_columns(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method with arguments X and y take a table and the name of its target.

    A method of a subclass may collect arguments (``*args``, ``**kwargs``); one that has a ``target`` of its own reads
    columns by itself.
    """
    signature = inspect.signature(method)
    if "target" in signature.parameters:
        return method
    named_only = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    in_order = [name for name, p in signature.parameters.items() if p.kind not in named_only]

    @functools.wraps(method)
    def with_columns(self: Any, X: Any, *positional: Any, target: Any = None, **named: Any) -> Any:
        given = dict(zip(in_order[2:], positional, strict=False))
        if is_distributed(X):
            signature.bind_partial(self, X, *positional, **named)
            named = {**given, **named} if target is None else {**given, **named, "target": target}
            return on_cluster(self, method.__name__, X, named)
        asks = isinstance(X, Dataset) or target is not None or bool(_texts({**given, **named}))
        table = _with_names(X) if asks else None
        if table is None:
            if target is not None:
                raise TypeError(
                    f"target={shown(target)} names a column, but X, a {type(X).__name__}, has no column names: give y, "
                    "or a data frame whose column names are texts"
                )
            return method(self, X, *positional, **named)
        signature.bind_partial(self, X, *positional, **named)  # rejects what the method would reject
        if isinstance(table, Dataset):
            table = table.begun()
            if method.__name__ != "score":
                _require_memory(self, table)
        filled, aside = _filled({"X": table, **given, **named}, target, signature)
        first = [filled.pop(name) for name in ("X", *given)]
        answer = method(self, *first, *positional[len(given) :], **filled)
        if aside and method.__name__ in FITS:
            _set_aside(self, aside)
        return answer

    with_columns.__signature__ = _signature_with_target(signature)  # type: ignore[attr-defined]
    with_columns.__doc__ = with_target(method.__doc__) if method.__doc__ else None
    return with_columns


def _signature_with_target(signature: inspect.Signature) -> inspect.Signature:
    """Add the argument; y may then be left out, unless another must follow it."""
    parameters = dict(signature.parameters)
    must = [name for name, p in parameters.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if must[-1:] == ["y"]:
        parameters["y"] = parameters["y"].replace(default=None)
    collectors = [parameters.pop(name) for name, p in signature.parameters.items() if p.kind is p.VAR_KEYWORD]
    target = inspect.Parameter("target", inspect.Parameter.KEYWORD_ONLY, default=None)
    return signature.replace(parameters=[*parameters.values(), target, *collectors])


def _require_memory(model: Any, dataset: Dataset) -> None:
    """Reject a memory limit that is too small to train within."""
    if dataset.budget is None:
        return
    model.check_parameters()
    n_rows, n_columns = dataset.n_rows, len(dataset.names)
    if needed := model.training_bytes(n_rows, n_columns):
        reading = READER_BYTES + ROW_BYTES * n_rows  # ends before rounds or trees begin
        dataset.budget.require(max(needed, reading), f"training from {n_rows} rows of {n_columns} columns")


def _texts(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments that name a column."""
    return {name: value for name, value in given.items() if isinstance(value, str) and name not in NO_COLUMNS}


def _filled(given: dict[str, Any], target: Any, signature: inspect.Signature) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments of the method itself, columns in the place of their names, and the names set aside."""
    table, known = given["X"], signature.parameters
    columns: dict[str, Any] = {**_texts(given)}
    if target is not None:
        if given.get("y") is not None:
            raise TypeError("both y and target are given: give the name of the target, or its values")
        columns["y"] = target
    elif given.get("y") is None and "y" in known and known["y"].default is inspect.Parameter.empty:
        raise ValueError(
            f"a {type(table).__name__} needs target=, the name of the column to predict; its columns are "
            f"{listed(_names_of(table), 20)}"
        )
    own = {name: column for name, column in columns.items() if not name.endswith(VALIDATION)}
    aside = [name for column in own.values() for name in _names(column)]
    filled = {**given, **{name: read_values(table, column) for name, column in own.items()}}
    filled["X"] = _without(table, aside)
    held = _with_names(given.get("X_val"))
    if held is not None:  # its columns are named alike, unless it is said otherwise
        if isinstance(table, Dataset) and isinstance(held, Dataset) and held.budget is None:
            held = replace(held, budget=table.budget)
        alike = {f"{name}{VALIDATION}": column for name, column in own.items()}
        alike = {name: column for name, column in alike.items() if name in known and given.get(name) is None}
        of_held = {**alike, **{name: column for name, column in columns.items() if name not in own}}
        filled |= {name: read_values(held, column, "X_val") for name, column in of_held.items()}
        filled["X_val"] = _without(held, [*aside, *(name for column in of_held.values() for name in _names(column))])
    return filled, aside


# ---- tables with names -----------------------------------------------------------------------------------------------


def _with_names(X: Any) -> Any | None:
    """Return a table whose columns have names: a Dataset, a frame or an array of fields; None if X has no names."""
    if isinstance(X, Dataset) or X is None:
        return X
    table = selection.as_container(X)
    return None if selection.names_of(table) is None else table


def _names_of(table: Any) -> list[str]:
    return table.names if isinstance(table, Dataset) else selection.names_of(table) or []


def _without(table: Any, names: Iterable[str]) -> Any:
    """Return a table without those of these columns that it has."""
    left_out, known = set(names), _names_of(table)
    if isinstance(table, Dataset):
        return table.drop([name for name in known if name in left_out])
    kept = [place for place, name in enumerate(known) if name not in left_out]
    if not kept:
        raise ValueError(f"X has no column besides {listed(known)}, which arguments name: give at least one")
    return selection.take_columns(table, np.array(kept))


def _names(column: Any) -> list[str]:
    names = column if isinstance(column, list | tuple) else [column]
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"target={shown(column)}: give the name of a column or a list of names; values go to y")
    return list(names)


def read_values(table: Any, column: str | Sequence[str], what: str = "X") -> Any:
    """Return a column as the library of the table holds it, that of a Dataset as an array; several as a table.

    Parameters
    ----------
    table : Dataset, data frame or array of named fields
        Where the columns are.
    column : str or sequence of str
        Their names.
    what : str
        What an error calls the table; a Dataset has its own name.

    Examples
    --------
    >>> read_values(Dataset.from_frame({"i": [1, 2], "t": ["a", None]}), "t")
    array(['a', None], dtype=object)
    """
    names = _names(column)
    if not isinstance(table, Dataset):
        known = _names_of(table)
        require_names(names, known, what)
        if isinstance(column, str):
            return selection.column_of(table, column)
        return selection.take_columns(table, np.array([known.index(name) for name in names]))
    if not isinstance(column, str):
        return table.select(names).to_frame()
    chosen = table.select(names)  # here, because the types of all partitions are asked for
    return places.kept(chosen.whole_column)


def values_of(X: Any, given: Any, name: str) -> Any:
    """Return what an argument tells of rows to predict; a text names a column."""
    if not isinstance(given, str):
        return given
    table = _with_names(X)
    if table is None:
        raise TypeError(
            f"{name}={given!r} names a column, but X, a {type(X).__name__}, has no column names: give values"
        )
    return read_values(table, given)


# ---- what a fit keeps of them ----------------------------------------------------------------------------------------


def _set_aside(model: Any, names: list[str]) -> None:
    """Let a fitted model keep the names of columns that are no features; parts that alone know their columns, too."""
    for place in ("_model", "_members"):
        learned = vars(model).get(place)
        if isinstance(learned, Members) and learned.schema is None:
            for part in filter(is_ours, learned.models):
                _set_aside(part, names)
        elif learned is not None:
            vars(model)[place] = replace(learned, schema=learned.schema.setting_aside(names))
