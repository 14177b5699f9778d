"""DART, dropouts meet multiple additive regression trees (Rashmi & Gilad-Bachrach 2015).

A round leaves out k earlier rounds D, drawn at random, and its trees T are grown from the gradients of what is left.
T repeats what all of D did, so it counts as one of k + 1 rounds that share the step:

    raw = others + k/(k+1) · D + 1/(k+1) · ν·T        ν = learning rate
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.binning import BinnedData
from arboretum.growing.grower import WeightedTree

DROPS_PURPOSE = 0x64726F7073  # "drops"
UNIT = 2.0**-64


@dataclass(frozen=True)
class Dart:
    """Which rounds to leave out.

    Parameters
    ----------
    rate : float
        Probability that an earlier round is left out.
    skip : float
        Probability that a round leaves no round out.
    most : int
        Maximum number of rounds left out.

    Examples
    --------
    >>> dart = Dart(rate=0.3, skip=0.0)
    >>> dart.dropped(10, seed=0)
    [4, 8, 9]
    >>> dart.weights(3, learning_rate=1.0)
    (0.25, 0.75)
    """

    rate: float
    skip: float = 0.5
    most: int = 50

    def dropped(self, number: int, seed: int) -> list[int]:
        """Return the rounds, rising, that round ``number`` leaves out; both count from 0."""
        key = _kernel.draw(seed, DROPS_PURPOSE, number)
        if _kernel.draw(key, 0, 0) * UNIT < self.skip:
            return []
        draws = [_kernel.draw(key, 1, earlier) for earlier in range(number)]
        drawn = [earlier for earlier in range(number) if draws[earlier] * UNIT < self.rate]
        return sorted(sorted(drawn, key=draws.__getitem__)[: self.most])

    @staticmethod
    def weights(n_dropped: int, learning_rate: float) -> tuple[float, float]:
        """Return the factor of the new trees, learning rate included, and that of the dropped ones."""
        return learning_rate / (n_dropped + 1), n_dropped / (n_dropped + 1)


def contribution(
    trees: Sequence[WeightedTree],
    data: BinnedData,
    n_outputs: int,
    threads: int,
    numbers: _kernel.NumberColumns | None = None,
) -> NDArray[np.float64]:
    """Return the sum of what the trees add to the raw predictions (outputs × rows)."""
    total = np.zeros((n_outputs, data.n_rows))
    for item in trees:
        item.add_to(total, data, numbers, threads)
    return total


def rescaled(trees: Sequence[WeightedTree], weight: float) -> list[WeightedTree]:
    """Multiply the values of the trees; earlier snapshots of them stay as they are."""
    return [item.scaled(weight) for item in trees]
