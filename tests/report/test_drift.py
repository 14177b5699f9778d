"""Drift: rows of one distribution hardly ever drift, however many categories are rare; rows that moved do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arboretum.data.schema import UNKNOWN, ColumnSchema, Schema
from arboretum.data.table import Table
from arboretum.report.drift import (
    Drift,
    column_drifts,
    design_effect,
    kolmogorov_smirnov,
    pooled,
    stability_index,
    target_drifts,
    unit_factor,
)
from arboretum.report.findings.columns import unseen_by_chance
from arboretum.report.subject import Rows, Subject
from arboretum.tasks import TASKS

NUMBER = ColumnSchema("x", "numeric", "number")
NUMBERS = st.lists(
    st.one_of(st.floats(allow_nan=False, width=32), st.sampled_from([0.0, 1.0])), min_size=1, max_size=40
)


def drift(before, after, column=NUMBER, groups=(None, None)) -> Drift:
    parts = [
        Rows(None, Table(Schema((column,), True), [np.asarray(values)]), None, group=group)
        for values, group in zip((before, after), groups, strict=True)
    ]
    return column_drifts(Subject(None, TASKS["regression"], parts[1], parts[0], 100))[0]


@given(NUMBERS, NUMBERS)
def test_distances_of_numbers(before, after):
    first, second = np.array(before), np.array(after)
    gaps = [abs((first <= value).mean() - (second <= value).mean()) for value in [*before, *after]]
    assert kolmogorov_smirnov(np.sort(first), np.sort(second)) == pytest.approx(max(gaps))
    assert drift(first, first).index <= 0
    assert drift(first, first).chi_square == pytest.approx(0)
    assert not drift(first, first).is_certain


@pytest.mark.parametrize("values", [[1.0, 2.0], [np.nan, np.nan]], ids=str)
def test_a_column_of_missing_values_drifts_by_its_holes_alone(values):
    holes = [np.nan] * 200
    for before, after in ((holes, values * 100), (values * 100, holes)):
        assert drift(before, after).is_certain == np.isfinite(values).all()


@pytest.mark.parametrize("sizes", [(200, 150), (3000, 1000), (150, 2000)])
def test_rows_of_one_distribution_do_not_drift(sizes):
    draw = np.random.default_rng(11)
    found = [drift(*(draw.lognormal(size=n).round(1) for n in sizes)) for _ in range(200)]
    assert sum(one.is_certain for one in found) == 0
    assert abs(np.mean([one.index for one in found])) < 0.01  # what chance adds is taken off
    moved = drift(draw.normal(size=sizes[0]), draw.normal(1, 1, size=sizes[1]))
    assert moved.verdict == "moved"


def random_levels(draw, n_train, n_test, n_levels):
    """Codes of a random holdout of a column with many rare levels; those that training lacks are unknown."""
    share = draw.dirichlet(np.full(n_levels, 0.3))
    train, test = (draw.choice(n_levels, n, p=share) for n in (n_train, n_test))
    known, codes = np.unique(train, return_inverse=True)
    place = np.searchsorted(known, test)
    seen = (place < len(known)) & (known[np.minimum(place, len(known) - 1)] == test)
    column = ColumnSchema("c", "categorical", "string", tuple(map(str, known.tolist())))
    return column, codes.astype(np.int32), np.where(seen, place, UNKNOWN).astype(np.int32)


@pytest.mark.parametrize("n_levels", [5, 300, 20_000])
def test_levels_that_only_one_part_has_are_no_drift(n_levels):
    draw = np.random.default_rng(3)
    excess = []
    for _ in range(100):
        column, train, test = random_levels(draw, 900, 300, n_levels)
        found = drift(train, test, column)
        assert not found.is_certain
        assert found.verdict in ("stable", "may be chance")
        expected, error = unseen_by_chance(train, len(test))
        excess.append(((test == UNKNOWN).sum() - expected) / error)
    assert np.abs(excess).max() < 4
    assert abs(np.mean(excess)) < 0.4  # Good's estimate is right on average


def test_new_levels_in_many_rows_are_drift():
    column, train, test = random_levels(np.random.default_rng(0), 900, 300, 50)
    assert drift(train, np.where(np.arange(300) < 100, UNKNOWN, test), column).verdict == "moved"


def test_rows_of_a_query_are_not_independent():
    """Columns of queries are constant within them: sixty queries are sixty values, however many rows they have."""
    draw = np.random.default_rng(5)
    alike, apart = 0, 0
    for _ in range(60):
        values, queries = draw.normal(size=80), np.repeat(np.arange(80), 25)
        groups = (queries[: 60 * 25], queries[60 * 25 :])
        before, after = (values[group] for group in groups)
        alike += drift(before, after, groups=groups).is_certain
        apart += drift(before, after).is_certain
    assert alike == 0
    assert apart > 30
    assert design_effect(draw.integers(0, 3, 2000), np.arange(2000)) == pytest.approx(1, abs=0.1)


def test_targets_drift_too():
    draw = np.random.default_rng(0)
    table = Table(Schema((NUMBER,), True), [np.zeros(500)])

    def found(before, after, task):
        train, test = (Rows(None, table, part[:, None]) for part in (before, after))
        return target_drifts(Subject(None, TASKS[task], test, train, 100))[0]

    labels = np.where(draw.random(1000) < 0.3, "yes", "no").astype(object)
    assert found(labels[:500], labels[500:], "binary").verdict == "stable"
    assert found(labels[:500], np.full(500, "no", object), "binary").verdict == "moved"
    assert found(draw.normal(size=500), draw.normal(2, 1, size=500), "regression").verdict == "moved"


@given(st.floats(0.001, 1000))
def test_a_change_of_units_is_told_by_its_factor(factor):
    values = np.sort(np.random.default_rng(0).lognormal(size=400))
    found = unit_factor(values, factor * values)
    if abs(np.log(factor)) > 0.1:
        assert found == pytest.approx(factor)
    elif abs(np.log(factor)) < 0.09:
        assert found is None
    assert unit_factor(values, values + 5) is None


def test_every_row_is_in_one_bin():
    before, after = np.array([1] * 30 + [2, 3, 3]), np.array([0, 1, 3])
    first, second = pooled(before, after, 4)
    assert first.tolist() == [1] * 30 + [0, 0, 0]
    assert second.tolist() == [0, 1, 0]
    assert stability_index(np.bincount(first), np.bincount(second)) > 0
