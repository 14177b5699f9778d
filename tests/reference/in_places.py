"""A program run in several places: one thread each, messages by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from arboretum.places import Answers, PlaceLostError, Places, among

Part = TypeVar("Part")
Result = TypeVar("Result")


def in_places(
    program: Callable[[Part], Result], parts: Sequence[Part], attempt: int = 0, answers: Sequence[Answers] | None = None
) -> list[Result]:
    """Run the program on each part, all at once; return what each returns. The first error ends all."""
    places: list[Places] = []

    def post(place: int, key: Hashable, value: Any) -> None:
        places[place].mailbox.put(key, value)

    known = answers or [None] * len(parts)
    places += [Places(index, len(parts), post, attempt, known[index]) for index in range(len(parts))]
    results: list[Any] = [None] * len(parts)
    errors: list[BaseException] = []

    def run(index: int) -> None:
        try:
            with among(places[index]):
                results[index] = program(parts[index])
        except BaseException as error:
            if not isinstance(error, PlaceLostError):
                errors.append(error)
            for place in places:
                place.mailbox.fail(PlaceLostError("another place failed"))

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "places wait for each other"
    if errors:
        raise errors[0]
    return results


def parted(n_rows: int, n_parts: int, seed: int = 0) -> list[slice]:
    """Cut rows into parts of uneven sizes; one is empty if there are more than three."""
    inner = np.sort(np.random.default_rng(seed).integers(0, n_rows + 1, n_parts - 1))
    if n_parts > 3:
        inner[1] = inner[0]
    edges = [0, *inner.tolist(), n_rows]
    return [slice(a, b) for a, b in pairwise(edges)]


def check_in_places(program: Callable[[slice], Any], n_rows: int, n_places: int) -> None:
    """Compare what every place gets from its rows with what one place makes of all rows, to the bit."""
    expected = np.asarray(program(slice(0, n_rows)))
    for found in in_places(program, parted(n_rows, n_places, seed=n_places)):
        assert np.asarray(found).tobytes() == expected.tobytes()
