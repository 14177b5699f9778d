"""What tests of the benchmark package share: benches of a family, and small real sets drawn anew."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import real_sets
from benchmarks.measuring import Bench
from benchmarks.workloads import FAMILIES


def bench_of(family: str, libraries: list[str] | None = None, **options: Any) -> Bench:
    chosen = FAMILIES[family]
    return Bench(chosen, libraries or list(chosen.rivals), **{"rows": chosen.rows} | options)


def write_german(folder: Path) -> None:
    """Write the smallest of the real sets."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    purpose, months = rng.choice(["car", "house", "?"], 300), rng.integers(1, 60, 300)
    good = np.where((purpose == "car") ^ (months > 30) ^ (rng.random(300) < 0.1), "good", "bad")
    file = folder / real_sets.SETS["german"].file
    file.parent.mkdir()
    pd.DataFrame({"purpose": purpose, "months": months, "creditability": good}).to_csv(file, index=False)


def write_black_friday(folder: Path, rows: int) -> None:
    """Write purchases of few customers and products; some categories of products are missing."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(3)
    user, product = rng.integers(0, 30, rows), rng.integers(0, 12, rows)
    frame = pd.DataFrame({"User_ID": 1000 + user, "Product_ID": [f"P{i:02}" for i in product]})
    frame["Product_Category_2"] = np.where(product % 3 == 0, np.nan, product % 3)
    for name in real_sets.PURCHASE_CODES:
        frame[name] = frame.get(name, pd.Series(rng.integers(0, 3, rows)))
    frame["Purchase"] = 100 * product + 10 * user + rng.normal(size=rows)
    file = folder / real_sets.SETS["black_friday"].file
    file.parent.mkdir()
    frame.to_parquet(file)
