"""The stop-watch: libraries take turns, the best turn counts, accuracy comes from the same models."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals import RIVALS, Model, Rival
from benchmarks.table import Column, Table
from benchmarks.task import Settings, Task

FULL_ROWS = 1_000_000
ROW_CALLS, FEWEST_ROW_CALLS, ROW_BUDGET_NS = 300, 20, 50_000_000
COSTS = ("_s", "_ms", "_us", "_mb")

FIT = Column("fit_s", "fit s")
RATIO = Column("ratio", "× arboretum")
PREDICT = Column("predict_ms", "predict ms")
ROW = Column("row_us", "one row µs")
SCORES = {
    "binary": (Column("auc", "AUC", 5), Column("log_loss", "log-loss", 5)),
    "multiclass": (Column("accuracy", "accuracy", 5), Column("log_loss", "log-loss", 5)),
    "regression": (Column("rmse", "RMSE", 6), Column("mae", "MAE", 6)),
}

Row = dict[str, float]


def score(task: Task, predicted: NDArray[Any]) -> Row:
    """Judge predictions on the task's test set."""
    from sklearn.metrics import log_loss, mean_absolute_error, roc_auc_score, root_mean_squared_error

    y = task.y_test
    if task.kind == "regression":
        return {"rmse": root_mean_squared_error(y, predicted), "mae": mean_absolute_error(y, predicted)}
    predicted = np.clip(np.asarray(predicted, dtype=np.float64), 1e-15, 1 - 1e-15)
    if task.kind == "binary":
        return {"auc": roc_auc_score(y, predicted), "log_loss": log_loss(y, predicted, labels=[0, 1])}
    predicted /= predicted.sum(axis=1, keepdims=True)
    loss = log_loss(y, predicted, labels=np.arange(task.n_classes))
    return {"accuracy": float(np.mean(predicted.argmax(axis=1) == y)), "log_loss": loss}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return seconds and answer of one call, garbage collected beforehand."""
    gc.collect()
    start = perf_counter()
    answer = call()
    return perf_counter() - start, answer


def one_row_us(rival: Rival, model: Model, rows: Sequence[NDArray[Any]]) -> float:
    """Return the median time of a call for one row, in microseconds."""
    predict = rival.row_predictor(model)
    predict(rows[0])
    times = []
    for row in islice(cycle(rows), ROW_CALLS):
        start = perf_counter_ns()
        predict(row)
        times.append(perf_counter_ns() - start)
        if len(times) >= FEWEST_ROW_CALLS and sum(times) > ROW_BUDGET_NS:
            break
    return median(times) / 1000


def single_rows(X: NDArray[Any], dtype: type = np.float32) -> list[NDArray[Any]]:
    """Return up to 100 separate (1, n) arrays."""
    return [np.array(X[i : i + 1], dtype=dtype) for i in range(min(100, len(X)))]


def train(rival: Rival, task: Task) -> Row:
    """Fit, predict the test set and single rows once."""
    fit_s, model = timed(lambda: rival.fit(task))
    predict_s, predicted = timed(lambda: rival.predict(model, task.X_test))
    row = {"fit_s": fit_s, "predict_ms": 1000 * predict_s, **score(task, predicted)}
    if not task.categorical:
        row["row_us"] = one_row_us(rival, model, single_rows(task.X_test))
    return row


def better(old: Row, new: Row) -> Row:
    """Keep the smaller of each time and size; scores are the same in every turn."""
    return {key: min(old.get(key, value), value) if key.endswith(COSTS) else value for key, value in new.items()}


@dataclass
class Bench:
    """The options of a run and the libraries that take part in it."""

    libraries: Sequence[str] = tuple(RIVALS)
    rows: int = FULL_ROWS
    rounds: int = 100
    repeat: int = 3
    threads: int = 2
    data: Path | None = None
    failures: list[str] = field(default_factory=list)

    def scaled(self, full: int) -> int:
        """Scale a row count of the full-size run by ``--rows``."""
        return max(400, round(full * self.rows / FULL_ROWS))

    def settings(self, **changes: Any) -> Settings:
        """Return the common settings of this run."""
        return Settings(**{"rounds": self.rounds, "threads": self.threads} | changes)

    def installed(self, among: Sequence[str] | None = None) -> list[Rival]:
        """Return the libraries that can be measured."""
        return [RIVALS[name] for name in self.libraries if name in (among or RIVALS) and RIVALS[name].available()]

    def warm_up(self) -> None:
        """Import every library and let it start its threads, before any clock runs."""
        X = np.random.default_rng(0).standard_normal((400, 4)).astype(np.float32)
        y = (X[:, 0] > 0).astype(np.int64)
        task = Task("binary", X, y, X, y, self.settings(rounds=2))
        self.measure("warm-up", self.installed(), 1, lambda rival: train(rival, task), self.threads)

    def measure(
        self, name: str, rivals: Sequence[Rival], repeat: int, turn: Callable[[Rival], Row], threads: int
    ) -> dict[str, Row | str]:
        """Let the libraries take turns: A B C A B C …; a failure is reported in place of numbers."""
        rows: dict[str, Row | str] = {}
        for _ in range(repeat):
            for rival in rivals:
                old = rows.get(rival.name, {})
                if isinstance(old, str):
                    continue
                try:
                    with rival.limited(threads):
                        rows[rival.name] = better(old, turn(rival))
                except Exception as error:
                    rows[rival.name] = f"failed: {type(error).__name__}: {error}"
                    self.failures.append(f"{name} {rival.name}: {error}")
                print(f"  {name} {rival.name} {brief(rows[rival.name])}", file=sys.stderr, flush=True)
        return rows

    def table(
        self,
        name: str,
        title: str,
        columns: Sequence[Column],
        turn: Callable[[Rival], Row],
        *,
        ratio_of: str | None = None,
        among: Sequence[str] | None = None,
        repeat: int | None = None,
        notes: Sequence[str] = (),
    ) -> Table:
        """Measure every library and lay out the result, with those not installed named as such."""
        measured = self.measure(name, self.installed(among), repeat or self.repeat, turn, self.threads)
        table = Table(name, title, columns, notes=list(notes))
        for library in self.libraries:
            if library in (among or RIVALS):
                table.rows[library] = measured.get(library, "not installed")
        if ratio_of:
            table.add_ratio(ratio_of)
        return table

    def training_table(self, name: str, task: Task, repeat: int | None = None) -> Table:
        """Compare training on one task: time, prediction, accuracy, and what is not equal."""
        row_column = () if task.categorical else (ROW,)
        columns = (FIT, RATIO, PREDICT, *row_column, *SCORES[task.kind])
        title = f"{task.shape}; predict {len(task.y_test):,} rows"
        return self.table(
            name,
            title,
            columns,
            lambda rival: train(rival, task),
            ratio_of="fit_s",
            repeat=repeat,
            notes=list(self.unequal(task.settings)),
        )

    def unequal(self, settings: Settings) -> Iterator[str]:
        """Say what the libraries do not share."""
        for rival in self.installed():
            if settings.growth not in rival.growths:
                yield f"{rival.name} has no {settings.growth} trees: ordinary trees of depth {settings.depth}"


def brief(row: Row | str) -> str:
    """Render a row for the progress line."""
    return row if isinstance(row, str) else " ".join(f"{key} {value:.4g}" for key, value in row.items())
