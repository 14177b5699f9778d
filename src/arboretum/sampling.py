"""Which rows a tree sees. Every choice is a hash of (seed, round, row): the same for any number of threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel

ROWS_PURPOSE = 0x726F7773  # "rows": keeps these draws apart from all others of the same seed


@dataclass(frozen=True)
class Subsample:
    """A share of the rows, drawn anew each round without replacement; 1 is all of them.

    Examples
    --------
    >>> Subsample(0.5).rows(10, seed=0, number=0, threads=1)
    array([0, 1, 6, 7], dtype=uint32)
    """

    share: float = 1.0

    def rows(self, n_rows: int, *, seed: int, number: int, threads: int) -> NDArray[np.uint32] | None:
        """Rising row numbers of round ``number``; None means all rows."""
        if self.share >= 1:
            return None
        return _kernel.subsample_rows(n_rows, self.share, _kernel.draw(seed, ROWS_PURPOSE, number), threads)
