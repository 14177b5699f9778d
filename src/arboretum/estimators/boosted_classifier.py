"""BoostedTreesClassifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import losses
from arboretum.data import targets
from arboretum.data.labels import classes_from_json, classes_to_json, side_by_side
from arboretum.data.schema import Schema
from arboretum.estimators.base import FloatArray
from arboretum.estimators.boosting import BoostedTrees
from arboretum.estimators.boosting_parameters import BoostedStopping, Objective, Outputs
from arboretum.estimators.boosting_problem import Problem, Target
from arboretum.estimators.parameters import declares_parameters, like
from arboretum.estimators.protocol import Classifier
from arboretum.estimators.shared_parameters import OF_CLASSES, ClassWeights, EarlyStopping
from arboretum.losses import EachOutput, GradientFunction, Loss, Ordinal
from arboretum.model.forest import Forest


@declares_parameters
class BoostedTreesClassifier(Classifier, BoostedTrees):
    """Gradient-boosted trees for classes.

    Attributes
    ----------
    classes_ : ndarray, or a list of them for several outputs
        Labels, sorted; of an ordered categorical and the loss "ordinal", in its order.

    Examples
    --------
    >>> import arboretum as arb
    >>> rows = [["red", 1.0], ["blue", 2.0], ["red", 3.0], ["blue", None]] * 25
    >>> model = arb.BoostedTreesClassifier(n_estimators=20).fit(rows, ["yes", "no", "yes", "no"] * 25)
    >>> model.predict([["red", 2.5], ["blue", 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    vector_leaves: bool | str = like(Outputs, before="leaf_model")
    loss: str | Loss | GradientFunction = like(
        Objective,
        default="log_loss",
        filled={"losses": '"log_loss"; "ordinal" for ordered classes: see docs/many-outputs.md'},
    )
    class_weight: Any = like(ClassWeights, before="monotonic_cst")
    scoring: Any = like(EarlyStopping, filled={"metrics": OF_CLASSES})
    validation_fraction: float = like(BoostedStopping, filled={"stratified": ", the same share of each class,"})

    def _as_column(self, y: Any, n_rows: int, name: str = "y", table: str = "X") -> NDArray[Any]:
        return targets.ordered_labels(y, targets.as_outputs(y, n_rows, name, table))

    def _read_target(self, column: NDArray[Any], weight: FloatArray | None, continuing: bool) -> Target:
        if column.ndim > 1:
            return self._read_labels(column, weight, continuing)
        if continuing:
            self._require_outputs(1)
            classes, codes = self.classes_, targets.encode_classes(column, self.classes_, "y")
        else:
            classes, codes = targets.find_classes(column)
            if (isinstance(self.loss, str) and self.loss == "ordinal") or isinstance(self.loss, Ordinal):
                classes, codes = targets.in_order(column, classes, codes)
        loss = losses.resolve(self.loss, n_classes=len(classes))
        factors = targets.class_factors(weight, self.class_weight, classes, codes)
        weight = targets.times_factors(weight, factors, codes)
        targets.require_two_weighted(weight, classes, codes)
        return Target(codes, weight, loss, classes, factors)

    def _read_labels(self, columns: NDArray[Any], weight: FloatArray | None, continuing: bool) -> Target:
        """Several outputs of two classes each: multi-label."""
        if self.class_weight is not None:
            raise ValueError("class_weight needs one output: give sample_weight, or fit one model an output")
        if continuing:
            self._require_outputs(columns.shape[1])
            classes, codes = self.classes_, _encode_labels(columns, self.classes_, "y")
        else:
            classes, codes = targets.find_label_sets(columns)
        for labels, column in zip(classes, codes.T, strict=True):
            targets.require_two_weighted(weight, labels, column)
        loss = losses.resolve(self.loss, n_classes=2)
        return Target(codes, weight, EachOutput.of(loss, codes.shape[1]).in_units_of(codes, weight), classes)

    def _require_outputs(self, n_outputs: int) -> None:
        fitted = len(self.classes_) if isinstance(self.classes_, list) else 1
        if n_outputs != fitted:
            raise ValueError(f"y has {n_outputs} outputs, but the fitted model has {fitted}")

    def _read_validation_target(
        self, column: NDArray[Any], weight: FloatArray | None, target: Target
    ) -> tuple[FloatArray, FloatArray | None]:
        if isinstance(target.classes, list):
            return _encode_labels(column, target.classes, "y_val"), weight
        if column.ndim > 1:
            raise ValueError(f"y_val has {column.shape[1]} outputs, but y has one")
        codes = targets.encode_classes(column, target.classes)
        return codes, targets.times_factors(weight, target.factors, codes)

    def _strata(self, y: FloatArray) -> NDArray[Any] | None:
        return y if y.ndim == 1 else None

    def _task_of(self, target: Target) -> str:
        return "binary" if isinstance(target.classes, list) or len(target.classes) == 2 else "multiclass"

    def _truth(self, problem: Problem, target: Target) -> Any:
        codes = problem.y.astype(np.intp)
        if not isinstance(target.classes, list):
            return target.classes[codes]
        return side_by_side([labels[column] for labels, column in zip(target.classes, codes.T, strict=True)])

    def _monotone(self, schema: Schema, target: Target) -> tuple[int, ...]:
        directions = super()._monotone(schema, target)
        if directions and target.loss.n_outputs > 1 and not isinstance(target.loss, EachOutput):
            raise ValueError(
                f"monotonic_cst is not supported for multiclass classification ({len(target.classes)} classes): "
                "raw scores that rise do not make a probability rise"
            )
        return directions

    def decision_function(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Raw scores: log-odds of the second class, or one score per class or output; of ordered classes, one for all.

        Parameters
        ----------
        X, offset
            As for ``predict``.

        Returns
        -------
        ndarray of float64, (n_rows,), (n_rows, n_classes) or (n_rows, n_outputs)
        """
        return self._head().scores(self._raw_beside(X, offset))

    def predict_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Probabilities of the classes, in the order of ``classes_``.

        Parameters
        ----------
        X, offset
            As for ``predict``.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes), or a list of them for several outputs
        """
        return self._head().probabilities(self._raw_beside(X, offset))

    def predict(self, X: Any, *, offset: Any = None) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.
        offset : array-like, optional
            What the raw scores of each row start from, as in ``fit``; one number stands for all rows.

        Returns
        -------
        ndarray, (n_rows,) or (n_rows, n_outputs)
            Labels as they were given at fit.
        """
        return self._head().labels(self._raw_beside(X, offset))

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[NDArray[Any]]:
        """Yield the predicted classes after each round."""
        for raw in self._staged_raw(X, offset):
            yield self._head().labels(raw)

    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[Any]:
        """Yield the probabilities after each round."""
        for raw in self._staged_raw(X, offset):
            yield self._head().probabilities(raw)

    def staged_decision_function(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield the raw scores after each round."""
        for raw in self._staged_raw(X, offset):
            yield self._head().scores(raw)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the accuracy: the share of rows whose class, or classes of all outputs, are predicted.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to predict.
        y : array-like
            Their classes.
        sample_weight : array-like, optional
            Weight of each row.
        offset : array-like, optional
            As for ``predict``.
        """
        return Classifier.score(self._asked(X, offset), X, y, sample_weight)

    # ---- files ---------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        several = isinstance(self.classes_, list)
        classes = [classes_to_json(labels) for labels in self.classes_] if several else classes_to_json(self.classes_)
        return {**super()._facts(), "classes": classes}

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        super()._read_facts(header, forest)
        entry = header["classes"]
        if isinstance(self.loss_, EachOutput):
            if not isinstance(entry, list) or len(entry) != self.loss_.n_outputs:
                raise ValueError(f"the classes are not those of {self.loss_.n_outputs} outputs")
            self.classes_ = [classes_from_json(labels, 2) for labels in entry]
        elif isinstance(self.loss_, Ordinal):
            if self.loss_.thresholds is None:
                raise ValueError("ordered classes without thresholds")
            self.classes_ = classes_from_json(entry, self.loss_.n_classes, in_own_order=True)
        else:
            self.classes_ = classes_from_json(entry, max(2, forest.n_outputs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._takes_several_outputs
        return tags


def _encode_labels(columns: NDArray[Any], classes: list[NDArray[Any]], name: str) -> FloatArray:
    if columns.ndim != 2 or columns.shape[1] != len(classes):
        raise ValueError(f"{name} has shape {columns.shape}: give {len(classes)} outputs a row, as y has")
    pairs = enumerate(zip(columns.T, classes, strict=True))
    return np.column_stack([targets.encode_classes(column, labels, f"{name}[:, {k}]") for k, (column, labels) in pairs])
