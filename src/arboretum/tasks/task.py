"""The base of all tasks: how a task is named, answered, judged and reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets

Columns: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Task:
    """A task of numbers, unless a subclass says otherwise.

    Parameters
    ----------
    name : str
        The one word that model files, the command and the report use.
    title : str
        Name in headings.
    family : str
        Family of the estimators for it, in the command's table of methods.
    metrics : mapping of str to bool
        Names of its metrics, the main one first, and whether higher is better.
    evaluation : str
        Section of the report that evaluates it.
    answer : str
        Name of predictions in files.
    role : str, optional
        Column beside the target that it needs: "group", "event" or "treatment".
    figure : str, optional
        Name of the score in the report, if rows do not have a loss each.
    scored_as : str, optional
        Name of another task whose metrics it uses.

    Examples
    --------
    >>> from arboretum.tasks import TASKS
    >>> TASKS["survival"].role, TASKS["binary"].has_classes, next(iter(TASKS["regression"].metrics))
    ('event', True, 'rmse')
    """

    name: str
    title: str
    family: str
    metrics: Mapping[str, bool] = field(hash=False)
    evaluation: str
    answer: str = "prediction"
    role: str | None = None
    figure: str | None = None
    scored_as: str | None = None

    has_classes = False  # whether targets are labels, and answers their probabilities
    has_numbers = False  # whether targets and answers are numbers that a loss compares
    needs_target = True
    orders_rows = False  # whether answers are compared with one another, not with targets
    stratified_by = "treatment"  # labels that folds hold in equal shares, if there are some: also "y" or "event"

    @property
    def has_row_losses(self) -> bool:
        """Whether each row has its own loss, by which stages of a model can be compared."""
        return self.has_classes or self.has_numbers

    def answers(self, model: Any, X: Any, **given: Any) -> NDArray[Any]:
        """Return predictions in the form that metrics of the task read."""
        return np.asarray(model.predict(X, **given))

    def columns(self, model: Any, X: Any, *, positive: int | None = None, **given: Any) -> Columns:
        """Return predictions as the columns of a file.

        Parameters
        ----------
        model : estimator
            A fitted model.
        X : array-like or data frame
            Rows.
        **given
            Further arguments of ``predict``, one value per row.
        positive : int, optional
            The class that comes first.
        """
        values = self.answers(model, X, **given)
        if values.ndim == 1:
            return {self.answer: values}
        return {f"{self.answer} {label}": values[:, j] for j, label in enumerate(self.output_labels(model, values))}

    def output_labels(self, model: Any, values: NDArray[Any]) -> list[Any]:
        """Return the labels of the columns of answers."""
        return list(range(values.shape[1]))

    def check_target(self, y: NDArray[Any]) -> str | None:
        """Return what is wrong with a target; None if it holds numbers."""
        if y.dtype.kind in "biuf":
            return None
        return f"holds {targets.unique_labels(y)[0][0]!r}, which is not a number: {self.name} needs numbers"
