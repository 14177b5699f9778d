"""Trees of rows that lie in several parts: to the bit the trees of all rows together, with few questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.reference import growing as slow

from arboretum import _kernel
from arboretum.growing.grower import TreeParams

Floats = NDArray[Any]  # float32 or float64
FREE = TreeParams(min_samples_leaf=1, max_leaf_nodes=0)
PARTS = {"1": (1.0,), "3 uneven": (0.05, 0.7, 1.0), "7, one empty": (0.1, 0.3, 0.3, 0.5, 0.51, 0.9, 1.0)}


# ---- a harness -----------------------------------------------------------------------------------------------------


@dataclass
class Parts:
    """Parts of a table, asked one after the other; each is a process of its own elsewhere."""

    data: slow.Codes
    ends: tuple[float, ...]  # of each part, as shares of the rows
    threads: int = 1
    sizes: list[tuple[int, int]] = field(default_factory=list)  # of the answers: sums and rows
    orders: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        bounds = [0, *(round(end * self.data.n_rows) for end in self.ends)]
        self.bounds = list(pairwise(bounds))
        whole = self.data.to_kernel()
        self.growers = []
        for begin, end in self.bounds:
            codes = self.data.take(slice(begin, end)).to_kernel()
            for feature in range(whole.n_features):
                if whole.has_missing(feature):
                    codes.mark_missing(feature)
            self.growers.append(_kernel.PartGrower(codes, begin, self.data.n_rows, self.threads))
        self.root = self.growers[len(self.growers) // 2]
        self.shuffle = np.random.default_rng(len(bounds))

    def load(
        self,
        g: Floats,
        h: Floats,
        params: TreeParams,
        rows: NDArray[np.uint32] | None = None,
        factor: NDArray[np.float64] | None = None,
        seed: int = 0,
    ) -> None:
        for grower, (begin, end) in zip(self.growers, self.bounds, strict=True):
            own = own_factor = None
            if rows is not None:
                inside = (rows >= begin) & (rows < end)
                own = (rows[inside] - begin).astype(np.uint32)
                own_factor = None if factor is None else factor[inside]
            elif factor is not None:
                own_factor = factor[begin:end]
            grower.load(g[begin:end], h[begin:end], own, own_factor, params.to_kernel(), seed)

    def ask(self, order: bytes) -> tuple[NDArray[np.uint64], bytes]:
        answers = [grower.answer(order) for grower in self.growers]
        self.shuffle.shuffle(answers)
        sums: NDArray[np.uint64] = np.sum([sums for sums, _ in answers], axis=0, dtype=np.uint64)
        rows = b"".join(rows for _, rows in answers)
        self.orders.append(order)
        self.sizes.append((sums.nbytes, len(rows)))
        return sums, rows

    def tell(self, order: bytes) -> None:
        self.orders.append(order)
        for grower in self.growers:
            assert not grower.finished
            sums, rows = grower.answer(order)
            assert (len(sums), rows) == (0, b"")
            assert grower.finished

    def grow(self) -> _kernel.GrownTree:
        self.sizes.clear()
        self.orders.clear()
        _kernel.grow_in_parts(self.root, self.ask, self.tell)
        return self.root.tree

    @property
    def leaf_of_row(self) -> NDArray[np.uint32]:
        return np.concatenate([grower.leaf_of_row for grower in self.growers])

    def add_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        raws = []
        for grower, (begin, end) in zip(self.growers, self.bounds, strict=True):
            raws.append(np.zeros(end - begin))
            grower.add_values(values, raws[-1])
        return np.concatenate(raws)


def check(
    data: slow.Codes,
    g: Floats,
    h: Floats,
    params: TreeParams,
    ends: tuple[float, ...] = PARTS["3 uneven"],
    rows: NDArray[np.uint32] | None = None,
    factor: NDArray[np.float64] | None = None,
    seed: int = 0,
    threads: int = 1,
) -> tuple[Parts, _kernel.GrownTree]:
    """Grow a tree both ways; all that can be seen of them is the same."""
    whole = _kernel.Grower(data.to_kernel(), 1)
    parts = Parts(data, ends, threads)
    parts.load(g, h, params, rows, factor, seed)
    tree, parted = whole.grow(g, h, rows, params.to_kernel(), seed, factor), parts.grow()
    values = tree.values(params.to_kernel(), None)
    for grower in parts.growers:
        slow.assert_same_tree(grower.tree, tree)
        assert grower.tree.packed == tree.packed
        np.testing.assert_array_equal(grower.tree.values(params.to_kernel(), None), values)
    np.testing.assert_array_equal(parts.leaf_of_row, whole.leaf_of_row)
    raw = np.zeros(data.n_rows)
    whole.add_values(values, raw)
    np.testing.assert_array_equal(parts.add_values(values), raw)
    return parts, parted


def depth_of(tree: _kernel.GrownTree) -> int:
    depth = np.zeros(tree.n_nodes, int)
    for node in range(tree.n_nodes):
        if tree.left[node] >= 0:
            depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    return int(depth.max())


def statistics(data: slow.Codes, kind: str, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gradients and hessians that the codes explain in part, as losses make them."""
    rng, n = np.random.default_rng(seed), data.n_rows
    columns = [np.where(codes == n, 0, codes / n) for codes, n in zip(data.columns, data.n_bins, strict=True)]
    signal = np.sin(6 * columns[0]) + 2 * columns[1] * (columns[-1] > 0.6) + np.cos(9 * columns[2])
    noise = rng.normal(size=n)
    if kind == "squared":
        return signal + noise, np.ones(n)
    if kind == "logistic":
        probability = 1 / (1 + np.exp(-signal - noise))
        return probability - (rng.random(n) < probability), probability * (1 - probability)
    if kind == "heavy tails":
        return signal + np.exp(5 * noise) * np.sign(rng.normal(size=n)), np.exp(4 * rng.normal(size=n))
    if kind == "zero weights":
        weight = (rng.random(n) < 0.4) * (columns[0] < 0.7)
        return (signal + noise) * weight, weight * 1.0
    if kind == "tiny":  # most statistics round to 0 in narrow lanes
        scale = np.where(rng.random(n) < 0.7, 1.0, 1e-9)
        return (signal + noise) * scale, (0.5 + rng.random(n)) * scale
    if kind == "equal":
        return np.full(n, 0.3), np.ones(n)
    assert kind == "ordinary"
    return signal + noise, rng.random(n) + 0.5


def table(n_rows: int, seed: int = 0, n_bins: tuple[int, ...] = (255, 120, 40, 255, 3, 900)) -> slow.Codes:
    """Make numbers and categories, few and many; some codes occur in every part, and some in the first one only."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, n, n_rows) for n in n_bins]
    columns[-1] = (columns[-1] * rng.random(n_rows) ** 3).astype(int)
    columns[1] = np.where(rng.random(n_rows) < 0.1, n_bins[1], columns[1])
    for feature in (2, 3):
        columns[feature] = np.where(np.arange(n_rows) < 5, n_bins[feature], columns[feature])
    return slow.Codes(columns, list(n_bins), [False, False, True, False, True, True])


# ---- the tree of all rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", PARTS.values(), ids=list(PARTS))
@pytest.mark.parametrize("kind", ["squared", "logistic", "heavy tails", "zero weights", "tiny", "equal", "ordinary"])
@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
def test_trees_are_those_of_all_rows(growth, kind, ends):
    data = table(1200)
    g, h = statistics(data, kind)
    params = TreeParams(growth=growth, max_depth=5 if growth == "symmetric" else 0)
    _, tree = check(data, g, h, params, ends)
    assert (tree.n_nodes > 1) == (kind != "equal")


@pytest.mark.parametrize("min_samples_leaf", [1, 20, 400])
@pytest.mark.parametrize("max_leaf_nodes", [31, 255, 0])
@pytest.mark.parametrize("growth", ["leaf", "level"])
def test_limits(growth, max_leaf_nodes, min_samples_leaf):
    data = table(4000)
    params = TreeParams(growth=growth, max_leaf_nodes=max_leaf_nodes, min_samples_leaf=min_samples_leaf)
    for kind in ("logistic", "tiny"):
        check(data, *statistics(data, kind), params)


@pytest.mark.parametrize("max_depth", [1, 2, 7])
@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
def test_depths(growth, max_depth):
    data = table(3000)
    params = replace(FREE, growth=growth, max_depth=max_depth)
    _, tree = check(data, *statistics(data, "logistic"), params)
    assert depth_of(tree) == max_depth


@pytest.mark.parametrize(
    "changed",
    [
        {"growth": "symmetric", "cosine": True, "max_depth": 5},
        {"growth": "symmetric", "max_depth": 6, "score_noise": 3.0},
        {"monotone": (1, -1, 0, 0, 0, 0)},
        {"growth": "symmetric", "max_depth": 4, "monotone": (1, -1, 0, 0, 0, 0)},
        {"interaction_sets": ((0, 1), (1, 2, 3), (4, 5))},
        {"colsample_tree": 0.5, "seed": 3},
        {"colsample_tree": 0.2, "seed": 5},
        {"colsample_level": 0.5, "max_features": 0.6},
        {"growth": "symmetric", "max_depth": 5, "colsample_level": 0.5, "max_features": 0.6},
        {"growth": "symmetric", "max_depth": 7, "min_child_weight": 20.0},
        {"score_noise": 5.0},
        {"max_onehot": 1000},
        {"category_smoothing": 0.1, "category_l2": 0.0, "max_category_set": 3},
        {"l1": 3.0, "l2": 10.0, "min_gain": 2.0, "min_child_weight": 20.0, "max_delta_step": 0.5},
    ],
    ids=lambda changed: "+".join(changed),
)
def test_rules(changed):
    seed = changed.get("seed", 1)
    params = replace(TreeParams(max_leaf_nodes=63), **{k: v for k, v in changed.items() if k != "seed"})
    for data in (table(3000), table(2000, n_bins=(20,) * 6)):  # with few bins, small nodes too stay in the parts
        for kind in ("logistic", "zero weights"):
            check(data, *statistics(data, kind), params, seed=seed)


@pytest.mark.parametrize("max_leaf_nodes", [31, 600])  # leaves in bytes, or in words
@pytest.mark.parametrize("share", [None, 0.02, 0.6])
@pytest.mark.parametrize("with_factor", [False, True])
def test_samples(share, with_factor, max_leaf_nodes):
    data = table(5000)
    g, h = statistics(data, "logistic")
    rows = None if share is None else _kernel.subsample_rows(data.n_rows, share, 1, 1)
    n = data.n_rows if rows is None else len(rows)
    factor = np.where(np.random.default_rng(0).random(n) < 0.3, 1.0, 7.5) if with_factor else None
    params = TreeParams(max_leaf_nodes=max_leaf_nodes, min_samples_leaf=2)
    for ends in PARTS.values():
        check(data, g, h, params, ends, rows, factor)


@pytest.mark.parametrize("kind", ["squared", "logistic", "heavy tails", "zero weights", "tiny"])
@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
def test_both_types(growth, kind):
    data = table(20000)
    g, h = statistics(data, kind)
    params = TreeParams(growth=growth, max_leaf_nodes=64, max_depth=6)
    for dtype in (np.float32, np.float64):
        _, tree = check(data, g.astype(dtype), h.astype(dtype), params)
        assert tree.packed == (kind != "heavy tails")


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 3, 10, 60, 300]),
    st.integers(1, 5),
    st.sampled_from([4, 12, 300]),
    st.sampled_from(["leaf", "level", "symmetric"]),
    st.sampled_from([1, 2, 5, 20]),
    st.sampled_from(list(PARTS.values())),
)
def test_small_tables(seed, n_rows, n_features, most_bins, growth, min_samples_leaf, ends):
    """Nearly all nodes are compact; with many bins, all are."""
    data, g, h = slow.random_problem(seed, n_rows, n_features, most_bins)
    params = TreeParams(growth=growth, max_leaf_nodes=64, max_depth=6, min_samples_leaf=min_samples_leaf)
    check(data, g, h, params, ends)


def test_nodes_whose_search_needs_all_rows_are_sent_for():
    """The only feature that the tree looks at has few bins: a histogram is less than the rows of a compact node."""
    rng = np.random.default_rng(0)
    data = slow.Codes([rng.integers(0, n, 3000) for n in (6, 2000, 2000)], [6, 2000, 2000], [False] * 3)
    n_sent = 0
    for seed in range(6):
        params = replace(FREE, colsample_tree=0.3)
        parts, _ = check(data, *statistics(data, "logistic"), params, seed=seed)
        n_sent += any(rows > 3000 for order, (_, rows) in zip(parts.orders, parts.sizes, strict=False) if order[0] == 2)
    assert n_sent > 0


def test_threads_do_not_matter():
    data = table(30000)
    g, h = statistics(data, "logistic")
    for growth in ("leaf", "level", "symmetric"):
        params = TreeParams(growth=growth, max_leaf_nodes=64, max_depth=8)
        for threads in (2, 5):
            check(data, g, h, params, threads=threads)


def test_a_part_grows_one_tree_after_the_other():
    data = table(3000)
    whole, parts = _kernel.Grower(data.to_kernel(), 1), Parts(data, PARTS["7, one empty"])
    for i, kind in enumerate(["squared", "heavy tails", "logistic", "squared"]):
        g, h = statistics(data, kind, seed=i)
        params = TreeParams(max_leaf_nodes=20 + 10 * i)
        parts.load(g, h, params, seed=i)
        tree = parts.grow()
        slow.assert_same_tree(tree, whole.grow(g, h, None, params.to_kernel(), i))
        least = float(np.median(tree.gain[tree.gain > 0]))
        pruned = whole.grow(g, h, None, params.to_kernel(), i)
        whole.prune(pruned, least)
        for grower in parts.growers:
            own = grower.tree
            grower.prune(own, least)
            slow.assert_same_tree(own, pruned)
        np.testing.assert_array_equal(parts.leaf_of_row, whole.leaf_of_row)


# ---- few questions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["squared", "logistic"])
@pytest.mark.parametrize("max_leaf_nodes", [31, 255])
def test_questions_are_few_and_short(max_leaf_nodes, kind):
    rng = np.random.default_rng(5)
    data = slow.Codes([rng.integers(0, 255, 60000) for _ in range(10)], [255] * 10, [False] * 10)
    g, h = statistics(data, kind)
    parts = Parts(data, PARTS["3 uneven"])
    for growth in ("leaf", "level"):
        parts.load(g, h, TreeParams(growth=growth, max_leaf_nodes=max_leaf_nodes))
        tree = parts.grow()
        n_leaves = (tree.n_nodes + 1) // 2
        assert n_leaves == max_leaf_nodes
        assert len(parts.sizes) <= 1.5 * depth_of(tree) + 3
        assert np.sum(parts.sizes) <= 1.6 * 10 * 256 * 8 * n_leaves


def test_symmetric_levels_take_one_question_each():
    data = table(20000)
    parts = Parts(data, PARTS["3 uneven"])
    parts.load(*statistics(data, "logistic"), TreeParams(growth="symmetric", max_depth=6))
    parts.grow()
    assert len(parts.sizes) <= 6 + 4  # measured twice at most, opened, finished


# ---- failures ------------------------------------------------------------------------------------------------------


class InterruptedGrowthError(Exception):
    pass


@pytest.mark.parametrize("fails_at", [0, 1, 3, 5])
def test_a_tree_may_be_abandoned(fails_at):
    data = table(4000)
    g, h = statistics(data, "logistic")
    params = TreeParams()
    parts = Parts(data, PARTS["3 uneven"])
    parts.load(g, h, params)

    def ask(order: bytes) -> tuple[NDArray[np.uint64], bytes]:
        if len(parts.orders) == fails_at:
            raise InterruptedGrowthError(fails_at)
        return parts.ask(order)

    with pytest.raises(InterruptedGrowthError, match=str(fails_at)):
        _kernel.grow_in_parts(parts.root, ask, parts.tell)
    assert not parts.root.finished
    with pytest.raises(ValueError, match="not finished"):
        _ = parts.root.tree
    parts.load(g, h, params)
    slow.assert_same_tree(parts.grow(), _kernel.Grower(data.to_kernel(), 1).grow(g, h, None, params.to_kernel(), 0))


def test_what_tell_raises_is_raised():
    data = table(500)
    parts = Parts(data, PARTS["1"])
    parts.load(*statistics(data, "squared"), TreeParams())

    def tell(_order: bytes) -> None:
        raise InterruptedGrowthError

    with pytest.raises(InterruptedGrowthError):
        _kernel.grow_in_parts(parts.root, parts.ask, tell)


def wrong_answers() -> dict[str, tuple[Callable[[NDArray[np.uint64], bytes], object], type[Exception], str]]:
    return {
        "no tuple": (lambda sums, rows: None, TypeError, "a tuple of an array of uint64 and bytes"),
        "float sums": (lambda sums, rows: (sums.astype(float), rows), TypeError, "an array of uint64"),
        "short sums": (lambda sums, rows: (sums[:-1], rows), ValueError, "another question"),
        "short rows": (lambda sums, rows: (sums, rows[:-1]), ValueError, "ends too early"),
        "foreign rows": (lambda sums, rows: (sums, rows + rows), ValueError, "not asked for"),
        "too many rows": (lambda sums, rows: (sums + np.uint64(2**40), rows), ValueError, "more rows than there are"),
    }


@pytest.mark.parametrize("name", wrong_answers())
def test_wrong_answers_are_rejected(name):
    change, error, message = wrong_answers()[name]
    data = table(4000)
    g, h = statistics(data, "squared")
    parts = Parts(data, PARTS["1"])
    parts.load(g, h, TreeParams())
    changed = 0

    def ask(order: bytes) -> Any:
        nonlocal changed
        sums, rows = parts.ask(order)
        wanted = rows if "rows" in name and "many" not in name else sums
        if order[0] != 2 or len(wanted) == 0:
            return sums, rows
        changed += 1
        return change(sums, rows)

    with pytest.raises(error, match=message):
        _kernel.grow_in_parts(parts.root, ask, parts.tell)
    assert changed == 1


def test_parts_of_different_trees_are_rejected():
    data = table(500)
    g, h = statistics(data, "squared")
    params = TreeParams().to_kernel()

    def grow(first: tuple[Floats, Floats, int], second: tuple[Floats, Floats, int]) -> None:
        parts = Parts(data, (0.5, 1.0))
        for grower, (own_g, own_h, seed) in zip(parts.growers, (first, second), strict=True):
            grower.load(own_g[:250], own_h[:250], None, None, params, seed)
        _kernel.grow_in_parts(parts.root, parts.ask, parts.tell)

    with pytest.raises(ValueError, match="different seeds"):
        grow((g, h, 1), (g, h, 2))
    with pytest.raises(ValueError, match="different types"):
        grow((g, h, 1), (g.astype(np.float32), h.astype(np.float32), 1))
    with pytest.raises(OverflowError, match="not finite"):
        grow((g, h, 1), (g * np.nan, h, 1))


def test_arguments_are_checked():
    data = table(50)
    with pytest.raises(ValueError, match="not among all rows"):
        _kernel.PartGrower(data.to_kernel(), 10, 59, 1)
    part = _kernel.PartGrower(data.to_kernel(), 0, 50, 1)
    with pytest.raises(ValueError, match="nothing was loaded"):
        _kernel.grow_in_parts(part, lambda order: part.answer(order), lambda order: None)
    with pytest.raises(ValueError, match="out of sequence"):
        part.answer(b"\x00" + bytes(16))
    with pytest.raises(ValueError, match="one gradient and hessian per row"):
        part.load(np.ones(49), np.ones(50), None, None, TreeParams().to_kernel(), 0)
    matrix = _kernel.SparseMatrix(np.arange(4), np.arange(3, dtype=np.uint32), np.ones(3), 200)
    bundles = _kernel.find_bundles(matrix, [0, 1, 2], [[0.5]] * 3, [2] * 3, 1)
    bundled = _kernel.BinnedData(200, [2] * 3, [False] * 3, bundles)
    assert bundled.n_bundles > 0
    with pytest.raises(ValueError, match="bundled columns"):
        _kernel.PartGrower(bundled, 0, 200, 1)


def test_damaged_orders_are_rejected():
    """No order crashes a part or makes it read foreign memory; most are rejected, and `load` starts over."""
    data = table(800)
    g, h = statistics(data, "logistic")
    params = TreeParams(max_leaf_nodes=12)
    parts = Parts(data, PARTS["1"])
    parts.load(g, h, params)
    expected = parts.grow()
    orders = list(parts.orders)
    part, rng = parts.root, np.random.default_rng(0)
    n_rejected = n_damaged = 0
    for _ in range(150):
        parts.load(g, h, params)
        at = int(rng.integers(len(orders)))
        for order in orders[:at]:
            part.answer(order)
        for _ in range(4):
            damaged = bytearray(orders[at])
            for place in rng.integers(0, len(damaged), rng.integers(1, 4)):
                damaged[place] = rng.integers(256) if rng.random() < 0.7 else 255 * int(rng.integers(2))
            if rng.random() < 0.3:
                damaged = damaged[: int(rng.integers(len(damaged) + 1))]
            if rng.random() < 0.1:
                damaged += bytes(3)
            n_damaged += 1
            try:
                part.answer(bytes(damaged))
            except (ValueError, MemoryError):
                n_rejected += 1
    assert n_rejected > 0.3 * n_damaged
    parts.load(g, h, params)
    slow.assert_same_tree(parts.grow(), expected)
