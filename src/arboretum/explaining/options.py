"""What the values of a row may be changed to.

A forest cannot tell values of a column apart that lie between the same two of its thresholds. So a column has finitely
many *options*: the value of the row itself, and of each other cell the value nearest to it::

    thresholds          t₁        t₂            t₃
    cells      (−∞, t₁]  | (t₁, t₂]   | (t₂, t₃]   | (t₃, ∞)
    options          t₁         t₂       row         just above t₃
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import ColumnSchema
from arboretum.data.table import Table
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.explaining.reading import column_position
from arboretum.model.forest import NUMERIC

Array: TypeAlias = NDArray[Any]
FloatArray: TypeAlias = NDArray[np.float64]

QUANTILES = 64  # that stand for thresholds where conditions or leaves read sums of columns


@dataclass(frozen=True, eq=False)
class Column:
    """Options of a column: the own value first, then the others by rising distance."""

    schema: ColumnSchema
    values: Array
    distance: FloatArray
    option_of: Array = field(repr=False)  # of each row of X; 0 where its value is not an option
    is_whole: bool = False

    def shown(self, option: int) -> Any:
        """Value as a user writes it."""
        value = self.values[option]
        if self.schema.kind == "categorical":
            return self.schema.categories[value] if value >= 0 else None
        if np.isnan(value):
            return None
        if self.schema.source in ("datetime", "duration"):
            return (np.datetime64 if self.schema.source == "datetime" else np.timedelta64)(int(value), "us")
        if self.schema.source == "bool":
            return bool(value)
        return int(value) if self.is_whole and np.isfinite(value) else float(value)


def options_of(
    model: GrownTrees, row: Table, table: Table, locked: Iterable[Any], ranges: Mapping[Any, Any]
) -> list[Column]:
    """Return the options of every column; a counterfactual chooses one of each."""
    kept = {column_position(name, model.schema_) for name in ([locked] if isinstance(locked, str) else locked)}
    limits = {column_position(name, model.schema_): limit for name, limit in ranges.items()}
    cuts = _cuts(model, table)
    columns = []
    for j, schema in enumerate(model.schema_.columns):
        own, given = row.columns[j][0], table.columns[j]
        if j in kept:
            columns.append(Column(schema, np.array([own]), np.zeros(1), np.zeros(table.n_rows, np.intp)))
        elif schema.kind == "categorical":
            if j in limits:
                raise ValueError(f"ranges has column {schema.name!r}, which holds categories: lock it, or leave it out")
            columns.append(_of_categories(schema, own, given))
        else:
            columns.append(_of_numbers(schema, float(own), given.astype(np.float64), cuts[j], limits.get(j)))
    return columns


def _cuts(model: GrownTrees, table: Table) -> list[FloatArray]:
    """Return the thresholds of each input column, or quantiles of its values if sums of columns read it."""
    inner, names = model.model_, model.schema_.names
    forest = inner.forest
    read = {place: names.index(name) for place, name in enumerate(inner.read_schema.names) if name in names}
    cuts: list[list[FloatArray]] = [[] for _ in names]
    plain = np.flatnonzero(forest.kind == NUMERIC)
    for place, j in read.items():
        cuts[j].append(forest.threshold[plain[forest.feature[plain] == place]])
    for place in np.unique(np.concatenate([forest.projection_feature, forest.slope_feature])).tolist():
        if place in read:
            column = table.columns[read[place]].astype(np.float64)
            known = column[np.isfinite(column)]
            shares = np.linspace(0, 1, QUANTILES)
            cuts[read[place]].append(np.quantile(known, shares, method="lower") if len(known) else known)
    return [np.unique(np.concatenate(parts)) if parts else np.zeros(0) for parts in cuts]


def _of_categories(schema: ColumnSchema, own: int, given: Array) -> Column:
    """Options are all categories, the most frequent first: they are equally far."""
    n = len(schema.categories)
    counts = np.bincount(given[given >= 0], minlength=n)
    others = [code for code in np.argsort(-counts, kind="stable").tolist() if code != own and counts[code] > 0]
    values = np.array([own, *others], np.int32)
    option_of_code = np.zeros(n + 2, np.intp)  # missing and unknown ones, −1 and −2, are not options
    option_of_code[values[1:]] = np.arange(1, len(values))
    return Column(schema, values, (np.arange(len(values)) > 0).astype(np.float64), option_of_code[given])


def _of_numbers(schema: ColumnSchema, own: float, given: FloatArray, cuts: FloatArray, limit: Any) -> Column:
    low, high = read_interval(limit, f"ranges of column {schema.name!r}")
    known = given[np.isfinite(given)]
    middle = float(np.median(known)) if len(known) else 0.0
    spread = float(np.mean(np.abs(known - middle))) if len(known) else 0.0
    is_whole = bool(len(known)) and bool((known == np.floor(known)).all()) and (np.isnan(own) or own == np.floor(own))
    # Of each cell (below, upto] the number nearest to the own, or to the median if that is missing.
    below, upto = np.append(-np.inf, cuts), np.append(cuts, np.inf)
    least = np.maximum(np.floor(below) + 1 if is_whole else np.nextafter(below, np.inf), low)
    most = np.minimum(np.floor(upto) if is_whole else upto, high)
    if is_whole:
        least, most = np.ceil(least), np.floor(most)
    aim = middle if np.isnan(own) else own
    with np.errstate(invalid="ignore"):
        nearest = np.clip(aim, least, most)
        away = np.ones(len(nearest)) if np.isnan(own) else np.abs(nearest - own) / (spread or 1.0)
    is_home = np.zeros(len(nearest), bool) if np.isnan(own) else (below < own) & (own <= upto)
    others = np.flatnonzero((least <= most) & ~is_home & np.isfinite(nearest))
    others = others[np.argsort(away[others], kind="stable")]
    option_of_cell = np.zeros(len(nearest) + 1, np.intp)
    option_of_cell[others] = np.arange(1, len(others) + 1)
    cell = np.where(np.isnan(given), len(nearest), np.searchsorted(cuts, given))
    values, distance = np.append(own, nearest[others]), np.append(0.0, away[others])
    return Column(schema, values, distance, option_of_cell[cell], is_whole)


def read_interval(given: Any, name: str) -> tuple[float, float]:
    """Return the least and the largest of numbers that are accepted.

    Examples
    --------
    >>> read_interval((None, 3), "target"), read_interval(None, "ranges of column 'age'")
    ((-inf, 3.0), (-inf, inf))
    """
    try:
        low, high = (None, None) if given is None else given
        low, high = -np.inf if low is None else float(low), np.inf if high is None else float(high)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={given!r}: give the least and the largest number, None for no limit") from None
    if not low <= high:
        raise ValueError(f"{name}={given!r}: the first number must not be above the second")
    return low, high
