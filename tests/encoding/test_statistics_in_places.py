"""Laws of statistics of rows in several places: they are those of one place, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from tests.reference.in_places import in_places, parted

from arboretum import places
from arboretum.data.schema import ColumnSchema, Schema
from arboretum.data.table import Table
from arboretum.encoding import category_encoding, combinations, levels, ordered_rows
from arboretum.encoding.category_encoding import learn_encoding
from arboretum.encoding.combinations import best_combinations
from arboretum.encoding.ordered_rows import RowsHere, RowsInPlaces, Source
from arboretum.encoding.statistic import Statistic
from arboretum.encoding.target_statistics import Prior, learn_statistics
from arboretum.places import Answers

N_ROWS = 600
N_PLACES = [1, 2, 3, 7]  # one of seven has no rows
RNG = np.random.default_rng(5)
SIZES = (60, 300, 5, 40)
CODES = np.stack([RNG.integers(-1, n, N_ROWS) for n in SIZES]).astype(np.int32)  # −1: missing
CODES[1] = np.maximum(CODES[1], 0)
CODES[1, -1] = -1  # missing at the last place alone
CODES[3, :30] = -2  # unknown
CODES[0, -1] = 60  # a level of one row, at the last place
SCHEMA = Schema(
    tuple(ColumnSchema(f"c{j}", "categorical", "number", tuple(range(n + 1))) for j, n in enumerate(SIZES)), named=True
)
NUMBERS = RNG.normal(size=N_ROWS) + np.sin(CODES[0])
TARGETS: dict[str, tuple[np.ndarray, int | None]] = {
    "two classes": ((NUMBERS > 0).astype(float), 2),
    "three classes": (np.digitize(NUMBERS, [-0.5, 0.8]).astype(float), 3),
    "numbers": (NUMBERS, None),
    "whole numbers": (np.rint(3 * NUMBERS), None),
    "of all sizes": (NUMBERS * 10.0 ** RNG.integers(-40, 40, N_ROWS), None),
}
WEIGHTS: dict[str, np.ndarray | None] = {
    "no": None,
    "whole": RNG.integers(0, 4, N_ROWS).astype(float),
    "real": RNG.random(N_ROWS),
    "of all sizes": 10.0 ** RNG.integers(-30, 30, N_ROWS),
}


def rows_of(part: slice) -> Table:
    return Table(SCHEMA, list(CODES[:, part]))


def weight_of(name: str, part: slice) -> np.ndarray | None:
    weight = WEIGHTS[name]
    return None if weight is None else weight[part]


Learned = tuple[Any, dict[str, bytes], list[bool], list[list[np.ndarray]]]


def encoded(part: slice, target: str, weight: str, max_combination: int = 2) -> Learned:
    """Learn from some rows; return what a file holds, columns with missing values, and the rows in two orders."""
    table, w, (y, n_classes) = rows_of(part), weight_of(weight, part), TARGETS[target]
    encoding = learn_encoding(
        table, y[part], category_levels=20, n_classes=n_classes, weight=w, max_combination=max_combination, seed=3
    )
    assert encoding is not None
    orders = [encoding.ordered(table, y[part], w, number, seed=3).columns for number in range(2)]
    arrays = {name: array.tobytes() for name, array in encoding.to_arrays().items()}
    return encoding.to_json(), arrays, encoding.has_missing(table, [False] * len(encoding.kept)), orders


def check_parts(found: list[Learned], parts: list[slice], expected: Learned) -> None:
    for part, (header, arrays, missing, orders) in zip(parts, found, strict=True):
        assert (header, arrays, missing) == expected[:3]
        for columns, of_all in zip(orders, expected[3], strict=True):
            assert [column.tobytes() for column in columns] == [column[part].tobytes() for column in of_all]


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("target", TARGETS)
def test_statistics_are_those_of_one_place(target: str, weight: str) -> None:
    expected = encoded(slice(0, N_ROWS), target, weight)
    assert expected[2] == [True, True, False, True]
    for n_places in N_PLACES:
        parts = parted(N_ROWS, n_places, seed=n_places)
        check_parts(in_places(lambda part: encoded(part, target, weight), parts), parts, expected)


def test_statistics_travel_some_at_a_time() -> None:
    expected = encoded(slice(0, N_ROWS), "numbers", "real", 3)
    parts = parted(N_ROWS, 3)
    with patch("arboretum.encoding.target_statistics.SOURCES_THAT_TRAVEL", 2):
        check_parts(in_places(lambda part: encoded(part, "numbers", "real", 3), parts), parts, expected)


def test_keys_of_two_stages_are_those_of_all_places() -> None:
    with patch.object(levels, "_LARGEST_KEY", 10_000):
        assert len(levels.key_stages(SCHEMA, (0, 1, 3))) > 1
        expected, parts = encoded(slice(0, N_ROWS), "numbers", "no", 3), parted(N_ROWS, 3)
        check_parts(in_places(lambda part: encoded(part, "numbers", "no", 3), parts), parts, expected)


def test_a_place_that_is_replaced_gets_the_same_statistics() -> None:
    parts = parted(N_ROWS, 3)
    known = [Answers() for _ in parts]
    asked = []

    def program(part: slice) -> Learned:
        places.begin("search")
        places.total(part.stop)
        found = encoded(part, "numbers", "real")
        places.kept(lambda: asked.append(part))
        places.total(part.stop)
        return found

    expected = encoded(slice(0, N_ROWS), "numbers", "real")
    check_parts(in_places(program, parts, answers=known), parts, expected)
    for lost in range(3):
        asked.clear()
        told = {stage: list(answers) for stage, answers in known[lost - 1].told.items()}
        del told["search"][3 * lost :]  # how far the places were
        known = [Answers({stage: list(answers) for stage, answers in told.items()}, one.made) for one in known]
        known[lost].made = {}
        check_parts(in_places(program, parts, attempt=lost + 1, answers=known), parts, expected)
        assert asked == [parts[lost]]


def test_rows_with_equal_draws_keep_their_order() -> None:
    draws = RNG.integers(0, 9, N_ROWS).astype(np.uint64) << np.uint64(60)
    mean = {0: Statistic((0,), "number", prior=0.5)}
    order = np.argsort(draws, kind="stable").astype(np.uint32)[np.newaxis]

    def means(part: slice, rows: Callable[[np.ndarray], RowsHere | RowsInPlaces]) -> np.ndarray:
        out = np.empty((1, 1, len(NUMBERS[part])))
        rows(NUMBERS[part]).fill(mean, {(0,): Source(CODES[0, part], 61)}, 1, out)
        return out[0, 0]

    def own_draws(n_rows: int, key: int, threads: int) -> np.ndarray:
        first = places.numbered(n_rows).first
        return draws[first : first + n_rows]

    expected = means(slice(0, N_ROWS), lambda y: RowsHere(y, None, order))
    with patch.object(ordered_rows, "row_draws", own_draws):
        for n_places in N_PLACES:
            found = in_places(lambda part: means(part, lambda y: RowsInPlaces(y, None, 0, 1)), parted(N_ROWS, n_places))
            assert np.concatenate(found).tobytes() == expected.tobytes()


@pytest.mark.parametrize("weight", WEIGHTS)
def test_borders_priors_and_frequencies_are_those_of_one_place(weight: str) -> None:
    priors = [Prior(), Prior(0.3, 2.5)]

    def program(part: slice) -> tuple[Any, dict[str, bytes]]:
        learned = learn_statistics(
            rows_of(part), NUMBERS[part], weight=weight_of(weight, part), priors=priors, n_target_borders=4
        )
        return learned.to_json(), {name: array.tobytes() for name, array in learned.to_arrays().items()}

    expected = program(slice(0, N_ROWS))
    for n_places in N_PLACES:
        assert all(found == expected for found in in_places(program, parted(N_ROWS, n_places)))


@pytest.mark.parametrize("n_classes", [None, 3])
@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_best_combinations_are_those_of_one_place(weight: str, n_classes: int | None) -> None:
    codes = (CODES[[0, 2, 3]] % 4).astype(np.int32)
    schema = Schema(tuple(ColumnSchema(f"c{j}", "categorical", "number", (0, 1, 2, 3)) for j in range(3)), named=True)
    y = ((codes[0] + codes[1] + codes[2] // 2) % 3).astype(float)

    def program(part: slice) -> list[tuple[int, ...]]:
        options = {"n_classes": n_classes, "max_size": 3, "weight": weight_of(weight, part), "seed": 11}
        return best_combinations(Table(schema, list(codes[:, part])), y[part], [0, 1, 2], **options)

    for sample in (150, 50_000):
        with patch.object(combinations, "SAMPLE_ROWS", sample):
            expected = program(slice(0, N_ROWS))
            for n_places in N_PLACES:
                assert all(found == expected for found in in_places(program, parted(N_ROWS, n_places)))
    assert expected or weight == "of all sizes"


def test_combinations_beyond_the_limit_are_judged_by_all_places() -> None:
    with patch.object(category_encoding, "MAX_COMBINATIONS", 2):
        expected, parts = encoded(slice(0, N_ROWS), "two classes", "real"), parted(N_ROWS, 3)
        check_parts(in_places(lambda part: encoded(part, "two classes", "real"), parts), parts, expected)


def test_what_all_rows_sum_up_to_is_checked() -> None:
    y = np.full(N_ROWS, 1e306)

    def program(part: slice) -> None:
        learn_statistics(rows_of(part), y[part])

    with pytest.raises(ValueError, match="the sum of weight × target overflows"):
        in_places(program, parted(N_ROWS, 3))


def test_a_place_may_have_no_weight_but_not_all() -> None:
    def learned(part: slice, weight: np.ndarray) -> dict[str, bytes]:
        found = learn_statistics(rows_of(part), NUMBERS[part], weight=weight[part]).to_arrays()
        return {name: array.tobytes() for name, array in found.items()}

    some = np.where(np.arange(N_ROWS) < 300, 0.0, 1.0)
    parts = [slice(0, 200), slice(200, N_ROWS)]
    expected = learned(slice(0, N_ROWS), some)
    assert in_places(lambda part: learned(part, some), parts) == [expected] * 2
    with pytest.raises(ValueError, match="weight is zero in all rows"):
        in_places(lambda part: learned(part, np.zeros(N_ROWS)), parts)


def test_columns_of_few_levels_at_each_place_may_have_many_at_all() -> None:
    codes = np.sort(CODES[0] + 1).astype(np.int32)
    schema = Schema((ColumnSchema("c", "categorical", "number", tuple(range(62))),), named=True)

    def program(part: slice) -> bool:
        return learn_encoding(Table(schema, [codes[part]]), NUMBERS[part], category_levels=40) is not None

    parts = [slice(begin, begin + 100) for begin in range(0, N_ROWS, 100)]
    assert not any(map(program, parts))
    assert all(in_places(program, parts))
