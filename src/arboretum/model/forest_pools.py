"""Pools of terms that belong to nodes: sets of categories, and arrays that only some forests have.

::

    slope_start    0  0  2  2  3        terms of node i: [start[i] : start[i + 1]]
    slope_weight   w₀ w₁ w₂             likewise the other arrays of the pool

An optional pool is whole or absent: without terms its arrays are empty and not in files, so that forests which do not
use it keep their bytes and fingerprints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Pool:
    """Names and types of the arrays of a pool."""

    name: str
    start: str
    terms: Mapping[str, type]
    is_optional: bool = True

    @property
    def dtypes(self) -> dict[str, type]:
        """Types of all arrays, by name."""
        return {self.start: np.int64, **self.terms}

    def is_in(self, forest: Any) -> bool:
        """Whether a forest has it."""
        return bool(getattr(forest, self.start).size)

    def of_nodes(self, forest: Any, begin: int, end: int) -> Arrays:
        """Return the arrays for some of the nodes; none if the pool is optional and these nodes have no terms."""
        starts = getattr(forest, self.start)[begin : end + 1]
        if self.is_optional and (not self.is_in(forest) or starts[0] == starts[-1]):
            return {}
        terms = {name: getattr(forest, name)[starts[0] : starts[-1]] for name in self.terms}
        return {self.start: starts - starts[0], **terms}

    def kept(self, forest: Any, keeps: NDArray[np.bool_], has_terms: NDArray[np.bool_]) -> Arrays:
        """Return the arrays for the nodes that a forest keeps, ``has_terms`` of which keep their terms."""
        if self.is_optional and not has_terms.any():
            return {}
        sizes = np.diff(getattr(forest, self.start))
        owns = np.zeros(len(keeps), dtype=bool)
        owns[keeps] = has_terms
        terms = {name: getattr(forest, name)[np.repeat(owns, sizes)] for name in self.terms}
        return {self.start: np.append(0, np.cumsum(np.where(has_terms, sizes[keeps], 0))).astype(np.int64), **terms}

    def joined(self, forests: Sequence[Any]) -> Arrays:
        """Return the arrays of forests one after the other; none if no forest has the pool."""
        if not any(self.is_in(forest) for forest in forests):
            return {}
        starts = [getattr(f, self.start) if self.is_in(f) else np.zeros(f.n_nodes + 1, np.int64) for f in forests]
        terms = {name: np.concatenate([getattr(f, name) for f in forests]) for name in self.terms}
        return {self.start: join_starts(starts), **terms}

    def lengths(self, forest: Any) -> dict[str, int]:
        """Return the length that each array must have."""
        if self.is_optional and not self.is_in(forest):
            return dict.fromkeys(self.dtypes, 0)
        return {self.start: forest.n_nodes + 1, **dict.fromkeys(self.terms, self.n_terms(forest))}

    def n_terms(self, forest: Any) -> int:
        """Return the number of terms, by the first of their arrays."""
        return len(getattr(forest, next(iter(self.terms))))


SETS = Pool("sets", "set_start", {"set_words": np.uint32}, is_optional=False)
PROJECTIONS = Pool(
    "projections",
    "projection_start",
    {"projection_feature": np.int32, "projection_weight": np.float64, "projection_fill": np.float64},
)
SLOPES = Pool(
    "slopes",
    "slope_start",
    {
        "slope_feature": np.int32,
        "slope_weight": np.float64,
        "slope_centre": np.float64,
        "slope_low": np.float64,
        "slope_high": np.float64,
    },
)
OPTIONAL = (PROJECTIONS, SLOPES)
POOLS = (SETS, *OPTIONAL)


def join_starts(starts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Join the starts of sequences that are put one after the other.

    Examples
    --------
    >>> join_starts([np.array([0, 2]), np.array([0, 1, 3])])
    array([0, 2, 3, 5])
    """
    counts = [np.diff(start) for start in starts]
    return np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
