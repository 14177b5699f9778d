"""SHAP values: time against the libraries that have them, each on its own model of equal settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.family import Workload
from benchmarks.measuring import RATIO, Bench, Row, timed
from benchmarks.rivals import FORESTS, Model, Rival
from benchmarks.table import HOME, Column, Table
from benchmarks.task import Task, split
from benchmarks.workloads import dense, forests

ROWS, EXPLAINED = 20_000, 5_000
FEW_EXPLAINED = 100
EXPLAIN = Column("explain_s", "explain s")

Explain = Callable[[Model, Any], Any]


def by_arboretum(model: Model, X: Any) -> Any:
    return model.fitted.explain(X)


def by_lightgbm(model: Model, X: Any) -> Any:
    return model.fitted.predict(X, pred_contrib=True, num_threads=model.task.settings.threads)


def by_xgboost(model: Model, X: Any) -> Any:
    import xgboost

    return model.fitted.predict(xgboost.DMatrix(X), pred_contribs=True)


def by_catboost(model: Model, X: Any) -> Any:
    import catboost

    pool = catboost.Pool(X)
    return model.fitted.get_feature_importance(pool, type="ShapValues", thread_count=model.task.settings.threads)


def by_shap(model: Model, X: Any) -> Any:
    import shap

    return shap.TreeExplainer(model.fitted).shap_values(X, check_additivity=False)


def pairs_by_arboretum(model: Model, X: Any) -> Any:
    return model.fitted.explain(X, interactions=True)


def pairs_by_xgboost(model: Model, X: Any) -> Any:
    import xgboost

    return model.fitted.predict(xgboost.DMatrix(X), pred_interactions=True)


def pairs_by_shap(model: Model, X: Any) -> Any:
    import shap

    return shap.TreeExplainer(model.fitted).shap_interaction_values(X)


VALUES: dict[str, Explain] = {
    HOME: by_arboretum,
    "lightgbm": by_lightgbm,
    "xgboost": by_xgboost,
    "catboost": by_catboost,
    "shap": by_shap,
}
OF_FORESTS: dict[str, Explain] = {HOME: by_arboretum, "shap": by_shap}
PAIRS: dict[str, Explain] = {HOME: pairs_by_arboretum, "xgboost": pairs_by_xgboost, "shap": pairs_by_shap}


def compare(bench: Bench, name: str, task: Task, explains: dict[str, Explain], fit: Callable[[Rival], Model]) -> Table:
    """Fit each library once, then let them explain the test rows in turns."""
    models: dict[str, Model] = {}

    def turn(rival: Rival) -> Row:
        if rival.name not in models:
            models[rival.name] = fit(rival)
        return {"explain_s": timed(lambda: explains[rival.name](models[rival.name], task.X_test))[0]}

    title = f"{task.shape}; explain {len(task.X_test):,} rows"
    return bench.table(name, title, (EXPLAIN, RATIO), turn, ratio_of="explain_s", among=tuple(explains))


def boosted(bench: Bench, explained: int) -> Task:
    """Return rows to fit, and some to explain."""
    rows = bench.scaled(ROWS)
    return split("binary", *dense.generate(rows + explained), rows, bench.settings())


def values(bench: Bench) -> Iterator[Table]:
    """Explain boosted trees of 31 leaves."""
    task = boosted(bench, bench.scaled(EXPLAINED))
    yield compare(bench, "shap", task, VALUES, lambda rival: rival.fit(task))


def of_forests(bench: Bench) -> Iterator[Table]:
    """Explain deep trees; shap those of scikit-learn."""
    rows, settings = bench.scaled(ROWS), forests.SETTINGS
    drawn = dense.generate(rows + FEW_EXPLAINED, forests.STEEPNESS)
    task = split("binary", *drawn, rows, settings).with_settings(rounds=bench.rounds, threads=bench.threads)
    grower = {HOME: HOME, "shap": "sklearn"}
    yield compare(bench, "shap-forest", task, OF_FORESTS, lambda rival: FORESTS[grower[rival.name]].fit(task))


def of_pairs(bench: Bench) -> Iterator[Table]:
    """Explain boosted trees by pairs of columns."""
    task = boosted(bench, FEW_EXPLAINED)
    yield compare(bench, "shap-interactions", task, PAIRS, lambda rival: rival.fit(task))


WORKLOADS: dict[str, Workload] = {"shap": values, "shap-forest": of_forests, "shap-interactions": of_pairs}
