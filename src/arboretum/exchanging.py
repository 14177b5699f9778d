"""Rows that go to other places, and answers that come back.

::

    place 0    a b c ──┐ there ┌── a d e      made of all that came      A D E ──┐ back ┌── A B C
    place 1    d e f ──┴───────┴── b c f      to a place                 B C F ──┴──────┴── D E F

What comes to a place lies in the order of the rows of all places. These are exchanges (``places.py``): all places take
part, in every attempt of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import places

Column: TypeAlias = NDArray[Any]


class RoundTrip:
    """Rows of this place, each of which goes to some place and comes back.

    Parameters
    ----------
    destination : ndarray of int
        The place that each row goes to.

    Examples
    --------
    >>> trip = RoundTrip(np.array([0, 0]))
    >>> (numbers,) = trip.there([np.array([3, 4])])
    >>> trip.back([10 * numbers])
    [array([30, 40])]
    """

    def __init__(self, destination: NDArray[Any]) -> None:
        self.order = np.argsort(destination.astype(np.uint16), kind="stable")  # 16 bits: sorted by counting
        self.sent = np.bincount(destination.astype(np.intp), minlength=places.count())
        self.came = np.zeros_like(self.sent)

    def there(self, columns: Sequence[Column]) -> list[Column]:
        """Send values of all rows; return those that came here."""
        came = places.exchanged(_parted([column[self.order] for column in columns], self.sent))
        self.came = np.array([len(part[0]) for part in came])
        return _joined(came)

    def back(self, columns: Sequence[Column]) -> list[Column]:
        """Answer rows that came here; return the answers for those of this place."""
        return [self._in_order(answers) for answers in _joined(places.exchanged(_parted(columns, self.came)))]

    def _in_order(self, answers: Column) -> Column:
        whole = np.empty_like(answers)
        whole[self.order] = answers
        return whole


def _parted(columns: Sequence[Column], sizes: NDArray[np.int64]) -> list[tuple[Column, ...]]:
    ends = np.cumsum(sizes)[:-1]
    return list(zip(*(np.split(column, ends) for column in columns), strict=True))


def _joined(parts: Sequence[Sequence[Column]]) -> list[Column]:
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def added_before(group: NDArray[Any], numbers: NDArray[np.int64], n_groups: int) -> NDArray[np.int64]:
    """Return what earlier places have in the same groups, added up.

    Each group has a place that adds up its numbers; only groups that occur travel.

    Parameters
    ----------
    group : ndarray of int
        Groups that occur at this place, each once: numbers from 0.
    numbers : int64 ndarray (groups, …)
        Those of this place.
    n_groups : int
        How many groups there are at all places.

    Examples
    --------
    >>> added_before(np.array([0, 2]), np.array([7, 8]), 3)
    array([0, 0])
    """
    trip = RoundTrip(group.astype(np.int64) * places.count() // max(n_groups, 1))
    groups, terms = trip.there([group, numbers])
    order = np.argsort(groups, kind="stable")  # the same groups together, those of earlier places first
    groups, terms = groups[order], terms[order]
    before = np.cumsum(terms, axis=0) - terms
    sums = np.empty_like(terms)
    sums[order] = before - before[np.searchsorted(groups, groups)]
    (own,) = trip.back([sums])
    return own
