"""BaggingClassifier and BaggingRegressor: bagging of any estimator (Breiman 1996)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data import selection, targets
from arboretum.data.labels import classes_from_json, classes_to_json
from arboretum.data.table import Table
from arboretum.ensembles.bagging.resampling import Bag
from arboretum.estimators.bagging_members import FloatArray, GivenTable, OneClass, default_estimator
from arboretum.estimators.bagging_model import BaggingModel
from arboretum.estimators.protocol import Classifier, Regressor
from arboretum.parameters.declaring import declares_parameters, fitted, like
from arboretum.parameters.shared import Voting


@declares_parameters
class BaggingClassifier(Classifier, BaggingModel):
    """Bagging of a classifier: the mean of members fitted to draws of the rows (Breiman 1996).

    Rows are drawn by a hash of (seed, member, draw) from an order that depends on their content: the model is the same
    for any number of threads and any order of the rows, and a row of weight 3 counts as three equal rows. Members whose
    ``fit`` takes ``sample_weight`` get each row once, weighted by its copies; others get the copies.

    Members of arboretum that can (``BoostedTrees*``) share one table, which is read and cut into bins once: cuts are
    then those of all rows, not of each bag.

    Attributes
    ----------
    classes_ : ndarray
        Labels, sorted.
    oob_decision_function_ : ndarray, (n_rows, n_classes)
        With ``oob_score``: probabilities by the members that never saw a row; NaN if all have.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> from arboretum.estimators.bagging import BaggingClassifier
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> bagged = BaggingClassifier(estimator=arb.BoostedTreesClassifier(n_estimators=20), oob_score=True)
    >>> bagged.fit(X, np.where(X[:, 0] > 0.4, "yes", "no")).predict([[0.1], [0.9]])
    array(['no', 'yes'], dtype='<U3')
    >>> bagged.oob_score_ > 0.9
    True
    """

    voting: str = like(
        Voting,
        doc="Mean of the members' probabilities, or share of their votes; members without ``predict_proba`` vote.",
        before="warm_start",
    )
    oob_decision_function_: FloatArray = fitted()
    _classifies = True

    def _read_target(self, column: NDArray[Any], continuing: bool) -> tuple[Any, FloatArray]:
        if continuing:
            return self.classes_, targets.encode_classes(column, self.classes_, "y")
        return targets.find_classes(column)

    def _take_facts(self, facts: Any) -> None:
        self.classes_ = facts

    def _member(self, base: Any, source: Any, bag: Bag, seed: int, member: int) -> Any:
        if isinstance(source, GivenTable):
            labels = source.y[bag.rows]
            if (labels == labels[0]).all():
                return OneClass()
        return super()._member(base, source, bag, seed, member)

    def _outcome(self, model: Any, part: Any, threads: int) -> FloatArray:
        if isinstance(part, Table):
            proba: FloatArray = model.predict_table(part, threads)
            return np.eye(proba.shape[1])[proba.argmax(axis=1)] if self.voting == "hard" else proba
        if self.voting == "hard" or not hasattr(model, "predict_proba"):
            found = np.searchsorted(self.classes_, np.asarray(model.predict(part)))
            return np.eye(len(self.classes_))[found]
        proba = np.zeros((selection.n_rows_of(part), len(self.classes_)))
        proba[:, np.searchsorted(self.classes_, model.classes_)] = model.predict_proba(part)
        return proba

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, in the order of ``classes_``: the mean of the members, or their votes.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes)
        """
        return self._mean(X)

    def decision_function(self, X: Any) -> FloatArray:
        """Score the classes by the logarithms of their probabilities, for two classes by the log-odds of the second.

        Unlike a mean of the members' own decision functions, it ranks classes as ``predict`` does. Finite: the
        logarithm of 0 is that of the smallest normal number.

        Returns
        -------
        ndarray of float64, (n_rows,) for two classes, else (n_rows, n_classes)
        """
        scores = np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

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
        proba = self._mean(X)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    def _keep_out_of_bag(self, means: FloatArray, known: NDArray[np.bool_]) -> tuple[Any, Any]:
        self.oob_decision_function_ = means
        return self.classes_[means[known].argmax(axis=1)], means[known]

    def _facts(self) -> dict[str, Any]:
        return {"classes": classes_to_json(self.classes_), "voting": self.voting}

    def _check_members(self, header: dict[str, Any]) -> None:
        super()._check_members(header)
        self.classes_ = classes_from_json(header["classes"], len(header["classes"]["values"]))
        for model in self.estimators_:
            if not np.isin(model.classes_, self.classes_).all():
                raise ValueError("a member with classes of its own")


@declares_parameters
class BaggingRegressor(Regressor, BaggingModel):
    """Bagging of a regressor: the mean of members fitted to draws of the rows (Breiman 1996).

    Rows are drawn by a hash of (seed, member, draw) from an order that depends on their content: the model is the same
    for any number of threads and any order of the rows, and a row of weight 3 counts as three equal rows. Members whose
    ``fit`` takes ``sample_weight`` get each row once, weighted by its copies; others get the copies.

    Members of arboretum that can (``BoostedTrees*``) share one table, which is read and cut into bins once: cuts are
    then those of all rows, not of each bag.

    Attributes
    ----------
    oob_prediction_ : ndarray, (n_rows,) or (n_rows, n_outputs)
        With ``oob_score``: mean of the members that never saw a row; NaN if all have.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> from arboretum.estimators.bagging import BaggingRegressor
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> bagged = BaggingRegressor(estimator=arb.BoostedTreesRegressor(n_estimators=50)).fit(X, X[:, 0] ** 2)
    >>> bagged.predict([[0.6]]).round(2)
    array([0.36])
    """

    oob_prediction_: FloatArray = fitted()
    _classifies = False

    def _as_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        columns = targets.as_columns(y, n_rows)
        numbers = np.column_stack([targets.regression_target(column) for column in columns.T])
        return numbers[:, 0] if numbers.shape[1] == 1 else numbers

    def _read_target(self, column: NDArray[Any], continuing: bool) -> tuple[Any, FloatArray]:
        return None, column

    def _outcome(self, model: Any, part: Any, threads: int) -> FloatArray:
        if isinstance(part, Table):
            return np.asarray(model.predict_table(part, threads))
        return np.asarray(model.predict(part), dtype=np.float64)

    def predict(self, X: Any) -> FloatArray:
        """Predict the target: the mean of the members.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_outputs)
        """
        return self._mean(X)

    def _keep_out_of_bag(self, means: FloatArray, known: NDArray[np.bool_]) -> tuple[Any, Any]:
        self.oob_prediction_ = means
        return means[known], None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        base = get_tags(default_estimator(False) if self.estimator is None else self.estimator)
        tags.target_tags.multi_output = base.target_tags.multi_output
        return tags
