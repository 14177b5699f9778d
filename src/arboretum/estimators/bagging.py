"""BaggingClassifier and BaggingRegressor: bagging of any estimator (Breiman 1996)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.bagging.estimators import Bagged, Bagging, BaggingParameters, OutOfBag, bagged
from arboretum.ensembles.bagging.resampling import Positions
from arboretum.ensembles.members.goals import Classes, Goal, Outputs, log_scores
from arboretum.estimators.decision_trees import DecisionTreeClassifier, DecisionTreeRegressor
from arboretum.estimators.models_of_models import ModelOfModels, OfOneEstimator
from arboretum.estimators.protocol import Classifier, Estimator, Regressor
from arboretum.estimators.standing_in import with_members
from arboretum.model.members import Members
from arboretum.parameters.declaring import declares_parameters, like
from arboretum.parameters.shared import Voting
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]
ABag = TypeVar("ABag", bound="BaggingModel")


class BaggingModel(BaggingParameters, OfOneEstimator, ModelOfModels, Estimator):
    """Members fitted to draws of rows and columns, for any target.

    Attributes
    ----------
    estimators_ : list
        The members.
    estimators_features_ : list of ndarray
        Columns of each member, rising.
    estimators_samples_ : list of ndarray
        Rows of each member, as often as drawn.
    estimator_ : estimator
        What was bagged.
    oob_score_ : float
        With ``oob_score``.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    joint_kind = Bagged

    def fit(self: ABag, X: Any, y: Any, sample_weight: Any = None) -> ABag:
        """Fit the members; an error leaves the model as it was.

        Returns
        -------
        self
        """
        self.check_parameters()
        earlier = self.learned() if self.warm_start and "_members" in vars(self) else None
        recipe = Bagging(self, self.goal(), type(self).__name__, self.base(), lambda found: with_members(self, found))
        self._members = recipe.fit(X, y, sample_weight, earlier)
        return self

    @property
    def _joint(self) -> Bagged:
        return bagged(self.learned())

    @property
    def estimators_(self) -> list[Any]:
        """The members."""
        return list(self.learned().models)

    @property
    def estimators_features_(self) -> list[Positions]:
        """Columns of each member, rising."""
        return list(self._joint.columns)

    @property
    def estimators_samples_(self) -> list[Positions]:
        """Rows of each member, as often as it has drawn them; made again from the seed."""
        joint = self._joint
        if None in joint.draws:
            raise AttributeError("estimators_samples_ needs the training rows: a model file does not keep them")
        bags = [draws.bag(joint.seed, member) for member, draws in enumerate(joint.draws) if draws is not None]
        return [np.repeat(bag.rows, bag.copies) for bag in bags]

    @property
    def _out_of_bag(self) -> OutOfBag:
        found = self._joint.out_of_bag
        if found is None:
            raise AttributeError(f"this {type(self).__name__} was fitted without oob_score, or loaded from a file")
        return found

    @property
    def oob_score_(self) -> float:
        """Score of the rows by the members that did not draw them."""
        return self._out_of_bag.score

    @property
    def judged_as_(self) -> Any:
        """A member: its loss judges the whole."""
        return self.estimators_[0]

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.learned().parts)

    def __bool__(self) -> bool:
        """Return True, fitted or not."""
        return True

    def _mean(self, X: Any) -> FloatArray:
        """Mean of the members."""
        members = self.learned()
        return bagged(members).mean(members, X, n_threads(self.n_jobs))


@declares_parameters
class BaggingClassifier(Classifier, BaggingModel):
    """Bagging of a classifier: the mean of members fitted to draws of the rows (Breiman 1996).

    Rows are drawn by a hash of (seed, member, draw) from an order that depends on their content: the model is the same
    for any number of threads and any order of the rows, and a row of weight 3 counts as three equal rows. Members whose
    ``fit`` takes ``sample_weight`` get each row once, weighted by its copies; others get the copies.

    Members of arboretum that can (``BoostedTrees*``) share one table, which is read and cut into bins once: cuts are
    then those of all rows, not of each bag.

    Attributes
    ----------
    classes_ : ndarray
        Labels, sorted.
    oob_decision_function_ : ndarray, (n_rows, n_classes)
        With ``oob_score``: probabilities by the members that never saw a row; NaN if all have.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> from arboretum.estimators.bagging import BaggingClassifier
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> bagged = BaggingClassifier(estimator=arb.BoostedTreesClassifier(n_estimators=20), oob_score=True)
    >>> bagged.fit(X, np.where(X[:, 0] > 0.4, "yes", "no")).predict([[0.1], [0.9]])
    array(['no', 'yes'], dtype='<U3')
    >>> bagged.oob_score_ > 0.9
    True
    """

    voting: str = like(
        Voting,
        doc="Mean of the members' probabilities, or share of their votes; members without ``predict_proba`` vote.",
        before="warm_start",
    )
    default: ClassVar = DecisionTreeClassifier

    def goal(self) -> Classes:
        """Return how labels are read, and what members are asked."""
        return Classes(self.voting)

    def learned(self) -> Members:
        """Return the members, which vote as the parameter says."""
        members: Members = super().learned()
        joint = bagged(members)
        return replace(members, joint=replace(joint, goal=replace(_classes(joint), voting=self.voting)))

    @property
    def classes_(self) -> Any:
        """Labels, sorted."""
        return _classes(self._joint).classes

    @property
    def oob_decision_function_(self) -> FloatArray:
        """Probabilities by the members that never saw a row."""
        return self._out_of_bag.means

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, in the order of ``classes_``: the mean of the members, or their votes.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes)
        """
        return self._mean(X)

    def decision_function(self, X: Any) -> FloatArray:
        """Score the classes by the logarithms of their probabilities, for two classes by the log-odds of the second.

        Unlike a mean of the members' own decision functions, it ranks classes as ``predict`` does. Finite: the
        logarithm of 0 is that of the smallest normal number.

        Returns
        -------
        ndarray of float64, (n_rows,) for two classes, else (n_rows, n_classes)
        """
        return log_scores(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Returns
        -------
        ndarray, (n_rows,)
            Labels as they were given at fit.
        """
        return self._joint.goal.answers(self._mean(X))


def _classes(joint: Bagged) -> Classes:
    assert isinstance(joint.goal, Classes)
    return joint.goal


@declares_parameters
class BaggingRegressor(Regressor, BaggingModel):
    """Bagging of a regressor: the mean of members fitted to draws of the rows (Breiman 1996).

    Rows are drawn, and tables shared, as ``BaggingClassifier`` does.

    Attributes
    ----------
    oob_prediction_ : ndarray, (n_rows,) or (n_rows, n_outputs)
        With ``oob_score``: mean of the members that never saw a row; NaN if all have.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> from arboretum.estimators.bagging import BaggingRegressor
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> bagged = BaggingRegressor(estimator=arb.BoostedTreesRegressor(n_estimators=50)).fit(X, X[:, 0] ** 2)
    >>> bagged.predict([[0.6]]).round(2)
    array([0.36])
    """

    default: ClassVar = DecisionTreeRegressor

    def goal(self) -> Goal:
        """Return how numbers are read, and what members are asked."""
        return Outputs()

    @property
    def oob_prediction_(self) -> FloatArray:
        """Mean of the members that never saw a row."""
        return self._out_of_bag.means

    def predict(self, X: Any) -> FloatArray:
        """Predict the target: the mean of the members.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_outputs)
        """
        return self._mean(X)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = get_tags(self.base()).target_tags.multi_output
        return tags
