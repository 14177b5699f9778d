"""Values of leaves by Newton steps on the loss itself, apart from the gradients that shaped the tree.

With G and H the sums of gradients and hessians over the rows of a leaf at raw + v::

    v ← v − sign(G) · max(|G| − l1, 0) / (H + l2)

One step from v = 0 is the usual leaf of second-order boosting (Chen & Guestrin 2016). Several come close to the line
search argmin Σ L(y, raw + v) of Friedman (2001, Algorithm 1), and are CatBoost's ``leaf_estimation_iterations``: there
as here the penalty holds back each step, not the whole value, so more steps weaken it. Steps end when no
leaf moves any more: for squared error without ``l2`` after the second, which finds nothing left to do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.growing.grower import StepBound

FloatArray: TypeAlias = NDArray[np.float64]
Leaves: TypeAlias = NDArray[np.uint32]
SumsAt: TypeAlias = Callable[[FloatArray], FloatArray]
"""Values of the nodes → Σ gradients and Σ hessians of their rows at raw + value (nodes × 2, or nodes × outputs × 2)."""

STILL = 1e-9  # steps end when every leaf moves by at most this share of the largest value


@dataclass(frozen=True)
class LeafRule:
    """Penalties and bounds of leaf values.

    Examples
    --------
    Two rows of squared error in one leaf, gradients 1 and 3, hessians 1:

    >>> LeafRule(l2=2.0).step(np.zeros(1), np.array([4.0]), np.array([2.0]))
    array([-1.])
    """

    l1: float = 0.0
    l2: float = 0.0
    max_delta_step: float = 0.0
    bound: StepBound | None = None  # of each step

    def step(self, value: FloatArray, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
        """Return the values after a Newton step; leaves without rows keep theirs."""
        shrunk = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0.0)
        curvature = hessian + self.l2
        change = np.divide(shrunk, curvature, out=np.zeros_like(shrunk), where=curvature > 0)
        if self.bound is not None:
            change = self.bound.moved(change, 1.0)
        moved = value - change
        bound = self.max_delta_step if self.max_delta_step > 0 else np.inf
        bounded: FloatArray = np.clip(moved, -bound, bound)
        return bounded


def newton_values(rule: LeafRule, sums_at: SumsAt, n_nodes: int | tuple[int, int], most_steps: int) -> FloatArray:
    """Return the values of all nodes after ``most_steps`` steps, or once no value changes; 0 for nodes without rows.

    ``n_nodes`` is (nodes, outputs) for vector leaves.

    Examples
    --------
    Counts 3 and 5 in one leaf, whose best value is the logarithm of their mean:

    >>> poisson = lambda v: np.stack([2 * np.exp(v) - 8, 2 * np.exp(v)], axis=1)
    >>> np.exp(newton_values(LeafRule(), poisson, n_nodes=1, most_steps=100)).round(9)
    array([4.])
    """
    values = np.zeros(n_nodes)
    with np.errstate(over="ignore", invalid="ignore"):  # the caller that adds the tree reports divergence
        for _ in range(most_steps):
            before, sums = values, sums_at(values)
            values = rule.step(before, sums[..., 0], sums[..., 1])
            if np.max(np.abs(values - before)) <= STILL * np.max(np.abs(values)):
                break
    return values
