"""Uplift on Hillstrom's e-mails and on simulated rows: forests beside causalml's, boosting beside two models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import FIT, RATIO, Bench, timed
from benchmarks.table import HOME, Column, Table

SEEDS = 5
DEPTH, LEAST_ROWS, LEAST_ARM, PARENT_WEIGHT, COLUMNS = 5, 100, 10, 10, 10
SCORES = (
    Column("qini", "Qini", 4),
    Column("qini_error", "± s.e.", 2),
    Column("auuc", "AUUC", 4),
    Column("auuc_error", "± s.e.", 2),
)


@dataclass(frozen=True)
class Rows:
    """Columns, outcomes of 0 and 1, and whether rows were treated."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    treated: NDArray[np.int64]

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[rows], self.y[rows], self.treated[rows])


Split = tuple[Rows, Rows]
Method = Callable[[Rows, int], Callable[[NDArray[np.float64]], NDArray[np.float64]]]


def hillstrom(folder: Path, seed: int) -> Split:
    """Return two halves of the women's campaign against none; the outcome is a visit."""
    import pandas as pd

    frame = pd.read_csv(folder / "hillstrom" / "hillstrom.csv.gz").rename(columns=str.lower)
    frame = frame[frame["segment"] != "Mens E-Mail"]
    X = pd.get_dummies(frame.drop(columns=["segment", "visit", "conversion", "spend"]))
    treated = (frame["segment"] != "No E-Mail").to_numpy(np.int64)
    rows = Rows(X.to_numpy(np.float64), frame["visit"].to_numpy(np.int64), treated)
    order = np.random.default_rng(seed).permutation(len(rows.y))
    return rows.take(order[: len(order) // 2]), rows.take(order[len(order) // 2 :])


def sim_pte(folder: Path, seed: int) -> Split:
    """Return the training and the test file of the R package uplift; the seed is that of the models alone."""
    import pandas as pd

    def read(name: str) -> Rows:
        frame = pd.read_csv(folder / "sim_pte" / f"sim_pte_{name}.csv.gz")
        columns = [column for column in frame if column.startswith("X")]
        y, treated = (frame[column].to_numpy(np.int64) for column in ("y", "treat"))
        return Rows(frame[columns].to_numpy(np.float64), y - y.min(), treated - treated.min())

    return read("train"), read("test")


SETS = {"hillstrom": hillstrom, "sim_pte": sim_pte}


def forest(bench: Bench) -> Method:
    """Return arboretum's forest."""
    import arboretum as arb

    def fit(rows: Rows, seed: int) -> Any:
        model = arb.UpliftForest(
            n_estimators=bench.rounds,
            max_depth=DEPTH,
            min_samples_leaf=LEAST_ROWS,
            min_samples_treatment=LEAST_ARM,
            parent_weight=PARENT_WEIGHT,
            max_features=COLUMNS,
            criterion="kl",
            honest=False,
            random_state=seed,
            n_jobs=bench.threads,
        )
        return model.fit(rows.X, rows.y, treatment=rows.treated).predict

    return fit


def causalml_forest(bench: Bench) -> Method:
    """Return causalml's forest with the same settings."""
    from causalml.inference.tree import UpliftRandomForestClassifier

    def fit(rows: Rows, seed: int) -> Any:
        model = UpliftRandomForestClassifier(
            control_name="0",
            n_estimators=bench.rounds,
            max_depth=DEPTH,
            min_samples_leaf=LEAST_ROWS,
            min_samples_treatment=LEAST_ARM,
            n_reg=PARENT_WEIGHT,
            max_features=COLUMNS,
            evaluationFunction="KL",
            random_state=seed,
            n_jobs=bench.threads,
        )
        model.fit(rows.X, y=rows.y, treatment=rows.treated.astype(str))
        return lambda X: model.predict(X)[:, 0]

    return fit


def boosting(bench: Bench) -> Method:
    """Return boosted uplift as it comes."""
    import arboretum as arb

    def fit(rows: Rows, seed: int) -> Any:
        model = arb.UpliftBoostedTrees(random_state=seed, n_jobs=bench.threads)
        return model.fit(rows.X, rows.y, treatment=rows.treated).predict

    return fit


def two_models(bench: Bench) -> Method:
    """Return the difference of two boosted classifiers with the same settings as boosted uplift."""
    import arboretum as arb

    shared = ("n_estimators", "learning_rate", "max_leaf_nodes", "subsample", "max_features", "l2", "early_stopping")
    settings = {name: value for name, value in arb.UpliftBoostedTrees().get_params().items() if name in shared}

    def fit(rows: Rows, seed: int) -> Any:
        models = [
            arb.BoostedTreesClassifier(**settings, random_state=seed, n_jobs=bench.threads).fit(
                rows.X[rows.treated == arm], rows.y[rows.treated == arm]
            )
            for arm in (0, 1)
        ]
        return lambda X: models[1].predict_proba(X)[:, 1] - models[0].predict_proba(X)[:, 1]

    return fit


def compare(name: str, title: str, methods: dict[str, Method], splits: list[Split]) -> Table:
    """Let the methods take turns on every split; the best time counts, scores are means."""
    from arboretum.metrics import auuc_score, qini_score

    table = Table(name, title, (FIT, RATIO, *SCORES))
    seconds: dict[str, list[float]] = {method: [] for method in methods}
    scores: dict[str, list[tuple[float, float]]] = {method: [] for method in methods}
    for seed, (training, test) in enumerate(splits):
        for method, fit in methods.items():
            fit_s, predict = timed(lambda fit=fit, rows=training, seed=seed: fit(rows, seed))
            uplift = predict(test.X)
            seconds[method].append(fit_s)
            scores[method].append(tuple(s(test.y, uplift, test.treated) for s in (qini_score, auuc_score)))
    for method in methods:
        row = {"fit_s": min(seconds[method])}
        for key, values in zip(("qini", "auuc"), zip(*scores[method], strict=True), strict=True):
            row |= {key: mean(values), f"{key}_error": stdev(values) / len(values) ** 0.5}
        table.rows[method] = row
    table.add_ratio("fit_s")
    return table


def run(bench: Bench) -> Iterator[Table]:
    """Compare forests, then boosting, on each set that is there."""
    for name, read in SETS.items():
        if bench.data is None or not (bench.data / name).is_dir():
            yield Table(f"uplift-{name}", f"skipped: no folder {name} in --data", ())
            continue
        splits = [read(bench.data, seed) for seed in range(SEEDS)]
        shape = f"{len(splits[0][0].y):,} × {splits[0][0].X.shape[1]}, {SEEDS} seeds"
        methods = {HOME: forest(bench)}
        if find_spec("causalml") is not None:
            methods["causalml"] = causalml_forest(bench)
        settings = f"{bench.rounds} trees of depth {DEPTH}, KL, {LEAST_ROWS} rows a leaf, {COLUMNS} columns a node"
        table = compare(f"uplift-{name}", f"{shape}, {settings}", methods, splits)
        if "causalml" not in methods:
            table.rows["causalml"] = "not installed"
        yield table
        methods = {HOME: boosting(bench), "two models": two_models(bench)}
        yield compare(f"uplift-boosting-{name}", f"{shape}, UpliftBoostedTrees as it comes", methods, splits)
