"""The rows that boosting reads, and their raw predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.data.binning import BinnedData
from arboretum.data.queries import Queries
from arboretum.losses import Loss

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with their targets, weights and the raw predictions (outputs × rows) that boosting updates."""

    data: BinnedData
    y: FloatArray
    weight: FloatArray | None
    raw: FloatArray
    numbers: _kernel.NumberColumns | None = None  # columns that linear leaves read
    queries: Queries | None = None  # ranking losses compare rows within a query
    offset: FloatArray | None = None  # where raw predictions start, besides the constant, (outputs × rows)


def fits_float32(rows: Rows) -> bool:
    """Whether gradients in the units of the target, times weights, stay well inside the range of float32."""
    target = np.max(np.abs(rows.y), where=np.isfinite(rows.y), initial=0.0)  # bounds of times may be infinite
    weight = 1.0 if rows.weight is None else places.most(np.max(rows.weight, initial=0.0))
    largest = places.most(float(target)) * weight
    return largest == 0 or 2.0**-60 < largest < 2.0**60


def start_raw(loss: Loss, y: FloatArray, weight: FloatArray | None, offset: FloatArray | None = None) -> FloatArray:
    """Return the constant that boosting starts from, (outputs,): the best one, given the offsets of the rows."""
    constant = loss.start(y, weight) if offset is None else loss.start_from(y, offset, weight)
    return np.asarray(constant, dtype=np.float64)


def filled_raw(base: FloatArray, n_rows: int) -> FloatArray:
    """Return raw predictions (outputs × rows) that equal the constant everywhere."""
    return np.repeat(base[:, None], n_rows, axis=1)


def start_of_rows(base: FloatArray, rows: Rows) -> FloatArray:
    """Return raw predictions (outputs × rows) before the first round."""
    raw = filled_raw(base, len(rows.y))
    return raw if rows.offset is None else raw + rows.offset


def of_output(rows: Rows, output: int) -> Rows:
    """Return the rows with the raw predictions of one output alone, a view."""
    return replace(rows, raw=rows.raw[output : output + 1])


def user_shape(raw: FloatArray) -> FloatArray:
    """View outputs × rows, as the engine keeps them, as (rows,) or (rows, outputs), as losses see them."""
    return raw[0] if len(raw) == 1 else raw.T
