"""Criteria of impurity trees: their names, their names in the kernel, and what they require of targets.

A criterion is one entry here and one gain in the kernel (``kernel/grow/impurity/``): parameters, checks and pruning
read these tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.elementary import log

FloatArray: TypeAlias = NDArray[np.float64]

OF_CLASSES = {"gini": "gini", "entropy": "entropy", "log_loss": "entropy"}
"""Name → name in the kernel."""

OF_EFFECTS = {"kl": True, "euclidean": False, "chi2": True}
"""Divergence → whether it needs outcomes 0 and 1."""

OF_TIMES = "log_rank"

LEAST_RATE = np.finfo(np.float64).tiny  # of a Poisson leaf: the deviance of a rate of 0 would be infinite


@dataclass(frozen=True)
class OfNumbers:
    """What a criterion for numbers minimises, and what it requires of them.

    Parameters
    ----------
    loss : callable
        From numbers and predictions to losses, elementwise: the loss on validation rows that prunes a tree.
    counts : bool
        Whether numbers must be counts: at least 0, and not all 0.
    several_outputs : bool
        Whether there may be several outputs.
    """

    loss: Callable[[FloatArray, FloatArray], FloatArray]
    counts: bool = False
    several_outputs: bool = True


def _deviance(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    """Return half of the Poisson deviance."""
    rate = np.maximum(predicted, LEAST_RATE)
    return np.asarray(rate - truth + truth * log(np.where(truth > 0, truth, 1.0) / rate))


OF_NUMBERS = {
    "squared_error": OfNumbers(lambda truth, predicted: (truth - predicted) ** 2),
    "absolute_error": OfNumbers(lambda truth, predicted: np.abs(truth - predicted), several_outputs=False),
    "poisson": OfNumbers(_deviance, counts=True),
}
