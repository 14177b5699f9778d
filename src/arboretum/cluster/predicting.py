"""Answers of a fitted model to the rows of a Dask collection: as lazy as the collection itself.

A frame gets a series, or a frame with a column per class; an array gets an array; a list of delayed partitions gets a
list. Each partition is answered by itself, so that ``ddf.map_partitions(model.predict)`` is the same thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data.dask_rows import is_distributed
from arboretum.data.labels import side_by_side


def answers(model: Any, method: str, X: Any, arguments: Mapping[str, Any]) -> Any:
    """Return what a method of a fitted model answers to the rows of a collection, lazily."""
    for name, value in arguments.items():
        if is_distributed(value):
            raise TypeError(f"{method} of a Dask collection: {name} is another one; name a column of X instead")
    ask, columns = Asked(model, method, dict(arguments)), columns_of(model, method)
    if isinstance(X, list | tuple):
        from dask.delayed import delayed

        return [delayed(ask)(part) for part in X]
    meta = ask.empty(columns)
    if hasattr(X, "chunks"):
        X = X.rechunk({1: -1})
        shape = {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], (len(columns),))}
        return X.map_blocks(ask, dtype=meta.dtype, meta=meta, **shape)
    return X.map_partitions(ask.framed, columns, meta=framed(meta, columns))


def columns_of(model: Any, method: str) -> list[Any] | None:
    """Return what an answer has columns of: classes, outputs or treatments; None if it is one value per row."""
    classes = getattr(model, "classes_", None)
    if method == "predict":
        names = _predicted(model, classes)
        return names if len(names) > 1 else None
    if isinstance(classes, list):
        raise TypeError(
            f"{method} of a Dask collection: each of the {len(classes)} outputs has a table of its own; fit one model "
            "per output, or ask for one partition at a time"
        )
    if classes is None or (method == "decision_function" and len(classes) == 2):
        return None
    return list(classes)


def _predicted(model: Any, classes: Any) -> list[Any]:
    """Return what is predicted of a row: treatments by name, outputs by number."""
    if hasattr(model, "arms_"):
        treatments: list[Any] = model.arms_[1:].tolist()
        return treatments
    if model.estimator_type == "regressor" and hasattr(model, "forest_"):
        return list(range(model.forest_.n_outputs))
    return list(range(len(classes))) if isinstance(classes, list) else [0]


class Asked:
    """A question to a model, about any rows.

    Parameters
    ----------
    model : Estimator
        Fitted.
    method : str
        Name of the method.
    arguments : dict
        Its arguments but for X.
    """

    def __init__(self, model: Any, method: str, arguments: dict[str, Any]) -> None:
        self.model, self.method, self.arguments = model, method, arguments

    def __call__(self, part: Any) -> NDArray[Any]:
        """Answer the rows of a partition, of which there may be none."""
        if not len(part):
            return self.empty(columns_of(self.model, self.method))
        return np.asarray(getattr(self.model, self.method)(part, **self.arguments))

    def framed(self, part: Any, columns: list[Any] | None) -> Any:
        """Answer the rows of a partition as a series or a frame with their index."""
        return framed(self(part), columns, getattr(part, "index", None))

    def empty(self, columns: list[Any] | None) -> NDArray[Any]:
        """Return the answer to no row."""
        classes = getattr(self.model, "classes_", None)
        dtype: np.dtype[Any] = np.dtype(np.float64)
        if self.method == "predict" and classes is not None:
            labels = classes if isinstance(classes, list) else [classes]
            dtype = side_by_side([some[:0] for some in labels]).dtype
        elif self.method == "predict" and self.model.estimator_type == "outlier_detector":
            dtype = np.dtype(np.int64)
        return np.empty(0 if columns is None else (0, len(columns)), dtype)


def framed(found: NDArray[Any], columns: list[Any] | None, index: Any = None) -> Any:
    """Return answers as pandas holds them."""
    import pandas as pd

    if columns is None:
        return pd.Series(found, index=index)
    return pd.DataFrame(found, index=index, columns=columns)
