"""What is asked of a model: how it is named, answered, judged and reported."""

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
        What headings call it.
    family : str
        Which estimators answer it, in the table of methods of the command.
    metrics : mapping of str to bool
        Names of its metrics, the one that decides first, and whether higher is better.
    evaluation : str
        Which section of the report evaluates it.
    answer : str
        What a prediction is called in files.
    role : str, optional
        Column beside the target that it needs: "group", "event" or "treatment".
    figure : str, optional
        What the report calls the score of a model whose rows have no loss of their own.
    scored_as : str, optional
        Name of the task whose metrics it has, if it is another one.

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
        """Whether each row has a loss of its own, by which stages of a model can be compared."""
        return self.has_classes or self.has_numbers

    def answers(self, model: Any, X: Any, **given: Any) -> NDArray[Any]:
        """Predict in the form that the task is judged by."""
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
            What else ``predict`` takes, one value per row.
        positive : int, optional
            Which class comes first.
        """
        values = self.answers(model, X, **given)
        if values.ndim == 1:
            return {self.answer: values}
        return {f"{self.answer} {label}": values[:, j] for j, label in enumerate(self.output_labels(model, values))}

    def output_labels(self, model: Any, values: NDArray[Any]) -> list[Any]:
        """Return what the columns of answers are called."""
        return list(range(values.shape[1]))

    def check_target(self, y: NDArray[Any]) -> str | None:
        """Return what is wrong with a target, if anything: it is not a number."""
        if y.dtype.kind in "biuf":
            return None
        return f"holds {targets.unique_labels(y)[0][0]!r}, which is not a number: {self.name} needs numbers"
