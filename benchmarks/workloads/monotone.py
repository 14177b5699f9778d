"""Monotonic constraints: every preset, loss and model of leaves, looked at along a grid of each constrained column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Bench, Row
from benchmarks.rivals import Model, Rival
from benchmarks.rivals.arboretum import preset
from benchmarks.table import HOME, NOT_SUPPORTED, Column, Table
from benchmarks.task import Kind, Settings, Task

ROWS, TABLES = 5_000, 3
DIRECTIONS = (1, -1, 0, 1, -1, 0)
LEAF_MODELS = ("constant", "linear")
ROWS_LOOKED_AT, INSIDE, OUTSIDE = 200, 40, 10


def draw(kind: Kind, rows: int, seed: int, settings: Settings) -> Task:
    """Draw smooth, missing, tied and heavy-tailed columns, and a positive target that is monotone in none."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, len(DIRECTIONS)))
    X[rng.random(rows) < 0.1, 1] = np.nan
    X[:, 3] = rng.integers(0, 10, rows)
    X[:, 4] = rng.standard_cauchy(rows)
    waves = np.sin(3 * np.nan_to_num(X)) + 0.3 * np.arctan(np.nan_to_num(X)) * rng.choice([-1, 1], len(DIRECTIONS))
    signal = waves @ rng.uniform(0.3, 1.0, len(DIRECTIONS)) + X[:, 0] * X[:, 2]
    y = rng.gamma(2.0, np.exp(0.5 * signal) / 2.0) if kind == "regression" else signal + rng.logistic(size=rows) > 0
    looked_at = min(ROWS_LOOKED_AT, rows)
    y = y.astype(np.float64 if kind == "regression" else np.int64)
    return Task(kind, X, y, X[:looked_at], y[:looked_at], settings)


def grid(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rising values: a tail below all that were seen, quantiles of them, a tail above."""
    inside = np.nanquantile(column, np.linspace(0, 1, INSIDE))
    span = inside[-1] - inside[0]
    tail = span * np.geomspace(0.01, 1, OUTSIDE)
    return np.concatenate([inside[0] - tail[::-1], inside, inside[-1] + tail])


def violations(rival: Rival, model: Model) -> Row:
    """Count steps along the grids in a forbidden direction, however small."""
    task, steps, wrong = model.task, 0, 0
    for place, direction in enumerate(DIRECTIONS):
        if direction:
            values = grid(task.X[:, place])
            table = np.repeat(task.X_test, len(values), axis=0)
            table[:, place] = np.tile(values, len(task.X_test))
            moves = np.diff(rival.predict(model, table).reshape(-1, len(values)), axis=1)
            steps += moves.size
            wrong += int(np.sum(direction * moves < 0))
    return {"steps": steps, "violations": wrong}


def turn_over(tasks: Sequence[Task], refusals: set[str]) -> Callable[[Rival], Row]:
    """Return a turn that adds up the counts of several tables; empty if linear leaves refuse, with the reason kept."""

    def turn(rival: Rival) -> Row:
        try:
            counts = [violations(rival, rival.fit(task)) for task in tasks]
        except ValueError as refusal:
            if not str(refusal).startswith("leaf_model='linear'"):
                raise
            refusals.add(str(refusal).partition(":")[0])
            return {}
        return {key: sum(count[key] for count in counts) for key in counts[0]}

    return turn


def run(bench: Bench) -> Iterator[Table]:
    """Fit several random tables a combination; what linear leaves refuse is listed as not supported."""
    if not bench.installed((HOME,)):
        yield Table("monotone", f"skipped: {HOME} is not among --libraries", ())
        return
    from arboretum import presets
    from arboretum.losses import LOSSES

    refusals: set[str] = set()
    rows = bench.scaled(ROWS)
    title = f"{TABLES} tables of {rows:,} × {len(DIRECTIONS)}, {bench.rounds} rounds; steps along grids"
    columns = (Column("steps", "steps", 6), Column("violations", "violations"))
    table = Table("monotone", title, columns, rows_are="preset, loss, leaves")
    kinds: dict[str, Kind] = {"classification": "binary", "regression": "regression"}
    drawn = {kind: [draw(kind, rows, seed, bench.settings()) for seed in range(TABLES)] for kind in kinds.values()}
    of_rows = [loss for loss, build in LOSSES.items() if build().task in kinds]
    for system, loss, leaves in product(presets(), of_rows, LEAF_MODELS):
        model = preset(system, n_estimators=bench.rounds, loss=loss, leaf_model=leaves, monotonic_cst=list(DIRECTIONS))
        turn = turn_over(drawn[kinds[LOSSES[loss]().task]], refusals)
        label = f"{system}, {loss}, {leaves}"
        table.rows[label] = bench.measure(f"monotone {label}", [model], 1, turn, bench.threads)[HOME] or NOT_SUPPORTED
    table.notes += [f"not supported: {refusal}" for refusal in sorted(refusals)]
    yield table
