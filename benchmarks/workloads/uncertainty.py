"""Quantiles against separate models of LightGBM; intervals against MAPIE around LightGBM: real tables of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.family import Workload
from benchmarks.measuring import Bench, Row, timed
from benchmarks.public_sets import PUBLIC_SETS
from benchmarks.real_sets import SETS, RealSet
from benchmarks.table import Column, Table
from benchmarks.task import Settings, Task
from benchmarks.workloads import dense

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
COVERAGE = 0.9
MOST_ROWS, FOLDS = 20_000, 4
QUANTILE_SETS = ("california", "abalone", "cpu_act")
KINDS, COVERAGES, NEAR = ("cross", "pooled", "split"), (0.8, 0.9, 0.95), 0.02
KIND_ROWS, KIND_FOLDS = 6_000, 2  # half of the rows to fit, half to measure
BIKE = RealSet("regression", "bike/hour.csv", "count", drop=("instant", "dateday", "casual", "registered"))
KIND_SETS: dict[str, RealSet] = {
    "bike": BIKE,
    **{
        name: PUBLIC_SETS[name]
        for name in (
            *("california", "abalone", "cpu_act", "house_8L", "puma8NH", "wine"),
            *("diamonds", "wage", "computers", "wind", "nox"),
        )
    },
}
INTERVAL_SETS = ("california", "abalone", "cpu_act", "house_8L", "wine")

Floats = NDArray[np.float64]
Measure = Callable[[Task], Row]


def in_codes(task: Task) -> Task:
    """Return the task with text as numbers, the same for both libraries."""
    both = [task.X.copy(), task.X_test.copy()]
    for name in task.categorical:
        known = {value: code for code, value in enumerate(task.X[name].unique())}
        for X in both:
            X[name] = X[name].map(known).astype(np.float64)
    return replace(task, X=both[0].to_numpy(np.float64), X_test=both[1].to_numpy(np.float64), categorical=())


def lightgbm(task: Task, **params: Any) -> Any:
    """Return an unfitted LightGBM regressor."""
    from lightgbm import LGBMRegressor

    wanted = task.settings
    return LGBMRegressor(
        n_estimators=wanted.rounds,
        num_leaves=wanted.leaves,
        learning_rate=wanted.learning_rate,
        min_child_samples=wanted.min_rows,
        n_jobs=wanted.threads,
        verbose=-1,
        **params,
    )


def arboretum(task: Task, **params: Any) -> Any:
    """Return an unfitted regressor of the same settings."""
    import arboretum as arb

    wanted = task.settings
    return arb.BoostedTreesRegressor(
        n_estimators=wanted.rounds,
        max_leaf_nodes=wanted.leaves,
        learning_rate=wanted.learning_rate,
        min_samples_leaf=wanted.min_rows,
        n_jobs=wanted.threads,
        l2=0.0,
        subsample=1.0,
        max_features=1.0,
        early_stopping=False,
        **params,
    )


def pinball(y: Floats, predicted: Floats) -> float:
    """Return the mean pinball loss over rows and levels."""
    below = y[:, None] - predicted
    return float(np.maximum(np.array(LEVELS) * below, (np.array(LEVELS) - 1) * below).mean())


def crossing(predicted: Floats) -> float:
    """Return the share of rows with a lower quantile above a higher one."""
    return float((np.diff(predicted, axis=1) < 0).any(axis=1).mean())


def quantiles_of(task: Task) -> Row:
    """Fit one model of all levels, and a model of LightGBM for each."""

    def separate() -> Floats:
        models = [lightgbm(task, objective="quantile", alpha=level).fit(task.X, task.y) for level in LEVELS]
        return np.stack([model.predict(task.X_test) for model in models], axis=1)

    ours_s, ours = timed(
        lambda: arboretum(task, loss="quantile", quantile=LEVELS).fit(task.X, task.y).predict(task.X_test)
    )
    theirs_s, theirs = timed(separate)
    return {
        "ours": pinball(task.y_test, ours),
        "theirs": pinball(task.y_test, theirs),
        "crossing": crossing(ours),
        "their_crossing": crossing(theirs),
        "ours_s": ours_s,
        "theirs_s": theirs_s,
    }


def intervals_of(task: Task) -> Row:
    """Fit both around the same settings, five folds each."""
    from mapie.regression import CrossConformalRegressor

    import arboretum as arb

    def mapie() -> Floats:
        model = CrossConformalRegressor(lightgbm(task), confidence_level=COVERAGE, method="plus", cv=5, random_state=0)
        return np.asarray(model.fit_conformalize(task.X, task.y).predict_interval(task.X_test)[1][:, :, 0])

    def own() -> Floats:
        model = arb.ConformalRegressor(estimator=arboretum(task), calibration="cross", n_folds=5)
        return np.asarray(model.fit(task.X, task.y).predict_interval(task.X_test, COVERAGE))

    row: Row = {}
    for name, call in (("ours", own), ("theirs", mapie)):
        row[f"{name}_s"], ends = timed(call)
        row[f"{name}_coverage"] = float(np.mean((ends[:, 0] <= task.y_test) & (task.y_test <= ends[:, 1])))
        row[name] = float(np.diff(ends, axis=1).mean())
    return row


def compare(
    bench: Bench, name: str, title: str, columns: Sequence[Column], sets: Sequence[str], needs: str, measure: Measure
) -> Iterator[Table]:
    """Measure each set over folds; the last row is the mean over the sets."""
    table = Table(name, title, [*columns, Column("ratio", "ratio", 4), Column("speed", "× faster")], rows_are="set")
    if find_spec(needs) is None:
        table.notes.append(f"{needs} is not installed: nothing to compare with")
        sets = ()
    means: list[Row] = []
    for key in sets:
        if bench.data is None or not SETS[key].found(bench.data):
            table.rows[key] = "no data: give --data"
            continue
        most = min(MOST_ROWS, bench.scaled(MOST_ROWS))
        settings = replace(dense.SETTINGS, rounds=bench.rounds, threads=bench.threads)
        tasks = SETS[key].folds(bench.data, most, FOLDS, settings)
        turns = [measure(in_codes(task)) for _, task in zip(range(bench.repeat), tasks, strict=False)]
        row = {part: float(np.mean([turn[part] for turn in turns])) for part in turns[0]}
        table.rows[key] = row | {"ratio": row["ours"] / row["theirs"], "speed": row["theirs_s"] / row["ours_s"]}
        means.append(table.rows[key])
    if means:
        shares = [column.key for column in table.columns if column.key not in ("ours", "theirs")]
        table.rows["mean"] = {part: float(np.mean([row[part] for row in means])) for part in shares}
    yield table


def quantiles(bench: Bench) -> Iterator[Table]:
    """Compare mean pinball losses of five levels."""
    columns = (
        Column("ours", "pinball", 5),
        Column("theirs", "5 × LightGBM", 5),
        Column("crossing", "rows crossing"),
        Column("their_crossing", "LightGBM"),
    )
    title = f"quantiles {', '.join(map(str, LEVELS))}: one model against one a level"
    yield from compare(bench, "quantiles", title, columns, QUANTILE_SETS, "lightgbm", quantiles_of)


def intervals(bench: Bench) -> Iterator[Table]:
    """Compare widths and coverage of 90 % intervals."""
    columns = (
        Column("ours_coverage", "coverage", 4),
        Column("theirs_coverage", "MAPIE", 4),
        Column("ours", "width", 5),
        Column("theirs", "MAPIE", 5),
    )
    title = f"{COVERAGE:.0%} intervals by CV+ of 5 folds, against MAPIE around LightGBM"
    yield from compare(bench, "intervals", title, columns, INTERVAL_SETS, "mapie", intervals_of)


def kinds_of(task: Task) -> Row:
    """Fit untouched intervals of every kind, and measure their coverage and width at several coverages."""
    import arboretum as arb

    row: Row = {}
    for kind in KINDS:
        model = arb.ConformalRegressor(calibration=kind).fit(task.X, task.y)
        for coverage, ends in zip(COVERAGES, model.predict_interval(task.X_test, COVERAGES), strict=True):
            row[f"{kind} {coverage}"] = float(np.mean((ends[:, 0] <= task.y_test) & (task.y_test <= ends[:, 1])))
            row[f"width {kind} {coverage}"] = float(np.diff(ends, axis=1).mean())
    return row


def interval_kinds(bench: Bench) -> Iterator[Table]:
    """Compare the coverage of intervals by kind of calibration; widths beside those of "cross"."""
    names = [f"{kind} {coverage}" for kind in KINDS for coverage in COVERAGES]
    columns = [*(Column(name, name) for name in names), *(Column(f"width {kind}", f"{kind}, width") for kind in KINDS)]
    table = Table("interval-kinds", "coverage of intervals on new rows", columns, rows_are="set")
    rows: list[Row] = []
    for key, real in KIND_SETS.items():
        if bench.data is None or not real.found(bench.data):
            table.rows[key] = "no data: give --data"
            continue
        most = min(KIND_ROWS, bench.scaled(KIND_ROWS))
        tasks = real.folds(bench.data, most, KIND_FOLDS, Settings(threads=bench.threads))
        turns = [kinds_of(in_codes(task)) for _, task in zip(range(bench.repeat), tasks, strict=False)]
        row = {part: float(np.mean([turn[part] for turn in turns])) for part in turns[0]}
        for kind in KINDS:
            beside = [np.log(row[f"width {kind} {each}"] / row[f"width cross {each}"]) for each in COVERAGES]
            row[f"width {kind}"] = float(np.exp(np.mean(beside)))
        table.rows[key] = row
        rows.append(row)
    if rows:
        shown = [column.key for column in columns]
        table.rows["mean"] = {part: float(np.mean([row[part] for row in rows])) for part in shown}
        near = {name: sum(abs(row[name] - float(name.split()[1])) <= NEAR for row in rows) for name in names}
        table.rows[f"sets within {NEAR}"] = {name: float(number) for name, number in near.items()}
    yield table


WORKLOADS: dict[str, Workload] = {"quantiles": quantiles, "intervals": intervals, "interval-kinds": interval_kinds}
