"""Bins: from the values of a table to small integer codes, and back to thresholds.

A numeric feature is cut at quantiles (or between all distinct values) into bins; code *c* holds the values with
``cuts[c-1] < x <= cuts[c]``. A category is its own code. The code after the last means missing.
"""

from __future__ import annotations

import hashlib
import mmap
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.cached import cached_property
from arboretum.data.memory_budget import grouped
from arboretum.data.row_stream import RowStream
from arboretum.data.schema import Array
from arboretum.data.table import SparseTable, Table

# Cuts are quantiles of about this many rows; more would not move them visibly.
SAMPLE_ROWS = 200_000
# Bytes of a sampled value, and of one while the kernel sorts its column, with its weight.
SAMPLED_VALUE_BYTES, SORTED_VALUE_BYTES = 8, 48
GATHERED_COLUMNS = 32  # whose sampled values one place has at a time, if rows lie in several places
Gathered: TypeAlias = "dict[int, tuple[list[Array], NDArray[np.float64] | None]]"
"""Values of some columns and weights of the rows, by place."""


@dataclass(frozen=True, eq=False)
class BinMap:
    """How the columns of a table become codes.

    Parameters
    ----------
    order : tuple of int
        Column of each binned feature. Features are kept in the order of their names, so that ties between features, and
        every random draw, are the same for any order of the columns.
    cuts : tuple of ndarray
        Rising float64 cuts of each binned feature; empty for categories.
    n_bins : tuple of int
        Codes of each binned feature; the code ``n_bins`` means missing.
    categorical : tuple of bool
        Which binned features are categories.
    values : tuple of ndarray, optional
        The distinct values, if each has a bin of its own.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> bin_map = learn_bins(read_table([[1.0], [2.0], [4.0]]), max_bins=255)
    >>> bin_map.cuts[0]
    array([1.5, 3. ])
    """

    order: tuple[int, ...]
    cuts: tuple[NDArray[np.float64], ...]
    n_bins: tuple[int, ...]
    categorical: tuple[bool, ...]
    values: tuple[NDArray[np.float64], ...] | None = None

    @cached_property
    def _cut_table(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        padded = [np.append(cuts, np.inf) for cuts in self.cuts]
        starts = np.concatenate([[0], np.cumsum([len(cuts) for cuts in padded])])
        return np.concatenate(padded), starts

    def thresholds(self, features: NDArray[np.int32], codes: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Return the threshold of "code <= codes[i]" for each binned feature; the last bin has no upper end."""
        table, starts = self._cut_table
        return np.asarray(table[starts[features] + codes])


@dataclass(frozen=True, eq=False)
class BinnedData:
    """Codes of a table, with the map that made them."""

    bin_map: BinMap
    codes: _kernel.BinnedData
    has_missing: tuple[bool, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.codes.n_rows


def learn_bins(
    table: Table, *, max_bins: int | None = 255, weight: NDArray[np.float64] | None = None, threads: int = 1
) -> BinMap:
    """Choose the bins of every column.

    Parameters
    ----------
    table : Table
        The training table.
    max_bins : int, optional
        Most bins of a numeric column; None makes every distinct value its own bin (an exact splitter).
    weight : ndarray, optional
        Row weights: cuts are quantiles of weight.
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    BinMap
    """
    of_weights = None if weight is None else hashlib.blake2b(weight.tobytes()).digest()
    return table.once(("cuts", max_bins, of_weights), lambda: _learn_bins(table, max_bins, weight, threads))


def _learn_bins(table: Table, max_bins: int | None, weight: NDArray[np.float64] | None, threads: int) -> BinMap:
    columns = table.schema.columns
    order = table.schema.by_name
    sample_size = table.n_rows if max_bins is None else SAMPLE_ROWS
    rows = _kernel.sample_rows(table.n_rows, sample_size)
    if places.here() is not None:
        cuts = _find_gathered_cuts(table, weight, max_bins, threads)
    elif isinstance(table, SparseTable):
        cuts = table.by_column.find_cuts(rows, weight, max_bins or 0, threads)
    elif isinstance(table, RowStream):
        cuts = _find_streamed_cuts(table, rows, weight, max_bins, threads)
    else:
        cuts = _kernel.find_cuts(table.columns, rows, weight, max_bins or 0, threads)
    return BinMap(
        order=tuple(order),
        cuts=tuple(cuts[j] for j in order),
        n_bins=tuple(_n_bins(len(columns[j].categories), cuts[j], columns[j].kind) for j in order),
        categorical=tuple(columns[j].kind == "categorical" for j in order),
    )


def _find_streamed_cuts(
    table: RowStream, rows: NDArray[np.uint32], weight: NDArray[np.float64] | None, max_bins: int | None, threads: int
) -> list[NDArray[np.float64]]:
    """Find the cuts of a sample, for as many columns at a time as fit in memory."""
    places = np.arange(len(rows), dtype=np.uint32)
    of_sample = None if weight is None else weight[rows]
    if max_bins is None:
        return _kernel.find_cuts(table.columns, places, of_sample, 0, threads)
    cuts: dict[int, NDArray[np.float64]] = {}
    for group, sample in table.samples(rows, SAMPLED_VALUE_BYTES):
        for few in grouped([SORTED_VALUE_BYTES * len(rows)] * len(sample), table.free_memory()):
            found = _kernel.find_cuts([sample[j] for j in few], places, of_sample, max_bins, threads)
            cuts |= {group[j]: one for j, one in zip(few, found, strict=True)}
    return [cuts[j] for j in range(len(cuts))]


def _find_gathered_cuts(
    table: Table, weight: NDArray[np.float64] | None, max_bins: int | None, threads: int
) -> list[NDArray[np.float64]]:
    """Find the cuts of rows in several places: for each column, one gets the sample that a single place would have."""
    own, (first, n_rows) = places.index(), places.numbered(table.n_rows)
    sampled = _kernel.sample_rows(n_rows, SAMPLE_ROWS)
    rows = sampled[slice(*np.searchsorted(sampled, (first, first + table.n_rows)))] - np.uint32(first)
    cuts = [np.zeros(0)] * table.schema.n_features
    numeric = [j for j, column in enumerate(table.schema.columns) if column.kind == "numeric"]
    n_places = places.count()
    size = max(1, min(GATHERED_COLUMNS, -(-len(numeric) // n_places)))
    groups = [numeric[begin : begin + size] for begin in range(0, len(numeric), size)]
    held: dict[int, Array] = {}

    def part(group: list[int]) -> Gathered:
        if max_bins is None:
            return {own: ([np.unique(column) for column in table.values(group)], None)}
        if group[0] not in held:  # one pass over the rows for as many groups as there are places
            held.clear()
            wanted = [j for one in groups[groups.index(group) :][:n_places] for j in one]
            held.update(zip(wanted, table.values(wanted, rows), strict=True))
        return {own: ([held[j] for j in group], None if weight is None else weight[rows])}

    def decide(parts: Gathered) -> list[NDArray[np.float64]]:
        columns, weights = zip(*places.in_order(parts), strict=True)
        of_rows = None if weights[0] is None else np.concatenate(weights)
        found = []
        for values in map(np.concatenate, zip(*columns, strict=True)):
            numbers = np.arange(len(values), dtype=np.uint32)
            found += _kernel.find_cuts([values], numbers, of_rows, max_bins or 0, threads)
        return found

    for begin in range(0, len(groups), n_places):
        some = groups[begin : begin + n_places]
        for group, found in zip(some, places.dealt(some, part, dict.__or__, decide), strict=True):
            for j, one in zip(group, found, strict=True):
                cuts[j] = one
    return cuts


def bin_values(table: Table, *, threads: int = 1) -> BinnedData:
    """Make every distinct value its own bin, and keep the values: thresholds may then lie between any two of them.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> data = bin_values(read_table([[4.0], [1.0], [4.0], [2.0]]))
    >>> data.codes.codes(0), data.bin_map.values[0]
    (array([2, 0, 2, 1], dtype=uint32), array([1., 2., 4.]))
    """
    return table.once("values", lambda: _bin_values(table, threads))


def _bin_values(table: Table, threads: int) -> BinnedData:
    columns = table.schema.columns
    order = table.schema.by_name
    ranked: list[tuple[NDArray[np.float64], NDArray[np.uint32]]] = []
    for _, batch in table.column_batches():
        ranked += _ranked_everywhere(_kernel.rank_columns(batch, threads))
    cuts = [midpoint(values[:-1], values[1:]) for values, _ in ranked]
    bin_map = BinMap(
        order=tuple(order),
        cuts=tuple(cuts[j] for j in order),
        n_bins=tuple(_n_bins(len(columns[j].categories), cuts[j], columns[j].kind) for j in order),
        categorical=tuple(columns[j].kind == "categorical" for j in order),
        values=tuple(ranked[j][0] for j in order),
    )
    codes = _kernel.BinnedData(table.n_rows, list(bin_map.n_bins), list(bin_map.categorical))
    codes.attach(np.empty(codes.size_bytes, dtype=np.uint8))
    has_missing = [False] * len(order)
    place = {column: feature for feature, column in enumerate(order)}
    for first, batch in table.column_batches():
        for j, column in enumerate(batch, first):
            feature = place[j]
            if bin_map.categorical[feature]:
                (has_missing[feature],) = codes.assign(feature, [column], [[]], threads)
            else:
                has_missing[feature] = codes.put_codes(feature, ranked[j][1], threads)
    return BinnedData(bin_map, codes, tuple(places.joined(lambda: np.array(has_missing), np.logical_or).tolist()))


def _ranked_everywhere(
    own: list[tuple[NDArray[np.float64], NDArray[np.uint32]]],
) -> list[tuple[NDArray[np.float64], NDArray[np.uint32]]]:
    """Return the distinct values of columns at all places, and the rank of each value of this place among them."""
    if places.here() is None:
        return own
    found = [values for values, _ in own]
    with places.afresh():
        values = places.joined(lambda: found, lambda a, b: list(map(np.union1d, a, b)))
    ranked = []
    for everywhere, (here, ranks) in zip(values, own, strict=True):
        # The code after the last value, 1 if there is none, means missing.
        place = np.append(np.searchsorted(everywhere, here), max(1, len(everywhere)))
        ranked.append((everywhere, place[np.minimum(ranks, len(here))].astype(np.uint32)))
    return ranked


def midpoint(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return thresholds ``low <= t < high`` half-way between, or `low` where float64 has nothing between.

    Examples
    --------
    >>> midpoint(np.array([1.0, -np.inf]), np.array([2.0, np.inf]))
    array([ 1.5, -inf])
    """
    with np.errstate(invalid="ignore"):  # −∞ + ∞
        middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low)


def _key(category: object) -> float:
    """Return a number that identifies a category whatever its code is: codes depend on the rows."""
    digest = hashlib.blake2b(f"{type(category).__name__} {category!r}".encode(), digest_size=6).digest()
    return float(int.from_bytes(digest, "little"))


def code_edges(table: Table, bin_map: BinMap) -> _kernel.CodeEdges:
    """Return where the values of each code begin and end, for growers that put thresholds between codes of a node.

    A category has a number of its own instead, which random draws use.
    """
    place = {column: feature for feature, column in enumerate(bin_map.order)}
    lower: list[NDArray[np.float64]] = [np.zeros(0)] * len(place)
    upper = lower.copy()
    least, most = _extremes(table) if bin_map.values is None else (lower, upper)
    for j, column in enumerate(table.schema.columns):
        feature = place[j]
        if bin_map.categorical[feature]:
            keys = [_key(category) for category in column.categories]
            lower[feature] = upper[feature] = np.array(keys or [0.0])
        elif bin_map.values is not None:
            values = bin_map.values[feature]
            lower[feature] = upper[feature] = values if len(values) else np.zeros(1)
        else:
            lower[feature] = np.append(least[j], bin_map.cuts[feature])
            upper[feature] = np.append(bin_map.cuts[feature], most[j])
    start = np.concatenate([[0], np.cumsum(bin_map.n_bins)])[:-1].astype(np.int64)
    first = np.concatenate(lower, dtype=np.float64)
    return _kernel.CodeEdges(start, first, first if bin_map.values else np.concatenate(upper, dtype=np.float64))


def _extremes(table: Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least and largest value of each column, missing ones left out."""
    least = np.full(table.schema.n_features, np.inf)
    most = -least
    streamed = isinstance(table, RowStream)
    batches = ((0, part.columns) for _, part in table.row_batches()) if streamed else table.column_batches()
    for first, batch in batches:
        for j, column in enumerate(batch, first):
            if column.dtype != np.int32:
                least[j] = np.fmin.reduce(column, initial=least[j])
                most[j] = np.fmax.reduce(column, initial=most[j])
    return places.joined(lambda: (least, most), lambda a, b: (np.fmin(a[0], b[0]), np.fmax(a[1], b[1])))


def _n_bins(n_categories: int, cuts: NDArray[np.float64], kind: str) -> int:
    return max(n_categories, 1) if kind == "categorical" else len(cuts) + 1


def assign_bins(
    table: Table, bin_map: BinMap, *, bundle: bool = False, reserve: int = 0, threads: int = 1
) -> BinnedData:
    """Turn a table into codes. Unknown categories are coded as missing.

    Parameters
    ----------
    table : Table
        Any table with the columns of the map.
    bin_map : BinMap
        How columns become codes.
    bundle : bool
        Whether columns that never leave their most frequent code in the same row may share a stored column. Growers
        of gradients read such data; those of impurity do not.
    reserve : int
        Bytes that training will need besides the codes: if the memory limit of a dataset is too small for both, the
        codes lie in a temporary file that is mapped to memory.
    threads : int
        Threads to use; the result does not depend on it.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> one_hot = read_table(np.eye(10))
    >>> data = assign_bins(one_hot, learn_bins(one_hot), bundle=True)
    >>> data.codes.n_bundles, data.codes.codes(2).tolist()
    (1, [0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    """
    key = ("codes", bin_map, bundle)  # the map itself, not its content
    bundle = bundle and places.here() is None  # what can be bundled depends on all rows
    own = table.once(key, lambda: places.kept(lambda: _assign_bins(table, bin_map, bundle, reserve, threads)))
    if places.here() is None:
        return own
    has_missing = places.joined(lambda: np.array(own.has_missing), np.logical_or)
    for feature in np.flatnonzero(has_missing):
        own.codes.mark_missing(int(feature))
    return BinnedData(bin_map, own.codes, tuple(has_missing.tolist()))


def _assign_bins(table: Table, bin_map: BinMap, bundle: bool, reserve: int, threads: int) -> BinnedData:
    order, cuts, n_bins = list(bin_map.order), [cuts.tolist() for cuts in bin_map.cuts], list(bin_map.n_bins)
    if isinstance(table, RowStream):
        return _assign_streamed(table, bin_map, cuts, reserve, threads)
    columns = [] if isinstance(table, SparseTable) else [table.columns[j] for j in order]
    bundles = None
    if bundle and isinstance(table, SparseTable):
        bundles = _kernel.find_bundles(table.by_column, order, cuts, n_bins, threads)
    elif bundle:
        bundles = _kernel.find_bundles(columns, cuts, n_bins, threads)
    codes = _kernel.BinnedData(table.n_rows, n_bins, list(bin_map.categorical), bundles)
    codes.attach(np.zeros(codes.size_bytes, dtype=np.uint8))
    if isinstance(table, SparseTable):
        has_missing = table.by_column.assign(codes, order, cuts, threads)
        if bundle:  # only boosting on one machine reads lists
            codes.list_rows()
    else:
        has_missing = codes.assign(0, columns, cuts, threads)
    return BinnedData(bin_map, codes, tuple(has_missing))


def _assign_streamed(
    table: RowStream, bin_map: BinMap, cuts: list[list[float]], reserve: int, threads: int
) -> BinnedData:
    """Turn rows into codes batch by batch. Nothing is bundled: finding bundles would take all rows."""
    codes = _kernel.BinnedData(table.n_rows, list(bin_map.n_bins), list(bin_map.categorical))
    mapped = codes.size_bytes + reserve > table.free_memory()
    codes.attach(mapped_bytes(codes.size_bytes) if mapped else np.zeros(codes.size_bytes, dtype=np.uint8), mapped)
    has_missing = np.zeros(len(bin_map.order), dtype=bool)
    feature_of = {column: feature for feature, column in enumerate(bin_map.order)}
    for columns, batches in table.passes(bin_map.order, beside=0 if mapped else codes.size_bytes):
        runs = list(_runs([feature_of[column] for column in columns]))
        for first, values in batches:
            for begin, run in runs:
                features = slice(run[0], run[0] + len(run))
                part = values[begin : begin + len(run)]
                has_missing[features] |= codes.assign(run[0], part, cuts[features], threads, first)
    return BinnedData(bin_map, codes, tuple(has_missing.tolist()))


def _runs(features: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield (place of the first, features) for runs of features that follow each other.

    Examples
    --------
    >>> list(_runs([3, 4, 7, 5]))
    [(0, [3, 4]), (2, [7]), (3, [5])]
    """
    begin = 0
    for end in range(1, len(features) + 1):
        if end == len(features) or features[end] != features[end - 1] + 1:
            yield begin, features[begin:end]
            begin = end


def mapped_bytes(size: int) -> NDArray[np.uint8]:
    """Return zeros in a temporary file, which is removed with them."""
    with tempfile.TemporaryFile(prefix="arboretum-") as file:
        file.truncate(size)
        return np.frombuffer(mmap.mmap(file.fileno(), size), dtype=np.uint8)
