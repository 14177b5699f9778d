"""RandomForestClassifier and RandomForestRegressor."""

from __future__ import annotations

from arboretum.ensembles.bagging.parameters import ClassForest, NumberForest
from arboretum.estimators.bagged_tasks import BaggedClassifier, BaggedRegressor
from arboretum.estimators.kept_bags import KeptBags, KeptRegressionBags
from arboretum.parameters.declaring import declares_parameters


@declares_parameters
class RandomForestClassifier(ClassForest, KeptBags, BaggedClassifier):
    """Random forest for classes: deep trees on bootstrapped rows, a few columns a node, averaged.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees; ``len(model)`` is their number.
    oob_score_, oob_decision_function_
        Score and probabilities by trees that never saw the row; NaN where there is none.

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
class RandomForestRegressor(NumberForest, KeptRegressionBags, BaggedRegressor):
    """Random forest for numbers: deep trees on bootstrapped rows, a third of the columns a node, averaged.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees; ``len(model)`` is their number.
    oob_score_, oob_prediction_
        Score and predictions by trees that never saw the row; NaN where there is none.

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
