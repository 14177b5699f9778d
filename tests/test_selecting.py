"""Laws of selection: rows in any places are chosen as they are in one, by plain twins."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from tests.reference.in_places import in_places, parted
from tests.reference.odd_weights import KINDS_OF_WEIGHTS, taken, weights_of

from arboretum import _kernel, selecting

N_PLACES = [1, 2, 3, 7]


def values(n: int, ties: bool, seed: int = 1) -> np.ndarray:
    """Return numbers of both signs and of many sizes, or few different ones."""
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, n) / 4.0 if ties else rng.normal(size=n) * 10.0 ** rng.integers(-9, 9, n)


def smallest_twin(key: np.ndarray, wanted, group: np.ndarray, n_groups: int) -> np.ndarray:
    marked = np.zeros(len(key), bool)
    for own in range(n_groups):
        rows = sorted(np.flatnonzero(group == own).tolist(), key=lambda row: (key[row], row))
        marked[rows[: int(wanted(np.array([float(len(rows))]))[0])]] = True
    return marked


@pytest.mark.parametrize(("n_places", "few"), [*((n, 1 << 15) for n in N_PLACES), (3, 0), (7, 20)])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("spread", [4, 2**31])
def test_the_smallest_are_those_of_a_sort(few: int, n_places: int, dtype: type, spread: int) -> None:
    rng = np.random.default_rng(3)
    key = rng.integers(0, spread, 400).astype(dtype) * dtype(2 if spread > 4 and dtype is np.uint32 else 1)
    group = np.sort(rng.integers(0, 5, 400)) if few else rng.integers(0, 5, 400)
    group[group == 3] = 4  # group 3 is empty

    def wanted(n: np.ndarray) -> np.ndarray:
        return np.floor(0.3 * n)

    def program(part: slice) -> np.ndarray:
        return selecting.smallest(key[part], wanted, group[part], 5)

    expected = smallest_twin(key, wanted, group, 5)
    parts = parted(400, n_places)
    with patch.object(selecting, "FEW_ROWS", few):
        for part, marked in zip(parts, in_places(program, parts), strict=True):
            np.testing.assert_array_equal(marked, expected[part])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_all_rows_or_none(share: float) -> None:
    key = np.array([5, 5, 2**64 - 1, 0], np.uint64)
    found = in_places(lambda part: selecting.smallest(key[part], lambda n: share * n), parted(4, 3))
    assert np.concatenate(found).tolist() == [share == 1] * 4


@pytest.mark.parametrize(("n_places", "few"), [*((n, 1 << 15) for n in N_PLACES), (3, 0)])
@pytest.mark.parametrize("kind", KINDS_OF_WEIGHTS)
@pytest.mark.parametrize("ties", [False, True])
def test_quantiles_are_those_of_the_kernel(few: int, n_places: int, kind: str, ties: bool) -> None:
    n, n_groups = 600, 6
    number, weight = values(n, ties), weights_of(kind, n)
    group = np.random.default_rng(2).integers(0, 4, n).astype(np.uint32)
    group[:50] = 5  # in the first places only; group 4 is empty
    order = np.argsort(group, kind="stable").astype(np.uint32)
    start = np.append(0, np.cumsum(np.bincount(group, minlength=n_groups)))
    parts = parted(n, n_places)
    for q in (0.01, 0.5, 0.9):
        expected = np.empty(n_groups)
        _kernel.group_quantiles(number, weight, order, start, q, 1, expected)

        def program(part: slice, q: float = q) -> bytes:
            own = group[part]
            return selecting.quantiles(number[part], taken(weight, part), own, n_groups, q).tobytes()

        with patch.object(selecting, "FEW_ROWS", few):
            assert set(in_places(program, parts)) == {expected.tobytes()}


def test_only_groups_that_rounding_decides_are_gathered() -> None:
    """Five of ten equal weights are half of them exactly, but not as sums that are rounded."""
    number, group = np.arange(2000.0), np.repeat([0, 1], 1000).astype(np.uint32)
    weight = np.concatenate([np.full(1000, 0.1), np.random.default_rng(0).random(1000)])
    gathered = []
    with patch.object(selecting, "_quantiles_of_gathered", lambda rows, *_: gathered.append(len(rows.key)) or 0.0):
        in_places(
            lambda part: selecting.quantiles(number[part], weight[part], group[part], 2, 0.5),
            [slice(0, 900), slice(900, 2000)],
        )
        assert gathered == [1000, 1000]
        in_places(
            lambda part: selecting.quantiles(number[part], np.ones(1000), group[part], 2, 0.5),
            [slice(0, 2000, 2), slice(1, 2000, 2)],
        )
        assert gathered == [1000, 1000]
