"""``score(ddf, target="y")``: partitions are predicted where they are, and one task scores all predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.cluster.inputs import Partitions
from arboretum.cluster.predicting import Asked
from arboretum.cluster.spooling import with_columns
from arboretum.data.arrow_types import as_numpy
from arboretum.data.dask_rows import as_table
from arboretum.data.schema import require_names


@dataclass(frozen=True)
class KnownAnswers:
    """Rows whose predictions are known: ``predict`` of an estimator returns them."""

    predicted: NDArray[Any]


@dataclass(frozen=True)
class Answered:
    """Predictions of a partition, and the columns beside them, an Arrow table."""

    predicted: NDArray[Any]
    columns: Any


def scored(model: Any, rows: Partitions, arguments: Mapping[str, Any]) -> float:
    """Return the score of a model on the rows of partitions.

    Parameters
    ----------
    model : Estimator
        Fitted.
    rows : Partitions
        Rows to predict.
    arguments : dict
        Other arguments of ``score``: "y", "sample_weight" and the like, names of columns, lists of them, or numbers.
    """
    from dask.delayed import delayed

    sent = delayed(model, pure=False)  # once to a worker, not with each partition
    answered = [
        delayed(_answered, pure=False)(sent, dict(arguments), rows.named, number, **piece)
        for number, piece in enumerate(rows.pieces)
    ]
    return float(delayed(_score, pure=False)(sent, dict(arguments), answered).compute())


def _answered(model: Any, arguments: Mapping[str, Any], named: bool, number: int, X: Any, **given: Any) -> Answered:
    """Predict the rows of a partition."""
    whole = with_columns(as_table(X), given, number)
    columns = list(dict.fromkeys(name for value in arguments.values() for name in _names(value)))
    require_names(columns, whole.column_names, "X")
    offset = {"offset": _values(whole, arguments["offset"])} if "offset" in arguments else {}
    return Answered(Asked(model, "predict", offset)(whole.drop_columns(columns) if named else X), whole.select(columns))


def _score(model: Any, arguments: Mapping[str, Any], answered: Sequence[Answered]) -> float:
    """Score the predictions of all partitions."""
    import pyarrow

    parts = [part for part in answered if part.columns.num_rows]
    if not parts:
        raise ValueError("X has no rows: give some to score")
    columns = pyarrow.concat_tables([part.columns for part in parts], promote_options="permissive")
    known = KnownAnswers(np.concatenate([part.predicted for part in parts]))
    given = {name: _values(columns, value) for name, value in arguments.items() if name != "offset"}
    return float(model.score(known, **given))


def _names(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value) if isinstance(value, list) else []


def _values(table: Any, value: Any) -> Any:
    """Return a column as an array, or several as a table; a number is itself."""
    if isinstance(value, list):
        return table.select(value)
    return as_numpy(table[value]) if isinstance(value, str) else value
