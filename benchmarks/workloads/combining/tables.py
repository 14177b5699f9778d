"""Real tables: combined models against the member that its own scores out of fold would choose."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.findings import CHECKED
from benchmarks.measuring import LOSS, Bench, Row, brief, score, timed
from benchmarks.notebook import Notebook
from benchmarks.real_sets import SETS
from benchmarks.rivals.base import by_target
from benchmarks.table import Column, Table
from benchmarks.task import Task
from benchmarks.workloads.combining.members import Member

MOST_ROWS, FOLDS = 10_000, 3
CHOSEN = (*SETS, "titanic", "car", "waveform", "houses")
STACKING = "stacking"
Maker = Callable[[Task], Any]


def members(task: Task) -> list[Member]:
    """Return four kinds of members."""
    import arboretum as arb

    def make(name: str, **settings: Any) -> Any:
        return getattr(arb, by_target(name, task))(random_state=task.settings.seed, **settings)

    return [
        ("boosted", make("BoostedTrees", n_estimators=task.settings.rounds)),
        ("forest", make("RandomForest")),
        ("extra", make("ExtraTrees")),
        ("oblique", make("RandomForest", oblique=True)),
    ]


def combined(name: str, **settings: Any) -> Maker:
    """Return what makes a combined model, unfitted."""

    def make(task: Task) -> Any:
        import arboretum as arb

        found = name if name == "EnsembleSelection" else by_target(name, task)
        return getattr(arb, found)(estimators=members(task), n_jobs=task.settings.threads, **settings)

    return make


WAYS: dict[str, Maker] = {
    STACKING: combined("Stacking"),
    "voting": combined("Voting"),
    "blending": combined("Blending"),
    "selection": combined("EnsembleSelection", prefit=False),
}


def loss(task: Task, model: Any) -> float:
    """Return the log loss or the RMSE on the held-out rows."""
    found = model.predict(task.X_test) if task.kind == "regression" else model.predict_proba(task.X_test)
    return score(task, found[:, 1] if task.kind == "binary" else found)[LOSS[task.kind]]


def fold_of(make: Maker, task: Task) -> Row:
    """Fit once; of a stack, judge also the member that its scores out of fold choose, and the best in hindsight."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_s, model = timed(lambda: make(task).fit(task.X, task.y))
        row = {"loss": loss(task, model), "fit_s": fit_s}
        if type(model).__name__.startswith("Stacking"):
            losses = {name: loss(task, member) for name, member in model.named_estimators_.items()}
            row |= {"member": losses[min(model.member_scores_, key=model.member_scores_.get)]}
            row |= {"hindsight": min(losses.values())}
    return row


def note(notebook: Notebook, name: str, bench: Bench) -> dict[str, Row] | None:
    """Note what is not yet noted about one set; return means over the folds, none if the set is absent."""
    real, n_folds = {**SETS, **CHECKED}[name], min(FOLDS, bench.repeat)
    if not all(notebook.has(name, way, fold) for way in WAYS for fold in range(n_folds)):
        if bench.data is None or not real.found(bench.data):
            return None
        tasks = real.folds(bench.data, bench.scaled(MOST_ROWS), FOLDS, bench.settings())
        for fold, task in zip(range(n_folds), tasks, strict=False):
            for way in [way for way in WAYS if not notebook.has(name, way, fold)]:
                notebook.add(name, way, fold, fold_of(WAYS[way], task))
                print(
                    f"  tables {name}, fold {fold + 1}, {way} {brief(notebook.of(name, way, FOLDS)[fold])}",
                    file=sys.stderr,
                    flush=True,
                )
    found = {}
    for way in WAYS:
        rows = [row for row in notebook.of(name, way, n_folds) if isinstance(row, dict)]
        found[way] = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    return found


def run(bench: Bench) -> Iterator[Table]:
    """Compare on every set that is found; then sum up over the sets."""
    about = {"rows": bench.scaled(MOST_ROWS), "rounds": bench.rounds, "threads": bench.threads}
    notebook = Notebook.open(about, bench.notes)
    by_set = {}
    for name in CHOSEN:
        if (found := note(notebook, name, bench)) is not None:
            by_set[name] = found
    absent = [name for name in CHOSEN if name not in by_set]
    each = each_set(by_set, bench)
    if absent:
        each.notes.append(f"not under --data: {', '.join(absent)}")
    yield each
    yield summary(by_set)


def gain(found: Mapping[str, Row], way: str) -> float:
    """Return how much smaller the loss is than that of the chosen member, in percent."""
    return 100 * (1 - found[way]["loss"] / found[STACKING]["member"])


def each_set(by_set: Mapping[str, Mapping[str, Row]], bench: Bench) -> Table:
    """Lay out losses and gains on every set."""
    columns = (
        Column("member", "chosen member", 5),
        Column("loss", "stack", 5),
        *(Column(way, f"{way} %") for way in WAYS),
        Column("hindsight", "best member %"),
        *(Column(f"{way}_s", f"{way} s") for way in WAYS),
    )
    title = (
        f"log loss or RMSE, mean of {min(FOLDS, bench.repeat)} folds, at most {bench.scaled(MOST_ROWS):,} rows, "
        f"{bench.rounds} rounds; % by which the loss is below that of the member with the best score out of fold"
    )
    table = Table("tables", title, columns, rows_are="set")
    for name, found in by_set.items():
        stack = found[STACKING]
        table.rows[name] = {
            "member": stack["member"],
            "loss": stack["loss"],
            **{way: gain(found, way) for way in WAYS},
            "hindsight": 100 * (1 - stack["hindsight"] / stack["member"]),
            **{f"{way}_s": found[way]["fit_s"] for way in WAYS},
        }
    return table


def summary(by_set: Mapping[str, Mapping[str, Row]]) -> Table:
    """Return shares, medians and sums over the sets."""
    columns = (
        Column("share", "better on %"),
        Column("median", "median gain %"),
        Column("least", "least %"),
        Column("most", "most %"),
        Column("fit_s", "s of a fit, all sets"),
    )
    table = Table("tables-summary", f"{len(by_set)} sets, beside the chosen member", columns, rows_are="combination")
    for way in WAYS if by_set else ():
        gains = [gain(found, way) for found in by_set.values()]
        table.rows[way] = {
            "share": 100 * float(np.mean([one > 0 for one in gains])),
            "median": float(np.median(gains)),
            "least": min(gains),
            "most": max(gains),
            "fit_s": sum(found[way]["fit_s"] for found in by_set.values()),
        }
    return table
