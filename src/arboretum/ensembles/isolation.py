"""Isolation forest: rows that a few random cuts set apart are anomalies (Liu, Ting & Zhou 2008, 2012).

::

    order the rows by content
    for each tree:   draw some 256 rows ─► cut at random until each is alone, or log₂ 256 deep ─► keep
    a row:           mean over the trees of depth + c(rows) at its leaf

As in bagging, rows are drawn by weight from an order that depends on their content alone: a row of weight 3 is the same
as three equal rows, and the order of the table does not matter. Trees are grown from raw values, not from bins: a cut
is uniform between the least and the largest value of its node (``kernel/grow/isolation.hpp``).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.data import targets
from arboretum.data.schema import Schema
from arboretum.data.shared_rows import PlacedTable, require_room
from arboretum.data.table import SparseTable, Table, read_table
from arboretum.ensembles.bagging.parameters import Trees
from arboretum.ensembles.bagging.resampling import content_order
from arboretum.ensembles.bagging.trees import grow_in_batches, is_whole
from arboretum.ensembles.recipe import Recipe
from arboretum.growing.grower import grown_to_forest
from arboretum.model.arrays import Arrays
from arboretum.model.forest import Forest
from arboretum.model.heads import PathHead
from arboretum.model.model import Model
from arboretum.model.notes import Notes, read_seed
from arboretum.parameters.checking import check_columns, seed_of, share
from arboretum.parameters.declaring import FLAG, MOST, CountOrShare, Number, Share, parameter, parameter_group
from arboretum.parameters.shared import Categories, Seed, Threads, WarmStart
from arboretum.running.interruption import warn_interrupted
from arboretum.running.progress import followers
from arboretum.running.threads import n_threads
from arboretum.running.warning import warn_user

FloatArray: TypeAlias = NDArray[np.float64]

AUTO_SAMPLES = 256  # Liu, Ting & Zhou 2008, §5
AUTO_OFFSET = -0.5  # the score of a row whose path is as long as the mean path of a random tree


@parameter_group()
class IsolationParameters(Trees, Categories, WarmStart, Seed, Threads):
    """Parameters of isolation forests."""

    max_samples: Any = parameter(
        "auto",
        CountOrShare(words=("auto",), by_integer=True),
        'Number of rows that each tree draws, or their share; "auto" is 256, or all rows if there are fewer.',
        before="categorical_features",
    )
    contamination: Any = parameter(
        "auto",
        Number(0.0, 0.5, open_low=True, words=("auto",)),
        "Share of anomalies among the training rows, at most 0.5, that ``offset_`` is chosen for; "
        '"auto" sets it to −0.5.',
        before="categorical_features",
    )
    max_features: int | float = parameter(
        1.0, Share(), "Number of columns that each tree uses, or their share.", before="categorical_features"
    )
    bootstrap: bool = parameter(False, FLAG, "Draw rows with replacement.", before="categorical_features")
    extension: Any = parameter(
        0,
        Number(0, MOST - 1, integer=True, words=("full",)),
        'Cut by hyperplanes over ``extension + 1`` numeric columns, "full" for all of them: random normals in units of '
        "the ranges of the columns in the node, a missing value counts as their mean there. 0 cuts single columns.",
        before="categorical_features",
    )


@dataclass(frozen=True)
class IsolationNotes(Notes):
    """The seed of the trees; None if a file does not contain it."""

    seed: int | None = None

    def to_json(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the seed, if it is known."""
        return {} if self.seed is None else {"seed": self.seed}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> IsolationNotes:
        """Read the seed; early files do not have one."""
        return cls(read_seed(header["seed"]) if "seed" in header else None)


@dataclass(frozen=True, eq=False)
class Isolation(Recipe[IsolationParameters, None]):
    """Isolation of rows by random cuts, as a recipe: parameters and rows make a Model."""

    def fit(self, X: Any, sample_weight: Any = None, earlier: Model | None = None) -> Model:
        """Grow trees, and add them to those of an earlier model, if any."""
        given, threads, known = self.given, n_threads(self.given.n_jobs), None
        if earlier is not None:
            assert isinstance(earlier.notes, IsolationNotes)
            known = earlier.notes.seed
        seed = seed_of(given.random_state) if known is None else known
        table, weight = self._read(X, sample_weight)
        pool, has_missing = RowPool.of(table, weight, threads=threads)
        schema = table.schema.with_missing(has_missing)
        forest = self._grown(table, pool, self._params(schema, len(pool.rows), seed, threads), earlier)
        head = PathHead(forest.n_trees, offset=AUTO_OFFSET)
        model = Model(
            forest, schema, None, given.unknown, given.missing, self.name, head=head, notes=IsolationNotes(seed)
        )
        if given.contamination == "auto":
            return model
        raw = model.raw(table, threads).reshape(table.n_rows, 1)  # also if this place has no rows
        scores = places.whole(head.scores(forest, raw))
        return replace(model, head=replace(head, offset=_quantile(scores, float(given.contamination), weight)))

    def _read(self, X: Any, sample_weight: Any) -> tuple[Table, FloatArray | None]:
        """Return the rows of this place that have weight, and the weights of those of all places."""
        check_columns(self.given.categorical_features)
        table = read_table(X, categorical_features=self.given.categorical_features)
        weight = targets.training_weights(sample_weight, table.n_rows)
        if weight is None:
            return table, None
        if not places.everywhere(bool(weight.all())):
            rows = np.flatnonzero(weight)
            table, weight = table.take(rows).relearn(), weight[rows]
        return table, places.whole(weight)

    def _params(self, schema: Schema, n_rows: int, seed: int, threads: int) -> IsolationParams:
        given, n_numeric = self.given, schema.n_features - len(schema.categorical)
        if given.extension != "full" and given.extension > max(n_numeric - 1, 0):
            raise ValueError(
                f"extension={given.extension!r} needs {given.extension + 1} numeric columns, but X has {n_numeric}: "
                f"use at most {max(n_numeric - 1, 0)}, or 'full' for all"
            )
        return IsolationParams(
            n_trees=int(given.n_estimators),
            n_draws=self._rows_of_tree(n_rows),
            with_replacement=bool(given.bootstrap),
            max_features=max(1, int(share(given, "max_features", schema.n_features) * schema.n_features + 1e-9)),
            max_terms=max(n_numeric, 1) if given.extension == "full" else int(given.extension) + 1,
            seed=seed,
            threads=threads,
        )

    def _rows_of_tree(self, n_rows: int) -> int:
        wanted = self.given.max_samples
        if wanted == "auto":
            return min(AUTO_SAMPLES, n_rows)
        if not isinstance(wanted, numbers.Integral):
            return max(1, int(wanted * n_rows))
        if int(wanted) > n_rows:
            warn_user(f"max_samples={wanted} is more than the {n_rows} rows: every tree draws {n_rows}")
        return min(int(wanted), n_rows)

    def _grown(self, table: Table, pool: RowPool, params: IsolationParams, earlier: Model | None) -> Forest:
        """Grow the missing trees; path lengths are comparable if all trees draw the same number of rows."""
        if earlier is not None:
            done = earlier.forest.n_trees
            if params.n_trees < done:
                raise ValueError(
                    f"n_estimators={params.n_trees} is less than the {done} trees already fitted "
                    "(warm_start=True); raise it or set warm_start=False"
                )
            if not table.schema.describes_like(earlier.schema) or params.n_draws != earlier.forest.n_rows[0]:
                raise ValueError(
                    "warm_start=True, but columns, categories or the rows per tree are not those of the fitted trees: "
                    "give the same rows or set warm_start=False"
                )
            if params.n_trees == done:
                return earlier.forest
            params = replace(params, n_trees=params.n_trees - done, first_tree=done)
        forest, interrupted = isolate(table, pool, params)
        if interrupted:
            warn_interrupted(forest.n_trees, "trees")
        return forest if earlier is None else Forest.concat([earlier.forest, forest])


def _quantile(scores: FloatArray, level: float, weight: FloatArray | None) -> float:
    """Return a quantile of weighted scores; a whole-number weight counts as repetitions."""
    if weight is None or is_whole(weight):
        repeats = 1 if weight is None else weight.astype(np.int64)
        return float(np.quantile(np.repeat(scores, repeats), level))
    order = np.argsort(scores)
    cumulative = np.cumsum(weight[order])
    return float(scores[order][np.searchsorted(cumulative, level * cumulative[-1])])


@dataclass(frozen=True)
class IsolationParams:
    """How to isolate.

    Parameters
    ----------
    n_trees : int
        Trees.
    n_draws : int
        Rows that each tree draws.
    with_replacement : bool
        Whether a row may be drawn more than once.
    max_features : int
        Columns that each tree draws.
    max_terms : int
        Columns of a hyperplane; 1 cuts a single column.
    seed : int
        Seed of all draws.
    threads : int
        The forest is the same for any number.
    first_tree : int
        Number of the first tree, on which its draws depend.
    """

    n_trees: int
    n_draws: int
    with_replacement: bool
    max_features: int
    max_terms: int
    seed: int
    threads: int
    first_tree: int = 0


@dataclass(frozen=True, eq=False)
class RowPool:
    """Rows that trees draw from, ordered by content; repeated if weights are whole numbers, else with weights.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> table = read_table([[3.0], [1.0], [2.0]])
    >>> pool, has_missing = RowPool.of(table, np.array([2.0, 1.0, 1.0]))
    >>> np.bincount(pool.rows).tolist(), pool.weight, has_missing
    ([2, 1, 1], None, [False])
    """

    rows: NDArray[np.uint32]
    weight: FloatArray | None

    @classmethod
    def of(cls, table: Table, weight: FloatArray | None, *, threads: int = 1) -> tuple[RowPool, list[bool]]:
        """Return the rows of a table, all of positive weight, and which columns have missing values.

        Among other places, the table has the rows of one of them, and the pool those of all.
        """
        keys, missing = np.empty(table.n_rows, np.uint64), np.zeros(table.schema.n_features, np.uint8)
        for first, part in table.row_batches():
            _columns_by_name(part).content_keys(keys[first : first + part.n_rows], missing, threads)
        keys, missing = places.whole(keys), places.joined(lambda: missing, np.maximum)
        is_shared = weight is not None and not is_whole(weight)
        rows = content_order(keys, weight).astype(np.uint32) if is_shared else _kernel.order_by_key(keys)
        has_missing = [False] * len(missing)
        for feature, column in enumerate(table.schema.by_name):
            has_missing[column] = bool(missing[feature])
        if weight is None:
            return cls(rows, None), has_missing
        if is_shared:
            return cls(rows, weight[rows]), has_missing
        return cls(np.repeat(rows, weight[rows].astype(np.int64)), None), has_missing


def isolate(table: Table, pool: RowPool, params: IsolationParams) -> tuple[Forest, bool]:
    """Grow the trees; the value of a leaf is the path length that it stands for.

    Parameters
    ----------
    table : Table
        Training rows.
    pool : RowPool
        Pool of this table.
    params : IsolationParams
        How to isolate.

    Returns
    -------
    forest : Forest
        The mean of its trees is the path length of a row; the value of a root is that of a random tree.
    interrupted : bool
        Whether Ctrl-C ended growing early; there is at least one tree.
    """
    sample = _kernel.IsolationSample(pool.rows, pool.weight, params.n_draws, params.with_replacement)
    rules = _kernel.IsolationRules(_depth_limit(params.n_draws), params.max_features, params.max_terms)
    if places.here() is not None:
        grow = _growing_each(_drawn_rows(table, sample, params), sample, rules, params)
    elif isinstance(table, SparseTable):
        grow = _growing_each(table.take, sample, rules, params)
    else:
        grow = _growing(_columns_by_name(table), sample, rules, params)

    def freeze(grown: _kernel.GrownForest) -> Forest:
        return grown_to_forest(grown, 1, table.schema.by_name)

    return grow_in_batches(grow, freeze, params.first_tree, params.n_trees, params.threads, followers())


Grow: TypeAlias = Callable[[int, int], _kernel.GrownForest]


def _growing(
    columns: _kernel.IsolationTable,
    sample: _kernel.IsolationSample,
    rules: _kernel.IsolationRules,
    params: IsolationParams,
) -> Grow:
    """Grow trees from a table that has all rows."""
    return lambda first, n: _kernel.grow_isolation(columns, sample, rules, first, n, params.seed, params.threads)


def _growing_each(
    take: Callable[[NDArray[np.uint32]], Table],
    sample: _kernel.IsolationSample,
    rules: _kernel.IsolationRules,
    params: IsolationParams,
) -> Grow:
    """Grow each tree from the table of its own rows, made dense."""
    all_rows = _kernel.IsolationSample(np.arange(params.n_draws, dtype=np.uint32), None, 0, False)

    def grow_one(tree: int) -> _kernel.GrownForest:
        ((_, dense),) = take(sample.rows(params.seed, tree)).row_batches(size=params.n_draws)
        return _kernel.grow_isolation(_columns_by_name(dense), all_rows, rules, tree, 1, params.seed, 1)

    def grow(first: int, n: int) -> _kernel.GrownForest:
        grown = grow_one(first)
        for tree in range(first + 1, first + n):
            grown.extend(grow_one(tree))
        return grown

    return grow


def _drawn_rows(
    table: Table, sample: _kernel.IsolationSample, params: IsolationParams
) -> Callable[[NDArray[np.uint32]], Table]:
    """Send the rows that any tree draws to all places; return what gives the table of some of them."""
    trees = range(params.first_tree, params.first_tree + params.n_trees)[places.index() :: places.count()]

    def drawn_here() -> NDArray[np.uint32]:
        return np.unique(np.concatenate([np.zeros(0, np.uint32), *(sample.rows(params.seed, tree) for tree in trees)]))

    with places.afresh():
        drawn = places.joined(drawn_here, np.union1d)
    require_room(8 * len(drawn) * table.schema.n_features, f"growing trees from {len(drawn)} rows that they draw")
    own = PlacedTable.of(table).take(drawn.astype(np.intp)).table
    everywhere = Table(table.schema, [places.whole(column) for column in own.columns])
    return lambda rows: everywhere.take(np.searchsorted(drawn, rows))


def _depth_limit(n_draws: int) -> int:
    """Return the mean depth of a tree that isolates all rows; deeper rows are not anomalies."""
    return math.ceil(math.log2(max(n_draws, 2)))


def _columns_by_name(table: Table) -> _kernel.IsolationTable:
    order, schema = table.schema.by_name, table.schema
    return _kernel.IsolationTable([table.columns[j] for j in order], [list(schema.columns[j].ranks) for j in order])
