"""AdaBoostClassifier (Freund and Schapire 1997; Zhu et al. 2009) and AdaBoostRegressor (Drucker 1997)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.data.binning import BinnedData, code_edges
from arboretum.data.labels import classes_from_json, classes_to_json
from arboretum.data.table import Table
from arboretum.ensembles.adaboost import (
    LOSSES,
    BinaryTrees,
    CodedRounds,
    NumberTrees,
    Votes,
    boost_classes,
    boost_numbers,
    class_code,
    resampled,
    shallow_tree,
    voting_forest,
    weighted_median,
)
from arboretum.estimators.adaboost_model import AdaBoostModel, Learners
from arboretum.estimators.base import FloatArray
from arboretum.estimators.decision_trees import DecisionTree, DecisionTreeClassifier, DecisionTreeRegressor
from arboretum.estimators.protocol import Classifier, Regressor, not_fitted
from arboretum.growing.grower import category_ranks
from arboretum.model.forest import Forest
from arboretum.model.heads import ClassMeanHead, OtherHead, VoteHead
from arboretum.parameters.declaring import FLAG, Choice, declares_parameters, like, parameter
from arboretum.parameters.shared import Seed

OF_LEARNERS = "Seed of the learners that have a ``random_state``, and of the draws of those that take no weights."
STUMP_DEPTH = 1
DEFAULT_DEPTH = 3  # of a tree of numbers


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
    random_state: Any = like(Seed, doc=OF_LEARNERS)
    _classifies = True

    judged_by = "errors"  # what its rounds reduce, and reports judge it by

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _default_learner(self) -> DecisionTree:
        return DecisionTreeClassifier(
            max_leaf_nodes=2,
            max_bins=self.max_bins,
            categorical_features=self.categorical_features,
            unknown=self.unknown,
            missing=self.missing,
            n_jobs=self.n_jobs,
        )

    def _on_gradients(self, facts: NDArray[Any]) -> bool:
        return self.estimator is None and len(facts) == 2

    def _read_column(
        self, column: NDArray[Any], weight: FloatArray | None
    ) -> tuple[NDArray[Any], FloatArray, FloatArray | None]:
        classes, codes = targets.find_classes(column)
        targets.require_two_weighted(weight, classes, codes)
        return classes, codes, weight

    def _take_facts(self, facts: NDArray[Any]) -> None:
        self.classes_ = facts

    def _boost_gradients(
        self, table: Table, data: BinnedData, values: FloatArray, weight: FloatArray, seed: int, threads: int
    ) -> tuple[Votes, Forest]:
        tree = shallow_tree(STUMP_DEPTH, category_ranks(table.schema, data.bin_map.order))
        rounds = BinaryTrees(data, values, weight, tree, threads)
        votes = self._boost_rounds(rounds, 2)
        return votes, voting_forest(rounds.forest(len(votes.weights)), np.array(votes.weights), 2)

    def _boost(self, learners: Any, values: FloatArray, weight: FloatArray, seed: int, facts: NDArray[Any]) -> Votes:
        learners = learners if learners.takes_weights else resampled(learners, weight, seed)
        return self._boost_rounds(CodedRounds(learners, values, weight), len(facts))

    def _boost_rounds(self, rounds: Any, n_classes: int) -> Votes:
        return boost_classes(
            rounds, n_classes=n_classes, n_rounds=int(self.n_estimators), learning_rate=float(self.learning_rate)
        )

    def _freeze(self, forest: Forest, votes: Votes, facts: NDArray[Any]) -> Forest:
        return voting_forest(forest, np.array(votes.weights), len(facts))

    def _encoder(self, facts: NDArray[Any]) -> Any:
        return partial(np.searchsorted, facts)

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _outcome(self, predicted: NDArray[Any]) -> FloatArray:
        return np.asarray(class_code(len(self.classes_))[np.searchsorted(self.classes_, predicted)])

    def _staged_scores(self, X: Any) -> Iterator[tuple[FloatArray, float]]:
        """Yield Σ ω · votes, (rows, scores), and Σ |ω|, after each round."""
        scores, total = None, 0.0
        for weight, outcome in zip(self.estimator_weights_.tolist(), self._one_by_one(X), strict=True):
            votes = weight * outcome if self._has_members else outcome
            scores = votes if scores is None else scores + votes
            total += abs(weight)
            yield scores, total

    def _scores(self, X: Any) -> FloatArray:
        if not self._has_members:
            return self.predict_raw(X)
        *_, (scores, _) = self._staged_scores(X)
        return scores

    def decision_function(self, X: Any) -> FloatArray:
        """Mean of the votes, weighted by the learners' weights, as scikit-learn scales it.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_classes)
            For two classes from −2, the first, to 2, the second. For more, 1 is a class that all learners name and
            −1 / (K − 1) one that none does.
        """
        return self._head().decision(self._scores(X))

    def _head(self) -> VoteHead:
        if not hasattr(self, "classes_"):
            raise not_fitted(self)
        return VoteHead(self.classes_, float(np.abs(self.estimator_weights_).sum()))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, in the order of ``classes_``: the softmax of decision / (K − 1).

        As in scikit-learn; the mean of the votes is no log-odds, so they are far from 0 and 1.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes)
        """
        return self._head().probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of ``predict_proba``."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of the largest score.

        Returns
        -------
        ndarray, (n_rows,)
            Labels as they were given at fit.
        """
        return self._head().answers(self._scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """Yield the decision function after each round."""
        self._require_fitted()
        for scores, total in self._staged_scores(X):
            yield self._head().decision(scores, total)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predicted classes after each round."""
        self._require_fitted()
        for scores, _ in self._staged_scores(X):
            yield self._head().answers(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """Yield the probabilities after each round."""
        for decision in self.staged_decision_function(X):
            yield self._head().probabilities(decision)

    def _as_tree(self, forest: Forest, weight: float) -> DecisionTree:
        votes = np.sign(weight) * forest.value
        shares = votes > 0 if forest.width == 1 else np.eye(forest.width)[votes.argmax(axis=1)]
        return super()._as_tree(replace(forest, value=shares.astype(np.float64)), weight)

    def _head_of_tree(self) -> ClassMeanHead:
        return ClassMeanHead(classes=[self.classes_])

    # ---- files ---------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "classes": classes_to_json(self.classes_)}

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        super()._read_facts(header, forest)
        self.classes_ = classes_from_json(header["classes"], max(2, forest.n_outputs))

    def _read_member_facts(self, header: dict[str, Any], members: list[Any]) -> None:
        classes = classes_from_json(header["classes"], len(header["classes"]["values"]))
        for member in members:
            if not np.isin(member.classes_, classes).all():
                raise ValueError("a member with classes of its own")
        self.classes_ = classes


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
        "How the error of a row, as a share of the largest, counts: itself, its square, or 1 − exp(−error).",
        before="max_bins",
    )
    bootstrap: bool = parameter(
        True,
        FLAG,
        "Fit each learner to rows drawn by weight with replacement, as in the paper; False: to all rows, weighted.",
        before="max_bins",
    )
    random_state: Any = like(Seed, doc=OF_LEARNERS)
    _classifies = False

    judged_by = "absolute_error"  # what its rounds reduce, and reports judge it by

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _default_learner(self) -> DecisionTree:
        return DecisionTreeRegressor(
            max_depth=DEFAULT_DEPTH,
            max_bins=self.max_bins,
            categorical_features=self.categorical_features,
            unknown=self.unknown,
            missing=self.missing,
            n_jobs=self.n_jobs,
        )

    def _on_gradients(self, facts: None) -> bool:
        return self.estimator is None

    def _read_column(
        self, column: NDArray[Any], weight: FloatArray | None
    ) -> tuple[None, FloatArray, FloatArray | None]:
        # The tree knows how large a target may be.
        target, _ = self._default_learner().goal().read(column[:, None], weight)
        return None, np.asarray(target.numbers)[:, 0], weight

    def _boost_gradients(
        self, table: Table, data: BinnedData, values: FloatArray, weight: FloatArray, seed: int, threads: int
    ) -> tuple[Votes, Forest]:
        tree = shallow_tree(DEFAULT_DEPTH, category_ranks(table.schema, data.bin_map.order))
        learners = NumberTrees(data, code_edges(table, data.bin_map), values, weight, tree, threads)
        votes = self._boost(learners, values, weight, seed, None)
        return votes, learners.forest(len(votes.weights))

    def _boost(self, learners: Any, values: FloatArray, weight: FloatArray, seed: int, facts: None) -> Votes:
        if self.bootstrap or not learners.takes_weights:
            learners = resampled(learners, weight, seed)
        return boost_numbers(
            learners,
            values,
            weight,
            loss=self.loss,
            n_rounds=int(self.n_estimators),
            learning_rate=float(self.learning_rate),
        )

    def _freeze(self, forest: Forest, votes: Votes, facts: None) -> Forest:
        return forest

    def _encoder(self, facts: None) -> Any:
        return finite_predictions

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _outcome(self, predicted: NDArray[Any]) -> FloatArray:
        return np.asarray(predicted, dtype=np.float64).reshape(-1, 1)

    def _head(self) -> OtherHead:
        return OtherHead(
            "AdaBoostRegressor predicts a median of its trees, not a sum that SHAP values could split: explain one of "
            "estimators_, or use BoostedTreesRegressor"
        )

    def _predictions(self, X: Any) -> FloatArray:
        """Predictions of all learners, (rows, learners)."""
        return np.concatenate(list(self._one_by_one(X)), axis=1)

    def predict(self, X: Any) -> FloatArray:
        """Predict the target: the median of the learners, by weight.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        self._require_fitted()
        return weighted_median(self._predictions(X), self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield the prediction after each round."""
        self._require_fitted()
        predictions, weights = self._predictions(X), self.estimator_weights_
        for n in range(1, len(weights) + 1):
            yield weighted_median(predictions[:, :n], weights[:n])

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        super()._read_facts(header, forest)
        if forest.n_outputs != 1:
            raise ValueError(f"{forest.n_outputs} outputs, not 1")


def finite_predictions(predicted: Any) -> FloatArray:
    """Return the predictions of a learner as float64; anything else than one finite number a row is refused."""
    numbers = np.asarray(predicted, dtype=np.float64)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError(
            f"the estimator predicts {numbers.shape} values, some perhaps not finite: "
            "AdaBoost needs one finite number a row"
        )
    return numbers
