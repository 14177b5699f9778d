"""AdaBoostClassifier (Freund and Schapire 1997; Zhu et al. 2009) and AdaBoostRegressor (Drucker 1997)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.ensembles.adaboost.recipe import (
    DEFAULT_DEPTH,
    AdaBoost,
    AdaBoostParameters,
    Classes,
    Goal,
    Learners,
    Numbers,
    Voted,
    VoteNotes,
    base_of,
    errors_of,
    first_learners,
    head_of,
    medians,
    scores,
    staged_medians,
    staged_scores,
    tree_recipe,
)
from arboretum.ensembles.adaboost.rounds import LOSSES
from arboretum.ensembles.members.estimators import unfitted
from arboretum.estimators.classes import defaults
from arboretum.estimators.decision_trees import (
    DecisionTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    fitted_tree,
)
from arboretum.estimators.files import call_from_json, call_to_json
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.models_of_models import ModelOfModels, OfOneEstimator
from arboretum.estimators.protocol import Classifier, Estimator, Regressor
from arboretum.estimators.standing_in import with_members, with_model
from arboretum.metrics.own_scores import accuracy, r_squared
from arboretum.model.arrays import Arrays
from arboretum.model.forest import Forest
from arboretum.model.heads import ClassMeanHead, MeanHead, MedianHead, VoteHead
from arboretum.model.members import Members, take_up
from arboretum.model.model import Model
from arboretum.model.model_file import as_damage
from arboretum.parameters.checking import check_rounds
from arboretum.parameters.declaring import FLAG, Choice, declares_parameters, like, parameter
from arboretum.parameters.shared import Missing, Seed, Unknown

Ada = TypeVar("Ada", bound="AdaBoostModel")
FloatArray: TypeAlias = NDArray[np.float64]

OF_LEARNERS = "Seed of the learners that have a ``random_state``, and of rows that are drawn by weight."
OF_THE_DEFAULT_LEARNER = ("max_bins", "categorical_features", "unknown", "missing")


class AdaBoostModel(AdaBoostParameters, OfOneEstimator, ModelOfModels, GrownTrees, Estimator):
    """Learners fitted to rows that weigh more, the more often they were predicted wrongly, for any target.

    Attributes
    ----------
    estimators_ : list
        The learners; trees of ours are made from ``forest_`` when asked for.
    estimator_ : estimator
        What was boosted.
    feature_importances_ : ndarray
        Gain of each feature, a mean over the learners by the size of their weights.
    schema_ : Schema
        Names, kinds and categories of the columns, if there is a ``forest_``.
    """

    joint_kind = Voted
    notes_kind = VoteNotes
    fits_on_cluster = True
    reads_tables = False  # learners of other libraries read the user's own table

    goal: Callable[[], Goal]  # how the target is read, and how learners are boosted
    staged_predict: Callable[[Any], Iterator[NDArray[Any]]]

    def check_parameters(self) -> None:
        """Check the parameters by themselves and together, as ``fit`` does."""
        super().check_parameters()
        if self.estimator is None:
            return
        usual = defaults(type(self))
        for name in OF_THE_DEFAULT_LEARNER:
            value, default = getattr(self, name), usual[name]
            if type(value) is not type(default) or value != default:
                raise ValueError(
                    f"{name}={value!r} is a parameter of the default learner, but an estimator is given: "
                    f"leave {name}={default!r} and, if the estimator has such a parameter, set it there"
                )

    def fit(self: Ada, X: Any, y: Any, sample_weight: Any = None) -> Ada:
        """Fit the model; an error leaves it as it was.

        Returns
        -------
        self
        """
        self.check_parameters()
        take_up(self, AdaBoost(self, self.goal(), type(self).__name__, self.base()).fit(X, y, sample_weight))
        return self

    def cluster_obstacle(self) -> str:
        """Return why the rows of a fit must lie on one machine: members of other kinds read tables of their own."""
        if tree_recipe(base := self.base()) is None:
            return f"estimator={shown(base)} needs the table of all rows; boost decision trees, or fit X.compute()"
        return super().cluster_obstacle()

    # ---- the learners --------------------------------------------------------------------------------------------

    def _no_trees(self) -> Exception:
        if "_members" not in vars(self):
            return super()._no_trees()
        return AttributeError(
            f"the learners are of {type(self.estimator_).__name__}: only trees of arboretum can be read; "
            "look at estimators_"
        )

    def _policy(self) -> tuple[Unknown, Missing]:
        """Return what learners do about unknown categories and new missing values: a parameter of theirs."""
        if self.estimator is None or "_members" in vars(self):
            return self.unknown, self.missing
        base = base_of(self._model) if "_model" in vars(self) else self.estimator  # as a file names it
        return base.unknown, base.missing

    def learned(self) -> Model | Members:
        """Return the trees, which treat unknown categories and missing values as the parameters say, or Members."""
        if "_members" in vars(self):
            return self._members
        model, head = self.model_, head_of(self.model_)
        if head.unknown in (None, model.unknown):
            return model
        return replace(model, head=replace(head, unknown=model.unknown))

    @property
    def estimator_(self) -> Any:
        """What was boosted."""
        return base_of(self.learned())

    @property
    def estimator_weights_(self) -> FloatArray:
        """Weight of each learner."""
        return head_of(self.learned()).weights

    @property
    def estimator_errors_(self) -> FloatArray:
        """Error of each learner when it was fitted."""
        return errors_of(self.learned())

    @property
    def estimators_(self) -> list[Any]:
        """The learners; those that are trees of ours are made from ``forest_``, and their leaves say one class."""
        learned = self.learned()
        if isinstance(learned, Members):
            return learned.models
        forest, tree = learned.forest, unfitted(self.estimator_)
        pairs = enumerate(self.estimator_weights_.tolist())
        return [self._as_tree(tree, learned, forest[place : place + 1], weight) for place, weight in pairs]

    def _as_tree(self, tree: DecisionTree, model: Model, forest: Forest, weight: float) -> DecisionTree:
        return fitted_tree(tree, forest, model.schema, MeanHead())

    @property
    def feature_importances_(self) -> FloatArray:
        """Gain of each feature, normalised per learner, a mean by the size of the learners' weights."""
        from arboretum.explaining import Uses, normalised

        learned = self.learned()
        if isinstance(learned, Members):
            found = np.array([member.feature_importances_ for member in learned.models])
        else:
            found = normalised(Uses.of(self).gains_by_tree(self.schema_.n_features))
        return normalised((found * np.abs(self.estimator_weights_)[:, None]).sum(axis=0))

    # ---- prediction ----------------------------------------------------------------------------------------------

    def first_rounds(self: Ada, n_rounds: int) -> Ada:
        """Return the model of the first learners alone: it predicts, explains and saves as any model does.

        Parameters
        ----------
        n_rounds : int
            How many learners to keep, from 1 to as many as there are.

        Returns
        -------
        estimator
            A fitted model of the same class and parameters.
        """
        check_rounds(n_rounds, len(self.estimator_weights_))
        found = first_learners(self.learned(), int(n_rounds))
        return with_members(self, found) if isinstance(found, Members) else with_model(self, found)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the score after each round: accuracy, or R²."""
        measure = accuracy if self.goal().classifies else r_squared
        for predicted in self.staged_predict(X):
            yield measure(y, predicted, sample_weight)

    # ---- files ---------------------------------------------------------------------------------------------------

    def fingerprint(self) -> str:
        """Hash of everything that determines predictions; learners must be arboretum's."""
        learned = self.learned()
        if isinstance(learned, Members):
            return super().fingerprint()
        # What an estimator that was given does about unknown categories is a fact of the head.
        return replace(learned, unknown=self.unknown).fingerprint()

    def to_file(self, *, compact: bool = True) -> tuple[dict[str, Any], Arrays]:
        """Return the content of the model file: a header of JSON and named arrays (docs/format.md).

        Parameters
        ----------
        compact : bool, default=True
            Whether files of members, which are arrays of this one, are compact.
        """
        header, arrays = super().to_file(compact=compact)
        of_given_trees = self.estimator is not None and "_members" not in vars(self)
        given = {"estimator": call_to_json(self.estimator_)} if of_given_trees else {}
        return {**header, **given}, arrays

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take up the learners that a file holds; ``arboretum.load`` calls it.

        Parameters
        ----------
        header, arrays
            Content of the file.
        """
        if "n_members" in header:
            super().restore(header, arrays)
            return
        with as_damage():
            self._take_bases([(name, call_from_json(call)) for name, call in Voted.bases_from_json(header)])
        GrownTrees.restore(self, header, arrays)

    def _read_model(self, header: dict[str, Any], arrays: Arrays) -> Model:
        model, base = super()._read_model(header, arrays), self.base()
        notes = VoteNotes(errors_of(model), base)
        return replace(model, unknown=base.unknown, missing=base.missing, notes=notes)


@declares_parameters
class AdaBoostClassifier(Classifier, AdaBoostModel):
    """AdaBoost for classes (Freund and Schapire 1997; SAMME: Zhu, Zou, Rosset and Hastie 2009).

    The default learner is a stump, a tree of two leaves, by Gini. Its table is read and cut into bins once for all
    rounds; missing values and categories are split as they are. Trees of ``DecisionTree*`` (CART) that are given share
    one table, too. Weights of the rows always have the sum of ``sample_weight``, without it their number. An estimator
    whose ``fit`` takes no weights is fitted to rows drawn by weight. ``max_bins``, ``categorical_features``,
    ``unknown`` and ``missing`` are those of the default learner; with an ``estimator`` they are set there.

    Attributes
    ----------
    estimator_weights_ : ndarray, (n_learners,)
        ω = learning_rate · (log((1 − ε) / ε) + log(K − 1)), ε the error, K the number of classes: that of SAMME and of
        scikit-learn, for two classes twice that of Freund and Schapire. Negative if a learner is worse than chance.
    estimator_errors_ : ndarray, (n_learners,)
        Share of the weight that each got wrong when it was fitted.
    classes_ : ndarray
        Labels, sorted.
    forest_ : Forest
        The trees, if the learners are CART trees of ours: its raw predictions are Σ ω · votes, a vote 1 for a class and
        −1 / (K − 1) for the others.

    Examples
    --------
    >>> import arboretum as arb
    >>> rows = [["red", 1.0], ["blue", 2.0], ["red", None], ["green", 4.0]] * 25
    >>> model = arb.AdaBoostClassifier(n_estimators=10).fit(rows, ["yes", "no", "yes", "yes"] * 25)
    >>> model.predict([["red", 2.5], ["blue", 2.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    n_estimators: int = like(
        Learners, filled={"ends": "there are fewer if one gets every row right, or if one is no better than chance."}
    )
    bootstrap: bool = parameter(
        False,
        FLAG,
        "Fit each learner to rows drawn by weight with replacement (boosting by resampling), as one that takes no "
        "weights always is; False: to all rows, weighted.",
        before="max_bins",
    )
    random_state: Any = like(Seed, doc=OF_LEARNERS)

    judged_by = "errors"  # what its rounds reduce, and reports judge it by
    head_kind: ClassVar = VoteHead

    def goal(self) -> Classes:
        """Return how labels are read, and how learners are boosted."""
        return Classes(int(self.n_estimators), float(self.learning_rate), bool(self.bootstrap))

    def base(self) -> Any:
        """Return what is boosted: a stump, if nothing is said."""
        if self.estimator is not None:
            return self.estimator
        given = {name: getattr(self, name) for name in (*OF_THE_DEFAULT_LEARNER, "n_jobs")}
        return DecisionTreeClassifier(max_leaf_nodes=2, **given)

    @property
    def _head(self) -> VoteHead:
        head = head_of(self.learned())
        assert isinstance(head, VoteHead)
        return head

    @property
    def classes_(self) -> Any:
        """Labels, sorted."""
        return self._head.classes

    def _as_tree(self, tree: DecisionTree, model: Model, forest: Forest, weight: float) -> DecisionTree:
        votes = np.sign(weight) * forest.value
        shares = votes > 0 if forest.width == 1 else np.eye(forest.width)[votes.argmax(axis=1)]
        said = replace(forest, value=shares.astype(np.float64))
        return fitted_tree(tree, said, model.schema, ClassMeanHead(classes=[self.classes_]))

    def decision_function(self, X: Any) -> FloatArray:
        """Mean of the votes, weighted by the learners' weights, as scikit-learn scales it.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_classes)
            For two classes from −2, the first, to 2, the second. For more, 1 is a class that all learners name and
            −1 / (K − 1) one that none does.
        """
        return self._head.decision(scores(self.learned(), X, self.n_jobs))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, in the order of ``classes_``: the softmax of decision / (K − 1).

        As in scikit-learn; the mean of the votes is not a log-odds, so they are far from 0 and 1.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes)
        """
        return self._head.probabilities(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of the largest score.

        Returns
        -------
        ndarray, (n_rows,)
            Labels as they were given at fit.
        """
        return self._head.answers(scores(self.learned(), X, self.n_jobs))

    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """Yield the decision function after each round."""
        for found, total in staged_scores(self.learned(), X, self.n_jobs):
            yield self._head.decision(found, total)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predicted classes after each round."""
        for found, _ in staged_scores(self.learned(), X, self.n_jobs):
            yield self._head.answers(found)

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """Yield the probabilities after each round."""
        for decision in self.staged_decision_function(X):
            yield self._head.probabilities(decision)


@declares_parameters
class AdaBoostRegressor(Regressor, AdaBoostModel):
    """AdaBoost for numbers (AdaBoost.R2: Drucker 1997).

    The default learner is a tree of depth 3. Its table is read and cut into bins once for all rounds; missing
    values and categories are split as they are. Trees of ``DecisionTree*`` (CART) that are given share one table, too.
    Weights of the rows always have the sum of ``sample_weight``, without it their number. An estimator whose ``fit``
    takes no weights is fitted to rows drawn by weight. ``max_bins``, ``categorical_features``, ``unknown`` and
    ``missing`` are those of the default learner; with an ``estimator`` they are set there.

    Attributes
    ----------
    estimator_weights_ : ndarray, (n_learners,)
        ω = learning_rate · log((1 − ε) / ε), ε the error.
    estimator_errors_ : ndarray, (n_learners,)
        Mean loss of each, weighted as it was fitted.
    forest_ : Forest
        The trees, if the learners are CART trees of ours: the prediction is the median of the trees by weight, not
        their sum.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = arb.AdaBoostRegressor(loss="square").fit(X, X[:, 0] ** 2)
    >>> model.predict([[0.5]]).round(1)
    array([0.2])
    """

    n_estimators: int = like(
        Learners, filled={"ends": "there are fewer if one is exact, or if the mean loss of one is ½ or more."}
    )
    loss: str = parameter(
        "linear",
        Choice(*LOSSES),
        "How the error of a row, as a share of the largest, is measured: as it is, squared, or as 1 − exp(−error).",
        before="max_bins",
    )
    bootstrap: bool = parameter(
        True,
        FLAG,
        "Fit each learner to rows drawn by weight with replacement, as in the paper; False: to all rows, weighted.",
        before="max_bins",
    )
    random_state: Any = like(Seed, doc=OF_LEARNERS)

    judged_by = "absolute_error"  # what its rounds reduce, and reports judge it by
    head_kind: ClassVar = MedianHead

    def goal(self) -> Numbers:
        """Return how numbers are read, and how learners are boosted."""
        return Numbers(int(self.n_estimators), float(self.learning_rate), bool(self.bootstrap), self.loss)

    def base(self) -> Any:
        """Return what is boosted: a tree of depth 3, if nothing is said."""
        if self.estimator is not None:
            return self.estimator
        given = {name: getattr(self, name) for name in (*OF_THE_DEFAULT_LEARNER, "n_jobs")}
        return DecisionTreeRegressor(max_depth=DEFAULT_DEPTH, **given)

    def predict(self, X: Any) -> FloatArray:
        """Predict the target: the median of the learners, by weight.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        return medians(self.learned(), X, self.n_jobs)

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield the prediction after each round."""
        yield from staged_medians(self.learned(), X, self.n_jobs)
