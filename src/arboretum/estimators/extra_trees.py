"""ExtraTreesClassifier and ExtraTreesRegressor."""

from __future__ import annotations

from arboretum.ensembles.bagging.parameters import ClassForest, NumberForest
from arboretum.estimators.bagged_tasks import BaggedClassifier, BaggedRegressor
from arboretum.estimators.kept_bags import KeptBags, KeptRegressionBags
from arboretum.parameters.declaring import declares_parameters, like


@declares_parameters
class ExtraTreesClassifier(ClassForest, KeptBags, BaggedClassifier):
    """Extremely randomized trees for classes: thresholds are drawn, not searched, on all rows.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees; ``len(model)`` is their number.
    oob_score_, oob_decision_function_
        Score and probabilities by trees that never saw the row; NaN where there is none.

    References
    ----------
    Geurts, P., Ernst, D. & Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63.

    Examples
    --------
    >>> import arboretum as arb
    >>> rows = [["red", 1.0], ["blue", 2.0], ["red", 3.0], ["blue", None]] * 25
    >>> model = arb.ExtraTreesClassifier(n_estimators=10).fit(rows, ["yes", "no", "yes", "no"] * 25)
    >>> model.predict([["red", 2.5], ["blue", 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    bootstrap: bool | str = like(ClassForest, default=False)
    _random_thresholds = True


@declares_parameters
class ExtraTreesRegressor(NumberForest, KeptRegressionBags, BaggedRegressor):
    """Extremely randomized trees for numbers: thresholds are drawn, not searched, on all rows.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees; ``len(model)`` is their number.
    oob_score_, oob_prediction_
        Score and predictions by trees that never saw the row; NaN where there is none.

    References
    ----------
    Geurts, P., Ernst, D. & Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = arb.ExtraTreesRegressor(n_estimators=20).fit(X, X[:, 0] ** 2)
    >>> model.predict([[0.5]]).round(2)
    array([0.25])
    """

    bootstrap: bool = like(NumberForest, default=False)
    _random_thresholds = True
