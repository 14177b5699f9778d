"""Targets beyond one number or one class: ``python -m benchmarks tasks``."""

from __future__ import annotations

from benchmarks import rivals
from benchmarks.family import Family, Workload
from benchmarks.workloads import dense, many_outputs

WORKLOADS: dict[str, Workload] = {
    "many-outputs-shared": many_outputs.shared,
    "many-outputs-apart": many_outputs.apart,
}
TASKS = Family(
    "targets beyond one number or one class",
    rivals.BOOSTING,
    WORKLOADS,
    rows=many_outputs.ROWS,
    count="rounds",
    settings=dense.SETTINGS,
    equal="settings as each table says",
)
