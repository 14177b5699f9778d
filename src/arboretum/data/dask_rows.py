"""Collections of Dask as partitions of rows: a frame, an array in chunks of rows, or a list of delayed frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from arboretum.data.schema import positional_names
from arboretum.data.sources import Batches, as_arrow


def is_distributed(X: Any) -> bool:
    """Whether X is a collection of Dask, or a list of delayed partitions."""
    first = X[0] if isinstance(X, list | tuple) and X else X
    return type(first).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(first, "__dask_graph__")


def has_names(collection: Any) -> bool:
    """Whether columns go by name, or by position as those of arrays do."""
    return not hasattr(collection, "chunks")


def delayed_parts(collection: Any) -> list[Any]:
    """Return the partitions of a collection, each of which computes some rows."""
    if isinstance(collection, list | tuple):
        return list(collection)
    if hasattr(collection, "chunks"):  # an array
        if collection.ndim == 2:
            collection = collection.rechunk({1: -1})
        return list(collection.to_delayed().ravel())
    return list(collection.to_delayed())


def as_table(part: Any) -> Any:
    """Return a computed partition as a pyarrow.Table."""
    import pyarrow

    if isinstance(part, np.ndarray):
        if part.ndim != 2:
            raise ValueError(f"a chunk of X has shape {part.shape}: give an array of two dimensions")
        return pyarrow.table(dict(zip(positional_names(part.shape[1]), part.T, strict=True)))
    return as_arrow(part).unify_dictionaries()


def computed_rows(collection: Any) -> Batches:
    """Return a source of the rows of a collection: each pass computes one partition after the other."""
    if not is_distributed(collection):
        raise TypeError(
            f"collection is a {type(collection).__name__}: give a Dask frame, a Dask array or a list of delayed "
            "frames; from_frame reads other frames"
        )
    parts = delayed_parts(collection)
    return Batches(lambda: (as_table(part.compute()) for part in parts), "partition")
