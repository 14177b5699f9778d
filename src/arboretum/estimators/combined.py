"""What voting, blending, stacking and ensemble selection share: named members, and what combines their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.combining.joint import FINAL, Combined, combined
from arboretum.ensembles.combining.recipe import CombiningRecipe
from arboretum.ensembles.members.goals import Classes
from arboretum.ensembles.members.named import named_members
from arboretum.estimators.boosted_trees import BoostedTreesClassifier, BoostedTreesRegressor
from arboretum.estimators.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from arboretum.estimators.models_of_models import ModelOfModels, only_if
from arboretum.estimators.named_members import NamedMembers
from arboretum.estimators.standing_in import with_members
from arboretum.model.members import Base, Members

FloatArray: TypeAlias = NDArray[np.float64]
ARecipe = TypeVar("ARecipe", bound=CombiningRecipe)


class CombinedModel(NamedMembers, ModelOfModels):
    """Fitted members, and what combines their answers; stands left of ``Estimator`` among the bases.

    Attributes
    ----------
    estimators_ : list
        The fitted members; with ``refit=False`` a list of the models of all folds for each.
    named_estimators_ : dict
        The same by name.
    weights_ : ndarray
        Weight of each member in the combination, if that is linear.
    member_scores_ : dict of str to float
        Score of each member on rows that it has not seen, if there were some.
    skipped_ : dict of str to str
        Members that failed and were left out, and why.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    joint_kind = Combined
    estimators: Any
    prefit: bool = False  # of voting and ensemble selection
    goal: Callable[[], Any]
    _get_param_names: Callable[[], list[str]]  # of Estimator

    def members(self) -> list[Base]:
        """Return the members that were given, checked, or the default."""
        if self.estimators is None:
            return self.default_members()
        taken, fitted = [*self._get_param_names(), FINAL], self.prefit is True
        return named_members(self.estimators, taken, kind=self.goal().kind, fitted=fitted)

    def default_members(self) -> list[Base]:
        """Return what ``estimators=None`` means."""
        kinds: list[type] = [BoostedTreesRegressor, RandomForestRegressor, ExtraTreesRegressor]
        if self.goal().classifies:
            kinds = [BoostedTreesClassifier, RandomForestClassifier, ExtraTreesClassifier]
        return [(name, kind()) for name, kind in zip(("boosted", "forest", "extra"), kinds, strict=True)]

    def recipe(self, kind: type[ARecipe]) -> ARecipe:
        """Return what makes the model of rows: its members, with these parameters."""
        return kind(self, self.goal(), type(self).__name__, self.members(), lambda found: with_members(self, found))

    def _take_bases(self, bases: list[Base]) -> list[Base]:
        """Make the estimators of a file parameters again."""
        given = [(name, base) for name, base in bases if name != FINAL]
        self.estimators = given
        if len(given) < len(bases):
            vars(self)["final_estimator"] = dict(bases)[FINAL]
        return bases

    @property
    def _joint(self) -> Combined:
        return combined(self.learned())

    def _copies(self) -> dict[str, Any]:
        parts = self.learned().parts
        copies = {one.name: [parts[part] for part in one.parts] for one in self._joint.asked}
        return {name: found[0] if len(found) == 1 else found for name, found in copies.items()}

    @property
    def estimators_(self) -> list[Any]:
        """The fitted members."""
        return list(self._copies().values())

    @property
    def named_estimators_(self) -> dict[str, Any]:
        """The fitted members by name."""
        return self._copies()

    @property
    def weights_(self) -> FloatArray:
        """Weight of each member in the combination."""
        combiner = self._joint.combiner
        if combiner is None:
            raise AttributeError(f"this {type(self).__name__} has no weights: its final_estimator combines the members")
        weights = combiner.weights
        return weights[:, 0] if weights.ndim == 2 and weights.shape[1] == 1 else weights

    @property
    def member_scores_(self) -> dict[str, float]:
        """Score of each member on rows that it has not seen."""
        joint = self._joint
        if not joint.scores:
            raise AttributeError(f"this {type(self).__name__} has no rows that members have not seen")
        return dict(joint.scores)

    @property
    def skipped_(self) -> dict[str, str]:
        """Members that failed and were left out, and why."""
        return dict(self._joint.skipped)

    @property
    def judged_as_(self) -> Any:
        """A member: its loss judges the whole."""
        first = self.estimators_[0]
        return first[0] if isinstance(first, list) else first

    def _outcome(self, X: Any) -> FloatArray:
        members: Members = self.learned()
        return combined(members).outcome(members, X)

    def __sklearn_tags__(self) -> Any:
        """Accept what all members accept."""
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        given = self.default_members() if self.estimators is None else self.estimators
        try:
            of_members = [get_tags(member).input_tags for _, member in given if not isinstance(member, str)]
        except (TypeError, ValueError, AttributeError):  # what fit will reject
            return tags
        for name in ("sparse", "allow_nan", "categorical", "string"):
            setattr(tags.input_tags, name, bool(of_members) and all(getattr(each, name) for each in of_members))
        tags.input_tags.positive_only = any(each.positive_only for each in of_members)
        return tags


def _has_probabilities(model: Any) -> bool:
    """Whether a final estimator, if there is one, gives probabilities."""
    final = getattr(model, "final_estimator", None)
    return final is None or hasattr(final, "predict_proba")


class CombinedClasses:
    """Answers of members combined to classes; stands left of ``CombinedModel``.

    Attributes
    ----------
    classes_ : ndarray
        Labels, sorted.
    """

    _joint: Combined
    _outcome: Callable[[Any], FloatArray]
    learned: Callable[[], Any]

    def goal(self) -> Classes:
        """Return how labels are read."""
        return Classes()

    @property
    def classes_(self) -> Any:
        """Labels, sorted."""
        goal = self._joint.goal
        assert isinstance(goal, Classes)
        return goal.classes

    @only_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, in the order of ``classes_``.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes)
        """
        return self._outcome(X)

    def decision_function(self, X: Any) -> FloatArray:
        """Score the classes by the logarithms of their probabilities, for two classes by the log-odds of the second.

        Returns
        -------
        ndarray of float64, (n_rows,) for two classes, else (n_rows, n_classes)
        """
        scores = self._joint.scored(self.learned(), X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Returns
        -------
        ndarray, (n_rows,)
            Labels as they were given at fit.
        """
        return self._joint.goal.answers(self._outcome(X))


class CombinedNumbers:
    """Answers of members combined to numbers; stands left of ``CombinedModel``."""

    _outcome: Callable[[Any], FloatArray]

    def predict(self, X: Any) -> FloatArray:
        """Predict the target.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_outputs)
        """
        return self._outcome(X)
