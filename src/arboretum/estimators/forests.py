"""RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier and ExtraTreesRegressor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.bagging import goals
from arboretum.ensembles.bagging.leaf_statistics import forest_quantiles
from arboretum.ensembles.bagging.model_notes import notes_of
from arboretum.ensembles.bagging.parameters import (
    AUTO,
    TREES_BY_PRIOR,
    ClassForest,
    ForestParameters,
    NumberForest,
    check_together,
)
from arboretum.ensembles.bagging.recipe import Bagging
from arboretum.ensembles.bagging.settings import Settings
from arboretum.estimators.averaged_trees import AveragedTrees, ClassTrees, NumberTrees, one_or_all
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.kept_bags import KeptBags
from arboretum.estimators.protocol import Classifier, Estimator, Regressor
from arboretum.estimators.standing_in import with_model
from arboretum.model.heads import ClassMeanHead, MeanHead
from arboretum.model.model import Model
from arboretum.parameters.declaring import declares_parameters, like
from arboretum.running.threads import n_threads

if TYPE_CHECKING:
    from arboretum.estimators.decision_trees import DecisionTreeClassifier, DecisionTreeRegressor

Bagged = TypeVar("Bagged", bound="BaggedTrees")
FloatArray: TypeAlias = NDArray[np.float64]


class BaggedTrees(ForestParameters, AveragedTrees, GrownTrees, Estimator):
    """Forests of trees that are grown independently, for any target.

    A forest has a group of parameters (``ensembles/bagging/parameters.py``) and a goal.
    """

    fits_on_cluster = True

    goal: Callable[[], goals.Goal]  # how the target is read, and what the mean of the trees means
    draws_thresholds: ClassVar[bool] = False  # as extra trees do

    def check_parameters(self) -> None:
        """Check the parameters by themselves and together, as ``fit`` does."""
        super().check_parameters()
        check_together(self)

    def recipe(self) -> Bagging:
        """Return what makes a Model of rows: bagging, with these parameters."""
        name = type(self).__name__
        return Bagging(self, self.goal(), name, lambda model: with_model(self, model), self.draws_thresholds)

    def training_bytes(self, n_rows: int, n_features: int) -> int:
        """Return the memory that growing takes besides codes and trees."""
        return Settings.of(self).training_bytes(n_rows, n_features)

    def fit(self: Bagged, X: Any, y: Any, sample_weight: Any = None) -> Bagged:
        """Fit the model; an error leaves it as it was.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _fit(self: Bagged, X: Any, y: Any, sample_weight: Any) -> Bagged:
        self.check_parameters()
        earlier = self.model_ if self.warm_start and "_model" in vars(self) else None
        self.model_ = self.recipe().fit(X, y, sample_weight, earlier)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = True
        return tags


class OutOfBagMeans:
    """What trees say of rows that they have not seen, and what was chosen by it.

    Attributes
    ----------
    oob_score_ : float
        Score of predictions by trees that never saw the row, if ``oob_score`` asked for it.
    chosen_params_ : dict
        What "auto" stands for; a fit with these parameters gives the same model.
    """

    model_: Model
    max_features: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: float

    @property
    def oob_score_(self) -> float:
        """Score of predictions by trees that never saw the row; NaN if there are none."""
        score = notes_of(self.model_).oob_score
        if score is None:
            raise self._no_out_of_bag()
        return score

    @property
    def chosen_params_(self) -> dict[str, Any]:
        """What "auto" stands for; a fit with these parameters gives the same model."""
        choice, chosen = notes_of(self.model_).choice, dict[str, Any]()
        if choice is not None and self.max_features == AUTO:
            chosen["max_features"] = choice.max_features
        if choice is not None and self.min_samples_leaf == AUTO:
            least = max(choice.least_weight / int(self.model_.forest.n_rows[0]), self.min_weight_fraction_leaf)
            chosen |= {"min_samples_leaf": 1, "min_weight_fraction_leaf": least}
        return chosen

    def _oob_mean(self) -> FloatArray:
        """Means of trees that never saw a row."""
        mean = notes_of(self.model_).oob_mean
        if mean is None:
            raise self._no_out_of_bag()
        return mean

    def _no_out_of_bag(self) -> AttributeError:
        return AttributeError(f"this {type(self).__name__} has no out-of-bag predictions: fit with oob_score=True")


class ForestOfClasses(ClassForest, KeptBags, OutOfBagMeans, ClassTrees):
    """What forests of classes have, besides the face of a classifier.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees; ``len(model)`` is their number.
    oob_score_, oob_decision_function_
        Score and probabilities by trees that never saw the row; NaN where there is none.
    """

    @property
    def estimators_(self) -> list[DecisionTreeClassifier]:
        """The trees as estimators of their own, made when asked for; they share the arrays of the forest."""
        from arboretum.estimators.decision_trees import DecisionTreeClassifier, trees_of

        return trees_of(self, DecisionTreeClassifier, ClassMeanHead(classes=self.model_.head_as(ClassMeanHead).classes))

    @property
    def oob_decision_function_(self) -> Any:
        """Probabilities of training rows by trees that never saw them; NaN where there is none."""
        return one_or_all(self.model_.head_as(ClassMeanHead).probabilities(self._oob_mean()))

    def goal(self) -> goals.Classes:
        """Return how labels are read, and what the mean of the trees means."""
        prior = self.n_estimators / TREES_BY_PRIOR if self.prior_trees == AUTO else float(self.prior_trees)
        return goals.Classes(self.criterion, self.class_weight, self.bootstrap, self.voting, prior)


class ForestOfNumbers(NumberForest, KeptBags, OutOfBagMeans, NumberTrees):
    """What forests of numbers have, besides the face of a regressor.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees; ``len(model)`` is their number.
    oob_score_, oob_prediction_
        Score and predictions by trees that never saw the row; NaN where there is none.
    """

    @property
    def estimators_(self) -> list[DecisionTreeRegressor]:
        """The trees as estimators of their own, made when asked for; they share the arrays of the forest."""
        from arboretum.estimators.decision_trees import DecisionTreeRegressor, trees_of

        return trees_of(self, DecisionTreeRegressor, MeanHead())

    @property
    def oob_prediction_(self) -> FloatArray:
        """Predictions of training rows by trees that never saw them; NaN where there is none."""
        return self.model_.head_as(MeanHead).of_mean(self._oob_mean())

    def goal(self) -> goals.Numbers:
        """Return how numbers are read."""
        return goals.Numbers(self.criterion)

    def predict_quantiles(self, X: Any, q: Any) -> FloatArray:
        """Predict quantiles of the target from what the leaves hold (Meinshausen 2006).

        Needs ``keep_bags=True`` and one output.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.
        q : float or sequence of float
            Levels between 0 and 1.

        Returns
        -------
        ndarray of float64, (n_rows,), or (n_rows, levels) for a sequence
        """
        bags = self._bags("predict_quantiles")
        if notes_of(self.model_).n_outputs > 1:
            raise ValueError("predict_quantiles needs one output: fit one model per output")
        return forest_quantiles(
            bags.leaves, bags.target[:, 0], self.apply(X), q, copies=bags.copies, threads=n_threads(self.n_jobs)
        )


@declares_parameters
class RandomForestClassifier(ForestOfClasses, BaggedTrees, Classifier):
    """Random forest for classes: deep trees on bootstrapped rows, a few columns per node, averaged.

    References
    ----------
    Breiman, L. (2001). Random forests. Machine Learning 45.

    Examples
    --------
    >>> import arboretum as arb
    >>> rows = [["red", 1.0], ["blue", 2.0], ["red", 3.0], ["blue", None]] * 25
    >>> model = arb.RandomForestClassifier(n_estimators=10).fit(rows, ["yes", "no", "yes", "no"] * 25)
    >>> model.predict([["red", 2.5], ["blue", 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """


@declares_parameters
class RandomForestRegressor(ForestOfNumbers, BaggedTrees, Regressor):
    """Random forest for numbers: deep trees on bootstrapped rows, some of the columns per node, averaged.

    References
    ----------
    Breiman, L. (2001). Random forests. Machine Learning 45.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = arb.RandomForestRegressor(n_estimators=20).fit(X, X[:, 0] ** 2)
    >>> model.predict([[0.5]]).round(2)
    array([0.25])
    """


@declares_parameters
class ExtraTreesClassifier(ForestOfClasses, BaggedTrees, Classifier):
    """Extremely randomized trees for classes: thresholds are drawn, not searched, on all rows.

    References
    ----------
    Geurts, P., Ernst, D. & Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.ExtraTreesClassifier(n_estimators=10).fit([[0.0], [1.0], [8.0], [9.0]], list("aabb"))
    >>> model.predict([[0.5], [8.5]])
    array(['a', 'b'], dtype='<U1')
    """

    bootstrap: bool | str = like(ClassForest, default=False)
    draws_thresholds: ClassVar[bool] = True


@declares_parameters
class ExtraTreesRegressor(ForestOfNumbers, BaggedTrees, Regressor):
    """Extremely randomized trees for numbers: thresholds are drawn, not searched, on all rows.

    References
    ----------
    Geurts, P., Ernst, D. & Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.ExtraTreesRegressor(n_estimators=50).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> model.predict([[2.5]])
    array([4.])
    """

    bootstrap: bool = like(NumberForest, default=False)
    draws_thresholds: ClassVar[bool] = True
