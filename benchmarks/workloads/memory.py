"""Peak memory that training adds, in a new process a library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.child import run_child
from benchmarks.measuring import Bench, Row
from benchmarks.rivals import Rival
from benchmarks.table import Column, Table
from benchmarks.task import Task
from benchmarks.workloads import dense


def run(bench: Bench) -> Iterator[Table]:
    yield compare(bench, "memory", dense.task(bench))


def compare(bench: Bench, name: str, task: Task) -> Table:
    """Lay out the peaks; the table itself is not counted."""
    columns = (Column("memory_mb", "peak extra MB"), Column("ratio", "× arboretum"))
    title = f"{task.shape}; the float32 table ({task.X.nbytes / 1e6:.0f} MB) not counted"
    return bench.table(name, title, columns, partial(peak, task), ratio_of="memory_mb", repeat=1)


def peak(task: Task, rival: Rival) -> Row:
    """Hand the task to a child through a file, and let it fit there."""
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", task.X)
        np.save(Path(folder) / "y.npy", task.y)
        return run_child("memory", rival, kind=task.kind, settings=asdict(task.settings), folder=folder)
