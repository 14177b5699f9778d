"""A fresh process that imports a library, fits the small task and predicts: what a script or a test costs."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.child import run_child
from benchmarks.measuring import Bench, Row, timed
from benchmarks.rivals import Rival
from benchmarks.table import Column, Table


def run(bench: Bench) -> Iterator[Table]:
    """Time whole processes; the interpreter and NumPy alone are given for comparison."""
    empty, _ = timed(lambda: run_child("fresh"))

    def turn(rival: Rival) -> Row:
        seconds, _ = timed(lambda: run_child("fresh", rival, rounds=bench.rounds, threads=bench.threads))
        return {"wall_s": seconds}

    columns = (Column("wall_s", "wall s"), Column("ratio", "× arboretum"))
    title = f"new process: import, fit 1,000 × 20 for {bench.rounds} rounds, predict"
    notes = [f"a process without a library takes {empty:.2f} s"]
    yield bench.table("fresh", title, columns, turn, ratio_of="wall_s", notes=notes)
