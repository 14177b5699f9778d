"""Training while another process spins: a busy server, or a container with less than it believes to have."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.measuring import Bench, Row, timed
from benchmarks.rivals import Rival
from benchmarks.table import Column, Table
from benchmarks.workloads import dense

# Ends by itself when its parent is gone.
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(10_000))"
AMONG = ("arboretum", "lightgbm", "xgboost", "sklearn")


@contextmanager
def busy_core() -> Iterator[None]:
    """Keep one core busy with another process."""
    with subprocess.Popen([sys.executable, "-c", SPIN]) as spinner:
        try:
            yield
        finally:
            spinner.kill()


def run(bench: Bench) -> Iterator[Table]:
    """Fit half of the dense rows for half of the rounds, alone and disturbed, in direct succession."""
    whole = dense.task(bench)
    task = whole.head(len(whole.y) // 2, rounds=max(1, bench.rounds // 2))

    def turn(rival: Rival) -> Row:
        quiet, _ = timed(lambda: rival.fit(task))
        with busy_core():
            disturbed, _ = timed(lambda: rival.fit(task))
        return {"quiet_s": quiet, "disturbed_s": disturbed}

    columns = (Column("quiet_s", "alone s"), Column("disturbed_s", "disturbed s"), Column("slowdown", "×"))
    table = bench.table("contention", task.shape, columns, turn, among=AMONG)
    for row in table.rows.values():
        if isinstance(row, dict):
            row["slowdown"] = row["disturbed_s"] / row["quiet_s"]
    yield table
