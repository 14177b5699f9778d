"""Greedy selection of members with replacement (Caruana, Niculescu-Mizil, Crew and Ksikes 2004).

::

    best members ──► each step adds the member, perhaps again, whose addition gives the mean the best score
                     ──► the size with the best score on the way is kept
    bags             the same with random shares of a large library; weights are the mean over the bags

With replacement, members get weights without a solver for them; bags keep a member that is good by chance from being
chosen everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel

FloatArray: TypeAlias = NDArray[np.float64]

LEAST_BAG = 10  # members: half of a few would often lack the best of them
BAG_PURPOSE = 0x6C696272617279  # "library": keeps these draws apart from all others of the same seed


@dataclass(frozen=True)
class Greed:
    """How members are selected.

    Parameters
    ----------
    n_steps : int
        Members that are added, each perhaps several times.
    n_best : int
        Best members that the selection starts from.
    n_bags : int
        Selections from random shares of the library; 1 selects once, from all of it.
    share : float
        Share of the library in each bag; at least ``LEAST_BAG`` members, or all.
    seed : int
        Seed of the bags.
    """

    n_steps: int
    n_best: int
    n_bags: int
    share: float
    seed: int


def select(answers: Sequence[FloatArray], score: Callable[[FloatArray], float], greed: Greed) -> FloatArray:
    """Return the weights of the members, which sum to 1.

    Parameters
    ----------
    answers : sequence of ndarray
        Of each member, to the same rows.
    score : callable
        Of an answer; greater is better, NaN is worst.
    greed : Greed
        How to select.

    Examples
    --------
    >>> truth = np.array([1.0, 2.0, 3.0])
    >>> answers = [truth - 1, truth + 1, truth * 9]
    >>> select(answers, lambda answer: -np.abs(answer - truth).mean(), Greed(10, 1, 1, 1.0, 0))
    array([0.5, 0.5, 0. ])
    """
    m = len(answers)
    alone = np.array([_known(score(answer)) for answer in answers])
    total = np.zeros(m)
    for bag in range(greed.n_bags):
        library = np.arange(m) if greed.n_bags == 1 else _bag(m, greed, bag)
        counts = _climb(answers, score, alone, library, greed)
        total += counts / counts.sum()
    return total / greed.n_bags


def _climb(
    answers: Sequence[FloatArray],
    score: Callable[[FloatArray], float],
    alone: FloatArray,
    library: NDArray[np.intp],
    greed: Greed,
) -> FloatArray:
    """Return how often each member was chosen from a part of the library."""
    counts = np.zeros(len(answers))
    first = library[np.argsort(-alone[library], kind="stable")][: greed.n_best]
    counts[first] = 1
    total = np.sum([answers[member] for member in first], axis=0)
    best, kept = _known(score(total / len(first))), counts.copy()
    for size in range(len(first) + 1, greed.n_steps + 1):
        scores = [_known(score((total + answers[member]) / size)) for member in library]
        chosen = library[int(np.argmax(scores))]
        counts[chosen] += 1
        total = total + answers[chosen]
        if max(scores) > best:
            best, kept = max(scores), counts.copy()
    return kept


def _bag(m: int, greed: Greed, bag: int) -> NDArray[np.intp]:
    """Return a random share of the library: at least ``LEAST_BAG`` members, or all."""
    hashes = np.array([_kernel.draw(greed.seed, BAG_PURPOSE + bag, member) for member in range(m)], dtype=np.uint64)
    return np.sort(np.argsort(hashes, kind="stable")[: max(LEAST_BAG, round(greed.share * m))])


def _known(score: float) -> float:
    return -np.inf if np.isnan(score) else float(score)
