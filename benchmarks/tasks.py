"""Tasks beyond classes and numbers: what ``python -m benchmarks tasks`` compares."""

from __future__ import annotations

from benchmarks import rivals
from benchmarks.family import Family, Workload
from benchmarks.workloads import forests, isolation

WORKLOADS: dict[str, Workload] = {
    **isolation.WORKLOADS,
}
TASKS = Family(
    "tasks beyond classes and numbers",
    rivals.FORESTS,
    WORKLOADS,
    rows=isolation.ROWS,
    count="trees",
    settings=forests.SETTINGS,
    equal="settings as each table says",
)
