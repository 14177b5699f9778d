"""A shop's table, and what a run of the command leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

N_ROWS = 240


class Ran(NamedTuple):
    code: int
    data: bytes
    err: str

    @property
    def out(self) -> str:
        return self.data.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


def shop_table() -> pa.Table:
    random = np.random.default_rng(0)
    size = random.normal(size=N_ROWS).round(4)  # few digits: all formats hold them
    zip_code = random.choice(["01234", "04321", "09876"], N_ROWS)
    sold = np.where(size + (zip_code == "01234") + random.normal(size=N_ROWS) / 2 > 0.3, "yes", "no")
    return pa.table(
        {
            "order_id": np.arange(N_ROWS),
            "size": np.where(random.random(N_ROWS) < 0.1, np.nan, size),
            "zip": zip_code,
            "day": np.datetime64("2024-01-01") + np.sort(random.integers(0, 300, N_ROWS)),
            "price": np.round(size * 3 + 10 + random.normal(size=N_ROWS), 3),
            "sold": sold,
        }
    )


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
