"""What GOSS saves of a whole fit, and what it costs in accuracy, on the dense task."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.measuring import Bench, Row, score, timed
from benchmarks.rivals import Rival
from benchmarks.rivals.arboretum import Arboretum
from benchmarks.rivals.lightgbm import LightGBM
from benchmarks.table import Column, Table
from benchmarks.task import Task
from benchmarks.workloads import dense

RATES = {"top_rate": 0.2, "other_rate": 0.1}


class SampledArboretum(Arboretum):
    """Trees on three tenths of the rows, those with large gradients first."""

    def settings(self, task: Task) -> dict[str, Any]:
        return super().settings(task) | {"sampling": "goss"} | RATES


class SampledLightGBM(LightGBM):
    """The same; its first rounds, as many as 1 / learning rate, see all rows."""

    def settings(self, task: Task) -> dict[str, Any]:
        return super().settings(task) | {"data_sample_strategy": "goss"} | RATES


SAMPLED: dict[str, Rival] = {rival.name: rival for rival in (SampledArboretum(), SampledLightGBM())}


def run(bench: Bench) -> Iterator[Table]:
    """Fit all rows and GOSS in direct succession; the best of each counts."""
    task = dense.task(bench)

    def turn(rival: Rival) -> Row:
        row: Row = {}
        for name, way in (("all", rival), ("goss", SAMPLED[rival.name])):
            row[f"{name}_s"], model = timed(partial(way.fit, task))
            row[f"{name}_auc"] = score(task, way.predict(model, task.X_test))["auc"]
        return row

    columns = (
        Column("all_s", "all rows s"),
        Column("goss_s", "GOSS s"),
        Column("speedup", "×"),
        Column("all_auc", "AUC", 5),
        Column("goss_auc", "AUC with GOSS", 5),
    )
    table = bench.table("sampling", task.shape, columns, turn, among=tuple(SAMPLED))
    for row in table.rows.values():
        if isinstance(row, dict):
            row["speedup"] = row["all_s"] / row["goss_s"]
            row["auc_lost"] = row["all_auc"] - row["goss_auc"]
    yield table
