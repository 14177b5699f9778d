"""``python -m benchmarks forest-defaults``: which settings of a random forest serve best over real tables.

With ``--rivals`` it compares every library's forest as it comes (``untouched_forests.py``).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks import untouched_forests
from benchmarks.measuring import Row, score, timed
from benchmarks.public_sets import chosen_sets
from benchmarks.ranking import ranks
from benchmarks.real_sets import RealSet
from benchmarks.rivals import FORESTS
from benchmarks.table import HOME, Column, Table
from benchmarks.task import Task
from benchmarks.workloads.forests import SETTINGS

LEAVES = (1, 2, 5)
COLUMNS: dict[str, Any] = {"√p": "sqrt", "p/3": 1 / 3, "p/2": 0.5, "p": 1.0}
BINS = {"255 bins": 255, "exact": None}
GRID: dict[str, dict[str, Any]] = {
    f"{rows} a leaf, {columns}, {bins}": {"min_rows": rows, "columns": COLUMNS[columns], "bins": BINS[bins]}
    for rows, columns, bins in product(LEAVES, COLUMNS, BINS)
}
MEASURES = {"log_loss": "log-loss", "auc": "AUC", "accuracy": "accuracy", "rmse": "RMSE / deviation", "fit_s": "fit s"}
HIGHER_IS_BETTER = ("auc", "accuracy")

Scores = dict[str, dict[str, Row]]
"""set → settings → measures."""


def measure(task: Task) -> Row:
    """Fit and score one forest; errors of numbers are relative to their standard deviation."""
    rival = FORESTS[HOME]
    fit_s, model = timed(lambda: rival.fit(task))
    row = score(task, rival.predict(model, task.X_test)) | {"fit_s": fit_s}
    if task.kind == "regression":
        row["rmse"] /= float(np.std(task.y_test))
    return {key: row[key] for key in MEASURES if key in row}


def study(real: RealSet, options: argparse.Namespace) -> dict[str, Row]:
    """Return the mean scores of every setting over the folds of one set."""
    base = replace(SETTINGS, rounds=options.trees, threads=options.threads)
    tasks = list(real.folds(options.data, options.rows, options.folds, base))
    scores = {}
    for name, changes in GRID.items():
        rows = [measure(task.with_settings(**changes)) for task in tasks]
        scores[name] = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    return scores


def mean_ranks(scores: Scores, key: str) -> dict[str, float]:
    """Return the rank of each setting among all (1 = best; ties share), a mean over the sets that have the measure."""
    sign = -1 if key in HIGHER_IS_BETTER else 1
    among = [by_setting.values() for by_setting in scores.values() if has(by_setting, key)]
    mean = np.mean([ranks([sign * row[key] for row in rows]) for rows in among], axis=0)
    return dict(zip(GRID, mean.tolist(), strict=True))


def has(by_setting: dict[str, Row], key: str) -> bool:
    """Whether a set has the measure."""
    return key in next(iter(by_setting.values()))


def measure_table(scores: Scores, key: str) -> Table:
    """Lay out one measure: a row a setting, a column a set, and the mean rank."""
    among = {name: by_setting for name, by_setting in scores.items() if has(by_setting, key)}
    digits = 3 if key == "fit_s" else 4
    table = Table(
        f"forest-defaults-{key}",
        f"{MEASURES[key]}, mean over folds",
        [Column("rank", "mean rank"), *(Column(name, name, digits) for name in among)],
        rows_are="setting",
    )
    mean = mean_ranks(scores, key)
    for setting in GRID:
        table.rows[setting] = {"rank": mean[setting]} | {name: row[setting][key] for name, row in among.items()}
    return table


def value_table(scores: Scores, keys: Sequence[str]) -> Table:
    """Average the ranks over all settings that share a value of one parameter."""
    title = "mean rank of all settings with a value"
    columns = [Column(key, MEASURES[key]) for key in keys]
    table = Table("forest-defaults-values", title, columns, rows_are="value")
    mean = {key: mean_ranks(scores, key) for key in keys}
    for place, values in enumerate(([f"{rows} a leaf" for rows in LEAVES], COLUMNS, BINS)):
        for value in values:
            with_value = [setting for setting in GRID if setting.split(", ")[place] == value]
            table.rows[value] = {key: float(np.mean([mean[key][s] for s in with_value])) for key in keys}
    return table


def tables(scores: Scores) -> list[Table]:
    """Return one table a measure, then the mean ranks by the value of a parameter."""
    keys = [key for key in MEASURES if any(has(by_setting, key) for by_setting in scores.values())]
    return [*(measure_table(scores, key) for key in keys), value_table(scores, keys)]


def run(options: argparse.Namespace) -> int:
    """Study every set that is found, and print what came out."""
    if options.rivals:
        return untouched_forests.run(options)
    try:
        chosen = chosen_sets(options.sets.split(","))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    scores: Scores = {}
    for name, real in chosen.items():
        if real.found(options.data):
            seconds, scores[name] = timed(partial(study, real, options))
            print(f"  {name} {seconds:.0f} s", file=sys.stderr, flush=True)
        else:
            print(f"{name} skipped: {options.data} does not hold it")
        if options.json:
            options.json.write_text(json.dumps(scores, indent=1, ensure_ascii=False))
    print(f"{options.trees} trees, {options.folds} folds of at most {options.rows:,} rows a set", end="\n\n")
    for table in tables(scores) if scores else []:
        print(table.markdown() if options.markdown else table.text(), end="\n\n")
    return 0
