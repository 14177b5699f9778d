"""VotingClassifier and VotingRegressor: the weighted mean of different models, or their votes."""

from __future__ import annotations

from typing import Any, TypeVar

from arboretum.ensembles.combining.parameters import CombiningRun, MemberList, PrefitMembers
from arboretum.ensembles.combining.recipe import VotingRecipe
from arboretum.ensembles.members.goals import Goal, Outputs
from arboretum.estimators.combined import CombinedClasses, CombinedModel, CombinedNumbers
from arboretum.estimators.protocol import Classifier, Estimator, Regressor
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

    prefit: bool = like(PrefitMembers, doc="Members are fitted already and stay as they are; ``fit`` only checks them.")


class VotingModel(VotingParameters, CombinedModel, Estimator):
    """The weighted mean of members, for any target."""

    def fit(self: Voter, X: Any, y: Any, sample_weight: Any = None) -> Voter:
        """Fit the members; an error leaves the model as it was.

        Returns
        -------
        self
        """
        self.check_parameters()
        self._members = self.recipe(VotingRecipe).fit(X, y, sample_weight)
        return self


@declares_parameters
class VotingClassifier(CombinedClasses, Classifier, VotingModel):
    """Mean of the probabilities of different classifiers, or their votes.

    Members of arboretum share one table, which is read once, and one cut into bins where their bins are the same.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> pair = [("tree", arb.DecisionTreeClassifier()), ("forest", arb.RandomForestClassifier())]
    >>> arb.VotingClassifier(estimators=pair, weights=[1, 2]).fit(X, X[:, 0] > 0.3).predict([[0.1], [0.9]])
    array([False,  True])
    """

    voting: str = like(Voting, doc="Mean of the members' probabilities, or share of their votes.", before="weights")


@declares_parameters
class VotingRegressor(CombinedNumbers, Regressor, VotingModel):
    """Mean of the predictions of different regressors.

    Members share tables as those of ``VotingClassifier`` do.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> from sklearn.linear_model import LinearRegression
    >>> X, pair = np.linspace(0, 1, 200)[:, None], [("tree", arb.DecisionTreeRegressor()), ("line", LinearRegression())]
    >>> arb.VotingRegressor(estimators=pair).fit(X, X[:, 0]).predict([[0.25], [0.75]]).round(2)
    array([0.25, 0.75])
    """

    def goal(self) -> Goal:
        """Return how numbers are read."""
        return Outputs()
