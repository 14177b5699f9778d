"""``fit(dataset, target="column")``: arguments that name columns of a Dataset become those columns.

::

    fit(dataset, target="price", sample_weight="weight")
     = fit(dataset without price and weight, y=column "price", sample_weight=column "weight")

Every method named in DATASET_METHODS has this, by ``Estimator.__init_subclass__``; what it gets in the place of X is a
Dataset of the features alone, which the table layer reads (data/table.py).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from arboretum.data.arrow_types import as_numpy
from arboretum.data.dataset import Dataset
from arboretum.data.memory_budget import READER_BYTES, ROW_BYTES
from arboretum.data.schema import listed

DATASET_METHODS = ("fit", "fit_more", "score")
VALIDATION = "_val"
NO_COLUMNS = ("checkpoint",)  # texts that do not name a column


def takes_dataset(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method with arguments X and y take a Dataset and the name of its target.

    A method of a subclass may collect arguments (``*args``, ``**kwargs``); one that has a ``target`` of its own reads
    datasets by itself.
    """
    signature = inspect.signature(method)
    if "target" in signature.parameters:
        return method
    named_only = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    in_order = [name for name, p in signature.parameters.items() if p.kind not in named_only]

    @functools.wraps(method)
    def with_dataset(self: Any, X: Any, *positional: Any, target: Any = None, **named: Any) -> Any:
        if not isinstance(X, Dataset):
            if target is not None:
                raise TypeError(f"target={target!r} names a column of a Dataset, but X is a {type(X).__name__}: give y")
            return method(self, X, *positional, **named)
        signature.bind_partial(self, X, *positional, **named)  # rejects what the method would reject
        X = X.begun()
        if X.budget is not None and method.__name__ != "score":
            self.check_parameters()
            needed = self.training_bytes(X.n_rows, len(X.names))
            if needed:
                needed += READER_BYTES + ROW_BYTES * X.n_rows
                X.budget.require(needed, f"training from {X.n_rows} rows of {len(X.names)} columns")
        given = dict(zip(in_order[2:], positional, strict=False))
        filled = _filled({"X": X, **given, **named}, target, signature)
        first = [filled.pop(name) for name in ("X", *given)]
        return method(self, *first, *positional[len(given) :], **filled)

    with_dataset.__signature__ = _with_target(signature)  # type: ignore[attr-defined]
    return with_dataset


def _with_target(signature: inspect.Signature) -> inspect.Signature:
    """Add the argument; y may then be left out, unless another must follow it."""
    parameters = dict(signature.parameters)
    must = [name for name, p in parameters.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if must[-1:] == ["y"]:
        parameters["y"] = parameters["y"].replace(default=None)
    collectors = [parameters.pop(name) for name, p in signature.parameters.items() if p.kind is p.VAR_KEYWORD]
    target = inspect.Parameter("target", inspect.Parameter.KEYWORD_ONLY, default=None)
    return signature.replace(parameters=[*parameters.values(), target, *collectors])


def _filled(given: dict[str, Any], target: Any, signature: inspect.Signature) -> dict[str, Any]:
    """Return the arguments of the method itself: columns in the place of their names."""
    dataset, held, known = given["X"], given.get("X_val"), signature.parameters
    if isinstance(held, Dataset) and held.budget is None:
        given["X_val"] = held = replace(held, budget=dataset.budget)
    columns = {name: value for name, value in given.items() if isinstance(value, str) and name not in NO_COLUMNS}
    if target is not None:
        if given.get("y") is not None:
            raise TypeError("both y and target are given: give the name of the target, or its values")
        columns["y"] = target
    elif given.get("y") is None and "y" in known and known["y"].default is inspect.Parameter.empty:
        raise ValueError(
            f"a Dataset needs target=, the name of the column to predict; its columns are {listed(dataset.names, 20)}"
        )
    own = {name: column for name, column in columns.items() if not name.endswith(VALIDATION)}
    filled = {**given, **{name: read_values(dataset, column) for name, column in own.items()}}
    filled["X"] = dataset.drop([name for column in own.values() for name in _names(column)])
    if isinstance(held, Dataset):  # its columns are named alike, unless it is said otherwise
        alike = {f"{name}{VALIDATION}": column for name, column in own.items()}
        alike = {name: column for name, column in alike.items() if name in known and given.get(name) is None}
        of_held = {**alike, **{name: column for name, column in columns.items() if name not in own}}
        filled |= {name: read_values(held, column) for name, column in of_held.items()}
    return filled


def _names(column: str | Sequence[str]) -> list[str]:
    return [column] if isinstance(column, str) else list(column)


def read_values(dataset: Dataset, column: str | Sequence[str]) -> Any:
    """Return a column as an array, or several as a table.

    Examples
    --------
    >>> read_values(Dataset.from_frame({"i": [1, 2], "t": ["a", None]}), "t")
    array(['a', None], dtype=object)
    """
    if not isinstance(column, str):
        return dataset.select(list(column)).to_frame()
    parts = [as_numpy(batch.column(0)) for batch in dataset.select([column]).batches()]
    return np.concatenate(parts) if parts else np.zeros(0)


def offset_of(X: Any, offset: Any) -> Any:
    """Return the offsets of rows to predict; a text names a column of a Dataset."""
    if not isinstance(offset, str):
        return offset
    if not isinstance(X, Dataset):
        raise TypeError(f"offset={offset!r} names a column of a Dataset, but X is a {type(X).__name__}: give values")
    return read_values(X, offset)
