"""What one statistic of a category is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.encoding.levels import Columns

FloatArray: TypeAlias = NDArray[np.float64]
StatisticKind: TypeAlias = Literal["class", "above", "number", "count"]

_PARTS = {
    "class": _kernel.TargetPart.equal,
    "above": _kernel.TargetPart.above,
    "number": _kernel.TargetPart.number,
}


@dataclass(frozen=True)
class Statistic:
    """One column of numbers that stands for categories.

    Parameters
    ----------
    columns : tuple of int
        The columns of the table whose categories make a level.
    kind : {"class", "above", "number", "count"}
        Share of rows of the class `at`; share of rows with a target above `at`; mean of the target; weight of the
        level as a share of that of the most frequent one.
    at : float
        Code of the class, or the border.
    prior, prior_weight : float
        Value of a level without rows, and what it weighs in a mean; a count starts from 0.

    Examples
    --------
    >>> Statistic((0, 2), "class", at=1.0, prior=0.3)
    Statistic(columns=(0, 2), kind='class', at=1.0, prior=0.3, prior_weight=1.0)
    """

    columns: Columns
    kind: StatisticKind
    at: float = 0.0
    prior: float = 0.0
    prior_weight: float = 1.0

    def part(self, target: FloatArray) -> FloatArray:
        """Return the part of the target that is averaged, row by row."""
        if self.kind == "number":
            return target
        return np.asarray(target == self.at if self.kind == "class" else target > self.at, np.float64)

    def mean(self, source: int, column: int) -> _kernel.OrderedMean:
        """Return what the kernel knows of a mean, from the levels of a source to a column of results."""
        return _kernel.OrderedMean(source, _PARTS[self.kind], self.at, self.prior, self.prior_weight, column)
