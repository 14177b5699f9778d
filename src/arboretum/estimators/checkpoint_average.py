"""CheckpointAverage: the mean of snapshots of an iterative learner (Huang et al. 2017)."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.members.estimators import require_estimator
from arboretum.ensembles.members.goals import Goal, log_scores
from arboretum.ensembles.snapshots import (
    Margins,
    SnapshotAverage,
    SnapshotParameters,
    Snapshots,
    goal_for,
    snapshots_of,
)
from arboretum.estimators.boosted_trees import BoostedTreesRegressor
from arboretum.estimators.models_of_models import ModelOfModels, OfOneEstimator, only_if
from arboretum.estimators.of_members_task import OfMembersTask, classifies
from arboretum.estimators.protocol import Estimator
from arboretum.parameters.declaring import declares_parameters

FloatArray: TypeAlias = NDArray[np.float64]


def _has_probabilities(model: CheckpointAverage) -> bool:
    return classifies(model) and hasattr(model.base(), "predict_proba")


@declares_parameters
class CheckpointAverage(  # type: ignore[misc]  # its estimator_type follows the estimator
    SnapshotParameters, OfMembersTask, OfOneEstimator, ModelOfModels, Estimator
):
    """The mean of an iterative learner's predictions at several steps of its training.

    It is a classifier or a regressor, as its estimator is: snapshots of a classifier give probabilities, or decision
    functions if it has no ``predict_proba``. The estimator is fitted in steps, once in all:

    - boosted models of arboretum are fitted as they are; snapshots are their first rounds. ``average_rounds`` of
      boosted trees is the other average, before the link, which is one forest;
    - ``partial_fit`` passes over all rows in each step;
    - ``warm_start`` adds steps by its parameter ``steps_parameter``. It must count all steps, as ``n_estimators`` of
      gradient boosting does; where it counts those of one fit, as ``max_iter`` of a linear model, snapshots have seen
      more steps.

    Attributes
    ----------
    estimators_ : list
        The snapshots.
    steps_ : list of int
        Steps after which they were taken, rising.
    estimator_ : estimator
        What was fitted in steps.
    classes_ : ndarray
        Labels, sorted, if it is a classifier.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Huang, G. et al. (2017). Snapshot ensembles: train 1, get M for free. ICLR.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> from sklearn.linear_model import SGDClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> line = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.1)
    >>> model = arb.CheckpointAverage(estimator=line, n_steps=30, n_snapshots=10).fit(X, X[:, 0] > X[:, 1])
    >>> model.steps_
    [21, 22, 23, 24, 25, 26, 27, 28, 29, 30]
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array([ True, False])
    """

    default: ClassVar = BoostedTreesRegressor
    joint_kind = Snapshots

    def check_parameters(self) -> None:
        """Check the parameters by themselves and together, as ``fit`` does."""
        super().check_parameters()
        require_estimator(self.base())

    def goal(self) -> Goal:
        """Return how the target is read, and what snapshots are asked."""
        return goal_for(self.base())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CheckpointAverage:
        """Fit the estimator in steps, and keep copies of it; an error leaves the model as it was.

        Returns
        -------
        self
        """
        self.check_parameters()
        recipe = SnapshotAverage(self, self.goal(), type(self).__name__, self.base())
        self._members = recipe.fit(X, y, sample_weight)
        return self

    # ---- the snapshots -------------------------------------------------------------------------------------------

    @property
    def estimators_(self) -> list[Any]:
        """The snapshots."""
        return list(self.learned().models)

    @property
    def steps_(self) -> list[int]:
        """Steps after which the snapshots were taken, rising."""
        return list(snapshots_of(self.learned()).steps)

    @property
    def judged_as_(self) -> Any:
        """The last snapshot: its loss judges the whole."""
        return self.estimators_[-1]

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _mean(self, X: Any) -> FloatArray:
        members = self.learned()
        return snapshots_of(members).mean(members, X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class, or the mean of the snapshots.

        Returns
        -------
        ndarray, (n_rows,) or (n_rows, n_outputs)
            Labels as they were given at fit, or numbers.
        """
        return snapshots_of(self.learned()).goal.answers(self._mean(X))

    @only_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, in the order of ``classes_``: the mean of the snapshots.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes)
        """
        return self._mean(X)

    @only_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._mean(X)))

    @only_if(classifies)
    def decision_function(self, X: Any) -> FloatArray:
        """Score the classes: mean decision functions, or logarithms of mean probabilities if there are any.

        For two classes it is the score, or the log-odds, of the second. Scores rank classes as ``predict`` does.

        Returns
        -------
        ndarray of float64, (n_rows,) for two classes, else (n_rows, n_classes)
        """
        goal, mean = snapshots_of(self.learned()).goal, self._mean(X)
        return mean if isinstance(goal, Margins) else log_scores(mean)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags, base = super().__sklearn_tags__(), get_tags(self.base())
        tags.target_tags.multi_output = base.target_tags.multi_output and not classifies(self)
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags
