"""Looking inside fitted models: what ``python -m benchmarks explaining`` compares."""

from __future__ import annotations

from benchmarks import rivals
from benchmarks.family import Family, Workload
from benchmarks.workloads import dense, dependence

WORKLOADS: dict[str, Workload] = {**dependence.WORKLOADS}
EXPLAINING = Family(
    "looking inside fitted models",
    {"arboretum": rivals.BOOSTING["arboretum"]},
    WORKLOADS,
    rows=dependence.ROWS,
    count="rounds",
    settings=dense.SETTINGS,
    equal="settings as each table says",
)
