"""ID3: the weather table, a plain recursive twin, scikit-learn on two-valued columns; and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from arboretum.data.table import read_table
from arboretum.growing.criteria import information_gain
from arboretum.trees import grow_id3
from arboretum.trees.multiway import LEAF

SEEDS = st.integers(0, 2**32 - 1)

WEATHER = pd.DataFrame(
    [
        ("sunny", "hot", "high", "weak", "no"),
        ("sunny", "hot", "high", "strong", "no"),
        ("overcast", "hot", "high", "weak", "yes"),
        ("rain", "mild", "high", "weak", "yes"),
        ("rain", "cool", "normal", "weak", "yes"),
        ("rain", "cool", "normal", "strong", "no"),
        ("overcast", "cool", "normal", "strong", "yes"),
        ("sunny", "mild", "high", "weak", "no"),
        ("sunny", "cool", "normal", "weak", "yes"),
        ("rain", "mild", "normal", "weak", "yes"),
        ("sunny", "mild", "normal", "strong", "yes"),
        ("overcast", "mild", "high", "strong", "yes"),
        ("overcast", "hot", "normal", "weak", "yes"),
        ("rain", "mild", "high", "strong", "no"),
    ],
    columns=["outlook", "temperature", "humidity", "wind", "play"],
)
PLAY = (WEATHER["play"] == "yes").to_numpy().astype(int)


def text(tree, table, classes):
    return tree.to_text(table.schema.names, [column.categories for column in table.schema.columns], classes)


def random_table(rng, n_rows, sizes=(2, 3, 4), missing=0.1):
    """Name the columns so that their order is not the order of their names."""
    columns = {}
    for name, size in zip("cab", sizes, strict=True):
        values = rng.choice([f"v{i}" for i in range(size)], n_rows).astype(object)
        values[1:][rng.random(n_rows - 1) < missing] = None  # a column of nothing else would be numeric
        columns[name] = values
    return pd.DataFrame(columns)


def assert_same(a, b):
    for name, array in a.to_arrays().items():
        np.testing.assert_allclose(array, getattr(b, name), rtol=1e-9, atol=1e-9, err_msg=name)


def test_the_weather():
    table = read_table(WEATHER.drop(columns="play"))
    tree = grow_id3(table, PLAY)
    assert text(tree, table, ["no", "yes"]).splitlines() == [
        "outlook = rain",
        "|   wind = weak: yes (3)",
        "|   wind = strong: no (2)",
        "outlook = sunny",
        "|   humidity = high: no (3)",
        "|   humidity = normal: yes (2)",
        "outlook = overcast: yes (4)",
    ]
    assert tree.gain[0] == pytest.approx(0.246749820, abs=1e-9)  # 0.246 in Quinlan's rounding
    np.testing.assert_array_equal(tree.predict(table.columns, 14).argmax(axis=1), PLAY)
    assert (tree.depth, tree.n_leaves) == (2, 5)


def slow_id3(frame, y, rows, weight, n_classes):
    """Nested (name, {value: subtree}) or class counts, by criteria.information_gain."""
    counts = np.array([weight[rows][y[rows] == k].sum() for k in range(n_classes)])
    if np.count_nonzero(counts) == 1:
        return counts
    best = None
    for name in sorted(frame.columns):
        values = [None if pd.isna(value) else value for value in frame[name].iloc[rows]]
        groups = {value: rows[[other == value for other in values]] for value in dict.fromkeys(values)}
        if len(groups) < 2:
            continue
        children = [[weight[g][y[g] == k].sum() for k in range(n_classes)] for g in groups.values()]
        gain = information_gain(counts, children, base=2)
        if best is None or gain > best[0] + 1e-9:
            best = (gain, name, groups)
    if best is None:
        return counts
    return best[1], {value: slow_id3(frame, y, group, weight, n_classes) for value, group in best[2].items()}


def assert_equals_nested(tree, table, nested, node=0):
    if not isinstance(nested, tuple):
        assert tree.kind[node] == LEAF
        np.testing.assert_allclose(tree.counts[node], nested)
        return
    name, branches = nested
    schema = table.schema.columns[tree.feature[node]]
    assert schema.name == name
    children = np.flatnonzero(tree.parent == node)
    assert len(children) == len(branches)
    for child in children:
        code = tree.branch[child]
        assert_equals_nested(tree, table, branches[None if code < 0 else schema.categories[code]], child)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.booleans())
def test_equals_plain_recursion(seed, weighted):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    frame, y = random_table(rng, n), rng.integers(0, 3, n)
    weight = rng.random(n) + 0.1 if weighted else np.ones(n)
    table = read_table(frame)
    tree = grow_id3(table, y, weight if weighted else None, n_classes=3)
    assert_equals_nested(tree, table, slow_id3(frame, y, np.arange(n), weight, 3))
    tree.validate([len(column.categories) for column in table.schema.columns])


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_two_valued_columns_give_the_tree_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X, y, weight = rng.integers(0, 2, (60, 5)), rng.integers(0, 2, 60), rng.random(60) + 0.1  # weights part ties
    table = read_table(X, categorical_features=range(5))
    ours = grow_id3(table, y, weight, n_classes=2)
    theirs = DecisionTreeClassifier(criterion="entropy").fit(X, y, sample_weight=weight)
    # scikit-learn may split a pure node, whose weighted entropy it rounds to a little more than 0
    np.testing.assert_allclose(ours.predict(table.columns, 60), theirs.predict_proba(X), atol=1e-12)
    assert ours.n_leaves <= theirs.get_n_leaves()


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_weights_are_repetitions(seed):
    rng = np.random.default_rng(seed)
    frame, y, times = random_table(rng, 30, missing=0.2), rng.integers(0, 2, 30), rng.integers(0, 4, 30)
    times[0] = 1
    table, again = read_table(frame), np.repeat(np.arange(30), times)
    assert_same(grow_id3(table, y, times, n_classes=2), grow_id3(table.take(again), y[again], n_classes=2))


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_order_of_columns_and_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    frame, y, order = random_table(rng, 30), rng.integers(0, 2, 30), rng.permutation(30)
    shuffled = read_table(frame[["b", "a", "c"]].iloc[order])
    assert text(grow_id3(shuffled, y[order], n_classes=2), shuffled, "ny") == text(
        grow_id3(read_table(frame), y, n_classes=2), read_table(frame), "ny"
    )


def test_exclusive_or_is_learned():
    table = read_table([["a", "a"], ["a", "b"], ["b", "a"], ["b", "b"]] * 2)
    y = np.array([0, 1, 1, 0] * 2)
    tree = grow_id3(table, y)
    np.testing.assert_array_equal(tree.predict(table.columns, 8).argmax(axis=1), y)


def test_limits():
    table = read_table(WEATHER.drop(columns="play"))
    assert grow_id3(table, PLAY, max_depth=0).to_text(class_names=["no", "yes"]) == "yes (14/5)"
    assert grow_id3(table, PLAY, max_depth=1).n_leaves == 3
    assert grow_id3(table, PLAY, min_samples_split=6).depth == 1
    assert grow_id3(table, np.ones(14, int)).n_nodes == 1


def test_unknown_and_missing_values():
    table = read_table(WEATHER.drop(columns="play"))
    tree = grow_id3(table, PLAY)
    outlook = np.array([-2, 2, -1], np.int32)  # unknown, overcast, missing where none was
    columns = [outlook, *(np.zeros(3, np.int32) for _ in range(3))]
    # The missing one: 5/14 rain, weak: yes; 5/14 sunny, high: no; 4/14 overcast: yes
    np.testing.assert_allclose(tree.predict(columns, 3), [[5 / 14, 9 / 14], [0, 1], [5 / 14, 9 / 14]])
    assert tree.apply(columns, 3).tolist() == [0, 7, 2]


def test_a_column_of_many_categories():
    n = 20_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": np.arange(n).astype(str), "group": rng.choice(list("ab"), n)})
    table, y = read_table(frame), (frame["group"] == "a").to_numpy().astype(int)
    tree = grow_id3(table, y)
    assert tree.to_text(["id", "group"]).startswith("group = ")
    shuffled = rng.permutation(y)
    tree = grow_id3(table, shuffled)
    assert tree.n_leaves == n
    np.testing.assert_array_equal(tree.predict(table.columns, n).argmax(axis=1), shuffled)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"X": [["a", 1.0], ["b", 2.0]]},
            "method=\"id3\" splits categories only, but column 'x1' is numeric; use method=",
        ),
        ({"y": [0, 2], "n_classes": 2}, "y must hold class numbers from 0 to 1, but holds 2"),
        ({"y": [0, -1]}, "y must hold class numbers from 0 to 0, but holds -1"),
        ({"y": [0.0, 1.0]}, "y must hold the number of a class for each of the 2 rows"),
        ({"y": [0]}, "y must hold the number of a class for each of the 2 rows"),
        ({"sample_weight": [1.0]}, r"sample_weight must have 2 values, not the shape \(1,\)"),
        ({"sample_weight": [1.0, -1.0]}, r"sample_weight\[1\] is -1.0; weights must be finite and not negative"),
        ({"sample_weight": [np.nan, 1.0]}, r"sample_weight\[0\] is nan"),
        ({"sample_weight": [0.0, 0.0]}, "sample_weight adds up to 0.0; it must be positive and finite"),
        ({"sample_weight": [1.7e308, 1.7e308]}, "sample_weight adds up to inf"),
        ({"max_depth": -1}, "max_depth must be at least 0, not -1"),
        ({"min_samples_split": 1}, "min_samples_split must be at least 2, not 1"),
    ],
)
def test_errors(change, message):
    arguments = {"X": [["a"], ["b"]], "y": [0, 1]} | change
    table = read_table(arguments.pop("X"))
    with pytest.raises(ValueError, match=message):
        grow_id3(table, **arguments)


def test_unknown_categories_are_refused():
    table = read_table([["a"], ["b"]])
    table.columns[0] = np.array([0, -2], np.int32)
    with pytest.raises(ValueError, match="column 'x0' has unknown categories"):
        grow_id3(table, [0, 1])
