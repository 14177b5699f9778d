"""A loss of one number, for several numbers at once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.losses.base import Loss, constant_raw, weighted_mean
from arboretum.losses.links import FloatArray


@dataclass(frozen=True)
class EachOutput(Loss):
    """The sum of a loss over several outputs: y and raw (n, n_outputs); a missing target (NaN) costs nothing.

    Parameters
    ----------
    loss : Loss
        Of one output, with Newton's steps in its leaves.
    n_outputs : int
        Number of outputs.
    units : tuple of float, optional
        What the values of each output are divided by where ``value`` averages them, so that an output in thousands
        does not drown one in thousandths; see ``in_units_of``.

    Examples
    --------
    >>> from arboretum.losses import SquaredError
    >>> loss = EachOutput(SquaredError(), 2)
    >>> y = np.array([[1.0, 10.0], [3.0, np.nan]])
    >>> loss.start(y, weight=None)
    array([ 2., 10.])
    >>> loss.gradients(y, raw=np.zeros((2, 2)))[0]
    array([[ -1., -10.],
           [ -3.,   0.]])
    """

    name = "each_output"

    loss: Loss
    n_outputs: int = field()
    units: tuple[float, ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if type(self.n_outputs) is not int or self.n_outputs < 2:
            raise ValueError(f"n_outputs={self.n_outputs!r}: expected an integer at least 2")
        for name in ("task", "link", "exact_hessian", "row_wise", "self_concordant", "has_values"):
            object.__setattr__(self, name, getattr(self.loss, name))

    @classmethod
    def of(cls, loss: Loss, n_outputs: int) -> EachOutput:
        """Return the form of a loss for several outputs; reject a loss that has none."""
        reasons = {
            f"it has {loss.n_outputs} outputs of its own": loss.n_outputs != 1,
            "it computes leaf values itself": type(loss).leaf_values is not Loss.leaf_values,
            "it adapts to each round": type(loss).for_round is not Loss.for_round,
        }
        for reason, holds in reasons.items():
            if holds:
                raise ValueError(
                    f"loss {loss.name!r} has no form for {n_outputs} outputs, because {reason}: use one with Newton's "
                    "steps, such as 'squared_error' or 'poisson', or fit one model per output"
                )
        return cls(loss, n_outputs)

    def in_units_of(self, y: FloatArray, weight: FloatArray | None, offset: FloatArray | None = None) -> EachOutput:
        """Return this loss with values in units of the spread of each output, as ``newton_units`` measures it."""
        start = self.start(y, weight) if offset is None else self.start_from(y, offset, weight)
        raw = constant_raw(start, len(y)) if offset is None else offset + start
        found, _ = newton_units(self, y, raw, weight)
        return replace(self, units=tuple(np.where(found > 0, found, 1.0).tolist()))

    def check_target(self, y: FloatArray) -> None:
        """Need a known value of each output, and values that the loss takes."""
        if y.ndim != 2 or y.shape[1] != self.n_outputs or not places.total(len(y)):
            raise ValueError(f"y has shape {y.shape}: give {self.n_outputs} outputs per row, and at least one row")
        for output, column in enumerate(y.T):
            known = _known_values(column)
            if not len(known):
                raise ValueError(f"y[:, {output}] has no known value: give at least one, or leave the output out")
            try:
                self.loss.check_target(np.where(np.isnan(column), known[0], column))
            except ValueError as error:
                raise ValueError(re.sub(r"^y\[(\d+)\]", rf"y[\1, {output}]", str(error))) from None

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return those of each output; 0 and 0 where the target is missing."""
        pairs = [self.loss.gradients(*columns) for columns in zip(y.T, raw.T, strict=True)]
        missing = np.isnan(y)
        gradient, hessian = (np.column_stack(parts) for parts in zip(*pairs, strict=True))
        gradient[missing] = hessian[missing] = 0.0
        return gradient, hessian

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Return the sum over the known outputs of each row."""
        return np.asarray(self._values_of_cells(y, raw).sum(axis=1))

    def _values_of_cells(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        cells = np.column_stack([self.loss.values(*columns) for columns in zip(y.T, raw.T, strict=True)])
        return np.where(np.isnan(y), 0.0, cells)

    def value(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None = None) -> float:
        """Mean over the outputs of the weighted mean of each, in its units; one without known rows is left out."""
        share = weighted_mean((~np.isnan(y)).astype(np.float64), weight)
        total = weighted_mean(self._values_of_cells(y, raw), weight)
        known = share > 0
        means = total[known] / share[known] / np.asarray(self.units or np.ones(self.n_outputs))[known]
        return float(means.mean()) if len(means) else 0.0

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Best constant of each output, over its known rows."""
        return np.array([self._start_of(column, None, weight) for column in y.T])

    def start_from(self, y: FloatArray, offset: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Best constant of each output beside its offset, over its known rows."""
        return np.array([self._start_of(*columns, weight) for columns in zip(y.T, offset.T, strict=True)])

    def _start_of(self, column: FloatArray, offset: FloatArray | None, weight: FloatArray | None) -> float:
        known = ~np.isnan(column) if weight is None else ~np.isnan(column) & (weight > 0)
        if not places.anywhere(bool(known.any())):
            return 0.0
        y, own = column[known], None if weight is None else weight[known]
        start = self.loss.start(y, own) if offset is None else self.loss.start_from(y, offset[known], own)
        return float(start[0])

    def predict(self, raw: FloatArray) -> FloatArray:
        """Apply the inverse link of the loss to each output."""
        return np.column_stack([self.loss.predict(column) for column in raw.T])

    def to_json(self) -> dict[str, Any]:
        """Describe the loss of an output, and their number."""
        return {"name": self.name, "loss": self.loss.to_json(), "n_outputs": self.n_outputs}


def _known_values(column: FloatArray) -> FloatArray:
    """Return a known value of each place that has one."""
    return np.concatenate(places.gathered(lambda: column[~np.isnan(column)][:1]))


def newton_units(
    loss: Loss, y: FloatArray, raw: FloatArray, weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return Σ w g² / Σ w h and Σ w h / Σ w of each output, at the raw predictions that boosting starts from.

    The first is twice what a Newton step of each row for itself would gain on average: for the squared error of an
    output, its variance; for a log loss at the class frequencies, 1. It is 0 for an output that is constant.

    Examples
    --------
    >>> from arboretum.losses import SquaredError
    >>> y = np.array([[1.0, 5.0], [3.0, 5.0]])
    >>> newton_units(EachOutput(SquaredError(), 2), y, constant_raw(y.mean(axis=0), 2), weight=None)
    (array([1., 0.]), array([1., 1.]))
    """
    gradient, hessian = loss.gradients(y, raw)
    squares, curvature = weighted_mean(gradient**2, weight), weighted_mean(hessian, weight)
    units: NDArray[np.float64] = np.divide(squares, curvature, out=np.zeros_like(squares), where=curvature > 0)
    return units, curvature
