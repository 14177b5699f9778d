"""Combinations of columns that tell more than their parts: found where they are, and nowhere else."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from arboretum.data.schema import ColumnSchema, Schema
from arboretum.data.table import Table, read_table
from arboretum.encoding import combinations as category_combinations
from arboretum.encoding.combinations import CHANCE, best_combinations
from arboretum.encoding.target_statistics import draw_orders


def table_of(codes):
    sizes = codes.max(axis=0) + 1
    schema = [ColumnSchema(f"c{j}", "categorical", "number", tuple(range(n))) for j, n in enumerate(sizes)]
    return Table(Schema(tuple(schema), named=True), list(codes.astype(np.int32).T.copy()))


def plain_loss(codes, y, columns, order, n_classes):
    """Nats that ordered shares, or means in units of twice the variance, lose; no columns: the prior alone."""
    seen, loss = {}, 0.0
    for row in order:
        level = tuple(codes[row, list(columns)])
        before = seen.setdefault(level, []) if columns else []
        if n_classes is None:
            loss += (y[row] - (sum(before) + y.mean()) / (len(before) + 1)) ** 2 / (2 * y.var())
        else:
            loss -= math.log((before.count(y[row]) + np.mean(y == y[row])) / (len(before) + 1))
        before.append(y[row])
    return loss


def plain_best(codes, y, n_classes, max_size, max_count, order):
    """Try everything that the search may try, by its definition."""
    width = codes.shape[1]
    loss = {(j,): plain_loss(codes, y, (j,), order, n_classes) for j in range(width)}
    loss[()] = plain_loss(codes, y, (), order, n_classes)
    gains, frontier = {}, [(j,) for j in range(width)]
    for _ in range(1, max_size):
        tried = sorted({tuple(sorted({*part, j})) for part in frontier for j in range(width) if j not in part})
        loss |= {one: plain_loss(codes, y, one, order, n_classes) for one in tried}
        better = {}
        for one in tried:
            parts = [part for size in range(len(one)) for part in itertools.combinations(one, size) if part in loss]
            gain = min(loss[part] for part in parts) - loss[one]
            if gain > math.log(len(tried) / CHANCE):
                better[one] = gain
        frontier = sorted(better, key=lambda one: (-better[one], one))[:max_count]
        gains |= better
    return sorted(gains, key=lambda one: (-gains[one], one))[:max_count]


@pytest.mark.parametrize("n_classes", [None, 2, 3])
@pytest.mark.parametrize(("max_size", "max_count"), [(2, 8), (3, 2), (3, 8)])
def test_the_search_is_that_of_plain_loops(n_classes, max_size, max_count):
    rng = np.random.default_rng(max_size)
    codes = rng.integers(0, 4, size=(600, 5))
    signal = (codes[:, 0] * codes[:, 1]) % 3 + (codes[:, 2] == codes[:, 3]) * 2
    y = signal + rng.normal(size=600) if n_classes is None else (signal % n_classes).astype(float)
    order = draw_orders(600, 1, seed=4)[0]
    expected = plain_best(codes, y, n_classes, max_size, max_count, order)
    found = best_combinations(
        table_of(codes), y, range(5), n_classes=n_classes, max_size=max_size, max_count=max_count, seed=4
    )
    assert found == expected
    assert found  # the law would hold of nothing as well


def test_three_columns_that_mean_something_only_together_are_found_by_way_of_a_pair():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, size=(4000, 6))
    y = ((codes[:, 1] + codes[:, 4]) % 3 == 0).astype(float)
    flip = (codes[:, 5] == 0) & (rng.random(4000) < 0.9)
    y[flip] = 1 - y[flip]
    table = table_of(codes)
    found = best_combinations(table, y, range(6), n_classes=2, max_size=3)
    assert found == [(1, 4, 5), (1, 4)]
    assert best_combinations(table, y, [0, 2, 3], n_classes=2, max_size=3) == []
    assert best_combinations(table, y, range(6), n_classes=2, max_size=1) == []
    assert best_combinations(table, y, range(6), n_classes=2, max_size=3, max_count=1) == [(1, 4, 5)]
    assert best_combinations(table, y, range(6), n_classes=2) == [(1, 4)]


@pytest.mark.parametrize("n_classes", [None, 2])
def test_noise_is_seldom_combined(n_classes):
    """Columns of few and many levels; in at most about one of twenty tables is any pair taken."""
    taken = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        codes = np.column_stack([rng.integers(0, size, 400) for size in (2, 5, 20, 100, 400, 400)])
        y = rng.normal(size=400) if n_classes is None else rng.integers(0, 2, 400).astype(float)
        taken += bool(best_combinations(table_of(codes), y, range(6), n_classes=n_classes))
    assert taken <= 3


def test_rows_without_weight_and_the_scale_of_weights_do_not_matter():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, size=(1000, 3))
    y = ((codes[:, 0] + codes[:, 1]) % 2).astype(float)
    weight = rng.random(1000)
    table = table_of(codes)
    found = best_combinations(table, y, range(3), n_classes=2, weight=weight)
    assert found == [(0, 1)]
    assert best_combinations(table, y, range(3), n_classes=2, weight=weight * 1e30) == found
    weight[y == 0] = 0
    assert best_combinations(table, y, range(3), n_classes=2, weight=weight) == []


def test_only_a_sample_of_the_rows_is_read(monkeypatch):
    monkeypatch.setattr(category_combinations, "SAMPLE_ROWS", 300)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, size=(1000, 3))
    y = ((codes[:, 0] + codes[:, 1]) % 2).astype(float)
    changed = y.copy()
    outside = draw_orders(1000, 1, seed=0)[0, 300:]
    changed[outside] = rng.integers(0, 2, 700)
    assert best_combinations(table_of(codes), changed, range(3), n_classes=2) == [(0, 1)]


@pytest.mark.parametrize("y", [np.zeros(50), np.full(50, 1e300), np.r_[np.full(25, -1e300), np.full(25, 1e300)]])
def test_constant_and_huge_targets(y):
    codes = np.column_stack([np.arange(50) % 2, np.arange(50) % 3])
    assert best_combinations(table_of(codes), y, [0, 1]) == []
    assert best_combinations(table_of(codes), np.zeros(50), [0, 1], n_classes=1) == []


def test_errors():
    table = read_table([["a", 1.0], ["b", 2.0]])
    with pytest.raises(ValueError, match="columns has column 'x1', which is numeric: name it in categorical_features"):
        best_combinations(table, [0, 1], [0, 1])
    with pytest.raises(ValueError, match="columns has 2, but the table has columns 0 to 1"):
        best_combinations(table, [0, 1], [0, 2])
    with pytest.raises(ValueError, match="target is 1 in row 1: give class codes from 0 to 0"):
        best_combinations(table, [0, 1], [0], n_classes=1)
