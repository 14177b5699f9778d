"""The mean of a boosted model's raw predictions after several rounds: one forest of weighted trees.

::

    round           1    2    3    4    5
    snapshots                 f₃   f₄   f₅         last=3, weights w₃, w₄, w₅ that sum to 1
    share of trees  1    1    1    w₄+w₅  w₅       a tree counts by the snapshots that have it

    f̄ = w₃ f₃ + w₄ f₄ + w₅ f₅ = base + Σ_rounds share · trees of the round

Averaging the last iterates of a method that moves in noisy steps cancels much of the noise (Polyak and Juditsky 1992);
boosting moves in such steps where rounds see samples of rows and columns.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_integer, shown
from arboretum.ensembles.boosting.model_notes import trees_of_round
from arboretum.model.averaging import weighted
from arboretum.model.forest import Forest
from arboretum.parameters.declaring import Allowed

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class AverageRounds:
    """Which snapshots of a boosted model are averaged, and by which weights.

    A snapshot is the model after a number of rounds. The last round is always among them.

    Parameters
    ----------
    last : int, optional
        Average snapshots of this many last rounds, or of all if there are fewer; None is all rounds.
    every : int, default=1
        Take every ``every``-th of these rounds, counted back from the last.
    decay : float, optional
        Weight of a snapshot relative to the next one, above 0 and at most 1: an exponentially weighted mean. None
        weights all alike.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> arb.AverageRounds(last=5, every=2).weights(n_rounds=7).round(3)
    array([0.   , 0.   , 0.333, 0.   , 0.333, 0.   , 0.333])
    >>> arb.AverageRounds(decay=0.5).weights(n_rounds=3).round(3)
    array([0.143, 0.286, 0.571])
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = arb.BoostedTreesRegressor(n_estimators=50, average_rounds=arb.AverageRounds(last=20, every=5))
    >>> model.fit(X, X[:, 0] ** 2).predict([[0.5]]).round(2)
    array([0.25])
    """

    last: int | None = None
    every: int = 1
    decay: float | None = None

    def __post_init__(self) -> None:
        check_integer("last", self.last, optional=True)
        check_integer("every", self.every)
        decay = self.decay
        is_number = isinstance(decay, numbers.Real) and not isinstance(decay, bool | np.bool_)
        if decay is not None and not (is_number and 0 < decay <= 1):
            raise ValueError(f"decay={shown(decay)}: use a number above 0 and at most 1, or None")
        for name, kind in (("last", int), ("every", int), ("decay", float)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, kind(getattr(self, name)))

    def weights(self, n_rounds: int) -> FloatArray:
        """Return the weight of the snapshot after each round: 0 where none is taken; they sum to 1.

        Parameters
        ----------
        n_rounds : int
            Rounds of the model.

        Returns
        -------
        ndarray of float64, (n_rounds,)
        """
        check_integer("n_rounds", n_rounds, 0)
        found = self._relative(n_rounds)
        return np.asarray(found / found.sum())

    def shares(self, n_rounds: int) -> FloatArray:
        """Return the share of each of ``n_rounds`` rounds: the weight of all snapshots that have its trees.

        Shares fall from exactly 1.
        """
        check_integer("n_rounds", n_rounds, 0)
        later = np.cumsum(self._relative(n_rounds)[::-1])[::-1]
        return np.asarray(later / later[:1])

    def _relative(self, n_rounds: int) -> FloatArray:
        """Return weights relative to that of the last snapshot."""
        n_last = n_rounds if self.last is None else min(self.last, n_rounds)
        taken = np.arange(0, n_last, min(self.every, n_rounds + 1))  # how long before the last round
        weights = np.zeros(n_rounds)
        # Products, not powers: these are the same on every machine.
        weights[n_rounds - 1 - taken] = np.cumprod([1.0] + [self.decay or 1.0] * (len(taken) - 1))[: len(taken)]
        return weights


def weighted_rounds(forest: Forest, trees_per_round: int, average: AverageRounds) -> tuple[Forest, bool]:
    """Return the mean of the snapshots of a forest, and whether that differs from its last snapshot."""
    step = trees_of_round(forest, trees_per_round)
    shares = average.shares(forest.n_trees // step)
    return (weighted(forest, np.repeat(shares, step)), True) if (shares != 1).any() else (forest, False)


def average_of(value: Any, name: str = "average_rounds") -> AverageRounds:
    """Return what an integer or an AverageRounds means; reject any other value.

    Examples
    --------
    >>> average_of(20)
    AverageRounds(last=20, every=1, decay=None)
    """
    if isinstance(value, AverageRounds):
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(
            f"{name}={shown(value)}: use the number of last rounds to average, at least 1, or an AverageRounds"
        )
    return AverageRounds(last=int(value))


class RoundsToAverage(Allowed):
    """A number of last rounds, an AverageRounds, or None.

    Examples
    --------
    >>> RoundsToAverage().read("20"), RoundsToAverage().read("{'last': 100, 'every': 10}")
    (20, AverageRounds(last=100, every=10, decay=None))
    """

    optional = True
    text = "int or AverageRounds"

    def check(self, owner: Any, name: str) -> None:
        """Reject other values."""
        value = getattr(owner, name)
        if value is not None:
            average_of(value, name)

    def read(self, text: str) -> Any:
        """Return a number, or the AverageRounds that a mapping of its fields describes."""
        value = super().read(text)
        known = {field.name for field in fields(AverageRounds)}
        return AverageRounds(**value) if isinstance(value, dict) and set(value) <= known else value
