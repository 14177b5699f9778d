"""``python -m benchmarks boosting-defaults``: every library as it comes, or settings of ours, over real tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.measuring import Row, brief, fit_and_loss, trivial_task
from benchmarks.notebook import Notebook
from benchmarks.public_sets import chosen_sets
from benchmarks.ranking import ranks
from benchmarks.real_sets import RealSet
from benchmarks.rivals import UNTOUCHED, Rival
from benchmarks.rivals.arboretum import ArboretumDefaults
from benchmarks.table import Column, Table
from benchmarks.task import Settings, Task

TIE = 0.001
"""Losses that differ by less share their rank."""
CANDIDATES: dict[str, dict[str, Any]] = {
    "default": {},
    "100 rounds": {"n_estimators": 100},
    "rate 0.1, patience 10": {"learning_rate": 0.1, "n_iter_no_change": 10},
    "rate 0.05, patience 25": {"learning_rate": 0.05, "n_iter_no_change": 25},
    "never stopped": {"early_stopping": False},
    "not fitted again": {"refit": False},
    "15 leaves": {"max_leaf_nodes": 15},
    "63 leaves": {"max_leaf_nodes": 63},
    "1 row a leaf": {"min_samples_leaf": 1},
    "20 rows a leaf": {"min_samples_leaf": 20},
    "l2 0": {"l2": 0.0},
    "l2 3": {"l2": 3.0},
    "l2 30": {"l2": 30.0},
    "all rows a tree": {"subsample": 1.0},
    "half of the rows a tree": {"subsample": 0.5},
    "all columns a node": {"max_features": 1.0},
    "half of the columns a node": {"max_features": 0.5},
    "sets of categories alone": {"category_levels": None},
    "statistics beyond 5 levels": {"category_levels": 5},
    "no combinations": {"category_combinations": 1},
    "symmetric": {"growth": "symmetric"},
    "linear leaves": {"leaf_model": "linear"},
}

Contenders = Mapping[str, Rival]
Measure = Callable[[Rival, Task], Row]


def choose(options: argparse.Namespace) -> Contenders:
    """Return the settings or the libraries that the command line names, those that are installed."""
    if options.settings:
        candidates = {name: ArboretumDefaults(**settings) for name, settings in CANDIDATES.items()}
        return installed(candidates, "settings", options.settings)
    return installed(UNTOUCHED, "library", options.libraries)


def installed(known: Contenders, what: str, names: str) -> Contenders:
    """Return those of these names, or all, that are installed."""
    chosen = list(known) if names == "all" else names.split(",")
    for name in chosen:
        if name not in known:
            raise ValueError(f"no {what} is called {name!r}; there are: {', '.join(known)}")
    return {name: known[name] for name in chosen if known[name].available()}


def attempt(rival: Rival, task: Task, measure: Measure = fit_and_loss) -> Row | str:
    """Measure one fold; a failure is noted in place of numbers."""
    try:
        with rival.limited(task.settings.threads):
            return measure(rival, task)
    except Exception as error:
        return f"failed: {type(error).__name__}: {error}"


def cross_validate(
    notebook: Notebook,
    name: str,
    real: RealSet,
    contenders: Contenders,
    options: argparse.Namespace,
    measure: Measure = fit_and_loss,
) -> None:
    """Note what is not yet noted about one set."""
    wanted = [
        (contender, fold)
        for contender in contenders
        for fold in range(options.folds)
        if not notebook.has(name, contender, fold)
    ]
    if not wanted:
        return
    tasks = list(real.folds(options.data, options.rows, options.folds, Settings(threads=options.threads)))
    for contender, fold in wanted:
        row = attempt(contenders[contender], tasks[fold], measure)
        notebook.add(name, contender, fold, row)
        print(f"  {name}, {contender}, fold {fold + 1}: {brief(row)}", file=sys.stderr, flush=True)


def means(notebook: Notebook, problem: str, contenders: Contenders, n_folds: int) -> dict[str, Row]:
    """Return means over the folds; infinity where a fold failed, so that it ranks last."""
    answer = {}
    for contender in contenders:
        rows = notebook.of(problem, contender, n_folds)
        measured = [row for row in rows if isinstance(row, dict)]
        complete = len(measured) == len(rows)
        answer[contender] = {
            key: float(np.mean([row[key] for row in measured])) if complete else np.inf for key in ("loss", "fit_s")
        }
    return answer


def rank_table(by_set: Mapping[str, Mapping[str, Row]]) -> Table:
    """Lay out the rank on every set, the best mean first, and the loss beside that of the first contender."""
    contenders = list(next(iter(by_set.values())))
    losses = np.array([[rows[contender]["loss"] for contender in contenders] for rows in by_set.values()])
    placed = np.array([ranks(row, TIE) for row in losses])
    with np.errstate(divide="ignore", invalid="ignore"):  # where the first contender failed there is no ratio
        beside = np.exp(np.mean(np.log(losses / losses[:, :1]), axis=0))
    columns = (Column("mean", "mean rank"), Column("beside", f"loss / {contenders[0]}'s", 5))
    table = Table(
        "boosting-defaults-rank",
        f"rank by loss, 1 = best, ties by {TIE:.1%}; geometric mean of losses",
        [*columns, *(Column(name, name, 2) for name in by_set)],
        rows_are="",
    )
    for place in np.argsort(placed.mean(axis=0), kind="stable"):
        row = dict(zip(by_set, placed[:, place].tolist(), strict=True))
        table.rows[contenders[place]] = {"mean": placed[:, place].mean(), "beside": beside[place], **row}
    return table


def number_table(by_set: Mapping[str, Mapping[str, Row]], key: str, title: str, digits: int) -> Table:
    """Lay out one number of every contender on every set."""
    columns = [Column(name, name, digits) for name in by_set]
    table = Table(f"boosting-defaults-{key}", title, columns, rows_are="")
    for contender in next(iter(by_set.values())):
        table.rows[contender] = {name: rows[contender][key] for name, rows in by_set.items()}
    return table


def tables(by_set: Mapping[str, Mapping[str, Row]]) -> list[Table]:
    """Return ranks, losses and seconds; the seconds of all sets are added up."""
    seconds = number_table(by_set, "fit_s", "seconds of a fit, mean over folds", 3)
    seconds.columns = [Column("all", "all"), *seconds.columns]
    for row in seconds.rows.values():
        assert isinstance(row, dict)
        row["all"] = sum(row.values())
    return [rank_table(by_set), number_table(by_set, "loss", "log-loss or RMSE, mean over folds", 5), seconds]


def failures(notebook: Notebook, sets: Sequence[str], contenders: Contenders, n_folds: int) -> list[str]:
    """Return a line for everything chosen that has no numbers."""
    return [
        f"{name}, {contender}, fold {fold + 1} {row}"
        for name in sets
        for contender in contenders
        for fold, row in enumerate(notebook.of(name, contender, n_folds))
        if isinstance(row, str)
    ]


def study(
    notebook: Notebook,
    sets: dict[str, RealSet],
    contenders: Contenders,
    options: argparse.Namespace,
    tables: Callable[[Mapping[str, Mapping[str, Row]]], Sequence[Table]],
    measure: Measure = fit_and_loss,
    summarise: Callable[[Notebook, str, Contenders, int], dict[str, Row]] = means,
) -> int:
    """Cross-validate on every set that is found, and print tables; return 1 if a contender failed."""
    for rival in {rival.name: rival for rival in contenders.values()}.values():
        attempt(rival, trivial_task(Settings(threads=options.threads)))
    for name in [name for name in sets if not sets[name].found(options.data)]:
        print(f"{name} skipped: {options.data} does not hold it")
        del sets[name]
    for name, real in sets.items():
        cross_validate(notebook, name, real, contenders, options, measure)
    print(f"{options.folds} folds of at most {options.rows:,} rows a set, {options.threads} threads", end="\n\n")
    by_set = {name: summarise(notebook, name, contenders, options.folds) for name in sets}
    for table in tables(by_set) if by_set and contenders else []:
        print(table.markdown() if options.markdown else table.text(), end="\n\n")
    failed = failures(notebook, list(sets), contenders, options.folds)
    print("".join(f"{line}\n" for line in failed), end="")
    return 1 if failed else 0


def run(options: argparse.Namespace) -> int:
    """Cross-validate on every set that is found; the exit code is 1 if a contender failed."""
    about = {"rows": options.rows, "folds": options.folds, "threads": options.threads}
    try:
        sets, contenders = chosen_sets(options.sets.split(",")), choose(options)
        notebook = Notebook.open(about, options.json)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return study(notebook, sets, contenders, options, tables)
