"""Trees whose nodes may have any number of children, as plain frozen data.

Nodes lie in pre-order: a node, then the subtree of its first child, then that of the next. A node knows its parent and
the branch by which it is reached, which is all that is needed to find children::

    node   parent  branch  kind      feature
    0        −1      0     CATEGORY  outlook          outlook = rain
    1         0      0     CATEGORY  windy            |   windy = false: yes
    2         1      0     LEAF                       |   windy = true: no
    3         1      1     LEAF                       outlook = sunny: no
    4         0      1     LEAF
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.cached import cached_property
from arboretum.data.schema import MISSING
from arboretum.data.validity import Rules, freeze

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
Items: TypeAlias = tuple[IntArray, IntArray, FloatArray]  # row, node, share of the row; in the order of the rows

LEAF, NUMERIC, CATEGORY = 0, 1, 2
AT_MOST, ABOVE = 0, 1  # the branches of a numeric node

_STOPS, _SPREADS = -1, -2
_MAX_ITEMS = 1 << 20  # held at once in a step of a prediction, if rows with missing values are spread widely

_DTYPES = {
    "parent": np.int32,
    "branch": np.int32,
    "kind": np.uint8,
    "feature": np.int32,
    "threshold": np.float64,
    "gain": np.float64,
    "counts": np.float64,
}


RULES = Rules("multiway tree")
_require = RULES.everywhere


@dataclass(frozen=True, eq=False, repr=False)
class MultiwayTree:
    """A classification tree of categorical multiway and numeric binary conditions.

    How a value chooses the child of a node:

    - a category goes to the child of its branch. If the node has none (the category is unknown, or no training row
      had it there), the row stops, and the node answers as if it were a leaf: by the average of the leaves below it.
    - a missing value goes to the child of branch −1 if there is one (ID3). Otherwise it goes to all children, by
      shares in proportion to their training weights, and the answers are added up (Quinlan 1993, ch. 3).

    The arrays are read-only. :meth:`from_arrays` checks them; the constructor does not.

    Parameters
    ----------
    parent : int32 array (nodes)
        −1 at the root, which is node 0; nodes are in pre-order.
    branch : int32 array (nodes)
        What leads from the parent to this node: the code of a category (−1: missing), or 0 for ``x <= threshold``
        and 1 for ``x > threshold``. In ascending order among siblings; 0 at the root.
    kind : uint8 array (nodes)
        0 leaf, 1 numeric condition, 2 category.
    feature : int32 array (nodes)
        Column that the condition reads; −1 at a leaf.
    threshold : float64 array (nodes)
        Threshold of a numeric condition; else 0.
    gain : float64 array (nodes)
        Information gain of the split in bits; 0 at a leaf.
    counts : float64 array (nodes, classes)
        Training weight of each class.

    Examples
    --------
    >>> import numpy as np
    >>> tree = MultiwayTree.from_arrays({
    ...     "parent": np.array([-1, 0, 0], np.int32), "branch": np.array([0, 0, 1], np.int32),
    ...     "kind": np.array([1, 0, 0], np.uint8), "feature": np.array([0, -1, -1], np.int32),
    ...     "threshold": np.array([75.0, 0, 0]), "gain": np.array([1.0, 0, 0]),
    ...     "counts": np.array([[2.0, 2.0], [0, 2], [2, 0]]),
    ... })
    >>> print(tree.to_text(["humidity"], class_names=["no", "yes"]))
    humidity <= 75: yes (2)
    humidity > 75: no (2)
    >>> tree.predict([np.array([70.0, 80.0, np.nan])], 3)
    array([[0. , 1. ],
           [1. , 0. ],
           [0.5, 0.5]])
    """

    parent: NDArray[np.int32]
    branch: NDArray[np.int32]
    kind: NDArray[np.uint8]
    feature: NDArray[np.int32]
    threshold: FloatArray
    gain: FloatArray
    counts: FloatArray

    def __post_init__(self) -> None:
        freeze(self)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_categories: Sequence[int] | None = None) -> MultiwayTree:
        """Make a tree from a mapping of its arrays, as :meth:`to_arrays` returns it, and :meth:`validate` it."""
        RULES.arrays(_DTYPES, arrays, "a multiway tree")
        tree = cls(**{name: arrays[name] for name in _DTYPES})
        tree.validate(n_categories)
        return tree

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name, uncopied."""
        return {name: getattr(self, name) for name in _DTYPES}

    def __repr__(self) -> str:
        return f"MultiwayTree({self.n_nodes} nodes, {self.n_leaves} leaves, {self.n_classes} classes)"

    def __reduce__(self) -> tuple[Any, ...]:
        return MultiwayTree.from_arrays, (self.to_arrays(),)

    # ------------------------------------------------------------------------------------------- structure

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.parent)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[1])

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.kind == LEAF))

    @property
    def depth(self) -> int:
        """Depth of the deepest leaf; 0 for a tree that is a single leaf."""
        return int(self.depths.max())

    @cached_property
    def depths(self) -> IntArray:
        """Depth of every node."""
        ancestor = np.maximum(self.parent, 0).astype(np.int64)
        depth = (self.parent >= 0).astype(np.int64)
        while ancestor.any():  # depth is the distance to ancestor; both double
            depth += depth[ancestor]
            ancestor = ancestor[ancestor]
        return depth

    @cached_property
    def weight(self) -> FloatArray:
        """Training weight of every node."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def majority(self) -> IntArray:
        """Most frequent class of every node; the first of equally frequent ones."""
        return np.asarray(self.counts.argmax(axis=1))

    @cached_property
    def errors(self) -> FloatArray:
        """Training weight that every node would get wrong as a leaf."""
        return np.asarray(np.maximum(self.weight - self.counts.max(axis=1), 0.0))

    @cached_property
    def _children(self) -> tuple[IntArray, IntArray]:
        """Children of node i are ``child[start[i] : start[i + 1]]``, in the order of their branches."""
        child = np.argsort(self.parent, kind="stable")[1:]
        return child, np.searchsorted(self.parent[child], np.arange(self.n_nodes + 1))

    @cached_property
    def _fraction(self) -> FloatArray:
        """Share of every node among its siblings, by training weight."""
        family = np.maximum(self.parent, 0)
        total = np.bincount(family[1:], weights=self.weight[1:], minlength=self.n_nodes)
        return self.weight / np.where(total > 0, total, 1.0)[family]

    @cached_property
    def _branch_keys(self) -> tuple[IntArray, int]:
        """Rising numbers ``parent * span + branch + 1`` of the children, in the order of ``_children``."""
        child, _ = self._children
        span = int(self.branch.max()) + 2
        return self.parent[child].astype(np.int64) * span + self.branch[child] + 1, span

    # ------------------------------------------------------------------------------------------ prediction

    def predict(self, columns: Sequence[NDArray[Any]], n_rows: int) -> FloatArray:
        """Return the class distribution of every row.

        The result for a row is the same to the last bit in any batch.

        Parameters
        ----------
        columns : sequence of 1-D arrays
            One for each feature: numeric float32 or float64 (NaN is missing), categorical int32 (−1 missing,
            −2 unknown).
        n_rows : int
            Length of the columns.

        Returns
        -------
        float64 array (n_rows, n_classes)
        """
        out = np.zeros((n_rows, self.n_classes))
        shares = self.counts / self.weight[:, np.newaxis]
        for row, node, share in self.arrivals(columns, n_rows):
            first = _firsts(row)
            out[row[first]] += np.add.reduceat(share[:, np.newaxis] * shares[node], first, axis=0)
        return out

    def apply(self, columns: Sequence[NDArray[Any]], n_rows: int) -> NDArray[np.int32]:
        """Return the node where each row ends: a leaf, or the node that has no branch for its category.

        For a row that is spread over several nodes, this is the node with the largest share; the first of equals.
        """
        found, best = np.zeros(n_rows, np.int32), np.zeros(n_rows)
        for row, node, share in self.arrivals(columns, n_rows):
            order = np.lexsort((node, -share, row))
            top = order[_firsts(row)]
            top = top[(share[top] > best[row[top]]) | ((share[top] == best[row[top]]) & (node[top] < found[row[top]]))]
            found[row[top]], best[row[top]] = node[top], share[top]
        return found

    def arrivals(self, columns: Sequence[NDArray[Any]], n_rows: int) -> Iterator[Items]:
        """Yield blocks of (row, node where it ends, share of the row), each in the order of the rows.

        All rows take a step to the next level at once. The shares of a row add up to 1.
        """
        whole = (np.arange(n_rows), np.zeros(n_rows, np.int64), np.ones(n_rows))
        stack: list[Items] = [whole] if n_rows else []
        while stack:
            row, node, share = items = stack.pop()
            if len(row) > _MAX_ITEMS and row[0] != row[-1]:
                stack += reversed(_halves(items))
                continue
            to = self._next(columns, row, node)
            ends = to == _STOPS
            if ends.any():
                yield row[ends], node[ends], share[ends]
            if not ends.all():
                goes = ~ends
                stack.append(self._step(row[goes], node[goes], share[goes], to[goes]))

    def _next(self, columns: Sequence[NDArray[Any]], row: IntArray, node: IntArray) -> IntArray:
        """Return the child that each row goes to, or a mark: the row stops, or is spread over all children."""
        to = np.full(len(row), _STOPS, np.int64)
        feature = self.feature[node]
        order = np.argsort(feature, kind="stable")
        for at in np.split(order, np.flatnonzero(np.diff(feature[order])) + 1):
            column = feature[at[0]]
            if column < 0:
                continue
            choose = self._choose_side if self.kind[node[at[0]]] == NUMERIC else self._choose_category
            to[at] = choose(node[at], columns[column][row[at]])
        return to

    def _choose_side(self, node: IntArray, value: NDArray[Any]) -> IntArray:
        child, start = self._children
        above = value.astype(np.float64) > self.threshold[node]
        return np.where(np.isnan(value), _SPREADS, child[start[node] + above])

    def _choose_category(self, node: IntArray, code: NDArray[Any]) -> IntArray:
        (child, _), (keys, span) = self._children, self._branch_keys
        wanted = node * span + code + 1
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        has_branch = (code >= MISSING) & (code <= span - 2) & (keys[at] == wanted)
        return np.where(has_branch, child[at], np.where(code == MISSING, _SPREADS, _STOPS))

    def _step(self, row: IntArray, node: IntArray, share: FloatArray, to: IntArray) -> Items:
        spreads = to == _SPREADS
        if not spreads.any():
            return row, to, share
        child, start = self._children
        copies = np.where(spreads, start[node + 1] - start[node], 1)
        source = np.repeat(np.arange(len(row)), copies)
        nth = np.arange(len(source)) - np.repeat(np.cumsum(copies) - copies, copies)
        is_spread = spreads[source]
        following = to[source]
        following[is_spread] = child[start[node[source[is_spread]]] + nth[is_spread]]
        return row[source], following, share[source] * np.where(is_spread, self._fraction[following], 1.0)

    # ------------------------------------------------------------------------------------------------ text

    def to_text(
        self,
        feature_names: Sequence[str] | None = None,
        category_names: Sequence[Sequence[Any]] | None = None,
        class_names: Sequence[Any] | None = None,
    ) -> str:
        """Write the tree as indented text, one line per node, in the style of C4.5.

        A leaf shows its class and its training weight; after a slash, the weight of other classes.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Name of each column; ``x0``, ``x1``, … by default.
        category_names : sequence of sequences, optional
            For each column, the value of each code; the codes by default.
        class_names : sequence, optional
            The classes; 0, 1, … by default.
        """
        lines = [] if self.kind[0] != LEAF else [self._leaf_text(0, class_names)]
        for node in range(1, self.n_nodes):
            condition = self.condition(node, feature_names, category_names)
            ending = f": {self._leaf_text(node, class_names)}" if self.kind[node] == LEAF else ""
            lines.append("|   " * (int(self.depths[node]) - 1) + condition + ending)
        return "\n".join(lines)

    def _leaf_text(self, node: int, class_names: Sequence[Any] | None) -> str:
        winner = int(self.majority[node])
        weight, errors = float(self.weight[node]), float(self.errors[node])
        wrong = f"/{errors:.6g}" if errors > 1e-9 * weight else ""
        return f"{winner if class_names is None else class_names[winner]} ({weight:.6g}{wrong})"

    def condition(
        self,
        node: int,
        feature_names: Sequence[str] | None = None,
        category_names: Sequence[Sequence[Any]] | None = None,
    ) -> str:
        """Write the condition that leads from its parent to a node, such as ``outlook = sunny``."""
        up = int(self.parent[node])
        if up < 0:
            raise ValueError(f"node {node} is the root: no condition leads to it")
        feature, branch = int(self.feature[up]), int(self.branch[node])
        name = f"x{feature}" if feature_names is None else feature_names[feature]
        if self.kind[up] == NUMERIC:
            return f"{name} {'<=' if branch == AT_MOST else '>'} {self.threshold[up]:.10g}"
        if branch == MISSING:
            return f"{name} is missing"
        return f"{name} = {branch if category_names is None else category_names[feature][branch]}"

    def decision_path(
        self,
        columns: Sequence[NDArray[Any]],
        row: int,
        feature_names: Sequence[str] | None = None,
        category_names: Sequence[Sequence[Any]] | None = None,
    ) -> list[str]:
        """List the conditions from the root to the node where a row ends (see :meth:`apply`).

        Where the value is missing and the row is spread, the condition shows the share that goes this way.
        """
        single = [column[row : row + 1] for column in columns]
        node = int(self.apply(single, 1)[0])
        path = []
        while node:
            up, value = int(self.parent[node]), single[self.feature[self.parent[node]]][0]
            is_spread = np.isnan(value) if self.kind[up] == NUMERIC else value == MISSING != self.branch[node]
            note = f" (missing: a share of {self._fraction[node]:.3g})" if is_spread else ""
            path.append(self.condition(node, feature_names, category_names) + note)
            node = up
        return path[::-1]

    # ------------------------------------------------------------------------------------------ validation

    def validate(self, n_categories: Sequence[int] | None = None) -> None:
        """Check every index and number, as for a file of unknown origin.

        Parameters
        ----------
        n_categories : sequence of int, optional
            For each column of the schema, the number of its categories; −1 for a numeric column. Without it,
            features and categories are only checked not to be negative.

        Raises
        ------
        ValueError
            Names the array, the position and the rule that is broken.
        """
        self._check_shapes()
        self._check_order()
        self._check_conditions(n_categories)
        self._check_branches(n_categories)
        for name in ("gain", "counts"):
            _require(name, getattr(self, name), np.isfinite(getattr(self, name)), "must be finite")
        _require("counts", self.counts, self.counts >= 0, "must not be negative")
        with np.errstate(over="ignore"):
            weight = self.counts.sum(axis=1)
        _require("the sum of counts", weight, (weight > 0) & np.isfinite(weight), "must be positive and finite")

    def _check_shapes(self) -> None:
        RULES.types(self, _DTYPES, matrix="counts")
        RULES.lengths(self, dict.fromkeys(_DTYPES, self.n_nodes))
        if not self.n_nodes or not self.n_classes:
            RULES.fail("counts must have at least one node and one class")

    def _check_order(self) -> None:
        """Check pre-order, which rules out cycles: every parent lies on the path to the node before."""
        up, branch = int(self.parent[0]), int(self.branch[0])
        if (up, branch) != (-1, 0):
            RULES.fail(f"parent[0] = {up}, branch[0] = {branch} must be −1 and 0: node 0 is the root")
        path = [0]
        for node, up in enumerate(self.parent[1:].tolist(), start=1):
            while path and path[-1] != up:
                path.pop()
            if not path:
                RULES.fail(f"parent[{node}] = {up} is not on the path to the node before: nodes must be in pre-order")
            path.append(node)

    def _check_conditions(self, n_categories: Sequence[int] | None) -> None:
        kind, feature = self.kind, self.feature
        _require("kind", kind, kind <= CATEGORY, "must be 0 (leaf), 1 (numeric) or 2 (category)")
        limit = np.iinfo(np.int32).max if n_categories is None else len(n_categories)
        _require("feature", feature, (kind == LEAF) | ((feature >= 0) & (feature < limit)), "is not a feature")
        _require("feature", feature, (kind != LEAF) | (feature == -1), "must be −1 at a leaf")
        if n_categories is None:
            mixed = np.intersect1d(feature[kind == NUMERIC], feature[kind == CATEGORY])
            _require("feature", feature, ~np.isin(feature, mixed), "is used both as numeric and as category")
        else:
            is_category = np.append(np.asarray(n_categories) >= 0, False)[feature]
            _require("kind", kind, is_category == (kind == CATEGORY), "is a condition that its column cannot have")
        _require("threshold", self.threshold, ~np.isnan(self.threshold), "must be a number")

    def _check_branches(self, n_categories: Sequence[int] | None) -> None:
        n_children = np.bincount(self.parent[1:], minlength=self.n_nodes)
        fits = np.choose(self.kind, [n_children == 0, n_children == 2, n_children >= 2])
        _require("kind", self.kind, fits, "does not fit the number of children (leaf 0, numeric 2, category 2 or more)")
        child, _ = self._children
        parent, branch = self.parent[child], self.branch[child]
        limit = np.full(len(child), np.iinfo(np.int32).max, np.int64)
        if n_categories is not None:
            limit = np.asarray(n_categories, np.int64)[self.feature[parent]]
        limit[self.kind[parent] == NUMERIC] = 2
        least = np.where(self.kind[parent] == NUMERIC, AT_MOST, MISSING)
        in_range, rises = np.ones(self.n_nodes, bool), np.ones(self.n_nodes, bool)
        in_range[child] = (branch >= least) & (branch < limit)
        rises[child[1:]] = (parent[1:] != parent[:-1]) | (branch[1:] > branch[:-1])
        _require("branch", self.branch, in_range, "is not a branch of its parent")
        _require("branch", self.branch, rises, "must be greater than that of the sibling before")


def _firsts(row: IntArray) -> IntArray:
    """Return the position of the first item of each row."""
    return np.flatnonzero(np.append(True, row[1:] != row[:-1]))


def _halves(items: Items) -> list[Items]:
    """Split a block into two of whole rows, so that the items of a row are always added in the same order."""
    row, node, share = items
    middle = row[len(row) // 2]
    cut = int(np.searchsorted(row, middle)) or int(np.searchsorted(row, middle, side="right"))
    return [(row[:cut], node[:cut], share[:cut]), (row[cut:], node[cut:], share[cut:])]
