"""What every loss can do, and the rows of leaves whose values it may renew.

The life of a loss
------------------
 1. ``resolve``       a name such as ``"poisson"``, or an object, becomes a ``Loss`` (``__init__.py``)
 2. ``check_target``  rejects targets that the loss cannot take
 3. ``of_queries``    the loss of rows that compete within queries (ranking)
 4. ``start``         the constant that every raw prediction begins with; ``start_from`` if rows have offsets

 In each round:

 5. ``for_round``     the loss of this round (Huber measures its ``delta`` on the residuals); ``with_draws`` tells it
                      the key of its random numbers
 6. ``gradients``     first and second derivative of each row, *unweighted*: the engine multiplies by weights
 7. the tree grows; the step of a leaf is Newton's, −Σ gradient / (Σ hessian + regularisation)
 8. ``leaf_values``   may replace these steps by better ones (medians for the absolute error)
 9. ``value``         scores the training and validation rows, by what ``fitted`` returns

 After the last round:

10. ``predict``       turns raw predictions into predictions (the inverse link)
11. ``to_json``       goes into the model file; ``from_json`` reads it back

Shapes, everywhere: ``y`` float64 (n,), class codes included; bounds of survival times (n, 2); ``weight`` float64 (n,)
or None; ``raw`` float64 (n,) if ``n_outputs`` is 1, else (n, n_outputs).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places, selecting
from arboretum.arguments import first_true
from arboretum.data.queries import Queries
from arboretum.exact_sums import exact_sum, sum_by_group, sums_and_weight, weight_by_group
from arboretum.losses.links import INVERSE_LINKS, FloatArray, LinkName

Task: TypeAlias = Literal["regression", "classification", "ranking", "survival"]

# Beyond it, squares of sums over rows could overflow.
LARGEST_TARGET = 1e100

NEWTON_STEPS = 200
NEWTON_TOLERANCE = 1e-12


class Loss(ABC):
    """A loss: what boosting minimises. Derive from it to write your own.

    Only ``gradients`` and ``values`` must be written; ``arboretum.testing.check_loss`` tests the result.

    Attributes
    ----------
    name : str
        Name in the registry; your own losses keep ``"custom"``.
    task : {"regression", "classification", "ranking", "survival"}
        Which estimators accept it.
    link : {"identity", "exp", "sigmoid", "softmax"}
        How ``predict`` turns raw predictions into predictions.
    n_outputs : int
        Columns of ``raw``; more than one for the softmax of several classes, or several quantiles.
    parts : tuple of Loss
        Where outputs do not depend on one another: the losses of one output each that this one is the sum of.
    recentres : bool
        Rows held out find the constant of the model: training rows, which the trees have seen, mislead it.
    constant_hessian : bool
        The hessian of every row is 1: the engine need not store it.
    exact_hessian : bool
        The hessian is the second derivative, not a surrogate.
    self_concordant : bool or float
        A number k above 0 says that a step v multiplies the hessian by no more than e^(k |v|), as where raw is the
        logarithm of a mean, of odds or of a hazard; True is 1. The engine shortens steps that could raise the loss.
    row_wise : bool
        The gradients of a row depend on that row alone: the engine may ask for them in blocks of rows.
    of_residuals : bool
        The loss depends on ``y - raw`` alone, so that the best constant beside an offset is that of the residuals.
    has_values : bool
        ``values`` can be asked for. A plain function of gradients has none: nothing says how good a round is.
    parameter_names : tuple of str
        Attributes that build a registered loss again; see ``parameters``.

    Notes
    -----
    A hessian may underflow to 0 (a sigmoid far from its middle); code that divides by its sum must guard it.

    Examples
    --------
    >>> class LogCosh(Loss):
    ...     def values(self, y, raw):
    ...         return np.logaddexp(raw - y, y - raw) - np.log(2)
    ...
    ...     def gradients(self, y, raw):
    ...         slope = np.tanh(raw - y)
    ...         return slope, 1 - slope**2
    >>> y = np.array([0.0, 1.0, 2.0])
    >>> LogCosh().start(y, weight=None).round(6)
    array([1.])
    >>> from arboretum.testing import check_loss
    >>> check_loss(LogCosh())
    """

    name: ClassVar[str] = "custom"
    task: Task = "regression"
    link: LinkName = "identity"
    n_outputs: int = 1
    parts: tuple[Loss, ...] = ()
    recentres: bool = False
    constant_hessian: bool = False
    exact_hessian: bool = True
    self_concordant: bool | float = False
    row_wise: bool = True
    of_residuals: bool = False
    has_values: bool = True
    parameter_names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # A dataclass field without default is still a Field here, not a link.
        if isinstance(cls.link, str) and cls.link not in INVERSE_LINKS:
            raise TypeError(f"{cls.__name__}.link = {cls.link!r} is unknown: use one of {list(INVERSE_LINKS)}")

    @abstractmethod
    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of each row's value by raw, unweighted; both shaped like raw."""

    def weighted_gradients(
        self, y: FloatArray, raw: FloatArray, weight: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Gradients and hessians times weights, what the engine asks for.

        A loss whose rows depend on each other overrides it if the weight of a row counts for others too.
        """
        gradient, hessian = self.gradients(y, raw)
        if weight is None:
            return gradient, hessian
        factor = weight if raw.ndim == 1 else weight[:, np.newaxis]
        return gradient * factor, hessian * factor

    @abstractmethod
    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Loss of each row (n,), unweighted; constants that do not depend on raw may be left out."""

    def value(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None = None) -> float:
        """Weighted mean of ``values``."""
        return float(weighted_mean(self.values(y, raw), weight))

    def check_target(self, y: FloatArray) -> None:
        """Raise ValueError, naming the first bad row, if the loss cannot take this target."""
        if y.ndim != 1 or places.total(len(y)) == 0:
            raise ValueError(f"y has shape {y.shape}: a target needs one dimension and at least one row")
        require(np.isfinite(y), y, "the target must be finite: remove or fill such rows")
        in_range = np.abs(y) <= LARGEST_TARGET
        require(in_range, y, f"beyond ±{LARGEST_TARGET:g}: divide the target by a constant")

    def start(self, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Constant raw prediction (n_outputs,) that minimises the weighted loss.

        By default found by Newton's method with step halving, from 0. A loss whose hessian is a surrogate
        should override it.
        """
        return self._newton_start(y, None, weight)

    def start_from(self, y: FloatArray, offset: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Constant (n_outputs,) that minimises the weighted loss of ``offset`` + constant; offset is shaped like raw.

        By default ``start`` of the residuals if the loss depends on them alone, else found as in the default ``start``.
        """
        return self.start(y - offset, weight) if self.of_residuals else self._newton_start(y, offset, weight)

    def _newton_start(self, y: FloatArray, offset: FloatArray | None, weight: FloatArray | None) -> FloatArray:
        constant = np.zeros(self.n_outputs)
        for _ in range(NEWTON_STEPS):
            step = self._newton_step(y, constant, offset, weight)
            constant = constant + step
            if np.all(np.abs(step) <= NEWTON_TOLERANCE * (1 + np.abs(constant))):
                break
        return constant

    def _newton_step(
        self, y: FloatArray, constant: FloatArray, offset: FloatArray | None, weight: FloatArray | None
    ) -> FloatArray:
        def raw_at(constant: FloatArray) -> FloatArray:
            raw = constant_raw(constant, len(y))
            return raw if offset is None else raw + offset

        raw = raw_at(constant)
        loss = self.for_round(y, raw, weight)
        gradient, hessian = (weighted_mean(part, weight) for part in loss.gradients(y, raw))
        step = np.atleast_1d(-gradient / np.maximum(hessian, np.finfo(np.float64).tiny))
        here = loss.value(y, raw, weight)
        # Without slack, rounding near the minimum would look like an increase.
        limit = here + NEWTON_TOLERANCE * abs(here)
        while np.any(constant + step != constant):
            if loss.value(y, raw_at(constant + step), weight) <= limit:
                return step
            step = step / 2
        return np.zeros_like(step)

    def of_queries(self, queries: Queries | None) -> Loss:
        """Return the loss of rows that belong to these queries; by default, this one."""
        return self

    def for_round(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> Loss:
        """Return the loss of the round that begins at these raw predictions; by default, this one."""
        return self

    def with_draws(self, key: int) -> Loss:
        """Return the loss of a round whose random draws have this key; by default, this one."""
        return self

    def fitted(self, y: FloatArray, raw: FloatArray, weight: FloatArray | None) -> Loss:
        """Return the loss with what it learns of its own, such as thresholds of ordered classes; by default, this one.

        It scores rows after each round, and is what a model keeps after the last.
        """
        return self

    @property
    def learns_from_raw(self) -> bool:
        """Whether ``fitted`` learns something, which then follows from the raw predictions of the training rows."""
        return type(self).fitted is not Loss.fitted

    def continues(self, fitted: Loss) -> bool:
        """Whether rounds of this loss can be added to a model with that one: if they are the same."""
        return self.to_json() == fitted.to_json()

    def leaf_values(
        self, leaves: LeafRows, y: FloatArray, raw: FloatArray, weight: FloatArray | None
    ) -> FloatArray | None:
        """Best constant step of each leaf, (n_leaves,) or (n_leaves, n_outputs); None keeps Newton's step."""
        return None

    def predict(self, raw: FloatArray) -> FloatArray:
        """Apply the inverse link; "identity" returns ``raw`` itself, not a copy."""
        return INVERSE_LINKS[self.link](raw)

    def parameters(self) -> dict[str, Any]:
        """Arguments that build this loss again from its registered name."""
        return {name: getattr(self, name) for name in self.parameter_names}

    def to_json(self) -> dict[str, Any]:
        """Describe the loss for a model file; one that is not registered is described by its class name and link."""
        from arboretum.losses import LOSSES, SURVIVAL_LOSSES  # the registry imports this module

        build = {**LOSSES, **SURVIVAL_LOSSES}.get(self.name)
        if build is not None and type(build(**self.parameters())) is type(self):
            return {"name": self.name, **self.parameters()}
        return custom_entry(self, f"{type(self).__module__}.{type(self).__qualname__}")


def custom_entry(loss: Loss, class_name: str) -> dict[str, Any]:
    """Describe a loss that is not registered: what predicting needs, and the name of its class or function."""
    return {
        "name": "custom",
        "class": class_name,
        "task": loss.task,
        "link": loss.link,
        "n_outputs": loss.n_outputs,
    }


@dataclass(frozen=True)
class PredictOnly(Loss):
    """The custom loss of a loaded model: a file carries no code, only what predicting needs.

    Examples
    --------
    >>> loss = PredictOnly("mine.LogCosh", "regression", "exp", 1)
    >>> loss.predict(np.array([0.0]))
    array([1.])
    >>> loss.values(np.array([0.0]), np.array([0.0]))
    Traceback (most recent call last):
        ...
    RuntimeError: the model was fitted with the custom loss mine.LogCosh, which its file cannot carry: ...
    """

    class_name: str
    task: Task = field()
    link: LinkName = field()
    n_outputs: int = field()

    def __post_init__(self) -> None:
        for name, value, known in (("link", self.link, [*INVERSE_LINKS]), ("task", self.task, [*get_args(Task)])):
            if value not in known:
                raise ValueError(f"{name}={value!r}: expected one of {known}")
        if type(self.n_outputs) is not int or self.n_outputs < 1:
            raise ValueError(f"n_outputs={self.n_outputs!r}: expected an integer at least 1")

    def gradients(self, y: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Raise RuntimeError: the formula is not in the file."""
        raise self._error()

    def values(self, y: FloatArray, raw: FloatArray) -> FloatArray:
        """Raise RuntimeError: the formula is not in the file."""
        raise self._error()

    def _error(self) -> RuntimeError:
        return RuntimeError(
            f"the model was fitted with the custom loss {self.class_name}, which its file cannot carry: "
            "give loss=... to train or score it"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the entry this loss was read from."""
        return custom_entry(self, self.class_name)


@dataclass(frozen=True, eq=False)
class LeafRows:
    """Which rows lie in which leaf.

    ::

        rows    7 2 9 | 0 4 | | 1 3 5 6 8        row numbers, leaf after leaf
        start   0       3     5 5         10     leaf i owns rows[start[i] : start[i+1]]

    Leaves may be empty, rows may be in no leaf, and, if the "leaves" are nested nodes, in several.

    Parameters
    ----------
    rows : ndarray of uint32
    start : ndarray of int64, (n_leaves + 1,)
    threads : int
        Threads to use; no result depends on it.

    Examples
    --------
    >>> leaves = LeafRows(rows=np.array([2, 0, 1], np.uint32), start=np.array([0, 1, 3]))
    >>> leaves.weighted_mean(np.array([10.0, 20.0, 5.0]), weight=np.array([1.0, 3.0, 1.0]))
    array([ 5. , 17.5])
    """

    rows: NDArray[np.uint32]
    start: NDArray[np.int64]
    threads: int = 1

    @classmethod
    def contiguous(cls, start: NDArray[np.int64]) -> LeafRows:
        """Leaves over rows 0, 1, 2, … in this order."""
        return cls(np.arange(start[-1], dtype=np.uint32), start)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each leaf."""
        return np.diff(self.start)

    def weighted_mean(self, values: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Weighted mean of ``values`` (n,) in each leaf; 0 in a leaf without weight."""
        n_leaves, leaf = len(self.start) - 1, self._leaf_of_row()
        own = None if weight is None else weight[self.rows]
        total = weight_by_group(own, leaf, n_leaves)
        sums = sum_by_group(values[self.rows], leaf, n_leaves, own)
        return np.divide(sums, total, out=np.zeros(n_leaves), where=total > 0)

    def weighted_quantile(self, values: FloatArray, weight: FloatArray | None, q: float) -> FloatArray:
        """Lower weighted quantile of ``values`` (n,) in each leaf, 0 < q < 1.

        It is the smallest value v of the leaf with Σ weight[value ≤ v] ≥ q · Σ weight. Integer weights act
        exactly as repetitions; rows of weight 0 do not count; a leaf without weight has quantile 0.

        Examples
        --------
        >>> leaves = LeafRows.contiguous(np.array([0, 4, 6]))
        >>> leaves.weighted_quantile(np.array([4.0, 3.0, 2.0, 1.0, 7.0, 8.0]), None, q=0.5)
        array([2., 7.])
        """
        if places.here() is not None:
            own = None if weight is None else weight[self.rows]
            return selecting.quantiles(values[self.rows], own, self._leaf_of_row(), len(self.start) - 1, q)
        quantiles = np.empty(len(self.start) - 1)
        numbers = np.ascontiguousarray(values, dtype=np.float64)
        weights = None if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        rows, start = np.ascontiguousarray(self.rows, np.uint32), np.ascontiguousarray(self.start, np.int64)
        _kernel.group_quantiles(numbers, weights, rows, start, q, self.threads, quantiles)
        return quantiles

    def _leaf_of_row(self) -> NDArray[np.uint32]:
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.uint32), self.counts)


def weighted_mean(values: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Weighted mean over rows: of a vector, or of each column of a matrix.

    Examples
    --------
    >>> float(weighted_mean(np.array([1.0, 3.0]), weight=np.array([3.0, 1.0])))
    1.5
    """
    sums, total = sums_and_weight([values] if values.ndim == 1 else [*values.T], len(values), weight)
    if weight is not None:
        require_weight(total)
    return np.asarray(float(sums[0]) / total) if values.ndim == 1 else sums / total


def weighted_quantile(values: FloatArray, weight: FloatArray | None, q: float) -> float:
    """Lower weighted quantile of all rows, as in ``LeafRows.weighted_quantile``.

    Examples
    --------
    >>> weighted_quantile(np.array([1.0, 2.0, 9.0]), weight=np.array([1.0, 1.0, 3.0]), q=0.5)
    9.0
    """
    if weight is not None:
        total_weight(weight)
    elif places.here() is None:
        rank = int(np.ceil(q * len(values))) - 1
        return float(np.partition(values, rank)[rank])
    everything = LeafRows.contiguous(np.array([0, len(values)]))
    return float(everything.weighted_quantile(values, weight, q)[0])


def total_weight(weight: FloatArray) -> float:
    """Sum of the weights, which must not be 0."""
    total = exact_sum(weight)
    require_weight(total)
    return total


def require_weight(total: float) -> None:
    """Raise ValueError if the weights of all rows sum up to 0."""
    if total == 0:
        raise ValueError("the weights of all rows are 0: give at least one row a positive weight")


def constant_raw(constant: FloatArray, n_rows: int) -> FloatArray:
    """Raw predictions of ``n_rows`` rows that all equal ``constant`` (n_outputs,).

    Examples
    --------
    >>> constant_raw(np.array([2.0]), 3), constant_raw(np.array([0.0, 1.0]), 2)
    (array([2., 2., 2.]), array([[0., 1.],
           [0., 1.]]))
    """
    return np.full(n_rows, constant[0]) if len(constant) == 1 else np.tile(constant, (n_rows, 1))


def require(ok: NDArray[np.bool_], y: FloatArray, rule: str) -> None:
    """Raise ValueError that names the first row where ``ok`` is False, its value and the rule."""
    if (row := first_true(~ok)) is not None:
        raise ValueError(f"y[{row}] = {y[row]}: {rule}")
