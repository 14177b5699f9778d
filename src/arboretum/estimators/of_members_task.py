"""Estimators whose task is that of their members: classifiers of classifiers, regressors of regressors.

Methods that only classifiers have are attributes of an instance whose members classify, and of no other (``only_if``):
``hasattr`` tells the truth, as it does for scikit-learn's meta-estimators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from arboretum.metrics.own_scores import accuracy, r_squared
from arboretum.tasks import Task


def classifies(model: Any) -> bool:
    """Whether an estimator is a classifier."""
    return bool(model.estimator_type == "classifier")


class OfMembersTask:
    """What depends on the task; stands left of ``Estimator`` among the bases."""

    goal: Callable[[], Any]  # whose ``classifies`` says what members are
    learned: Callable[[], Any]
    predict: Callable[[Any], Any]

    @property
    def estimator_type(self) -> str:
        """What scikit-learn calls it: "classifier" or "regressor"."""
        return "classifier" if self.goal().classifies else "regressor"

    @property
    def task_(self) -> Task:
        """What the fitted model predicts: two classes, several, or numbers."""
        task: Task = self.learned().joint.goal.task
        return task

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels, sorted."""
        if not classifies(self):
            raise AttributeError(f"this {type(self).__name__} is a regressor: it has no classes")
        labels: NDArray[Any] = self.learned().joint.goal.classes
        return labels

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, R² of a regressor."""
        measure = accuracy if classifies(self) else r_squared
        return measure(y, self.predict(X), sample_weight)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, RegressorTags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        if classifies(self):
            tags.classifier_tags = ClassifierTags()
        else:
            tags.regressor_tags = RegressorTags()
        return tags
