"""What oblique splits are made of: the numbers of a table, and how far each of them spreads.

A node compares ``Σ ± value / scale`` of a few numeric columns with a threshold (``kernel/grow/impurity/oblique.hpp``).
A missing value counts as the mean of its column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.data.binning import BinMap
from arboretum.data.table import Table
from arboretum.exact_sums import exact_mean

DEFAULT_TERMS = 2  # expected number of columns in a projection, before "at least two"
_DIGITS = 4096


@dataclass(frozen=True)
class Sparsity:
    """How many projections a node draws, and the probability that a column takes part; None: 2 / columns."""

    n_projections: int
    density: float | None = None


def projections(
    table: Table, bin_map: BinMap, sparsity: Sparsity, *, weight: NDArray[np.float64] | None = None
) -> _kernel.Projections:
    """Collect the numeric columns that vary, for growers of oblique trees.

    Takes 8 bytes per row and numeric column while trees grow: nodes read values of a few columns of scattered rows.
    With fewer than two such columns there are no projections. Among other places, they have the rows of all of them.

    Parameters
    ----------
    table : Table
        The training table.
    bin_map : BinMap
        Its bins.
    sparsity : Sparsity
        How nodes draw.
    weight : ndarray, optional
        Row weights, for means and scales.

    Returns
    -------
    _kernel.Projections
    """
    place = {column: feature for feature, column in enumerate(bin_map.order)}
    found: dict[int, tuple[float, float]] = {}
    for first, batch in table.column_batches():
        for j, column in enumerate(batch, first):
            if not bin_map.categorical[place[j]] and (spread := mean_and_scale(column, weight)) is not None:
                found[place[j]] = spread
    features = sorted(found)
    column_of = {bin_map.order[feature]: i for i, feature in enumerate(features)}
    values = np.empty((table.n_rows, len(features)))
    for first, batch in table.column_batches():
        for j, column in enumerate(batch, first):
            if j in column_of:
                values[:, column_of[j]] = column  # to float64 first: a fill may not be a float32
                values[np.isnan(column), column_of[j]] = found[place[j]][0]
    values = places.whole(values)
    density = min(1.0, DEFAULT_TERMS / max(len(features), 1)) if sparsity.density is None else sparsity.density
    return _kernel.Projections(
        values,
        np.array(features, np.int32),
        np.array([found[feature][1] for feature in features]),
        np.array([found[feature][0] for feature in features]),
        sparsity.n_projections,
        density,
    )


def mean_and_scale(column: NDArray[np.floating], weight: NDArray[np.float64] | None) -> tuple[float, float] | None:
    """Mean and standard deviation of the finite values of a column; None if it does not vary.

    Both are rounded to 1/4096 of the deviation, so that the order in which rows are added does not matter, nor whether
    a row has weight 3 or comes three times.

    Examples
    --------
    >>> import numpy as np
    >>> mean_and_scale(np.array([1.0, 3.0, np.nan, np.inf]), None)
    (2.0, 1.0)
    >>> mean_and_scale(np.array([5.0, 5.0, np.nan]), None) is None
    True
    """
    finite = np.isfinite(column)
    x = column[finite].astype(np.float64)
    low, high = places.least(float(x.min(initial=np.inf))), places.most(float(x.max(initial=-np.inf)))
    half_range = high / 2 - low / 2  # halves: the range itself may be infinite
    if not half_range > 0:
        return None
    share = (x / 2 - low / 2) / half_range
    w = None if weight is None else weight[finite]
    mean = exact_mean(share, w)
    deviation = _rounded(math.sqrt(exact_mean((share - mean) ** 2, w)))
    scale = 2 * deviation * half_range
    if not (scale > 0 and 1 / scale < np.inf):
        return None
    above = round(mean / deviation * _DIGITS) / _DIGITS * deviation * half_range
    return low + above + above, scale


def _rounded(x: float) -> float:
    """To 12 significant bits."""
    mantissa, exponent = np.frexp(x)
    return float(np.ldexp(np.rint(mantissa * _DIGITS) / _DIGITS, exponent))
