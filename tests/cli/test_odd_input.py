"""What a person can do wrong: each is told in words, with its exit code, and nothing is overwritten."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.cli.shop import Run, files, is_root

import arboretum as arb

TRAIN = ("train", "shop.csv", "-t", "sold")
QUICK = ("-m", "tree", "--holdout", "0.3")
LINES = ["a,b,y", *(f"{i},{i % 7},{'no' if i % 3 else 'yes'}" for i in range(60))]

# content of data.csv, words after "train data.csv", exit code, message
TABLES: dict[str, tuple[list[str], list[str], int, str]] = {
    "broken line": (
        [*LINES[:5], "1,2", *LINES[5:]],
        ["-t", "y"],
        3,
        "data.csv, line 6: 2 fields, but the header",
    ),
    "empty file": ([], ["-t", "y"], 3, "data.csv is empty"),
    "names only": (LINES[:1], ["-t", "y"], 3, "data.csv has no rows"),
    "no row is left": (
        LINES,
        ["-t", "y", "--sql", "SELECT * FROM data WHERE a < 0"],
        3,
        "has no rows: check the query",
    ),
    "wrong query": (LINES, ["-t", "y", "--sql", "SELECT nothing FROM data"], 3, "the query failed"),
    "target missing": (LINES, ["-t", "Y"], 3, "has no column 'Y': did you mean 'y'?"),
    "target constant": (["a,y", *["1,5"] * 9], ["-t", "y"], 3, "the target 'y' is 5 in every row"),
    "target empty": (["a,y", *["1,"] * 9], ["-t", "y"], 3, "the target 'y' has no values"),
    "target is an id": (["a,y", *(f"1,n{i}" for i in range(99))], ["-t", "y"], 3, "looks like an identifier"),
    "target is text": (
        LINES,
        ["-t", "y", "--task", "regression"],
        3,
        "the target 'y' holds 'no', which is not a number",
    ),
    "twice one name": (["a,b,a", "1,2,3"], ["-t", "b"], 3, "the column name 'a' occurs twice"),
    "wrong kind": (
        ["a,y", *["x1,2", "x2,3"] * 9],
        ["-t", "y", "--kind", "a=number"],
        3,
        "column 'a' holds 'x1', which is no",
    ),
    "unknown kind": (LINES, ["-t", "y", "--kind", "a=colour"], 2, "where kind is one of number, category"),
    "kind of no column": (LINES, ["-t", "y", "--kind", "aa=number"], 3, "has no column 'aa': did you mean 'a'?"),
    "unknown setting": (LINES, ["-t", "y", "--set", "max_dept=3"], 2, "did you mean 'max_depth'?"),
    "setting without value": (LINES, ["-t", "y", "--set", "max_depth"], 2, "expected name=value"),
    "unknown method": (LINES, ["-t", "y", "-m", "forrest"], 2, "did you mean 'forest'?"),
    "method of another task": (LINES, ["-t", "a", "-m", "isolation"], 2, "--model isolation cannot do regression"),
    "unknown preset": (LINES, ["-t", "y", "-m", "boosted:xgbost"], 2, "did you mean 'boosted:xgboost'?"),
    "preset of another method": (LINES, ["-t", "y", "-m", "forest:xgboost"], 2, "presets belong to boosted trees"),
    "wrong setting": (LINES, ["-t", "y", "--set", "max_depth=abc"], 2, "max_depth='abc': use an integer"),
    "contradicting settings": (
        LINES,
        ["-t", "y", "-m", "boosted", "--set", "growth=symmetric", "--set", "prune=true"],
        2,
        "prune=True with growth='symmetric'",
    ),
    "ranking without queries": (LINES, ["-t", "a", "--task", "ranking"], 2, "--task ranking needs --group COLUMN"),
    "two ways to judge": (LINES, ["-t", "y", "--cv", "3"], 2, "--cv and --holdout contradict each other"),
    "no time limit": (LINES, ["-t", "y", "--time-limit", "5"], 2, "DecisionTreeClassifier knows none"),
    "nothing to learn from": (
        LINES,
        ["-t", "y", "--ignore", "a", "--ignore", "b"],
        3,
        "no column is left to learn from",
    ),
    "folder to write is absent": (LINES, ["-t", "y", "-o", "no/m.arb"], 5, "there is no folder no"),
    "output exists": (LINES, ["-t", "y", "-o", "kept.arb"], 5, "kept.arb exists already"),
    "output is a folder": (LINES, ["-t", "y", "-o", "."], 5, "it is a folder"),
    "output is a device": (LINES, ["-t", "y", "-o", "/dev/full", "--overwrite"], 5, "it is not a regular file"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(run: Run, tmp_path: Path, name: str) -> None:
    lines, words, code, message = TABLES[name]
    (tmp_path / "data.csv").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "kept.arb").write_text("mine")
    before = files(tmp_path)
    ran = run("train", "data.csv", *QUICK, *words)
    assert message in ran.err
    assert (ran.code, ran.out) == (code, "")
    assert files(tmp_path) == before


def test_places_that_hold_no_table(run: Run, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.parquet").write_text("no Parquet")
    (tmp_path / "wrong.db").write_text("no data base" * 500)
    (tmp_path / "latin.csv").write_bytes("a,y\n1,Zürich\n".encode("latin-1"))
    (tmp_path / "sheet.xlsx").write_text("cells")
    (tmp_path / "void").mkdir()
    cases = {
        "shopp.csv": "there is no file shopp.csv: did you mean 'shop.csv'?",
        "no/shop.csv": "there is no folder no",
        "wrong.parquet": "wrong.parquet is not a Parquet file, or its end is missing",
        "wrong.db": "neither a DuckDB nor an SQLite database",
        "latin.csv": "latin.csv, line 2: the byte 0xfc is not UTF-8 text; --encoding cp1252 or --encoding latin",
        "sheet.xlsx": "has no known format: csv",
        "void": "the folder void has no file of a known format",
    }
    for place, message in cases.items():
        ran = run("train", place, "-t", "sold")
        assert message in ran.err
        assert ran.code == 3, place
    ran = run("train", "-t", "sold")
    assert (ran.code, "give DATA" in ran.err) == (2, True)


@pytest.mark.skipif(is_root() or os.name != "posix", reason="root may read everything")
def test_a_file_without_permission(run: Run, shop: Path) -> None:
    shop.chmod(0)
    ran = run("train", shop, "-t", "sold")
    assert (ran.code, "no permission to read" in ran.err) == (3, True)


def test_a_full_disk_leaves_what_was_there(
    run: Run, shop: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.csv").write_text("mine")
    before = files(tmp_path)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)  # the last step before a new model takes its name
        ran = run("train", shop, "-t", "sold", *QUICK, "-o", model, "--overwrite")
    assert (ran.code, "No space left on device" in ran.err) == (5, True)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        ran = run("predict", model, shop, "-o", "p.csv", "--overwrite")
    assert (ran.code, "cannot write p.csv: No space left on device" in ran.err) == (5, True)
    assert files(tmp_path) == before


def test_models_that_do_not_fit(run: Run, shop: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.arb").write_text("a,b\n1,2\n")
    (tmp_path / "cut.arb").write_bytes(model.read_bytes()[:-10])
    (tmp_path / "other.csv").write_text("size,zip,y\n1,2,3\n")
    (tmp_path / "cut.json").write_text("{}")
    (tmp_path / "void").mkdir()
    sizes = {"size": np.arange(40.0)}
    arb.DecisionTreeRegressor().fit(pa.table(sizes), sizes["size"]).save(tmp_path / "plain.arb")
    arb.BaggingRegressor(n_estimators=2).fit(pa.table(sizes), sizes["size"]).save(tmp_path / "bag.arb")
    before = files(tmp_path)
    cases: list[tuple[list[Any], int, str]] = [
        (["predict", "absent.arb", shop, "-o", "p.csv"], 4, "there is no such file"),
        (["predict", "wrong.arb", shop, "-o", "p.csv"], 4, "wrong.arb"),
        (["predict", "cut.arb", shop, "-o", "p.csv"], 4, "cut.arb"),
        (["show", shop], 4, "shop.csv"),
        (
            ["evaluate", model, shop, "-t", "price"],
            4,
            "the model predicts binary of 'no', 'yes', but the target 'price'",
        ),
        (["evaluate", model, shop, "-t", "prise"], 3, "has no column 'prise': did you mean 'price'?"),
        (["evaluate", model, "other.csv"], 3, "has no column"),
        (["predict", model, "other.csv", "-o", "p.csv"], 3, "other.csv has no column 'day'"),
        (["predict", model, shop, "-o", "p.xlsx"], 2, "--out p.xlsx: rows are written as csv, tsv, txt, json, jsonl"),
        (["predict", model, shop, "-o", "p.csv", "--keep", "prediction"], 3, "has no column 'prediction'"),
        (["predict", model, shop, "-o", "other.csv"], 5, "other.csv exists already"),
        (["predict", model, shop, "--sql", "SELECT * FROM data WHERE size > 99", "-o", "p.csv"], 3, "has no rows"),
        (["show", model, "--tree", 7], 2, "the model has trees 0 to 0"),
        (["convert", model, "m.onnx"], 2, "give --to arb, mapped, json or text"),
        (["convert", "other.csv", "m.arb"], 4, "other.csv"),
        (["convert", "cut.json", "m.arb"], 4, "cut.json is not a model in the JSON of 'arboretum convert'"),
        (["convert", "void", "m.arb"], 4, "cannot read void: Is a directory"),
        (["show", "bag.arb", "--tree", 0], 4, "BaggingRegressor is not a forest of its own"),
        (["evaluate", "plain.arb", shop], 2, "plain.arb does not tell its target: name it with --target COLUMN"),
        (["evaluate", "plain.arb", shop, "-t", "sold"], 4, "predicts regression, but the target 'sold' holds 'no'"),
        (["evaluate", model], 2, "give DATA"),
        (["compare", shop], 2, "compare judges by a target"),
    ]
    for words, code, message in cases:
        ran = run(*words)
        assert message in ran.err, words
        assert ran.code == code, (words, ran.err)
    assert files(tmp_path) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_that_goes_nowhere(model: Path) -> None:
    words = [sys.executable, "-c", "from arboretum.cli import main; main()", "show", str(model)]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (5, "error: cannot write to standard output: No space left on device\n")


def test_an_error_is_json_too(run: Run, shop: Path) -> None:
    ran = run("train", shop, "-t", "prise", "--json")
    assert ran.json == {"error": f"{shop} has no column 'prise': did you mean 'price'?", "exit_code": 3}


def test_a_replaced_file_is_said_to_be(run: Run, shop: Path, model: Path) -> None:
    before = arb.load(model).fingerprint()
    ran = run("train", shop, "-t", "price", *QUICK, "-o", model, "--overwrite")
    assert f"replaced {model}" in ran.out
    assert arb.load(model).fingerprint() != before


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (
            (*TRAIN, "-o", "x.arb", "--report", "./x.arb"),
            "--out and --report both name x.arb",
        ),
        (
            (*TRAIN, "--checkpoint", "model.arb"),
            "--checkpoint and --out both name model.arb",
        ),
        ((*TRAIN, "-o", "shop.csv"), "--out shop.csv is a file of DATA"),
        (("train", "sh*.csv", "-t", "sold", "--report", "link.csv"), "--report link.csv is a file of DATA"),
        (
            ("train", "kept.arb", "--test", "shop.csv", "-o", "shop.csv"),
            "--out shop.csv is a file of --test",
        ),
        (("compare", "shop.csv", "-t", "sold", "-o", "shop.csv"), "--out shop.csv is a file of DATA"),
        (("predict", "kept.arb", "shop.csv", "-o", "kept.arb", "--format", "csv"), "--out kept.arb is a file of MODEL"),
        (("predict", "kept.arb", ".", "-o", "shop.csv"), "--out shop.csv is a file of DATA"),
        (("report", "kept.arb", "shop.csv", "-o", "kept.arb"), "--out kept.arb is a file of MODEL"),
        (("report", "kept.arb", "-", "--train", "shop.csv", "-o", "shop.csv"), "--out shop.csv is a file of --train"),
        (("convert", "kept.arb", "kept.arb"), "OUT kept.arb is a file of MODEL"),
    ],
    ids=lambda value: " ".join(value)[:60],
)
@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)], ids=["", "overwrite"])
def test_no_file_is_written_twice_or_over_what_is_read(
    run: Run, shop: Path, model: Path, words: tuple[str, ...], options: str, overwrite: tuple[str, ...]
) -> None:
    Path("link.csv").symlink_to(shop)
    before = files(shop.parent)
    ran = run(*words, *overwrite)
    assert (ran.code, files(shop.parent)) == (2, before)
    assert options in ran.err.replace("./x.arb", "x.arb")


@pytest.mark.parametrize("folder", ["shop.csv", "/proc/x", "no/such"])
def test_a_folder_that_cannot_be_made_is_refused_before_the_demo(run: Run, shop: Path, folder: str) -> None:
    ran = run("demo", "-o", folder)
    assert ran.code == 5
    assert f"cannot write {'into ' if folder == 'shop.csv' else ''}{folder}: " in ran.err


def test_events_are_zero_and_one(run: Run, tmp_path: Path) -> None:
    lines = ["days,status,age", *(f"{i % 40 + 1},{1 + i % 2},{i % 13}" for i in range(100))]
    (tmp_path / "lung.csv").write_text("\n".join(lines))
    words = ("train", "lung.csv", "-t", "days", "--event", "status", "-m", "forest", "--set", "n_estimators=5")
    ran = run(*words)
    assert ran.code == 3
    cure = """--sql 'SELECT * REPLACE ("status" = 2 AS "status") FROM data'"""
    assert "the event 'status' holds 1, 2: 1 or true says that it happened" in ran.err
    assert f"if 2 says that it happened, {cure}\n" in ran.err
    assert run(*words, *shlex.split(cure)).code == 0


def test_an_id_may_not_be_called_as_predictions_are(run: Run, shop: Path) -> None:
    query = "SELECT *, order_id AS prediction FROM data"
    words = (*TRAIN, *QUICK, "--sql", query, "--id", "prediction")
    assert run(*words).code == 0
    ran = run("predict", "model.arb", "shop.csv", "--sql", query, "-o", "p.csv")
    cure = """--sql 'SELECT * EXCLUDE ("prediction"), "prediction" AS given FROM data'"""
    assert (ran.code, Path("p.csv").exists()) == (2, False)
    assert "the column 'prediction' of shop.csv would stand beside predictions of that name: rename it" in ran.err
    assert f"as in {cure}\n" in ran.err


def test_only_a_query_is_blamed_for_the_rows_that_it_lacks(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("size,zip,day,sold\n")
    for command in (("train", "empty.csv", "-t", "sold"), ("predict", "kept.arb", "empty.csv", "-o", "p.csv")):
        ran = run(*command)
        assert (ran.code, files(tmp_path).keys()) == (3, {"empty.csv", "kept.arb"})
        assert "empty.csv has no rows: add some below the header" in ran.err


@pytest.mark.filterwarnings("always:loss='ordinal' takes text")
def test_a_warning_of_every_fold_is_said_once_with_a_cure_of_the_command(run: Run, tmp_path: Path) -> None:
    sizes = ("small", "medium", "large")
    lines = ["a,size", *(f"{i % 3 + i % 5 / 9},{sizes[i % 3]}" for i in range(90))]
    (tmp_path / "sizes.csv").write_text("\n".join(lines))
    ran = run("train", "sizes.csv", "-t", "size", "--set", "loss=ordinal", "--set", "n_estimators=3", "--cv", 3)
    assert ran.code == 0, ran.err
    assert ran.err.count("takes text in alphabetical order") == 1
    assert "if that is not the order of the classes, number them in their order by --sql\n" in ran.err
    assert "pandas" not in ran.err
