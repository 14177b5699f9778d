"""What chance alone does: limits of statistics, and standard errors of figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
Positions: TypeAlias = NDArray[np.intp]

LEVEL = 1e-4  # chance that a kind of finding is raised by chance, in a whole report
PARTS = 20  # of the rows, each left out once
MOST_ROWS = 3_000  # that are left out and put back; a sample of this size stands for more rows


def normal_limit(n_tests: int, level: float = LEVEL) -> float:
    """Return what the largest of ``n_tests`` standard normal numbers exceeds by chance once in 1 / ``level`` times.

    Examples
    --------
    >>> round(normal_limit(1), 2), round(normal_limit(50), 2)
    (3.72, 4.61)
    """
    from scipy.special import ndtri

    return float(-ndtri(level / max(n_tests, 1)))


def chi_square_limit(freedom: NDArray[np.int64], n_tests: int, level: float = LEVEL) -> FloatArray:
    """Return what the largest of ``n_tests`` χ² numbers exceeds by chance once in 1 / ``level`` times.

    Examples
    --------
    >>> chi_square_limit(np.array([1, 9]), n_tests=10).round(1)
    array([19.5, 39.3])
    """
    from scipy.special import chdtri

    return np.asarray(chdtri(np.maximum(freedom, 1), level / max(n_tests, 1)), np.float64)


def mean_and_error(values: FloatArray, weight: FloatArray | None = None) -> tuple[float, float]:
    """Return the weighted mean of independent values and its standard error.

    Examples
    --------
    >>> mean_and_error(np.array([1.0, 3.0]))
    (2.0, 1.0)
    """
    if weight is None:
        weight = np.ones(len(values))
    total = weight.sum()
    if len(values) < 2 or not total > 0:
        return float("nan"), float("nan")
    mean = float((weight * values).sum() / total)
    spread = float((weight**2 * (values - mean) ** 2).sum()) * len(values) / (len(values) - 1)
    return mean, float(np.sqrt(spread) / total)


def jackknife(
    figures: Callable[[Positions], Mapping[str, float | None]], n_rows: int, unit: NDArray[np.intp] | None = None
) -> dict[str, float | None]:
    """Return the standard error of each figure, by leaving out a twentieth of the rows at a time.

    Parameters
    ----------
    figures : callable
        From positions of rows to figures by name; None where these rows have no such figure.
    n_rows : int
        Number of rows.
    unit : int array, optional
        What is drawn together, such as the query of each row, numbered from 0; by default every row by itself.

    References
    ----------
    Shao, J. and Wu, C. (1989). A general theory for jackknife variance estimation. Annals of Statistics 17.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=2000)
    >>> errors = jackknife(lambda rows: {"mean": float(values[rows].mean())}, 2000)
    >>> 0.015 < errors["mean"] < 0.03  # 1 / √2000 = 0.022
    True
    """
    unit = np.arange(n_rows) if unit is None else unit
    n_units = int(unit.max(initial=-1)) + 1
    order = np.random.default_rng(0).permutation(n_units)
    kept = order[: max(PARTS, round(n_units * min(1.0, MOST_ROWS / max(n_rows, 1))))]
    n_parts = min(PARTS, len(kept))
    if n_parts < 2:
        return {}
    part = np.full(n_units, -1)
    part[kept] = np.arange(len(kept)) % n_parts
    part_of_row = part[unit]
    found = [figures(np.flatnonzero((part_of_row >= 0) & (part_of_row != left_out))) for left_out in range(n_parts)]
    errors: dict[str, float | None] = {}
    for name in found[0]:
        values = [one.get(name) for one in found]
        known = np.array([np.nan if value is None else value for value in values])
        spread = float(((known - known.mean()) ** 2).sum()) * (n_parts - 1) / n_parts
        error = float(np.sqrt(spread * len(kept) / n_units))
        errors[name] = error if np.isfinite(error) else None
    return errors
