"""Isolation trees: the kernel against its twin, training against prediction, contributions against theirs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.reference import isolation as slow
from tests.reference.oblique import draw

from arboretum import _kernel
from arboretum.data.table import read_table
from arboretum.ensembles.isolation import IsolationParams, RowPool, isolate
from arboretum.model.forest import CATEGORY, LEAF, LISTED, NUMERIC, OBLIQUE
from arboretum.reading import path_contributions

SEEDS = st.integers(0, 2**32 - 1)
ODD = [0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e16, 1e300, -1e300, 1.7e308, -1.7e308, math.inf, -math.inf, math.nan]
law = settings(max_examples=30, deadline=None)


def random_table(seed, n_categories=40):
    """Few rows of odd numbers, plain numbers, ties and categories with holes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 50))
    kinds = rng.integers(0, 4, int(rng.integers(1, 6)))
    columns = []
    for kind in kinds:
        if kind == 0:
            columns.append(rng.choice(ODD, n).tolist())
        elif kind == 1:
            columns.append(rng.normal(size=n).tolist())
        elif kind == 2:
            columns.append(rng.choice([0.0, 1.0, 2.0, math.nan], n).tolist())
        else:
            names = [f"c{i}" for i in range(int(rng.integers(1, n_categories)))] + [None]
            columns.append(rng.choice(np.array(names, dtype=object), n).tolist())
    return read_table([list(row) for row in zip(*columns, strict=True)]) if kinds.size else None


def ranks_of(table):
    ranks = []
    for column in table.schema.columns:
        order = sorted(column.categories)
        ranks.append([order.index(c) for c in column.categories] if column.kind == "categorical" else None)
    return ranks


def params_of(table, seed, **changes):
    n = table.n_rows
    usual = {"n_trees": 3, "n_draws": n, "with_replacement": False, "max_features": 99, "max_terms": 1, "threads": 1}
    return IsolationParams(**{**usual, "seed": seed, **changes})


def assert_same_tree(forest, tree, twin):
    first, last = forest.tree_start[tree : tree + 2]
    assert last - first == len(twin.nodes)
    for i, (kind, features, what, missing_left, n_rows, value) in zip(range(first, last), twin.nodes, strict=True):
        assert (forest.kind[i], forest.n_rows[i]) == (kind, n_rows)
        assert forest.value[i, 0] == pytest.approx(value, rel=1e-12)
        assert forest.feature[i] == (features[0] if features else -1)
        assert forest.missing_left[i] == missing_left
        if kind == NUMERIC:
            assert forest.threshold[i] == what
        elif kind == OBLIQUE:
            part = slice(forest.projection_start[i], forest.projection_start[i + 1])
            assert forest.projection_feature[part].tolist() == features
            np.testing.assert_allclose(forest.projection_weight[part], what[1], rtol=1e-12)
            np.testing.assert_allclose(forest.projection_fill[part], what[2], rtol=1e-12)
        elif kind == LISTED:
            assert forest.set_words[forest.set_start[i] : forest.set_start[i + 1]].tolist() == what
        elif kind == CATEGORY:
            words = forest.set_words[forest.set_start[i] : forest.set_start[i + 1]]
            bits = np.unpackbits(words.view(np.uint8), bitorder="little")
            assert np.flatnonzero(bits).tolist() == what


@law
@given(SEEDS, st.integers(1, 4), st.booleans(), st.integers(1, 5))
def test_trees_are_those_of_the_twin(seed, max_terms, with_replacement, max_features):
    table = random_table(seed)
    rng = np.random.default_rng(seed)
    n_draws = int(rng.integers(1, table.n_rows + 1))
    params = params_of(
        table,
        seed,
        n_draws=n_draws,
        with_replacement=with_replacement,
        max_terms=max_terms,
        max_features=max_features,
    )
    pool, _ = RowPool.of(table, None)
    forest, _ = isolate(table, pool, params)
    forest.validate(table.schema.n_features)
    for tree in range(3):
        rows = slow.drawn_rows(pool.rows.tolist(), n_draws, with_replacement, seed, tree)
        twin = slow.Isolation(
            table.columns,
            ranks_of(table),
            rows,
            draw(seed, slow.TREE, tree),
            max_depth=math.ceil(math.log2(max(n_draws, 2))),
            max_terms=max_terms,
            max_features=max_features,
        )
        assert_same_tree(forest, tree, twin)


@law
@given(SEEDS)
def test_rows_are_in_the_order_of_their_keys(seed):
    table = random_table(seed)
    pool, has_missing = RowPool.of(table, None)
    keys = [slow.content_key(table.columns, ranks_of(table), row) for row in range(table.n_rows)]
    assert pool.rows.tolist() == sorted(range(table.n_rows), key=lambda row: (keys[row], row))
    holes = [(c == -1).any() if c.dtype == np.int32 else np.isnan(c).any() for c in table.columns]
    assert has_missing == holes


@law
@given(st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**63]), min_size=1, max_size=200))
@example([7])
@example([2**64 - 1] * 3 + [0] * 3)
def test_order_by_key_sorts(keys):
    given_keys = np.array(keys, np.uint64)
    np.testing.assert_array_equal(_kernel.order_by_key(given_keys), np.argsort(given_keys, kind="stable"))


@law
@given(SEEDS, st.sampled_from([1, 2, 9]))
def test_training_rows_reach_the_leaves_that_counted_them(seed, max_terms):
    table = random_table(seed)
    pool, _ = RowPool.of(table, None)
    forest, _ = isolate(table, pool, params_of(table, seed, max_terms=max_terms))
    reached = forest.apply(table.columns, table.n_rows)
    for tree in range(forest.n_trees):
        nodes = slice(*forest.tree_start[tree : tree + 2])
        counts = np.bincount(reached[:, tree], minlength=len(forest.kind[nodes]))
        np.testing.assert_array_equal(counts, np.where(forest.kind[nodes] == LEAF, forest.n_rows[nodes], 0))


@law
@given(SEEDS, st.integers(2, 8), st.sampled_from([1, 3]))
def test_threads_change_nothing(seed, threads, max_terms):
    table = random_table(seed)
    forests = []
    for n in (1, threads):
        pool, _ = RowPool.of(table, None, threads=n)
        forests.append(isolate(table, pool, params_of(table, seed, n_trees=7, threads=n, max_terms=max_terms))[0])
    for name, array in forests[0].to_arrays().items():
        np.testing.assert_array_equal(array, getattr(forests[1], name), strict=True)


def test_path_lengths_are_those_of_random_search_trees():
    for n in (1, 2, 3, 4, 7, 50, 257):
        rows = np.zeros((n, 1))  # rows that no cut can tell apart
        pool, _ = RowPool.of(read_table(rows), None)
        forest, _ = isolate(read_table(rows), pool, params_of(read_table(rows), 0, n_trees=1))
        assert forest.n_nodes == 1
        assert forest.value[0, 0] == pytest.approx(slow.average_path_length(n), rel=1e-13)
    assert slow.average_path_length(3) == pytest.approx(5 / 3, abs=2.0**-33)  # leaves at the depths 1, 2, 2


@pytest.mark.parametrize("with_replacement", [False, True])
@pytest.mark.parametrize("weight", [None, np.array([1.0, 2.5, 0.25, 4.0, 1.0, 0.25, 0.5, 0.5])])
def test_rows_are_drawn_by_weight(with_replacement, weight):
    pool = np.arange(8, dtype=np.uint32)
    draws = 3
    sample = _kernel.IsolationSample(pool, weight, draws, with_replacement)
    drawn = np.array([sample.rows(5, tree) for tree in range(4000)])
    shares = np.bincount(drawn[:, :1].ravel(), minlength=8) / len(drawn)
    if weight is not None:
        np.testing.assert_allclose(shares, weight / weight.sum(), atol=0.03)  # the first draw is by weight alone
    else:
        np.testing.assert_allclose(np.bincount(drawn.ravel()) / len(drawn), draws / 8, atol=0.03)
    all_differ = (np.diff(np.sort(drawn, axis=1), axis=1) > 0).all()
    assert all_differ != with_replacement


def test_columns_are_drawn_alike():
    table = read_table(np.random.default_rng(0).normal(size=(30, 6)))
    pool, _ = RowPool.of(table, None)
    forest, _ = isolate(table, pool, params_of(table, 1, n_trees=600, max_features=2))
    used = [set(np.unique(forest[t : t + 1].feature)) - {-1} for t in range(600)]
    assert {len(features) for features in used} == {2}
    counts = np.bincount(np.concatenate([list(features) for features in used]))
    np.testing.assert_allclose(counts, 200, atol=50)


def test_the_first_cut_is_uniform_between_the_extremes():
    table = read_table(np.array([[0.0], [1.0], [4.0]]))
    pool, _ = RowPool.of(table, None)
    forest, _ = isolate(table, pool, params_of(table, 3, n_trees=4000))
    cuts = np.sort(forest.threshold[forest.tree_start[:-1]]) / 4
    assert np.abs(cuts - (np.arange(4000) + 0.5) / 4000).max() < 0.03  # Kolmogorov and Smirnov


@law
@given(SEEDS, st.sampled_from([1, 3]), st.sampled_from(["average", "missing"]))
@example(466024, 3, "average")  # finite terms whose sum is not
def test_contributions_are_those_of_the_twin(seed, max_terms, unknown):
    table = random_table(seed)
    pool, _ = RowPool.of(table, None)
    forest, _ = isolate(table, pool, params_of(table, seed, max_terms=max_terms))
    rng = np.random.default_rng(seed)
    columns = [np.array(column) for column in table.columns]
    for column in columns:  # unknown categories, new numbers
        column[rng.random(len(column)) < 0.3] = -2 if column.dtype == np.int32 else 0.3
    got, expected = path_contributions(forest, columns, table.n_rows, unknown=unknown, threads=2)
    want, mean = slow.contributions(forest, columns, table.n_rows, len(columns), unknown)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    assert expected == pytest.approx(mean)
    raw = forest.raw(columns, table.n_rows, unknown=unknown)[:, 0]
    np.testing.assert_allclose(got.sum(axis=1), raw - expected, rtol=1e-9, atol=1e-9)


def test_contributions_need_one_output():
    from arboretum import RandomForestClassifier

    X = np.arange(12.0)[:, None]
    forest = RandomForestClassifier(n_estimators=2).fit(X, np.arange(12) % 3).forest_
    with pytest.raises(ValueError, match="need trees of one output with constant leaves"):
        path_contributions(forest, [X[:, 0]], 12)


def test_a_table_needs_keys_for_each_column():
    with pytest.raises(ValueError, match="give keys of categories for each column"):
        _kernel.IsolationTable([np.zeros(3)], [])
    with pytest.raises(TypeError, match="column 0 must be float32, float64 or int32"):
        _kernel.IsolationTable([np.zeros(3, np.int64)], [[]])


def test_float32_is_the_float64_it_equals():
    X = np.random.default_rng(1).normal(size=(60, 3)).astype(np.float32)
    wide, narrow = read_table(X.astype(np.float64)), read_table(X)
    forests = [isolate(t, RowPool.of(t, None)[0], params_of(t, 2, max_terms=2))[0] for t in (wide, narrow)]
    for name, array in forests[0].to_arrays().items():
        np.testing.assert_array_equal(array, getattr(forests[1], name), strict=True)
