"""Forests of impurity for numbers and for classes: targets, predictions and what their files say of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.cached import cached_property
from arboretum.data import targets
from arboretum.data.labels import classes_from_json, classes_to_json, typed_column
from arboretum.ensembles.bagging.trees import BaggedTarget, Draws
from arboretum.estimators.bagged_trees import BaggedTrees, TrainingSet
from arboretum.estimators.base import FloatArray
from arboretum.estimators.protocol import Classifier, Regressor
from arboretum.losses.base import LARGEST_TARGET
from arboretum.model.forest import Forest
from arboretum.model.heads import MeanHead, voting


class BaggedRegressor(Regressor, BaggedTrees):
    """Trees of numbers.

    Attributes
    ----------
    n_outputs_ : int
        Columns of y.
    """

    def _read_target(self, columns: NDArray[Any], weight: FloatArray | None) -> tuple[BaggedTarget, Any]:
        numbers = np.column_stack([targets.regression_target(column) for column in columns.T])
        numbers = np.ascontiguousarray(numbers)
        if (beyond := np.abs(numbers).max(axis=1) > LARGEST_TARGET).any():
            row = int(np.argmax(beyond))
            raise ValueError(
                f"y[{row}] = {numbers[row].max():g}: beyond ±{LARGEST_TARGET:g}: divide the target by a constant"
            )
        if self.criterion == "poisson" and (numbers.min() < 0 or not numbers.sum() > 0):
            row = int(np.argmin(numbers.min(axis=1)))
            raise ValueError(
                f"criterion='poisson' needs counts of at least 0 that are not all 0: y has {numbers[row].min():g} "
                f"in row {row}; use criterion='squared_error'"
            )
        if self.criterion == "absolute_error" and numbers.shape[1] > 1:
            raise ValueError("criterion='absolute_error' needs one output: fit one model an output")
        return BaggedTarget(self.criterion, weight, numbers=numbers), numbers.shape[1]

    def _take_facts(self, facts: Any) -> None:
        self.n_outputs_ = facts

    def _has_facts(self, facts: Any) -> bool:
        return bool(self.n_outputs_ == facts)

    def predict(self, X: Any) -> FloatArray:
        """Predict the target: the mean of the trees.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_outputs)
        """
        return self._head().of_mean(self._mean(X))

    def _set_out_of_bag(self, training: TrainingSet, y: Any, sample_weight: Any, threads: int) -> None:
        means = self._out_of_bag(training, threads)
        known = ~np.isnan(means[:, 0])
        self._oob_mean = means
        self.oob_score_ = self._scored(y, self.oob_prediction_, None, sample_weight, known)

    @property
    def oob_prediction_(self) -> FloatArray:
        """Predictions of training rows by trees that never saw them; NaN where there is none."""
        return self._head().of_mean(self._known_out_of_bag)

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        super()._read_facts(header, forest)
        if forest.n_outputs != self.n_outputs_:
            raise ValueError(f"{forest.n_outputs} values a leaf for {self.n_outputs_} outputs")


class BaggedClassifier(Classifier, BaggedTrees):
    """Trees of classes.

    Attributes
    ----------
    n_outputs_ : int
        Columns of y.
    classes_ : ndarray, or a list of them for several outputs
        Labels, sorted.
    n_classes_ : int, or a list of them for several outputs
        Their number.
    """

    class_weight: Any
    voting: str
    classes_: Any  # labels, sorted; a list of them for several outputs

    @property
    def _class_weight(self) -> Any:
        """Factors of rows; classes that weigh alike in every bag need none if the bag draws alike from each."""
        if not isinstance(self.class_weight, str) or self.class_weight != "balanced_subsample":
            return self.class_weight
        return None if self.bootstrap else "balanced"

    def _draws(self) -> Draws:
        draws = super()._draws()
        return replace(draws, balanced=draws.balanced or self.class_weight == "balanced_subsample")

    def _read_target(self, columns: NDArray[Any], weight: FloatArray | None) -> tuple[BaggedTarget, Any]:
        several = columns.shape[1] > 1
        found = [targets.find_classes(typed_column(column) if several else column) for column in columns.T]
        classes = [labels for labels, _ in found]
        if len(found) == 1:
            factors = targets.class_factors(weight, self._class_weight, classes[0], found[0][1])
            weight = targets.times_factors(weight, factors, found[0][1])
            targets.require_two_weighted(weight, classes[0], found[0][1])
        elif self.class_weight is not None or self.bootstrap == "balanced":
            raise ValueError("class_weight and bootstrap='balanced' need one output: fit one model an output")
        codes = np.ascontiguousarray(np.column_stack([codes for _, codes in found]), dtype=np.int32)
        criterion = "entropy" if self.criterion == "log_loss" else self.criterion
        return BaggedTarget(criterion, weight, classes=codes, n_classes=tuple(map(len, classes))), classes

    def _take_facts(self, facts: Any) -> None:
        self.classes_, self.n_outputs_ = (facts[0] if len(facts) == 1 else facts), len(facts)
        self.__dict__.pop("_voters", None)

    def _has_facts(self, facts: Any) -> bool:
        return [classes.tolist() for classes in facts] == [classes.tolist() for classes in self._class_lists]

    @property
    def _class_lists(self) -> list[NDArray[Any]]:
        return self.classes_ if self.n_outputs_ > 1 else [self.classes_]

    # ---- prediction ----------------------------------------------------------------------------------------------

    @cached_property
    def _voters(self) -> Forest:
        """The forest whose leaves vote for one class."""
        return voting(self._fitted(), self._class_lists)

    def _head(self) -> MeanHead:
        votes = self._voters if self.voting == "hard" else None
        return MeanHead(self._fitted().n_trees, self._class_lists, votes)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, in the order of ``classes_``: the mean of the trees, or their votes.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes), or a list of them for several outputs
        """
        probas = self._head().probabilities(self._mean(X))
        return probas if self.n_outputs_ > 1 else probas[0]

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of ``predict_proba``."""
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(part) for part in proba] if isinstance(proba, list) else np.log(proba)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Returns
        -------
        ndarray, (n_rows,) or (n_rows, n_outputs)
            Labels as they were given at fit.
        """
        return self._head().of_mean(self._mean(X))

    def _set_out_of_bag(self, training: TrainingSet, y: Any, sample_weight: Any, threads: int) -> None:
        means = self._out_of_bag(training, threads)
        known = ~np.isnan(means[:, 0])
        head = self._head()
        probas = head.probabilities(means)
        self._oob_mean = means
        labels = head.labels([np.where(known[:, None], proba, 0.0) for proba in probas])
        self.oob_score_ = self._scored(y, labels, probas[0] if len(probas) == 1 else None, sample_weight, known)

    @property
    def oob_decision_function_(self) -> Any:
        """Probabilities of training rows by trees that never saw them; NaN where there is none."""
        probas = self._head().probabilities(self._known_out_of_bag)
        return probas if self.n_outputs_ > 1 else probas[0]

    # ---- files ---------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        return {"classes": [classes_to_json(classes) for classes in self._class_lists], "voting": self.voting}

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        super()._read_facts(header, forest)
        entries = header["classes"]
        if not isinstance(entries, list) or len(entries) != self.n_outputs_:
            raise ValueError(f"classes of {len(entries)} outputs, not of {self.n_outputs_}")
        classes = [classes_from_json(entry, len(entry["values"])) for entry in entries]
        width = 1 if [len(labels) for labels in classes] == [2] else sum(map(len, classes))
        if forest.n_outputs != width:
            raise ValueError(f"{forest.n_outputs} values a leaf for {width} classes")
        self.classes_ = classes[0] if len(classes) == 1 else classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
