"""Rows dealt out: every row once, whole groups, equal shares of classes, in any order of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arboretum.ensembles.combining.folds import (
    DealtRows,
    blocks,
    blocks_of_units,
    folds,
    given_splits,
    number_of_folds,
    share,
)


def dealt(n, *, strata=None, groups=None, weight=None, seed=0):
    keys = np.random.default_rng(seed).integers(0, 2**63, n, dtype=np.uint64)
    labels = None if strata is None else list(range(int(strata.max()) + 1))
    return DealtRows(keys, strata, labels, groups, weight)


@given(n=st.integers(4, 60), n_folds=st.integers(2, 4), seed=st.integers(0, 99), repeat=st.integers(0, 3))
def test_every_row_is_held_out_once_and_never_fitted_then(n, n_folds, seed, repeat):
    found = folds(dealt(n), n_folds, seed, repeat)
    assert np.array_equal(np.sort(np.concatenate([held for _, held in found])), np.arange(n))
    for fit, held in found:
        assert np.array_equal(np.sort(np.concatenate([fit, held])), np.arange(n))
        assert n // n_folds <= len(held) <= n // n_folds + 1


@given(counts=st.lists(st.integers(5, 30), min_size=2, max_size=4), seed=st.integers(0, 99))
def test_folds_have_equal_shares_of_each_class(counts, seed):
    strata = np.repeat(np.arange(len(counts)), counts)
    for _, held in folds(dealt(len(strata), strata=strata), 5, seed):
        for code, count in enumerate(counts):
            assert abs((strata[held] == code).sum() - count / 5) <= 1


@given(seed=st.integers(0, 99))
def test_the_order_of_the_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    groups, strata, order = rng.integers(0, 8, 40), rng.integers(0, 2, 40), rng.permutation(40)
    groups = np.unique(groups, return_inverse=True)[1]
    plain = dealt(40, strata=strata, seed=seed)
    for own in (plain, DealtRows(plain.keys, None, None, groups, None)):
        other = DealtRows(
            own.keys[order],
            None if own.strata is None else own.strata[order],
            own.labels,
            None if own.groups is None else own.groups[order],
            None,
        )
        for (_, one), (_, two) in zip(folds(own, 3, seed), folds(other, 3, seed), strict=True):
            assert set(one) == set(order[two])


@given(n_groups=st.integers(3, 12), seed=st.integers(0, 99))
def test_groups_stay_whole(n_groups, seed):
    groups = np.append(np.arange(n_groups), np.random.default_rng(seed).integers(0, n_groups, 50))
    rows = dealt(len(groups), groups=groups)
    for fit, held in [*folds(rows, 3, seed), share(rows, 0.3, seed, last=False)]:
        assert not set(groups[fit]) & set(groups[held])
        assert len(held)


def test_the_largest_groups_are_dealt_first():
    groups = np.repeat([0, 1, 2, 3], [60, 20, 20, 20])
    sizes = sorted(len(held) for _, held in folds(dealt(120, groups=groups), 2, 0))
    assert sizes == [60, 60]


def test_repeats_deal_anew():
    rows = dealt(30)
    assert any(set(one) != set(two) for (_, one), (_, two) in zip(folds(rows, 3, 0), folds(rows, 3, 0, 1), strict=True))


@given(n=st.integers(3, 40), n_blocks=st.integers(1, 5))
def test_blocks_never_look_ahead(n, n_blocks):
    if n < n_blocks + 1:
        with pytest.raises(ValueError, match=f"cv={n_blocks} blocks after the first, but X has n_samples={n}"):
            blocks(n, n_blocks)
        return
    found = blocks(n, n_blocks)
    assert len(found) == n_blocks
    assert found[-1][1][-1] == n - 1
    for fit, held in found:
        assert np.array_equal(fit, np.arange(held[0]))
        assert len(held)


@given(units=st.lists(st.integers(0, 6), min_size=1, max_size=40), n_blocks=st.integers(1, 4))
def test_blocks_of_units_part_none_of_them(units, n_blocks):
    unit = np.unique(units, return_inverse=True)[1]
    first = [int(np.flatnonzero(unit == one)[0]) for one in range(unit.max() + 1)]
    if len(first) < n_blocks + 1:
        with pytest.raises(ValueError, match=f"cv={n_blocks} blocks after the first, but X has groups={len(first)}"):
            blocks_of_units(unit, n_blocks)
        return
    in_time = np.argsort(first)
    for (fit, held), (early, late) in zip(blocks_of_units(unit, n_blocks), blocks(len(first), n_blocks), strict=True):
        assert fit.tolist() == [row for row in range(len(unit)) if unit[row] in in_time[early]]
        assert held.tolist() == [row for row in range(len(unit)) if unit[row] in in_time[late]]


@given(n=st.integers(2, 60), fraction=st.floats(0.05, 0.9), last=st.booleans())
def test_a_share_is_held_out(n, fraction, last):
    if last and round(n * fraction) == n:
        with pytest.raises(ValueError, match="leaves no row to fit or none to combine on"):
            share(dealt(n), fraction, 0, last=last)
        return
    fit, held = share(dealt(n), fraction, 0, last=last)
    assert np.array_equal(np.sort(np.concatenate([fit, held])), np.arange(n))
    assert abs(len(held) - n * fraction) <= 1 or len(held) == 1
    assert not last or held[0] == len(fit)


def test_the_number_of_folds_fits_the_smallest_class():
    few = dealt(10, strata=np.array([0] * 7 + [1] * 3))
    assert number_of_folds(few, "auto") == 3
    assert number_of_folds(dealt(10, strata=np.array([0] * 9 + [1])), "auto") == 2
    assert number_of_folds(dealt(100), "auto") == 5
    with pytest.raises(ValueError, match="cv=5, but class 1 has 3 rows, so that some folds lack it"):
        number_of_folds(few, 5)
    with pytest.raises(ValueError, match=r"cv=11, but there are 10 rows \(n_samples=10\): use fewer folds"):
        number_of_folds(few, 11)
    with pytest.raises(ValueError, match="folds need 2 rows at least, but n_samples=1 and there is 1"):
        number_of_folds(dealt(1), "auto")
    grouped = DealtRows(few.keys, few.strata, ["a", "b"], np.array([0, 0, 1, 1, 2, 2, 3, 4, 4, 4]), None)
    with pytest.raises(ValueError, match="cv=3, but class 'b' has 1 groups"):
        number_of_folds(grouped, 3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("five", "cv='five': use a number, a splitter of scikit-learn, or pairs"),
        ([], r"cv=\[\] has no split: give at least one"),
        ([([0, 1], [1, 2])], "cv: row 1 is among the training rows and the held-out rows of split 0"),
        ([([0, 1], [5])], r"cv: split 0 has rows \[5\]: expected positions from 0 to 3"),
        ([([0, 1], [0.5])], "expected positions from 0 to 3"),
        ([([0, 1], [])], "cv: split 0 has rows"),
        ([(np.array([0, 1]), np.zeros(0, dtype=int))], "cv: split 0 has no training rows, or none that are held out"),
    ],
)
def test_splits_that_cannot_be(given, message):
    with pytest.raises(ValueError, match=message):
        given_splits(given, np.zeros((4, 1)), np.zeros(4), None, 4, "cv")


def test_masks_and_splitters_are_splits():
    from sklearn.model_selection import KFold

    mask = np.array([True, True, False, False])
    ((fit, held),) = given_splits([(mask, ~mask)], None, None, None, 4, "cv")
    assert fit.tolist() == [0, 1]
    assert held.tolist() == [2, 3]
    found = given_splits(KFold(2), np.zeros((4, 1)), None, None, 4, "cv")
    assert [held.tolist() for _, held in found] == [[0, 1], [2, 3]]
