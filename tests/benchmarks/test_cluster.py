"""The benchmark of fits on a cluster: small runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

pytest.importorskip("distributed")
pytest.importorskip("dask.dataframe")

from benchmarks.__main__ import main  # noqa: E402
from benchmarks.cluster import WORKLOADS  # noqa: E402
from benchmarks.workloads.cluster import equal, exchange, simulate, speed  # noqa: E402
from benchmarks.workloads.cluster.running import HungError, Options, until, within  # noqa: E402

# Dask and rivals warn about their own dependencies: they are not under test here.
pytestmark = pytest.mark.filterwarnings("default")
COSTS = simulate.Costs(
    row=1e-8, histogram=1e-9, partition=2e-9, search=1e-9, call=5e-4, copy=1e-9, add=2e-10, visits=3, parted=7
)


def cluster(folder: Path, workloads: str, *options: str) -> dict[str, dict[str, Any]]:
    file = folder / "run.json"
    chosen = ["--workloads", workloads, "--json", str(file), "--folder", str(folder), "--rows", "100000"]
    assert main(["cluster", *chosen, "--workers", "2", "--rounds", "4", "--repeats", "1", *options]) == 0
    return {table["name"]: table for table in json.loads(file.read_text())["tables"]}


def test_an_error_ends_its_workload_alone(tmp_path, capsys, monkeypatch):
    def broken(options: Options) -> None:
        raise ZeroDivisionError("no such luck")

    monkeypatch.setitem(WORKLOADS, "memory", broken)
    assert main(["cluster", "--workloads", "memory", "--folder", str(tmp_path)]) == 1
    assert "failed: ZeroDivisionError: no such luck" in capsys.readouterr().out


def test_models_are_equal_and_messages_are_counted(tmp_path, capsys, monkeypatch):
    fits = {name: equal.FITS["boosting"][name] for name in ("logistic", "validation rows")}
    monkeypatch.setattr(equal, "FITS", {"boosting": fits})
    monkeypatch.setattr(equal, "partings", lambda rows: {"one empty": [rows // 4, 0, rows - rows // 4]})
    monkeypatch.setattr(exchange, "CASES", {"logistic, 31 leaves": exchange.CASES["logistic, 31 leaves"]})
    tables = cluster(tmp_path, "equal,limited,exchange")
    assert {row["other"] for row in tables["cluster-equal"]["rows"].values()} == {0}
    assert {row["runs"] for row in tables["cluster-equal"]["rows"].values()} == {2}
    (row,) = tables["cluster-exchange"]["rows"].values()
    assert 1 < row["exchanges"] < 1.5 * row["depth"] + 3
    assert 0 < row["up_mb"] <= row["mb"]
    assert "not run" in tables["cluster-limited"]["rows"]["all"]
    assert "the model of one process in every run (others): 0 — reached" in capsys.readouterr().out


def test_workers_are_compared_with_one_process(tmp_path, monkeypatch):
    ours = {name: speed.CONTENDERS[name] for name in ("arboretum", "one process")}
    monkeypatch.setattr(speed, "CONTENDERS", ours)
    table = cluster(tmp_path, "speed")["cluster-speed"]
    one, other = table["rows"].values()
    assert one["auc"] == other["auc"] > 0.6
    assert "the model of the workers is that of one process" in table["notes"]


def test_kills_are_counted(tmp_path):
    """Whether fits survive them is a law of tests/cluster."""
    rows = cluster(tmp_path, "killed", "--kills", "1", "--patience", "20")["cluster-killed"]["rows"]
    assert rows.get("all") == rows.get("another place")  # none, if the fit was over by then
    assert all(row["kills"] == 1 and row["other"] in (0, 1) for row in rows.values())


def test_the_simulation_agrees_with_its_formulas():
    asked = simulate.Cluster(spread=0.0)
    for workers in (1, 3, 63):
        some = simulate.Cluster(workers=workers, spread=0.0)
        assert simulate.simulated(some, COSTS) == pytest.approx(sum(simulate.on_paper(some, COSTS).values()), rel=0.05)
    table, lifted = simulate.scaling(asked, COSTS), simulate.lifted(asked, COSTS)
    speedups = list(table.measured("speedup").values())
    assert speedups[:4] == sorted(speedups[:4])
    assert speedups[0] == pytest.approx(1.0)
    assert lifted.value("100 GbE", "s_1000") < lifted.value("as it is", "s_1000")


def test_costs_are_measured():
    (row, histogram, partition, search), visits, parted = simulate.work_costs(4_000, repeats=1)
    assert min(row, histogram, partition, search) >= 0
    assert max(histogram, partition) < 1e-5
    assert 1 < visits < parted < 20


def test_waits_end():
    with pytest.raises(HungError, match="sleeping has not ended after 0 s"):
        within(0.05, lambda: until(lambda: False, 2, "nothing"), "sleeping")
    with pytest.raises(HungError, match="nothing did not happen within 0 s"):
        until(lambda: False, 0.05, "nothing")
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0, "dividing")


def test_what_cannot_be_run_is_named(capsys):
    assert main(["cluster", "--workloads", "sleep"]) == 2
    assert "no workload is called 'sleep'; there are: equal, limited, killed" in capsys.readouterr().err
    assert Options(rows=500_000).part(100_000) == 10_000
