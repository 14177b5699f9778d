"""Paths of rows against a plain walk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import prediction as slow

from arboretum.data.schema import ColumnSchema, Schema
from arboretum.reading import condition, decision_path, explain_row, path_conditions

KINDS = ["numeric", "category", "numeric"]
SEEDS = st.integers(0, 2**32 - 1)
N_ROWS = 12
SCHEMA = Schema(
    (
        ColumnSchema("a", "numeric", "number", has_missing=True),
        ColumnSchema("city", "categorical", "string", tuple(f"c{j}" for j in range(64)), True),
        ColumnSchema("b", "numeric", "number", has_missing=True),
    ),
    named=True,
)


def random_case(seed, n_trees=3, n_rows=N_ROWS):
    rng = np.random.default_rng(seed)
    trees = [
        slow.random_tree(rng, int(rng.integers(1, 9)), lambda: slow.random_condition(rng, KINDS))
        for _ in range(n_trees)
    ]
    return slow.to_forest(rng, trees), slow.random_columns(rng, KINDS, n_rows)


def walk(forest, tree, row):
    start, node, passed = int(forest.tree_start[tree]), 0, [0]
    while forest.left[start + node] >= 0:
        goes_left = condition(forest, start + node).holds(row)
        node = int((forest.left if goes_left else forest.right)[start + node])
        passed.append(node)
    return [start + node for node in passed]


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(0, 4), st.integers(0, N_ROWS))
def test_the_indicator_marks_the_nodes_that_a_walk_passes(seed, n_trees, n_rows):
    forest, columns = random_case(seed, n_trees, n_rows)
    indicator, n_nodes_ptr = decision_path(forest, forest.apply(columns, n_rows, unknown="missing"))
    assert indicator.format == "csr"
    assert indicator.has_sorted_indices
    np.testing.assert_array_equal(n_nodes_ptr, forest.tree_start)
    expected = np.zeros((n_rows, forest.n_nodes), np.int64)
    for r in range(n_rows):
        for tree in range(n_trees):
            expected[r, walk(forest, tree, [values[r].item() for values in columns])] = 1
    np.testing.assert_array_equal(indicator.toarray(), expected, strict=True)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_a_row_meets_every_condition_of_its_path(seed):
    forest, columns = random_case(seed)
    leaves = forest.apply(columns, N_ROWS, unknown="missing")
    for r in range(N_ROWS):
        row = [values[r].item() for values in columns]
        for tree in range(forest.n_trees):
            met = path_conditions(forest, int(leaves[r, tree]), tree)
            assert len(met) == len(walk(forest, tree, row)) - 1
            assert all(asked.holds(row) for asked in met)
            texts = explain_row(forest, SCHEMA, int(leaves[r, tree]), tree, limit=2)
            assert texts == [asked.pretty(SCHEMA, limit=2) for asked in met]


def test_the_path_of_a_root_is_empty():
    forest, _ = random_case(0)
    assert path_conditions(forest, 0, 2) == []


def test_errors():
    forest, columns = random_case(1)
    leaves = forest.apply(columns, N_ROWS)
    with pytest.raises(
        ValueError, match=r"leaves has shape \(12, 2\): expected a matrix with a column for each of 3 trees"
    ):
        decision_path(forest, leaves[:, :2])
    with pytest.raises(
        ValueError, match=r"leaves has shape \(3,\): expected a matrix with a column for each of 3 trees"
    ):
        decision_path(forest, leaves[0])
    leaves[4, 1] = forest.n_nodes
    with pytest.raises(ValueError, match=rf"leaves\[4, 1\] = {forest.n_nodes} is not a node of tree 1"):
        decision_path(forest, leaves)
    leaves[4, 1] = -1
    with pytest.raises(ValueError, match=r"leaves\[4, 1\] = -1 is not a node of tree 1"):
        decision_path(forest, leaves)
    with pytest.raises(ValueError, match="node 999 does not exist: tree 0 has"):
        explain_row(forest, SCHEMA, 999)
    with pytest.raises(ValueError, match="tree=3 does not exist: the forest has 3 trees"):
        explain_row(forest, SCHEMA, 0, tree=3)
