"""Ordered boosting: the gradient of a row comes from a model that has not seen the row.

In plain boosting a row's gradient is taken at a prediction that was fitted to the row itself, so that it is smaller
than that of a new row: prediction shift (Prokhorenkova et al., *CatBoost: unbiased boosting with categorical features*,
NeurIPS 2018, section 4 and appendix B). Here rows are put into random orders, and beside the model there are supporting
models on prefixes of each order, a doubling apart, all with the trees of the model but leaf values of their own::

    order        r₀ │ r₁ │ r₂ r₃ │ r₄ r₅ r₆ r₇ │ r₈ …
    prefix 1     ■    ▒                                     ■ rows that its leaf values are fitted to
    prefix 2     ■    ■    ▒  ▒                             ▒ rows whose gradients come from it
    prefix 4     ■    ■    ■  ■    ▒  ▒  ▒  ▒
    …                                                       each holds raw predictions of ■ and ▒: 2 n numbers per order

A round takes one of the orders for the shape of its tree; every prefix of every order then takes a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.encoding.target_statistics import draw_orders
from arboretum.ensembles.boosting.leaf_steps import LeafRule, Leaves
from arboretum.exact_sums import sum_by_group
from arboretum.growing.grower import StepBound

FloatArray: TypeAlias = NDArray[np.float64]
Gradients: TypeAlias = Callable[[NDArray[np.intp], FloatArray], tuple[FloatArray, FloatArray]]
"""(rows, raw predictions of them, outputs × rows) → gradients and hessians of the same shape, weights included."""


@dataclass
class Prefix:
    """A model fitted to the first ``size`` rows of an order, and its predictions for them and the next ``size``."""

    size: int
    raw: FloatArray  # outputs × up to 2 · size


class OrderedModels:
    """The supporting models of ordered boosting.

    Parameters
    ----------
    raw : ndarray, outputs × rows
        Raw predictions that all models start from.
    n_orders : int
        Random orders of the rows.
    seed : int
        Seed of the orders.
    gradients : callable
        Gradients and hessians of some rows at some raw predictions.
    """

    def __init__(self, raw: FloatArray, n_orders: int, seed: int, gradients: Gradients) -> None:
        n_rows = raw.shape[1]
        self.gradients = gradients
        self.start = raw.copy()
        self.orders = list(draw_orders(n_rows, n_orders, seed=seed).astype(np.intp))
        self.prefixes = [
            [Prefix(size, raw[:, order[: 2 * size]].copy()) for size in doublings(n_rows)] for order in self.orders
        ]

    def unseen_raw(self, number: int) -> FloatArray:
        """Return raw predictions (outputs × rows) of each row by the last prefix of an order that ends before it."""
        order, raw = self.orders[number], self.start.copy()
        for prefix in self.prefixes[number]:
            next_rows = order[prefix.size : 2 * prefix.size]
            raw[:, next_rows] = prefix.raw[:, prefix.size :]
        return raw

    def add_tree(
        self,
        leaf_of_row: Leaves,
        n_nodes: int,
        output: int,
        rule: LeafRule,
        learning_rate: float,
        bound: StepBound | None = None,
    ) -> None:
        """Move every prefix by a step with its own leaf values, within a bound."""
        for order, prefixes in zip(self.orders, self.prefixes, strict=True):
            leaf = leaf_of_row[order]
            for prefix in prefixes:
                seen = slice(0, prefix.size)
                g, h = self.gradients(order[seen], prefix.raw[:, seen])
                sums = [sum_by_group(part[output], leaf[seen], n_nodes) for part in (g, h)]
                values = rule.step(np.zeros(n_nodes), sums[0], sums[1])
                moved = (bound or StepBound()).moved(values, learning_rate)
                prefix.raw[output] += moved[leaf[: 2 * prefix.size]]


def doublings(n_rows: int) -> list[int]:
    """Return 1, 2, 4, … below the number of rows.

    Examples
    --------
    >>> doublings(9)
    [1, 2, 4, 8]
    """
    sizes = []
    size = 1
    while size < n_rows:
        sizes.append(size)
        size *= 2
    return sizes
