"""What forests and single trees of impurity share: predictions are means of trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.bagging.model_notes import ForestNotes, notes_of
from arboretum.model.heads import ClassMeanHead, Head, MeanHead
from arboretum.model.model import Model
from arboretum.model.notes import Notes

FloatArray: TypeAlias = NDArray[np.float64]


class AveragedTrees:
    """Trees of impurity, each grown independently; a prediction is their mean. Stands left of ``GrownTrees``.

    Attributes
    ----------
    n_outputs_ : int
        Columns of y.
    feature_importances_ : ndarray
        Fall of impurity by each feature, normalised.
    """

    criterion: str
    n_jobs: int | None
    model_: Model
    recipe: Callable[[], Any]  # what makes a Model of rows; it has a ``preparation``

    head_kind: ClassVar[type[Head]] = MeanHead
    notes_kind: ClassVar[type[Notes]] = ForestNotes

    @property
    def n_outputs_(self) -> int:
        """Columns of y."""
        return notes_of(self.model_).n_outputs

    @property
    def feature_importances_(self) -> FloatArray:
        """Fall of impurity by each feature, a mean over the trees, normalised to sum 1 (Breiman et al. 1984)."""
        from arboretum.explaining import Uses, normalised

        return normalised(normalised(Uses.of(self).gains_by_tree(self.model_.schema.n_features)).mean(axis=0))


class NumberTrees:
    """Predictions of trees of numbers."""

    model_: Model
    n_jobs: int | None

    def predict(self, X: Any) -> FloatArray:
        """Predict the target: the mean of the trees.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_outputs)
        """
        model = self.model_
        return model.head.answers(model.sums(X, self.n_jobs))


class ClassTrees:
    """Predictions of trees of classes.

    Attributes
    ----------
    classes_ : ndarray, or a list of them for several outputs
        Labels, sorted.
    n_classes_ : int, or a list of them for several outputs
        Their number.
    """

    head_kind: ClassVar[type[Head]] = ClassMeanHead
    model_: Model
    n_jobs: int | None

    @property
    def classes_(self) -> Any:
        """Labels, sorted; a list of them for several outputs."""
        return one_or_all(self.model_.head_as(ClassMeanHead).classes)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, in the order of ``classes_``: the mean of the trees, or their votes.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes), or a list of them for several outputs
        """
        head = self.model_.head_as(ClassMeanHead)
        return one_or_all(head.probabilities(head.mean(self.model_.sums(X, self.n_jobs))))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Returns
        -------
        ndarray, (n_rows,) or (n_rows, n_outputs)
            Labels as they were given at fit.
        """
        model = self.model_
        return model.head.answers(model.sums(X, self.n_jobs))


def one_or_all(outputs: Any) -> Any:
    """Return what is known of the one output, or a list for several."""
    return outputs[0] if len(outputs) == 1 else list(outputs)
