"""Outcomes and treatments: checked once, with errors that name the row, the value and the cure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import first_true, shown
from arboretum.data import targets
from arboretum.data.labels import ArmLabels
from arboretum.losses.base import LARGEST_TARGET

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UpliftTarget:
    """Outcome and arm of each row; ``outcomes`` are the labels of two outcomes, None if outcomes are numbers."""

    y: FloatArray
    arm: NDArray[np.int32]
    arms: ArmLabels
    outcomes: NDArray[Any] | None

    @property
    def is_binary(self) -> bool:
        """Whether outcomes are 0 and 1."""
        return self.outcomes is not None

    @property
    def strata(self) -> NDArray[np.intp]:
        """One number per arm and, if there are two outcomes, per outcome: what rows are stratified by."""
        return self.arm * 2 + (self.y > 0.5 if self.is_binary else 0)


def read_uplift(y: Any, treatment: Any, n_rows: int, control: Any, weight: FloatArray | None) -> UpliftTarget:
    """Read outcomes and arms; every arm must have rows, and rows of both outcomes if there are two."""
    outcome, outcomes = _read_outcome(targets.as_column(y, n_rows))
    labels, found = _read_labels(targets.as_column(treatment, n_rows, "treatment"))
    arms = ArmLabels(labels, _find_control(labels, control))
    target = UpliftTarget(outcome, arms.codes[found], arms, outcomes)
    _require_rows(target, weight)
    return target


def read_chances(propensity: Any, n_rows: int, n_arms: int) -> FloatArray:
    """Return the probability of each arm, (rows, arms), from those of the treatments; the control has the rest.

    Examples
    --------
    >>> read_chances([0.25, 0.5], 2, 2)
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    given = targets.to_numpy(propensity, "propensity")
    given = given[:, None] if given.ndim == 1 else given
    if given.shape != (n_rows, n_arms - 1):
        wanted = f"({n_rows},)" if n_arms == 2 else f"({n_rows}, {n_arms - 1})"
        raise ValueError(
            f"propensity has shape {np.shape(propensity)}, expected {wanted}: give the probability of each treatment "
            "for each row, in the order of arms_[1:]"
        )
    chances = np.column_stack([targets.as_numbers(column, "propensity", "give numbers") for column in given.T])
    whole = np.column_stack([1 - chances.sum(axis=1), chances])
    for column, what in ((whole[:, 1:].min(axis=1), "least"), (whole[:, 1:].sum(axis=1), "sum")):
        if (row := first_true(~((column > 0) & (column < 1)))) is not None:
            raise ValueError(
                f"propensity is {column[row]:g} in row {row}{' (the sum of its treatments)' * (what == 'sum')}: use "
                "probabilities above 0 and below 1; leave out rows that could get one arm alone"
            )
    return whole


def _read_outcome(column: NDArray[Any]) -> tuple[FloatArray, NDArray[Any] | None]:
    is_text = column.dtype.kind in "bU" or (
        column.dtype == object and any(isinstance(value, str | bool | np.bool_) for value in column)
    )
    if not is_text:
        numbers = targets.as_numbers(column, "y", "use numbers, or two classes")
        if (beyond := np.abs(numbers) > LARGEST_TARGET).any():
            row = int(np.argmax(beyond))
            raise ValueError(f"y[{row}] = {numbers[row]:g}: beyond ±{LARGEST_TARGET:g}: divide it by a constant")
        return numbers, np.array([0, 1]) if np.isin(numbers, (0.0, 1.0)).all() else None
    classes, codes = targets.find_classes(column)
    if len(classes) > 2:
        raise ValueError(
            f"y has {len(classes)} classes, {classes.tolist()[:10]}: uplift needs two outcomes, or numbers; "
            "name the classes that are a success"
        )
    return codes, classes


def _read_labels(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    targets.refuse_missing(column, "treatment")
    if column.dtype.kind == "f" and (column != np.trunc(column)).any():
        row = int(np.argmax(column != np.trunc(column)))
        raise ValueError(
            f"treatment is {column[row]} in row {row}: a dose is not a label; cut doses into a few groups first"
        )
    targets.check_labels(column, "treatment")
    labels, found = np.unique(column, return_inverse=True)
    if len(labels) < 2:
        raise ValueError(
            f"treatment has only one label, {labels.tolist()[0]!r} (n_samples={len(column)}): uplift compares a "
            "control with at least one treatment; add rows of the other group"
        )
    return labels, found


def _find_control(labels: NDArray[Any], control: Any) -> int:
    known = labels.tolist()
    if control is None:
        usual = "control" if isinstance(known[0], str) else 0
        if usual not in known:
            raise ValueError(
                f"treatment has no label {usual!r} to use as control; its labels are {known[:10]}: "
                "name the control with control=..."
            )
        return int(known.index(usual))
    if np.ndim(control) or control not in known:
        raise ValueError(
            f"control={shown(control)} is not a label of treatment; its labels are {known[:10]}: name one of them"
        )
    return int(known.index(control))


def _require_rows(target: UpliftTarget, weight: FloatArray | None) -> None:
    n_arms, names = len(target.arms.labels), target.arms.in_order.tolist()
    rows = np.bincount(target.arm, weight, n_arms)
    ones = np.bincount(target.arm, target.y if weight is None else weight * target.y, n_arms)
    for arm, name in enumerate(names):
        what = f"treatment {name!r}" if arm else f"the control, {name!r},"
        if not rows[arm] > 0:
            raise ValueError(f"no row of {what} has a positive sample_weight: give weight, or leave the group out")
        if target.outcomes is None or 0 < ones[arm] < rows[arm]:
            continue
        lacking = target.outcomes.tolist()[int(ones[arm] == 0)]
        raise ValueError(
            f"no row of {what} has the outcome {lacking!r}: its effect cannot be estimated; add rows, or leave "
            "the group out"
        )
