"""BoostedTreesClassifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, losses
from arboretum.estimators import targets
from arboretum.estimators.base import FloatArray
from arboretum.estimators.boosting import BoostedTrees
from arboretum.estimators.boosting_docs import describe
from arboretum.estimators.boosting_problem import Target
from arboretum.estimators.labels import classes_from_json, classes_to_json
from arboretum.estimators.protocol import Classifier
from arboretum.forest import Forest
from arboretum.losses import Loss
from arboretum.schema import Schema

_CLASS_PARAMETERS = """\
    class_weight : "balanced" or dict, optional
        Weight of each class.
"""

_EXAMPLES = """\
    Examples
    --------
    >>> import arboretum as arb
    >>> rows = [["red", 1.0], ["blue", 2.0], ["red", 3.0], ["blue", None]] * 25
    >>> model = arb.BoostedTreesClassifier(n_estimators=20).fit(rows, ["yes", "no", "yes", "no"] * 25)
    >>> model.predict([["red", 2.5], ["blue", 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """


class BoostedTreesClassifier(Classifier, BoostedTrees):
    __doc__ = describe(
        "Gradient-boosted trees for classes.",
        _EXAMPLES,
        losses='"log_loss"',
        loss_parameters="",
        class_parameters=_CLASS_PARAMETERS,
        class_attributes="    classes_ : ndarray\n        Labels, sorted.\n",
        stratified=", the same share of each class,",
    )
    class_weight: Any
    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        n_estimators: int = 1000,
        trees_per_round: int = 1,
        learning_rate: float | str = "auto",
        growth: str = "leaf",
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        l1: float = 0.0,
        l2: float | str = "auto",
        min_gain: float = 0.0,
        split_score: str = "gain",
        score_noise: float = 0.0,
        prune: bool = False,
        second_order: bool = True,
        leaf_steps: int = 1,
        ordered_boosting: int = 0,
        vector_leaves: bool | str = "auto",
        leaf_model: str = "constant",
        linear_l2: float = 10.0,
        max_delta_step: float = 0.0,
        max_bins: int | None = 255,
        category_levels: int | None = 20,
        category_combinations: int = 2,
        category_orders: int = 4,
        subsample: float | str = "auto",
        sampling: str = "subsample",
        top_rate: float | None = None,
        other_rate: float | None = None,
        bagging_temperature: float | None = None,
        max_features: float | int = 0.3,
        colsample_tree: float | int = 1.0,
        colsample_level: float | int = 1.0,
        dart_rate: float = 0.0,
        dart_skip: float = 0.5,
        dart_max: int = 50,
        loss: str | Loss = "log_loss",
        class_weight: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        categorical_features: Any = None,
        unknown: str = "average",
        missing: str = "warn",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 50,
        refit: bool | str = "auto",
        time_limit: float | None = None,
        warm_start: bool = False,
        callbacks: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _read_target(self, column: NDArray[Any], weight: FloatArray | None, continuing: bool) -> Target:
        if continuing:
            classes, codes = self.classes_, targets.encode_classes(column, self.classes_, "y")
        else:
            classes, codes = targets.find_classes(column)
        loss = losses.resolve(self.loss, n_classes=len(classes))
        factors = targets.class_factors(weight, self.class_weight, classes, codes)
        weight = targets.times_factors(weight, factors, codes)
        targets.require_two_weighted(weight, classes, codes)
        return Target(codes, weight, loss, classes, factors)

    def _read_validation_target(
        self, column: NDArray[Any], weight: FloatArray | None, target: Target
    ) -> tuple[FloatArray, FloatArray | None]:
        assert target.classes is not None
        codes = targets.encode_classes(column, target.classes)
        return codes, targets.times_factors(weight, target.factors, codes)

    def _strata(self, y: FloatArray) -> NDArray[Any] | None:
        return y

    def _monotone(self, schema: Schema, target: Target) -> tuple[int, ...]:
        directions = super()._monotone(schema, target)
        if directions and target.classes is not None and len(target.classes) > 2:
            raise ValueError(
                f"monotonic_cst is not supported for multiclass classification ({len(target.classes)} classes): "
                "raw scores that rise do not make a probability rise"
            )
        return directions

    def decision_function(self, X: Any) -> FloatArray:
        """Raw scores: log-odds of the second class, or one score a class.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_classes)
        """
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, in the order of ``classes_``.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes)
        """
        return self._to_proba(self._raw(X))

    def _to_proba(self, raw: FloatArray) -> FloatArray:
        if raw.shape[1] > 1:
            return self.loss_.predict(raw)
        proba = np.empty((len(raw), 2))
        if type(self.loss_) is losses.Logistic:
            _kernel.sigmoid_pairs(raw, proba)
            return proba
        proba[:, 1] = self.loss_.predict(raw[:, 0])
        np.subtract(1.0, proba[:, 1], out=proba[:, 0])
        return proba

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Returns
        -------
        ndarray, (n_rows,)
            Labels as they were given at fit.
        """
        return self._to_labels(self._raw(X))

    def _to_labels(self, raw: FloatArray) -> NDArray[Any]:
        codes = (raw[:, 0] > 0).astype(np.intp) if raw.shape[1] == 1 else raw.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predicted classes after each round."""
        for raw in self._staged_raw(X):
            yield self._to_labels(raw)

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """Yield the probabilities after each round."""
        for raw in self._staged_raw(X):
            yield self._to_proba(raw)

    # ---- files ---------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "classes": classes_to_json(self.classes_)}

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        super()._read_facts(header, forest)
        self.classes_ = classes_from_json(header["classes"], max(2, forest.n_outputs))
