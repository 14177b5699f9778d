"""Looking inside models: what ``python -m benchmarks explaining`` compares."""

from __future__ import annotations

from benchmarks import rivals
from benchmarks.family import Family, Workload
from benchmarks.rivals.shap import Shap
from benchmarks.workloads import dense, dependence, report, shap

WORKLOADS: dict[str, Workload] = {**shap.WORKLOADS, **dependence.WORKLOADS, "report": report.run}
EXPLAINING = Family(
    "looking inside models",
    {**rivals.BOOSTING, Shap.name: Shap()},
    WORKLOADS,
    rows=dependence.ROWS,
    count="rounds",
    settings=dense.SETTINGS,
    equal="settings as each table says",
)
