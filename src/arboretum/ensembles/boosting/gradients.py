"""Weighted gradients and hessians of a loss: fused in the kernel where it knows the loss, else by the loss itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.ensembles.boosting.leaf_steps import Leaves
from arboretum.ensembles.boosting.rows import FloatArray, Rows, of_output, user_shape
from arboretum.exact_sums import Units
from arboretum.losses import (
    AbsoluteError,
    EachOutput,
    FunctionLoss,
    Gamma,
    Huber,
    Logistic,
    Loss,
    Multinomial,
    Ordinal,
    Poisson,
    Quantile,
    SquaredError,
    Tweedie,
)

# Rows of one call to a loss written in Python: temporaries of this size stay in the second-level cache.
LOSS_BLOCK = 16_384
# Losses of one output that the kernel computes itself; not their subclasses, which may override anything.
FUSED: dict[type[Loss], _kernel.LossKind] = {
    loss: getattr(_kernel.LossKind, loss.name)
    for loss in (SquaredError, AbsoluteError, Quantile, Huber, Poisson, Gamma, Tweedie, Logistic)
}


def fill_gradients(loss: Loss, rows: Rows, gradients: NDArray[Any], hessians: NDArray[Any], threads: int) -> None:
    """Write weighted gradients and hessians (outputs × rows): fused in the kernel, or by the loss itself."""
    kind = FUSED.get(type(loss))
    if loss.parts:
        for output, part in enumerate(loss.parts):
            own = slice(output, output + 1)
            fill_gradients(part, of_output(rows, output), gradients[own], hessians[own], threads)
    elif type(loss) is Multinomial:
        _kernel.softmax_gradients(rows.y, rows.raw, rows.weight, gradients, hessians, threads)
    elif type(loss) is Ordinal:
        thresholds = np.array(loss.thresholds)
        _kernel.ordinal_gradients(rows.y, rows.raw[0], rows.weight, thresholds, gradients[0], hessians[0], threads)
    elif isinstance(loss, EachOutput) and (kind := FUSED.get(type(loss.loss))) is not None:
        y, parameter = np.ascontiguousarray(rows.y.T), loss_parameter(loss.loss)
        _kernel.output_gradients(kind, parameter, y, rows.raw, rows.weight, gradients, hessians, threads)
    elif kind is not None:
        _kernel.gradients(
            kind, loss_parameter(loss), rows.y, rows.raw[0], rows.weight, gradients[0], hessians[0], threads
        )
    else:
        _fill_from_python(loss, rows, gradients, hessians)


def leaf_gradients(
    loss: Loss, rows: Rows, leaf: Leaves, values: FloatArray, output: int, threads: int, units: Units | None = None
) -> FloatArray:
    """Sum up gradients and hessians (nodes × 2) of the rows of each node, at raw predictions moved by its value.

    ``units`` remembers those of the last sums.
    """
    if loss.parts:
        return leaf_gradients(loss.parts[output], of_output(rows, output), leaf, values, 0, threads, units)
    kind, sums = FUSED.get(type(loss)), np.empty((len(values), 2), np.int64)
    known: tuple[FloatArray, FloatArray] | None = None
    if type(loss) is not Multinomial and kind is None:
        raw, g, h = rows.raw.copy(), np.empty(rows.raw.shape), np.empty(rows.raw.shape)
        raw[output] += values[leaf]
        _fill_from_python(loss, replace(rows, raw=raw), g, h)
        known = g[output], h[output]

    def sum_in(units: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
        step = (leaf, values, units, threads, sums)
        if known is not None:
            largest = _kernel.known_leaf_gradients(known[0], known[1], *step)
        elif kind is None:
            largest = _kernel.softmax_leaf_gradients(rows.y, rows.raw, rows.weight, output, *step)
        else:
            largest = _kernel.leaf_gradients(kind, loss_parameter(loss), rows.y, rows.raw[0], rows.weight, *step)
        return np.array(largest), sums

    return (units or Units(2)).sums(len(leaf), sum_in)


def is_built_in(loss: Loss) -> bool:
    """Whether the library itself computes the gradients."""
    if isinstance(loss, EachOutput):
        return is_built_in(loss.loss)
    return type(loss).__module__.startswith("arboretum.losses.") and not isinstance(loss, FunctionLoss)


def loss_parameter(loss: Loss) -> float:
    """Return the single parameter that some fused losses need."""
    for name in ("delta", "power", "quantile"):
        if (value := getattr(loss, name, None)) is not None:
            return float(value)
    return 0.0


def _fill_from_python(loss: Loss, rows: Rows, gradients: NDArray[Any], hessians: NDArray[Any]) -> None:
    n_rows = len(rows.y)
    block = LOSS_BLOCK if loss.row_wise else max(n_rows, 1)
    raw, g_out, h_out = user_shape(rows.raw), user_shape(gradients), user_shape(hessians)
    for begin in range(0, n_rows, block):
        part = slice(begin, begin + block)
        g, h = loss.weighted_gradients(rows.y[part], raw[part], None if rows.weight is None else rows.weight[part])
        if not is_built_in(loss):
            check_gradients(loss, g, h, raw[part], begin)
        g_out[part], h_out[part] = g, h


def check_gradients(loss: Loss, g: FloatArray, h: FloatArray, raw: FloatArray, begin: int) -> None:
    """Reject invalid results of a user's loss; ``begin`` is the first row of ``raw``."""
    for name, part in (("gradients", g), ("hessians", h)):
        if np.shape(part) != raw.shape:
            raise ValueError(f"{loss!r} returned {name} of shape {np.shape(part)}: expected {raw.shape}")
        if not np.isfinite(part).all():
            row = begin + int(np.argwhere(~np.isfinite(part))[0][0])
            raise ValueError(f"{loss!r} returned {name} that are not finite, first in row {row}")
    if np.min(h, initial=0.0) < 0:
        row = begin + int(np.argwhere(h < 0)[0][0])
        raise ValueError(f"{loss!r} returned a negative hessian, first in row {row}: return an upper bound instead")
