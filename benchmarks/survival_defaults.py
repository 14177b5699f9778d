"""``python -m benchmarks survival-defaults``: every survival library as it comes, or settings of ours, on real tables.

Held-out rows are scored by concordance with inverse weights of censoring, up to the last time of the Brier score, and
by the integrated Brier score; the censoring is that of the training rows.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Row, timed
from benchmarks.notebook import Notebook
from benchmarks.ranking import ranks
from benchmarks.survival_averaging import RANGE, SETS, TIMES, SurvivalSet
from benchmarks.table import Column, Table

FloatArray = NDArray[np.float64]
Told = tuple[FloatArray, FloatArray]
"""Risks, and survival functions (rows, times)."""
Predict = Callable[[Any, FloatArray], Told]
Fit = Callable[[Any, FloatArray, int], Predict]

COX, AFT, FOREST = "arboretum cox", "arboretum aft", "arboretum forest"
MEASURES = {"concordance": ("concordance (IPCW)", 1), "brier": ("integrated Brier score", -1)}


def ours(kind: str, settings: Mapping[str, Any], X: Any, y: FloatArray, threads: int) -> Predict:
    """Fit one of our models, which take the frame as it is."""
    import arboretum as arb

    if kind == FOREST:
        model: Any = arb.RandomSurvivalForest(n_jobs=threads, **settings)
    else:
        model = arb.BoostedTreesSurvival(loss=kind.split()[1], n_jobs=threads, **settings)
    model.fit(X, y)
    return lambda rows, times: (model.predict(rows), model.predict_survival_function(rows, times))


def encoder(X: Any) -> Callable[[Any], FloatArray]:
    """Return what other libraries need: a column per category but the first, medians for missing numbers."""
    import pandas as pd

    text = [name for name in X.columns if X[name].dtype.kind not in "biuf"]
    medians = X.drop(columns=text).median()
    known = pd.get_dummies(X, columns=text, drop_first=True).columns

    def encoded(rows: Any) -> FloatArray:
        columns = pd.get_dummies(rows, columns=text).reindex(columns=known, fill_value=0)
        return np.asarray(columns.fillna(medians), dtype=np.float64)

    return encoded


def scikit_survival(make: Callable[[int], Any], X: Any, y: FloatArray, threads: int) -> Predict:
    """Fit an estimator of scikit-survival."""
    from sksurv.util import Surv

    encoded = encoder(X)
    model = make(threads).fit(encoded(X), Surv.from_arrays(y[:, 1] == 1, y[:, 0]))

    def told(rows: Any, times: FloatArray) -> Told:
        known = encoded(rows)
        curves = model.predict_survival_function(known)
        return model.predict(known), np.array([curve(np.clip(times, *curve.domain)) for curve in curves])

    return told


def boosting_of_scikit_survival(threads: int) -> Any:
    """Return its gradient boosting."""
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis

    return GradientBoostingSurvivalAnalysis(random_state=0)


def forest_of_scikit_survival(threads: int) -> Any:
    """Return its random survival forest."""
    from sksurv.ensemble import RandomSurvivalForest

    return RandomSurvivalForest(random_state=0, n_jobs=threads)


def cox_of_scikit_survival(threads: int) -> Any:
    """Return its linear Cox model, of standardised columns: without a little ridge, some tables have no solution."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    return make_pipeline(StandardScaler(), CoxPHSurvivalAnalysis(alpha=0.01))


def xgboost_cox(X: Any, y: FloatArray, threads: int) -> Predict:
    """Fit XGBoost's Cox model; it has no survival functions, so Breslow's baseline is added."""
    import xgboost
    from sksurv.linear_model.coxph import BreslowEstimator

    encoded = encoder(X)
    rows = xgboost.DMatrix(encoded(X), np.where(y[:, 1] == 1, y[:, 0], -y[:, 0]))
    model = xgboost.train({"objective": "survival:cox", "nthread": threads}, rows, 100)
    baseline = BreslowEstimator().fit(model.predict(rows, output_margin=True), y[:, 1] == 1, y[:, 0])

    def told(rows: Any, times: FloatArray) -> Told:
        risk = model.predict(xgboost.DMatrix(encoded(rows)), output_margin=True)
        curves = baseline.get_survival_function(risk)
        return risk, np.array([curve(np.clip(times, *curve.domain)) for curve in curves])

    return told


def xgboost_aft(X: Any, y: FloatArray, threads: int) -> Predict:
    """Fit XGBoost's accelerated failure times: normal, with scale 1."""
    import xgboost
    from scipy.stats import norm

    encoded = encoder(X)
    rows = xgboost.DMatrix(encoded(X))
    rows.set_float_info("label_lower_bound", y[:, 0])
    rows.set_float_info("label_upper_bound", np.where(y[:, 1] == 1, y[:, 0], np.inf))
    model = xgboost.train({"objective": "survival:aft", "nthread": threads}, rows, 100)

    def told(rows: Any, times: FloatArray) -> Told:
        raw = model.predict(xgboost.DMatrix(encoded(rows)), output_margin=True)
        return -raw, norm.sf(np.log(times) - raw[:, None])

    return told


UNTOUCHED: dict[str, Fit] = {
    COX: partial(ours, COX, {}),
    AFT: partial(ours, AFT, {}),
    FOREST: partial(ours, FOREST, {}),
    "scikit-survival boosting": partial(scikit_survival, boosting_of_scikit_survival),
    "scikit-survival forest": partial(scikit_survival, forest_of_scikit_survival),
    "scikit-survival cox": partial(scikit_survival, cox_of_scikit_survival),
    "xgboost cox": xgboost_cox,
    "xgboost aft": xgboost_aft,
}
BOOSTED: dict[str, dict[str, Any]] = {
    "default": {},
    "rate 0.05": {"learning_rate": 0.05},
    "rate 0.03": {"learning_rate": 0.03},
    "30 rounds": {"n_estimators": 30},
    "l2 10": {"l2": 10.0},
    "l2 30": {"l2": 30.0},
    "4 leaves": {"max_leaf_nodes": 4},
    "8 leaves": {"max_leaf_nodes": 8},
    "20 rows a leaf": {"min_samples_leaf": 20},
    "half of the rows": {"subsample": 0.5},
    "mean gradients": {"second_order": False, "leaf_steps": 0},
    "no early stopping": {"early_stopping": False},
}
FORESTS: dict[str, dict[str, Any]] = {
    "default": {},
    "3 rows a leaf": {"min_samples_leaf": 3},
    "6 rows a leaf": {"min_samples_leaf": 6},
    "15 rows a leaf": {"min_samples_leaf": 15},
    "third of the columns": {"max_features": 1 / 3},
}
SETTINGS: dict[str, Fit] = {
    f"{kind}, {name}": partial(ours, kind, settings)
    for kind, candidates in ((COX, BOOSTED), (AFT, BOOSTED), (FOREST, FORESTS))
    for name, settings in candidates.items()
}


def folds(real: SurvivalSet, folder: Path, most_rows: int, n_folds: int) -> Iterator[tuple[Any, FloatArray, Any, Any]]:
    """Yield training and test rows with the same share of events; test rows end before the last training row."""
    X, y = real.read(folder)
    some = np.random.default_rng(0).permutation(len(y))[:most_rows]
    X, y = X.iloc[some].reset_index(drop=True), y[some]
    order = np.lexsort((np.random.default_rng(1).random(len(y)), y[:, 1]))
    fold = np.empty(len(y), dtype=np.int64)
    fold[order] = np.arange(len(y)) % n_folds
    for k in range(n_folds):
        kept, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        out = out[y[out, 0] < y[kept, 0].max()]
        yield X.iloc[kept], y[kept], X.iloc[out], y[out]


def attempt(fit: Fit, X: Any, y: FloatArray, X_test: Any, y_test: FloatArray, threads: int) -> Row | str:
    """Fit and score one fold; a failure is noted in place of numbers."""
    import arboretum as arb

    low, high = np.quantile(y_test[y_test[:, 1] == 1, 0], RANGE)
    times = np.linspace(low, min(high, np.unique(y_test[:, 0])[-2]), TIMES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds, predict = timed(partial(fit, X, y, threads))
            risk, survival = predict(X_test, times)
        survival = np.clip(np.asarray(survival, dtype=np.float64), 0.0, 1.0)
        brier = arb.metrics.integrated_brier_score(y_test, survival, times, y_train=y)
        order = arb.metrics.concordance_index_ipcw(y_test, risk.astype(np.float64), y_train=y, tau=float(times[-1]))
    except Exception as error:
        return f"failed: {type(error).__name__}: {error}"
    return {"concordance": order, "brier": brier, "fit_s": seconds}


def study(notebook: Notebook, name: str, contenders: Mapping[str, Fit], options: argparse.Namespace) -> None:
    """Note what is not yet noted about one set."""
    parts = None
    for contender, fit in contenders.items():
        for fold in range(options.folds):
            if notebook.has(name, contender, fold):
                continue
            parts = parts or list(folds(SETS[name], options.data, options.rows, options.folds))
            row = attempt(fit, *parts[fold], options.threads)
            notebook.add(name, contender, fold, row)
        print(f"  {name}, {contender}", file=sys.stderr, flush=True)


def means(notebook: Notebook, name: str, contender: str, n_folds: int) -> Row:
    """Return means over the folds that could be measured; NaN if there is none."""
    rows = [row for row in notebook.of(name, contender, n_folds) if isinstance(row, dict)]
    keys = [*MEASURES, "fit_s"]
    return {key: float(np.mean([row[key] for row in rows])) if rows else float("nan") for key in keys}


def tables(by_set: Mapping[str, Mapping[str, Row]]) -> list[Table]:
    """Return one table per measure, then ranks and differences from the best mean with their standard errors."""
    contenders = list(next(iter(by_set.values())))
    found = []
    total = Table(
        "survival-defaults",
        "mean over the sets; mean less the best one's with its standard error over the sets; mean rank; seconds",
        [
            Column(f"{key}{of}", f"{MEASURES[key][0]}{heading}", 3)
            for key in MEASURES
            for of, heading in (("", ""), (" beside", " − best"), (" error", " ±"), (" rank", " rank"))
        ]
        + [Column("fit_s", "fit s")],
        rows_are="",
    )
    total.rows = {contender: {} for contender in contenders}
    for key, (title, sign) in MEASURES.items():
        values = np.array([[rows[contender][key] for contender in contenders] for rows in by_set.values()])
        table = Table(f"survival-defaults-{key}", title, [Column(one, one, 4) for one in contenders], rows_are="set")
        table.rows = {name: dict(zip(contenders, row, strict=True)) for name, row in zip(by_set, values, strict=True)}
        found.append(table)
        complete = values[~np.isnan(values).any(axis=1)]
        best = int(np.argmax(sign * complete.mean(axis=0)))
        placed = np.array([ranks(-sign * row) for row in complete]).mean(axis=0)
        for place, contender in enumerate(contenders):
            apart, row = complete[:, place] - complete[:, best], total.rows[contender]
            assert isinstance(row, dict)
            row[key], row[f"{key} beside"] = complete[:, place].mean(), apart.mean()
            row[f"{key} error"] = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else float("nan")
            row[f"{key} rank"] = placed[place]
            row["fit_s"] = sum(rows[contender]["fit_s"] for rows in by_set.values())
    return [*found, total]


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the options of the study; its ``--json`` file is resumed."""
    command.set_defaults(run=run)
    add = command.add_argument
    add("--data", type=Path, required=True, help="folder that holds a folder survival/")
    add("--sets", default=",".join(SETS), help="comma-separated; default: %(default)s")
    add("--folds", type=positive, default=5)
    add("--rows", type=positive, default=2_000, help="most rows of a set")
    add("--libraries", default="all", help=f"comma-separated; default: {','.join(UNTOUCHED)}")
    add("--settings", nargs="?", const="all", help="compare settings of arboretum in place of libraries")


def chosen(kind: str, names: str, known: Mapping[str, Any]) -> list[str]:
    """Return the names that are asked for, or reject them."""
    wanted = list(known) if names == "all" else names.split(",")
    for name in wanted:
        if name not in known:
            raise ValueError(f"no {kind} is called {name!r}; there are: {', '.join(known)}")
    return wanted


def run(options: argparse.Namespace) -> int:
    """Study every set that is found, and print what came out; the exit code is 1 if a contender failed."""
    about = {"rows": options.rows, "folds": options.folds}
    known = SETTINGS if options.settings else UNTOUCHED
    try:
        names = chosen("set", options.sets, SETS)
        if options.settings:
            picked = [name for name in known if options.settings == "all" or name.startswith(options.settings)]
        else:
            picked = chosen("library", options.libraries, known)
        notebook = Notebook.open(about, options.json)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    contenders = {name: known[name] for name in picked}
    found = [name for name in names if (options.data / "survival" / SETS[name].file).exists()]
    for name in names:
        if name not in found:
            print(f"{name} skipped: {options.data} does not hold it")
            continue
        study(notebook, name, contenders, options)
    print(f"{options.folds} folds of at most {options.rows:,} rows a set", end="\n\n")
    by_set = {name: {one: means(notebook, name, one, options.folds) for one in contenders} for name in found}
    for table in tables(by_set) if by_set and contenders else []:
        print(table.markdown() if options.markdown else table.text(), end="\n\n")
    failed = [
        f"{name}, {contender}, fold {fold + 1} {row}"
        for name in found
        for contender in contenders
        for fold, row in enumerate(notebook.of(name, contender, options.folds))
        if isinstance(row, str)
    ]
    print("".join(f"{line}\n" for line in failed), end="")
    return 1 if failed else 0
