"""When a place that shares a worker moves to a new one."""

from __future__ import annotations

import pytest

from arboretum.cluster.fitting import SURE_ROUNDS, WORTH_MOVING, Pace
from arboretum.running.progress import RoundReport

N_ROUNDS = 100


def hear(pace: Pace, first: int, count: int, seconds: float, crowded: bool) -> None:
    for number in range(first, first + count):
        pace.hear(RoundReport(number, N_ROUNDS, number * seconds, None, None), crowded)


def pace_of(alone: float, shared: float, done: int, n_shared: int, standstill: float) -> Pace:
    """Return the pace of a fit whose place was lost after some rounds, and that has made some more since."""
    pace = Pace()
    pace.start()
    hear(pace, 1, done, alone, crowded=False)
    pace.start()
    hear(pace, done + 1, n_shared + 1, shared, crowded=True)
    pace.standstill = standstill
    return pace


@pytest.mark.parametrize("done", [10, 50, 90])
@pytest.mark.parametrize("shared", [0.09, 0.10, 0.11, 0.2])
@pytest.mark.parametrize("standstill", [0.1, 1.0, 10.0])
def test_a_place_moves_where_that_saves_more_than_it_costs(done: int, shared: float, standstill: float) -> None:
    saved = (shared - 0.1) * (N_ROUNDS - done - SURE_ROUNDS - 1)
    pace = pace_of(0.1, shared, done, SURE_ROUNDS, standstill)
    assert pace.is_worth_moving() == (saved > WORTH_MOVING * standstill)


def test_the_pace_of_too_few_rounds_is_not_judged() -> None:
    assert not pace_of(0.1, 9.0, 10, SURE_ROUNDS - 1, 0.1).is_worth_moving()
    assert not Pace().is_worth_moving()


def test_places_that_always_shared_a_worker_are_expected_to_win_half() -> None:
    assert pace_of(0.1, 0.1, 0, 10, 1.0).is_worth_moving()
    assert not pace_of(0.1, 0.1, 0, 10, 3.0).is_worth_moving()


def test_a_standstill_lasts_from_a_loss_to_the_next_round(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = Pace()
    pace.start()
    hear(pace, 1, 3, 0.1, crowded=False)
    pace.left = 5.0
    monkeypatch.setattr("arboretum.cluster.fitting.time.monotonic", lambda: 7.5)
    pace.start()
    hear(pace, 4, 2, 0.1, crowded=True)
    assert pace.standstill == 2.5
