"""Bagging: every tree grows on its own draw of the rows (Breiman 1996, 2001).

::

    order the rows by content
    for each tree:   draw rows with replacement ─► grow to the end ─► keep
    predict:         the mean of the trees

Rows are drawn by weight from an order that depends on their content alone. So a row of weight 3 is the same as three
equal rows, and the order of the table does not matter. The draws of a tree are a hash of (seed, tree, draw): its
out-of-bag rows can be found again at any time from the seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.data.binning import BinnedData
from arboretum.growing.grower import SplitRules, grown_to_forest
from arboretum.model.forest import Forest
from arboretum.running.interruption import keeps_part
from arboretum.running.progress import Callback, RoundReport

FloatArray: TypeAlias = NDArray[np.float64]

SECONDS_A_BATCH = 1.0  # that the kernel grows before it checks for an interrupt
TREES_AT_ONCE = 16  # whose leaves are found at once


@dataclass(frozen=True, eq=False)
class Treatment:
    """The arm of each row, 0 for the control, and the limits per arm of uplift trees (kernel/grow/impurity/uplift.hpp).

    ``min_rows_arm`` is the minimum number of rows of each arm in a leaf; the outcome of a node's parent counts as
    ``parent_weight`` rows of each arm; ``balanced_gain`` divides gains by how unevenly a cut deals out the arms.
    ``expected`` is what outcomes lack if they are adjusted (``adjusting.py``); ``inverse`` weights the rows of leaves
    where probabilities of treatment are known.
    """

    arms: NDArray[np.int32]
    n_arms: int
    min_rows_arm: int = 1
    parent_weight: float = 0.0
    balanced_gain: bool = False
    expected: FloatArray | None = None
    inverse: FloatArray | None = None

    def take(self, rows: NDArray[np.intp]) -> Treatment:
        """Return the treatment of some rows."""
        expected, inverse = (None if part is None else part[rows] for part in (self.expected, self.inverse))
        return replace(self, arms=np.ascontiguousarray(self.arms[rows]), expected=expected, inverse=inverse)

    def to_kernel(self) -> _kernel.Treatment:
        """Pack into the kernel's struct."""
        return _kernel.Treatment(self.arms, self.n_arms, self.min_rows_arm, self.parent_weight, self.balanced_gain)


@dataclass(frozen=True, eq=False)
class BaggedTarget:
    """What trees predict: class codes or numbers, (rows, outputs), and the weight of each row.

    With a treatment, numbers are outcomes, and a leaf predicts one per arm. ``factors`` are the class weights that the
    weights already include.
    """

    criterion: str
    weight: FloatArray | None
    classes: NDArray[np.int32] | None = None
    n_classes: tuple[int, ...] = ()
    numbers: FloatArray | None = None
    treatment: Treatment | None = None
    factors: FloatArray | None = None

    def take(self, rows: NDArray[np.intp]) -> BaggedTarget:
        """Return the target of some rows; weights that are all 1 become None."""

        def some(array: Any) -> Any:
            return None if array is None else np.ascontiguousarray(array[rows])

        weight = some(self.weight)
        return replace(
            self,
            classes=some(self.classes),
            numbers=some(self.numbers),
            weight=weight if weight is not None and np.any(weight != 1) else None,
            treatment=None if self.treatment is None else self.treatment.take(rows),
        )

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.n_classes) if self.classes is not None else int(self._numbers.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.classes if self.classes is not None else self._numbers)

    @property
    def width(self) -> int:
        """Number of values per leaf: the share of the second of two classes, or of each; one per output, or per arm."""
        if self.treatment is not None:
            return self.treatment.n_arms
        if self.classes is None:
            return int(self._numbers.shape[1])
        return 1 if self.n_classes == (2,) else sum(self.n_classes)

    @property
    def as_values(self) -> FloatArray:
        """What leaves should say of rows: numbers, or whether a row is of each class; of two, of the second."""
        if self.classes is None:
            return self._numbers
        pairs = zip(self.classes.T, self.n_classes, strict=True)
        columns = np.column_stack([codes[:, None] == np.arange(n) for codes, n in pairs])
        return (columns[:, 1:] if columns.shape[1] == 2 else columns).astype(np.float64)

    @property
    def numbers_of_content(self) -> FloatArray | None:
        """Target values that the content keys of rows include."""
        if self.treatment is None:
            return self.numbers
        return np.column_stack([self._numbers, self.treatment.arms])

    @property
    def _numbers(self) -> FloatArray:
        assert self.numbers is not None
        return self.numbers


@dataclass(frozen=True)
class Draws:
    """How a tree draws its rows.

    Parameters
    ----------
    share : float or int, optional
        Draws: a share of the rows, or their number; None makes no draws and uses every row once.
    balanced : bool
        The same number of draws from each class.

    Examples
    --------
    >>> import numpy as np
    >>> from arboretum.data.binning import assign_bins, learn_bins
    >>> from arboretum.data.table import read_table
    >>> table = read_table([[0.0], [1.0], [2.0], [3.0]])
    >>> data = assign_bins(table, learn_bins(table))
    >>> target = BaggedTarget("gini", None, np.array([[0], [0], [0], [1]], np.int32), (2,))
    >>> pool = Draws(share=1.0).pool(data, target, threads=1)
    >>> int(pool.bootstrap.copies(seed=0, tree=0, n_rows=4).sum())
    4
    """

    share: float | int | None = None
    balanced: bool = False

    def pool(
        self,
        data: BinnedData,
        target: BaggedTarget,
        threads: int,
        projections: _kernel.Projections | None = None,
        edges: _kernel.CodeEdges | None = None,
    ) -> Pool:
        """Return what trees draw from; with ``edges``, categories are compared by their values, not codes."""
        if self.share is None:
            return Pool()
        order = _kernel.content_order(
            data.codes, edges, target.classes, target.numbers_of_content, threads, projections, target.weight
        )
        weight = None if target.weight is None else target.weight[order]
        if weight is not None:
            order, weight = order[weight > 0], weight[weight > 0]
        starts = [0, len(order)]
        if self.balanced and target.classes is not None:
            codes = target.classes[order, 0]
            by_class = np.argsort(codes, kind="stable")
            order, weight = order[by_class], None if weight is None else weight[by_class]
            starts = [0, *np.cumsum(np.bincount(codes)).tolist()]
        n_draws = float(len(order))
        cumulative = np.zeros(0)
        if weight is not None and is_whole(weight):
            repeats = weight.astype(np.int64)
            order, ends = np.repeat(order, repeats), np.concatenate([[0], np.cumsum(repeats)])
            starts, n_draws = ends[starts].tolist(), float(len(order))
        elif weight is not None:
            cumulative = np.cumsum(weight)
        n_draws = self.share if isinstance(self.share, Integral) else max(1, round(self.share * n_draws))
        strata = np.unique(starts).astype(np.int64)  # no draws from classes without rows
        return Pool(order.astype(np.uint32), int(n_draws), cumulative, strata)


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows in the order that trees draw from, repeated by their weight if weights are whole numbers.

    Parameters
    ----------
    rows : uint32 array
        The row at each place.
    n_draws : int
        Draws of a tree; 0 if every tree uses every row once.
    cumulative : float64 array
        Else the weight up to and including each place; empty if all places weigh the same.
    strata : int64 array
        Parts that draws take turns between.

    Examples
    --------
    >>> import numpy as np
    >>> pool = Pool(np.array([2, 0, 0], np.uint32), 3, np.zeros(0), np.array([0, 3]))
    >>> drawn = pool.drawn(seed=0, tree=0)
    >>> bool((pool.bootstrap.copies(0, 0, 3) == np.bincount(pool.rows, drawn, 3)).all())
    True
    """

    rows: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    n_draws: int = 0
    cumulative: FloatArray = field(default_factory=lambda: np.zeros(0))
    strata: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))

    @property
    def bootstrap(self) -> _kernel.Bootstrap:
        """How trees draw rows."""
        return _kernel.Bootstrap(self.n_draws, self.rows, self.cumulative, self.strata)

    def drawn(self, seed: int, tree: int) -> NDArray[np.uint32]:
        """Return how often a tree has drawn each place: copies of a row one by one."""
        places = np.arange(len(self.rows), dtype=np.uint32)
        counted = _kernel.Bootstrap(self.n_draws, places, self.cumulative, self.strata)
        return counted.copies(seed, tree, len(places))

    @property
    def weight(self) -> FloatArray | None:
        """The weight of each place; None if all weigh the same."""
        return np.diff(self.cumulative, prepend=0.0) if len(self.cumulative) else None


def is_whole(weight: FloatArray) -> bool:
    """Whether weights are whole numbers, small enough that rows can be repeated by them."""
    return bool((weight == np.floor(weight)).all() and weight.sum() <= max(8 * len(weight), 1 << 22))


@dataclass(frozen=True, eq=False)
class SingleTree:
    """One tree, with what pruning needs to know of its nodes: weight · impurity, and weight."""

    forest: Forest
    risk: FloatArray
    weight: FloatArray


def grow_tree(
    data: BinnedData,
    edges: _kernel.CodeEdges,
    target: BaggedTarget,
    rules: SplitRules,
    *,
    seed: int,
    threads: int,
    projections: _kernel.Projections | None = None,
) -> SingleTree:
    """Grow one tree on all rows; threads share its large nodes and then its branches."""
    grown = _grower(data, edges, target, _kernel.Bootstrap(), rules, threads, projections).grow(0, 1, seed, True)
    return SingleTree(grown_to_forest(grown, target.width, data.bin_map.order), grown.risk, grown.weight)


@dataclass(frozen=True)
class BaggingParams:
    """How to bag."""

    n_trees: int
    rules: SplitRules
    seed: int
    threads: int
    first_tree: int = 0


def bag(
    data: BinnedData,
    edges: _kernel.CodeEdges,
    target: BaggedTarget,
    bootstrap: _kernel.Bootstrap,
    params: BaggingParams,
    callbacks: Sequence[Callback] = (),
    projections: _kernel.Projections | None = None,
    check_size: Callable[[int, int], None] = lambda n_trees, n_nodes: None,
) -> tuple[Forest, bool]:
    """Grow trees ``first_tree`` … of the forest with this seed.

    ``check_size`` is called after each batch with the numbers of trees and nodes; it may raise an error.

    Returns
    -------
    forest : Forest
        Each tree predicts by itself: a forest's prediction is their mean.
    interrupted : bool
        Whether Ctrl-C ended growing early; there is at least one tree.
    """
    grower = _grower(data, edges, target, bootstrap, params.rules, params.threads, projections)

    def grow(first: int, n: int) -> _kernel.GrownForest:
        return grower.grow(first, n, params.seed, False)

    def freeze(grown: _kernel.GrownForest) -> Forest:
        return grown_to_forest(grown, target.width, data.bin_map.order)

    return grow_in_batches(grow, freeze, params.first_tree, params.n_trees, params.threads, callbacks, check_size)


def grow_in_batches(
    grow: Callable[[int, int], _kernel.GrownForest],
    freeze: Callable[[_kernel.GrownForest], Forest],
    first_tree: int,
    n_trees: int,
    threads: int,
    callbacks: Sequence[Callback] = (),
    check_size: Callable[[int, int], None] = lambda n_trees, n_nodes: None,
) -> tuple[Forest, bool]:
    """Grow trees that do not depend on each other, and join them; the trees of a batch are dealt out to the places.

    Parameters
    ----------
    grow : callable
        ``grow(first, n)`` grows n trees, of which the first has this number, from all rows.
    freeze : callable
        Makes a forest of grown trees.
    first_tree, n_trees, threads : int
        Which trees to grow, and the threads of a place.
    callbacks : sequence of callables
        Are told of each batch.
    check_size : callable
        Is called after each batch with the numbers of trees and nodes so far; it may raise an error.

    Returns
    -------
    forest : Forest
        The trees, in order.
    interrupted : bool
        Whether Ctrl-C ended growing early; trees so far are kept if there are some.
    """
    grown: list[_kernel.GrownForest] = []  # at most one, if all trees grow here: they are frozen at the end
    frozen: list[Forest] = []
    started, interrupted = time.monotonic(), False
    try:
        for first, n in batches(first_tree, n_trees, threads):
            begin, end = (first + n * place // places.count() for place in (places.index(), places.index() + 1))

            def share(begin: int = begin, end: int = end) -> list[Forest]:
                return [freeze(grow(begin, end - begin))] if end > begin else []

            if places.here() is not None:
                frozen += chain.from_iterable(places.gathered(share))
            elif grown:
                grown[0].extend(grow(first, n))
            else:
                grown.append(grow(first, n))
            done = first + n - first_tree
            check_size(done, sum(part.n_nodes for part in grown) + sum(part.n_nodes for part in frozen))
            for callback in callbacks:
                callback(RoundReport(done, n_trees, time.monotonic() - started, None, None))
    except KeyboardInterrupt:
        if not keeps_part(len(grown) + len(frozen)):
            raise
        interrupted = True
    frozen += [freeze(part) for part in grown]
    return frozen[0] if len(frozen) == 1 else Forest.concat(frozen), interrupted


def _grower(
    data: BinnedData,
    edges: _kernel.CodeEdges,
    target: BaggedTarget,
    bootstrap: _kernel.Bootstrap,
    rules: SplitRules,
    threads: int,
    projections: _kernel.Projections | None,
) -> _kernel.ForestGrower:
    return _kernel.ForestGrower(
        data.codes,
        getattr(_kernel.Criterion, target.criterion),
        list(target.n_classes),
        target.classes,
        target.numbers,
        target.weight if bootstrap.n_draws == 0 else None,  # else rows are drawn by weight
        rules.to_kernel(),
        edges,
        bootstrap,
        threads,
        projections,
        None if target.treatment is None else target.treatment.to_kernel(),
    )


def batches(first_tree: int, n_trees: int, threads: int) -> Iterator[tuple[int, int]]:
    """Yield the first tree and the number of trees of each batch; the first batch shows how long a tree takes."""
    at_once = max(threads, 1) * places.count()
    started, n, done = time.monotonic(), places.told(lambda: at_once), 0

    def paced() -> int:
        pace = (time.monotonic() - started) / done
        return max(at_once, int(SECONDS_A_BATCH / max(pace, 1e-9)) // at_once * at_once)

    while done < n_trees:
        n = min(n, n_trees - done)
        yield first_tree + done, n
        done += n
        if done < n_trees:
            n = places.told(paced)


# ---- out of the bag ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BaggedRows:
    """Training rows, as the trees that were grown from them saw them.

    Parameters
    ----------
    leaves : callable
        ``leaves(first, last)`` gives the leaf of each row in these trees, as ``Forest.apply`` does.
    bootstrap, seed
        The values that the trees were grown with.
    n_rows : int
        Number of rows that trees drew from.
    own : slice
        Those that leaves are known of; all by default.
    """

    leaves: Callable[[int, int], NDArray[np.int32]]
    bootstrap: _kernel.Bootstrap
    seed: int
    n_rows: int
    own: slice = field(default_factory=lambda: slice(None))

    @property
    def n_own(self) -> int:
        """Number of rows that leaves are known of."""
        return len(range(self.n_rows)[self.own])

    def leaves_of_trees(self, first: int, last: int) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """Yield each of these trees with the leaf of each row."""
        for begin in range(first, last, TREES_AT_ONCE):
            end = min(begin + TREES_AT_ONCE, last)
            yield from zip(range(begin, end), np.ascontiguousarray(self.leaves(begin, end).T), strict=True)

    def copies(self, tree: int) -> NDArray[np.uint32]:
        """Return how often a tree has drawn each row."""
        return self.bootstrap.copies(self.seed, tree, self.n_rows)[self.own]


def out_of_bag_sums(forest: Forest, rows: BaggedRows) -> tuple[FloatArray, NDArray[np.int64]]:
    """Sum of the trees that never saw a row, with the base of the forest, and how many those are."""
    sums, counts = np.zeros((rows.n_own, forest.width)), np.zeros(rows.n_own, dtype=np.int64)
    for tree, leaf in rows.leaves_of_trees(0, forest.n_trees):
        out = rows.copies(tree) == 0
        sums += np.where(out[:, None], forest.value[forest.tree_start[tree] + leaf], 0.0)
        counts += out
    return sums + forest.base, counts
