"""The sum of an additive model while it is fitted, and how a stage changes its coefficients.

    F = c + Σ α_j·b_j

    StagewiseSum    the new α_t = learning rate · β_t; c and earlier coefficients stay
    CorrectedSum    c, α_1 … α_t += learning rate · (argmin Σ w·L(y, F) − c, α_1 … α_t)

For the squared error and a learning rate of 1, the second is orthogonal matching pursuit (Pati, Rezaiifar and
Krishnaprasad 1993); for other losses it is fully corrective boosting (Shalev-Shwartz, Srebro and Zhang 2010). The
minimum is found by Newton's method: with columns B of ones and of predictions b_j,

    step = −(Bᵀ·diag(w·h)·B)⁻¹ · Bᵀ·(w·g),    g, h = ∂L/∂F, ∂²L/∂F²

stretched or shortened by the line search. Hessians are those at the start of a stage. The squared error needs one step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.additive.line_search import LARGEST_MOVE, derivatives, line_search
from arboretum.ensembles.symmetric_systems import solved
from arboretum.losses import Loss
from arboretum.losses.base import constant_raw

FloatArray: TypeAlias = NDArray[np.float64]

NEWTON_STEPS = 50
# Shares of the loss. A step that promises to lower it by less is the last. Near the minimum, the loss falls by the
# square of what coefficients move: rounding may make it seem to rise.
LEAST_FALL = 1e-20
ROUNDING = 1e-12
# Of the squared length of a column: where earlier columns leave less of it, it is a combination of them.


class StagewiseSum:
    """A constant plus directions times coefficients, for training rows and rows held out; coefficients stay.

    Parameters
    ----------
    start : ndarray, (outputs,)
        The constant.
    y, weight : ndarray
        Targets and weights of the training rows.
    n_held : int
        Number of rows held out.
    learning_rate : float
        Share of the best step that is taken.
    """

    def __init__(
        self, start: FloatArray, y: FloatArray, weight: FloatArray | None, n_held: int, learning_rate: float
    ) -> None:
        self.y, self.weight, self.learning_rate = y, weight, learning_rate
        self.constant, self.coefficients = start, np.zeros(0)
        self.raw, self.held_raw = constant_raw(start, len(y)), constant_raw(start, n_held)

    def add(self, loss: Loss, direction: FloatArray, held: FloatArray | None, beta: float) -> None:
        """Add a direction, whose best coefficient beside the earlier ones is β.

        Parameters
        ----------
        loss : Loss
            Loss of this stage.
        direction, held : ndarray, (rows,) or (rows, outputs)
            What a learner predicts for the training rows, and for rows held out if there are some.
        beta : float
            Result of the line search.
        """
        coefficient = self.learning_rate * beta
        self.coefficients = np.append(self.coefficients, coefficient)
        self.raw = self.raw + coefficient * direction
        if held is not None:
            self.held_raw = self.held_raw + coefficient * held


class CorrectedSum(StagewiseSum):
    """The same, with all coefficients fitted anew whenever a direction is added.

    Parameters
    ----------
    has_constant : bool
        Whether the constant is fitted, too.
    """

    def __init__(
        self,
        start: FloatArray,
        y: FloatArray,
        weight: FloatArray | None,
        n_held: int,
        learning_rate: float,
        *,
        has_constant: bool,
    ) -> None:
        super().__init__(start, y, weight, n_held, learning_rate)
        n_outputs = len(start)
        cells = np.ones(len(y)) if weight is None else weight
        self.cell_weight = np.repeat(cells, n_outputs)
        self.n_constants = n_outputs if has_constant else 0
        # A column has an entry per row and output, row by row.
        self.columns = [np.tile(output, len(y)) for output in np.eye(n_outputs)[: self.n_constants]]
        self.directions: list[FloatArray] = []
        self.held_directions: list[FloatArray] = []
        self.products = np.empty((0, 0))  # of columns, weighted: those of the squared error

    @property
    def point(self) -> FloatArray:
        """All that is fitted: the constant of each output, if it is, and the coefficients."""
        return np.append(self.constant[: self.n_constants], self.coefficients)

    def add(self, loss: Loss, direction: FloatArray, held: FloatArray | None, beta: float) -> None:
        """Add a direction, and fit all coefficients anew; a convex loss does not rise by more than rounding."""
        before, here = np.append(self.point, 0.0), loss.value(self.y, self.raw, self.weight)
        self.columns.append(direction.ravel())
        self.directions.append(direction)
        self.held_directions += [] if held is None else [held]
        alone = before.copy()
        alone[-1] = beta
        for found in (self._minimum(loss, alone), alone):  # the second if a loss is not convex, or rounding decides
            point = before + self.learning_rate * (found - before)
            constant = point[: self.n_constants] if self.n_constants else self.constant
            *_, raw = partial_sums(constant, point[self.n_constants :], self.directions, len(self.y))
            if loss.value(self.y, raw, self.weight) < here + ROUNDING * abs(here):
                break
        self.constant, self.coefficients, self.raw = constant, point[self.n_constants :], raw
        *_, self.held_raw = partial_sums(constant, self.coefficients, self.held_directions, len(self.held_raw))

    def _minimum(self, loss: Loss, point: FloatArray) -> FloatArray:
        """Return the point of least loss, by Newton's method from a point on; rows move from it by a bounded step."""
        raw = first = self.raw + point[-1] * self.directions[-1]
        products = None
        for _ in range(NEWTON_STEPS):
            gradient, hessian = (part.ravel() * self.cell_weight for part in derivatives(loss, self.y, raw))
            products = self._products(loss, hessian) if products is None else products
            slopes = np.array([(column * gradient).sum() for column in self.columns])
            step = -solved(products, slopes)
            move = np.zeros(raw.size)
            for size, column in zip(step.tolist(), self.columns, strict=True):
                move = move + size * column
            share, value = line_search(
                loss,
                self.y,
                raw,
                move.reshape(raw.shape),
                self.weight,
                reach=LARGEST_MOVE - float(np.abs(raw - first).max()),
                slack=ROUNDING,
            )
            point, raw = point + share * step, raw + share * move.reshape(raw.shape)
            fall = -(step * slopes).sum() / self.cell_weight.sum()
            if share == 0 or fall <= LEAST_FALL * abs(value):
                break
        return point

    def _products(self, loss: Loss, weight: FloatArray) -> FloatArray:
        """Return the products of all columns, weighted; those of constant weights are kept from stage to stage."""
        if not loss.constant_hessian:
            return weighted_products(self.columns, weight, np.empty((0, 0)))
        self.products = weighted_products(self.columns, weight, self.products)
        return self.products


def partial_sums(
    constant: FloatArray, coefficients: FloatArray, directions: Iterable[FloatArray], n_rows: int
) -> Iterator[FloatArray]:
    """Yield the constant, (rows,) or (rows, outputs), then with each direction added; further ones are left out.

    Models in training and fitted ones both add by it, so that their sums have the same bits.

    Examples
    --------
    >>> list(partial_sums(np.array([1.0]), np.array([2.0]), [np.array([3.0, 4.0])], n_rows=2))
    [array([1., 1.]), array([7., 9.])]
    """
    raw = constant_raw(constant, n_rows)
    yield raw
    for coefficient, direction in zip(coefficients, directions, strict=False):
        raw = raw + coefficient * direction
        yield raw


def weighted_products(columns: list[FloatArray], weight: FloatArray, known: FloatArray) -> FloatArray:
    """Return Σ w·a·b of all pairs of columns, of which the first are known.

    Examples
    --------
    >>> first, second = np.array([1.0, 1.0]), np.array([1.0, 3.0])
    >>> weighted_products([first, second], np.array([1.0, 2.0]), known=np.array([[3.0]]))
    array([[ 3.,  7.],
           [ 7., 19.]])
    """
    found = np.zeros((len(columns), len(columns)))
    found[: len(known), : len(known)] = known
    for place in range(len(known), len(columns)):
        weighted = columns[place] * weight
        # Not a matrix product: BLAS may sum in another order with another number of threads.
        found[place, : place + 1] = [(column * weighted).sum() for column in columns[: place + 1]]
        found[: place + 1, place] = found[place, : place + 1]
    return found
