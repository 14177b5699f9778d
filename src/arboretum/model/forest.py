"""The fitted model as plain frozen data: all trees in one set of arrays, thresholds in the user's units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.cached import cached_property
from arboretum.data.validity import Rules, freeze
from arboretum.model.forest_pools import OPTIONAL, POOLS, PROJECTIONS, SLOPES, join_starts

LEAF, NUMERIC, CATEGORY, OBLIQUE, LISTED = 0, 1, 2, 3, 4
ON_CATEGORIES = (CATEGORY, LISTED)

_DTYPES = {
    "tree_start": np.int64,
    "tree_output": np.int32,
    "kind": np.uint8,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.uint8,
    "set_start": np.int64,
    "set_words": np.uint32,
    "value": np.float64,
    "gain": np.float64,
    "n_rows": np.int64,
    "base": np.float64,
}
_ALL_DTYPES = _DTYPES | PROJECTIONS.dtypes | SLOPES.dtypes
_PER_NODE = ("kind", "feature", "threshold", "left", "right", "missing_left", "value", "gain", "n_rows")
# In the order of LinkRule in kernel/forest/links.hpp.
_LINK_RULES = (
    ("left", "must be −1 at a leaf"),
    ("left", "must come after its parent"),
    ("left", "is outside of its tree"),
    ("right", "must be −1 at a leaf"),
    ("right", "must come after its parent"),
    ("right", "is outside of its tree"),
    ("left", "is also the right child"),
    ("kind", "is a node with two parents"),
    ("kind", "is a node without parent"),
)
RULES = Rules("forest")
_require = RULES.everywhere


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """Trees as arrays; tree ``t`` owns nodes ``tree_start[t] : tree_start[t + 1]``, its root first.

    The arrays are read-only. Children come after their parent and are counted from the start of their tree.
    Nothing is checked until :meth:`validate` is called, which the first prediction does.

    Parameters
    ----------
    tree_start : int64 array (trees + 1)
        First node of each tree.
    tree_output : int32 array (trees)
        Output that the tree adds to; −1 for all of them (vector leaves).
    kind : uint8 array (nodes)
        0 leaf, 1 numeric condition ``x <= threshold``, 2 category in set, 3 oblique condition ``sum <= threshold``.
    feature : int32 array (nodes)
        Column that the condition reads, the first of an oblique one; −1 at a leaf.
    threshold : float64 array (nodes)
        Of a numeric or oblique condition; else 0.
    left, right : int32 array (nodes)
        Children; −1 at a leaf.
    missing_left : uint8 array (nodes)
        1 where a missing value goes left.
    set_start : int64 array (nodes + 1)
        Words ``set_start[i] : set_start[i + 1]`` are the set of node ``i``; a set bit goes left. Of a listed
        condition they are the codes that go left, rising.
    set_words : uint32 array
        Bits of all sets.
    value : float64 array (nodes, width)
        Leaf values; inner nodes carry the value they would have as a leaf.
    gain : float64 array (nodes)
        Gain of the split; 0 at a leaf.
    n_rows : int64 array (nodes)
        Training rows that reached the node; of averaging forests, as often as a tree drew them or as their whole
        weights say.
    base : float64 array (outputs)
        Constant added to every raw prediction.
    projection_start : int64 array (nodes + 1), optional
        Terms ``projection_start[i] : projection_start[i + 1]`` are those of node ``i``: an oblique condition compares
        the sum of ``weight · value`` over its terms, added in this order, with the threshold.
    projection_feature : int32 array, optional
        Column of each term.
    projection_weight, projection_fill : float64 array, optional
        Weight of each term, and the value that stands for a missing one.
    slope_start : int64 array (nodes + 1), optional
        Terms ``slope_start[i] : slope_start[i + 1]`` are those of leaf ``i``, which adds
        ``weight · (clip(value, low, high) − centre)`` of each to its own value, in this order; 0 of a missing value.
    slope_feature : int32 array, optional
        Column of each term.
    slope_weight, slope_centre, slope_low, slope_high : float64 array, optional
        Of each term.

    Examples
    --------
    A stump that adds 1 where column 0 is at most 0.5, else 2:

    >>> import numpy as np
    >>> stump = Forest.from_arrays({
    ...     "tree_start": np.array([0, 3]), "tree_output": np.array([0], np.int32),
    ...     "kind": np.array([1, 0, 0], np.uint8), "feature": np.array([0, -1, -1], np.int32),
    ...     "threshold": np.array([0.5, 0, 0]), "left": np.array([1, -1, -1], np.int32),
    ...     "right": np.array([2, -1, -1], np.int32), "missing_left": np.array([1, 0, 0], np.uint8),
    ...     "set_start": np.zeros(4, np.int64), "set_words": np.zeros(0, np.uint32),
    ...     "value": np.array([[1.5], [1.0], [2.0]]), "gain": np.array([1.0, 0, 0]),
    ...     "n_rows": np.array([4, 2, 2]), "base": np.array([10.0]),
    ... })
    >>> stump.raw([np.array([0.5, 0.6, np.nan])], 3).ravel()
    array([11., 12., 11.])
    >>> stump.apply([np.array([0.5, 0.6, np.nan])], 3).ravel()
    array([1, 2, 1], dtype=int32)
    """

    tree_start: NDArray[np.int64]
    tree_output: NDArray[np.int32]
    kind: NDArray[np.uint8]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    set_start: NDArray[np.int64]
    set_words: NDArray[np.uint32]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    n_rows: NDArray[np.int64]
    base: NDArray[np.float64]
    projection_start: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    projection_feature: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    projection_weight: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    projection_fill: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    slope_start: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    slope_feature: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    slope_weight: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    slope_centre: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    slope_low: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    slope_high: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        freeze(self)

    @classmethod
    def empty(cls, n_outputs: int = 1) -> Forest:
        """Make a forest without trees."""
        shapes = {"tree_start": 1, "set_start": 1, "value": (0, n_outputs), "base": n_outputs}
        return cls(**{name: np.zeros(shapes.get(name, 0), dtype) for name, dtype in _DTYPES.items()})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Forest:
        """Make a forest from a mapping of its arrays, as :meth:`to_arrays` returns it."""
        RULES.arrays(_DTYPES, arrays, "a forest")
        for pool in OPTIONAL:
            if any(name in arrays for name in pool.dtypes):
                RULES.arrays(pool.dtypes, arrays, f"a forest with {pool.name}")
        return cls(**{name: arrays[name] for name in _ALL_DTYPES if name in arrays})

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name, uncopied; those of projections and slopes only if there are any."""
        pooled = [name for pool in OPTIONAL if pool.is_in(self) for name in pool.dtypes]
        return {name: getattr(self, name) for name in (*_DTYPES, *pooled)}

    @classmethod
    def concat(cls, forests: Sequence[Forest]) -> Forest:
        """Join the trees of several forests, in order.

        The result keeps the first base; the others must have the same or zeros, so that no constant is lost.
        """
        if not forests:
            raise ValueError("concat needs at least one forest")
        head = forests[0]
        for i, forest in enumerate(forests):
            if (forest.n_outputs, forest.width) != (head.n_outputs, head.width):
                raise ValueError(
                    f"forest {i} has {forest.n_outputs} outputs and leaves of width {forest.width}, "
                    f"the first has {head.n_outputs} and {head.width}"
                )
            if forest.base.any() and not np.array_equal(forest.base, head.base):
                raise ValueError(f"forest {i} has the base {forest.base}: give it that of the first, or zeros")
        return cls(
            **{name: np.concatenate([getattr(f, name) for f in forests]) for name in (*_PER_NODE, "tree_output")},
            tree_start=join_starts([f.tree_start for f in forests]),
            base=head.base,
            **{name: array for pool in POOLS for name, array in pool.joined(forests).items()},
        )

    def __getitem__(self, trees: slice) -> Forest:
        """Return the forest of some of the trees, with the same base."""
        if not isinstance(trees, slice):
            raise TypeError(f"index a forest by a slice of its trees, not by {trees!r}")
        chosen = range(self.n_trees)[trees]
        if chosen.step != 1 and len(chosen) > 1:
            return Forest.concat([self[i : i + 1] for i in chosen])
        first, last = (chosen[0], chosen[-1] + 1) if chosen else (0, 0)
        begin, end = int(self.tree_start[first]), int(self.tree_start[last])
        return Forest(
            **{name: getattr(self, name)[begin:end] for name in _PER_NODE},
            tree_start=self.tree_start[first : last + 1] - begin,
            tree_output=self.tree_output[first:last],
            base=self.base,
            **{name: array for pool in POOLS for name, array in pool.of_nodes(self, begin, end).items()},
        )

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_output)

    @property
    def n_nodes(self) -> int:
        """Number of nodes in all trees."""
        return len(self.kind)

    @property
    def n_outputs(self) -> int:
        """Number of values in a raw prediction."""
        return len(self.base)

    @property
    def width(self) -> int:
        """Number of values in a leaf."""
        return int(self.value.shape[1])

    @property
    def has_projections(self) -> bool:
        """Whether there are oblique conditions."""
        return PROJECTIONS.is_in(self)

    @property
    def has_slopes(self) -> bool:
        """Whether there are linear leaves: ``value`` is then not all that a leaf adds."""
        return SLOPES.is_in(self)

    def reads(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return (node, column, share) for every column that a condition reads.

        The columns of an oblique condition share it equally: its weights make them spread alike.
        """
        plain = np.flatnonzero((self.kind != LEAF) & (self.kind != OBLIQUE))
        sizes = np.diff(self.projection_start)
        oblique = np.repeat(np.arange(len(sizes)), sizes)
        return (
            np.concatenate([plain, oblique]),
            np.concatenate([self.feature[plain], self.projection_feature]),
            np.concatenate([np.ones(len(plain)), 1 / sizes[oblique]]),
        )

    @cached_property
    def narrowed(self) -> tuple[NDArray[np.int32], Forest]:
        """The columns that the forest reads, rising, and the same forest on a table of these alone; one at least."""
        read = np.unique(np.concatenate([self.reads()[1], self.slope_feature]))
        read = read if len(read) else np.zeros(1, np.int32)
        arrays = self.to_arrays()
        for name in ("feature", "projection_feature", "slope_feature"):
            if name in arrays:
                arrays[name] = np.where(arrays[name] < 0, -1, np.searchsorted(read, arrays[name])).astype(np.int32)
        forest = Forest.from_arrays(arrays)
        return read, forest.trusted() if self.__dict__.get("_is_trusted") else forest

    @cached_property
    def depths(self) -> NDArray[np.int32]:
        """Depth of every node; a root has depth 0."""
        depth = np.full(self.n_nodes, -1, np.int32)
        level = self.tree_start[:-1]
        for d in range(self.n_nodes):
            if not level.size:
                break
            depth[level] = d
            tree = np.searchsorted(self.tree_start, level, side="right") - 1
            inner = self.kind[level] != LEAF
            start, parents = self.tree_start[tree[inner]], level[inner]
            level = np.concatenate([start + self.left[parents], start + self.right[parents]])
        depth.flags.writeable = False
        return depth

    def tree_depths(self) -> NDArray[np.int32]:
        """Depth of the deepest leaf of each tree."""
        if not self.n_trees:
            return np.zeros(0, np.int32)
        return np.maximum.reduceat(self.depths, self.tree_start[:-1])

    def __repr__(self) -> str:
        return f"Forest({self.n_trees} trees, {self.n_nodes} nodes, {self.n_outputs} outputs)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Forest.from_arrays, (self.to_arrays(),)

    # ------------------------------------------------------------------------------------------ prediction

    def trusted(self) -> Forest:
        """Mark a forest that the kernel has just grown, or that was validated: it is compiled without more checks."""
        self.__dict__["_is_trusted"] = True
        return self

    def predictor(self, threads: int = 1) -> _kernel.Predictor:
        """Return the compiled form, made once by so many threads; immutable and safe to share between threads."""
        made: _kernel.Predictor | None = self.__dict__.get("_predictor")
        if made is None:
            if not self.__dict__.get("_is_trusted"):
                self.validate(threads=threads)
            made = self.__dict__.setdefault("_predictor", _kernel.Predictor(self.to_arrays(), threads))
        return made

    def raw(
        self,
        columns: Sequence[NDArray[Any]],
        n_rows: int,
        *,
        threads: int = 1,
        unknown: str = "average",
        first: int = 0,
        last: int | None = None,
    ) -> NDArray[np.float64]:
        """Sum base and trees ``first : last`` for every row, in the order of the trees.

        The order makes the result the same to the last bit for any batch and any number of threads.

        Parameters
        ----------
        columns : sequence of 1-D arrays
            One for each feature: numeric float32 or float64 (NaN is missing), categorical int32 (−1 missing,
            −2 unknown).
        n_rows : int
            Length of the columns.
        threads : int
            Most threads to use; a small batch uses fewer.
        unknown : {"average", "missing"}
            What an unknown category does: take both children, weighted by ``n_rows``, or count as missing.
        first, last : int
            Trees to sum; all by default.

        Returns
        -------
        float64 array (n_rows, n_outputs)
        """
        out = self.base[np.newaxis].repeat(n_rows, axis=0)
        last = self.n_trees if last is None else last
        self.predictor(threads).add(columns, out, first, last, _averages(unknown), threads)
        return out

    def raw_matrix(
        self, matrix: NDArray[Any], codes: NDArray[np.int32] | None = None, *, threads: int = 1
    ) -> NDArray[np.float64]:
        """Sum base and all trees for every row of a float32 or float64 matrix: the quickest way for one row.

        Parameters
        ----------
        matrix : float32 or float64 array (n_rows, n_features)
            Numbers.
        codes : int32 array (n_rows, n_features), optional
            Codes of the categorical features, −1 for missing; none may be unknown.
        threads : int
            Most threads to use.
        """
        out = np.empty((len(matrix), self.n_outputs))
        self.predictor(threads).raw_matrix(matrix, codes, out, True, threads)
        return out

    def raw_of_numbers(self, matrix: NDArray[Any], *, threads: int = 1) -> NDArray[np.float64] | None:
        """Sum base and all trees for every row of a float32 or float64 matrix, or return None if a value is NaN."""
        out = np.empty((len(matrix), self.n_outputs))
        return out if self.predictor(threads).raw_matrix(matrix, None, out, False, threads) else None

    def staged(
        self,
        columns: Sequence[NDArray[Any]],
        n_rows: int,
        *,
        step: int = 1,
        threads: int = 1,
        unknown: str = "average",
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the raw prediction after each ``step`` trees (one round of a multinomial model has several).

        Each is equal, to the last bit, to :meth:`raw` with that ``last``.
        """
        out = self.base[np.newaxis].repeat(n_rows, axis=0)
        for begin in range(0, self.n_trees, step):
            stage = self[begin : begin + step]
            stage.predictor(threads).add(columns, out, 0, stage.n_trees, _averages(unknown), threads)
            yield out.copy()

    def apply(
        self,
        columns: Sequence[NDArray[Any]],
        n_rows: int,
        *,
        threads: int = 1,
        unknown: str = "average",
        first: int = 0,
        last: int | None = None,
    ) -> NDArray[np.int32]:
        """Find the leaf of each row in trees ``first : last``: its node, counted from the start of the tree.

        Where an unknown category is averaged, the leaf of the largest share counts, the leftmost of several.
        """
        last = self.n_trees if last is None else last
        out = np.empty((n_rows, max(last - first, 0)), np.int32)
        self.predictor(threads).apply(columns, out, first, last, _averages(unknown), threads)
        return out

    # ------------------------------------------------------------------------------------------ validation

    def validate(self, n_features: int | None = None, threads: int = 1) -> None:
        """Check every index and number, as for a file of unknown origin.

        Parameters
        ----------
        n_features : int, optional
            Columns of the schema; without it features are only checked to be non-negative.
        threads : int
            Most threads to use.

        Raises
        ------
        ValueError
            Names the array, the position and the rule that is broken.
        """
        self._check_shapes()
        self._check_trees()
        self._check_conditions(n_features)
        self._check_children(threads)
        floats = [name for pool in POOLS for name, dtype in pool.terms.items() if dtype is np.float64]
        for name in ("value", "gain", "base", *floats):
            _require(name, getattr(self, name), np.isfinite(getattr(self, name)), "must be finite")
        _require("n_rows", self.n_rows, self.n_rows >= 0, "must not be negative")
        if self.has_slopes:
            self._check_slopes()

    def _check_shapes(self) -> None:
        RULES.types(self, _ALL_DTYPES, matrix="value")
        RULES.lengths(self, dict.fromkeys(_PER_NODE, self.n_nodes) | {"tree_start": self.n_trees + 1})
        for pool in POOLS:
            RULES.lengths(self, pool.lengths(self))
        if not self.n_outputs or not self.width:
            RULES.fail(f"{'value' if self.n_outputs else 'base'} must not be empty")
        RULES.starts("tree_start", self.tree_start, self.n_nodes)
        for pool in POOLS:
            if pool.is_in(self):
                RULES.starts(pool.start, getattr(self, pool.start), pool.n_terms(self))

    def _check_trees(self) -> None:
        sizes, output = np.diff(self.tree_start), self.tree_output
        has_value, is_scalar = self.width == self.n_outputs, self.width == 1
        _require("tree_start", self.tree_start[:-1], sizes > 0, "must be less than the next")
        _require("tree_output", output, (output >= -1) & (output < self.n_outputs), "is not an output")
        _require("tree_output", output, (output >= 0) | has_value, "needs a value per output")
        _require("tree_output", output, (output == -1) | is_scalar, "must be −1 for vector leaves")

    def _check_conditions(self, n_features: int | None) -> None:
        kind, feature = self.kind, self.feature
        _require("kind", kind, kind <= LISTED, "must be 0 (leaf), 1 (numeric), 2 (category), 3 (oblique) or 4 (listed)")
        limit = np.iinfo(np.int32).max if n_features is None else n_features
        _require("feature", feature, (kind == LEAF) | ((feature >= 0) & (feature < limit)), "is not a feature")
        _require("feature", feature, (kind != LEAF) | (feature == -1), "must be −1 at a leaf")
        on_categories = (kind == CATEGORY) | (kind == LISTED)
        if on_categories.any():
            numeric = np.concatenate([feature[kind == NUMERIC], self.projection_feature, self.slope_feature])
            mixed = np.intersect1d(numeric, feature[on_categories])
            _require("feature", feature, ~np.isin(feature, mixed), "is used both as numeric and as category")
        _require("threshold", self.threshold, ~np.isnan(self.threshold), "must be a number")
        _require("missing_left", self.missing_left, self.missing_left <= 1, "must be 0 or 1")
        self._check_sets(on_categories)
        self._check_projections(limit)
        terms = self.slope_feature
        _require("slope_feature", terms, (terms >= 0) & (terms < limit), "is not a feature")

    def _check_sets(self, on_categories: NDArray[np.bool_]) -> None:
        """Category conditions, and no others, have words; those of a list are codes, and rise."""
        if not len(self.set_words) and not on_categories.any():
            return
        start, has_set = self.set_start[:-1], np.diff(self.set_start) > 0
        _require("set_start", start, has_set | ~on_categories, "must have words at a category condition")
        _require("set_start", start, ~has_set | on_categories, "must have words at category conditions only")
        listed = np.repeat(self.kind == LISTED, np.diff(self.set_start))
        rises = np.append(self.set_words[1:] > self.set_words[:-1], True)
        is_last = np.zeros(len(self.set_words), dtype=bool)
        is_last[self.set_start[1:][np.diff(self.set_start) > 0] - 1] = True
        fits = self.set_words < np.iinfo(np.int32).max - 3
        _require("set_words", self.set_words, ~listed | (fits & (rises | is_last)), "must rise in a list of categories")

    def _check_projections(self, limit: int) -> None:
        oblique, terms = self.kind == OBLIQUE, self.projection_feature
        if not self.has_projections:
            _require("kind", self.kind, ~oblique, "is an oblique condition, but there are no projections")
            return
        start, has_terms = self.projection_start[:-1], np.diff(self.projection_start) > 0
        _require("projection_start", start, has_terms | ~oblique, "must have terms at an oblique condition")
        _require("projection_start", start, ~has_terms | oblique, "must have terms at oblique conditions only")
        _require("projection_feature", terms, (terms >= 0) & (terms < limit), "is not a feature")
        first = np.where(oblique, np.append(terms, -1)[start], self.feature)
        _require("feature", self.feature, self.feature == first, "must be that of the first term")

    def _check_slopes(self) -> None:
        has_terms = np.diff(self.slope_start) > 0
        start, is_leaf = self.slope_start[:-1], self.kind == LEAF
        _require("slope_start", start, ~has_terms | is_leaf, "must have terms at leaves only")
        if self.width > 1:
            RULES.fail("slope_start needs leaves of one value")
        centre, low, high = self.slope_centre, self.slope_low, self.slope_high
        is_inside = (low <= centre) & (centre <= high)
        _require("slope_centre", centre, is_inside, "must lie between slope_low and slope_high")
        with np.errstate(over="ignore"):
            reach = self.slope_weight * (high - low)
        _require("slope_weight", self.slope_weight, np.isfinite(reach), "must not lead to infinity")

    def _check_children(self, threads: int) -> None:
        rule, node = _kernel.first_broken_link(self.to_arrays(), threads)
        if rule < len(_LINK_RULES):
            name, text = _LINK_RULES[rule]
            RULES.fail(f"{name}[{node}] = {getattr(self, name)[node]} {text}")


def _averages(unknown: str) -> bool:
    if unknown not in ("average", "missing"):
        raise ValueError(f"unknown={unknown!r}: use 'average' or 'missing'")
    return unknown == "average"


def majorities(forest: Forest, n_classes: tuple[int, ...]) -> NDArray[np.int64]:
    """Most frequent class of every node, (nodes, outputs); the first of several."""
    if forest.width == 1:
        return (forest.value > 0.5).astype(np.int64)
    parts = np.split(forest.value, np.cumsum(n_classes)[:-1], axis=1)
    return np.stack([part.argmax(axis=1) for part in parts], axis=1)
