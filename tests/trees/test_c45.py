"""C4.5: a plain twin with fractional cases, the golf table, scikit-learn's thresholds; pruning; and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from arboretum.data.binning import midpoint
from arboretum.data.table import read_table
from arboretum.growing.criteria import entropy
from arboretum.trees import grow_c45
from arboretum.trees.multiway import LEAF, NUMERIC

SEEDS = st.integers(0, 2**32 - 1)

GOLF = pd.DataFrame(
    [
        ("sunny", 75, 70, "true", 1),
        ("sunny", 80, 90, "true", 0),
        ("sunny", 85, 85, "false", 0),
        ("sunny", 72, 95, "false", 0),
        ("sunny", 69, 70, "false", 1),
        ("overcast", 72, 90, "true", 1),
        ("overcast", 83, 78, "false", 1),
        ("overcast", 64, 65, "true", 1),
        ("overcast", 81, 75, "false", 1),
        ("rain", 71, 80, "true", 0),
        ("rain", 65, 70, "true", 0),
        ("rain", 75, 80, "false", 1),
        ("rain", 68, 80, "false", 1),
        ("rain", 70, 96, "false", 1),
    ],
    columns=["outlook", "temperature", "humidity", "windy", "play"],
)


def names(table):
    return table.schema.names, [column.categories for column in table.schema.columns]


def test_the_golf_table():
    """The tree of Quinlan 1993, fig. 1-2; his threshold 75 is the largest value below ours."""
    table = read_table(GOLF.drop(columns="play"))
    tree = grow_c45(table, GOLF["play"].to_numpy(), threshold_penalty=False)
    assert tree.to_text(*names(table), ["Don't Play", "Play"]).splitlines() == [
        "outlook = rain",
        "|   windy = false: Play (3)",
        "|   windy = true: Don't Play (2)",
        "outlook = sunny",
        "|   humidity <= 77.5: Play (2)",
        "|   humidity > 77.5: Don't Play (3)",
        "outlook = overcast: Play (4)",
    ]
    # Quinlan 1993, ch. 2: gain 0.246 bits and gain ratio 0.156 of outlook
    assert tree.gain[0] == pytest.approx(0.2467, abs=1e-4)


def test_a_missing_outlook():
    """Quinlan 1993, ch. 3: case 6 (overcast, 72, 90, true, play) without its outlook."""
    frame = GOLF.drop(columns="play").astype({"outlook": object})
    frame.loc[5, "outlook"] = None
    table = read_table(frame)
    tree = grow_c45(table, GOLF["play"].to_numpy(), threshold_penalty=False, confidence=None)
    assert tree.gain[0] == pytest.approx(0.199, abs=5e-4)  # 13/14 × (0.961 − 0.747)
    lines = tree.to_text(*names(table), ["Don't Play", "Play"]).splitlines()
    assert lines == [
        "outlook = rain",
        "|   windy = false: Play (3)",
        "|   windy = true: Don't Play (2.38462/0.384615)",
        "outlook = sunny",
        "|   humidity <= 77.5: Play (2)",
        "|   humidity > 77.5: Don't Play (3.38462/0.384615)",
        "outlook = overcast: Play (3.23077)",
    ]
    # A sunny day of unknown humidity: 2/5.4 play surely, 3.4/5.4 play with 0.4/3.4
    sunny = [np.array([1], np.int32), np.array([70.0]), np.array([np.nan]), np.array([0], np.int32)]
    weight = 5 + 5 / 13
    np.testing.assert_allclose(tree.predict(sunny, 1)[0], [3 / weight, 1 - 3 / weight])
    assert tree.decision_path(sunny, 0, *names(table))[-1] == "humidity > 77.5 (missing: a share of 0.629)"


# ---------------------------------------------------------------------------------------------- the twin


def entropy_of(rows, y):
    counts = {}
    for row, weight in rows:
        counts[y[row]] = counts.get(y[row], 0.0) + weight
    return entropy(list(counts.values()), base=2)


def weight_of(rows):
    return sum(weight for _, weight in rows)


def worth(groups, missing, y, tries=None):
    """Gain, less the price of the threshold, and split information."""
    known = [case for group in groups for case in group]
    total = weight_of(known) + weight_of(missing)
    after = sum(weight_of(group) / weight_of(known) * entropy_of(group, y) for group in groups)
    gain = weight_of(known) / total * (entropy_of(known, y) - after)
    sizes = [weight_of(group) for group in [*groups, missing]]
    return gain - (math.log2(tries) / total if tries else 0.0), entropy(sizes, base=2)


def best_test(column, cases, y, n_classes, m, penalty):
    """Find the best test on one column: (gain, split information, threshold, {branch: cases}, missing)."""
    is_numeric = column.dtype.kind == "f"
    missing = [(r, w) for r, w in cases if (math.isnan(column[r]) if is_numeric else column[r] < 0)]
    known = [case for case in cases if case not in missing]
    values = sorted({column[r].item() for r, _ in known})
    if not is_numeric:
        groups = {value: [case for case in known if column[case[0]] == value] for value in values}
        if len(groups) < 2 or sum(weight_of(group) >= m - 1e-9 for group in groups.values()) < 2:
            return None
        return *worth(list(groups.values()), missing, y), 0.0, groups, missing
    least = min(max(0.1 * weight_of(known) / n_classes, m), max(25, m)) - 1e-9
    splits = []
    for low, high in itertools.pairwise(values):
        threshold = (low + high) / 2
        groups = {0: [c for c in known if column[c[0]] <= threshold], 1: [c for c in known if column[c[0]] > threshold]}
        if min(weight_of(groups[0]), weight_of(groups[1])) >= least:
            splits.append((threshold, groups))
    best = None
    for threshold, groups in splits:
        gain, info = worth(list(groups.values()), missing, y, len(splits) if penalty else None)
        if gain > 0 and (best is None or gain > best[0] + 1e-9):
            best = (gain, info, threshold, groups, missing)
    return best


def slow_c45(columns, y, cases, n_classes, m, penalty):
    """Nested (feature, threshold, {branch: subtree}) or class counts."""
    counts = [sum(w for r, w in cases if y[r] == k) for k in range(n_classes)]
    leaf = np.array(counts)
    if np.count_nonzero(leaf) < 2 or leaf.sum() < 2 * m - 1e-9:
        return leaf
    found = {j: best_test(column, cases, y, n_classes, m, penalty) for j, column in enumerate(columns)}
    found = {j: test for j, test in found.items() if test is not None}
    average = sum(test[0] for test in found.values()) / max(len(found), 1)
    best = None
    for j, (gain, info, threshold, groups, missing) in found.items():
        if gain > 1e-9 and gain >= average - 1e-9 and (best is None or gain / info > best[0] + 1e-9):
            best = (gain / info, j, threshold, groups, missing)
    if best is None:
        return leaf
    _, j, threshold, groups, missing = best
    total = sum(weight_of(group) for group in groups.values())
    children = {
        branch: group + [(r, w * weight_of(group) / total) for r, w in missing] for branch, group in groups.items()
    }
    return j, threshold, {b: slow_c45(columns, y, part, n_classes, m, penalty) for b, part in children.items()}


def assert_equals_nested(tree, nested, node=0):
    if not isinstance(nested, tuple):
        assert tree.kind[node] == LEAF
        np.testing.assert_allclose(tree.counts[node], nested, atol=1e-12)
        return
    feature, threshold, branches = nested
    assert (tree.feature[node], tree.threshold[node]) == (feature, threshold)
    children = np.flatnonzero(tree.parent == node)
    assert sorted(branches) == tree.branch[children].tolist()
    for child in children:
        assert_equals_nested(tree, branches[int(tree.branch[child])], child)


def random_table(rng, n, missing=0.15):
    values = rng.integers(0, 8, (n, 2)).astype(float)
    values[rng.random((n, 2)) < missing] = np.nan
    words = rng.choice(["a", "b", "c"], n).astype(object)
    words[rng.random(n) < missing] = None
    return pd.DataFrame({"p": values[:, 0], "q": words, "r": values[:, 1]})


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.booleans(), st.booleans())
def test_equals_plain_recursion(seed, penalty, weighted):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 45)), float(rng.choice([1, 2, 3.5]))
    table, y = read_table(random_table(rng, n)), rng.integers(0, 3, n)
    weight = rng.random(n) * 2 + 0.1 if weighted else np.ones(n)
    tree = grow_c45(table, y, weight, n_classes=3, min_samples_leaf=m, threshold_penalty=penalty, confidence=None)
    assert_equals_nested(tree, slow_c45(table.columns, y, list(enumerate(weight.tolist())), 3, m, penalty))
    tree.validate([-1, len(table.schema.columns[1].categories), -1])


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_first_threshold_gains_what_scikit_learn_gains(seed):
    """Up to 40 rows of two classes, a tenth of the cases per class is no more than min_samples_leaf."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 1)).round(1), rng.integers(0, 2, 40)
    ours = grow_c45(read_table(X), y, n_classes=2, threshold_penalty=False, confidence=None, max_depth=1)
    theirs = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, max_depth=1).fit(X, y).tree_
    assert theirs.node_count == 3
    share = theirs.weighted_n_node_samples / 40
    assert ours.gain[0] == pytest.approx(theirs.impurity[0] - share[1:] @ theirs.impurity[1:], abs=1e-9)


def assert_same(a, b):
    for name, array in a.to_arrays().items():
        np.testing.assert_allclose(array, getattr(b, name), rtol=1e-9, atol=1e-9, err_msg=name)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_weights_are_repetitions(seed):
    rng = np.random.default_rng(seed)
    table, y, times = read_table(random_table(rng, 40)), rng.integers(0, 2, 40), rng.integers(0, 4, 40)
    times[0] = 1
    again = np.repeat(np.arange(40), times)
    assert_same(grow_c45(table, y, times, n_classes=2), grow_c45(table.take(again), y[again], n_classes=2))


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_order_of_columns_and_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    frame, y, order = random_table(rng, 40), rng.integers(0, 2, 40), rng.permutation(40)
    one, other = read_table(frame), read_table(frame[["r", "p", "q"]].iloc[order])
    trees = [grow_c45(one, y, n_classes=2), grow_c45(other, y[order], n_classes=2)]
    assert trees[0].to_text(*names(one)) == trees[1].to_text(*names(other))


@pytest.mark.parametrize("first", ["word", "number"])
def test_ties_go_to_the_first_name(first):
    y = np.array([0, 1] * 5)
    columns = {"word": np.where(y, "a", "b"), "number": y.astype(float)}
    second = next(name for name in columns if name != first)
    for order in ((first, second), (second, first)):
        renamed = pd.DataFrame({("a" if name == first else "b"): columns[name] for name in order})
        tree = grow_c45(read_table(renamed), y, threshold_penalty=False)
        assert renamed.columns[tree.feature[0]] == "a"


def test_a_share_that_underflows_makes_no_branch():
    p, q = np.tile([0.0, 1.0], 8), np.repeat(["a", "b"], 8).astype(object)
    y = 2 * p.astype(int) + (q == "b")
    table = read_table(pd.DataFrame({"p": np.append(p, np.nan), "q": np.append(q, "z")}))
    tree = grow_c45(table, np.append(y, 0), np.append(np.ones(16), 5e-324))
    assert (tree.n_leaves, tree.feature[0]) == (4, 0)
    tree.validate([-1, 3])


def test_threads_change_no_bit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 7)).round(2), rng.integers(0, 3, 3000)
    X[rng.random(X.shape) < 0.1] = np.nan
    table = read_table(X)
    trees = [grow_c45(table, y, confidence=None, threshold_penalty=False, threads=threads) for threads in (1, 2, 5)]
    assert trees[0].n_leaves > 10
    for tree in trees[1:]:
        for name, array in trees[0].to_arrays().items():
            np.testing.assert_array_equal(getattr(tree, name), array)


def test_odd_numbers_are_split():
    inf = math.inf
    for low, high in [
        (-inf, inf),
        (-inf, 0.0),
        (0.0, inf),
        (1.0, np.nextafter(1.0, 2)),
        (-1.7e308, 1.7e308),
        (0.0, 5e-324),
    ]:
        table = read_table(np.array([[low], [high]] * 5))
        tree = grow_c45(table, [0, 1] * 5)
        assert (tree.n_leaves, tree.kind[0]) == (2, NUMERIC)
        assert low <= tree.threshold[0] < high
        np.testing.assert_array_equal(tree.predict(table.columns, 10).argmax(axis=1), [0, 1] * 5)
    assert midpoint(np.array([1.0]), np.array([4.0])) == 2.5


def test_sparse_and_float32_tables():
    from scipy.sparse import csr_matrix

    X, y = np.random.default_rng(0).integers(0, 3, (60, 4)).astype(np.float32), np.arange(60) % 2
    dense = grow_c45(read_table(X), y)
    assert_same(grow_c45(read_table(csr_matrix(X)), y), dense)


def test_a_column_of_missing_values_only():
    table = read_table(np.full((6, 1), np.nan))
    assert grow_c45(table, [0, 1] * 3).n_nodes == 1


# ---------------------------------------------------------------------------------------------- pruning


def test_noise_is_pruned():
    rng = np.random.default_rng(0)
    table, y = read_table(rng.normal(size=(400, 5))), (rng.random(400) < 0.3).astype(int)
    grown = [grow_c45(table, y, confidence=c, threshold_penalty=False).n_leaves for c in (None, 0.5, 0.25, 0.01)]
    assert grown[0] >= grown[1] > grown[2] > grown[3]


def test_limits():
    table, y = read_table(GOLF.drop(columns="play")), GOLF["play"].to_numpy()
    assert grow_c45(table, y, max_depth=0).to_text() == "1 (14/5)"
    assert grow_c45(table, y, max_depth=1, confidence=None).depth == 1
    assert grow_c45(table, y, min_samples_leaf=8).n_nodes == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": 0.0}, "confidence must be between 0 and 1, not 0.0"),
        ({"confidence": 1.5}, "confidence must be between 0 and 1, not 1.5"),
        ({"min_samples_leaf": -1}, "min_samples_leaf must be at least 0, not -1"),
        ({"min_samples_leaf": math.nan}, "min_samples_leaf must be at least 0, not nan"),
        ({"max_depth": -2}, "max_depth must be at least 0, not -2"),
    ],
)
def test_errors(change, message):
    with pytest.raises(ValueError, match=message):
        grow_c45(read_table([[1.0], [2.0]]), [0, 1], **change)
