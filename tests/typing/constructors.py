"""What type checkers know of constructors: ``make lint`` runs mypy here, which reports comments without an error."""

from __future__ import annotations

import arboretum as arb
from arboretum.losses import Loss
from arboretum.parameters.declaring import Number, declares_parameters, fitted, like, parameter


@declares_parameters
class Shifted(arb.BoostedTreesRegressor):
    """Adds a number to predictions."""

    shift: float = parameter(0.0, Number(low=0.0), "What is added.")
    tol: float = like(arb.BoostedTreesRegressor, default=0.5)
    shifted_: bool = fitted()


def right(loss: Loss) -> None:
    """Names and types of groups, of bases and of the class itself."""
    arb.BoostedTreesClassifier(n_estimators=10, learning_rate="auto", growth="level", max_depth=None, class_weight={})
    arb.BoostedTreesRegressor(loss=loss, quantile=[0.1, 0.9], vector_leaves=False, unknown="error")
    arb.RandomForestClassifier(bootstrap="balanced", max_features="sqrt", n_jobs=2)
    arb.DecisionTreeClassifier(method="c45", min_samples_leaf=None)
    arb.IsolationForest(max_samples=0.5, extension="full")
    arb.CalibratedClassifier(estimator=arb.ExtraTreesClassifier(), method="platt")
    arb.BoostedTreesRegressor(average_rounds=arb.AverageRounds(last=20, decay=0.9))
    arb.CheckpointAverage(estimator=arb.BoostedTreesRegressor(), n_steps=None, every=2)
    Shifted(shift=1.0, tol=0.25, n_estimators=5).shifted_ = True


def wrong() -> None:
    """Errors of which each line has one."""
    arb.BoostedTreesClassifier(n_estimator=10)  # type: ignore[call-arg]
    arb.BoostedTreesClassifier(quantile=0.5)  # type: ignore[call-arg]
    arb.BoostedTreesRanker(vector_leaves=True)  # type: ignore[call-arg]
    arb.BoostedTreesRegressor(100)  # type: ignore[call-arg]
    arb.BoostedTreesRegressor(n_estimators="many")  # type: ignore[arg-type]
    arb.BoostedTreesRegressor(growth="leafs")  # type: ignore[arg-type]
    arb.RandomSurvivalForest(criterion="gini")  # type: ignore[call-arg]
    arb.RandomForestRegressor(bootstrap="balanced")  # type: ignore[arg-type]
    arb.DecisionTreeRegressor(n_estimators=3)  # type: ignore[call-arg]
    arb.ConformalRegressor(n_folds=5.5)  # type: ignore[arg-type]
    Shifted(shift="far")  # type: ignore[arg-type]
    Shifted(shifted_=True)  # type: ignore[call-arg]
