"""Target statistics: categories as numbers that tell how the target behaves in them.

A statistic is the mean of some part of the target over the training rows of a level, or how frequent the level is.
A level is a category of one column, or a combination of categories of several; missing is a category like any other::

    Table ──► level of each row ─┬─ all training rows ──► one value per level  transform, for prediction
    target, weight ──────────────┴─ rows before it ─────► one value per row    ordered, for training

With w the weight of a row, t the part of its target, p a prior and a its weight (Prokhorenkova et al., *CatBoost:
unbiased boosting with categorical features*, NeurIPS 2018, section 3; Dorogush et al., *CatBoost: gradient boosting
with categorical features support*, 2018)::

    value = (Σ w t + a p) / (Σ w + a)        over all rows of the level, or those before this one in a random order

A row's ordered value is made without its own target, so that a model cannot read the target off it. The loops are in
``kernel/data/target_statistics.hpp``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum import _kernel, places
from arboretum.arguments import first_true
from arboretum.data.memory_budget import grouped
from arboretum.data.schema import Schema
from arboretum.data.table import Table
from arboretum.data.validity import Rules, read_only
from arboretum.encoding.levels import Columns, Keys, find_levels, key_stages, learn_levels
from arboretum.encoding.ordered_rows import OrderedRows, RowsHere, RowsInPlaces, Source
from arboretum.encoding.statistic import FloatArray, Statistic, StatisticKind
from arboretum.exact_sums import exact_mean, sum_by_group, weight_by_group

ORDER_PURPOSE = 0x6F726472  # "ordr": keeps these draws apart from all others of the same seed
SOURCES_THAT_TRAVEL = 8  # at a time, if rows lie in several places


@dataclass(frozen=True)
class Prior:
    """The value of a mean before any row of its level is known, and how many rows it counts for.

    Parameters
    ----------
    value : float, optional
        By default the mean over all rows.
    weight : float
        More than 0.

    Examples
    --------
    >>> Prior(0.5, weight=10)
    Prior(value=0.5, weight=10)
    >>> Prior(weight=0)
    Traceback (most recent call last):
    ValueError: a prior has weight 0: use a finite number above 0
    """

    value: float | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.weight < math.inf:
            raise ValueError(f"a prior has weight {self.weight}: use a finite number above 0")
        if self.value is not None and not math.isfinite(self.value * self.weight):
            raise ValueError(f"a prior has value {self.value}: use a smaller number, or None for the mean")


@dataclass(frozen=True, eq=False, repr=False)
class TargetStatistics:
    """Learned statistics: frozen tables from levels to values. Made by `learn_statistics`.

    Parameters
    ----------
    schema : Schema
        Of the training table. Tables to encode must be read by it.
    statistics : tuple of Statistic
        One per column of numbers.
    keys : dict of tuple of int to tuple of int64 arrays
        The known levels of all columns and combinations: categories as digits of a number, sorted. Where 63 bits do not
        hold all columns, the first of them are numbered by an array of their own and the numbers become a digit.
    values : tuple of float64 arrays
        For each statistic, one value per level.
    class_names : tuple of str
        How `describe` calls the classes.

    Examples
    --------
    >>> from arboretum.data.table import conform, read_table
    >>> table = read_table([["oslo"], ["rome"], ["oslo"], ["bern"]])
    >>> learned = learn_statistics(table, [1, 0, 1, 0], n_classes=2, class_names=["no", "yes"], one_hot_max=0)
    >>> learned.describe(0), learned.describe(1)
    ("mean of class 'yes' by x0", 'frequency of x0')
    >>> learned.transform(conform([["oslo"], ["rome"], ["lima"]], table.schema))[0].round(3)
    array([0.833, 0.25 , 0.5  ])
    >>> learned.ordered(table, [1, 0, 1, 0], [[2, 0, 1, 3]])[0, 0]
    array([0.75, 0.5 , 0.5 , 0.5 ])
    """

    schema: Schema
    statistics: tuple[Statistic, ...]
    keys: Mapping[Columns, tuple[Keys, ...]]
    values: tuple[FloatArray, ...]
    class_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", {c: tuple(map(read_only, stages)) for c, stages in self.keys.items()})
        object.__setattr__(self, "values", tuple(map(read_only, self.values)))

    def __repr__(self) -> str:
        return f"TargetStatistics({len(self.statistics)} statistics of {len(self.keys)} columns or combinations)"

    def __reduce__(self) -> tuple[Any, ...]:
        return TargetStatistics.from_arrays, (self.to_json(), self.to_arrays(), self.schema)

    def describe(self, i: int) -> str:
        """Describe statistic ``i`` in words."""
        one = self.statistics[i]
        source = " × ".join(self.schema.columns[j].name for j in one.columns)
        if one.kind == "count":
            return f"frequency of {source}"
        part = {"class": "class ", "above": f"target > {one.at:g}", "number": "target"}[one.kind]
        if one.kind == "class":
            part += self.class_names[int(one.at)] if self.class_names else str(int(one.at))
        same = (one.columns, one.kind, one.at)
        n_priors = sum((other.columns, other.kind, other.at) == same for other in self.statistics)
        prior = f" with prior {one.prior:g} of weight {one.prior_weight:g}" if n_priors > 1 else ""
        return f"mean of {part} by {source}{prior}"

    def transform(self, table: Table, *, threads: int = 1) -> list[FloatArray]:
        """Encode rows to predict on: each gets the value of its level, or the prior if its level is not known.

        Parameters
        ----------
        table : Table
            Read by the schema of the training table.
        threads : int
            Threads to use; the result does not depend on them.

        Returns
        -------
        list of float64 arrays
            One per statistic.
        """
        levels = self._levels(table, self.keys, threads)
        pairs = zip(self.statistics, self.values, strict=True)
        return [_looked_up(values, levels[one.columns], one.prior) for one, values in pairs]

    def ordered(
        self, table: Table, target: ArrayLike, orders: ArrayLike, *, weight: ArrayLike | None = None, threads: int = 1
    ) -> FloatArray:
        """Encode training rows: a mean is that of the rows before this one. Counts do not look at the target.

        Parameters
        ----------
        table : Table
            The training table.
        target : array
            Class codes or numbers.
        orders : uint32 array (orders, rows)
            Permutations of the rows, as by `draw_orders`.
        weight : array, optional
            Row weights.
        threads : int
            Threads to use; the result does not depend on them.

        Returns
        -------
        float64 array (orders, statistics, rows)
        """
        y, w = checked_rows(target, weight, table.n_rows)
        rows = RowsHere(y, w, _checked_orders(orders, table.n_rows))
        _, out = next(self.ordered_in_parts(table, rows, threads=threads))
        return out

    def ordered_in_parts(
        self, table: Table, rows: OrderedRows, *, memory: float = math.inf, threads: int = 1
    ) -> Iterator[tuple[list[int], FloatArray]]:
        """Yield (statistics, their values) as ``ordered`` would give, as many at a time as fit in this memory."""
        of_source = {
            columns: [i for i, one in enumerate(self.statistics) if one.columns == columns] for columns in self.keys
        }
        # A row has a key and a level for each source, and a value of each statistic.
        sizes = [table.n_rows * (12 + 8 * rows.n_orders * len(made)) for made in of_source.values()]
        sources = list(of_source)
        for group in _source_groups(sizes, memory):
            chosen = [sources[number] for number in group]
            made = [i for columns in chosen for i in of_source[columns]]
            yield made, self._ordered(chosen, made, table, rows, threads)

    def _ordered(
        self, sources: list[Columns], made: list[int], table: Table, rows: OrderedRows, threads: int
    ) -> FloatArray:
        levels = self._levels(table, sources, threads)
        out = np.empty((rows.n_orders, len(made), table.n_rows))
        means: dict[int, Statistic] = {}
        for column, i in enumerate(made):
            one = self.statistics[i]
            if one.kind == "count":
                out[:, column] = _looked_up(self.values[i], levels[one.columns], one.prior)
            else:
                means[column] = one
        if means:
            known = {columns: Source(levels[columns], len(self.keys[columns][-1])) for columns in sources}
            rows.fill(means, known, threads, out)
        return out

    def _levels(self, table: Table, sources: Iterable[Columns], threads: int) -> dict[Columns, NDArray[np.int32]]:
        return {columns: find_levels(table, columns, self.keys[columns], threads) for columns in sources}

    # --------------------------------------------------------------------------------------------------- files

    def to_json(self) -> dict[str, Any]:
        """Return what a header holds; the rest is in `to_arrays`, and the schema is the model's."""
        statistics = [asdict(one) | {"columns": list(one.columns)} for one in self.statistics]
        return {"statistics": statistics, "class_names": list(self.class_names)}

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the keys of all levels and the values of all statistics, each in one array, and where they start."""
        keys = [stage for stages in self.keys.values() for stage in stages]
        return {
            "level_start": _starts(keys),
            "level_keys": np.concatenate([*keys, np.zeros(0, np.int64)]),
            "statistic_start": _starts(self.values),
            "statistic_values": np.concatenate([*self.values, np.zeros(0)]),
        }

    @classmethod
    def from_arrays(cls, header: Any, arrays: Mapping[str, NDArray[Any]], schema: Schema) -> TargetStatistics:
        """Rebuild from untrusted results of `to_json` and `to_arrays`: any deviation is a ValueError."""
        RULES.keys(header, {"statistics", "class_names"}, "the header")
        names, entries = header["class_names"], header["statistics"]
        are_texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
        RULES.require(are_texts, "class_names", names, "a list of strings")
        RULES.require(isinstance(entries, list), "statistics", entries, "a list")
        statistics = tuple(_statistic_from_json(entry, schema, len(names)) for entry in entries)
        sources = list(dict.fromkeys(one.columns for one in statistics))
        n_stages = [len(key_stages(schema, columns)) for columns in sources]
        parts = iter(_split(arrays, "level_keys", "level_start", np.dtype(np.int64), sum(n_stages)))
        keys = {columns: tuple(next(parts) for _ in range(n)) for columns, n in zip(sources, n_stages, strict=True)}
        for stage in itertools.chain.from_iterable(keys.values()):
            RULES.everywhere("level_keys", stage, stage > np.append(-1, stage[:-1]), "must be at least 0 and rise")
        values = _split(arrays, "statistic_values", "statistic_start", np.dtype(np.float64), len(statistics))
        for i, (one, value) in enumerate(zip(statistics, values, strict=True)):
            n_levels = len(keys[one.columns][-1])
            RULES.require(len(value) == n_levels, f"number of values of statistic {i}", len(value), f"{n_levels}")
            RULES.everywhere("statistic_values", value, np.isfinite(value), "must be finite")
        return cls(schema, statistics, keys, tuple(values), tuple(names))


def learn_statistics(
    table: Table,
    target: ArrayLike,
    *,
    n_classes: int | None = None,
    weight: ArrayLike | None = None,
    kinds: Collection[Literal["mean", "count"]] = ("mean", "count"),
    priors: Sequence[Prior] = (Prior(),),
    n_target_borders: int = 1,
    one_hot_max: int = 2,
    combinations: Sequence[Sequence[int]] = (),
    class_names: Sequence[Any] | None = None,
    threads: int = 1,
) -> TargetStatistics:
    """Learn statistics of the categorical columns of a table, and of combinations of them.

    Parameters
    ----------
    table : Table
        The training table.
    target : array
        Class codes from 0, or numbers.
    n_classes : int, optional
        Number of classes: all but the first get a mean each. Without it the target is a number.
    weight : array, optional
        Row weights.
    kinds : collection of {"mean", "count"}
        Means of the target, and how frequent a level is.
    priors : sequence of Prior
        Every mean is made with each of them.
    n_target_borders : int
        Cut a numeric target at this many quantiles; the means are shares of rows above each. 0: means of the target.
    one_hot_max : int
        Leave out columns of at most this many levels: splits by sets of categories lose nothing there.
    combinations : sequence of sequences of int
        Columns to combine, as by `arboretum.encoding.combinations.best_combinations`.
    class_names : sequence, optional
        Labels of the classes, for `TargetStatistics.describe`.
    threads : int
        Threads to use; the result does not depend on them.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> table = read_table([["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]])
    >>> learned = learn_statistics(table, [3.0, 1, 4, 8], kinds=["mean"], one_hot_max=0, combinations=[(0, 1)])
    >>> [learned.describe(i) for i in range(3)]
    ['mean of target > 3 by x0', 'mean of target > 3 by x1', 'mean of target > 3 by x0 × x1']
    >>> learned.values[0].round(3)
    array([0.167, 0.833])
    """
    y, w = checked_rows(target, weight, table.n_rows, n_classes)
    if unknown := set(kinds) - {"mean", "count"}:
        raise ValueError(f"kinds has {sorted(unknown)}: use 'mean' and 'count'")
    parts = _parts(y, w, n_classes, n_target_borders) if "mean" in kinds else []
    statistics: list[Statistic] = []
    keys: dict[Columns, tuple[Keys, ...]] = {}
    values: list[FloatArray] = []
    for columns in _sources(table.schema, combinations):
        stages, levels = learn_levels(table, columns, threads)
        if len(columns) == 1 and len(stages[-1]) <= one_hot_max:
            continue
        sums = _Sums(levels, len(stages[-1]), w)
        learned = [sums.mean(columns, kind, at, prior, y) for kind, at in parts for prior in priors]
        learned += [sums.count(columns)] if "count" in kinds else []
        if learned:
            keys[columns] = stages
        statistics += [one for one, _ in learned]
        values += [value for _, value in learned]
    names = tuple(repr(name) for name in class_names) if class_names is not None else ()
    return TargetStatistics(table.schema, tuple(statistics), keys, tuple(values), names)


def rows_in_order(
    target: ArrayLike, weight: ArrayLike | None, n_rows: int, *, seed: int, number: int, threads: int = 1
) -> OrderedRows:
    """Return training rows in random order ``number``, as ``TargetStatistics.ordered_in_parts`` takes them."""
    y, w = checked_rows(target, weight, n_rows)
    if places.here() is None:
        return RowsHere(y, w, draw_orders(n_rows, 1, seed=seed, first=number, threads=threads))
    return RowsInPlaces(y, w, order_key(seed, number), threads)


def order_key(seed: int, number: int) -> int:
    """Return the key of the draws of permutation ``number``."""
    return _kernel.draw(seed, ORDER_PURPOSE, number)


def draw_orders(n_rows: int, n_orders: int, *, seed: int, first: int = 0, threads: int = 1) -> NDArray[np.uint32]:
    """Draw permutations of the rows: each by the hash of (seed, number of the permutation, row).

    Parameters
    ----------
    n_rows, n_orders : int
        Length and number of the permutations.
    seed : int
        Of the model.
    first : int
        Number of the first permutation: later ones can be drawn without the earlier.
    threads : int
        Threads to use; the result does not depend on them.

    Returns
    -------
    uint32 array (orders, rows)

    Examples
    --------
    >>> draw_orders(5, 2, seed=0)
    array([[2, 3, 0, 1, 4],
           [0, 2, 4, 1, 3]], dtype=uint32)
    """
    out = np.empty((n_orders, n_rows), np.uint32)
    keys = [order_key(seed, number) for number in range(first, first + n_orders)]
    _kernel.draw_orders(keys, threads, out)
    return out


# ---------------------------------------------------------------------------------------------------------- values


def _source_groups(sizes: list[int], memory: float) -> list[range]:
    """Divide sources into groups that fit in memory; the same at all places, if there are several."""
    return grouped(sizes, memory) if places.here() is None else grouped([1] * len(sizes), SOURCES_THAT_TRAVEL)


def _looked_up(values: FloatArray, levels: NDArray[np.int32], otherwise: float) -> FloatArray:
    return np.append(values, [otherwise, otherwise])[levels]  # level −2, unknown, reads the last but one


class _Sums:
    """Weight of every level, and what follows from it."""

    def __init__(self, levels: NDArray[np.int32], n_levels: int, weight: FloatArray | None) -> None:
        self.slot, self.n_slots = levels + 2, n_levels + 2  # an unknown level falls into slot 0, none into slot 1
        self.row_weight = np.ones(len(levels)) if weight is None else weight
        self.weight = self._by_level(self.row_weight)

    def _by_level(self, x: FloatArray) -> FloatArray:
        return sum_by_group(x, self.slot, self.n_slots)[2:]

    def mean(
        self, columns: Columns, kind: StatisticKind, at: float, prior: Prior, y: FloatArray
    ) -> tuple[Statistic, FloatArray]:
        part = Statistic(columns, kind, at).part(y)
        p = exact_mean(part, self.row_weight) if prior.value is None else float(prior.value)
        a = float(prior.weight)
        value = (self._by_level(self.row_weight * part) + a * p) / (self.weight + a)
        return Statistic(columns, kind, at, p, a), np.where(self.weight > 0, value, p)

    def count(self, columns: Columns) -> tuple[Statistic, FloatArray]:
        most = self.weight.max(initial=0.0)
        return Statistic(columns, "count"), self.weight / (most if most > 0 else 1.0)


def _sources(schema: Schema, combined: Sequence[Sequence[int]]) -> list[Columns]:
    """Categorical columns, then the combinations, each once."""
    for columns in combined:
        check_categorical(schema, columns, f"combination {tuple(columns)}")
        if len(columns) < 2 or len(set(columns)) < len(columns):
            raise ValueError(f"combination {tuple(columns)}: give two or more different columns")
    return list(dict.fromkeys([(j,) for j in schema.categorical] + [tuple(sorted(columns)) for columns in combined]))


def _parts(
    y: FloatArray, w: FloatArray | None, n_classes: int | None, n_borders: int
) -> list[tuple[StatisticKind, float]]:
    if n_classes is not None:
        return [("class", float(k)) for k in range(1, n_classes)]
    return [("above", border) for border in _borders(y, w, n_borders)] if n_borders > 0 else [("number", 0.0)]


def _borders(y: FloatArray, w: FloatArray | None, n: int) -> list[float]:
    """Values of the target nearest to its n quantiles, with rows on both sides; every place looks at all values."""
    if w is not None:
        y, w = y[w > 0], w[w > 0]
    values = places.joined(lambda: np.unique(y), np.union1d)
    up_to = np.cumsum(weight_by_group(w, np.searchsorted(values, y), len(values)))
    if len(values) < 2:
        return []
    wanted = up_to[-1] * np.arange(1, n + 1) / (n + 1)
    return sorted({float(values[np.abs(up_to[:-1] - one).argmin()]) for one in wanted})


# ---------------------------------------------------------------------------------------------------------- checks


def _numbers(given: ArrayLike, n_rows: int, name: str) -> FloatArray:
    numbers = np.ascontiguousarray(given, np.float64)
    if numbers.shape != (n_rows,):
        raise ValueError(f"{name} has shape {numbers.shape}, but the table has {n_rows} rows: give one number per row")
    if (row := first_true(~np.isfinite(numbers))) is not None:
        raise ValueError(f"{name} is {numbers[row]} in row {row}: remove or fill such rows")
    return numbers


def _checked_target(target: ArrayLike, n_rows: int, n_classes: int | None) -> FloatArray:
    """Return class codes or numbers as float64; anything else is an error that names its row."""
    y = _numbers(target, n_rows, "target")
    if n_classes is not None and (row := first_true((y < 0) | (y >= n_classes) | (y != np.floor(y)))) is not None:
        raise ValueError(f"target is {y[row]:g} in row {row}: give class codes from 0 to {n_classes - 1}")
    return y


def _checked_weight(weight: ArrayLike | None, n_rows: int) -> FloatArray | None:
    """Return weights as float64; reject negative ones, and weights that are all 0."""
    if weight is None:
        return None
    w = _numbers(weight, n_rows, "weight")
    if (row := first_true(w < 0)) is not None:
        raise ValueError(f"weight is {w[row]:g} in row {row}: weights must be 0 or more")
    if not places.anywhere(bool(w.any())):
        raise ValueError("weight is zero in all rows: give at least one row some weight")
    return w


def checked_rows(
    target: ArrayLike, weight: ArrayLike | None, n_rows: int, n_classes: int | None = None
) -> tuple[FloatArray, FloatArray | None]:
    """Return the target and the weights of rows as float64; reject sums that would overflow."""
    y, w = _checked_target(target, n_rows, n_classes), _checked_weight(weight, n_rows)
    with np.errstate(over="ignore"):
        sums = places.summed(lambda: [np.abs(y).sum()] if w is None else [np.abs(y) @ w, w.sum()])
        largest = 2 * max(sums)
    if not np.isfinite(largest):
        raise ValueError("the sum of weight × target overflows: divide the target or the weights by a constant")
    return y, w


def _checked_orders(given: ArrayLike, n_rows: int) -> NDArray[np.uint32]:
    orders = np.asarray(given)
    if orders.ndim != 2 or orders.shape[1] != n_rows or orders.dtype.kind not in "iu":
        raise ValueError(f"orders must be permutations of {n_rows} rows, one per order; use draw_orders")
    for number, order in enumerate(orders):
        inside = order.min() >= 0 and order.max() < n_rows
        if not inside or np.bincount(order.astype(np.intp), minlength=n_rows).max() > 1:
            raise ValueError(f"order {number} does not hold each of the {n_rows} rows once; use draw_orders")
    return np.ascontiguousarray(orders, np.uint32)


def check_categorical(schema: Schema, columns: Sequence[int], where: str) -> None:
    """Reject positions that are not those of categorical columns."""
    for j in columns:
        if not 0 <= j < schema.n_features:
            raise ValueError(f"{where} has {j}, but the table has columns 0 to {schema.n_features - 1}")
        if schema.columns[j].kind != "categorical":
            name = schema.columns[j].name
            raise ValueError(f"{where} has column {name!r}, which is numeric: name it in categorical_features")


# ----------------------------------------------------------------------------------------------------------- files


def _starts(arrays: Sequence[NDArray[Any]]) -> Keys:
    return np.array([0, *itertools.accumulate(map(len, arrays))], np.int64)


RULES = Rules("target statistics")


def _split(
    arrays: Mapping[str, NDArray[Any]], name: str, start_name: str, dtype: np.dtype[Any], n: int
) -> list[NDArray[Any]]:
    """Cut an array of a file at the places that another one holds."""
    for wanted, kind, shape in ((name, dtype, None), (start_name, np.dtype(np.int64), (n + 1,))):
        array = arrays.get(wanted)
        if array is None or array.dtype != kind or array.ndim != 1 or array.shape != (shape or array.shape):
            found = "nothing" if array is None else f"{array.dtype} of shape {array.shape}"
            RULES.fail(f"array {wanted} must be {kind} of {'one dimension' if shape is None else shape}, got {found}")
    whole, start = arrays[name], arrays[start_name]
    RULES.starts(start_name, start, len(whole))
    return [whole[begin:end] for begin, end in itertools.pairwise(start.tolist())]


def _statistic_from_json(data: Any, schema: Schema, n_names: int) -> Statistic:
    RULES.keys(data, {"columns", "kind", "at", "prior", "prior_weight"}, "a statistic")
    columns, kind, known = data["columns"], data["kind"], set(schema.categorical)
    are_places = isinstance(columns, list) and columns and all(type(j) is int for j in columns)
    is_subset = are_places and columns == sorted(set(columns)) and set(columns) <= known
    RULES.require(is_subset, "columns", columns, f"rising positions of categorical columns, among {sorted(known)[:20]}")
    RULES.require(kind in get_args(StatisticKind), "kind", kind, f"one of {get_args(StatisticKind)}")
    numbers = {key: data[key] for key in ("at", "prior", "prior_weight")}
    for key, number in numbers.items():
        RULES.require(type(number) is float and math.isfinite(number), key, number, "a finite float")
    RULES.require(data["prior_weight"] > 0, "prior_weight", data["prior_weight"], "more than 0")
    if kind == "class":
        is_class = data["at"].is_integer() and 0 <= data["at"] < (n_names or math.inf)
        RULES.require(is_class, "at", data["at"], f"a class from 0{f' to {n_names - 1}' if n_names else ''}")
    return Statistic(tuple(columns), kind, *numbers.values())
