"""Rows of several places, dealt out by a value: each place gets a range of values, and so all rows of a value.

Ranking sorts rows by query, and survival by time. Such rows may lie in any partitions; here places follow each other as
the sorted rows of one machine do, and no query is parted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.data.dataset import Dataset

CANDIDATES = 1_000  # values of a place among which the ends of ranges are chosen


def in_ranges(dataset: Dataset, values: NDArray[Any]) -> Dataset:
    """Return the rows of all places whose value lies in the range of this place; rows keep their order.

    ``values`` has one per row, none of them missing. The rows are held in memory.
    """
    if places.here() is None:
        return dataset
    own = places.index()
    ends = places.decided(lambda: {own: _candidates(values)}, dict.__or__, lambda parts: _ends(places.in_order(parts)))
    range_of_row = np.searchsorted(ends, values) if len(ends) else np.zeros(len(values), np.intp)
    rows = dataset.to_frame()
    sent = [rows.filter(range_of_row == place) for place in range(places.count())]
    return replace(Dataset.from_batches(places.exchanged(sent)), named=dataset.named)


def _candidates(values: NDArray[Any]) -> NDArray[Any]:
    """Return values of a place that stand for equally many rows each."""
    step = max(1, len(values) // CANDIDATES)
    return np.asarray(np.sort(values)[::step])


def _ends(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the last value of each range but the last; ranges have about as many rows as each other."""
    candidates = np.sort(np.concatenate([part for part in parts if len(part)]))
    ends = [candidates[len(candidates) * (i + 1) // len(parts)] for i in range(len(parts) - 1)]
    return np.unique(np.array(ends, dtype=candidates.dtype))
