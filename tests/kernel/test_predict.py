"""The compiled forest against plain loops, to the last bit, on every path through the kernel."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import prediction as slow

import arboretum as arb

KINDS = st.lists(st.sampled_from(["numeric", "numeric", "category"]), min_size=1, max_size=4)
ROWS = st.sampled_from([0, 1, 2, 19, 20, 128, 129, 150])
SEEDS = st.integers(0, 2**32 - 1)
POLICIES = st.sampled_from(["average", "missing"])


def same(actual, expected):
    np.testing.assert_array_equal(actual, expected, strict=True)


def random_forest(rng, kinds, n_trees, most_leaves, **shape):
    is_oblique = "numeric" in kinds and rng.integers(2)

    def condition():
        make = slow.random_projection if is_oblique and rng.integers(2) else slow.random_condition
        return make(rng, kinds)

    trees = [
        slow.symmetric_tree(int(rng.integers(0, 5)), condition)
        if rng.integers(3) == 0
        else slow.random_tree(rng, int(rng.integers(1, most_leaves + 1)), condition)
        for _ in range(n_trees)
    ]
    return slow.to_forest(rng, trees, **shape)


@settings(max_examples=60, deadline=None)
@given(SEEDS, KINDS, ROWS, POLICIES, st.integers(0, 5), st.integers(1, 3), st.booleans())
def test_raw_and_apply(seed, kinds, n_rows, unknown, n_trees, n_outputs, vector_leaves):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, kinds, n_trees, 12, n_outputs=n_outputs, vector_leaves=vector_leaves)
    columns = slow.random_columns(rng, kinds, n_rows)
    raw = forest.raw(columns, n_rows, unknown=unknown)
    same(raw, slow.raw(forest, columns, n_rows, unknown))
    same(forest.apply(columns, n_rows, unknown=unknown), slow.apply(forest, columns, n_rows, unknown))
    for row in range(min(n_rows, 3)):
        same(forest.raw([c[row : row + 1] for c in columns], 1, unknown=unknown), raw[row : row + 1])


@pytest.mark.parametrize("estimator", [arb.ExtraTreesRegressor, arb.ExtraTreesClassifier])
@pytest.mark.parametrize("text", [False, True])
def test_threads_compile_the_same(estimator, text):
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.standard_normal((25_000, 3)), columns=list("abc"))
    if text:
        X["word"] = rng.choice(["x", "y", "z"], len(X))
    y = rng.integers(0, 3, len(X))
    forest = estimator(n_estimators=4, max_features=1, min_samples_leaf=1, random_state=0).fit(X, y).forest_
    assert forest.n_nodes > 3 << 15  # several threads have something to do
    columns = [X[name].to_numpy() for name in "abc"]
    columns += [rng.integers(-2, 3, len(X)).astype(np.int32)] if text else []
    for n_rows in (3, 300):
        few = [column[:n_rows] for column in columns]
        expected = forest.raw(few, n_rows)
        for threads in (2, 8):
            again = arb.Forest.from_arrays(forest.to_arrays())
            same(again.raw(few, n_rows, threads=threads), expected)
            same(again.apply(few, n_rows), forest.apply(few, n_rows))


@pytest.mark.parametrize("n_leaves", [255, 256, 257, 600])
@pytest.mark.parametrize("kinds", [["numeric"] * 3, ["numeric", "category"]])
def test_large_trees_walk_and_small_ones_select(n_leaves, kinds):
    rng = np.random.default_rng(n_leaves)
    sizes = [4, n_leaves, 9]
    trees = [slow.random_tree(rng, n, lambda: slow.random_condition(rng, kinds)) for n in sizes]
    forest = slow.to_forest(rng, trees)
    columns = slow.random_columns(rng, kinds, 140)
    same(forest.raw(columns, 140), slow.raw(forest, columns, 140))
    same(forest.apply(columns, 140), slow.apply(forest, columns, 140))


@pytest.mark.parametrize("depth", [0, 1, 8, 9])
@pytest.mark.parametrize("kinds", [["numeric"] * 2, ["category"]])
def test_symmetric_trees(depth, kinds):
    rng = np.random.default_rng(depth)
    trees = [slow.symmetric_tree(depth, lambda: slow.random_condition(rng, kinds)) for _ in range(3)]
    forest = slow.to_forest(rng, trees)
    columns = slow.random_columns(rng, kinds, 140)
    same(forest.raw(columns, 140), slow.raw(forest, columns, 140))


@pytest.mark.parametrize("kinds", [["numeric"] * 2, ["category"]])
def test_almost_symmetric_trees(kinds):
    rng = np.random.default_rng(7)
    trees = []
    for place in [2, 3, 4] * 5:
        tree = slow.symmetric_tree(2, lambda: slow.random_condition(rng, kinds))
        kind, feature, threshold, missing_left, words, left, right = tree[2]
        changed = [kind, feature, threshold, missing_left, words]
        changed[place] = [0.3 - threshold, 1 - missing_left, [word ^ 1 for word in words]][place - 2]
        trees.append([*tree[:2], (*changed, left, right), *tree[3:]])
    forest = slow.to_forest(rng, trees)
    columns = slow.random_columns(rng, kinds, 140)
    same(forest.apply(columns, 140, unknown="missing"), slow.apply(forest, columns, 140, "missing"))


def test_missing_is_beyond_the_last_of_255_thresholds():
    rng = np.random.default_rng(0)
    stumps = [slow.random_tree(rng, 2, lambda t=t: (1, 0, float(t), 0, [])) for t in range(255)]
    column = np.array([np.nan, 253.5, 254.0, 254.5] * 10)
    leaves = slow.to_forest(rng, stumps).apply([column], 40)
    same(leaves[:4, -1], np.array([2, 1, 1, 2], np.int32))
    same(leaves[0], np.full(255, 2, np.int32))


@pytest.mark.parametrize("n_thresholds", [30, 32, 33, 255, 256, 700])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranks_of_few_and_many_thresholds(n_thresholds, dtype):
    rng = np.random.default_rng(n_thresholds)
    numbers = rng.normal(size=n_thresholds)
    sizes = np.diff([*range(0, n_thresholds, 100), n_thresholds])
    conditions = iter([(1, 0, t, int(t > 0), []) for t in numbers])
    trees = [slow.random_tree(rng, int(size) + 1, lambda: next(conditions)) for size in sizes]
    forest = slow.to_forest(rng, trees)
    near = np.concatenate([numbers, np.nextafter(numbers, np.inf), np.nextafter(numbers, -np.inf), [np.nan]])
    column = rng.permutation(np.concatenate([near, rng.normal(size=50)]).astype(dtype))
    same(forest.raw([column], len(column)), slow.raw(forest, [column], len(column)))
    same(forest.raw([column[:7]], 7), slow.raw(forest, [column[:7]], 7))


def test_one_tree_with_more_thresholds_than_a_byte_counts():
    rng = np.random.default_rng(0)
    conditions = iter([(1, 0, t, 0, []) for t in rng.normal(size=256)])
    forest = slow.to_forest(rng, [slow.random_tree(rng, 257, lambda: next(conditions))])
    column = rng.normal(size=200)
    same(forest.raw([column], 200), slow.raw(forest, [column], 200))


def test_a_split_on_missing_alone():
    rng = np.random.default_rng(0)
    infinity = float("inf")
    trees = [slow.random_tree(rng, 2, lambda left=left: (1, 0, infinity, left, [])) for left in (0, 1)]
    forest = slow.to_forest(rng, trees)
    column = np.array([np.nan, infinity, -infinity, 0.0] * 10)
    expected = [[2, 1], [1, 1], [1, 1], [1, 1]]
    same(forest.apply([column[:4]], 4), np.array(expected, np.int32))
    same(forest.apply([column], 40), np.array(expected * 10, np.int32))


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from([1, 19, 20, 150]))
def test_rows_of_unknown_categories_alone(seed, n_rows):
    rng = np.random.default_rng(seed)
    kinds = ["numeric", "category", "category", "numeric"]
    forest = random_forest(rng, kinds, 3, 40, n_outputs=2)
    columns = slow.random_columns(rng, kinds, n_rows)
    columns[1] = np.full(n_rows, -2, np.int32)
    same(forest.raw(columns, n_rows), slow.raw(forest, columns, n_rows))
    same(forest.apply(columns, n_rows), slow.apply(forest, columns, n_rows))


@settings(max_examples=5, deadline=None)
@given(SEEDS, POLICIES, st.sampled_from([2, 3]))
def test_threads_and_batches_change_nothing(seed, unknown, threads):
    rng = np.random.default_rng(seed)
    kinds = ["numeric", "category", "numeric"]
    forest = random_forest(rng, kinds, 20, 40, n_outputs=2)
    n_rows = 5000
    columns = slow.random_columns(rng, kinds, n_rows)
    alone = forest.raw(columns, n_rows, threads=1, unknown=unknown)
    same(forest.raw(columns, n_rows, threads=threads, unknown=unknown), alone)
    same(
        forest.apply(columns, n_rows, threads=threads, unknown=unknown),
        forest.apply(columns, n_rows, unknown=unknown),
    )
    for begin, end in [(0, 5), (5, 24), (24, 300), (300, 5000)]:
        batch = [column[begin:end] for column in columns]
        same(forest.raw(batch, end - begin, unknown=unknown), alone[begin:end])
    some = [column[:40] for column in columns]
    same(alone[:40], slow.raw(forest, some, 40, unknown))


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from([0, 1, 25]), st.sampled_from(["C", "F"]))
def test_matrix(seed, n_rows, order):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, ["numeric"] * 3, 9, 20, n_outputs=2)
    for dtype in (np.float32, np.float64):
        matrix = np.asarray(rng.choice([-1, 0, 0.5, np.inf, np.nan], (n_rows, 4)), dtype, order=order)
        same(forest.raw_matrix(matrix), slow.raw(forest, list(matrix.T), n_rows))


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from([1, 30]))
def test_part_of_the_trees(seed, n_rows):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, ["numeric", "category"], 6, 9)
    columns = slow.random_columns(rng, ["numeric", "category"], n_rows)
    first, last = np.sort(rng.integers(0, 7, 2)).tolist()
    same(
        forest.raw(columns, n_rows, first=first, last=last),
        slow.raw(forest, columns, n_rows, first=first, last=last),
    )
    same(
        forest.apply(columns, n_rows, first=first, last=last),
        slow.apply(forest, columns, n_rows)[:, first:last],
    )


def a_forest(kinds, *feature_thresholds):
    rng = np.random.default_rng(0)
    trees = []
    for feature, threshold in feature_thresholds:
        rule = (1, feature, threshold, 0, []) if kinds[feature] == "numeric" else (2, feature, 0.0, 0, [5])
        trees.append(slow.random_tree(rng, 2, lambda rule=rule: rule))
    return slow.to_forest(rng, trees)


def test_columns_are_checked():
    forest = a_forest(["numeric", "category"], (0, 0.5), (1, 0))
    number, code = np.zeros(3), np.zeros(3, np.int32)
    with pytest.raises(ValueError, match="the forest reads column 1 but there are only 1 columns"):
        forest.raw([number], 3)
    with pytest.raises(ValueError, match="column 1 must have 3 values"):
        forest.raw([number, code[:2]], 3)
    with pytest.raises(TypeError, match="column 0 must be float32 or float64"):
        forest.raw([code, code], 3)
    with pytest.raises(TypeError, match="column 1 must hold int32 category codes"):
        forest.apply([number, number], 3)
    with pytest.raises(TypeError, match="column 0 must be float32, float64 or int32"):
        forest.raw([number.astype(int), code], 3)
    with pytest.raises(TypeError, match="column 1 must hold int32 category codes"):
        forest.raw_matrix(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="the matrix must have two dimensions and 3 rows"):
        forest.raw_matrix(number)


@pytest.mark.parametrize(("first", "last"), [(-1, 1), (2, 1), (0, 3)])
def test_trees_out_of_range(first, last):
    forest = a_forest(["numeric"], (0, 0.5), (0, 0.7))
    with pytest.raises(IndexError, match=f"trees {first} to {last} of a forest of 2"):
        forest.raw([np.zeros(3)], 3, first=first, last=last)


def test_out_must_fit():
    forest = a_forest(["numeric"], (0, 0.5))
    with pytest.raises(ValueError, match="out must have 1 columns"):
        forest.predictor().add([np.zeros(3)], np.zeros((3, 2)), 0, 1, True, 1)
