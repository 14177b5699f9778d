"""Rows that stay in their files change nothing else, and a killed command goes on."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.cli.shop import N_ROWS, Ran, Run, files, shop_table

import arboretum as arb
from arboretum.cli.columns import Converted, Examples, select
from arboretum.cli.errors import DataError
from arboretum.cli.problem import _first_rows
from arboretum.cli.report import _columns
from arboretum.data.dataset import Dataset
from arboretum.data.memory_budget import MemoryBudget

LIMIT = ("--memory-limit", "400MB")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Write the shop's table with weights, treatments and rows without a target."""
    random = np.random.default_rng(2)
    table = shop_table()
    sold = pa.array(table["sold"].to_pylist(), mask=random.random(N_ROWS) < 0.1)
    table = table.set_column(table.column_names.index("sold"), "sold", sold)
    table = table.append_column("weight", pa.array(random.integers(1, 4, N_ROWS)))
    table = table.append_column("mailed", pa.array(random.integers(0, 2, N_ROWS)))
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(table, path, row_group_size=50)
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["-t", "sold", "--weight", "weight", "--cv", 2],
        ["-t", "sold", "-m", "forest", "--holdout", 0.3, "--kind", "zip=category", "--kind", "mailed=category"],
        ["-t", "price", "--time", "day", "--ignore", "sold", "--holdout", 0.3],
        ["-t", "price", "-m", "extra", "--id", "order_id", "--test", "rows.parquet"],
        ["-t", "sold", "-m", "forest", "--treatment", "mailed", "--holdout", 0.3],
    ],
    ids=["weights in folds", "kinds", "time", "test", "uplift"],
)
def test_the_model_and_its_scores_are_those_of_rows_in_memory(run: Run, rows: Path, words: list[Any]) -> None:
    quick = ["--set", "n_estimators=3", "--json", "--overwrite"]
    held = run("train", "rows.parquet", *words, *quick)
    assert held.code == 0, held.err
    streamed = run("train", "rows.parquet", *words, *quick, *LIMIT)
    assert streamed.code == 0, streamed.err
    remarks = streamed.json["remarks"]
    assert remarks.pop(1) == f"rows stay in rows.parquet; columns are known by their types and the first {N_ROWS} rows"
    assert streamed.json | {"seconds": 0, "remarks": remarks} == held.json | {"seconds": 0}


def test_text_files_stream_too(run: Run, shop: Path) -> None:
    words = ["train", shop, "-t", "sold", "--kind", "zip=category", "-m", "forest", "--set", "n_estimators=2"]
    words += ["--holdout", 0.3, "--json"]
    assert run(*words).json["fingerprint"] == run(*words, *LIMIT, "--overwrite").json["fingerprint"]


@pytest.mark.parametrize(
    "words",
    [
        ["train", "shop.csv", "-t", "sold", "--set", "n_estimators=2", "-o", "m.arb"],
        ["train", "shop.parquet", "-t", "sold", "-m", "forest", "--set", "n_estimators=2", "-o", "m.arb"],
        ["train", "shop.parquet", "-t", "sold", "-m", "extra", "--set", "n_estimators=2", "--report", "r.html"],
        ["predict", "kept.arb", "shop.csv", "-o", "p.csv"],
        ["predict", "kept.arb", "shop.parquet", "-o", "p.duckdb"],
        ["evaluate", "kept.arb", "shop.parquet"],
        ["report", "kept.arb", "shop.parquet", "-o", "r.html"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_limit_that_is_too_small_is_rejected_with_one_that_is_enough(
    shop: Path, model: Path, tmp_path: Path, words: list[str]
) -> None:
    """The rows of text files are counted as they are read: what training needs is known after that.

    Each run is a process of its own: limits are counted from its start, and libraries are not loaded yet.
    """

    def run(*given: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "arboretum", *given], cwd=tmp_path, capture_output=True, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    pa.parquet.write_table(shop_table(), tmp_path / "shop.parquet")
    before = files(tmp_path)
    limit, most = "1KB", 3 if "shop.csv" in words else 1
    for _ in range(most):
        small = run(*words, "--memory-limit", limit)
        told = re.search(r"^error: --memory-limit \S+ is too small: .* needs at least (\d+MB)$", small.err, re.M)
        if told is None:
            break
        assert (small.code, small.out, files(tmp_path)) == (2, "", before)
        limit = told[1]
    assert limit != "1KB", small.err
    replacing = () if words[0] == "evaluate" or "p.duckdb" in words else ("--overwrite",)
    ran = run(*words, "--memory-limit", limit, *replacing)
    assert ran.code == 0, ran.err


def test_columns_are_known_by_the_first_rows_and_the_task_by_all(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arboretum.cli.problem.ROWS_SEEN", 20)
    monkeypatch.setattr("arboretum.cli.problem.LEAST_ROWS_SEEN", 20)
    late = pa.array([None] * 30 + [1.0] * 30)
    table = pa.table({"a": range(60), "late": late, "y": [0] * 30 + [1] * 30})
    pa.parquet.write_table(table, tmp_path / "sorted.parquet")
    ran = run("train", "sorted.parquet", "-t", "y", "-m", "forest", "--holdout", 0.3, *LIMIT)
    assert ran.code == 0, ran.err
    assert "the first 20 rows" in ran.err
    assert "column 'late' is left out: it has no values" in ran.err
    assert "task: binary" in ran.err


def test_long_texts_are_looked_at_in_a_share_of_the_memory_left(tmp_path: Path) -> None:
    texts = pa.table({"text": [f"{row:06}" * 500 for row in range(20_000)]})  # 60 MB
    pa.parquet.write_table(texts, tmp_path / "texts.parquet", use_dictionary=False)
    limited = replace(Dataset.from_parquet(tmp_path / "texts.parquet"), budget=MemoryBudget(200_000_000).begun())
    seen = _first_rows(limited)
    assert 50 <= seen.num_rows < 20_000
    assert seen.nbytes <= 200_000_000 / 8
    assert _first_rows(replace(limited, budget=None)).num_rows == 20_000


def test_ids_of_a_report_are_cut() -> None:
    assert _columns(pa.table({"id": ["a" * 5_000, None], "n": [1, 2]})) == {"id": ["a" * 100, None], "n": [1, 2]}


def test_a_report_reads_some_of_the_rows(run: Run, rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arboretum.cli.report.MOST_ROWS", 40)
    words = ["-t", "price", "-m", "forest", "--set", "n_estimators=2", "--ignore", "sold", "--holdout", 0.3]
    ran = run("train", rows, *words, *LIMIT, "--report", "r.html")
    assert ran.code == 0, ran.err
    assert "the report reads at most 40 of the rows that judge" in ran.err
    assert Path("r.html").exists()


@pytest.mark.parametrize("most", [1, 7, 60, 99, 100, 1000])
def test_rows_in_memory_come_from_all_parts(most: int) -> None:
    y = np.arange(100)
    rows = Examples(Dataset.from_frame({"a": y}), y).in_memory(most)
    assert len(rows) == min(most, 100)
    assert rows.X["a"].to_pylist() == rows.y.tolist()  # type: ignore[union-attr]
    assert np.ptp(np.diff([*rows.y, 100])) <= 1  # type: ignore[misc]


def test_batches_are_converted_as_tables_are() -> None:
    table = pa.table(
        {
            "n": ["1", "2.5", None],
            "t": [1, 2, 3],
            "d": pa.array([0, 1, 2], pa.timestamp("s")),
            "clock": pa.array([0, 1, 2], pa.time32("s")),
            "amount": pa.array([1, 2, None], pa.decimal128(5, 2)),
            "code": pa.array(["1", "2", "1"]).dictionary_encode(),
        }
    )
    kinds = {"t": "category", "n": "number", "d": "", "clock": "number", "amount": "category", "code": "number"}
    dataset = select(Dataset.from_frame(table), kinds, "the data")
    assert isinstance(dataset.source, Converted)
    assert dataset.to_frame() == select(table, kinds, "the data")
    assert dataset.schema == select(table, kinds, "the data").schema
    assert dataset.select(["d"]).to_frame().column_names == ["d"]
    found = dataset.to_frame().to_pydict()
    assert (found["clock"], found["code"]) == ([0, 1_000_000, 2_000_000], [1.0, 2.0, 1.0])
    assert found["amount"] == ["1", "2", None]
    with pytest.raises(DataError, match="column 'n' holds 'x', which is not a number: correct it, or leave the column"):
        select(pa.table({"n": ["1", "x"]}), {"n": "number"}, "the data")


REFUSED: dict[str, tuple[list[Any], int, str]] = {
    "tree": (["-t", "price", "-m", "tree"], 2, "--model tree of regression needs all rows in memory; choose boosted"),
    "ranking": (["-t", "weight", "--group", "zip"], 2, "--model boosted of ranking needs all rows in memory; leave"),
    "survival": (
        ["-t", "price", "--event", "mailed"],
        2,
        "--model boosted of survival needs all rows in memory; leave",
    ),
    "uplift": (
        ["-t", "price", "--treatment", "mailed"],
        2,
        "--model boosted of uplift needs all rows in memory; choose f",
    ),
    "anomaly": ([], 2, "--model isolation of anomaly needs all rows in memory; leave the option out"),
    "query": (["-t", "price", "--sql", "SELECT * FROM data"], 2, 'let the query read the file, as in --sql "SELECT …'),
    "size": (
        ["-t", "price", "--memory-limit", "much"],
        2,
        "--memory-limit much: expected a number of bytes, or a size such",
    ),
    "target": (["-t", "prise"], 3, "rows.parquet has no column 'prise': did you mean 'price'?"),
    "test": (["-t", "price", "--test", "other.parquet"], 3, "other.parquet has no column"),
    "checkpoint": (
        ["-t", "price", "-m", "forest", "--checkpoint", "c.arb"],
        2,
        "RandomForestRegressor has none; boosted",
    ),
    "one file": (["-t", "price", "--checkpoint", "model.arb"], 2, "--checkpoint and --out both name model.arb"),
    "place": (["-t", "price", "--checkpoint", "no/c.arb"], 5, "cannot write no/c.arb: there is no folder no"),
    "a model": (["-t", "price", "--checkpoint", "kept.arb"], 1, "is a model that save() wrote, not a checkpoint"),
    "no model": (["-t", "price", "--checkpoint", "other.parquet"], 4, "other.parquet"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(run: Run, rows: Path, tmp_path: Path, name: str) -> None:
    words, code, message = REFUSED[name]
    pa.parquet.write_table(pa.table({"price": [1.0, 2.0]}), tmp_path / "other.parquet")
    arb.DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).save(tmp_path / "kept.arb")
    before = files(tmp_path)
    ran = run("train", "rows.parquet", *LIMIT, *words)
    assert message in ran.err
    assert (ran.code, ran.out) == (code, "")
    assert files(tmp_path) == before


def test_a_table_of_half_the_free_memory_is_told_of_the_option(
    run: Run, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["train", rows, "-t", "price", "-m", "tree", "--holdout", 0.3, "--overwrite"]
    assert "--memory-limit" not in run(*words).err
    monkeypatch.setattr("arboretum.cli.opening.available_bytes", lambda: 20_000.0)
    assert "0.0 GB are free: arboretum train --memory-limit 1MB leaves rows in their files" in run(*words).err


# ------------------------------------------------------------------------------------------------------- checkpoints


def test_a_killed_command_goes_on_to_the_same_model(run: Run, rows: Path, tmp_path: Path) -> None:
    words = ["train", "rows.parquet", "-t", "price", "--set", "n_estimators=200", "--holdout", "0.3", *LIMIT]
    whole = run(*words, "--json", "-o", "whole.arb").json["fingerprint"]
    words += ["--checkpoint", "c.arb"]
    program = [sys.executable, "-c", "from arboretum.cli import main; main()", *words, "--checkpoint-every", "0"]
    with subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not (tmp_path / "c.arb").exists() and process.poll() is None:
            time.sleep(0.005)
        process.kill()
    assert process.returncode < 0
    assert 0 < arb.load("c.arb").forest_.n_trees < 200
    other = run(*words, "--set", "max_depth=2")
    assert (other.code, "it was begun with max_depth=None, this fit has 2" in other.err) == (2, True)
    ran = run(*words)
    assert ran.code == 0, ran.err
    assert "removed c.arb, because the run is done" in ran.out
    assert arb.load("model.arb").fingerprint() == whole
    assert not Path("c.arb").exists()


def test_after_folds_the_model_that_is_written_has_the_checkpoint(run: Run, shop: Path) -> None:
    words = ["train", shop, "-t", "price", "--set", "n_estimators=3", "--cv", 2, "--json"]
    ran = run(*words, "--checkpoint", "c.arb", "--checkpoint-every", 0, "-o", "a.arb")
    assert ran.code == 0, ran.err
    assert ran.json["fingerprint"] == run(*words, "-o", "b.arb").json["fingerprint"]
