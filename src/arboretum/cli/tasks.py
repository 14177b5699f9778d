"""What is asked of a model: a guess by the columns, with its reason, and checks of what is given."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arboretum.cli.columns import Distinct, Roles
from arboretum.cli.errors import DataError, ModelError, UsageError
from arboretum.data.queries import LARGEST_GRADE
from arboretum.data.schema import listed
from arboretum.tasks import ANOMALY, BINARY, MULTICLASS, REGRESSION, TASKS, Task

FEW_VALUES = 10  # most distinct whole numbers that are taken for classes


class Guess(NamedTuple):
    """A task, and why the data were taken for it."""

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
    name, are_numbers = repr(roles.target), y.dtype.kind in "iuf"
    if y.dtype.kind == "M":
        raise DataError(f"the target {name} holds dates: predict a number, such as the days until them, by --sql")
    values = _varied(y, name)
    if y.dtype.kind == "f" and (y != np.trunc(y)).any():
        return Guess(REGRESSION, f"{name} has numbers that are not whole")
    if len(values) == 2:
        return Guess(BINARY, f"{name} has two values, {values[0]!r} and {values[1]!r}")
    if are_numbers and len(values) > FEW_VALUES:
        return Guess(REGRESSION, f"{name} has {len(values)} different numbers")
    if not are_numbers and len(values) > max(FEW_VALUES, len(y) // 2):
        raise DataError(
            f"the target {name} has {len(values)} different texts in {len(y)} rows, such as {listed(values, 3)}: it "
            "looks like an identifier; choose another target"
        )
    return Guess(MULTICLASS, f"{name} has {len(values)} values, {listed(values, 4)}")


def _varied(y: NDArray[Any], name: str) -> Distinct:
    """Return the values of a target; reject one that is the same in every row."""
    values = Distinct(y)
    if len(values) < 2:
        raise DataError(f"the target {name} is {values[0]!r} in every row: there is nothing to learn")
    return values


def are_grades(y: NDArray[Any] | None) -> bool:
    """Whether a target may say how relevant rows are to their query; if not, groups only keep rows together.

    Examples
    --------
    >>> are_grades(np.array([0, 2, 1])), are_grades(np.array([0.5, 2.0])), are_grades(np.array(["yes", "no"]))
    (True, False, False)
    """
    if y is None or y.dtype.kind not in "biuf":
        return y is None
    return bool(((y >= 0) & (y <= LARGEST_GRADE) & (y == np.trunc(y))).all())


def check_task(task: Task, roles: Roles) -> None:
    """Reject a task that lacks a column."""
    for role in ("target", task.role) if task.needs_target else (task.role,):
        if role is not None and getattr(roles, role) is None:
            raise UsageError(f"--task {task.name} needs --{role} COLUMN")


def check_target(y: NDArray[Any] | None, task: Task, roles: Roles) -> None:
    """Reject a target that the task cannot have."""
    if y is None:
        return
    name = repr(roles.target)
    if wrong := task.check_target(y):
        cure = "; choose --task regression, or make text of it by --sql" if task.has_classes else ""
        raise DataError(f"the target {name} {wrong}{cure}")
    values = _varied(y, name) if task.needs_target and task.role != "event" else Distinct(y)
    if task is BINARY and len(values) != 2:
        raise DataError(f"the target {name} has {len(values)} values, {listed(values, 5)}: --task binary needs two")


def check_control(treatment: NDArray[Any] | None, roles: Roles, cure: str) -> None:
    """Reject treatments none of which has the name of the control; {} in the cure stands for one of them."""
    labels = [] if treatment is None else Distinct(treatment)[:]
    usual = "control" if labels and isinstance(labels[0], str) else 0
    if labels and usual not in labels:
        raise DataError(
            f"the treatment {roles.treatment!r} holds {listed(labels, 5)}, but not {usual!r}, which would be the "
            f"control: {cure.format(labels[0])}"
        )


def place_of_class(classes: Any, text: str) -> int | None:
    """Return which of the classes a person means; None if it is not one of them.

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
    place = None if positive is None else place_of_class(classes, positive)
    return np.asarray(classes).tolist()[1 if place is None else place]


def check_positive(classes: Any, task: Task, roles: Roles) -> None:
    """Reject a positive class that is not one of two."""
    if roles.positive is None:
        return
    words, name = f"--positive {roles.positive}", "the target" if roles.target is None else repr(roles.target)
    if task is MULTICLASS:
        raise UsageError(f"{words}: {name} has {len(classes)} classes, but only one of two can be the positive one")
    if task is not BINARY:
        raise UsageError(f"{words}: the task is {task.name}, but only a target of two classes has a positive one")
    if place_of_class(classes, roles.positive) is None:
        raise UsageError(f"{words}: the classes of {name} are {listed(np.asarray(classes).tolist(), 2)}")


def check_model(model: Any, y: NDArray[Any] | None, task: Task, roles: Roles) -> None:
    """Reject rows whose target is not what the model predicts."""
    if y is None:
        return
    words, holds = f"the model predicts {task.name}", f"but the target {roles.target!r} holds"
    if not task.has_classes and task.check_target(y):
        raise ModelError(f"{words}, {holds} {Distinct(y)[0]!r}: use a model of classes")
    classes = np.asarray(model.classes_).tolist() if task.has_classes else []
    if classes and not set(values := Distinct(y)) & set(classes):
        raise ModelError(f"{words} of {listed(classes, 4)}, {holds} {listed(values, 4)}: use a model of this target")
    check_task(task, roles)
