"""EnsembleSelection: the best mean of a library of models, chosen greedily."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.combining.joint import FINAL
from arboretum.ensembles.combining.parameters import (
    CombiningRun,
    MemberList,
    OutOfFold,
    PrefitMembers,
)
from arboretum.ensembles.combining.recipe import SelectionRecipe
from arboretum.ensembles.members.goals import Classes, Goal, Outputs
from arboretum.ensembles.members.named import kind_of, named_members
from arboretum.estimators.combined import CombinedClasses, CombinedModel
from arboretum.estimators.models_of_models import only_if
from arboretum.estimators.of_members_task import OfMembersTask, classifies
from arboretum.estimators.protocol import Classifier, Estimator
from arboretum.model.members import Base
from arboretum.parameters.declaring import (
    COUNT,
    Anything,
    Number,
    declares_parameters,
    like,
    parameter,
    parameter_group,
)

FloatArray: TypeAlias = NDArray[np.float64]
Selection = TypeVar("Selection", bound="EnsembleSelection")


@parameter_group("Selection")
class GreedySteps:
    """How members are selected."""

    scoring: Any = parameter(
        "loss",
        Anything("str, callable or None"),
        'What the selection maximises: "loss", the log loss or the squared error; the name of a metric of arboretum or '
        "of a scorer of scikit-learn; a function of (model, X, y) whose greater values are better; or None for "
        "``score``.",
    )
    n_steps: int = parameter(50, COUNT, "Members that are added, each perhaps several times.")
    n_best: int = parameter(1, COUNT, "Best members that the selection starts from.")
    n_bags: int = parameter(
        20, COUNT, "Selections from random shares of the library, whose weights are averaged; 1 selects from all of it."
    )
    bag_share: float = parameter(
        0.5,
        Number(0.0, 1.0, open_low=True),
        "Share of the library in each bag; at least 10 members, or all of a small library.",
    )


@parameter_group()
class SelectionParameters(MemberList, PrefitMembers, GreedySteps, OutOfFold, CombiningRun):
    """Parameters of ensemble selection."""

    estimators: Any = like(
        MemberList,
        doc="The library: models of arboretum, of scikit-learn or of any library that follows its protocol, all "
        "classifiers or all regressors.",
    )
    prefit: bool = like(
        PrefitMembers,
        default=True,
        doc="The library is fitted already, to other rows than those of ``fit``, on which members are selected. False "
        "fits the members: they are selected by their answers out of fold.",
    )
    cv: Any = like(
        OutOfFold,
        filled={"strata": ", the same share of each class", "fewer": ", or as many as the smallest class has rows"},
    )


@declares_parameters
class EnsembleSelection(SelectionParameters, OfMembersTask, CombinedModel, Estimator):  # type: ignore[misc]
    """The mean of the members of a library that predict best together (Caruana et al. 2004).

    Starting from the best member, each step adds the one, perhaps again, with which the mean scores best. A classifier
    if the library holds classifiers: then the mean is that of probabilities. Members that were fitted stay as they are.

    Attributes
    ----------
    classes_ : ndarray
        Labels, sorted, of classifiers.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> y = X[:, 0] * X[:, 1] + rng.normal(size=600) / 10
    >>> library = [(f"depth {d}", arb.RandomForestRegressor(max_depth=d).fit(X[:400], y[:400])) for d in (2, 6, 12)]
    >>> model = arb.EnsembleSelection(estimators=library, scoring="rmse").fit(X[400:], y[400:])
    >>> model.weights_.round(1)
    array([0., 0., 1.])
    """

    def goal(self) -> Goal:
        """Return how the target is read: labels if the members are classifiers, else numbers."""
        first = next((member for member in self.named_members().values() if not isinstance(member, str)), None)
        return Classes() if first is not None and kind_of(first) == "classifier" else Outputs()

    def members(self) -> list[Base]:
        """Return the library, checked."""
        if self.estimators is None:
            raise ValueError("estimators=None: give the library, a list of (name, estimator)")
        taken, fitted = [*self._get_param_names(), FINAL], self.prefit is True
        return named_members(self.estimators, taken, kind=self.goal().kind, fitted=fitted)

    def fit(self: Selection, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Selection:
        """Select members by rows that they have not seen; an error leaves the model as it was.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to select on; with ``prefit=False`` training rows.
        y : array-like
            Target, one value per row.
        sample_weight : array-like, optional
            Weight of each row.
        groups : array-like, optional
            With ``prefit=False``: group of each row, never on both sides of a split.

        Returns
        -------
        self
        """
        self.check_parameters()
        self._members = self.recipe(SelectionRecipe).fit(X, y, sample_weight, groups)
        return self

    # What the recipe of stacking reads; a selection has neither.
    final_estimator = None
    passthrough = False
    stack_method = "auto"

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class, or the mean of the members.

        Returns
        -------
        ndarray, (n_rows,) or (n_rows, n_outputs)
        """
        return self._joint.goal.answers(self._outcome(X))

    predict_proba = only_if(classifies)(CombinedClasses.predict_proba)
    predict_log_proba = only_if(classifies)(Classifier.predict_log_proba)
    decision_function = only_if(classifies)(CombinedClasses.decision_function)
