"""``python -m benchmarks forest-defaults --rivals``: forests and extra trees of every library as they come."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.boosting_defaults import TIE, Contenders, installed, study
from benchmarks.measuring import Row, score, timed
from benchmarks.notebook import Notebook
from benchmarks.public_sets import chosen_sets
from benchmarks.ranking import ranks
from benchmarks.rivals import UNTOUCHED_FORESTS, Rival
from benchmarks.table import Column, Table
from benchmarks.task import Task

Means = dict[str, dict[str, Row]]
"""set → contender → measures."""


@dataclass(frozen=True)
class Measure:
    """A score of predictions; ``sign`` is −1 where higher is better, ``ratio`` whether means are compared by it."""

    key: str
    heading: str
    sign: int = 1
    ratio: bool = False

    def sets(self, means: Means) -> Means:
        """Return the sets that have the measure."""
        return {name: rows for name, rows in means.items() if any(self.key in row for row in rows.values())}

    def losses(self, means: Means) -> NDArray[np.float64]:
        """Return what is ranked, (sets, contenders); infinity where a contender failed."""
        return np.array(
            [[self.sign * row.get(self.key, self.sign * np.inf) for row in rows.values()] for rows in means.values()]
        )


MEASURES = (
    Measure("log_loss", "log-loss", ratio=True),
    Measure("auc", "AUC", sign=-1),
    Measure("accuracy", "accuracy", sign=-1),
    Measure("rmse", "RMSE", ratio=True),
)


def fit_and_scores(rival: Rival, task: Task) -> Row:
    """Fit and judge once."""
    fit_s, model = timed(lambda: rival.fit(task))
    return {"fit_s": fit_s, **score(task, rival.predict(model, task.X_test))}


def means(notebook: Notebook, problem: str, contenders: Contenders, n_folds: int) -> dict[str, Row]:
    """Return the mean of every measure over the folds; nothing of a contender that failed in one."""
    answer = {}
    for contender in contenders:
        rows = [row for row in notebook.of(problem, contender, n_folds) if isinstance(row, dict)]
        complete = rows if len(rows) == n_folds else []
        answer[contender] = {key: float(np.mean([row[key] for row in complete])) for key in (complete or [{}])[0]}
    return answer


def rank_table(by_set: Means) -> Table:
    """Lay out mean ranks with their standard errors over the sets, losses beside the first contender's, and seconds."""
    contenders = list(next(iter(by_set.values())))
    title = f"mean rank ± standard error over the sets, 1 = best, ties by {TIE:.1%}; geometric mean of losses"
    table = Table("forest-defaults-rivals", title, [], rows_are="", rows={name: {} for name in contenders})
    columns = []
    for measure in MEASURES:
        among = measure.sets(by_set)
        if not among:
            continue
        losses = measure.losses(among)
        placed = np.array([ranks(row, TIE) for row in losses])
        found = {"": placed.mean(axis=0), " ±": placed.std(axis=0, ddof=min(1, len(placed) - 1)) / len(placed) ** 0.5}
        columns += [Column(measure.key, f"{measure.heading}, {len(among)} sets"), Column(measure.key + " ±", "±", 2)]
        if measure.ratio:
            with np.errstate(divide="ignore", invalid="ignore"):
                found[" ÷"] = np.exp(np.mean(np.log(losses / losses[:, :1]), axis=0))
            columns.append(Column(measure.key + " ÷", f"÷ {contenders[0]}'s", 4))
        for suffix, values in found.items():
            for contender, value in zip(contenders, values.tolist(), strict=True):
                _row(table, contender)[measure.key + suffix] = value
    for contender in contenders:
        _row(table, contender)["fit_s"] = sum(rows[contender].get("fit_s", np.nan) for rows in by_set.values())
    table.columns = [*columns, Column("fit_s", "seconds of a fit, all sets")]
    return table


def _row(table: Table, contender: str) -> Row:
    row = table.rows[contender]
    assert isinstance(row, dict)
    return row


def measure_table(by_set: Means, measure: Measure) -> Table:
    """Lay out one measure of every contender, a row per set."""
    among = measure.sets(by_set)
    contenders = next(iter(by_set.values()))
    columns = [Column(name, name, 4) for name in contenders]
    table = Table(f"forest-defaults-{measure.key}", f"{measure.heading}, mean over folds", columns, rows_are="set")
    for name, rows in among.items():
        table.rows[name] = {contender: row[measure.key] for contender, row in rows.items() if measure.key in row}
    return table


def tables(by_set: Means) -> list[Table]:
    """Return ranks, then one table per measure."""
    measured: Mapping[str, Measure] = {measure.key: measure for measure in MEASURES if measure.sets(by_set)}
    return [rank_table(by_set), *(measure_table(by_set, measure) for measure in measured.values())]


def run(options: argparse.Namespace) -> int:
    """Cross-validate on every set that is found; the exit code is 1 if a contender failed."""
    about = {"rows": options.rows, "folds": options.folds, "threads": options.threads}
    try:
        sets = chosen_sets(options.sets.split(","))
        contenders = installed(UNTOUCHED_FORESTS, "library", options.libraries)
        notebook = Notebook.open(about, options.json)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return study(notebook, sets, contenders, options, tables, fit_and_scores, means)
