"""Voting, stacking, blending and ensemble selection: what ``python -m benchmarks combining`` measures."""

from __future__ import annotations

from benchmarks import rivals
from benchmarks.family import Family, Workload
from benchmarks.workloads import dense
from benchmarks.workloads.combining import averages, equal, leakage, speed, tables, threads

WORKLOADS: dict[str, Workload] = {
    "equal": equal.run,
    "speed": speed.run,
    "leakage": leakage.run,
    "tables": tables.run,
    "threads": threads.run,
    "averages": averages.run,
}
COMBINING = Family(
    "models of different kinds, combined",
    {name: rivals.BOOSTING[name] for name in ("arboretum", "sklearn")},
    WORKLOADS,
    rows=tables.MOST_ROWS,
    count="rounds",
    settings=dense.SETTINGS,
    equal="settings as each table says",
)
