"""What is asked of a model: a guess by the columns, with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.cli.columns import Distinct, Roles
from arboretum.cli.errors import DataError, ModelError, UsageError
from arboretum.data.queries import LARGEST_GRADE
from arboretum.data.schema import listed
from arboretum.tasks import ANOMALY, BINARY, MULTICLASS, REGRESSION, TASKS, Task

FEW_VALUES = 10  # whole numbers up to so many distinct values are classes


@dataclass(frozen=True)
class Guess:
    """A task and why it was taken for it."""

    task: Task
    reason: str


def guess_task(y: NDArray[Any] | None, roles: Roles) -> Guess:
    """Guess the task from the roles of columns and the values of the target.

    Examples
    --------
    >>> guess_task(np.array(["yes", "no", "no"]), Roles(target="sold")).task.name
    'binary'
    >>> guess_task(np.array([1.5, 2.5, 3.5]), Roles(target="price")).reason
    "'price' has numbers that are not whole"
    """
    for task in TASKS.values():
        column = None if task.role is None else getattr(roles, task.role)
        if column is not None and (task.role != "group" or are_grades(y)):
            return Guess(task, f"there is a column of {task.role}s, {column!r}")
    if y is None or roles.target is None:
        return Guess(ANOMALY, "no --target is given")
    if y.dtype.kind == "M":
        raise DataError(f"the target {roles.target!r} holds dates: predict a number, as the days until them, by --sql")
    values, name = Distinct(y), repr(roles.target)
    if len(values) < 2:
        raise DataError(f"the target {name} is {values[0]!r} in every row: there is nothing to learn")
    if y.dtype.kind == "f" and (y != np.trunc(y)).any():
        return Guess(REGRESSION, f"{name} has numbers that are not whole")
    if len(values) == 2:
        return Guess(BINARY, f"{name} has two values, {values[0]!r} and {values[1]!r}")
    if y.dtype.kind in "iuf" and len(values) > FEW_VALUES:
        return Guess(REGRESSION, f"{name} has {len(values)} different numbers")
    if y.dtype.kind not in "iuf" and len(values) > max(FEW_VALUES, len(y) // 2):
        raise DataError(
            f"the target {name} has {len(values)} different texts in {len(y)} rows, such as {listed(values, 3)}: it "
            "looks like an identifier; choose another target"
        )
    return Guess(MULTICLASS, f"{name} has {len(values)} values, {listed(values, 4)}")


def are_grades(y: NDArray[Any] | None) -> bool:
    """Whether a target may say how relevant rows are to their query; rows of a group only stay together if not.

    Examples
    --------
    >>> are_grades(np.array([0, 2, 1])), are_grades(np.array([0.5, 2.0])), are_grades(np.array(["yes", "no"]))
    (True, False, False)
    """
    if y is None or y.dtype.kind not in "biuf":
        return y is None
    return bool(((y >= 0) & (y <= LARGEST_GRADE) & (y == np.trunc(y))).all())


def check_task(task: Task, roles: Roles) -> None:
    """Refuse a task that lacks a column."""
    needed = ("target", task.role) if task.needs_target else (task.role,)
    for role in needed:
        if role is not None and getattr(roles, role) is None:
            raise UsageError(f"--task {task.name} needs --{role} COLUMN")


def check_target(y: NDArray[Any] | None, task: Task, roles: Roles) -> None:
    """Refuse a target that the task cannot have."""
    if y is None:
        return
    name = repr(roles.target)
    if wrong := task.check_target(y):
        cure = "; choose --task regression, or make text of it by --sql" if task.has_classes else ""
        raise DataError(f"the target {name} {wrong}{cure}")
    values = Distinct(y)
    if len(values) < 2 and task.needs_target and task.role != "event":
        raise DataError(f"the target {name} is {values[0]!r} in every row: there is nothing to learn")
    if task is BINARY and len(values) != 2:
        raise DataError(f"the target {name} has {len(values)} values, {listed(values, 5)}: --task binary needs two")


def check_control(treatment: NDArray[Any] | None, roles: Roles, cure: str) -> None:
    """Refuse treatments of which none is the control by its name; {} in the cure stands for one of them."""
    if treatment is None:
        return
    labels = Distinct(treatment)[:]
    usual = "control" if isinstance(labels[0], str) else 0
    if usual not in labels:
        raise DataError(
            f"the treatment {roles.treatment!r} holds {listed(labels, 5)}, and no {usual!r}, which would be the "
            f"control: {cure.format(labels[0])}"
        )


def place_of_class(classes: Any, text: str) -> int | None:
    """Return which of the classes a person means; None if it is none of them.

    Examples
    --------
    >>> place_of_class(["no", "yes"], "yes"), place_of_class([0.0, 1.0], "0"), place_of_class([False, True], "true")
    (1, 0, 1)
    """
    return next((place for place, label in enumerate(np.asarray(classes).tolist()) if _means(label, text)), None)


def _means(label: Any, text: str) -> bool:
    if str(label) == text or (isinstance(label, bool) and str(label).lower() == text.lower()):
        return True
    try:
        return not isinstance(label, str) and float(label) == float(text)
    except (TypeError, ValueError):
        return False


def positive_class(task: Task, classes: Any, positive: str | None) -> Any:
    """Return the positive one of two classes: the second, unless another was named; None for another task."""
    if task is not BINARY:
        return None
    labels = np.asarray(classes).tolist()
    place = None if positive is None else place_of_class(labels, positive)
    return labels[1 if place is None else place]


def check_positive(classes: Any, task: Task, roles: Roles) -> None:
    """Refuse a positive class that is not one of two."""
    if roles.positive is None:
        return
    words, name = f"--positive {roles.positive}", "the target" if roles.target is None else repr(roles.target)
    if task is MULTICLASS:
        raise UsageError(f"{words}: {name} has {len(classes)} classes, and only one of two can be the positive one")
    if task is not BINARY:
        raise UsageError(f"{words}: the task is {task.name}, and only a target of two classes has a positive one")
    if place_of_class(classes, roles.positive) is None:
        raise UsageError(f"{words}: the classes of {name} are {listed(np.asarray(classes).tolist(), 2)}")


def check_model(model: Any, y: NDArray[Any] | None, task: Task, roles: Roles) -> None:
    """Refuse rows whose target is not what the model predicts."""
    if y is None:
        return
    name, words = repr(roles.target), f"the model predicts {task.name}"
    if not task.has_classes and task.check_target(y):
        raise ModelError(f"{words}, but the target {name} holds {Distinct(y)[0]!r}: use a model of classes")
    if task.has_classes:
        classes = np.asarray(model.classes_).tolist()
        if not set(Distinct(y)) & set(classes):
            raise ModelError(
                f"{words} of {listed(classes, 4)}, but the target {name} holds {listed(Distinct(y), 4)}: use a "
                "model of this target"
            )
    check_task(task, roles)
