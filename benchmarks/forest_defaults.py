"""``python -m benchmarks forest-defaults``: which settings of a random forest serve best over real tables.

With ``--rivals`` it compares every library's forest as it comes (``untouched_forests.py``).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks import untouched_forests
from benchmarks.measuring import Row, score, timed
from benchmarks.public_sets import chosen_sets
from benchmarks.ranking import ranks
from benchmarks.real_sets import RealSet
from benchmarks.rivals import Rival
from benchmarks.rivals.untouched import UntouchedForest
from benchmarks.table import HOME, Column, Table
from benchmarks.task import Settings, Task

AUTO = "auto"
LEAVES = (1, 2, 5)
COLUMNS: dict[str, Any] = {"√p": "sqrt", "p/3": 1 / 3, "p/2": 0.5, "p": 1.0}
GRID: dict[str, dict[str, Any]] = {
    AUTO: {},
    **{
        f"{rows} a leaf, {columns}": {"min_samples_leaf": rows, "max_features": COLUMNS[columns]}
        for rows, columns in product(LEAVES, COLUMNS)
    },
}
ESTIMATORS = ("RandomForest", "ExtraTrees")
MOST = 0.3  # that a table counts, in logarithms
MEASURES = {"log_loss": "log-loss", "auc": "AUC", "accuracy": "accuracy", "rmse": "RMSE / deviation", "fit_s": "fit s"}
HIGHER_IS_BETTER = ("auc", "accuracy")
LOSSES = ("log_loss", "rmse")

Scores = dict[str, dict[str, Row]]
"""set → settings → measures."""


def measure(rival: Rival, task: Task) -> Row:
    """Fit and score one forest; errors of numbers are relative to their standard deviation."""
    fit_s, model = timed(lambda: rival.fit(task))
    row = score(task, rival.predict(model, task.X_test)) | {"fit_s": fit_s}
    if task.kind == "regression":
        row["rmse"] /= float(np.std(task.y_test))
    return {key: row[key] for key in MEASURES if key in row}


def study(real: RealSet, options: argparse.Namespace) -> dict[str, Row]:
    """Return the mean scores of every setting over the folds of one set."""
    tasks = list(real.folds(options.data, options.rows, options.folds, Settings(threads=options.threads)))
    scores = {}
    for name, changes in GRID.items():
        rival = UntouchedForest(HOME, options.estimator, n_estimators=options.trees, **changes)
        rows = [measure(rival, task) for task in tasks]
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
    for place, values in enumerate(([f"{rows} a leaf" for rows in LEAVES], COLUMNS)):
        for value in values:
            with_value = [setting for setting in GRID if setting != AUTO and setting.split(", ")[place] == value]
            table.rows[value] = {key: float(np.mean([mean[key][s] for s in with_value])) for key in keys}
    return table


def left_out_table(scores: Scores, keys: Sequence[str]) -> Table:
    """Compare what is chosen for each table with one setting for all, chosen without the table that it is judged on.

    Numbers are geometric means of losses beside those of "auto".
    """
    columns = [Column(key, f"{MEASURES[key]} / auto's", 4) for key in keys]
    table = Table("forest-defaults-left-out", "leave one table out", columns, rows_are="choice")
    fixed = [setting for setting in GRID if setting != AUTO]
    rows: dict[str, dict[str, float]] = {AUTO: {}, "one for all other tables": {}, "the best of each table": {}}
    for key in keys:
        among = [by_setting for by_setting in scores.values() if has(by_setting, key)]
        own = np.array([by_setting[AUTO][key] for by_setting in among])
        beside = np.log(
            np.array([[by_setting[setting][key] for setting in fixed] for by_setting in among]) / own[:, None]
        )
        bounded = np.clip(beside, -MOST, MOST)
        others = (bounded.sum(axis=0) - bounded) / max(1, len(among) - 1)
        found = (np.zeros(len(among)), beside[np.arange(len(among)), others.argmin(axis=1)], beside.min(axis=1))
        for row, ratios in zip(rows.values(), found, strict=True):
            row[key] = float(np.exp(ratios.mean()))
    table.rows.update(rows)
    return table


def tables(scores: Scores) -> list[Table]:
    """Return one table a measure, the mean ranks by the value of a parameter, and how a choice pays."""
    keys = [key for key in MEASURES if any(has(by_setting, key) for by_setting in scores.values())]
    losses = [key for key in LOSSES if key in keys]
    return [
        *(measure_table(scores, key) for key in keys),
        value_table(scores, keys),
        left_out_table(scores, losses),
    ]


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
    print(
        f"{options.estimator}, {options.trees} trees, {options.folds} folds of at most {options.rows:,} rows a set",
        end="\n\n",
    )
    for table in tables(scores) if scores else []:
        print(table.markdown() if options.markdown else table.text(), end="\n\n")
    return 0
