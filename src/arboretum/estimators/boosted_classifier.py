"""BoostedTreesClassifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from arboretum.data.labels import classes_from_json, classes_to_json
from arboretum.ensembles.boosting import goals
from arboretum.estimators.base import FloatArray
from arboretum.estimators.boosting import BoostedTrees
from arboretum.estimators.boosting_parameters import BoostedStopping, Objective, Outputs
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

    def goal(self) -> goals.Classes:
        """Return how labels are read, and which loss is minimised."""
        return goals.Classes(self.loss, class_weight=self.class_weight)

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
