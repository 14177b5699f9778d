"""Row samples: shares, determinism, independence."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum import _kernel
from arboretum.sampling import Subsample

M64 = 2**64 - 1


def mix(x):
    """Give the finaliser of SplitMix64."""
    x = (x + 0x9E3779B97F4A7C15) & M64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & M64
    return x ^ (x >> 31)


def draw(seed, counter):
    return mix(seed ^ mix(counter))


@pytest.mark.parametrize("triple", [(0, 0, 0), (1, 2, 3), (2**64 - 1, 2**63, 5), (7, 0x726F7773, 2**40)])
def test_a_draw_is_a_pure_function(triple):
    seed, a, b = triple
    assert _kernel.draw(*triple) == draw(draw(seed, a), b)
    assert _kernel.draw(*triple) == _kernel.draw(*triple)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9])
def test_the_share_of_rows(share):
    rows = _kernel.subsample_rows(200_000, share, 42, 1)
    assert rows.dtype == np.uint32
    assert np.all(np.diff(rows.astype(np.int64)) > 0)
    assert rows[-1] < 200_000
    expected, spread = 200_000 * share, np.sqrt(200_000 * share * (1 - share))
    assert abs(len(rows) - expected) < 5 * spread


def test_rows_are_chosen_by_their_own_draw():
    rows = set(_kernel.subsample_rows(300, 0.4, 9, 1).tolist())
    assert rows == {row for row in range(300) if draw(9, row) / 2**64 < 0.4}


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_samples_do_not_depend_on_threads(threads):
    expected = _kernel.subsample_rows(300_000, 0.2, 7, 1)
    np.testing.assert_array_equal(_kernel.subsample_rows(300_000, 0.2, 7, threads), expected)


@pytest.mark.parametrize("n_rows", [1, 2, 10])
def test_a_sample_is_never_empty(n_rows):
    for key in range(50):
        rows = _kernel.subsample_rows(n_rows, 1e-9, key, 1)
        assert rows.tolist() == [min(range(n_rows), key=lambda row: draw(key, row))]


def test_no_rows_give_no_sample():
    assert len(_kernel.subsample_rows(0, 0.5, 1, 1)) == 0


def test_a_full_share_is_all_rows():
    assert Subsample().rows(10, seed=0, number=0, threads=1) is None
    assert Subsample(1.0).rows(10, seed=0, number=3, threads=1) is None


def test_rounds_and_seeds_draw_anew():
    def rows(seed, number):
        return tuple(Subsample(0.5).rows(1000, seed=seed, number=number, threads=1).tolist())

    samples = {rows(seed, number) for seed in range(5) for number in range(5)}
    assert len(samples) == 25
    assert rows(3, 4) == rows(3, 4)
    # Two rounds share half of a half, if they do not depend on each other.
    shared = len(set(rows(0, 0)) & set(rows(0, 1)))
    assert abs(shared - 250) < 5 * np.sqrt(1000 * 0.25 * 0.75)
