"""Laws of rows in several places: any parting gives the answers of one place."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.in_places import in_places, parted

from arboretum import places
from arboretum.places import Answers, PlaceLostError


@pytest.mark.parametrize("n_places", [1, 2, 3, 7, 12])
def test_every_place_gets_the_joined_answer(n_places: int) -> None:
    numbers = np.random.default_rng(0).integers(-9, 9, 100)
    parts = [numbers[part] for part in parted(100, n_places)]

    def program(part: np.ndarray) -> tuple[object, ...]:
        whole = places.gathered(lambda: part)
        first, total = places.numbered(len(part))
        assert np.array_equal(numbers[first : first + len(part)], part)
        return (
            np.concatenate(whole).tolist(),
            total,
            places.added(np.array([part.sum(), len(part)])).tolist(),
            places.total(int(part.sum())),
            places.most(float(part.max(initial=-9))),
            places.least(float(part.min(initial=9))),
            places.anywhere(bool((part == numbers[40]).any())),
            places.everywhere(len(part) > 0),
            places.told(lambda: len(part)),
            places.decided(lambda: [len(part)], list.__add__, sum),
            places.dealt(list(range(-3, 5)), lambda n: int((part == n).sum()), int.__add__, str),
        )

    alone = (numbers.tolist(), 100, [numbers.sum(), 100], numbers.sum(), numbers.max(), numbers.min(), True)
    for found in in_places(program, parts):
        counts = [str((numbers == n).sum()) for n in range(-3, 5)]
        assert found == (*alone, all(map(len, parts)), len(parts[0]), 100, counts)
    assert program(numbers)[:7] == alone


def test_things_are_decided_at_different_places() -> None:
    found = in_places(lambda part: places.dealt("abcdef", str, max, lambda thing: (thing, part)), range(4))
    assert found == [[("a", 0), ("b", 1), ("c", 2), ("d", 3), ("e", 0), ("f", 1)]] * 4


def test_what_is_not_a_number_is_known_everywhere() -> None:
    found = in_places(lambda part: (places.most(part), places.least(part)), [1.0, np.nan, 2.0])
    assert np.isnan(found).all()


def test_a_fit_that_begins_anew_gets_its_answers_without_asking() -> None:
    parts, known = [1, 2, 3], [Answers() for _ in range(3)]
    asked = []

    def program(part: int) -> tuple[int, int]:
        places.begin("sums")
        own = places.kept(lambda: asked.append(part) or 10 * part)
        return own, places.joined(lambda: asked.append(part) or part, int.__add__)

    once = in_places(program, parts, answers=known)
    assert sorted(asked) == [1, 1, 2, 2, 3, 3]
    asked.clear()
    known[1] = Answers(told=known[0].told)  # place 1 was lost: the new one has no rows made
    assert in_places(program, parts, attempt=1, answers=known) == once == [(10, 6), (20, 6), (30, 6)]
    assert asked == [2]


def test_rows_are_gathered_in_their_order_and_not_kept() -> None:
    parts, known = [np.array([1.0, 2.0]), np.zeros(0), np.array([3.0])], [Answers() for _ in range(3)]

    def program(part: np.ndarray) -> tuple[list[float], int]:
        places.begin("rows")
        return places.whole(part).tolist(), places.total(len(part))

    assert in_places(program, parts, answers=known) == [([1.0, 2.0, 3.0], 3)] * 3
    assert [answers.told for answers in known] == [{"rows": [3]}] * 3
    parts[2] = np.array([4.0])
    assert in_places(program, parts, attempt=1, answers=known) == [([1.0, 2.0, 4.0], 3)] * 3


def test_a_bound_function_asks_the_places_of_its_making() -> None:
    def program(part: int) -> tuple[int, int, int]:
        asked = places.bound(places.total)
        with places.among(None):
            return places.count(), places.total(part), asked(part)

    assert in_places(program, [1, 2, 3]) == [(1, part, 6) for part in (1, 2, 3)]


@pytest.mark.parametrize("n_places", [1, 2, 3, 7])
def test_each_place_gets_what_all_have_sent_to_it(n_places: int) -> None:
    def program(own: int) -> list[tuple[int, int]]:
        assert places.count() == n_places
        once = places.exchanged([(own, to) for to in range(n_places)])
        assert once == places.exchanged([(own, to) for to in range(n_places)])
        return once

    found = in_places(program, list(range(n_places)))
    assert found == [[(origin, own) for origin in range(n_places)] for own in range(n_places)]


def test_exchanges_and_what_is_asked_afresh_are_repeated_by_all_when_a_fit_begins_anew() -> None:
    known = [Answers() for _ in range(3)]
    asked = []

    def program(part: int) -> tuple[int, int, int, int]:
        places.begin("sums")
        first = places.joined(lambda: asked.append("kept") or part, int.__add__)
        sent = places.exchanged([10 * part + to for to in range(3)])
        with places.afresh():
            most = places.joined(lambda: asked.append("afresh") or part, max)
            places.kept(lambda: asked.append("afresh"))
        own = places.kept(lambda: asked.append("made") or sum(sent))
        return first, most, own, places.joined(lambda: asked.append("kept") or own, int.__add__)

    once = in_places(program, [1, 2, 3], answers=known)
    assert sorted(asked) == 6 * ["afresh"] + 6 * ["kept"] + 3 * ["made"]
    asked.clear()
    known[2] = Answers(told=known[0].told)
    assert in_places(program, [1, 2, 3], attempt=1, answers=known) == once
    assert sorted(asked) == 6 * ["afresh"] + ["made"]


def test_questions_outside_a_stage_are_asked_again() -> None:
    known = [Answers(), Answers()]
    assert in_places(places.total, [1, 2], answers=known) == [3, 3]
    assert in_places(places.total, [5, 2], attempt=1, answers=known) == [7, 7]


def test_a_lost_place_ends_the_waiting_of_others() -> None:
    def program(part: int) -> int:
        if part == 2:
            raise ValueError("no such partition")
        return places.total(part)

    with pytest.raises(ValueError, match="no such partition"):
        in_places(program, [0, 1, 2, 3])


def test_a_failed_mailbox_raises_what_it_was_given() -> None:
    box = places.Mailbox()
    box.put("a", 1)
    box.fail(PlaceLostError("place 3 is lost"))
    with pytest.raises(PlaceLostError, match="place 3 is lost"):
        box.take("a")
