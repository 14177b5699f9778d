"""Real tables with string columns, each library with its own way to split categories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Bench
from benchmarks.table import Table
from benchmarks.task import Settings, Task

CENSUS_CODES = (
    "industry_code",
    "occupation_code",
    "own_business_or_self_employed",
    "veterans_benefits",
    "year",
)
FLIGHT_COLUMNS = ["carrier", "origin", "dest", "tailnum", "month", "day", "hour", "distance"]
LAST_TRAINING_MONTH = 9


def build(train: Any, test: Any, target: str, positive: Any, codes: tuple[str, ...], settings: Settings) -> Task:
    """Make a binary task from two frames; text and ``codes`` are categorical, the rest float32."""

    def prepare(frame: Any) -> tuple[Any, Any]:
        X = frame.drop(columns=target)
        numeric = [name for name in X.columns if X[name].dtype.kind in "biuf" and name not in codes]
        text = [name for name in X.columns if name not in numeric]
        X = X.astype(dict.fromkeys(numeric, np.float32))
        X[text] = X[text].astype(str).astype(object).where(X[text].notna(), np.nan)
        return X, (frame[target] == positive).to_numpy().astype(np.int64)

    X, y = prepare(train)
    X_test, y_test = prepare(test)
    categorical = tuple(name for name in X.columns if X[name].dtype == object)
    return Task("binary", X, y, X_test, y_test, settings, categorical=categorical)


def adult(folder: Path, settings: Settings) -> Task:
    """Census income of 1994, the official split."""
    import pandas as pd

    train, test = (pd.read_csv(folder / "adult" / f"{part}.csv.gz", na_values="?") for part in ("train", "test"))
    return build(train, test, "income", ">50K", (), settings)


def amazon(folder: Path, settings: Settings) -> Task:
    """Employee access: nine identifiers, the split of CatBoost's own benchmark."""
    import pandas as pd

    folder = folder / "amazon_employee_access"
    rows = pd.read_csv(folder / "train.csv.gz")
    train, test = (
        rows.iloc[np.loadtxt(folder / f"catboost_stratified_{part}_idx.txt", dtype=np.int64)]
        for part in ("train", "test")
    )
    identifiers = tuple(name for name in rows.columns if name != "ACTION")
    return build(train, test, "ACTION", 1, identifiers, settings)


def flights(folder: Path, settings: Settings) -> Task:
    """Arrivals more than 15 minutes late, from what is known beforehand; the last months are the test set."""
    import pandas as pd

    rows = pd.read_parquet(folder / "flights_nyc13" / "flights.parquet").dropna(subset="arr_delay")
    table = rows[FLIGHT_COLUMNS].assign(late=rows["arr_delay"] > 15)
    early = table["month"] <= LAST_TRAINING_MONTH
    return build(table[early], table[~early], "late", True, (), settings)


def census(folder: Path, settings: Settings) -> Task:
    """Census income of 1994/95 (KDD), the official split."""
    import pandas as pd

    train, test = (
        pd.read_parquet(folder / "census_income_kdd" / f"{part}.parquet").drop(columns="instance_weight")
        for part in ("train", "test")
    )
    return build(train, test, "income", 1, CENSUS_CODES, settings)


SETS: dict[str, Callable[[Path, Settings], Task]] = {
    "adult": adult,
    "amazon_employee_access": amazon,
    "flights_nyc13": flights,
    "census_income_kdd": census,
}


def run(bench: Bench) -> Iterator[Table]:
    """Yield a table for each set found under ``--data``; time starts from a frame of strings."""
    for name, load in SETS.items():
        if bench.data is None or not (bench.data / name).is_dir():
            yield Table(f"categorical-{name}", "skipped: needs the folder --data, which does not hold it", ())
            continue
        task = load(bench.data, bench.settings())
        table = bench.training_table(f"categorical-{name}", task)
        table.notes.append(f"{len(task.categorical)} categorical columns, encoding counted as training")
        yield table
