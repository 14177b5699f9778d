"""CalibratedClassifier: probabilities that mean what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.correcting.calibration import Calibration
from arboretum.data import targets
from arboretum.data.labels import classes_from_json, classes_to_json
from arboretum.ensembles.bagging.resampling import Positions
from arboretum.estimators.bagging_members import FloatArray, GivenTable
from arboretum.estimators.held_out import Calibrating, HeldOutModel, Unseen
from arboretum.estimators.protocol import Classifier
from arboretum.parameters.declaring import Choice, declares_parameters, fitted, like, parameter


@declares_parameters
class CalibratedClassifier(Classifier, HeldOutModel):
    """Honest probabilities of any classifier: of rows that are given 0.3, three in ten are of the class.

    The map from the estimator's probabilities to honest ones is learned on rows that it has not seen, with their
    ``sample_weight`` but without its ``class_weight``: probabilities are those of the population, however the estimator
    weighs its classes. Several classes are mapped each against the rest.

    Attributes
    ----------
    calibration_ : Calibration
        The map.
    classes_ : ndarray
        Labels, sorted.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(4000, 1))
    >>> y = rng.uniform(size=4000) < X[:, 0] / 5  # one in ten
    >>> small = {"n_estimators": 20, "max_leaf_nodes": 4, "learning_rate": 0.1}
    >>> base = arb.BoostedTreesClassifier(**small, class_weight="balanced")
    >>> base.fit(X, y).predict_proba([[0.5]])[:, 1] > 0.3  # as if the classes were equally frequent
    array([ True])
    >>> arb.CalibratedClassifier(estimator=base).fit(X, y).predict_proba([[0.5]])[:, 1].round(1)
    array([0.1])
    """

    estimator: Any = like(
        Calibrating,
        doc="A classifier with ``predict_proba``, of arboretum, scikit-learn or any other that follows its protocol; "
        "by default ``BoostedTreesClassifier()``.",
    )
    method: str = parameter(
        "isotonic",
        Choice("isotonic", "platt"),
        "The map: rising steps, or σ(a · log odds + b), which needs fewer rows.",
        before="calibration",
    )
    n_folds: int = like(Calibrating, filled={"spread": ""})
    calibration_fraction: float = like(Calibrating, filled={"halves": ""})
    calibration_: Calibration = fitted()
    _classifies = True

    def _default_estimator(self) -> Any:
        from arboretum.estimators.boosted_trees import BoostedTreesClassifier

        return BoostedTreesClassifier()

    def _base(self) -> Any:
        base = super()._base()
        if not hasattr(base, "predict_proba"):
            raise ValueError(f"estimator={shown(base)} has no predict_proba: use a classifier that has")
        return base

    def _read_target(self, column: NDArray[Any]) -> tuple[Any, FloatArray]:
        return targets.find_classes(column)

    def _strata(self, numbers: FloatArray) -> NDArray[Any] | None:
        return numbers

    def _check_part(self, labels: NDArray[Any], facts: Any) -> None:
        if (labels == labels[0]).all():
            raise ValueError(
                f"without the rows that are held out only one class, {labels.tolist()[0]!r}, is left of "
                f"{facts.tolist()[:10]}: "
                "give more rows of the others"
            )

    def _outcome(self, model: Any, part: Any, facts: Any) -> FloatArray:
        found = np.asarray(model.predict_proba(part), dtype=np.float64)
        proba = np.zeros((len(found), len(facts)))
        proba[:, np.searchsorted(facts, model.classes_)] = found  # a part of the rows may lack a class
        return proba

    def _out_of_bag(self, model: Any) -> FloatArray:
        return np.asarray(model.oob_decision_function_)

    def _correct(
        self, source: GivenTable, kept: Positions, facts: Any, numbers: FloatArray, unseen: list[Unseen]
    ) -> None:
        rows = np.concatenate([part.rows for part in unseen])
        proba = np.concatenate([part.prediction for part in unseen])
        weight = np.concatenate([part.weight for part in unseen])
        self.calibration_ = Calibration.fit(self.method, proba, numbers[rows], weight)
        self.classes_ = facts

    def predict_proba(self, X: Any) -> FloatArray:
        """Honest probabilities of the classes, in the order of ``classes_``.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes)
        """
        model = self._fitted()
        return self.calibration_.apply(self._outcome(model, X, self.classes_))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Returns
        -------
        ndarray, (n_rows,)
            Labels as they were given at fit.
        """
        codes = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

    # ---- files ---------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "method": self.method, "classes": classes_to_json(self.classes_)}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return self.calibration_.to_arrays()

    def _read_correction(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.classes_ = classes_from_json(header["classes"], len(header["classes"]["values"]))
        if len(self.classes_) < 2 or not np.isin(self.estimator_.classes_, self.classes_).all():
            raise ValueError("an estimator with classes of its own")
        self.calibration_ = Calibration.from_arrays(self.method, arrays, len(self.classes_))
