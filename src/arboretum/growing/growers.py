"""What grows trees from gradients: the kernel alone, or several places together.

::

    place 0   grow_in_parts ── order ──► every place: PartGrower.answer
                    ▲                          │ sums of whole numbers, rows of small nodes
                    └──────────────────────────┘ go up the tree of places

Orders name nodes to part and histograms to sum up (kernel/grow/gradient/orders.hpp). Place 0 alone looks for
conditions; at the end every place has the whole tree, and the leaves of its own rows.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.data.binning import BinnedData
from arboretum.places import Places

Answer: TypeAlias = tuple[NDArray[np.uint64], bytes]


class PartedGrower:
    """The rows of this place, from which all places grow trees together.

    Parameters
    ----------
    among : Places
        This place and the others.
    data : BinnedData
        Codes of its rows.
    threads : int
        Threads to use; the result does not depend on it.
    """

    def __init__(self, among: Places, data: BinnedData, threads: int) -> None:
        self.among = among
        self.part = _kernel.PartGrower(data.codes, *places.numbered(data.n_rows), threads)

    def grow(
        self,
        gradients: NDArray[Any],
        hessians: NDArray[Any],
        rows: NDArray[np.uint32] | None,
        params: _kernel.TreeParams,
        seed: int,
        factor: NDArray[np.float64] | None = None,
    ) -> _kernel.GrownTree:
        """Grow a tree from the gradients of the rows of all places."""
        self.part.load(gradients, hessians, rows, factor, params, seed)
        if self.among.index == 0:
            _kernel.grow_in_parts(self.part, self._ask, self._tell)
        while not self.part.finished:
            self._answer(self.among.down(b""))  # what place 0 says
        return self.part.tree

    def _ask(self, order: bytes) -> Answer:
        self.among.down(order)
        return self._answer(order)

    def _tell(self, order: bytes) -> None:
        self.among.down(order)
        self.part.answer(order)

    def _answer(self, order: bytes) -> Answer:
        own = self.part.answer(order)
        return own if self.part.finished else self.among.up(own, _joined)

    def prune(self, tree: _kernel.GrownTree, least_gain: float) -> None:
        """Prune the last tree; all places do it alike."""
        self.part.prune(tree, least_gain)

    def add_values(self, values: NDArray[np.float64], raw: NDArray[np.float64]) -> None:
        """Add the value of each row's leaf in the last tree to its raw prediction."""
        self.part.add_values(values, raw)

    @property
    def leaf_of_row(self) -> NDArray[np.uint32]:
        """Node of the leaf that each row of this place reached in the last tree."""
        return self.part.leaf_of_row


Grower: TypeAlias = _kernel.Grower | PartedGrower
"""What grows one tree after the other on the same rows."""


def grower_of(data: BinnedData, threads: int) -> Grower:
    """Return what grows trees from these rows, together with those of other places if there are any."""
    among = places.here()
    return _kernel.Grower(data.codes, threads) if among is None else PartedGrower(among, data, threads)


SMALL_ROWS = 50_000  # up to which a thread for each tree is better than several for one
TEAM_BYTES = 1 << 24  # that the growers of a team may hold: little, since memory limits do not know of them
BYTES_PER_ROW = 40  # of a grower


def team_of(data: BinnedData, n_outputs: int, threads: int) -> list[_kernel.Grower]:
    """Return growers of trees of several outputs at once, a thread for each; none where threads should share a tree."""
    room = TEAM_BYTES // (BYTES_PER_ROW * max(1, data.n_rows))
    size = min(threads, n_outputs, room)
    if places.here() is not None or size < 2 or (size < threads and data.n_rows > SMALL_ROWS):
        return []
    return [_kernel.Grower(data.codes, 1) for _ in range(size)]


def _joined(one: Answer, other: Answer) -> Answer:
    return one[0] + other[0], one[1] + other[1]
