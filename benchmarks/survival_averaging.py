"""``python -m benchmarks survival-averaging``: what a survival forest should average, over real tables.

A forest of single trees is asked through its public methods, so that each way of averaging sees the same trees::

    hazards     exp(−mean of the trees' cumulative hazards)        Nelson–Aalen estimates of their leaves
    survival    mean of the trees' survival functions               Kaplan–Meier estimates of their leaves

Risks are compared as well: the sum of the averaged cumulative hazard, or of the averaged probability to have died, over
the times of events.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Row, timed
from benchmarks.table import Column, Table

FloatArray = NDArray[np.float64]

MEASURES = {"brier": ("integrated Brier score", 4), "concordance": ("concordance", 4)}
TIMES = 100  # of the integral
RANGE = (0.1, 0.9)  # quantiles of the times of events in the held-out rows that it reaches from and to


@dataclass(frozen=True)
class SurvivalSet:
    """A file of right-censored rows.

    ``event`` is the value of its column that stands for an event; ``only`` keeps the rows with a value in a column.
    """

    file: str
    time: str
    status: str
    event: Any = 1
    dropped: tuple[str, ...] = ()
    only: dict[str, Any] = field(default_factory=dict)

    def read(self, folder: Path) -> tuple[Any, FloatArray]:
        """Return the columns as a data frame, and (time, event) of each row."""
        frame = read_file(folder / "survival" / self.file)
        for column, value in self.only.items():
            frame = frame[frame[column] == value]
        frame = frame[frame[self.time] > 0].dropna(subset=[self.time, self.status]).reset_index(drop=True)
        y = np.column_stack([frame[self.time].to_numpy(np.float64), frame[self.status].to_numpy() == self.event])
        return frame.drop(columns=[self.time, self.status, *self.dropped, *self.only]), y


SETS = {
    "actg175": SurvivalSet("lifelines_ACTG175.csv", "days", "cens", dropped=("Unnamed: 0", "pidnum")),
    "actg320": SurvivalSet("sksurv_actg320.arff", "time", "censor", "1", dropped=("time_d", "censor_d")),
    "breast": SurvivalSet("sksurv_breast_cancer_GSE7390-metastasis.arff", "t.tdm", "e.tdm", "1"),
    "colon": SurvivalSet(
        "R_colon.csv", "time", "status", dropped=("rownames", "id", "study", "node4"), only={"etype": 2}
    ),
    "dictators": SurvivalSet(
        "lifelines_dd.csv",
        "duration",
        "observed",
        dropped=("ctryname", "cowcode2", "politycode", "ehead", "leaderspellreg"),
    ),
    "flchain": SurvivalSet("R_flchain.csv", "futime", "death", dropped=("rownames", "chapter")),
    "gbsg": SurvivalSet("R_gbsg.csv", "rfstime", "status", dropped=("rownames", "pid")),
    "lung": SurvivalSet("R_cancer.csv", "time", "status", 2, dropped=("rownames", "inst")),
    "mgus": SurvivalSet("R_mgus.csv", "futime", "death", dropped=("rownames", "id", "pcdx", "pctime")),
    "nwtco": SurvivalSet("R_nwtco.csv", "edrel", "rel", dropped=("rownames", "seqno", "in.subcohort")),
    "pbc": SurvivalSet("R_pbc.csv", "time", "status", 2, dropped=("rownames", "id")),
    "rossi": SurvivalSet("lifelines_rossi.csv", "week", "arrest"),
    "rotterdam": SurvivalSet("R_rotterdam.csv", "dtime", "death", dropped=("rownames", "pid", "rtime", "recur")),
    "transplant": SurvivalSet("lifelines_kidney_transplant.csv", "time", "death"),
    "veteran": SurvivalSet("R_veteran.csv", "time", "status", dropped=("rownames",)),
    "whas500": SurvivalSet("sksurv_whas500.arff", "lenfol", "fstat", "1", dropped=("los",)),
}


def read_file(path: Path) -> Any:
    """Return a data frame of a CSV or ARFF file; text is categories."""
    import pandas as pd

    if path.suffix != ".arff":
        return pd.read_csv(path)
    from scipy.io import arff

    rows, _ = arff.loadarff(path)
    frame = pd.DataFrame(rows)
    texts = frame.select_dtypes(object).columns
    return frame.assign(**{name: frame[name].str.decode("utf-8").replace("?", None) for name in texts})


def judge(trees: list[Any], X: Any, y: FloatArray, y_train: FloatArray) -> dict[str, Row]:
    """Score both ways of averaging on rows that the trees have not seen."""
    import arboretum as arb

    low, high = np.quantile(y[y[:, 1] == 1, 0], RANGE)
    times = np.linspace(low, min(high, np.unique(y[:, 0])[-2]), TIMES)
    events = np.unique(y_train[y_train[:, 1] == 1, 0])
    hazard: Any = 0.0
    survival: Any = 0.0
    at = np.concatenate([times, events])
    for tree in trees:
        hazard = hazard + tree.predict_cumulative_hazard(X, at)
        survival = survival + tree.predict_survival_function(X, at)
    hazard, survival = hazard / len(trees), survival / len(trees)
    found = {}
    for name, function, risk in (
        ("hazards", np.exp(-hazard[:, :TIMES]), hazard[:, TIMES:].sum(axis=1)),
        ("survival", survival[:, :TIMES], -survival[:, TIMES:].sum(axis=1)),
    ):
        score = arb.metrics.integrated_brier_score(y, function, times, y_train=y_train)
        found[name] = {"brier": score, "concordance": arb.metrics.concordance_index(y, risk)}
    return found


def study(real: SurvivalSet, options: argparse.Namespace) -> dict[str, Row]:
    """Return the mean scores over the folds of several splits."""
    import arboretum as arb

    X, y = real.read(options.data)
    scores: dict[str, list[Row]] = {}
    for seed in range(options.splits):
        order = np.lexsort((np.random.default_rng(seed).random(len(y)), y[:, 1]))
        fold = np.empty(len(y), dtype=np.int64)
        fold[order] = np.arange(len(y)) % options.folds  # the same share of events in each
        for k in range(options.folds):
            kept, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            # Nothing is known of the censoring of rows after the last training row.
            out = out[y[out, 0] < y[kept, 0].max()]
            settings = {"n_estimators": 1, "n_jobs": options.threads, "missing": "warn"}
            trees = [
                arb.RandomSurvivalForest(**settings, random_state=1000 * seed + tree).fit(X.iloc[kept], y[kept])
                for tree in range(options.trees)
            ]
            for name, row in judge(trees, X.iloc[out], y[out], y[kept]).items():
                scores.setdefault(name, []).append(row)
    return {
        name: {key: float(np.mean([row[key] for row in rows])) for key in MEASURES} for name, rows in scores.items()
    }


def tables(scores: dict[str, dict[str, Row]]) -> list[Table]:
    """Return one table per measure: a row per set, a column per way of averaging."""
    found = []
    for key, (title, digits) in MEASURES.items():
        names = list(next(iter(scores.values())))
        table = Table(
            f"survival-averaging-{key}", title, [Column(name, name, digits) for name in names], rows_are="set"
        )
        for real, row in scores.items():
            table.rows[real] = {name: row[name][key] for name in names}
        table.rows["mean"] = {name: float(np.mean([row[name][key] for row in scores.values()])) for name in names}
        found.append(table)
    return found


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the options of the study."""
    command.set_defaults(run=run)
    add = command.add_argument
    add("--data", type=Path, required=True, help="folder that holds a folder survival/")
    add("--sets", default=",".join(SETS), help="comma-separated; default: %(default)s")
    add("--folds", type=positive, default=5)
    add("--splits", type=positive, default=3, help="times that the rows are dealt into folds")
    add("--trees", type=positive, default=100, help="trees of a forest")


def run(options: argparse.Namespace) -> int:
    """Study every set that is found, and print what came out."""
    wanted = options.sets.split(",")
    unknown = [name for name in wanted if name not in SETS]
    if unknown:
        print(f"no set is called {unknown[0]!r}; there are: {', '.join(SETS)}", file=sys.stderr)
        return 2
    scores: dict[str, dict[str, Row]] = {}
    for name in wanted:
        real = SETS[name]
        if not (options.data / "survival" / real.file).exists():
            print(f"{name} skipped: {options.data} does not hold it")
            continue
        seconds, scores[name] = timed(partial(study, real, options))
        print(f"  {name} {seconds:.0f} s", file=sys.stderr, flush=True)
        if options.json:
            options.json.write_text(json.dumps(scores, indent=1, ensure_ascii=False))
    print(f"{options.trees} trees, {options.splits} × {options.folds} folds", end="\n\n")
    for table in tables(scores) if scores else []:
        print(table.markdown() if options.markdown else table.text(), end="\n\n")
    return 0
