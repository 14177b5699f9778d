"""Laws of the multiway tree: prediction against plain recursion, round trips, text; and what validate rejects."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum.trees import multiway
from arboretum.trees.multiway import CATEGORY, LEAF, NUMERIC, MultiwayTree

SEEDS = st.integers(0, 2**32 - 1)
IS_NUMERIC = [True, False, False, True]
N_CATEGORIES = [-1, 4, 30, -1]
NUMBERS = [-math.inf, -1e300, -1.0, 0.0, 0.1, 0.5, 1e300, math.inf]


def random_tree(rng, n_splits, n_classes=3):
    """Split random leaves of a list of nodes; then number them in pre-order."""
    nodes = [{"parent": -1, "branch": 0, "children": []}]
    for _ in range(n_splits):
        leaf = int(rng.choice([i for i, node in enumerate(nodes) if not node["children"]]))
        feature = int(rng.integers(4))
        branches = [0, 1]
        if not IS_NUMERIC[feature]:
            branches = sorted(rng.choice(np.arange(-1, N_CATEGORIES[feature]), int(rng.integers(2, 5)), replace=False))
        nodes[leaf]["feature"] = feature
        for branch in branches:
            nodes[leaf]["children"].append(len(nodes))
            nodes.append({"parent": leaf, "branch": int(branch), "children": []})
    arrays = {name: [] for name in ("parent", "branch", "kind", "feature", "threshold", "gain", "counts")}

    def visit(node, parent):
        number = len(arrays["parent"])
        feature = node.get("feature", -1)
        kind = LEAF if feature < 0 else NUMERIC if IS_NUMERIC[feature] else CATEGORY
        threshold = float(rng.choice(NUMBERS)) if kind == NUMERIC else 0.0
        for name, value in zip(
            arrays, (parent, node["branch"], kind, feature, threshold, 0.5, rng.integers(1, 9, n_classes)), strict=True
        ):
            arrays[name].append(value)
        for child in node["children"]:
            visit(nodes[child], number)

    visit(nodes[0], -1)
    dtypes = {"parent": np.int32, "branch": np.int32, "kind": np.uint8, "feature": np.int32}
    return MultiwayTree.from_arrays(
        {k: np.array(v, dtypes.get(k, np.float64)) for k, v in arrays.items()}, N_CATEGORIES
    )


def random_columns(rng, n_rows, missing=0.2):
    columns = []
    for is_numeric, n in zip(IS_NUMERIC, N_CATEGORIES, strict=True):
        if is_numeric:
            column = rng.choice(NUMBERS, n_rows)
            column[rng.random(n_rows) < missing] = np.nan
        else:
            column = rng.integers(-2, n + 1, n_rows).astype(np.int32)
            column[rng.random(n_rows) < missing] = -1
        columns.append(column)
    columns[3] = np.clip(columns[3], -3e38, 3e38).astype(np.float32)
    return columns


def ends(tree, row):
    """Give (node, share) wherever the row ends, by recursion."""

    def descend(node, share):
        if tree.kind[node] == LEAF:
            return [(node, share)]
        value = row[tree.feature[node]]
        children = {int(tree.branch[i]): i for i in range(tree.n_nodes) if tree.parent[i] == node}
        if tree.kind[node] == NUMERIC:
            branch = None if math.isnan(value) else int(value > tree.threshold[node])
        else:
            branch = None if value == -1 and -1 not in children else int(value)
        if branch is None:
            total = sum(tree.counts[child].sum() for child in children.values())
            return [end for c in children.values() for end in descend(c, share * tree.counts[c].sum() / total)]
        return descend(children[branch], share) if branch in children else [(node, share)]

    return descend(0, 1.0)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(0, 9))
def test_prediction_equals_plain_recursion(seed, n_splits):
    rng = np.random.default_rng(seed)
    tree, columns = random_tree(rng, n_splits), random_columns(rng, 20)
    found, nodes = tree.predict(columns, 20), tree.apply(columns, 20)
    for r in range(20):
        reached = ends(tree, [column[r] for column in columns])
        expected = sum(share * tree.counts[node] / tree.counts[node].sum() for node, share in reached)
        np.testing.assert_allclose(found[r], expected, rtol=1e-12, atol=1e-15)
        top = max(share for _, share in reached)
        near = {node for node, share in reached if share >= top * (1 - 1e-12)}
        assert nodes[r] in near
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_batches_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    tree, columns = random_tree(rng, 8), random_columns(rng, 40, missing=0.6)
    whole, nodes = tree.predict(columns, 40), tree.apply(columns, 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multiway, "_MAX_ITEMS", 7)
        np.testing.assert_array_equal(tree.predict(columns, 40), whole)
        np.testing.assert_array_equal(tree.apply(columns, 40), nodes)
    for r in range(0, 40, 7):
        single = [column[r : r + 1] for column in columns]
        np.testing.assert_array_equal(tree.predict(single, 1)[0], whole[r])
        assert tree.apply(single, 1)[0] == nodes[r]


def test_of_equal_shares_the_first_node_counts():
    """Node 4 is reached a step before node 2, by a half of the row each."""
    tree = MultiwayTree.from_arrays(
        {
            "parent": np.array([-1, 0, 1, 1, 0], np.int32),
            "branch": np.array([0, 0, 0, 1, 1], np.int32),
            "kind": np.array([1, 1, 0, 0, 0], np.uint8),
            "feature": np.array([0, 1, -1, -1, -1], np.int32),
            "threshold": np.zeros(5),
            "gain": np.zeros(5),
            "counts": np.array([[4.0, 4], [2, 2], [2, 0], [0, 2], [2, 2]]),
        }
    )
    assert tree.apply([np.array([np.nan]), np.array([-1.0])], 1).tolist() == [2]


def test_no_rows():
    tree = random_tree(np.random.default_rng(0), 3)
    assert tree.predict([np.zeros(0)] * 4, 0).shape == (0, 3)
    assert tree.apply([np.zeros(0)] * 4, 0).shape == (0,)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(0, 9))
def test_round_trips_and_shape(seed, n_splits):
    tree = random_tree(np.random.default_rng(seed), n_splits)
    for twin in (MultiwayTree.from_arrays(tree.to_arrays()), pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        for name, array in tree.to_arrays().items():
            np.testing.assert_array_equal(array, getattr(twin, name), err_msg=name, strict=True)

    def depth(node):
        return 0 if node == 0 else 1 + depth(tree.parent[node])

    depths = [depth(node) for node in range(tree.n_nodes)]
    np.testing.assert_array_equal(tree.depths, depths)
    assert tree.depth == max(depths)
    assert tree.n_leaves == tree.n_nodes - n_splits
    with pytest.raises(ValueError, match="read-only"):
        tree.parent[0] = 0


# ------------------------------------------------------------------------------------------------ text


def small_tree():
    """outlook: rain -> humidity <= 75, sunny -> leaf, missing -> leaf."""
    return MultiwayTree.from_arrays(
        {
            "parent": np.array([-1, 0, 0, 2, 2, 0], np.int32),
            "branch": np.array([0, -1, 0, 0, 1, 2], np.int32),
            "kind": np.array([2, 0, 1, 0, 0, 0], np.uint8),
            "feature": np.array([1, -1, 0, -1, -1, -1], np.int32),
            "threshold": np.array([0, 0, 75.5, 0, 0, 0]),
            "gain": np.zeros(6),
            "counts": np.array([[4, 6], [0, 1], [3, 3], [0, 3], [3, 0], [1, 2.5]]),
        }
    )


NAMES = {"feature_names": ["humidity", "outlook"], "category_names": [(), ("rain", "overcast", "sunny")]}


def test_text():
    assert small_tree().to_text(**NAMES, class_names=["no", "yes"]).splitlines() == [
        "outlook is missing: yes (1)",
        "outlook = rain",
        "|   humidity <= 75.5: yes (3)",
        "|   humidity > 75.5: no (3)",
        "outlook = sunny: yes (3.5/1)",
    ]
    assert small_tree().to_text().splitlines()[2:4] == ["|   x0 <= 75.5: 1 (3)", "|   x0 > 75.5: 0 (3)"]


def test_text_of_a_leaf():
    tree = random_tree(np.random.default_rng(0), 0)
    assert tree.to_text(class_names="abc").startswith("abc"[int(tree.majority[0])] + " (")


def test_decision_path():
    tree = small_tree()
    columns = [np.array([70.0, 80, np.nan, 80, 80]), np.array([0, 0, 0, -1, 1], np.int32)]
    assert [tree.decision_path(columns, row, **NAMES) for row in range(5)] == [
        ["outlook = rain", "humidity <= 75.5"],
        ["outlook = rain", "humidity > 75.5"],
        ["outlook = rain", "humidity <= 75.5 (missing: a share of 0.5)"],
        ["outlook is missing"],
        [],
    ]
    with pytest.raises(ValueError, match="node 0 is the root: no condition leads to it"):
        tree.condition(0)


def test_a_deep_tree_needs_no_recursion():
    n = 20_001  # each right child is split again
    parent = np.append(-1, np.repeat(np.arange(0, n - 1, 2), 2)).astype(np.int32)
    is_inner = np.arange(n) % 2 == 0
    is_inner[-1] = False
    tree = MultiwayTree.from_arrays(
        {
            "parent": parent,
            "branch": np.append(0, np.tile([0, 1], n // 2)).astype(np.int32),
            "kind": is_inner.astype(np.uint8),
            "feature": np.where(is_inner, 0, -1).astype(np.int32),
            "threshold": np.where(is_inner, np.arange(n) // 2, 0.0),
            "gain": np.zeros(n),
            "counts": np.ones((n, 2)),
        }
    )
    assert tree.depth == n // 2
    assert tree.apply([np.array([-1.0, 1e9])], 2).tolist() == [1, n - 1]
    assert len(tree.decision_path([np.array([2.5])], 0)) == 4


# ------------------------------------------------------------------------------------------ validation


@pytest.mark.parametrize(
    ("name", "position", "value", "message"),
    [
        ("parent", 0, 0, r"parent\[0\] = 0, branch\[0\] = 0 must be −1 and 0: node 0 is the root"),
        ("branch", 0, 1, r"branch\[0\] = 1 must be −1 and 0"),
        ("parent", 3, 3, r"parent\[3\] = 3 is not on the path to the node before"),
        ("parent", 3, 5, r"parent\[3\] = 5 is not on the path"),
        ("parent", 3, -1, r"parent\[3\] = -1 is not on the path"),
        ("parent", 3, 2**31 - 1, r"parent\[3\] = 2147483647 is not on the path"),
        ("parent", 5, 1, r"parent\[5\] = 1 is not on the path"),
        ("parent", 5, 2, r"kind\[2\] = 1 does not fit the number of children"),
        ("parent", 5, 4, r"kind\[4\] = 0 does not fit the number of children"),
        ("kind", 1, 3, r"kind\[1\] = 3 must be 0 \(leaf\), 1 \(numeric\) or 2 \(category\)"),
        ("feature", 0, -1, r"feature\[0\] = -1 is not a feature"),
        ("feature", 0, 2, r"feature\[0\] = 2 is not a feature"),
        ("feature", 1, 0, r"feature\[1\] = 0 must be −1 at a leaf"),
        ("feature", 2, 1, r"kind\[2\] = 1 is a condition that its column cannot have"),
        ("branch", 5, 3, r"branch\[5\] = 3 is not a branch of its parent"),
        ("branch", 1, -2, r"branch\[1\] = -2 is not a branch of its parent"),
        ("branch", 4, 2, r"branch\[4\] = 2 is not a branch of its parent"),
        ("branch", 4, 0, r"branch\[4\] = 0 must be greater than that of the sibling before"),
        ("threshold", 2, math.nan, r"threshold\[2\] = nan must be a number"),
        ("gain", 2, math.inf, r"gain\[2\] = inf must be finite"),
        ("counts", 2, math.nan, r"counts\[2, 0\] = nan must be finite"),
        ("counts", 2, -1, r"counts\[2, 0\] = -1.0 must not be negative"),
        ("counts", 2, 0, r"the sum of counts\[2\] = 0.0 must be positive and finite"),
        ("counts", 2, 1.7e308, r"the sum of counts\[2\] = inf must be positive and finite"),
    ],
)
def test_validation(name, position, value, message):
    arrays = {key: array.copy() for key, array in small_tree().to_arrays().items()}
    arrays[name][position] = value
    with pytest.raises(ValueError, match=f"invalid multiway tree: .*{message}"):
        MultiwayTree.from_arrays(arrays, n_categories=[-1, 3])


def test_validation_without_schema():
    arrays = {key: array.copy() for key, array in small_tree().to_arrays().items()}
    arrays["feature"][2] = 1
    with pytest.raises(ValueError, match=r"feature\[0\] = 1 is used both as numeric and as category"):
        MultiwayTree.from_arrays(arrays)


def test_validation_of_shapes():
    arrays = small_tree().to_arrays()
    with pytest.raises(ValueError, match="a multiway tree needs the arrays kind, gain"):
        MultiwayTree.from_arrays({name: a for name, a in arrays.items() if name not in ("kind", "gain")})
    with pytest.raises(ValueError, match="feature must be a 1-D int32 array, not 1-D int64"):
        MultiwayTree.from_arrays(arrays | {"feature": arrays["feature"].astype(np.int64)})
    with pytest.raises(ValueError, match="gain must have length 6, not 5"):
        MultiwayTree.from_arrays(arrays | {"gain": np.zeros(5)})
    with pytest.raises(ValueError, match="counts must have at least one node and one class"):
        MultiwayTree.from_arrays(arrays | {"counts": np.zeros((6, 0))})


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_what_is_not_refused_predicts(seed):
    """Arrays with random damage are refused by a ValueError or give distributions."""
    rng = np.random.default_rng(seed)
    tree, columns = random_tree(rng, 5), random_columns(rng, 10)
    arrays = {name: array.copy() for name, array in tree.to_arrays().items()}
    for _ in range(int(rng.integers(1, 4))):
        array = arrays[str(rng.choice(["parent", "branch", "kind", "feature"]))]
        array[rng.integers(len(array))] = rng.integers(-3 if array.dtype.kind == "i" else 0, 8)
    damaged = MultiwayTree(**arrays)
    try:
        damaged.validate(N_CATEGORIES)
    except ValueError:
        return
    np.testing.assert_allclose(damaged.predict(columns, 10).sum(axis=1), 1.0)
    assert len(damaged.to_text().splitlines()) == max(damaged.n_nodes - 1, 1)
