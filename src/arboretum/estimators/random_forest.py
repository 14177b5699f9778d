"""RandomForestClassifier and RandomForestRegressor."""

from __future__ import annotations

from typing import Any

from arboretum.estimators.bagged_tasks import BaggedClassifier, BaggedRegressor
from arboretum.estimators.forest_docs import CLASSIFIER, REGRESSOR, describe
from arboretum.estimators.kept_bags import KeptBags, KeptRegressionBags


class RandomForestClassifier(KeptBags, BaggedClassifier):
    __doc__ = describe(
        "Random forest for classes: deep trees on bootstrapped rows, a few columns a node, averaged.",
        """\
    Examples
    --------
    >>> import arboretum as arb
    >>> rows = [["red", 1.0], ["blue", 2.0], ["red", 3.0], ["blue", None]] * 25
    >>> model = arb.RandomForestClassifier(n_estimators=10).fit(rows, ["yes", "no", "yes", "no"] * 25)
    >>> model.predict([["red", 2.5], ["blue", 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """,
        bootstrap="True",
        papers="Breiman, L. (2001). Random forests. Machine Learning 45.",
        **CLASSIFIER,
    )

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: str = "gini",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: Any = "sqrt",
        max_bins: int | None = 255,
        oblique: bool = False,
        n_projections: int | None = None,
        projection_density: float | None = None,
        bootstrap: bool | str = True,
        max_samples: float | int | None = None,
        oob_score: Any = False,
        keep_bags: bool = False,
        class_weight: Any = None,
        voting: str = "soft",
        monotonic_cst: Any = None,
        categorical_features: Any = None,
        unknown: str = "average",
        missing: str = "warn",
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())


class RandomForestRegressor(KeptRegressionBags, BaggedRegressor):
    __doc__ = describe(
        "Random forest for numbers: deep trees on bootstrapped rows, a third of the columns a node, averaged.",
        """\
    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = arb.RandomForestRegressor(n_estimators=20).fit(X, X[:, 0] ** 2)
    >>> model.predict([[0.5]]).round(2)
    array([0.25])
    """,
        bootstrap="True",
        papers="Breiman, L. (2001). Random forests. Machine Learning 45.",
        **REGRESSOR,
    )

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: Any = 1 / 3,
        max_bins: int | None = 255,
        oblique: bool = False,
        n_projections: int | None = None,
        projection_density: float | None = None,
        bootstrap: bool = True,
        max_samples: float | int | None = None,
        oob_score: Any = False,
        keep_bags: bool = False,
        monotonic_cst: Any = None,
        categorical_features: Any = None,
        unknown: str = "average",
        missing: str = "warn",
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())
