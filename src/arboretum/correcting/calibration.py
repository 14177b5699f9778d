"""Maps from a model's probabilities to calibrated ones, learned on rows that the model has not seen.

::

    Isotonic   the rising steps nearest to what happened (Zadrozny and Elkan 2002), for many rows
    Platt      σ(a · log odds + b) (Platt 1999; Niculescu-Mizil and Caruana 2005), for few

With several classes, each is mapped against the rest, and the probabilities are normalised to sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.correcting.held_out import Corrected, HeldOut, read_way
from arboretum.data.validity import Rules
from arboretum.elementary import log, softplus
from arboretum.ensembles.members.goals import Classes
from arboretum.losses.links import sigmoid
from arboretum.model.arrays import Arrays
from arboretum.model.members import Header, Members

FloatArray: TypeAlias = NDArray[np.float64]

RULES = Rules("calibration")

NEARLY_0 = 1e-6  # smaller probabilities count as this one: forests give 0 where no tree votes for a class
NEWTON_STEPS = 100
NEWTON_TOLERANCE = 1e-10


class ProbabilityMap(Protocol):
    """A rising map of probabilities."""

    def apply(self, p: FloatArray) -> FloatArray:
        """Return calibrated probabilities."""
        ...

    def to_array(self) -> FloatArray:
        """Return the array that a file stores, (2, n)."""
        ...


@dataclass(frozen=True, eq=False)
class Isotonic:
    """Knots of a rising map, which is linear between them.

    Examples
    --------
    One of four rows at 0.2 belongs to the class, and all of four at 0.9; the imaginary rows prevent certainty:

    >>> p, y = np.repeat([0.2, 0.9], 4), np.array([0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    >>> Isotonic.fit(p, y, np.ones(8)).apply(np.array([0.2, 0.9])).round(3)
    array([0.4, 0.8])
    """

    p: FloatArray
    value: FloatArray

    @classmethod
    def fit(cls, p: FloatArray, is_class: FloatArray, weight: FloatArray) -> Isotonic:
        """Pool adjacent violators.

        One imaginary row of the class at the lowest p and one of the others at the highest, of weight 1, keep the ends
        off 0 and 1: that n rows were all of one kind does not prove that the next one is (rule of succession).
        """
        p = np.concatenate([p, [p.min(), p.max()]])
        is_class = np.concatenate([is_class, [1.0, 0.0]])
        weight = np.concatenate([weight, [1.0, 1.0]])
        knots, place = np.unique(p, return_inverse=True)
        total: FloatArray = np.bincount(place, weight).astype(np.float64, copy=False)
        share, value = np.bincount(place, weight * is_class) / total, np.empty(len(knots))
        _kernel.pool_adjacent_violators(share, total, value)
        # Inner knots of a step lie on the line between its ends.
        inner = np.zeros(len(knots), dtype=bool)
        inner[1:-1] = (value[1:-1] == value[:-2]) & (value[1:-1] == value[2:])
        return cls(knots[~inner], value[~inner])

    def apply(self, p: FloatArray) -> FloatArray:
        """Return calibrated probabilities; constant beyond the outer knots."""
        return np.interp(p, self.p, self.value)

    def to_array(self) -> FloatArray:
        """Return knots and values."""
        return np.stack([self.p, self.value])

    @classmethod
    def from_array(cls, array: FloatArray) -> Isotonic:
        """Read a map from a file of unknown origin."""
        p, value = array
        RULES.require(len(p), "number of knots", 0, "at least 1")
        RULES.everywhere("knots", p, np.diff(p, prepend=-np.inf) > 0, "must be greater than the one before")
        RULES.everywhere("values", value, np.diff(value, prepend=-np.inf) >= 0, "must not be less than the one before")
        RULES.everywhere("values", value, (value >= 0) & (value <= 1), "must lie between 0 and 1")
        return cls(p, value)


@dataclass(frozen=True, eq=False)
class Platt:
    """σ(slope · log odds + intercept).

    Examples
    --------
    >>> Platt(1.0, 0.0).apply(np.array([0.25])).round(9)
    array([0.25])
    >>> Platt(0.5, 0.0).apply(np.array([0.1, 0.9])).round(9)
    array([0.25, 0.75])
    """

    slope: float
    intercept: float

    @classmethod
    def fit(cls, p: FloatArray, is_class: FloatArray, weight: FloatArray) -> Platt:
        """Minimise the log loss by Newton's method with step halving (Lin, Lin and Weng 2007).

        Targets are Platt's: not 1 and 0 but the estimates of the rule of succession for as many rows. A model
        whose log odds are uninformative, or misleading, gets slope 0, never one that reverses its ranking.
        """
        members = float((weight * is_class).sum())
        others = float(weight.sum()) - members
        target = np.where(is_class > 0, (members + 1) / (members + 2), 1 / (others + 2))
        base = float((weight * target).sum() / weight.sum())
        start = np.array([0.0, float(log(base / (1 - base)))])
        slope, intercept = _newton(log_odds(p), target, weight, start)
        return cls(slope, intercept) if slope > 0 else cls(0.0, float(start[1]))

    def apply(self, p: FloatArray) -> FloatArray:
        """Return calibrated probabilities."""
        return sigmoid(self.slope * log_odds(p) + self.intercept)

    def to_array(self) -> FloatArray:
        """Return slope and intercept."""
        return np.array([[self.slope], [self.intercept]])

    @classmethod
    def from_array(cls, array: FloatArray) -> Platt:
        """Read a map from a file of unknown origin."""
        RULES.require(array.shape == (2, 1), "shape", array.shape, "(2, 1), a slope and an intercept")
        RULES.require(array[0, 0] >= 0, "slope", float(array[0, 0]), "at least 0")
        return cls(float(array[0, 0]), float(array[1, 0]))


def log_odds(p: FloatArray) -> FloatArray:
    """Return log(p / (1 − p)), with p clipped to between ``NEARLY_0`` and 1 − ``NEARLY_0``.

    Examples
    --------
    >>> log_odds(np.array([0.5, 0.0, 1.0])).round(3)
    array([  0.   , -13.816,  13.816])
    """
    p = np.clip(p, NEARLY_0, 1 - NEARLY_0)
    return log(p / (1 - p))


def _newton(x: FloatArray, target: FloatArray, weight: FloatArray, at: FloatArray) -> tuple[float, float]:
    """Return the slope and intercept that minimise Σ weight · log loss."""

    def loss(at: FloatArray) -> float:
        raw = at[0] * x + at[1]
        return float((weight * (softplus(raw) - target * raw)).sum())

    here = loss(at)
    for _ in range(NEWTON_STEPS):
        q = sigmoid(at[0] * x + at[1])
        slack, curve = weight * (q - target), weight * q * (1 - q)
        gradient = np.array([(slack * x).sum(), slack.sum()])
        a, b, c = (curve * x * x).sum(), (curve * x).sum(), curve.sum()
        ridge = 1e-9 * (1 + a + c)
        a, c = a + ridge, c + ridge
        step = np.array([c * gradient[0] - b * gradient[1], a * gradient[1] - b * gradient[0]]) / (a * c - b * b)
        while (there := loss(at - step)) > here and np.abs(step).max() > NEWTON_TOLERANCE:
            step = step / 2
        if there >= here:
            break
        at, here = at - step, there
        if np.abs(step).max() <= NEWTON_TOLERANCE * (1 + np.abs(at).max()):
            break
    return float(at[0]), float(at[1])


FITS: dict[str, Callable[[FloatArray, FloatArray, FloatArray], ProbabilityMap]] = {
    "isotonic": Isotonic.fit,
    "platt": Platt.fit,
}
READS: dict[str, Callable[[FloatArray], ProbabilityMap]] = {"isotonic": Isotonic.from_array, "platt": Platt.from_array}


@dataclass(frozen=True, eq=False)
class Calibration:
    """Maps of the classes: one for the second of two classes, else one per class.

    Examples
    --------
    >>> proba = np.array([[0.1, 0.9], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1]] * 50)
    >>> calibration = Calibration.fit("platt", proba, np.array([1.0, 0.0, 0.0, 1.0] * 50), np.ones(200))
    >>> calibration.apply(np.array([[0.1, 0.9]])).round(3)  # the log odds are uninformative
    array([[0.5, 0.5]])
    """

    maps: tuple[ProbabilityMap, ...]

    @classmethod
    def fit(cls, method: str, proba: FloatArray, codes: FloatArray, weight: FloatArray) -> Calibration:
        """Learn from the probabilities (rows, classes) of rows of known class."""
        n_classes = proba.shape[1]
        chosen = [1] if n_classes == 2 else range(n_classes)
        return cls(tuple(FITS[method](proba[:, code], (codes == code).astype(float), weight) for code in chosen))

    def apply(self, proba: FloatArray) -> FloatArray:
        """Return calibrated probabilities (rows, classes)."""
        if len(self.maps) == 1:
            of_second = self.maps[0].apply(proba[:, 1])
            return np.stack([1 - of_second, of_second], axis=1)
        mapped = np.stack([one.apply(column) for one, column in zip(self.maps, proba.T, strict=True)], axis=1)
        return np.asarray(mapped / mapped.sum(axis=1, keepdims=True))

    def to_arrays(self) -> Arrays:
        """Return the arrays of a model file."""
        return {f"calibration {code}": one.to_array() for code, one in enumerate(self.maps)}

    @classmethod
    def from_arrays(cls, method: str, arrays: Arrays, n_classes: int) -> Calibration:
        """Read maps from a file of unknown origin."""
        maps = []
        for code in range(1 if n_classes == 2 else n_classes):
            array = arrays[f"calibration {code}"]
            is_pair = array.dtype == np.float64 and array.ndim == 2 and len(array) == 2
            RULES.require(is_pair, f"array of class {code}", (str(array.dtype), array.shape), "float64, (2, n)")
            RULES.everywhere(f"array of class {code}", array, np.isfinite(array), "must be finite")
            maps.append(READS[method](array))
        return cls(tuple(maps))


@dataclass(frozen=True, eq=False)
class Calibrated(Corrected):
    """A classifier and the map of its probabilities.

    Parameters
    ----------
    method : {"isotonic", "platt"}
        Kind of the map.
    goal : Classes
        The classes.
    correction : Calibration
        The map.
    """

    method: str
    goal: Classes
    correction: Calibration

    def facts(self) -> Header:
        """Return the kind of the map and the classes."""
        return {**super().facts(), "method": self.method, **self.goal.facts()}

    def arrays(self) -> Arrays:
        """Return the map."""
        return self.correction.to_arrays()

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays, read: Members, goal: Classes) -> Calibrated:
        """Read the classes, which must include all that the estimator has, and the map."""
        goal, method = goal.from_file(header), header["method"]
        if len(goal.classes) < 2:
            raise ValueError(f"{len(goal.classes)} classes: expected two or more")
        goal.check(read.parts["estimator"])
        return cls(read_way(header), method, goal, Calibration.from_arrays(method, arrays, len(goal.classes)))

    def probabilities(self, members: Members, X: Any) -> FloatArray:
        """Return calibrated probabilities (rows, classes)."""
        return self.correction.apply(self.goal.outcome(members.parts["estimator"], X))


def calibrate(held: HeldOut, method: str, X: Any, y: Any, sample_weight: Any = None) -> Members:
    """Fit a classifier, and learn the map on rows that it has not seen."""
    found = held.fit(X, y, sample_weight)
    rows = np.concatenate([part.rows for part in found.unseen])
    proba = np.concatenate([part.prediction for part in found.unseen])
    weight = np.concatenate([part.weight for part in found.unseen])
    assert isinstance(found.goal, Classes)
    correction = Calibration.fit(method, proba, found.y[rows], weight)
    return held.members(found, Calibrated(held.given.calibration, method, found.goal, correction))
