"""``arboretum train --cluster``: the model of the command without it, and errors that name the cure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from tests.cli.conftest import run_command
from tests.cli.shop import Ran

from arboretum.cli import cluster
from arboretum.cluster import fitting
from arboretum.cluster.fitting import ClusterFit
from arboretum.data.dataset import Dataset

pytest.importorskip("distributed")

N_ROWS = 3_000
QUICK = ("--set", "n_estimators=3", "--set", "race=false", "--holdout", "0.3", "--json", "--overwrite")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let several workers fit tables that tests can afford."""
    monkeypatch.setattr(fitting, "SMALL_ROWS", 100)
    monkeypatch.setattr(fitting, "LEAST_ROWS", 10)


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """Write rows, some without a target, as three Parquet files and as text."""
    random = np.random.default_rng(4)
    size, zip_code = random.normal(size=N_ROWS).round(3), random.choice(["01234", "04321", "?"], N_ROWS)
    sold = np.where(size + (zip_code == "01234") + random.normal(size=N_ROWS) > 0, "yes", "no")
    columns = {"size": size, "zip": zip_code, "share": random.random(N_ROWS).round(3).astype(str)}
    columns |= {"weight": random.integers(1, 4, N_ROWS), "price": size * 3 + random.normal(size=N_ROWS)}
    table = pa.table(columns).append_column("sold", pa.array(sold, mask=random.random(N_ROWS) < 0.1))
    for number in range(3):
        parquet.write_table(table.slice(number * 1000, 1000), tmp_path / f"part-{number}.parquet", row_group_size=300)
    csv.write_csv(table, tmp_path / "rows.csv")
    monkeypatch.chdir(tmp_path)
    return table


def train(*words: Any) -> Ran:
    return run_command("train", *words, *QUICK)


def assert_same(words: tuple[Any, ...], where: str) -> Ran:
    """Compare what the command says with a cluster and without one."""
    held, placed = train(*words), train(*words, "--cluster", where)
    assert (held.code, placed.code) == (0, 0), held.err + placed.err
    remarks = placed.json["remarks"]
    assert remarks.pop(1).startswith("rows stay in ")
    assert placed.json | {"seconds": 0, "remarks": remarks} == held.json | {"seconds": 0}
    return placed


def test_a_cluster_of_this_machine_gives_the_same_model() -> None:
    assert_same(("part-*.parquet", "-t", "sold", "--weight", "weight", "--missing", "?"), "local:2")


@pytest.mark.parametrize(
    "words",
    [
        ("part-*.parquet", "-t", "price", "--ignore", "sold", "--report", "page.html"),
        ("rows.csv", "-t", "sold", "--kind", "weight=category", "--checkpoint", "kept.arb"),
        ("part-*.parquet", "-t", "price", "--sql", "SELECT size, zip, price FROM data WHERE weight < 3"),
    ],
    ids=["report", "text", "query"],
)
def test_a_scheduler_gives_the_same_model(client: Any, words: tuple[Any, ...]) -> None:
    assert_same(words, client.scheduler.address)
    assert "--report" not in words or "</html>" in Path("page.html").read_text()


@pytest.mark.filterwarnings("default:fit was interrupted")
def test_an_interrupted_fit_keeps_its_model(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, told = ClusterFit._answers, []

    def interrupted(self: ClusterFit, *asked: Any) -> list[Any]:
        found = answers(self, *asked)
        if not told and "'round'" in repr(found):
            told.append("Ctrl-C")
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(ClusterFit, "_answers", interrupted)
    words = ("part-*.parquet", "-t", "price", "--set", "early_stopping=false", "--set", "n_estimators=5000")
    ran = run_command("train", *words, "--holdout", 0.3, "-o", "m.arb", "--cluster", client.scheduler.address)
    assert ran.code == 130, ran.err
    assert "fit was interrupted: the model keeps the" in ran.err
    assert "interrupted: the model is as far as it got" in ran.out
    assert Path("m.arb").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("no.csv", "-m", "bagging"), "--cluster: --model bagging is fitted on one machine; choose boosted, forest,"),
        (("no.csv", "-m", "stack"), "--cluster: --model stack is fitted on one machine; choose boosted, forest,"),
        (("no.csv", "--memory-limit", "1GB"), "--memory-limit and --cluster contradict each other: the rows of a fit"),
        (("rows.csv", "--event", "sold"), "--cluster: --model boosted of survival is fitted on one machine; leave the"),
        (("part-*.parquet", "--set", "dart_rate=0.1"), "dart_rate=0.1 on a cluster: rounds that are left out are"),
        (("rows.arrow",), "these rows can only be read one after the other: write them as Parquet files first"),
    ],
)
def test_what_clusters_cannot_do_is_said(client: Any, rows: pa.Table, words: tuple[str, ...], message: str) -> None:
    with pa.OSFile("rows.arrow", "wb") as sink, pa.ipc.new_file(sink, rows.schema) as file:
        file.write_table(rows)
    events = rows.set_column(rows.column_names.index("sold"), "sold", pa.array(np.arange(N_ROWS) % 2))
    csv.write_csv(events.append_column("days", pa.array(np.arange(N_ROWS) + 1)), "rows.csv")
    target = "days" if "--event" in words else "price"
    ran = train(*words, "-t", target, "--cluster", client.scheduler.address)
    assert (ran.code, ran.json["error"].startswith(message)) == (ran.code or 1, True), ran.err


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("local:0", "--cluster local:0: expected a number of worker processes, as in local:4"),
        ("local:many", "--cluster local:many: expected a number of worker processes"),
        ("host", "--cluster host: no scheduler answers there (missing port"),
        ("tcp://127.0.0.1:1", "--cluster tcp://127.0.0.1:1: no scheduler answers there (Timed out"),
    ],
)
def test_wrong_addresses_are_told_before_data_are_read(
    monkeypatch: pytest.MonkeyPatch, where: str, message: str
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.3)
    ran = train("no.parquet", "-t", "price", "--cluster", where)
    assert ran.code == 2
    assert ran.json["error"].startswith(message)


def test_a_cluster_without_workers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr(cluster, "WORKER_SECONDS", 0.1)
    with LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        ran = train("no.parquet", "-t", "price", "--cluster", empty.scheduler_address)
    assert ran.code == 2
    assert "it has no workers; start some with 'dask worker tcp://" in ran.json["error"]


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    ran = train("no.parquet", "-t", "price", "--cluster", "local")
    assert ran.code == 2
    assert ran.json["error"] == "--cluster needs Dask, which is not installed: pip install 'arboretum[dask]'"


def test_a_worker_without_the_files_says_so() -> None:
    (part,) = Dataset.from_parquet("part-0.parquet").parted(N_ROWS)
    Path("part-0.parquet").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"has no file .*part-0\.parquet; workers read the data themselves: put"
    ):
        cluster._read(part)
