"""Goals: how an ensemble of estimators reads its target, and what its members predict.

::

    y ──as_column──► column ──read──► the goal with its classes, and numbers that tell rows apart
    member, rows ──outcome──► probabilities in the order of all classes, or numbers ──answers──► labels, or numbers

A goal knows parameters, never an estimator of ours. Once it has read a target, it is part of the model and of its file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.data import selection, targets
from arboretum.data.labels import classes_from_json, classes_to_json
from arboretum.data.table import Table
from arboretum.ensembles.members.estimators import is_classifier
from arboretum.tasks import REGRESSION, Task, of_classes

FloatArray: TypeAlias = NDArray[np.float64]
AGoal = TypeVar("AGoal", bound="Goal")


@dataclass(frozen=True, eq=False)
class Goal(ABC):
    """What members predict."""

    kind: ClassVar[str]  # what members are: "classifier", "regressor", …
    metric: ClassVar[str]  # what answers are judged by, unless users say otherwise
    by_query: ClassVar[bool] = False  # whether groups are queries, whose rows are compared with one another

    @property
    def classifies(self) -> bool:
        """Whether members are classifiers."""
        return self.kind == "classifier"

    @property
    @abstractmethod
    def task(self) -> Task:
        """What is asked, once the target is read."""

    def as_column(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Return a target of any container as an array, one value per row."""
        return targets.as_column(y, n_rows)

    @abstractmethod
    def read(self: AGoal, column: NDArray[Any]) -> tuple[AGoal, FloatArray]:
        """Check the target of rows that have weight; return the goal with its classes, if any, and codes or numbers."""

    def arguments(self, column: NDArray[Any]) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Return what ``fit`` of a member takes as y, and its other arguments by name."""
        return column, {}

    @abstractmethod
    def outcome(self, model: Any, rows: Any, threads: int = 1) -> FloatArray:
        """Return a member's predictions for a Table, if it accepts one, or for rows in the user's container."""

    @abstractmethod
    def answers(self, outcome: FloatArray) -> NDArray[Any]:
        """Return predictions as users see them."""

    @abstractmethod
    def out_of_bag(self, model: Any) -> FloatArray:
        """Return the prediction of each training row by the parts of a model that have not seen it; NaN without any."""

    def check_base(self, base: Any) -> None:
        """Reject an estimator whose fitted copies lack a method that is needed."""
        return

    def probabilities(self, outcome: FloatArray) -> FloatArray | None:
        """Return the probabilities that scorers may ask for."""
        return None

    def strata(self, numbers: FloatArray) -> NDArray[Any] | None:
        """Return the labels by which parts of the rows are stratified."""
        return None

    @property
    def labels(self) -> list[Any] | None:
        """What messages call the strata that every fold needs."""
        return None

    def has_one_class(self, column: NDArray[Any]) -> bool:
        """Whether all rows have one class, which many classifiers reject."""
        return False

    def check_rest(self, column: NDArray[Any]) -> None:
        """Reject the remaining rows if no model can be fitted to them."""
        return

    # ---- files ---------------------------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return what the header of a file says of the target."""
        return {}

    def from_file(self: AGoal, header: dict[str, Any]) -> AGoal:
        """Return the goal with the classes of a file, if any."""
        return self

    def check(self, model: Any) -> None:
        """Reject a member of a file that predicts something else."""
        if is_classifier(model) != self.classifies:
            raise ValueError(f"a member of class {type(model).__name__}")


@dataclass(frozen=True, eq=False)
class Numbers(Goal):
    """Numbers, one per row."""

    kind = "regressor"
    metric = "rmse"
    task: ClassVar[Task] = REGRESSION

    def read(self: AGoal, column: NDArray[Any]) -> tuple[AGoal, FloatArray]:
        """Read numbers."""
        return self, targets.regression_target(column)

    def outcome(self, model: Any, rows: Any, threads: int = 1) -> FloatArray:
        """Return predictions."""
        if isinstance(rows, Table):
            return np.asarray(model.predict_table(rows, threads))
        return np.asarray(model.predict(rows), dtype=np.float64)

    def answers(self, outcome: FloatArray) -> FloatArray:
        """Return the numbers."""
        return outcome

    def out_of_bag(self, model: Any) -> FloatArray:
        """Return the out-of-bag predictions of a forest."""
        return np.asarray(model.oob_prediction_)


@dataclass(frozen=True, eq=False)
class Outputs(Numbers):
    """Numbers of one output or several."""

    def as_column(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Return numbers, (rows,) or (rows, outputs)."""
        columns = targets.as_columns(y, n_rows)
        numbers = np.column_stack([targets.regression_target(column) for column in columns.T])
        return numbers[:, 0] if numbers.shape[1] == 1 else numbers

    def read(self: AGoal, column: NDArray[Any]) -> tuple[AGoal, FloatArray]:
        """Return the numbers, which ``as_column`` has read."""
        return self, column


@dataclass(frozen=True, eq=False)
class Classes(Goal):
    """Labels of classes.

    Parameters
    ----------
    voting : {"soft", "hard"} or None
        What members give: probabilities, or a vote for one class. None requires probabilities.
    classes : ndarray
        All labels, sorted, once they are known.

    Examples
    --------
    >>> goal, codes = Classes().read(np.array(["b", "a", "b"]))
    >>> codes, goal.outcome(OneClass().fit([[1.0]], ["b"]), [[2.0]])
    (array([1., 0., 1.]), array([[0., 1.]]))
    """

    voting: str | None = None
    classes: Any = None

    kind = "classifier"
    metric = "log_loss"

    @property
    def task(self) -> Task:
        """Two classes, or several."""
        return of_classes(len(self.classes))

    def read(self, column: NDArray[Any]) -> tuple[Classes, FloatArray]:
        """Encode labels, by the codes of the existing members, if any."""
        if self.classes is not None:
            return self, targets.encode_classes(column, self.classes, "y")
        classes, codes = targets.find_classes(column)
        return replace(self, classes=classes), codes

    def outcome(self, model: Any, rows: Any, threads: int = 1) -> FloatArray:
        """Return probabilities or votes; a member that was fitted to part of the rows may lack classes."""
        if isinstance(rows, Table):
            found: FloatArray = model.predict_table(rows, threads)
            return np.eye(found.shape[1])[found.argmax(axis=1)] if self.voting == "hard" else found
        if self.voting == "hard" or (self.voting == "soft" and not hasattr(model, "predict_proba")):
            return np.eye(len(self.classes))[np.searchsorted(self.classes, np.asarray(model.predict(rows)))]
        found = np.asarray(model.predict_proba(rows), dtype=np.float64)
        proba = np.zeros((len(found), len(self.classes)))
        proba[:, np.searchsorted(self.classes, model.classes_)] = found
        return proba

    def check_base(self, base: Any) -> None:
        """Reject an estimator without probabilities, unless members may vote."""
        if self.voting is None and not hasattr(base, "predict_proba"):
            raise ValueError(f"estimator={shown(base)} has no predict_proba: use a classifier that has")

    def answers(self, outcome: FloatArray) -> NDArray[Any]:
        """Return the most probable classes."""
        return np.asarray(self.classes[outcome.argmax(axis=1)])

    def out_of_bag(self, model: Any) -> FloatArray:
        """Return the out-of-bag probabilities of a forest."""
        return np.asarray(model.oob_decision_function_)

    def probabilities(self, outcome: FloatArray) -> FloatArray:
        """Return the outcome."""
        return outcome

    def strata(self, numbers: FloatArray) -> NDArray[Any]:
        """Return the classes."""
        return numbers

    @property
    def labels(self) -> list[Any]:
        """The labels."""
        return list(self.classes.tolist())

    def has_one_class(self, column: NDArray[Any]) -> bool:
        """Whether all labels are equal."""
        return bool((column == column[0]).all())

    def check_rest(self, column: NDArray[Any]) -> None:
        """Reject rows of one class."""
        if self.has_one_class(column):
            raise ValueError(
                f"without the rows that are held out only one class, {column.tolist()[0]!r}, is left of "
                f"{self.classes.tolist()[:10]}: give more rows of the others"
            )

    def facts(self) -> dict[str, Any]:
        """Return the labels, and how members vote if they do."""
        voting = {} if self.voting is None else {"voting": self.voting}
        return {"classes": classes_to_json(self.classes), **voting}

    def from_file(self, header: dict[str, Any]) -> Classes:
        """Read the labels."""
        entry = header["classes"]
        return replace(self, classes=classes_from_json(entry, len(entry["values"])))

    def check(self, model: Any) -> None:
        """Reject a member that is not a classifier, or whose classes the ensemble lacks."""
        if not isinstance(model, OneClass):
            super().check(model)
        if not np.isin(model.classes_, self.classes).all():
            raise ValueError("a member has classes that the ensemble lacks")


def log_scores(proba: FloatArray) -> FloatArray:
    """Return scores that rank classes as their probabilities do: logarithms, or log-odds of the second of two.

    Finite: the logarithm of 0 is that of the smallest normal number.

    Examples
    --------
    >>> log_scores(np.array([[0.5, 0.5], [0.0, 1.0]])).round()
    array([  0., 708.])
    """
    scores = np.log(np.maximum(proba, np.finfo(float).tiny))
    return np.asarray(scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores)


class OneClass:
    """The member for a bag of one class, which many classifiers reject.

    Examples
    --------
    >>> OneClass().fit([[1.0], [2.0]], ["no", "no"]).predict_proba([[3.0]])
    array([[1.]])
    """

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Any = None) -> OneClass:
        """Remember the class."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class, for every row."""
        return np.repeat(self.classes_, selection.n_rows_of(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return certainty."""
        return np.ones((selection.n_rows_of(X), 1))
