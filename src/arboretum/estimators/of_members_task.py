"""Estimators whose task is that of their members: classifiers of classifiers, regressors of regressors.

Methods that only classifiers have are attributes of an instance whose members classify, and of no other: ``hasattr``
tells the truth, as it does for scikit-learn's meta-estimators.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.estimators.protocol import Classifier, not_fitted
from arboretum.metrics.own_scores import accuracy, r_squared
from arboretum.tasks import REGRESSION, Task, of_classes

FloatArray: TypeAlias = NDArray[np.float64]


class IfClassifier:
    """A method or property of estimators that classify."""

    def __init__(self, function: Callable[..., Any], *, called: bool = True) -> None:
        self.function, self.called = function, called
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self.function if self.called else self
        if instance.estimator_type != "classifier":
            raise AttributeError(
                f"{owner.__name__!r} object has no attribute {self.name!r}: its members are regressors"
            )
        return MethodType(self.function, instance) if self.called else self.function(instance)


class OfMembersTask:
    """What depends on the task; stands left of ``Estimator`` among the bases."""

    goal: Callable[[], Any]  # whose ``classifies`` says what members are
    learned: Callable[[], Any]
    predict: Callable[[Any], Any]
    predict_proba: Any
    classes_: Any

    @property
    def estimator_type(self) -> str:
        """What scikit-learn calls it."""
        return "classifier" if self.goal().classifies else "regressor"

    @property
    def task_(self) -> Task:
        """What the fitted model predicts."""
        if not self.goal().classifies:
            return REGRESSION
        return of_classes(len(self.learned().joint.goal.classes))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, or R² of a regressor."""
        found = self.predict(X)
        return (accuracy if self.goal().classifies else r_squared)(y, found, sample_weight)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, RegressorTags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        if self.goal().classifies:
            tags.classifier_tags = ClassifierTags()
        else:
            tags.regressor_tags = RegressorTags()
        return tags

    def _n_classes(self) -> int:
        """Return the number of classes."""
        if not self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            raise not_fitted(self)
        return len(self.classes_)

    predict_log_proba = IfClassifier(Classifier.predict_log_proba)
    n_classes_ = IfClassifier(_n_classes, called=False)
