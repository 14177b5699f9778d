"""What a second thread brings."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measuring import Bench, Row, timed
from benchmarks.rivals import Rival
from benchmarks.table import Column, Table
from benchmarks.workloads import dense


def serial_share(one_s: float, many_s: float, threads: int) -> float:
    """Return the part of the work that threads cannot share, between 0 and 1 whatever the noise of clocks.

    G. Amdahl, *Validity of the single processor approach to achieving large scale computing capabilities*, 1967:

        many_s = one_s · (serial + (1 − serial) / threads)
    """
    return min(1.0, max(0.0, (threads * many_s / one_s - 1) / (threads - 1)))


def speed_up(serial: float, threads: int) -> float:
    """Return how many times as fast as one thread so many are, by the same law."""
    return 1 / (serial + (1 - serial) / threads)


def run(bench: Bench) -> Iterator[Table]:
    """Fit the dense task with one thread and with ``--threads``."""
    many = dense.task(bench)
    one = many.with_settings(threads=1)

    def turn(rival: Rival) -> Row:
        one_s, _ = timed(lambda: rival.fit(one))
        many_s, _ = timed(lambda: rival.fit(many))
        return {"one_thread_s": one_s, "fit_s": many_s}

    columns = (
        Column("one_thread_s", "1 thread s"),
        Column("fit_s", f"{bench.threads} threads s"),
        Column("speed_up", "speed-up"),
    )
    table = bench.table("scaling", many.shape, columns, turn, among=("arboretum", "lightgbm"))
    for row in table.rows.values():
        if isinstance(row, dict):
            row["speed_up"] = row["one_thread_s"] / row["fit_s"]
    yield table
