"""Tasks beyond classes and numbers: what ``python -m benchmarks tasks`` compares."""

from __future__ import annotations

from benchmarks import rivals
from benchmarks.family import Family, Workload
from benchmarks.workloads import dense, isolation, survival, uplift

WORKLOADS: dict[str, Workload] = {
    **isolation.WORKLOADS,
    **survival.WORKLOADS,
    "uplift": uplift.run,
}
TASKS = Family(
    "tasks beyond classes and numbers",
    rivals.BOOSTING,
    WORKLOADS,
    rows=isolation.ROWS,
    count="rounds",
    settings=dense.SETTINGS,
    equal="settings as each table says",
)
