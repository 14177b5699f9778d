"""Stacking and blending: different models, combined by what they say of rows that they have not seen."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np

from arboretum.ensembles.combining.parameters import Combining, CombiningRun, Holdout, MemberList, OutOfFold
from arboretum.ensembles.combining.recipe import BlendingRecipe, StackingRecipe
from arboretum.ensembles.members.goals import Goal, Outputs
from arboretum.estimators.combined import CombinedClasses, CombinedModel, CombinedNumbers
from arboretum.estimators.protocol import Classifier, Estimator, Regressor
from arboretum.parameters.declaring import declares_parameters, like, parameter_group

Stack = TypeVar("Stack", bound="StackedModel")

OF_CLASSES = "; by default a multinomial model of their log probabilities, with a weight ≥ 0 per member"
OF_NUMBERS = "; by default a regularised sum, with a weight ≥ 0 per member"
STRATIFIED = ", the same share of each class"
FEWER = ", or as many as the smallest class has rows"


class StackedModel(CombinedModel, Estimator):
    """Members, and a combination that was learned from their answers to rows that they have not seen.

    Attributes
    ----------
    final_estimator_ : estimator
        What combines the answers, if ``final_estimator`` was given.
    intercept_ : ndarray
        Constant of the combination, if that is linear.
    """

    recipe_kind: ClassVar[type[StackingRecipe]] = StackingRecipe

    def fit(self: Stack, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Stack:
        """Fit the members and what combines them; an error leaves the model as it was.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows.
        y : array-like
            Target of each row: a label, a number, or time and event.
        sample_weight : array-like, optional
            Weight of each row, for members and for their combination.
        groups : array-like, optional
            Group of each row: rows of one group are never on both sides of a split.

        Returns
        -------
        self
        """
        self.check_parameters()
        self._members = self.recipe(type(self).recipe_kind).fit(X, y, sample_weight, groups)
        return self

    @property
    def final_estimator_(self) -> Any:
        """What combines the answers."""
        parts = self.learned().parts
        if "final" not in parts:
            raise AttributeError(f"this {type(self).__name__} combines its members linearly: see weights_")
        return parts["final"]

    @property
    def intercept_(self) -> Any:
        """Constant of the linear combination."""
        if self._joint.combiner is None:
            raise AttributeError(f"this {type(self).__name__} has no intercept: its final_estimator combines members")
        return self._joint.combiner.arrays().get("intercept", np.zeros(1))

    def unseen_answers(self) -> dict[str, Any]:
        """Return what each member said of training rows that it had not seen, in the order of these rows.

        NaN for rows that were never held out. Files and pickles do not keep them.

        Returns
        -------
        dict of str to ndarray, (rows, classes or outputs)
        """
        unseen = self._joint.unseen
        if not unseen:
            raise AttributeError(
                "answers to training rows are kept neither in files nor in pickles: fit the model again"
            )
        return dict(unseen)


@parameter_group()
class StackingParameters(MemberList, Combining, OutOfFold, CombiningRun):
    """Parameters of stacking."""


@parameter_group()
class BlendingParameters(MemberList, Combining, Holdout, CombiningRun):
    """Parameters of blending."""


@declares_parameters
class StackingClassifier(CombinedClasses, Classifier, StackingParameters, StackedModel):
    """Stacked classifiers: combined by what they say out of fold (Wolpert 1992).

    Each member is fitted without each fold and asked about it; the combination is learned from these answers. Members
    are then fitted to all rows, and share one table, which is read once. Levels and statistics of categories are
    learned in each fold.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> forest, boosted = arb.RandomForestClassifier(), arb.BoostedTreesClassifier(n_estimators=50)
    >>> stack = arb.StackingClassifier(estimators=[("forest", forest), ("boosted", boosted)])
    >>> stack.fit(X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other")).predict([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])
    array(['same', 'other'], dtype='<U5')
    >>> list(stack.member_scores_), stack.weights_.shape
    (['forest', 'boosted'], (2,))
    """

    final_estimator: Any = like(Combining, filled={"default": OF_CLASSES})
    cv: Any = like(OutOfFold, filled={"strata": STRATIFIED, "fewer": FEWER})


@declares_parameters
class StackingRegressor(CombinedNumbers, Regressor, StackingParameters, StackedModel):
    """Stacked regressors: combined by what they predict out of fold (Wolpert 1992; Breiman 1996).

    Each member is fitted without each fold and predicts it; the combination is learned from these predictions. Members
    are then fitted to all rows, and share one table, which is read once. Levels and statistics of categories are
    learned in each fold.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> y = 3 * X[:, 0] + (X[:, 1] > 0.5)
    >>> members = [("line", LinearRegression()), ("forest", arb.RandomForestRegressor())]
    >>> model = arb.StackingRegressor(estimators=members).fit(X, y)
    >>> model.predict([[0.5, 0.9]]).round(1)
    array([2.5])
    """

    final_estimator: Any = like(Combining, filled={"default": OF_NUMBERS})
    cv: Any = like(OutOfFold, filled={"strata": "", "fewer": ""})

    def goal(self) -> Goal:
        """Return how numbers are read."""
        return Outputs()


@declares_parameters
class BlendingClassifier(CombinedClasses, Classifier, BlendingParameters, StackedModel):
    """Blended classifiers: fitted to one part of the rows, combined on the other.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> blend = arb.BlendingClassifier(cv=0.3).set_params(estimators=[("tree", arb.DecisionTreeClassifier())])
    >>> blend.fit(X, X[:, 0] > 0.3).predict([[0.1], [0.9]])
    array([False,  True])
    """

    final_estimator: Any = like(Combining, filled={"default": OF_CLASSES})
    cv: Any = like(Holdout, filled={"strata": STRATIFIED})

    recipe_kind: ClassVar = BlendingRecipe


@declares_parameters
class BlendingRegressor(CombinedNumbers, Regressor, BlendingParameters, StackedModel):
    """Blended regressors: fitted to one part of the rows, combined on the other.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> from sklearn.linear_model import LinearRegression
    >>> X, pair = np.linspace(0, 1, 200)[:, None], [("line", LinearRegression()), ("tree", arb.DecisionTreeRegressor())]
    >>> arb.BlendingRegressor(estimators=pair).fit(X, 2 * X[:, 0]).predict([[0.5]]).round(2)
    array([1.])
    """

    final_estimator: Any = like(Combining, filled={"default": OF_NUMBERS})
    cv: Any = like(Holdout, filled={"strata": ""})

    recipe_kind: ClassVar = BlendingRecipe

    def goal(self) -> Goal:
        """Return how numbers are read."""
        return Outputs()
