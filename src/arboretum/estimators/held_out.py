"""What ConformalRegressor and CalibratedClassifier share: an estimator around another, and what corrects it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import NDArray

from arboretum.correcting.held_out import Calibrating, HeldOut
from arboretum.estimators.models_of_models import ModelOfModels, OfOneEstimator
from arboretum.estimators.protocol import Estimator
from arboretum.model.members import Members

Held = TypeVar("Held", bound="HeldOutModel")


class HeldOutModel(Calibrating, OfOneEstimator, ModelOfModels, Estimator):
    """An estimator around another, corrected by its errors on rows that it has not seen.

    Attributes
    ----------
    estimator_ : estimator
        What is asked for predictions; where models of folds are averaged, the first of them.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    _correct: Callable[[Any, Any, Any], Members]  # fits the estimator, and what corrects it

    def fit(self: Held, X: Any, y: Any, sample_weight: Any = None) -> Held:
        """Fit the estimator and what corrects it, both with the weights of the rows; an error leaves all as it was.

        Returns
        -------
        self
        """
        self.check_parameters()
        self._members = self._correct(X, y, sample_weight)
        return self

    def held_out(self) -> HeldOut:
        """Return how the estimator is fitted, with rows left to predict."""
        return HeldOut(self, self.goal(), type(self).__name__, self.base())

    @property
    def estimator_(self) -> Any:
        """What is asked for predictions; where models of folds are averaged, the first of them."""
        return self.learned().parts["estimator"]

    @property
    def n_features_in_(self) -> int:
        """Number of columns at fit, if ``estimator_`` tells."""
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns at fit, if they had names."""
        names: NDArray[Any] = self.estimator_.feature_names_in_
        return names
