"""What members are asked, and their answers as numbers (rows, width).

====================  ==========================================  =====================================
asked                 of classes                                  of numbers
====================  ==========================================  =====================================
"predict_proba"       probabilities, in the order of all classes  –
"decision_function"   raw scores: one for two classes, else each  –
"predict"             1 for the class that is predicted, else 0   predictions, one column per output
====================  ==========================================  =====================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import first_true
from arboretum.data.table import read_rows
from arboretum.ensembles.combining.member_rows import reads_tables
from arboretum.ensembles.members.goals import Classes, Goal

FloatArray: TypeAlias = NDArray[np.float64]

METHODS = ("predict_proba", "decision_function", "predict")


def method_of(name: str, member: Any, wanted: str, goal: Goal) -> str:
    """Return the method that a member is asked by: the wanted one, or with "auto" the first that it has.

    Examples
    --------
    >>> import arboretum as arb
    >>> method_of("forest", arb.RandomForestClassifier(), "auto", Classes())
    'predict_proba'
    >>> method_of("forest", arb.RandomForestClassifier(), "decision_function", Classes())
    Traceback (most recent call last):
        ...
    ValueError: member 'forest' (RandomForestClassifier) has no decision_function: leave it out, or ask by "auto"
    """
    if not goal.classifies:
        return "predict"
    if wanted == "auto":
        return next(method for method in METHODS if hasattr(member, method))
    if not hasattr(member, wanted):
        raise ValueError(f'member {name!r} ({type(member).__name__}) has no {wanted}: leave it out, or ask by "auto"')
    return wanted


def answer(goal: Goal, model: Any, rows: Any, method: str) -> FloatArray:
    """Return what a fitted member says of rows, (rows, width)."""
    found = np.asarray(getattr(model, method)(rows))
    if not isinstance(goal, Classes):
        return found.astype(np.float64).reshape(len(found), -1)
    classes = goal.classes
    if method == "predict":
        return np.eye(len(classes))[_places(classes, found, model)]
    known = _places(classes, np.asarray(model.classes_), model)
    if method == "decision_function" and not np.array_equal(known, np.arange(len(classes))):
        raise ValueError(
            f"{type(model).__name__} has seen {len(known)} of {len(classes)} classes, so its scores lack some: give "
            'more rows of each class, or use stack_method="predict_proba"'
        )
    if found.ndim == 1:
        return found.astype(np.float64)[:, None]
    whole = np.zeros((len(found), len(classes)))
    whole[:, known] = found
    return whole


def _places(classes: NDArray[Any], labels: NDArray[Any], model: Any) -> NDArray[np.intp]:
    """Return the places of labels among the classes; reject labels that are not there."""
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if (unknown := classes[places] != labels).any():
        raise ValueError(
            f"{type(model).__name__} knows the class {labels[unknown].tolist()[0]!r}, which is not among "
            f"{classes.tolist()[:10]}: fit it to the same classes"
        )
    return places


def checked(found: FloatArray, n_rows: int) -> FloatArray:
    """Return an answer (rows, width) that is finite and as long as it was asked for; reject any other.

    Examples
    --------
    >>> checked(np.array([[1.0], [np.nan]]), 2)
    Traceback (most recent call last):
        ...
    ValueError: it answers nan in row 1 of those that it was asked about, not a finite number
    """
    if len(found) != n_rows:
        raise ValueError(f"it answers {len(found)} rows, but was asked about {n_rows}")
    if (row := first_true(np.asarray(~np.isfinite(found).all(axis=1)))) is not None:
        bad = found[row][~np.isfinite(found[row])][0]
        raise ValueError(f"it answers {bad} in row {row} of those that it was asked about, not a finite number")
    return found


@dataclass(frozen=True)
class Asked:
    """A member of a fitted model, by the place of its fitted copies among the parts.

    Parameters
    ----------
    name : str
        Name that the user gave.
    method : str
        What it is asked by.
    parts : tuple of str
        Names of its fitted copies: one of all rows, or one per fold, whose answers are averaged.
    """

    name: str
    method: str
    parts: tuple[str, ...]

    def mean(self, models: Sequence[Any], X: Any, read: Any, ask: Callable[[Any, Any], FloatArray]) -> FloatArray:
        """Return the mean of what the copies are asked.

        Parameters
        ----------
        models : sequence of estimators
            The copies.
        X : table
            Rows as the user gave them.
        read : ReadRows or table
            The same rows, read once for members that grow trees.
        ask : callable
            From a copy and rows to its answer.
        """
        total: Any = 0.0
        for model in models:
            total = total + ask(model, read if reads_tables(model) else X)
        return np.asarray(total / len(models))


def rows_to_ask(X: Any, models: Sequence[Any]) -> Any:
    """Return rows as members that grow trees read them: read once, if there are several such members."""
    return read_rows(X) if sum(map(reads_tables, models)) > 1 else X
