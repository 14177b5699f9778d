"""Pruning: which inner nodes of a grown tree become leaves.

The functions know a tree by the parent of every node (−1 at the root, node 0; children come after their parents) and
some numbers per node. They return a mask of the inner nodes that become leaves; nothing below such a node is marked.

- cost-complexity: L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees" (1984), ch. 3.
- reduced error: J. R. Quinlan, "Simplifying decision trees", Int. J. Man-Machine Studies 27 (1987) 221–234.
- pessimistic: J. R. Quinlan, "C4.5: Programs for Machine Learning" (1993), ch. 4.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum.arguments import first_true
from arboretum.model.forest import LEAF, OBLIQUE, ON_CATEGORIES, Forest
from arboretum.model.forest_pools import PROJECTIONS, SETS
from arboretum.trees.multiway import MultiwayTree

Mask: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

# Sums of weights or risks that differ by less, relatively, count as equal.
_TIE = 1e-12


# --------------------------------------------------------------------------------------- cost-complexity


@dataclass(frozen=True)
class CostComplexityPath:
    """The nested subtrees that minimise risk + alpha × leaves, from the whole tree to its root.

    Step 0 is the whole tree; each further step makes one more node a leaf. A sequence of (alpha, mask).

    Parameters
    ----------
    parent : int array (nodes)
        The tree.
    alphas : float64 array (steps)
        Smallest alpha of each step, in ascending order; 0 at first.
    risks : float64 array (steps)
        Sum of the risks of the leaves at each step.
    node : int64 array (steps − 1)
        Node that becomes a leaf at step 1, 2, ….

    Examples
    --------
    >>> path = cost_complexity([-1, 0, 1, 1, 0], [0.75, 0.25, 0.0625, 0.0625, 0.125])
    >>> [(alpha, int(mask.sum())) for alpha, mask in path]
    [(0.0, 0), (0.125, 1), (0.375, 1)]
    >>> bool(path.mask_at(0.1).any())
    False
    """

    parent: IntArray
    alphas: FloatArray
    risks: FloatArray
    node: IntArray

    def __len__(self) -> int:
        return len(self.alphas)

    def __getitem__(self, step: int) -> tuple[float, Mask]:
        """Return alpha and the mask of the nodes that have become leaves."""
        step = range(len(self))[step]
        return float(self.alphas[step]), self._mask(step)

    def __iter__(self) -> Iterator[tuple[float, Mask]]:
        return (self[step] for step in range(len(self)))

    def mask_at(self, alpha: float) -> Mask:
        """Return the mask of the smallest subtree that is best at `alpha`.

        Risks are sums in the order of the rows: an alpha that equals a step's up to rounding has reached it.
        """
        reached = alpha + _TIE * max(alpha, float(self.risks.max()))
        return self._mask(int(np.searchsorted(self.alphas, reached, side="right")) - 1)

    def _mask(self, step: int) -> Mask:
        mask = np.zeros(len(self.parent), dtype=bool)
        mask[self.node[:step]] = True
        return mask & ~_is_below(self.parent, mask)


def cost_complexity(parent: ArrayLike, risk: ArrayLike) -> CostComplexityPath:
    """Find the path of weakest links.

    The strength of the link at node t is the alpha at which t as a leaf costs no more than its subtree::

        g(t) = (R(t) − R(T_t)) / (leaves of T_t − 1)

    where T_t is the subtree after the earlier steps. Each step cuts the weakest link.

    Parameters
    ----------
    parent : int array (nodes)
        Parent of each node.
    risk : array (nodes)
        R(t): impurity, or error, of each node times its share of the weight.

    Returns
    -------
    CostComplexityPath

    Notes
    -----
    Subtrees are processed from the bottom up. The cheapest cost of a subtree, as a function of alpha, is concave and
    piecewise linear; its breaks are the cuts made so far, kept in a heap. A new node adds the functions of its
    children and replaces all breaks beyond the alpha at which it becomes a leaf itself: O(n log² n) for any shape of
    the tree, where the textbook's loop takes O(n²).

    Examples
    --------
    >>> path = cost_complexity([-1, 0, 1, 1, 0], [0.5, 0.2, 0.05, 0.05, 0.1])
    >>> path.alphas.round(6), path.risks.round(6)
    (array([0. , 0.1, 0.2]), array([0.2, 0.3, 0.5]))
    >>> path[1][1]
    array([False,  True, False, False, False])
    """
    up, cost = _tree(parent), _numbers("risk", risk, parent)
    # For every subtree of leaves: the cost beyond all breaks is `intercept + slope × alpha`.
    intercept, slope = [0.0] * len(up), [0] * len(up)
    breaks: list[list[tuple[float, int]]] = [[] for _ in up]  # heaps of (−alpha, node)
    less: dict[int, tuple[float, int]] = {}  # node: how much risk its subtree saved, with how many more leaves
    for t in range(len(up) - 1, -1, -1):
        heap, below, leaves = breaks[t], intercept[t], slope[t]
        breaks[t] = []
        if leaves:
            while heap and cost[t] - below <= -heap[0][0] * (leaves - 1):
                saved, more = less[heapq.heappop(heap)[1]]
                below, leaves = below - saved, leaves + more
            less[t] = (cost[t] - below, leaves - 1)
            heapq.heappush(heap, (-max((cost[t] - below) / (leaves - 1), 0.0), t))
        if t:
            intercept[up[t]] += cost[t]
            slope[up[t]] += 1
            breaks[up[t]] = _merged(breaks[up[t]], heap)
        else:
            breaks[0] = heap
    steps = sorted((-minus, node) for minus, node in breaks[0])
    whole = float(sum(c for c, n in zip(cost, slope, strict=True) if not n))
    risks = whole + np.cumsum([0.0, *(less[node][0] for _, node in steps)])
    alphas = np.array([0.0, *(alpha for alpha, _ in steps)])
    return CostComplexityPath(np.array(up), alphas, risks, np.array([node for _, node in steps], np.int64))


def prune_to_alpha(parent: ArrayLike, risk: ArrayLike, alpha: float) -> Mask:
    """Mark the nodes that are leaves in the smallest subtree that minimises risk + alpha × leaves.

    Examples
    --------
    >>> prune_to_alpha([-1, 0, 1, 1, 0], [0.5, 0.2, 0.05, 0.05, 0.1], alpha=0.15)
    array([False,  True, False, False, False])
    """
    if not alpha >= 0:
        raise ValueError(f"ccp_alpha must not be negative, but is {alpha!r}")
    return cost_complexity(parent, risk).mask_at(alpha)


def _merged(a: list[tuple[float, int]], b: list[tuple[float, int]]) -> list[tuple[float, int]]:
    small, large = (a, b) if len(a) < len(b) else (b, a)
    for item in small:
        heapq.heappush(large, item)
    return large


# --------------------------------------------------------------------------- reduced error and pessimistic


def reduced_error(parent: ArrayLike, leaf_errors: ArrayLike, stopped_errors: ArrayLike | None = None) -> Mask:
    """Mark the nodes that, as leaves, do not make more errors on validation data than their pruned subtrees.

    Parameters
    ----------
    parent : int array (nodes)
        Parent of each node.
    leaf_errors : array (nodes)
        Errors, by weight, that each node would make as a leaf on the validation rows that reach it.
    stopped_errors : array (nodes), optional
        Part of these errors on rows that end at this inner node because it has no branch for them (see
        :func:`validation_errors`); 0 by default.

    Examples
    --------
    >>> reduced_error([-1, 0, 1, 1, 0], [5, 2, 1, 1, 1])
    array([False,  True, False, False, False])
    """
    errors = _numbers("leaf_errors", leaf_errors, parent)
    stopped = [0.0] * len(errors) if stopped_errors is None else _numbers("stopped_errors", stopped_errors, parent)
    return _bottom_up(_tree(parent), errors, stopped)


def pessimistic(parent: ArrayLike, errors: ArrayLike, weight: ArrayLike, confidence: float = 0.25) -> Mask:
    """Mark the nodes that, as leaves, are expected to err no more than their pruned subtrees.

    A leaf of N training cases, E of them wrong, is expected to err N × :func:`upper_error_rate` (E, N) times.

    Parameters
    ----------
    parent : int array (nodes)
        Parent of each node.
    errors, weight : array (nodes)
        E and N of each node.
    confidence : float
        Between 0 and 1; smaller prunes more.

    Examples
    --------
    Three pure leaves of 6, 9 and 1 cases under a node that would get one of 16 wrong (Quinlan 1993, ch. 4):

    >>> pessimistic([-1, 0, 0, 0], errors=[1, 0, 0, 0], weight=[16, 6, 9, 1])
    array([ True, False, False, False])
    """
    wrong, cases = _numbers("errors", errors, parent), _numbers("weight", weight, parent)
    expected = np.asarray(cases) * upper_error_rate(wrong, cases, confidence)
    return _bottom_up(_tree(parent), expected.tolist(), [0.0] * len(wrong))


def upper_error_rate(errors: ArrayLike, weight: ArrayLike, confidence: float = 0.25) -> Any:
    """Return the upper confidence limit of a binomial rate.

    At this rate, the probability of `errors` or fewer among `weight` cases is `confidence`. The limit is exact (Clopper
    & Pearson 1934), where C4.5 interpolates: 0.157 for the last one below. Fractions are allowed; the binomial sum is
    then continued by the incomplete beta function.

    Examples
    --------
    >>> upper_error_rate([0, 0, 0, 1], [6, 9, 1, 16]).round(3)
    array([0.206, 0.143, 0.75 , 0.16 ])
    """
    from scipy.special import betaincinv

    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence!r}")
    wrong, cases = np.asarray(errors, np.float64), np.asarray(weight, np.float64)
    if not (np.isfinite(cases).all() and (wrong >= 0).all() and (wrong <= cases * (1 + _TIE)).all()):
        raise ValueError("errors must be between 0 and the weight of the node, which must be finite")
    right = np.maximum(cases - wrong, 0.0)
    return np.where(right > 0, betaincinv(wrong + 1.0, np.where(right > 0, right, 1.0), 1.0 - confidence), 1.0)


def _bottom_up(up: list[int], leaf_cost: list[float], own_cost: list[float]) -> Mask:
    """Mark the topmost nodes that cost no more as leaves than own_cost plus the best cost of their children."""
    n_children = np.bincount(up[1:], minlength=len(up)).tolist()
    branches = own_cost.copy()  # cost of each node as an inner node
    mask = np.zeros(len(up), dtype=bool)
    for t in range(len(up) - 1, -1, -1):
        mask[t] = n_children[t] > 0 and leaf_cost[t] <= branches[t] + _TIE * abs(branches[t])
        if t:
            branches[up[t]] += leaf_cost[t] if mask[t] or not n_children[t] else branches[t]
    return mask & ~_is_below(np.array(up), mask)


def validation_errors(
    tree: MultiwayTree, columns: list[NDArray[Any]], y: ArrayLike, sample_weight: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the errors of every node of a tree as a leaf, for :func:`reduced_error`.

    Parameters
    ----------
    tree : MultiwayTree
        The grown tree.
    columns : list of arrays
        Validation table, as for :meth:`MultiwayTree.predict`.
    y : int array (n_rows,)
        Class numbers.
    sample_weight : array (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    leaf_errors, stopped_errors : float64 arrays (nodes)
        For all rows that reach the node; for those that end there although it is not a leaf.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> from arboretum.trees import grow_id3
    >>> tree = grow_id3(read_table([["a"], ["a"], ["b"]]), [1, 1, 0])
    >>> validation_errors(tree, [np.array([0, 0, 1, -2], np.int32)], [1, 0, 0, 0])
    (array([3., 1., 0.]), array([1., 0., 0.]))
    """
    classes = np.asarray(y, np.int64)
    weight = np.ones(len(classes)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    ended = np.zeros((tree.n_nodes, tree.n_classes))
    for row, node, share in tree.arrivals(columns, len(classes)):
        np.add.at(ended, (node, classes[row]), share * weight[row])
    reached = subtree_sums(tree.parent, ended)
    nodes = np.arange(tree.n_nodes)
    wrong = [counts.sum(axis=1) - counts[nodes, tree.majority] for counts in (reached, ended)]
    return np.maximum(wrong[0], 0.0), np.where(tree.kind == LEAF, 0.0, np.maximum(wrong[1], 0.0))


# ------------------------------------------------------------------------------------- the trees themselves


def parents(forest: Forest, tree: int = 0) -> IntArray:
    """Return the parent of every node of a tree of a forest, counted from the start of the tree; −1 at its root.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.BoostedTreesRegressor(n_estimators=1, min_samples_leaf=1)
    >>> parents(model.fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 9.0]).forest_)
    array([-1,  0,  0,  1,  1])
    """
    return _all_parents(forest[tree : tree + 1])


def _all_parents(forest: Forest) -> IntArray:
    """Return the parent of every node, counted over all trees; −1 at roots."""
    inner = np.flatnonzero(forest.kind != LEAF)
    start = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))[inner]
    parent = np.full(forest.n_nodes, -1, np.int64)
    for child in (forest.left, forest.right):
        parent[start + child[inner]] = inner
    return parent


def subtree_sums(parent: ArrayLike, amounts: NDArray[Any]) -> FloatArray:
    """Return the amount (a number or a vector) of each node plus the amounts of all nodes below it.

    Examples
    --------
    >>> subtree_sums([-1, 0, 1, 1, 0], np.array([0.0, 0.0, 3.0, 2.0, 1.0]))
    array([6., 5., 3., 2., 1.])
    """
    up, sums = _tree(parent), np.array(amounts, np.float64)
    for t in range(len(up) - 1, 0, -1):
        sums[up[t]] += sums[t]
    return sums


def prune_forest(forest: Forest, mask: ArrayLike) -> Forest:
    """Make the marked inner nodes leaves, of the value they carry, and drop what is below them.

    Parameters
    ----------
    forest : Forest
        One or several trees.
    mask : bool array (nodes)
        Over the nodes of all trees. Marks at leaves and below other marks change nothing.

    Returns
    -------
    Forest

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.BoostedTreesRegressor(n_estimators=1, min_samples_leaf=1)
    >>> forest = model.fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 9.0]).forest_
    >>> forest.n_nodes, prune_forest(forest, np.arange(5) == 1).n_nodes
    (5, 3)
    """
    becomes_leaf = _mask(mask, forest.n_nodes) & (forest.kind != LEAF)
    start = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
    keeps = ~_is_below(_all_parents(forest), becomes_leaf)
    place = np.append(0, np.cumsum(keeps))  # new number of each kept node, in all trees
    is_inner = ((forest.kind != LEAF) & ~becomes_leaf)[keeps]
    kind = np.where(is_inner, forest.kind[keeps], LEAF).astype(np.uint8)

    def moved(child: NDArray[np.int32]) -> NDArray[np.int32]:
        target = place[(start + child)[keeps]] - place[start[keeps]]
        return np.where(is_inner, target, -1).astype(np.int32)

    return Forest(
        tree_start=place[forest.tree_start],
        tree_output=forest.tree_output,
        kind=kind,
        feature=np.where(is_inner, forest.feature[keeps], -1).astype(np.int32),
        threshold=np.where(is_inner, forest.threshold[keeps], 0.0),
        left=moved(forest.left),
        right=moved(forest.right),
        missing_left=np.where(is_inner, forest.missing_left[keeps], 0).astype(np.uint8),
        value=forest.value[keeps],
        gain=np.where(is_inner, forest.gain[keeps], 0.0),
        n_rows=forest.n_rows[keeps],
        base=forest.base,
        **SETS.kept(forest, keeps, np.isin(kind, ON_CATEGORIES)),
        **PROJECTIONS.kept(forest, keeps, kind == OBLIQUE),
    )


def prune_multiway(tree: MultiwayTree, mask: ArrayLike) -> MultiwayTree:
    """Make the marked inner nodes leaves and drop what is below them, as :func:`prune_forest` does.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> from arboretum.trees import grow_id3
    >>> tree = grow_id3(read_table([["a", "x"], ["b", "y"], ["b", "z"]]), [1, 1, 0])
    >>> prune_multiway(tree, [True] + [False] * (tree.n_nodes - 1)).to_text()
    '1 (3/1)'
    """
    becomes_leaf = _mask(mask, tree.n_nodes) & (tree.kind != LEAF)
    keeps = ~_is_below(tree.parent, becomes_leaf)
    place = np.cumsum(keeps) - 1
    is_inner = ((tree.kind != LEAF) & ~becomes_leaf)[keeps]
    parent = tree.parent[keeps]
    return MultiwayTree(
        parent=np.where(parent < 0, -1, place[parent]).astype(np.int32),
        branch=tree.branch[keeps],
        kind=np.where(is_inner, tree.kind[keeps], LEAF).astype(np.uint8),
        feature=np.where(is_inner, tree.feature[keeps], -1).astype(np.int32),
        threshold=np.where(is_inner, tree.threshold[keeps], 0.0),
        gain=np.where(is_inner, tree.gain[keeps], 0.0),
        counts=tree.counts[keeps],
    )


def _is_below(parent: NDArray[Any], mask: Mask) -> Mask:
    """Return whether each node has a marked ancestor; each pass doubles the distance that is checked."""
    is_root = parent < 0
    ancestor = np.where(is_root, np.arange(len(parent)), parent)
    below = mask[ancestor] & ~is_root
    while not is_root[ancestor].all():
        below |= below[ancestor]
        ancestor = ancestor[ancestor]
    return below


# --------------------------------------------------------------------------------------------------- checks


def _tree(parent: ArrayLike) -> list[int]:
    array = np.asarray(parent)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iu":
        raise ValueError("parent must be a list of node numbers, one per node")
    if array[0] != -1:
        raise ValueError(f"parent[0] is {array[0]}; node 0 is the root, its parent is -1")
    is_root = np.arange(len(array)) == 0
    if (node := first_true(~is_root & ((array < 0) | (array >= np.arange(len(array)))))) is not None:
        raise ValueError(f"parent[{node}] is {array[node]}; a parent comes before its children")
    if (node := first_true(np.bincount(array[1:].astype(np.int64), minlength=1) == 1)) is not None:
        raise ValueError(f"node {node} has a single child; a split has at least two")
    return array.tolist()  # type: ignore[no-any-return]


def _numbers(name: str, values: ArrayLike, parent: ArrayLike) -> list[float]:
    array, n_nodes = np.asarray(values, np.float64), len(np.asarray(parent))
    if array.shape != (n_nodes,):
        raise ValueError(f"{name} must have a number for each of the {n_nodes} nodes, not the shape {array.shape}")
    if (node := first_true(~np.isfinite(array))) is not None:
        raise ValueError(f"{name}[{node}] is {array[node]}; it must be finite")
    return array.tolist()  # type: ignore[no-any-return]


def _mask(mask: ArrayLike, n_nodes: int) -> Mask:
    array = np.asarray(mask)
    if array.shape != (n_nodes,) or array.dtype != np.bool_:
        raise ValueError(f"mask must have a boolean for each of the {n_nodes} nodes")
    return array
