"""How much a score falls when a column is shuffled (Breiman 2001; Fisher, Rudin & Dominici 2019).

::

    importance(column) = score(y, f(X)) − mean over shuffles of score(y, f(X with the column shuffled))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.table import Table
from arboretum.ensembles.bagging.model_notes import mean_out_of_bag
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.standing_in import with_raw, with_table
from arboretum.explaining.reading import sources
from arboretum.explaining.structure import reads_with_slopes
from arboretum.model.forest import Forest

if TYPE_CHECKING:
    from arboretum.estimators.kept_bags import KeptBags

FloatArray = NDArray[np.float64]
MOST_COMPILED_NODES = 511  # 256 leaves (kernel/forest/compile.hpp)
MANY = 0.5  # share of the trees from which on it costs less to ask all of them again
StandIns: TypeAlias = Callable[[Sequence[int], Iterable[NDArray[np.intp]]], Iterator[Any]]
"""From columns and orders of rows to models whose predictions are those after each shuffle."""


def permutation_falls(
    stand_ins: StandIns,
    score: Callable[[Any], float],
    groups: Sequence[Sequence[int]],
    n_rows: int,
    *,
    n_repeats: int,
    seed: int,
) -> FloatArray:
    """Return the score less that after each shuffle of each group of columns, (repeats, groups).

    Parameters
    ----------
    stand_ins : callable
        Of ``by_trees``, ``by_tables`` or ``by_bags``.
    score : callable
        Scores a model that stands in for the fitted one, on rows that it knows.
    groups : list of lists of int
        Columns of the user that are shuffled together.
    n_rows, n_repeats, seed : int
        Rows; shuffles of each group; where they come from.

    Examples
    --------
    >>> import arboretum as arb
    >>> from arboretum.data.table import read_table
    >>> X = np.random.default_rng(0).random((200, 2))
    >>> model = arb.DecisionTreeRegressor().fit(X, X[:, 0] > 0.5)
    >>> stand_ins = by_trees(model, read_table(X), threads=1)
    >>> falls = permutation_falls(
    ...     stand_ins, lambda one: one.score(X, X[:, 0] > 0.5), [[0], [1]], 200, n_repeats=2, seed=0
    ... )
    >>> falls.shape, falls[:, 1]
    ((2, 2), array([0., 0.]))
    """
    (as_it_is,) = stand_ins((), [np.arange(n_rows)])
    before = score(as_it_is)
    falls = np.zeros((n_repeats, len(groups)))
    for group, columns in enumerate(groups):
        orders = (np.random.default_rng([seed, repeat, group]).permutation(n_rows) for repeat in range(n_repeats))
        falls[:, group] = [before - score(stand_in) for stand_in in stand_ins(columns, orders)]
    return falls


def shuffled(table: Table, columns: Sequence[int], order: NDArray[np.intp]) -> Table:
    """Exchange the values of some columns between the rows, all in the same way."""
    values = list(table.columns)
    for column in columns:
        values[column] = values[column][order]
    return Table(table.schema, values)


def by_tables(model: GrownTrees, table: Table) -> StandIns:
    """Ask for whole predictions after each shuffle: for models whose predictions are not sums of trees."""

    def stand_ins(columns: Sequence[int], orders: Iterable[NDArray[np.intp]]) -> Iterator[Any]:
        for order in orders:
            yield with_table(model, shuffled(table, columns, order))

    return stand_ins


def by_trees(model: GrownTrees, table: Table, threads: int) -> StandIns:
    """Ask trees that read the shuffled columns; the sum of the others is found once for all shuffles.

    Large trees are walked by all shuffles at once (kernel/explain/shuffling.hpp), small ones by each in turn: they are
    compiled to programs of which a walk takes several times as long.
    """
    forest = model.model_.summed
    ask = _at_once if np.diff(forest.tree_start).max(initial=0) > MOST_COMPILED_NODES else _in_turn

    def stand_ins(columns: Sequence[int], orders: Iterable[NDArray[np.intp]]) -> Iterator[Any]:
        touched = [place for place, given in enumerate(sources(model)) if set(given) & set(columns)]
        others, again = _split(forest, _reads(forest, touched))
        rest = model.model_.raw(table, threads, others)
        if not again.n_trees:
            return (with_raw(model, rest) for _ in orders)
        tables = (shuffled(table, columns, order) for order in orders)
        return (with_raw(model, rest + change) for change in ask(model, again, table, tables, touched, threads))

    return stand_ins


def _in_turn(
    model: GrownTrees, forest: Forest, table: Table, tables: Iterable[Table], touched: Sequence[int], threads: int
) -> Iterator[FloatArray]:
    for one in tables:
        yield model.model_.raw(one, threads, forest)


def _at_once(
    model: GrownTrees, forest: Forest, table: Table, tables: Iterable[Table], touched: Sequence[int], threads: int
) -> Iterator[FloatArray]:
    inner = model.model_
    read = inner.as_read(table, threads)
    again = [inner.as_read(one, threads).columns for one in tables]
    columns = [[one[place] for one in again] if place in touched else [] for place in range(len(read.columns))]
    raw = np.empty((len(again), table.n_rows, forest.n_outputs))
    raw[:] = forest.base
    _kernel.add_shuffled(forest.to_arrays(), read.columns, columns, inner.routing == "average", raw, threads)
    return iter(raw)


def by_bags(model: KeptBags, table: Table, rows: NDArray[np.intp], threads: int) -> StandIns:
    """Ask each tree about training rows that it never saw (Breiman 2001).

    Parameters
    ----------
    model : KeptBags
        A forest that has kept its bags.
    table : Table
        Some of the training rows.
    rows : int array
        Their positions; each has a tree that never saw it.
    threads : int
        Threads to use; they change nothing in the result.
    """
    out_of_bag, inner = model.bags_.out_of_bag[rows], model.model_

    def stand_ins(columns: Sequence[int], orders: Iterable[NDArray[np.intp]]) -> Iterator[Any]:
        for order in orders:
            leaves = inner.leaves(shuffled(table, columns, order), threads)
            yield with_raw(model, mean_out_of_bag(inner, leaves, out_of_bag) * inner.explained()[1])

    return stand_ins


def _reads(forest: Forest, touched: Sequence[int]) -> NDArray[np.bool_]:
    """Return which trees read any of these columns."""
    node, read, _ = reads_with_slopes(forest)
    found = node[np.isin(read, touched)]
    reads = np.zeros(forest.n_trees, dtype=bool)
    reads[np.searchsorted(forest.tree_start, found, side="right") - 1] = True
    return reads


def _split(forest: Forest, asked: NDArray[np.bool_]) -> tuple[Forest, Forest]:
    """Return the trees that need not be asked again, and those that must be; the base is with the former."""
    nothing = replace(forest[:0], base=np.zeros_like(forest.base)).trusted()
    if asked.mean() > MANY or not asked.any():  # the forest is compiled already
        return (nothing, forest) if asked.any() else (forest, nothing)
    parts: dict[bool, list[Forest]] = {False: [], True: []}
    ends = np.append(np.flatnonzero(np.diff(asked)) + 1, len(asked)).tolist()
    for first, last in zip([0, *ends], ends, strict=False):
        parts[bool(asked[first])].append(forest[first:last])
    others, again = (Forest.concat(parts[which]) for which in (False, True))
    return others.trusted(), replace(again, base=nothing.base).trusted()
