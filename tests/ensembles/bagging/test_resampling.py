"""Draws of rows and columns: by content and weight, whatever the order and the container."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csc_matrix, csr_matrix

from arboretum.data.table import read_table
from arboretum.ensembles.bagging.resampling import RowDraws, columns_of_table, content_keys, draw_columns

STEPS = np.random.default_rng(0).integers(0, 4, size=(200, 3)).astype(float)


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 12), st.just(2)), elements=st.sampled_from([0.0, 1.0, np.nan, np.inf])
    ),
    st.data(),
    st.booleans(),
)
def test_a_row_of_weight_three_is_three_rows(rows, data, replace):
    n = len(rows)
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)), dtype=float)
    target = np.zeros(n)
    repeated = np.repeat(np.arange(n), weight.astype(int))
    order = np.array(data.draw(st.permutations(range(len(repeated)))))

    def drawn(positions, weight):
        keys = content_keys(read_table(rows[positions]), target[positions])
        bag = RowDraws.of(keys, weight, 0.7, replace=replace).bag(seed=3, member=1)
        found = Counter()
        for row, copies in zip(bag.rows, bag.weight, strict=True):
            found[rows[positions][row].tobytes()] += copies
        return found

    kept = np.flatnonzero(weight)
    assert drawn(kept, weight[kept]) == drawn(repeated, None) == drawn(repeated[order], None)


def test_draws_of_a_seed_stay_what_they_are():
    keys, weight = np.arange(8, dtype=np.uint64), np.arange(8) / 7 + 0.1

    def rows(weight, replace):
        bag = RowDraws.of(keys, weight, 0.5, replace=replace).bag(seed=1, member=2)
        return np.repeat(bag.rows, bag.copies).tolist()

    assert rows(None, True) == [0, 1, 3, 5]
    assert rows(weight, True) == [2, 2, 5, 6]
    assert rows(None, False) == [0, 1, 4, 5]
    assert draw_columns(8, 3, replace=False, seed=1, member=2).tolist() == [0, 4, 7]
    assert draw_columns(8, 8, replace=True, seed=1, member=2).tolist() == [3, 4, 5, 7]


# --------------------------------------------------------------------------------------------- content


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(np.float32, (5, 3), elements=st.floats(width=32) | st.sampled_from([0.0, -0.0, np.nan])))
def test_content_does_not_depend_on_the_container(values):
    y = np.arange(5.0)
    keys = content_keys(read_table(values), y)
    assert (content_keys(read_table(values.astype(float)), y) == keys).all()
    assert (content_keys(read_table(csc_matrix(values)), y) == keys).all()
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    assert (content_keys(read_table(frame), y) == keys).all()
    assert (content_keys(read_table(pl.DataFrame(frame[["c", "a", "b"]])), y) == keys).all()


def test_content_tells_rows_apart():
    grid = np.array(np.meshgrid(np.arange(30.0), np.arange(30.0), [0.0, np.nan])).reshape(3, -1).T
    assert len(np.unique(content_keys(read_table(grid), np.zeros(1800)))) == 1800
    assert len(np.unique(content_keys(read_table(np.zeros((1800, 1))), np.arange(1800.0)))) == 1800
    swapped = content_keys(read_table(grid[:, [1, 0, 2]]), np.zeros(1800))
    assert (swapped != content_keys(read_table(grid), np.zeros(1800))).sum() > 1700


def test_columns_of_a_sparse_table():
    table = columns_of_table(read_table(csr_matrix(STEPS)), np.array([0, 2]))
    [(_, columns)] = list(table.column_batches())
    np.testing.assert_array_equal(np.column_stack(columns), STEPS[:, [0, 2]])
