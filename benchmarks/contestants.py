"""``python -m benchmarks contestants``: the settings that race before a default fit, chosen over real tables.

::

    table ──► every candidate: losses of the rows held out of two folds, loss of the test rows after a fit of all others
                    │                                         notes/TABLE.npz
                    ▼
    a race is replayed for any field of candidates ──► the field to which no candidate adds, chosen for each table on
    all other tables, and once on all of them

A field is judged by the mean logarithm of the test loss beside the default's, no table counting more than a factor of
1.35: tables without noise would decide it alone otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import LOSS, score
from benchmarks.public_sets import PUBLIC_SETS
from benchmarks.real_sets import RealSet
from benchmarks.table import Column, Table
from benchmarks.task import Settings, Task

FOLDS = 3  # the first is the test set
MOST = 0.3  # that a table counts, in logarithms
FREE = {"subsample": 1.0}
SYMMETRIC = {"growth": "symmetric", "max_features": 1.0, **FREE}
VECTOR = {"vector_leaves": True, **FREE}
OF_ALL: dict[str, dict[str, Any]] = {
    "default": {},
    "few brakes": {"max_features": 0.6, "l2": 0.1, **FREE},
    "l2 of 1": {"max_features": 0.6, "l2": 1.0, **FREE},
    "all columns": {"max_features": 1.0},
    "small trees": {"max_leaf_nodes": 8, "max_features": 0.5, "l2": 3.0},
    "symmetric": {**SYMMETRIC, "l2": 0.1},
    "symmetric, l2 of 1": {**SYMMETRIC, "l2": 1.0},
}
OF_ONE_OUTPUT: dict[str, dict[str, Any]] = {
    "large trees": {"max_leaf_nodes": 63, "min_samples_leaf": 1, "max_features": 0.6, "l2": 1.0, "subsample": 0.8},
    "linear": {**SYMMETRIC, "leaf_model": "linear", "l2": 1.0},
    "linear, by leaf": {"leaf_model": "linear", "max_features": 0.6, "l2": 1.0, **FREE},
}
OF_CLASSES: dict[str, dict[str, Any]] = {
    "vector": {**VECTOR, "max_features": 1.0, "l2": 0.1},
    "vector, some columns": {**VECTOR, "max_features": 0.6, "l2": 1.0},
    "vector, symmetric": {**VECTOR, **SYMMETRIC, "l2": 1.0},
}


@dataclass(frozen=True, eq=False)
class Case:
    """One table: what each candidate made of its held-out rows, fold by fold, and of its test rows."""

    held: Mapping[str, Sequence[Any]]  # losses by row
    tested: Mapping[str, float]
    raced: dict[frozenset[str], str] = field(default_factory=dict)

    def chosen(self, names: frozenset[str]) -> str:
        """Return who wins the race of a field."""
        from arboretum.ensembles.boosting.racing import CLEARLY, HOPEFUL, LEGS, Losses, ahead, best_of, unbeaten

        if names not in self.raced:
            left, losses = [name for name in self.held if name in names], dict[str, Any]()
            for fold in range(len(self.held["default"])):
                losses = {name: Losses(self.held[name][fold], None).after(losses.get(name)) for name in left}
                losses = {name: losses[name] for name in unbeaten(losses, min(LEGS.values()))}
                left = list(ahead(losses, HOPEFUL))
                if len(left) == 1:
                    break
            self.raced[names] = best_of(ahead({name: losses[name] for name in left}, CLEARLY))
        return self.raced[names]

    def gain(self, names: frozenset[str]) -> float:
        """Return the logarithm of the loss after a race beside that of the default."""
        return float(np.log(self.tested[self.chosen(names)] / self.tested["default"]))


@dataclass(frozen=True, eq=False)
class Cases:
    """All tables of a kind."""

    by_table: Mapping[str, Case]

    @cached_property
    def candidates(self) -> list[str]:
        """Names of all but the default."""
        return [name for name in next(iter(self.by_table.values())).held if name != "default"]

    def cost(self, names: frozenset[str], left_out: str | None = None) -> float:
        """Return the mean gain of a race, bounded for each table; lower is better."""
        gains = [case.gain(names) for table, case in self.by_table.items() if table != left_out]
        return float(np.mean(np.clip(gains, -MOST, MOST)))

    def best_field(self, most: int, left_out: str | None = None) -> frozenset[str]:
        """Add the candidate that helps most, again and again."""
        names = frozenset({"default"})
        while len(names) < most:
            trials = {names | {one}: self.cost(names | {one}, left_out) for one in self.candidates if one not in names}
            best = min(trials, key=lambda trial: trials[trial])
            if trials[best] >= self.cost(names, left_out):
                break
            names = best
        return names


def measure(task: Task, candidates: Mapping[str, dict[str, Any]]) -> Case:
    """Run the laps of every candidate, and fit each to all rows."""
    import arboretum as arb
    from arboretum.ensembles.boosting import racing
    from arboretum.ensembles.boosting.recipe import Beginning

    make: Any = arb.BoostedTreesRegressor if task.kind == "regression" else arb.BoostedTreesClassifier
    common = {"n_jobs": task.settings.threads, "random_state": task.settings.seed}
    held: dict[str, list[Any]] = {name: [] for name in candidates}
    recipe = make(**common).recipe()
    problem, target = recipe.read(task.X, task.y)
    reading = recipe.changed({"leaf_model": "linear"})
    for split in recipe.race_folds(problem):
        prepared = reading.prepare(1000, problem, target, task.settings.threads, Beginning(split=split))
        for name, changes in candidates.items():
            entered = recipe.changed(changes).entered(prepared, problem.count_rows(), task.settings.threads)
            lap = racing.Lap(entered, racing.pace_of(entered.run.params))
            lap.run_until(np.inf)
            held[name].append(lap.losses.values.astype(np.float32))
    tested = {}
    for name, changes in candidates.items():
        model = make(**common, **changes, race=False).fit(task.X, task.y)
        answers = model.predict(task.X_test) if task.kind == "regression" else model.predict_proba(task.X_test)
        tested[name] = score(task, answers[:, 1] if task.kind == "binary" else answers)[LOSS[task.kind]]
    return Case(held, tested)


def case_of(name: str, real: RealSet, options: argparse.Namespace) -> Case | None:
    """Return the case of a table, measured now or before; None if its rows are too few to race."""
    from arboretum.ensembles.boosting.automatic import of_release

    file = options.notes / f"{name}.npz"
    candidates = OF_ALL | (OF_CLASSES if real.kind == "multiclass" else OF_ONE_OUTPUT)
    if not file.exists():
        task = next(real.folds(options.data, options.rows, FOLDS, Settings(threads=options.threads)))
        if not of_release(None).races(len(task.y)) or (
            real.kind != "regression" and task.n_classes <= int(task.y_test.max())
        ):
            return None
        case = measure(task, candidates)
        losses = {f"{one} {fold}": values for one, folds in case.held.items() for fold, values in enumerate(folds)}
        options.notes.mkdir(parents=True, exist_ok=True)
        np.savez(file, tested=np.array(list(case.tested.values())), **losses)
        print(f"  {name}: " + ", ".join(f"{one} {loss:.5g}" for one, loss in case.tested.items()), file=sys.stderr)
    with np.load(file) as kept:
        held = {one: [kept[f"{one} {fold}"].astype(np.float64) for fold in range(2)] for one in candidates}
        return Case(held, dict(zip(candidates, kept["tested"].tolist(), strict=True)))


def summary(title: str, fields: Mapping[str, Mapping[str, frozenset[str]]], cases: Cases) -> Table:
    """Lay out what fields of each table, by their names, gain beside the default."""
    columns = (
        Column("mean", "loss / default's", 4),
        Column("bounded", "bounded", 4),
        Column("better", "better on %"),
        Column("worse", "worse on %"),
        Column("worst", "worst", 3),
    )
    table = Table("contestants", title, list(columns), rows_are="")
    for name, by_table in fields.items():
        gains = np.array([cases.by_table[one].gain(names) for one, names in by_table.items()])
        table.rows[name] = {
            "mean": float(np.exp(gains.mean())),
            "bounded": float(np.exp(np.clip(gains, -MOST, MOST).mean())),
            "better": 100 * float(np.mean(gains < -0.001)),
            "worse": 100 * float(np.mean(gains > 0.001)),
            "worst": float(np.exp(gains.max())),
        }
    return table


def add_options(command: argparse.ArgumentParser, positive: Any) -> None:
    """Describe the options."""
    command.set_defaults(run=run)
    add = command.add_argument
    add("--data", type=Path, required=True, help="folder with real data sets")
    add("--notes", type=Path, required=True, help="folder of what was measured; a run goes on from there")
    add("--rows", type=positive, default=9_000, help="most rows of a set; two thirds are fitted")
    add("--most", type=positive, default=5, help="most contestants")


def run(options: argparse.Namespace) -> int:
    """Measure what is missing, and choose."""
    from arboretum.ensembles.boosting import racing

    kinds: dict[str, dict[str, Case]] = {"one output": {}, "classes": {}}
    for name, real in PUBLIC_SETS.items():
        if real.found(options.data) and (case := case_of(name, real, options)) is not None:
            kinds["classes" if real.kind == "multiclass" else "one output"][name] = case
    for kind, by_table in kinds.items():
        cases = Cases(by_table)
        best = cases.best_field(options.most)
        ours = frozenset({*racing.OF_ALL, *(racing.OF_CLASSES if kind == "classes" else racing.OF_ONE_OUTPUT)})
        fields = {
            "chosen on all tables": dict.fromkeys(by_table, best),
            "chosen on all other tables": {name: cases.best_field(options.most, name) for name in by_table},
            "the contestants of this release": dict.fromkeys(by_table, ours),
        }
        table = summary(f"{kind}: {len(by_table)} tables", fields, cases)
        print(table.markdown() if options.markdown else table.text())
        print(f"chosen on all tables: {', '.join(sorted(best))}", end="\n\n")
    return 0
