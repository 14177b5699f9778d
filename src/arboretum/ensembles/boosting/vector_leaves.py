"""Trees whose leaves hold one value per output: a round grows one tree for all outputs.

A split of such a tree should raise Σ_k G_k² / (H_k + l2) over the outputs k, which costs as much as one tree per
output. SketchBoost (Iosipoi & Vakhrushev, *SketchBoost: fast gradient boosted decision tree for multioutput problems*,
NeurIPS 2022) searches on a few random mixtures of the outputs instead; here on one mixture per tree, drawn anew for
each::

    gradient   p = Σ_k z_k √(h̄ / h̄_k) g_k / s_k          z random, Σ z² = 1
    hessian    Σ_k z_k² (h̄ / h̄_k) h_k                    s_k², h̄_k: spread and mean hessian of output k (newton_units)

For independent z the expectation of (Σ p)² is Σ_k h̄/h̄_k · (G_k / s_k)²: the full score, each output in units of its
own spread. The values of the leaves come from the gradients of every output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.ensembles.boosting.leaf_steps import LeafRule, Leaves, newton_values
from arboretum.exact_sums import Units
from arboretum.growing.sampling import ALL_ROWS, Sample
from arboretum.losses import Loss
from arboretum.losses.each_output import newton_units

FloatArray: TypeAlias = NDArray[np.float64]
Gradients: TypeAlias = tuple[NDArray[Any], NDArray[Any]]  # gradients and hessians, outputs × rows or (rows,)

MIXTURE_PURPOSE = 0x6D69786573  # "mixes"


class OutputSketch:
    """Mixtures of the gradients of all outputs.

    Parameters
    ----------
    loss, y, raw, weight
        What boosting starts from: the spread of each output is that of its gradients at these raw predictions.
    seed : int
        Seed of the draws.
    """

    def __init__(self, loss: Loss, y: FloatArray, raw: FloatArray, weight: FloatArray | None, seed: int) -> None:
        units, curvature = newton_units(loss, y, raw, weight)
        takes_part = (units > 0) & (curvature > 0)  # a constant output needs no split
        self.per_spread = np.divide(1.0, np.sqrt(units), out=np.zeros_like(units), where=takes_part)
        mean = curvature[takes_part].mean() if takes_part.any() else 0.0
        self.per_curvature = np.divide(mean, curvature, out=np.zeros_like(units), where=takes_part)
        self.seed = seed

    def mixture(self, number: int) -> tuple[FloatArray, FloatArray]:
        """Return the weights of gradients and of hessians, (outputs,), in mixture ``number``."""
        z = draw_normals(len(self.per_spread), _kernel.draw(self.seed, MIXTURE_PURPOSE, number))
        return z * np.sqrt(self.per_curvature) * self.per_spread, z**2 * self.per_curvature

    def of(self, gradients: Gradients, number: int, threads: int) -> Gradients:
        """Mix gradients and hessians (outputs × rows) into one gradient and one hessian per row."""
        g, h = gradients
        mixed = np.empty(g.shape[1], g.dtype), np.empty(g.shape[1], g.dtype)
        _kernel.sketch_outputs(g, h, *self.mixture(number), threads, *mixed)
        return mixed


def draw_normals(n: int, key: int) -> FloatArray:
    """Draw ``n`` numbers, nearly normal, whose squares sum to 1.

    Each is a sum of four uniform draws of 16 bits: exact, so that the result does not depend on a mathematical library.

    Examples
    --------
    >>> z = draw_normals(4, key=1)
    >>> z.round(2), float((z**2).sum().round(9))
    (array([ 0.74,  0.11, -0.59, -0.31]), 1.0)
    """
    words = np.array([_kernel.draw(key, 0, i) for i in range(n)], np.uint64)
    z = words.view(np.uint16).reshape(n, 4).sum(axis=1, dtype=np.int64) - 2.0 * 65535.0
    length = np.sqrt(np.add.reduce(z**2))
    return np.asarray(z / length if length > 0 else np.full(n, 1 / np.sqrt(n)))


class OutputSums:
    """Sums of gradients and hessians of each output over the rows of the nodes of a tree."""

    def __init__(self, n_outputs: int) -> None:
        self.units = Units(n_outputs, 2)

    def of(
        self, tree: _kernel.GrownTree, leaf: Leaves, sample: Sample, gradients: Gradients, threads: int
    ) -> FloatArray:
        """Sum up gradients and hessians (outputs × rows) of the sample's rows in every node, (nodes, outputs, 2)."""
        sums, largest = np.empty((tree.n_nodes, *self.units.last.shape), np.int64), np.empty(self.units.last.shape)

        def sum_in(units: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
            _kernel.output_sums(tree, leaf, *sample, *gradients, units, threads, largest, sums)
            return largest, sums

        return self.units.sums(len(leaf), sum_in)

    def newton_step(
        self,
        tree: _kernel.GrownTree,
        leaf: Leaves,
        sample: Sample,
        gradients: Gradients,
        rule: LeafRule,
        threads: int,
    ) -> FloatArray:
        """Return the value of each node and output, (nodes, outputs), after a Newton step from 0."""
        sums = self.of(tree, leaf, sample, gradients, threads)
        return rule.step(np.zeros(sums.shape[:2]), sums[..., 0], sums[..., 1])

    def stepped_vectors(
        self,
        tree: _kernel.GrownTree,
        leaf: Leaves,
        raw: FloatArray,
        gradients_at: Callable[[FloatArray], Gradients],
        rule: LeafRule,
        most_steps: int,
    ) -> FloatArray:
        """Return values (nodes, outputs) by Newton steps of all outputs at once; inner nodes have means of leaves."""

        def sums_at(values: FloatArray) -> FloatArray:
            return self.of(tree, leaf, ALL_ROWS, gradients_at(raw + values.T[:, leaf]), 1)

        values = newton_values(rule, sums_at, (tree.n_nodes, len(raw)), most_steps)
        return each_column(tree.with_means, values)


def each_column(change: Callable[[FloatArray], FloatArray], values: FloatArray) -> FloatArray:
    """Apply a function of the values of nodes to those of each output, (nodes, outputs)."""
    return np.column_stack([change(np.ascontiguousarray(column)) for column in values.T])
