"""Proximities against their definition, pair by pair; the memory guard; outlier scores."""

from __future__ import annotations

import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from arboretum.ensembles.bagging import proximity, shared_leaves
from arboretum.ensembles.bagging.proximity import (
    check_fits_in_memory,
    dense_proximity,
    outlier_scores,
    top_k_proximity,
)

# ---- the definition ------------------------------------------------------------------------------------------------


def plain_proximity(x, y=None, out_x=None, out_y=None):
    square = y is None
    if square:
        y, out_y = x, out_x
    out_x = np.ones(x.shape, dtype=bool) if out_x is None else out_x
    out_y = np.ones(y.shape, dtype=bool) if out_y is None else out_y
    result = np.zeros((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            trees = [t for t in range(x.shape[1]) if out_x[i, t] and out_y[j, t]]
            if trees:
                result[i, j] = sum(x[i, t] == y[j, t] for t in trees) / len(trees)
            if square and i == j:
                result[i, j] = 1.0
    return result


def plain_nearest(full, k, square):
    """Columns and proximities of each row, the nearest first."""
    rows = []
    for i, row in enumerate(full):
        order = sorted((-p, j) for j, p in enumerate(row) if p > 0 and not (square and i == j))
        rows.append([(j, -p) for p, j in order[:k]])
    return rows


def plain_scores(full, classes):
    """Follow the definition in exact arithmetic: rows that are equally far differ by nothing."""
    exact = [[Fraction(p).limit_denominator(1000) for p in row] for row in full.tolist()]
    scores = np.empty(len(full))
    for label in set(classes):
        members = [i for i, own in enumerate(classes) if own == label]
        raw = [len(members) / sum(exact[i][j] ** 2 for j in members) for i in members]
        middle = statistics.median(raw)
        deviation = sum(abs(value - middle) for value in raw) / len(raw)
        for i, value in zip(members, raw, strict=True):
            scores[i] = (value - middle) / deviation if deviation else 0.0
    return scores


def rows_of(matrix):
    parts = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    return [list(zip(matrix.indices[a:b].tolist(), matrix.data[a:b].tolist(), strict=True)) for a, b in parts]


@st.composite
def leaf_tables(draw):
    """Leaves of two tables by few or many nodes, with or without bags."""
    n, m, trees = draw(st.integers(0, 9)), draw(st.integers(0, 9)), draw(st.sampled_from([1, 2, 5, 16, 17, 40]))
    seed, nodes = draw(st.integers(0, 999)), draw(st.sampled_from([1, 2, 4, 253, 254, 255, 70_000, 2**31 - 1]))
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(max(0, nodes - 4), nodes, (rows, trees)).astype(np.int32) for rows in (n, m))
    share = draw(st.sampled_from([0.0, 0.1, 0.4, 1.0]))
    out_x, out_y = (rng.random((rows, trees)) < share if draw(st.booleans()) else None for rows in (n, m))
    return x, y, out_x, out_y


# ---- all forms -----------------------------------------------------------------------------------------------------


@given(leaf_tables(), st.integers(1, 3))
def test_dense_is_the_definition(tables, threads):
    x, y, out_x, out_y = tables
    pairs = dense_proximity(x, y, out_of_bag_x=out_x, out_of_bag_y=out_y, threads=threads)
    np.testing.assert_array_equal(pairs, plain_proximity(x, y, out_x, out_y))
    np.testing.assert_array_equal(dense_proximity(x, out_of_bag_x=out_x), plain_proximity(x, None, out_x))


@given(leaf_tables(), st.integers(1, 10), st.integers(1, 3), st.sampled_from([1, 7, 1 << 20]))
@settings(max_examples=60, deadline=None)
def test_top_k_is_the_definition_for_any_blocks(tables, k, threads, most):
    x, y, out_x, out_y = tables
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_leaves, "MOST_ENTRIES", most)
        pairs = top_k_proximity(x, y, k, out_of_bag_x=out_x, out_of_bag_y=out_y, threads=threads)
        among = top_k_proximity(x, k=k, out_of_bag_x=out_x, threads=threads)
    assert pairs.shape == (len(x), len(y))
    assert rows_of(pairs) == plain_nearest(plain_proximity(x, y, out_x, out_y), k, square=False)
    assert rows_of(among) == plain_nearest(plain_proximity(x, None, out_x), k, square=True)


@given(leaf_tables(), st.integers(0, 3), st.integers(1, 3), st.sampled_from([1, 7, 1 << 20]))
@settings(max_examples=60, deadline=None)
def test_outlier_scores_are_the_definition_for_any_blocks(tables, n_classes, threads, most):
    x, _, out_x, _ = tables
    classes = np.arange(len(x)) % n_classes if n_classes else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_leaves, "MOST_ENTRIES", most)
        scores = outlier_scores(x, classes, out_of_bag=out_x, threads=threads)
    expected = plain_scores(plain_proximity(x, None, out_x), np.zeros(len(x)) if classes is None else classes)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


def test_many_rows_take_several_blocks_of_cells():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, (700, 30)), rng.integers(0, 9, (900, 30))
    assert 2 * proximity.CELLS_AT_ONCE < 700 * 900
    expected = (x[:, np.newaxis] == y).mean(axis=2)
    for threads in (1, 2, 8):
        np.testing.assert_array_equal(dense_proximity(x, y, threads=threads), expected)


def test_more_trees_than_a_byte_counts():
    x = np.zeros((2, 300), dtype=np.int32)
    np.testing.assert_array_equal(dense_proximity(x), np.ones((2, 2)))
    out = np.ones((2, 300), dtype=bool)
    np.testing.assert_array_equal(dense_proximity(x, x, out_of_bag_x=out), np.ones((2, 2)))


@pytest.mark.parametrize("node", [0, 1, 253, 254, 255, 65_534, 65_535])
def test_no_node_is_taken_for_a_bag(node):
    x, out = np.full((1, 2), node), np.array([[True, False]])
    for other in (0, 1, node):
        y = np.array([[other, node]])
        expected = plain_proximity(x, y, out, None)
        np.testing.assert_array_equal(dense_proximity(x, y, out_of_bag_x=out), expected)
        np.testing.assert_array_equal(dense_proximity(y, x, out_of_bag_y=out), expected)


# ---- laws of a forest ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clouds():
    """Three clouds of 60 rows, the last two rows lie with a cloud that is not of their class."""
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    X, y = np.repeat(centres, 60, axis=0) + rng.normal(size=(180, 2)), np.repeat(np.arange(3), 60)
    X[-2:] = centres[0] + 0.1
    forest = RandomForestClassifier(60, min_samples_leaf=5, random_state=0).fit(X, y)
    return X, y, forest.apply(X)


def test_rows_are_nearest_to_their_cloud(clouds):
    _, y, leaves = clouds
    full = dense_proximity(leaves)
    np.testing.assert_array_equal(full, full.T)
    assert full[:60, :60].mean() > 5 * full[:60, 60:178].mean()
    nearest = top_k_proximity(leaves, k=5)
    assert (np.diff(nearest.indptr) == 5).all()
    own = y[nearest.indices].reshape(-1, 5) == y[:, np.newaxis]
    assert own[:178].mean() > 0.95


def test_misplaced_rows_are_the_outliers_of_their_class(clouds):
    _, y, leaves = clouds
    scores = outlier_scores(leaves, y)
    assert set(np.argsort(scores)[-2:]) == {178, 179}
    assert scores[-2:].min() > 3 * scores[:-2].max()
    for label in range(3):
        assert abs(np.median(scores[y == label])) < 1e-12
        assert np.abs(scores[y == label]).mean() == pytest.approx(1.0)


def test_scores_take_classes_of_any_kind(clouds):
    _, y, leaves = clouds
    named = np.array(["ash", "oak", "yew"])[y]
    np.testing.assert_array_equal(outlier_scores(leaves, named), outlier_scores(leaves, y))


def test_rows_that_are_equally_far_score_0():
    np.testing.assert_array_equal(outlier_scores(np.ones((4, 3), dtype=np.int32)), np.zeros(4))
    # Squares of 1/5 and 3/5 in another order have another sum, in the last digit.
    leaves = np.array([[2, 1, 3, 3, 3], [1, 2, 1, 2, 0], [3, 0, 3, 2, 3], [1, 1, 0, 1, 0]])
    np.testing.assert_array_equal(outlier_scores(leaves), np.zeros(4))


def test_a_row_in_every_bag_is_near_to_itself_only():
    out = np.array([[False, False], [True, True], [True, True]])
    full = dense_proximity(np.ones((3, 2), dtype=np.int32), out_of_bag_x=out)
    np.testing.assert_array_equal(full, [[1, 0, 0], [0, 1, 1], [0, 1, 1]])


def test_a_hundred_thousand_rows_never_make_a_full_matrix():
    rng = np.random.default_rng(0)
    leaves = rng.integers(0, 20_000, (100_000, 5)).astype(np.int32)
    nearest = top_k_proximity(leaves, k=3, threads=2)
    assert nearest.shape == (100_000, 100_000)
    assert nearest.nnz <= 300_000
    for row in (0, 54_321, 99_999):
        columns, values = nearest[row].indices, nearest[row].data
        np.testing.assert_array_equal(values, (leaves[columns] == leaves[row]).mean(axis=1))
        shares = np.delete((leaves == leaves[row]).mean(axis=1), row)
        np.testing.assert_array_equal(values, np.sort(shares)[::-1][:3])


# ---- memory --------------------------------------------------------------------------------------------------------


def test_a_matrix_beyond_memory_is_refused_by_naming_top_k():
    with pytest.raises(MemoryError, match=r"4 × 4 rows takes 0\.0 GB, but only 0\.0 GB are free: pass top_k= to keep"):
        dense_proximity(np.ones((4, 2), dtype=np.int32), max_bytes=127)
    assert dense_proximity(np.ones((4, 2), dtype=np.int32), max_bytes=128).shape == (4, 4)
    with pytest.raises(MemoryError, match=r"takes 8000\.0 GB, but only 16\.0 GB"):
        check_fits_in_memory(1_000_000, 1_000_000, max_bytes=16 * 10**9)


def test_free_memory_is_asked_for(monkeypatch):
    monkeypatch.setattr(proximity, "available_bytes", lambda: 1e6)
    check_fits_in_memory(100, 1250)
    with pytest.raises(MemoryError, match="top_k="):
        check_fits_in_memory(100, 1251)


# ---- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, -1, 2.5, True, None])
def test_k_must_be_a_positive_number(k):
    with pytest.raises(ValueError, match=r"top_k=.*positive whole number"):
        top_k_proximity(np.ones((2, 2), dtype=np.int32), k=k)


def test_tables_must_fit_each_other():
    x = np.ones((3, 2), dtype=np.int32)
    with pytest.raises(ValueError, match="leaves_x has 2 trees, but leaves_y has 4"):
        dense_proximity(x, np.ones((3, 4), dtype=np.int32))
    with pytest.raises(ValueError, match=r"leaves_x must be whole numbers \(rows, trees\), not float64 of \(3, 2\)"):
        dense_proximity(x.astype(float))
    with pytest.raises(ValueError, match=r"leaves_y must be whole numbers .* not int32 of \(3,\)"):
        dense_proximity(x, x[:, 0])
    with pytest.raises(ValueError, match=r"whole numbers .* of \(3, 0\)"):
        dense_proximity(x[:, :0])
    with pytest.raises(ValueError, match="leaves_x has the node -1: nodes are numbered from 0"):
        top_k_proximity(x - 2)
    with pytest.raises(ValueError, match=r"out_of_bag_x must be a bool .* \(3, 2\), not bool of \(3, 1\)"):
        dense_proximity(x, out_of_bag_x=np.ones((3, 1), dtype=bool))
    with pytest.raises(ValueError, match=r"out_of_bag_y must be a bool .* not int32"):
        dense_proximity(x, x, out_of_bag_y=x)
    with pytest.raises(ValueError, match=r"classes has the shape \(2,\): give a class for each of the 3 rows"):
        outlier_scores(x, [0, 1])
