"""The stop-watch: libraries take turns, the best turn counts, accuracy comes from the same models."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.family import Family
from benchmarks.rivals import Model, Rival
from benchmarks.table import Column, Table
from benchmarks.task import Settings, Task

ROW_CALLS, FEWEST_ROW_CALLS, ROW_BUDGET_NS = 300, 20, 50_000_000
COSTS = ("_s", "_ms", "_us", "_mb")

FIT = Column("fit_s", "fit s")
RATIO = Column("ratio", "× arboretum")
PREDICT = Column("predict_ms", "predict ms")
ROW = Column("row_us", "one row µs")
FILE = Column("file_mb", "file MB")
MEGABYTE = 1e6
SCORES = {
    "binary": (Column("auc", "AUC", 5), Column("log_loss", "log-loss", 5), Column("accuracy", "accuracy", 5)),
    "multiclass": (Column("accuracy", "accuracy", 5), Column("log_loss", "log-loss", 5)),
    "regression": (Column("rmse", "RMSE", 6), Column("mae", "MAE", 6), Column("r2", "R²", 5)),
}

LOSS = {"binary": "log_loss", "multiclass": "log_loss", "regression": "rmse"}

Row = dict[str, float]


def score(task: Task, predicted: NDArray[Any]) -> Row:
    """Judge predictions on the task's test set."""
    from sklearn.metrics import log_loss, mean_absolute_error, r2_score, roc_auc_score, root_mean_squared_error

    y = task.y_test
    if task.kind == "regression":
        errors = {"rmse": root_mean_squared_error, "mae": mean_absolute_error, "r2": r2_score}
        return {key: float(measure(y, predicted)) for key, measure in errors.items()}
    predicted = np.clip(np.asarray(predicted, dtype=np.float64), 1e-15, 1 - 1e-15)
    if task.kind == "binary":
        return {
            "auc": float(roc_auc_score(y, predicted)),
            "log_loss": float(log_loss(y, predicted, labels=[0, 1])),
            "accuracy": float(np.mean((predicted > 0.5) == y)),
        }
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


def file_mb(rival: Rival, model: Model) -> float:
    """Return the size of the saved model in megabytes; YDF writes a folder."""
    with TemporaryDirectory() as folder:
        rival.save(model, Path(folder) / "model")
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / MEGABYTE


def train(rival: Rival, task: Task, file: bool = False) -> Row:
    """Fit, predict the test set and single rows once; save the model if its size is wanted."""
    fit_s, model = timed(lambda: rival.fit(task))
    predict_s, predicted = timed(lambda: rival.predict(model, task.X_test))
    row = {"fit_s": fit_s, "predict_ms": 1000 * predict_s, **score(task, predicted)}
    if not task.categorical:
        row["row_us"] = one_row_us(rival, model, single_rows(task.X_test))
    return row | {"file_mb": file_mb(rival, model)} if file else row


def better(old: Row, new: Row) -> Row:
    """Keep the smaller of each time and size; scores are the same in every turn."""
    return {key: min(old.get(key, value), value) if key.endswith(COSTS) else value for key, value in new.items()}


def fit_and_loss(rival: Rival, task: Task) -> Row:
    """Fit and judge once by log-loss or RMSE."""
    fit_s, model = timed(lambda: rival.fit(task))
    return {"fit_s": fit_s, "loss": score(task, rival.predict(model, task.X_test))[LOSS[task.kind]]}


def trivial_task(settings: Settings) -> Task:
    """Return a task that lets a library import its parts and start its threads."""
    X = np.random.default_rng(0).standard_normal((400, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int64)
    return Task("binary", X, y, X, y, settings)


@dataclass
class Bench:
    """The options of a run and the libraries that take part in it.

    A library that needs more than ``patience`` seconds for a turn gets no second one. ``notes`` is the file that long
    workloads resume from.
    """

    family: Family
    libraries: Sequence[str]
    rows: int
    rounds: int = 100
    repeat: int = 3
    threads: int = 2
    patience: float = 60.0
    data: Path | None = None
    notes: Path | None = None
    failures: list[str] = field(default_factory=list)

    def scaled(self, full: int) -> int:
        """Scale a row count of the full-size run by ``--rows``."""
        return max(400, round(full * self.rows / self.family.rows))

    def settings(self, **changes: Any) -> Settings:
        """Return the common settings of this run."""
        return replace(self.family.settings, **{"rounds": self.rounds, "threads": self.threads} | changes)

    def taking_part(self, among: Sequence[str] | None = None) -> list[str]:
        """Return the names of the libraries asked for, installed or not."""
        return [name for name in self.libraries if name in (among or self.family.rivals)]

    def installed(self, among: Sequence[str] | None = None) -> list[Rival]:
        """Return the libraries that can be measured."""
        rivals = (self.family.rivals[name] for name in self.taking_part(among))
        return [rival for rival in rivals if rival.available()]

    def warm_up(self) -> None:
        """Import every library and let it start its threads, before any clock runs."""
        task = trivial_task(self.settings(rounds=2))
        self.measure("warm-up", self.installed(), 1, lambda rival: train(rival, task), self.threads)

    def measure(
        self, name: str, rivals: Sequence[Rival], repeat: int, turn: Callable[[Rival], Row], threads: int
    ) -> dict[str, Row | str]:
        """Let the libraries take turns: A B C A B C …; a failure is reported in place of numbers."""
        rows: dict[str, Row | str] = {}
        waiting = list(rivals)
        for _ in range(repeat):
            for rival in list(waiting):
                old, start = rows.get(rival.name, {}), perf_counter()
                assert not isinstance(old, str)
                try:
                    with rival.limited(threads):
                        rows[rival.name] = better(old, turn(rival))
                except Exception as error:
                    rows[rival.name] = f"failed: {type(error).__name__}: {error}"
                    self.failures.append(f"{name} {rival.name}: {error}")
                if isinstance(rows[rival.name], str) or perf_counter() - start > self.patience:
                    waiting.remove(rival)
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
        for library in self.taking_part(among):
            table.rows[library] = measured.get(library, "not installed")
        if ratio_of:
            table.add_ratio(ratio_of)
        return table

    def training_table(
        self,
        name: str,
        task: Task,
        *,
        repeat: int | None = None,
        among: Sequence[str] | None = None,
        file: bool = False,
    ) -> Table:
        """Compare training on one task: time, prediction, accuracy, the model's file, and what is not equal."""
        row_column = () if task.categorical else (ROW,)
        file_column = (FILE,) if file else ()
        columns = (FIT, RATIO, PREDICT, *row_column, *SCORES[task.kind], *file_column)
        title = f"{task.shape}; predict {len(task.y_test):,} rows"
        return self.table(
            name,
            title,
            columns,
            lambda rival: train(rival, task, file),
            ratio_of="fit_s",
            among=among,
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
