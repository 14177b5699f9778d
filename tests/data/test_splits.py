"""Rows dealt out: against a plain twin, in one place and in several."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.in_places import in_places, parted

from arboretum.data.splits import NOWHERE, SPLIT_PURPOSE, deal_out_groups, fold_of_rows, split_groups, split_rows

N_ROWS = 300
STRATA = {
    "none": None,
    "codes": np.random.default_rng(0).integers(0, 4, N_ROWS).astype(float),
    "in order": np.repeat(["a", "b", "c"], 100),  # most are in a few places only
    "of one row": np.arange(N_ROWS),
}


def held_twin(fraction: float, seed: int, strata: np.ndarray | None) -> list[int]:
    draws = np.random.default_rng([seed, SPLIT_PURPOSE]).random(N_ROWS)
    strata = np.zeros(N_ROWS) if strata is None else strata
    held = []
    for value in np.unique(strata):
        rows = sorted(np.flatnonzero(strata == value).tolist(), key=lambda row: (draws[row], row))
        held += rows[: math.floor(len(rows) * fraction)]
    return sorted(held)


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("kind", STRATA)
def test_rows_of_smallest_draws_are_held_out(fraction: float, kind: str) -> None:
    kept, held = split_rows(N_ROWS, fraction, 7, STRATA[kind])
    assert held.tolist() == held_twin(fraction, 7, STRATA[kind])
    assert sorted([*kept, *held]) == list(range(N_ROWS))


@pytest.mark.parametrize("n_places", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", STRATA)
def test_places_hold_out_the_rows_that_one_would(n_places: int, kind: str) -> None:
    strata, parts = STRATA[kind], parted(N_ROWS, n_places)

    def program(part: slice) -> tuple[np.ndarray, np.ndarray]:
        own = None if strata is None else strata[part]
        kept, held = split_rows(part.stop - part.start, 0.2, 7, own)
        return part.start + kept, part.start + held

    found = in_places(program, parts)
    for own, whole in zip(zip(*found, strict=True), split_rows(N_ROWS, 0.2, 7, strata), strict=True):
        np.testing.assert_array_equal(np.concatenate(own), whole)


@pytest.mark.parametrize("n_folds", [1, 2, 5, 7])
def test_folds_are_runs_of_rising_draws(n_folds: int) -> None:
    fold, draws = fold_of_rows(N_ROWS, n_folds, 7), np.random.default_rng([7, SPLIT_PURPOSE]).random(N_ROWS)
    assert np.all(np.diff(fold[np.argsort(draws)]) >= 0)
    assert np.ptp(np.bincount(fold, minlength=n_folds)) <= 1


@pytest.mark.parametrize("n_places", [2, 3, 7])
def test_places_have_the_folds_that_one_would_have(n_places: int) -> None:
    found = in_places(lambda part: fold_of_rows(part.stop - part.start, 5, 7), parted(N_ROWS, n_places))
    np.testing.assert_array_equal(np.concatenate(found), fold_of_rows(N_ROWS, 5, 7))


GROUPS = st.lists(st.integers(0, 9), min_size=2, max_size=60).map(np.array).filter(lambda g: len(np.unique(g)) > 1)


@given(GROUPS, st.floats(0.01, 0.9), st.integers(0, 5))
def test_groups_are_held_out_whole(group, fraction, seed):
    kept, held = split_groups(group, fraction, seed, None)
    assert sorted([*kept, *held]) == list(range(len(group)))
    assert not set(group[kept]) & set(group[held])
    assert len(held)
    assert len(held) <= fraction * len(group) or len(set(group[held])) == 1
    more = group * 7 + 3  # other names in the same order
    assert split_groups(more, fraction, seed, None)[1].tolist() == held.tolist()


@given(GROUPS, st.integers(2, 5), st.integers(0, 5))
def test_groups_are_dealt_out_whole_and_evenly(group, n_parts, seed):
    part = deal_out_groups(group, None, n_parts, seed)
    sizes = np.bincount(part, minlength=n_parts)
    for one in np.unique(group):
        assert len(set(part[group == one])) == 1
    assert sizes.max() - sizes.min() <= np.bincount(group).max()


@given(GROUPS, st.data())
def test_no_stratum_is_held_out_as_a_whole(group, data):
    strata = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(group), max_size=len(group))))
    part = deal_out_groups(group, strata, 3, 0)
    kept, _ = split_groups(group, 0.4, 0, strata)
    assert set(strata[kept]) == set(strata)
    for one in range(3):
        assert set(strata[part != one]) == set(strata)
    for one in np.unique(group):
        assert len(set(part[group == one])) == 1
        if set(strata[group == one]) - set(strata[group != one]):
            assert set(part[group == one]) == {NOWHERE}
