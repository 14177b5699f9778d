"""Maps from a model's probabilities to calibrated ones, learned on rows that the model has not seen.

::

    Isotonic      the rising steps nearest to what happened (Zadrozny and Elkan 2002), for many rows
    Platt         σ(a · log odds + b) (Platt 1999; Niculescu-Mizil and Caruana 2005), for few
    Temperature   p^a of each class, normalised (Guo, Pleiss, Sun and Weinberger 2017), one number for all classes

With the first two, each of several classes is mapped against the rest, and the probabilities are normalised to sum
to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.correcting import held_out
from arboretum.correcting.held_out import Corrected, HeldOut, read_way
from arboretum.data.validity import Rules
from arboretum.elementary import exp2, log, softplus
from arboretum.ensembles.members.goals import Classes
from arboretum.losses.links import sigmoid
from arboretum.losses.root_finding import zero_between
from arboretum.model.arrays import Arrays
from arboretum.model.members import Header, Members

FloatArray: TypeAlias = NDArray[np.float64]

RULES = Rules("calibration")
WAYS = (*held_out.WAYS, "ensemble")

NEARLY_0 = 1e-6  # smaller probabilities count as this one: forests give 0 where no tree votes for a class
LARGEST_POWER = 1e3  # of rows that are told apart without an error
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


@dataclass(frozen=True, eq=False)
class Temperature:
    """Probabilities to a power, normalised: with two classes, σ(power · log odds). The temperature is 1 / power.

    Examples
    --------
    >>> Temperature(1.0).of_classes(np.array([[0.25, 0.75]])).round(9)
    array([[0.25, 0.75]])
    >>> Temperature(0.5).apply(np.array([0.1, 0.9])).round(9)
    array([0.25, 0.75])
    """

    power: float

    @classmethod
    def fit(cls, proba: FloatArray, codes: FloatArray, weight: FloatArray) -> Temperature:
        """Minimise the log loss of all classes together.

        Targets are those of the rule of succession for as many rows: 1 − 1/(n + 2) for the class of a row, the rest in
        equal parts for the others. Probabilities that are uninformative, or misleading, get power 0.
        """
        n_rows, n_classes = proba.shape
        z = _logarithms(proba)
        rest = 1 / (float(weight.sum()) + 2)
        target = np.full((n_rows, n_classes), rest / (n_classes - 1))
        target[np.arange(n_rows), codes.astype(np.intp)] = 1 - rest
        wanted = float((weight[:, None] * target * z).sum())

        def slope(power: float) -> float:
            return float((weight[:, None] * _powers(z, power) * z).sum()) - wanted

        least, most = slope(0.0), slope(LARGEST_POWER)
        if least >= 0:
            return cls(0.0)
        return cls(LARGEST_POWER if most <= 0 else zero_between(slope, 0.0, least, LARGEST_POWER, most))

    def apply(self, p: FloatArray) -> FloatArray:
        """Return calibrated probabilities of one of two classes."""
        return self.of_classes(np.stack([1 - p, p], axis=1))[:, 1]

    def of_classes(self, proba: FloatArray) -> FloatArray:
        """Return calibrated probabilities (rows, classes)."""
        found = np.clip(_powers(_logarithms(proba), self.power), NEARLY_0, 1 - NEARLY_0)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def to_array(self) -> FloatArray:
        """Return the power, twice: arrays of maps have two rows."""
        return np.full((2, 1), self.power)

    @classmethod
    def from_array(cls, array: FloatArray) -> Temperature:
        """Read a map from a file of unknown origin."""
        RULES.require(array.shape == (2, 1), "shape", array.shape, "(2, 1), a power twice")
        power = float(array[0, 0])
        RULES.require(0 <= power <= LARGEST_POWER, "power", power, f"between 0 and {LARGEST_POWER:g}")
        return cls(power)


def _logarithms(proba: FloatArray) -> FloatArray:
    return log(np.maximum(proba, NEARLY_0))


def _powers(z: FloatArray, power: float) -> FloatArray:
    """Return exp(power · z), normalised over classes."""
    raised = exp2(power / math.log(2) * (z - z.max(axis=1, keepdims=True)))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


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
READS: dict[str, Callable[[FloatArray], ProbabilityMap]] = {
    "isotonic": Isotonic.from_array,
    "platt": Platt.from_array,
    "temperature": Temperature.from_array,
}


@dataclass(frozen=True, eq=False)
class Calibration:
    """Maps of the classes: one for the second of two classes, or for all of them together, else one per class.

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
        if method == "temperature":
            return cls((Temperature.fit(proba, codes, weight),))
        n_classes = proba.shape[1]
        chosen = [1] if n_classes == 2 else range(n_classes)
        return cls(tuple(FITS[method](proba[:, code], (codes == code).astype(float), weight) for code in chosen))

    def apply(self, proba: FloatArray) -> FloatArray:
        """Return calibrated probabilities (rows, classes)."""
        first = self.maps[0]
        if isinstance(first, Temperature):
            return first.of_classes(proba)
        if len(self.maps) == 1:
            of_second = first.apply(proba[:, 1])
            return np.stack([1 - of_second, of_second], axis=1)
        mapped = np.stack([one.apply(column) for one, column in zip(self.maps, proba.T, strict=True)], axis=1)
        return np.asarray(mapped / mapped.sum(axis=1, keepdims=True))

    def to_arrays(self, of: str = "") -> Arrays:
        """Return the arrays of a model file; ``of`` ends their names."""
        return {f"calibration {code}{of}": one.to_array() for code, one in enumerate(self.maps)}

    @classmethod
    def from_arrays(cls, method: str, arrays: Arrays, n_classes: int, of: str = "") -> Calibration:
        """Read maps from a file of unknown origin."""
        maps = []
        for code in range(1 if n_classes == 2 or method == "temperature" else n_classes):
            array = arrays[f"calibration {code}{of}"]
            is_pair = array.dtype == np.float64 and array.ndim == 2 and len(array) == 2
            RULES.require(is_pair, f"array of class {code}", (str(array.dtype), array.shape), "float64, (2, n)")
            RULES.everywhere(f"array of class {code}", array, np.isfinite(array), "must be finite")
            maps.append(READS[method](array))
        return cls(tuple(maps))


@dataclass(frozen=True, eq=False)
class Calibrated(Corrected):
    """Classifiers and the maps of their probabilities.

    ::

        parts   "estimator"                 the classifier
                "member 1", "member 2" …    those of the other folds, if folds are averaged ("ensemble")

    Parameters
    ----------
    method : {"isotonic", "platt", "temperature"}
        Kind of the maps.
    goal : Classes
        The classes.
    corrections : tuple of Calibration
        The map of each classifier.
    """

    method: str
    goal: Classes
    corrections: tuple[Calibration, ...]

    def facts(self) -> Header:
        """Return the kind of the maps and the classes."""
        return {**super().facts(), "method": self.method, **self.goal.facts()}

    def arrays(self) -> Arrays:
        """Return the maps."""
        return {
            name: array
            for fold, correction in enumerate(self.corrections)
            for name, array in correction.to_arrays(of_fold(fold)).items()
        }

    @classmethod
    def part_names(cls, header: Header, arrays: Arrays) -> list[str]:
        """Return the names of the classifiers."""
        n_folds = sum(name.startswith("calibration 0") for name in arrays)
        return ["estimator", *(f"member {fold}" for fold in range(1, n_folds))]

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays, read: Members, goal: Classes) -> Calibrated:
        """Read the classes, which must include all that the estimators have, and the maps."""
        goal, method = goal.from_file(header), header["method"]
        if len(goal.classes) < 2:
            raise ValueError(f"{len(goal.classes)} classes: expected two or more")
        for model in read.models:
            goal.check(model)
        n_classes, folds = len(goal.classes), range(len(read.parts))
        corrections = (Calibration.from_arrays(method, arrays, n_classes, of_fold(fold)) for fold in folds)
        return cls(read_way(header, WAYS), method, goal, tuple(corrections))

    def probabilities(self, members: Members, X: Any) -> FloatArray:
        """Return calibrated probabilities (rows, classes), the mean over classifiers."""
        pairs = zip(members.models, self.corrections, strict=True)
        found = [correction.apply(self.goal.outcome(model, X)) for model, correction in pairs]
        return found[0] if len(found) == 1 else np.asarray(np.mean(found, axis=0))


def of_fold(fold: int) -> str:
    """Return how the names of arrays end; those of a single map, or of the first, have no end.

    Examples
    --------
    >>> of_fold(0), of_fold(2)
    ('', ' of 2')
    """
    return f" of {fold}" if fold else ""


def calibrate(held: HeldOut, method: str, X: Any, y: Any, sample_weight: Any = None) -> Members:
    """Fit a classifier, and learn the map on rows that it has not seen; or do so for each fold."""
    found = held.fit(X, y, sample_weight)
    assert isinstance(found.goal, Classes)
    way = held.given.calibration
    lists = [[part] for part in found.unseen] if way == "ensemble" else [found.unseen]
    corrections = []
    for parts in lists:
        rows, proba, weight = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "prediction", "weight")
        )
        corrections.append(Calibration.fit(method, proba, found.y[rows], weight))
    others = {f"member {fold}": parts[0].model for fold, parts in enumerate(lists) if fold}
    return held.members(found, Calibrated(way, method, found.goal, tuple(corrections)), others)
