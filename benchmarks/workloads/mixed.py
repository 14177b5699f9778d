"""Forests on real tables with string columns: native categories against YDF's and against numbers in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.measuring import Bench
from benchmarks.table import Table
from benchmarks.workloads import categorical

AMONG = ("arboretum", "sklearn", "ydf")


def workload(name: str) -> Callable[[Bench], Iterator[Table]]:
    """Return the workload of one real set."""

    def run(bench: Bench) -> Iterator[Table]:
        yield categorical.compare(bench, f"forest-mixed-{name}", name, AMONG)

    return run


WORKLOADS = {name: workload(name) for name in ("adult", "black_friday", "amazon_employee_access")}
