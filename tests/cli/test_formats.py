"""Files of any format, pipes, and places that are none: read and written, or one line that says what to do."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from tests.cli.shop import N_ROWS, Ran, Run, shop_table

from arboretum import Dataset
from arboretum.cli.file_formats import COMPRESSED
from arboretum.cli.sources import open_rows
from arboretum.cli.writers import NAMES, duckdb_writer

QUICK = ("-m", "tree", "--set", "max_depth=3", "--cv", 2, "--overwrite")


@pytest.fixture
def predicted(run: Run, shop: Path, model: Path) -> pa.Table:
    """Return predictions of the shop, as Parquet holds them."""
    assert run("predict", model, shop, "-o", "expected.parquet", "--keep", "day").code == 0
    return pa.parquet.read_table("expected.parquet")


@pytest.mark.parametrize("end", [*NAMES, *(f"csv.{end}" for end in COMPRESSED), "json.gz", "jsonl.bz2", "parquet.gz"])
def test_every_format_that_is_read_is_written(run: Run, shop: Path, model: Path, predicted: pa.Table, end: str) -> None:
    ran = run("predict", model, shop, "-o", f"p.{end}", "--keep", "day", "--batch", 100)
    assert ran.code == 0, ran.err
    assert f"wrote p.{end}: {N_ROWS} rows" in ran.out
    found = open_rows(f"p.{end}").rows()
    assert found.column_names == predicted.column_names
    for name in predicted.column_names:
        assert found[name].cast(predicted[name].type).to_pylist() == predicted[name].to_pylist(), name


def test_json_is_strict(run: Run, shop: Path, model: Path) -> None:
    run("predict", model, shop, "-o", "p.json", "--keep", "size")
    rows = json.loads(Path("p.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert len(rows) == N_ROWS
    assert None in {row["size"] for row in rows}
    run("predict", model, shop, "-o", "-", "--format", "jsonl")


def test_a_data_base_is_never_replaced(run: Run, shop: Path, model: Path) -> None:
    assert run("predict", model, shop, "-o", "p.db").code == 0
    ran = run("predict", model, shop, "-o", "p.db", "--overwrite")
    assert (ran.code, "p.db exists already, and may hold other tables: choose another name" in ran.err) == (5, True)


# ----------------------------------------------------------------------------------------------------------- pipes


def piped(monkeypatch: pytest.MonkeyPatch, run: Run, content: bytes, *words: Any) -> Ran:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    return run(*words)


def in_format(table: pa.Table, form: str) -> bytes:
    """Return the bytes of a table."""
    sink = io.BytesIO()
    if form in ("csv", "csv.gz", "csv.bz2"):
        pa.csv.write_csv(table, sink)
        pack = {"csv": bytes, "csv.gz": gzip.compress, "csv.bz2": bz2.compress}[form]
        return bytes(pack(sink.getvalue()))
    if form == "parquet":
        pa.parquet.write_table(table, sink)
    elif form == "arrow":
        pa.feather.write_feather(table, sink)
    elif form == "stream":
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    else:
        rows = table.to_pandas().to_json(orient="records", lines=form == "lines", date_format="iso")
        sink.write(rows.encode())
    return sink.getvalue()


@pytest.mark.parametrize("form", ["csv", "csv.gz", "csv.bz2", "parquet", "arrow", "stream", "array", "lines"])
def test_standard_input_may_have_any_format(
    run: Run, model: Path, predicted: pa.Table, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    content = in_format(shop_table(), form)
    ran = piped(monkeypatch, run, content, "predict", model, "-", "-o", "-", "--keep", "day")
    assert ran.code == 0, ran.err
    found = pa.csv.read_csv(io.BytesIO(ran.data))
    assert found["probability of yes"].to_pylist() == predicted["probability of yes"].to_pylist()
    assert f"wrote standard output: {N_ROWS} rows" in ran.err
    # A file with a name that says nothing, or something else, is known by its bytes.
    Path("wrong.csv").write_bytes(content)
    if form not in ("array", "lines"):
        assert open_rows("wrong.csv").rows().num_rows == N_ROWS


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "jsonl", "parquet", "arrow", "feather", "arrows"])
def test_standard_output_may_have_any_format(run: Run, shop: Path, model: Path, predicted: pa.Table, form: str) -> None:
    ran = run("predict", model, shop, "-o", "-", "--format", form, "--keep", "day")
    assert ran.code == 0, ran.err
    Path(f"p.{form}").write_bytes(ran.data)
    found = open_rows(f"p.{form}").rows()
    assert found["prediction"].to_pylist() == predicted["prediction"].to_pylist()


def test_models_and_pages_go_to_standard_output(run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = piped(monkeypatch, run, shop.read_bytes(), "train", "-", "-t", "sold", *QUICK, "-o", "-")
    assert ran.code == 0, ran.err
    assert "wrote standard output" in ran.err
    assert "roc auc" in ran.err
    Path("m.arb").write_bytes(ran.data)
    assert run("show", "m.arb", "--json").json["target"] == "sold"
    page = run("report", "m.arb", shop, "-o", "-")
    assert page.data.lstrip()[:15].lower() == b"<!doctype html>"
    text = run("convert", "m.arb", "-", "--to", "text")
    assert text.out.startswith("tree 0")


def test_pipes_that_cannot_be(run: Run, shop: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = piped(monkeypatch, run, b"", "predict", model, "-", "-o", "-")
    assert (ran.code, "standard input is empty" in ran.err) == (3, True)
    ran = piped(monkeypatch, run, shop.read_bytes(), "train", "-", "-t", "sold", "--test", "-", *QUICK[:4])
    assert (ran.code, "standard input is empty, or was read already" in ran.err) == (3, True)
    ran = run("predict", model, shop, "-o", "-", "--json")
    assert (ran.code, "--json and --out - both write to standard output" in ran.err) == (2, True)
    ran = run("predict", model, shop, "-o", "-", "--format", "duckdb")
    assert (ran.code, "a database cannot go to standard output" in ran.err) == (2, True)
    ran = run("predict", model, shop, "-o", "-", "--format", "xlsx")
    assert (ran.code, "--format xlsx: rows are written as csv, tsv" in ran.err) == (2, True)


def test_a_reader_that_has_seen_enough_ends_it_quietly(model: Path, tmp_path: Path) -> None:
    """Many rows, more than a pipe holds, of which one line is read."""
    pa.parquet.write_table(pa.concat_tables([shop_table()] * 500), tmp_path / "many.parquet")
    words = [sys.executable, "-c", "from arboretum.cli import main; main()", "predict", str(model), "many.parquet"]
    with subprocess.Popen(
        [*words, "-o", "-", "--batch", "1000"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b'"order_id","prediction"')
        process.stdout.close()
        said = process.stderr.read().decode()
    assert (process.returncode, "rror" in said) == (0, False), said


# ---------------------------------------------------------------------------------------------------------- places


def test_parts_are_matched_by_name_in_every_format(run: Run, tmp_path: Path) -> None:
    table = shop_table().select(["size", "price", "sold"])
    turned = table.select(["sold", "size", "price"])
    prints = set()
    for form in ("csv", "parquet", "arrow", "stream", "array"):
        end = {"stream": "arrows", "array": "json"}.get(form, form)
        folder = tmp_path / form
        folder.mkdir()
        (folder / f"1.{end}").write_bytes(in_format(table.slice(0, 100), form))
        (folder / f"2.{end}").write_bytes(in_format(turned.slice(100), form))
        ran = run("train", folder, "-t", "sold", *QUICK, "--json")
        assert ran.code == 0, ran.err
        prints.add(ran.json["fingerprint"])
    assert len(prints) == 1


def test_odd_names_of_files(run: Run, shop: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    names = ["-x.csv", "a b.csv", "odd[1].csv", "star*.csv", "it's.csv", "--json"]
    for name in names:
        (tmp_path / name).write_bytes(shop.read_bytes())
    for name in names[:-1]:
        ran = run("predict", model, "-q", "--overwrite", "-o", "p.csv", "--", name)
        assert ran.code == 0, (name, ran.err)
    assert run("predict", model, "~/shop.csv", "-o", "p.csv", "--overwrite").code == 0
    ran = run("predict", model, "-o", "p.csv", "--overwrite", "--", "--json")
    assert (ran.code, "--json has no known format: csv, tsv" in ran.err) == (3, True)
    assert "Rename it, or give it to standard input: - < --json" in ran.err


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text elsewhere")
def test_names_that_are_not_utf8(run: Run, shop: Path, model: Path, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    (tmp_path / name).write_bytes(shop.read_bytes())
    ran = run("predict", model, name, "-o", "p.csv", "-q")
    assert ran.code == 0, ran.err
    ran = run("train", name, "-t", "sold", *QUICK)
    assert (ran.code, "caf\ufffd.csv: 240 rows" in ran.err) == (0, True)
    ran = run("predict", model, shop, "-o", os.fsdecode(b"\xff.csv"))
    assert (ran.code, "wrote \ufffd.csv" in ran.out) == (0, True)


PLACES: dict[str, tuple[bytes | None, str]] = {
    "https://example.com/sales.csv": (
        None,
        "is an address on the network: download the file first, for example",
    ),
    "sheet.xlsx": (
        b"PK\x03\x04" + bytes(30),
        "sheet.xlsx is a zip archive: unpack it first; a sheet of Excel, save as CSV",
    ),
    "old.xls": (b"\xd0\xcf\x11\xe0" + bytes(30), "old.xls is an Excel file: save the sheet as CSV"),
    "sales.csv.xz": (b"\xfd7zXZ\0" + bytes(30), "sales.csv.xz is compressed by xz: decompress it first, with unxz"),
    "old.feather": (b"FEA1" + bytes(30), "old.feather is a Feather file of the old version"),
    "data.orc": (b"ORC" + bytes(30), "data.orc is an ORC file: write it as Parquet"),
    "broken.arrow": (b"ARROW1\0\0" + bytes(30), "broken.arrow is not a whole Arrow file"),
    "broken.arrows": (b"\xff\xff\xff\xff\x10\0\0\0", "broken.arrows is not a whole Arrow file"),
    "notes.md": (b"a,b\n1,2\n", "notes.md has no known format"),
    "one.json": (
        b'{"a": {"0": 1}, "b": {"0": 2}}',
        "no column is left to learn from: column 'a' is left out: trees cannot split values of type struct",
    ),
    "twice.csv": (b"a,b,a\n1,2,3\n", "the column name 'a' occurs twice"),
    "names.csv": (b"a,b", "names.csv has no rows"),
    "cut.csv.gz": (gzip.compress(b"a,b\n1,2\n" * 9)[:-9], "cannot read cut.csv.gz"),
}


@pytest.mark.parametrize("name", PLACES)
def test_places_that_hold_no_table(run: Run, tmp_path: Path, name: str) -> None:
    content, message = PLACES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    ran = run("train", name, "-t", "b")
    assert message in ran.err
    assert (ran.code, ran.out) == (3, "")


def test_a_folder_of_several_formats(run: Run, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.csv").write_bytes(shop.read_bytes())
    (tmp_path / "folder" / "b.csv").write_bytes(in_format(shop_table(), "parquet"))
    ran = run("train", "folder", "-t", "sold")
    assert (ran.code, "folder holds files of several formats, 'csv', 'parquet': name one" in ran.err) == (3, True)


def test_tables_of_data_bases(run: Run, tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        with closing(sqlite3.connect(tmp_path / name)) as base, base:
            base.execute("CREATE TABLE one AS SELECT 1 AS x, 2.5 AS y")
            base.execute("CREATE TABLE two AS WITH r(x) AS (VALUES (0), (1), (2), (3)) SELECT x, x / 4.0 AS y FROM r")
    words = ["-t", "y", "-m", "tree", "--holdout", 0.5, "--json"]
    told = run("train", "a.db::two", *words, "-o", "m.arb").json
    assert (told["rows"], told["columns"]) == (4, {"x": "number"})
    again = run("train", "a.db", "--sql", "SELECT * FROM two", *words, "-o", "n.arb").json
    assert again["fingerprint"] == told["fingerprint"]
    for place, message in {
        "a.db": "a.db has 2 tables, 'one', 'two': choose one, as in 'a.db::one'",
        "a.db::tow": "a.db has no table 'tow': did you mean 'two'?",
        "?.db": "2 databases at once, 'a.db', 'b.db': name one",
    }.items():
        ran = run("train", place, "-t", "y")
        assert (ran.code, message in ran.err) == (3, True), ran.err


def test_columns_named_as_options(run: Run) -> None:
    rows = [f"{i % 7},{i},{'yes' if i % 2 else 'no'},1" for i in range(60)]
    Path("a.csv").write_text("\n".join(["--target,-t,y=z,", *rows]), encoding="utf-8")
    ran = run("train", "a.csv", "--target=y=z", "--id=-t", "--kind", "--target=category", *QUICK, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["columns"] == {"--target": "category", "Unnamed: 3": "number"}


def test_one_column(run: Run) -> None:
    Path("a.csv").write_text("x\n" + "\n".join(str(i % 17) for i in range(60)), encoding="utf-8")
    assert run("train", "a.csv", "--json").json["task"] == "anomaly"
    ran = run("train", "a.csv", "-t", "x", "--overwrite")
    assert (ran.code, "no column is left to learn from" in ran.err) == (3, True)


@pytest.mark.parametrize("name", ["ORCID", "FEA1", "PAR1", "PKs", "ARROW1"])
def test_names_of_columns_are_not_taken_for_formats(run: Run, tmp_path: Path, name: str) -> None:
    lines = [f"{name},price,sold", *(f"{j % 5},{j},{j % 2}" for j in range(40))]
    (tmp_path / "ids.csv").write_text("\n".join(lines))
    ran = run("train", "ids.csv", "-t", "sold", "-m", "tree")
    assert ran.code == 0, ran.err


def test_a_quote_that_is_not_closed_before_many_lines(run: Run, tmp_path: Path) -> None:
    (tmp_path / "open.csv").write_text('a,"b,y\n' + "1,2,3\n" * 30_000)
    ran = run("train", "open.csv", "-t", "y")
    assert (ran.code, "open.csv, line 1: " in ran.err, "quote" in ran.err) == (3, True, True), ran.err
    (tmp_path / "inside.csv").write_text('a,b,y\n1,"2,3\n' + "1,2,3\n" * 30_000)
    ran = run("train", "inside.csv", "-t", "y")
    assert (ran.code, "inside.csv" in ran.err) == (3, True), ran.err


def test_dates_that_only_training_needs_are_not_asked_for(run: Run, tmp_path: Path) -> None:
    rows = [f"{1 + j % 28:02d}/{1 + j % 12:02d}/2020,{j % 7},{j % 2}" for j in range(60)]
    (tmp_path / "days.csv").write_text("\n".join(["day,a,y", *rows]))
    assert run("train", "days.csv", "-t", "y", "--time", "day", "-m", "tree").code == 0
    (tmp_path / "new.csv").write_text("a\n1\n2\n")
    ran = run("predict", "model.arb", "new.csv", "-o", "p.csv")
    assert ran.code == 0, ran.err


@pytest.mark.parametrize("option", ["--report", "--checkpoint"])
def test_only_the_model_goes_to_standard_output(run: Run, shop: Path, option: str) -> None:
    ran = run("train", shop, "-t", "sold", option, "-")
    assert (ran.code, f"{option} -: name a file; only --out can be standard output" in ran.err) == (2, True)


@pytest.mark.parametrize("columns", [{f"c{j}": np.arange(2_000.0) for j in range(60)}, {"t": ["long " * 1_000] * 500}])
def test_duckdb_has_the_memory_that_wide_rows_and_long_texts_need(tmp_path, columns):
    table, path = pa.table(columns), tmp_path / "rows.duckdb"
    with duckdb_writer(path, table.schema) as write:
        for _ in range(70):
            write(table)
    counted = Dataset.from_sql("SELECT count(*) AS n FROM predictions", path).to_frame()
    assert counted["n"].to_pylist() == [70 * len(table)]
