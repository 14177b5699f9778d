"""Ranks with ties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def ranks(losses: Sequence[float], tie: float = 0.0) -> NDArray[np.float64]:
    """Return the rank of each loss, 1 for the smallest.

    A loss no further than the share ``tie`` above the smallest of a group belongs to it; a group shares its mean rank.
    """
    order = np.argsort(losses, kind="stable")
    rising = np.asarray(losses, dtype=np.float64)[order]
    rank = np.empty(len(order))
    start = 0
    while start < len(order):
        first = rising[start]
        group = (rising >= first) & (rising <= first + tie * abs(first) if np.isfinite(first) else rising == first)
        rank[order[group]] = start + (1 + group.sum()) / 2
        start += int(group.sum())
    return rank
