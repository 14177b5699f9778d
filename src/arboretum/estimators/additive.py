"""AdditiveBoostingRegressor and AdditiveBoostingClassifier: additive models of any base learners, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.additive.learners import named_learners
from arboretum.ensembles.additive.recipe import Additive, AdditiveParameters, Stages, Sum, first_stages, summed
from arboretum.ensembles.boosting import goals
from arboretum.ensembles.boosting.history import History
from arboretum.estimators.decision_trees import DecisionTreeRegressor
from arboretum.estimators.models_of_models import ModelOfModels
from arboretum.estimators.named_members import NamedMembers
from arboretum.estimators.protocol import Classifier, Estimator, Regressor
from arboretum.estimators.standing_in import with_members
from arboretum.losses import Loss
from arboretum.model.heads import ClassLossHead
from arboretum.model.members import Base
from arboretum.parameters.checking import check_rounds
from arboretum.parameters.declaring import declares_parameters, like
from arboretum.parameters.shared import LOSSES_OF_NUMBERS, OF_CLASSES, OF_NUMBERS, EarlyStopping

AModel = TypeVar("AModel", bound="AdditiveModel")
FloatArray: TypeAlias = NDArray[np.float64]


class AdditiveModel(AdditiveParameters, NamedMembers, ModelOfModels, Estimator):
    """A constant plus fitted learners times coefficients, for any target.

    Attributes
    ----------
    estimators_ : list
        The fitted learner of each stage; of more than two classes, a list with one for each class, and of several
        outputs one for each output, if a learner takes only one.
    coefficients_ : ndarray, (n_stages,)
        What each is multiplied by: learning rate times the step of the line search, or the result of the last fit of
        all of them.
    chosen_ : list
        Name of each in ``estimators``, or its position if it has none.
    init_ : ndarray
        Constant of each output, to which the learners are added.
    history_ : History
        Losses and scores after each stage, and why the fit ended.
    loss_ : Loss
        What was minimised.
    n_iter_ : int
        Stages of the model.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    joint_kind = Sum

    @property
    def _joint(self) -> Sum:
        return summed(self.learned())

    @property
    def estimators_(self) -> list[Any]:
        """The fitted learner of each stage, or a list with one for each class or output."""
        return [stage[0] if len(stage) == 1 else stage for stage in self._joint.stages(self.learned())]

    @property
    def coefficients_(self) -> FloatArray:
        """What the learners of each stage are multiplied by."""
        return self._joint.coefficients

    @property
    def chosen_(self) -> list[str | int]:
        """Name of each in ``estimators``, or its position."""
        return self._joint.chosen

    @property
    def init_(self) -> FloatArray:
        """Constant of each output, to which the learners are added."""
        return self._joint.init

    @property
    def history_(self) -> History:
        """Losses and scores after each stage, and why the fit ended."""
        return self._joint.history

    @property
    def loss_(self) -> Loss:
        """What was minimised."""
        return self._joint.head.loss

    @property
    def n_iter_(self) -> int:
        """Stages of the model."""
        return len(self.chosen_)

    # ---- learners ------------------------------------------------------------------------------------------------

    def _learners(self) -> list[Base]:
        """Learners to choose from; names that parameters have are taken."""
        return named_learners(self.estimators, DecisionTreeRegressor(max_leaf_nodes=8), self._get_param_names())

    def _take_bases(self, bases: list[Base]) -> list[Base]:
        if self.estimators is not None:
            self.estimators = [base if isinstance(name, int) else (name, base) for name, base in bases]
        return self._learners()

    # ---- fitting -------------------------------------------------------------------------------------------------

    def goal(self) -> goals.Goal:
        """Return how the target is read, and which loss is minimised."""
        return goals.Numbers(self.loss)

    def fit(self: AModel, X: Any, y: Any, sample_weight: Any = None) -> AModel:
        """Fit the model; an error leaves it as it was.

        Returns
        -------
        self
        """
        self.check_parameters()
        name = type(self).__name__
        recipe = Additive(self, self.goal(), name, self._learners(), lambda found: with_members(self, found))
        self._members = recipe.fit(X, y, sample_weight)
        return self

    def first_rounds(self: AModel, n_rounds: int) -> AModel:
        """Return the model of the first stages alone: it predicts and saves as any model does.

        Parameters
        ----------
        n_rounds : int
            How many stages to keep, from 1 to ``n_iter_``.

        Returns
        -------
        estimator
            A fitted model of the same class and parameters.
        """
        check_rounds(n_rounds, self.n_iter_)
        return with_members(self, first_stages(self.learned(), int(n_rounds)))

    # ---- prediction ----------------------------------------------------------------------------------------------

    def predict_raw(self, X: Any) -> FloatArray:
        """Sum the stages, before the link.

        Returns
        -------
        ndarray of float64, (n_rows, n_outputs)
        """
        return self._joint.raw(self.learned(), X)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield what ``predict`` returns, after each stage."""
        head = self._joint.head
        for raw in self._staged_raw(X):
            yield head.answers(raw)

    def _staged_raw(self, X: Any) -> Iterator[FloatArray]:
        """Yield the raw predictions, (rows, outputs), after each stage."""
        return self._joint.staged(self.learned(), X)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        of_learners = [get_tags(base).input_tags for _, base in self._learners()]
        for name in ("sparse", "allow_nan", "categorical", "string"):
            setattr(tags.input_tags, name, all(getattr(each, name) for each in of_learners))
        tags.input_tags.positive_only = any(each.positive_only for each in of_learners)
        return tags


@declares_parameters
class AdditiveBoostingRegressor(Regressor, AdditiveModel):
    """Additive model of any base learners, for numbers of one output or several.

    Each stage fits every learner of the list to the negative gradient of the loss, finds by line search how far to go
    its way, and adds the one that lowers the training loss most (Friedman 2001). Earlier coefficients stay, or all are
    fitted anew: orthogonal matching pursuit, fully corrective boosting. Learners that take several outputs are fitted
    to all of them at once, others to each; a stage has one coefficient.

    Learners of arboretum read categories and missing values as they are; all learners receive the table that was given.
    Those whose ``fit`` takes ``sample_weight``, and pipelines that end with such, get weights; the others get rows as
    often as whole weights say, and once if weights are not whole. The line search and the choice weigh all rows.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = 3 * X[:, 0] + (X[:, 0] > 0.5)
    >>> learners = [("line", LinearRegression()), ("step", arb.DecisionTreeRegressor(max_leaf_nodes=2))]
    >>> model = arb.AdditiveBoostingRegressor(estimators=learners, learning_rate=0.5).fit(X, y)
    >>> model.predict([[0.25], [0.75]]).round(2)
    array([0.75, 3.25])
    >>> model.chosen_[:2]
    ['line', 'step']
    """

    loss: str | Loss = like(Stages, default="squared_error", filled={"losses": LOSSES_OF_NUMBERS})
    scoring: Any = like(EarlyStopping, filled={"metrics": OF_NUMBERS})
    validation_fraction: float = like(EarlyStopping, filled={"stratified": ""})

    def predict(self, X: Any) -> FloatArray:
        """Predict the target.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_outputs)
        """
        return self._joint.head.answers(self.predict_raw(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@declares_parameters
class AdditiveBoostingClassifier(Classifier, AdditiveModel):
    """Additive model of any base learners, for classes.

    Learners are regressors: they are fitted to residuals of probabilities. Of more than two classes, each stage has one
    for each class, and one coefficient for all of them.

    Each stage fits every learner of the list to the negative gradient of the loss, finds by line search how far to go
    its way, and adds the one that lowers the training loss most (Friedman 2001). Earlier coefficients stay, or all are
    fitted anew: fully corrective boosting.

    Learners of arboretum read categories and missing values as they are; all learners receive the table that was given.
    Those whose ``fit`` takes ``sample_weight``, and pipelines that end with such, get weights; the others get rows as
    often as whole weights say, and once if weights are not whole. The line search and the choice weigh all rows.

    Attributes
    ----------
    classes_ : ndarray
        Labels, sorted.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> model = arb.AdditiveBoostingClassifier(n_estimators=20).fit(X, np.where(X[:, 0] > 0.4, "yes", "no"))
    >>> model.predict([[0.1], [0.9]])
    array(['no', 'yes'], dtype='<U3')
    """

    loss: str | Loss = like(Stages, default="log_loss", filled={"losses": '"log_loss"'})
    scoring: Any = like(EarlyStopping, filled={"metrics": OF_CLASSES})
    validation_fraction: float = like(EarlyStopping, filled={"stratified": ", the same share of each class"})

    def goal(self) -> goals.Classes:
        """Return how labels are read, and which loss is minimised."""
        return goals.Classes(self.loss)

    @property
    def _head(self) -> ClassLossHead:
        head = self._joint.head
        assert isinstance(head, ClassLossHead)
        return head

    @property
    def classes_(self) -> Any:
        """Labels, sorted."""
        return self._head.classes

    def decision_function(self, X: Any) -> FloatArray:
        """Raw scores: log-odds of the second class, or one score per class.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_classes)
        """
        return self._head.scores(self.predict_raw(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, in the order of ``classes_``.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes)
        """
        return np.asarray(self._head.probabilities(self.predict_raw(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Returns
        -------
        ndarray, (n_rows,)
            Labels as they were given at fit.
        """
        return self._head.answers(self.predict_raw(X))

    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """Yield the raw scores after each stage."""
        for raw in self._staged_raw(X):
            yield self._head.scores(raw)

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """Yield the probabilities after each stage."""
        for raw in self._staged_raw(X):
            yield np.asarray(self._head.probabilities(raw))
