"""A plain function of gradients as a loss: ``loss=lambda y, raw: (gradient, hessian)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from arboretum.losses.base import NEWTON_TOLERANCE, Loss, Task, custom_entry, weighted_mean
from arboretum.losses.classification import Multinomial
from arboretum.losses.links import FloatArray, LinkName
from arboretum.losses.root_finding import zero_between
from arboretum.losses.survival import check_bounds, check_events

GradientFunction: TypeAlias = Callable[[FloatArray, FloatArray], tuple[Any, Any]]

FARTHEST_START = 1e100
STEEPER = 1e3  # times; beyond, false position would take hundreds of steps


@dataclass(frozen=True)
class UnsavedFunction:
    """A function that a model was given, which its file can only name: it holds no code.

    Examples
    --------
    >>> UnsavedFunction("mine.profit")()
    Traceback (most recent call last):
        ...
    RuntimeError: the model was saved with the function mine.profit, which a model file cannot hold: set the ...
    """

    name: str

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Raise RuntimeError: the function is gone."""
        raise RuntimeError(
            f"the model was saved with the function {self.name}, which a model file cannot hold: set the parameter "
            "again, with set_params, before you train further"
        )


def qualified_name(function: Any) -> str:
    """Return module and name of a function.

    Examples
    --------
    >>> qualified_name(np.mean)
    'numpy.mean'
    """
    if isinstance(function, UnsavedFunction):
        return function.name
    owner = function if hasattr(function, "__qualname__") else type(function)
    return f"{owner.__module__}.{owner.__qualname__}"


@dataclass(frozen=True)
class FunctionLoss(Loss):
    """A loss that is known by its derivatives only, from a function of the user.

    The function is called with all rows at once. Weights are multiplied in afterwards, as for every loss. Without
    ``values`` nothing tells how good a round is: early stopping needs a ``scoring``.

    Parameters
    ----------
    function : callable
        ``function(y, raw)`` returns gradients and hessians, two arrays shaped like ``raw``.
    task : {"regression", "classification", "survival"}
        What ``y`` holds: numbers, codes of classes, bounds of times.
    n_outputs : int
        Columns of ``raw``: one per class for more than two classes, else 1.

    Examples
    --------
    >>> loss = FunctionLoss(lambda y, raw: (raw - y, np.ones_like(raw)))
    >>> loss.start(np.array([1.0, 2.0, 6.0]), weight=None)
    array([3.])
    >>> FunctionLoss(lambda y, raw: raw - y).gradients(np.zeros(2), np.zeros(2))
    Traceback (most recent call last):
        ...
    ValueError: loss=<lambda> returned ndarray: return two arrays, the gradients and the hessians
    """

    row_wise = False
    has_values = False
    exact_hessian = False

    function: GradientFunction
    task: Task = field(default="regression")
    n_outputs: int = field(default=1)
    link: LinkName = field(init=False, repr=False)

    def __post_init__(self) -> None:
        of_classes = "sigmoid" if self.n_outputs == 1 else "softmax"
        object.__setattr__(self, "link", of_classes if self.task == "classification" else "identity")

    def __repr__(self) -> str:
        return f"loss={qualified_name(self.function).rpartition('.')[2]}"

    def check_target(self, y: FloatArray) -> None:
        """Need what the task needs: finite numbers, or bounds of times with some events."""
        if self.task == "survival":
            check_bounds(y)
            check_events(y)
        else:
            super().check_target(y)

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Call the function, which may read y and raw and not change them."""
        returned = self.function(_read_only(y), _read_only(raw))
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            raise ValueError(
                f"{self!r} returned {type(returned).__name__}: return two arrays, the gradients and the hessians"
            )
        gradient, hessian = (np.asarray(part, dtype=np.float64) for part in returned)
        for name, part in (("gradients", gradient), ("hessians", hessian)):
            if part.shape != raw.shape:
                raise ValueError(f"{self!r} returned {name} of shape {part.shape}: expected {raw.shape}, that of raw")
        return gradient, hessian

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Raise ValueError: the function gives only derivatives."""
        raise ValueError(
            f"{self!r} gives gradients but no loss values: derive a class from "
            "arboretum.losses.Loss, with values and gradients"
        )

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Where the mean gradient of a constant is 0; the class frequencies, if there is one output per class."""
        if self.n_outputs > 1:
            return Multinomial(self.n_outputs).start(y, weight)
        return self._level(y, np.zeros(len(y)), weight)

    def start_from(self, y: FloatArray, offset: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return the same for a constant beside an offset."""
        if self.n_outputs > 1:
            return Multinomial(self.n_outputs).start_from(y, offset, weight)
        return self._level(y, offset, weight)

    def _level(self, y: FloatArray, offset: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Take a Newton step, and if it does not do, bracket the zero of the mean gradient by doubling."""

        def slopes(constant: float) -> tuple[float, float]:
            gradient, hessian = self.gradients(y, offset + constant)
            return float(weighted_mean(gradient, weight)), float(weighted_mean(hessian, weight))

        with np.errstate(all="ignore"):  # a first step may be far too long
            first, curvature = slopes(0.0)
            if not (np.isfinite(first) and np.isfinite(curvature)) or first == 0:
                return np.zeros(1)
            low, at_low, step = 0.0, first, (-first / curvature if curvature > 0 else -np.sign(first))
            while abs(high := low + step) < FARTHEST_START:
                at_high, curvature = slopes(high)
                if np.isnan(at_high):
                    return np.array([low])
                if abs(at_high) <= NEWTON_TOLERANCE * (1 + abs(high)) * max(curvature, 0.0):
                    return np.array([high])
                if np.sign(at_high) != np.sign(first):
                    rising = (low, at_low, high, at_high) if low < high else (high, at_high, low, at_low)
                    return np.array([_level_between(lambda constant: slopes(constant)[0], *rising)])
                low, at_low, step = high, at_high, 2 * step
        if abs(at_low) < abs(first):
            return np.array([low])  # the loss falls for ever, as that of counts that are all 0
        raise ValueError(
            f"{self!r}: the mean gradient stays {'above' if first > 0 else 'below'} 0 however far raw predictions "
            "move against it; the gradient is the derivative by raw, such as raw - y: is its sign right?"
        )

    def to_json(self) -> dict[str, Any]:
        """Describe the loss for a model file, which holds no code: the name of the function."""
        return custom_entry(self, qualified_name(self.function))


def _level_between(slope: Callable[[float], float], low: float, at_low: float, high: float, at_high: float) -> float:
    """Find where a rising slope is 0; bisect first, while it is far steeper at one end, as exponentials are."""
    while not 1 / STEEPER < abs(at_high) / abs(at_low) < STEEPER:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return middle
        at_middle = slope(middle)
        if at_middle == 0:
            return middle
        low, at_low, high, at_high = (
            (middle, at_middle, high, at_high) if at_middle < 0 else (low, at_low, middle, at_middle)
        )
    return zero_between(slope, low, at_low, high, at_high, NEWTON_TOLERANCE)


def _read_only(array: FloatArray) -> FloatArray:
    view = array.view()
    view.flags.writeable = False
    return view
