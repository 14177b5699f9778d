"""CalibratedClassifier: probabilities that mean what they say."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.correcting.calibration import WAYS, Calibrated, Calibration, calibrate
from arboretum.correcting.held_out import Calibrating
from arboretum.ensembles.members.goals import Classes
from arboretum.estimators.boosted_trees import BoostedTreesClassifier
from arboretum.estimators.held_out import HeldOutModel
from arboretum.estimators.protocol import Classifier
from arboretum.model.members import Members
from arboretum.parameters.declaring import Choice, declares_parameters, like, parameter

FloatArray: TypeAlias = NDArray[np.float64]


@declares_parameters
class CalibratedClassifier(Classifier, HeldOutModel):
    """Honest probabilities of any classifier: of rows that are given 0.3, three in ten are of the class.

    The map from the estimator's probabilities to honest ones is learned on rows that it has not seen, with their
    ``sample_weight`` but without its ``class_weight``: probabilities are those of the population, however the estimator
    weighs its classes. Several classes are mapped each against the rest.

    Attributes
    ----------
    estimators_ : list of estimator
        What is asked for predictions: one classifier, or those of the folds.
    calibrations_ : tuple of Calibration
        The map of each of them.
    classes_ : ndarray
        Labels, sorted.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(4000, 1))
    >>> y = rng.uniform(size=4000) < X[:, 0] / 5  # one in ten
    >>> small = {"n_estimators": 20, "max_leaf_nodes": 4, "learning_rate": 0.1}
    >>> base = arb.BoostedTreesClassifier(**small, class_weight="balanced")
    >>> base.fit(X, y).predict_proba([[0.5]])[:, 1] > 0.3  # as if the classes were equally frequent
    array([ True])
    >>> arb.CalibratedClassifier(estimator=base).fit(X, y).predict_proba([[0.5]])[:, 1].round(1)
    array([0.1])
    """

    estimator: Any = like(
        Calibrating,
        doc="A classifier with ``predict_proba``, of arboretum, scikit-learn or any library that follows its protocol; "
        "by default ``BoostedTreesClassifier()``.",
    )
    method: str = parameter(
        "isotonic",
        Choice("isotonic", "platt", "temperature"),
        "The map: rising steps; σ(a · log odds + b), which needs fewer rows; or probabilities to a power, one number "
        "for all classes.",
        before="calibration",
    )
    calibration: str = like(
        Calibrating,
        default="ensemble",
        allowed=Choice(*WAYS),
        doc='Source of rows that the model has not seen. "ensemble" fits a model without each of ``n_folds`` folds: '
        'each has its own map, and their mean predicts. "cross" fits the same, and one to all rows, which predicts '
        'with one map. "split" fits one model and holds a share of the rows out. "oob" fits one forest and takes its '
        "out-of-bag predictions.",
    )
    n_folds: int = like(Calibrating, doc='Folds of "ensemble" and "cross".')
    calibration_fraction: float = like(Calibrating, filled={"halves": ""})
    default: ClassVar = BoostedTreesClassifier
    joint_kind = Calibrated

    def goal(self) -> Classes:
        """Return how labels are read; models are asked for probabilities."""
        return Classes()

    def _correct(self, X: Any, y: Any, sample_weight: Any) -> Members:
        return calibrate(self.held_out(), self.method, X, y, sample_weight)

    @property
    def _joint(self) -> Calibrated:
        joint = self.learned().joint
        assert isinstance(joint, Calibrated)
        return joint

    @property
    def classes_(self) -> Any:
        """Labels, sorted."""
        return self._joint.goal.classes

    @property
    def estimators_(self) -> list[Any]:
        """What is asked for predictions: one classifier, or those of the folds."""
        models: list[Any] = self.learned().models
        return models

    @property
    def calibrations_(self) -> tuple[Calibration, ...]:
        """The map of each of ``estimators_``."""
        return self._joint.corrections

    def predict_proba(self, X: Any) -> FloatArray:
        """Honest probabilities of the classes, in the order of ``classes_``.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes)
        """
        return self._joint.probabilities(self.learned(), X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Returns
        -------
        ndarray, (n_rows,)
            Labels as they were given at fit.
        """
        return self._joint.goal.answers(self.predict_proba(X))
