"""Real tables with string columns, each library with its own way to split categories."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Bench
from benchmarks.real_sets import CENSUS_CODES, EMPLOYEE_CODES, PURCHASE_CODES, read_frame, text_and_numbers
from benchmarks.table import Table
from benchmarks.task import Kind, Settings, Task

FLIGHT_COLUMNS = ["carrier", "origin", "dest", "tailnum", "month", "day", "hour", "distance"]
LAST_TRAINING_MONTH = 9


def build(train: Any, test: Any, target: str, positive: Any, codes: tuple[str, ...], settings: Settings) -> Task:
    """Make a task from two frames; text and ``codes`` are categorical, the rest float32.

    Without a ``positive`` class the target is a number.
    """

    def prepare(frame: Any) -> tuple[Any, Any]:
        X = text_and_numbers(frame.drop(columns=target), codes)
        y = frame[target].to_numpy()
        return X, (y.astype(np.float64) if positive is None else (y == positive).astype(np.int64))

    X, y = prepare(train)
    X_test, y_test = prepare(test)
    categorical = tuple(name for name in X.columns if X[name].dtype == object)
    kind: Kind = "regression" if positive is None else "binary"
    return Task(kind, X, y, X_test, y_test, settings, categorical=categorical)


def adult(folder: Path, settings: Settings) -> Task:
    """Census income of 1994, the official split."""
    train, test = (read_frame(folder / "adult" / f"{part}.csv.gz") for part in ("train", "test"))
    return build(train, test, "income", ">50K", (), settings)


def amazon(folder: Path, settings: Settings) -> Task:
    """Employee access: nine identifiers, the split of CatBoost's own benchmark."""
    folder = folder / "amazon_employee_access"
    rows = read_frame(folder / "train.csv.gz")
    train, test = (
        rows.iloc[np.loadtxt(folder / f"catboost_stratified_{part}_idx.txt", dtype=np.int64)]
        for part in ("train", "test")
    )
    return build(train, test, "ACTION", 1, EMPLOYEE_CODES, settings)


def flights(folder: Path, settings: Settings) -> Task:
    """Arrivals more than 15 minutes late, from what is known beforehand; the last months are the test set."""
    rows = read_frame(folder / "flights_nyc13" / "flights.parquet").dropna(subset="arr_delay")
    table = rows[FLIGHT_COLUMNS].assign(late=rows["arr_delay"] > 15)
    early = table["month"] <= LAST_TRAINING_MONTH
    return build(table[early], table[~early], "late", True, (), settings)


def census(folder: Path, settings: Settings) -> Task:
    """Census income of 1994/95 (KDD), the official split."""
    train, test = (
        read_frame(folder / "census_income_kdd" / f"{part}.parquet").drop(columns="instance_weight")
        for part in ("train", "test")
    )
    return build(train, test, "income", 1, CENSUS_CODES, settings)


def black_friday(folder: Path, settings: Settings) -> Task:
    """Purchases of known customers and products; a random fifth is the test set."""
    rows = read_frame(folder / "black_friday" / "train.parquet").sample(frac=1.0, random_state=0)
    n_test = len(rows) // 5
    settings = replace(settings, columns=1 / 3) if settings.columns == "sqrt" else settings
    return build(rows[n_test:], rows[:n_test], "Purchase", None, PURCHASE_CODES, settings)


SETS: dict[str, Callable[[Path, Settings], Task]] = {
    "adult": adult,
    "amazon_employee_access": amazon,
    "flights_nyc13": flights,
    "census_income_kdd": census,
    "black_friday": black_friday,
}
BOOSTED = ("adult", "amazon_employee_access", "flights_nyc13", "census_income_kdd")


def compare(bench: Bench, title: str, name: str, among: Sequence[str] | None = None) -> Table:
    """Compare training on a set found under ``--data``; time starts from a frame of strings."""
    if bench.data is None or not (bench.data / name).is_dir():
        return Table(title, "skipped: needs the folder --data, which does not hold it", ())
    task = SETS[name](bench.data, bench.settings())
    table = bench.training_table(title, task, among=among)
    table.notes.append(f"{len(task.categorical)} categorical columns, encoding counted as training")
    return table


def run(bench: Bench) -> Iterator[Table]:
    """Yield a table for each set."""
    for name in BOOSTED:
        yield compare(bench, f"categorical-{name}", name)
