"""Tasks beyond classes and numbers: what ``python -m benchmarks tasks`` compares."""

from __future__ import annotations

from benchmarks import rivals
from benchmarks.family import Family, Workload
from benchmarks.workloads import (
    dense,
    isolation,
    many_outputs,
    ranking,
    survival,
    uncertainty,
    untouched_losses,
    uplift,
)

WORKLOADS: dict[str, Workload] = {
    **isolation.WORKLOADS,
    **many_outputs.WORKLOADS,
    **survival.WORKLOADS,
    "ranking": ranking.run,
    **uncertainty.WORKLOADS,
    **untouched_losses.WORKLOADS,
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
