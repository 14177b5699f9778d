"""VotingClassifier and VotingRegressor: the weighted mean of different models, or their votes."""

from __future__ import annotations

from typing import Any, TypeVar

from arboretum.ensembles.combining.parameters import CombiningRun, MemberList, PrefitMembers
from arboretum.ensembles.combining.recipe import VotingRecipe
from arboretum.ensembles.members.goals import Goal, Outputs
from arboretum.estimators.combined import CombinedClasses, CombinedModel, CombinedNumbers
from arboretum.estimators.protocol import Classifier, Estimator, Regressor
from arboretum.estimators.standing_in import with_members
from arboretum.parameters.declaring import Anything, declares_parameters, like, parameter, parameter_group
from arboretum.parameters.shared import Voting

Voter = TypeVar("Voter", bound="VotingModel")


@parameter_group("Combining")
class VotingWeights:
    """How much members count."""

    weights: Any = parameter(None, Anything("sequence of numbers"), "Weight of each member; by default all are equal.")


@parameter_group()
class VotingParameters(MemberList, PrefitMembers, VotingWeights, CombiningRun):
    """Parameters of voting."""

    prefit: bool = like(PrefitMembers, filled={"why": "; ``fit`` only checks them"})


class VotingModel(VotingParameters, CombinedModel, Estimator):
    """The weighted mean of members, for any target."""

    def fit(self: Voter, X: Any, y: Any, sample_weight: Any = None) -> Voter:
        """Fit the members; an error leaves the model as it was.

        Returns
        -------
        self
        """
        self.check_parameters()
        name = type(self).__name__
        recipe = VotingRecipe(self, self.goal(), name, self.members(), lambda found: with_members(self, found))
        self._members = recipe.fit(X, y, sample_weight)
        return self


@declares_parameters
class VotingClassifier(CombinedClasses, Classifier, VotingModel):
    """Mean of the probabilities of different classifiers, or their votes.

    Members of arboretum share one table, which is read once, and one cut into bins where their bins are the same.

    Attributes
    ----------
    classes_ : ndarray
        Labels, sorted.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> members = [("forest", arb.RandomForestClassifier()), ("boosted", arb.BoostedTreesClassifier(n_estimators=50))]
    >>> model = arb.VotingClassifier(estimators=members, weights=[1, 2]).fit(X, y)
    >>> model.predict([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])
    array(['same', 'other'], dtype='<U5')
    """

    voting: str = like(Voting, doc="Mean of the members' probabilities, or share of their votes.", before="weights")


@declares_parameters
class VotingRegressor(CombinedNumbers, Regressor, VotingModel):
    """Mean of the predictions of different regressors.

    Members of arboretum share one table, which is read once, and one cut into bins where their bins are the same.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> members = [("forest", arb.RandomForestRegressor()), ("line", LinearRegression())]
    >>> model = arb.VotingRegressor(estimators=members).fit(X, X[:, 0])
    >>> model.predict([[0.25], [0.75]]).round(2)
    array([0.25, 0.75])
    """

    def goal(self) -> Goal:
        """Return how numbers are read."""
        return Outputs()
