"""Laws of rows that go to other places: they arrive in the order of all rows, and answers come back to them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.in_places import in_places, parted

from arboretum import places
from arboretum.exchanging import RoundTrip, added_before

N_ROWS = 200
N_PLACES = [1, 2, 3, 7]


@pytest.mark.parametrize("n_places", N_PLACES)
def test_rows_arrive_in_order_and_answers_come_back(n_places: int) -> None:
    rng = np.random.default_rng(1)
    destination, pairs = rng.integers(0, n_places, N_ROWS), rng.normal(size=(N_ROWS, 2))

    def program(part: slice) -> tuple[np.ndarray, np.ndarray]:
        trip = RoundTrip(destination[part])
        number, came = trip.there([np.arange(N_ROWS)[part], pairs[part]])
        np.testing.assert_array_equal(number, np.flatnonzero(destination == places.index()))
        np.testing.assert_array_equal(came, pairs[number])
        doubled, answered = trip.back([2 * number, came])
        return doubled, answered

    parts = parted(N_ROWS, n_places)
    for part, (doubled, answered) in zip(parts, in_places(program, parts), strict=True):
        np.testing.assert_array_equal(doubled, 2 * np.arange(N_ROWS)[part])
        np.testing.assert_array_equal(answered, pairs[part])


@pytest.mark.parametrize("n_places", N_PLACES)
@pytest.mark.parametrize("n_groups", [1, 5, 40])
def test_groups_begin_with_what_earlier_places_have(n_places: int, n_groups: int) -> None:
    rng = np.random.default_rng(n_groups)
    numbers = rng.integers(-9, 9, (n_places, n_groups, 2))
    occurs = rng.random((n_places, n_groups)) < 0.6
    occurs[0] = False

    def program(own: int) -> np.ndarray:
        return added_before(np.flatnonzero(occurs[own]), numbers[own][occurs[own]], n_groups)

    for own, found in enumerate(in_places(program, list(range(n_places)))):
        expected = np.where(occurs[..., np.newaxis], numbers, 0)[:own].sum(axis=0)[occurs[own]]
        np.testing.assert_array_equal(found, expected)
