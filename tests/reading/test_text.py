"""A tree as text."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import prediction as slow

import arboretum as arb
from arboretum.data.schema import ColumnSchema, Schema
from arboretum.model.forest import CATEGORY, NUMERIC, Forest
from arboretum.reading import tree_to_text
from arboretum.reading.nodes import children_of, descendants, in_reading_order, parents

SCHEMA = Schema(
    (
        ColumnSchema("age", "numeric", "number", has_missing=True),
        ColumnSchema("city", "categorical", "string", ("Bern", "Basel", "Chur"), True),
    ),
    named=True,
)
TREE = [(NUMERIC, 0, 37.5, 1, [], 1, 2), (CATEGORY, 1, 0.0, 0, [0b011], 3, 4), None, None, None]


def small_forest(value, tree_output=0, n_outputs=1, n_trees=1):
    forest = slow.to_forest(np.random.default_rng(0), [TREE] * n_trees)
    return Forest.from_arrays(
        forest.to_arrays()
        | {
            "value": np.tile(np.array(value, float).reshape(5, -1), (n_trees, 1)),
            "gain": np.tile([12.5, 1 / 3, 0.0, 0.0, 0.0], n_trees),
            "n_rows": np.tile([1234, 34, 1200, 33, 1], n_trees),
            "tree_output": np.full(n_trees, tree_output, np.int32),
            "base": np.zeros(n_outputs),
        }
    )


SCORES = [1e-17, -0.5, 0.25, 2 / 3, -1.0]
SHARES = [[0.5, 0.3, 0.2], [0.2, 0.8, 0.0], [0.6, 0.1, 0.3], [0.0, 1.0, 0.0], [0.4, 0.4, 0.2]]


def test_a_small_tree():
    assert tree_to_text(small_forest(SCORES), SCHEMA).splitlines() == [
        "tree 0 of 1  (1,234 rows, gain 12.5)",
        "├── age <= 37.5 or missing  (34 rows, gain 0.3333)",
        "│   ├── city not in {Chur, missing} → 0.6667  (33 rows)",
        "│   └── city in {Chur, missing} → -1  (1 row)",
        "└── age > 37.5 → 0.25  (1,200 rows)",
    ]


def test_options():
    text = tree_to_text(small_forest(SCORES, n_trees=2), SCHEMA, 1, max_depth=1, digits=2, show=["value"])
    assert text.splitlines() == [
        "tree 1 of 2",
        "├── age <= 37.5 or missing → -0.5  (2 nodes below)",
        "└── age > 37.5 → 0.25",
    ]
    assert tree_to_text(small_forest(SCORES), SCHEMA, max_depth=0) == "tree 0 of 1 → 0  (1,234 rows; 4 nodes below)"
    assert tree_to_text(small_forest(SCORES), SCHEMA, max_depth=0, show=()) == "tree 0 of 1  (4 nodes below)"
    assert "gain" not in tree_to_text(small_forest(SCORES), SCHEMA, show={"rows"})


def test_shares_of_classes_come_largest_first():
    forest = small_forest(SHARES, tree_output=-1, n_outputs=3)
    lines = tree_to_text(forest, SCHEMA, class_names=["red", "green", "blue"]).splitlines()
    assert lines[2].endswith("→ green 1  (33 rows)")
    assert lines[3].endswith("→ red 0.4, green 0.4, blue 0.2  (1 row)")
    unnamed = tree_to_text(forest, SCHEMA, show=["value"]).splitlines()
    assert unnamed[4].endswith("→ class 0 0.6, class 2 0.3, class 1 0.1")


def test_shares_may_have_any_common_sum():
    whole, part = (small_forest(np.array(SHARES) / n, tree_output=-1, n_outputs=3) for n in (1, 128))
    assert tree_to_text(part, SCHEMA) == tree_to_text(whole, SCHEMA)


def test_a_single_share_is_that_of_the_second_class():
    forest = small_forest([0.5, 0.5, 0.25, 1.0, 0.0])
    lines = tree_to_text(forest, SCHEMA, class_names=["no", "yes"], probabilities=True, show=["value"]).splitlines()
    assert [line.partition(" → ")[2] for line in lines] == ["", "", "yes 1", "no 1", "no 0.75, yes 0.25"]


def test_vectors_of_scores_keep_their_order():
    forest = small_forest(np.array(SHARES) - 0.5, tree_output=-1, n_outputs=3)
    assert tree_to_text(forest, SCHEMA).splitlines()[4].endswith("→ 0.1, -0.4, -0.2  (1,200 rows)")
    named = tree_to_text(forest, SCHEMA, class_names=["red", "green", "blue"]).splitlines()
    assert named[4].endswith("→ red 0.1, green -0.4, blue -0.2  (1,200 rows)")


def test_the_class_that_scores_speak_for():
    binary = tree_to_text(small_forest(SCORES), SCHEMA, class_names=["no", "yes"])
    assert binary.startswith("tree 0 of 1, score of yes  (")
    third = tree_to_text(small_forest(SCORES, 2, n_outputs=3), SCHEMA, class_names=[1, 2, 3])
    assert third.startswith("tree 0 of 1, score of 3  (")


def test_a_fitted_model_reads_with_its_own_names():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    model = arb.BoostedTreesClassifier(n_estimators=2, max_depth=2).fit(X, X[:, 1] > 0)
    text = tree_to_text(model.forest_, model.schema_, 1, class_names=model.classes_)
    assert text.startswith("tree 1 of 2, score of True  (200 rows, gain ")
    assert "x1 <= " in text


def test_a_tree_deeper_than_the_stack():
    n = 2 * sys.getrecursionlimit()
    order = [(NUMERIC, 0, float(d), 0, [], 2 * d + 1, 2 * d + 2) if not i else None for d in range(n) for i in (0, 1)]
    order.append(None)
    forest = slow.to_forest(np.random.default_rng(0), [order])
    lines = tree_to_text(forest, SCHEMA, show=()).splitlines()
    assert len(lines) == 2 * n + 1
    assert lines[-1].endswith(f"age > {n - 1} or missing")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_lines_and_counts_add_up_to_the_tree(seed, max_depth):
    rng = np.random.default_rng(seed)
    forest = slow.to_forest(
        rng, [slow.random_tree(rng, 12, lambda: slow.random_condition(rng, ["numeric", "category"]))]
    )
    lines = tree_to_text(forest, SCHEMA, max_depth=max_depth, show=()).splitlines()
    hidden = sum(int(line.split("(")[1].split()[0]) for line in lines if line.endswith("nodes below)"))
    assert len(lines) + hidden == forest.n_nodes
    children = children_of(forest, 0)
    assert descendants(children).count(0) == 12
    walked = [(node, len(is_last)) for node, is_last, _ in in_reading_order(children, max_depth)]
    assert sorted(walked) == [(node, int(depth)) for node, depth in enumerate(forest.depths) if depth <= max_depth]
    above = parents(forest).tolist()
    assert above == [next((up for up, below in enumerate(children) if node in below), -1) for node in range(len(above))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tree": 1}, "tree=1 does not exist: the forest has 1 trees, counted from 0"),
        ({"tree": -1}, "tree=-1: use an integer at least 0"),
        ({"max_depth": -1}, "max_depth=-1: use an integer at least 0, or None"),
        ({"show": ["depth"]}, r"show=\['depth'\]: use a collection of 'value', 'rows', 'gain'"),
        ({"show": "rows"}, "show='rows': use a collection of 'value', 'rows', 'gain'"),
        ({"class_names": ["a"]}, "class_names has 1 names, but the trees have 2 classes"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        tree_to_text(small_forest(SCORES), SCHEMA, **options)
