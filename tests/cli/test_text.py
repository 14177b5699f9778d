"""Text in data: what is taken for a number, a date or a missing value is said, remembered, and overruled by options."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.cli.shop import Run

import arboretum as arb
from arboretum.model import model_file

pytestmark = pytest.mark.filterwarnings("default")  # the command prints warnings
N_ROWS = 120
QUICK = ("-m", "tree", "--set", "max_depth=3", "--cv", 2, "--overwrite")
MARKS = [" ", "?", "-", ".", "na", "None", "#N/A", "nan"]


def churn() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table with numbers as text, with marks, and the same with holes."""
    rng = np.random.default_rng(3)
    charges = rng.gamma(2.0, 30.0, N_ROWS).round(2)
    frame = pd.DataFrame({"charges": charges, "plan": rng.choice(["a", "b", "?"], N_ROWS)})
    frame["y"] = np.where(charges + 9 * rng.normal(size=N_ROWS) > 50, "yes", "no")
    texts = frame.astype({"charges": str}).astype(object)
    for mark, row in zip(MARKS, rng.permutation(N_ROWS), strict=False):
        texts.loc[row, "charges"] = mark
        frame.loc[row, "charges"] = np.nan
    return texts, frame


@pytest.fixture
def expected(run: Run) -> str:
    """Return the fingerprint of the model of the table with holes."""
    churn()[1].to_parquet("holes.parquet")
    return str(run("train", "holes.parquet", "-t", "y", *QUICK, "--json").json["fingerprint"])


TAKEN = "taken as missing: 'charges': ' ' once, '#N/A' once, '-' once, '.' once, '?' once and "


@pytest.mark.parametrize("form", ["csv", "parquet", "feather", "json", "jsonl", "db"])
def test_numbers_with_marks_are_numbers_in_every_format(run: Run, expected: str, form: str) -> None:
    texts = churn()[0]
    write: dict[str, Any] = {
        "csv": lambda: texts.to_csv("t.csv", index=False),
        "parquet": lambda: texts.to_parquet("t.parquet"),
        "feather": lambda: texts.to_feather("t.feather"),
        "json": lambda: texts.to_json("t.json", orient="records"),
        "jsonl": lambda: texts.to_json("t.jsonl", orient="records", lines=True),
        "db": lambda: texts.to_sql("t", sqlite3.connect("t.db"), index=False),
    }
    write[form]()
    ran = run("train", f"t.{form}", "-t", "y", *QUICK, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["fingerprint"] == expected
    assert ran.json["columns"] == {"charges": "number", "plan": "category"}
    assert [line for line in ran.json["remarks"] if line.startswith(TAKEN)]
    words = ["-m", "forest", "--set", "n_estimators=2", "--cv", 2, "--json", "--overwrite"]
    held, streamed = (run("train", f"t.{form}", "-t", "y", *words, *more) for more in ([], ["--memory-limit", "1GB"]))
    assert held.json["fingerprint"] == streamed.json["fingerprint"]
    # Predictions read the same marks as missing, and so do scores.
    assert run("predict", "model.arb", f"t.{form}", "-o", "p.csv").code == 0
    assert run("predict", "model.arb", "holes.parquet", "-o", "q.csv").code == 0
    assert Path("p.csv").read_bytes() == Path("q.csv").read_bytes()
    assert run("evaluate", "model.arb", f"t.{form}", "--json").code == 0


def write_lines(name: str, header: str, *lines: str) -> None:
    Path(name).write_text("\n".join([header, *lines]), encoding="utf-8")


ROWS = [f"{i % 9}.5,{'yes' if i % 2 else 'no'}" for i in range(58)]


def test_a_kind_that_is_asked_for_is_obeyed_and_said(run: Run) -> None:
    write_lines("a.csv", "x,y", *ROWS, "about 7,yes", "about 7,no", "?,no", "1_000,no")
    guessed = run("train", "a.csv", "-t", "y", *QUICK)
    assert (
        "column 'x' stays a category: 3 of 61 values are not numbers, such as '1_000' (--missing 1_000" in guessed.err
    )
    ran = run("train", "a.csv", "-t", "y", *QUICK, "--kind", "x=number")
    assert ran.code == 0, ran.err
    assert "taken as missing: 'x': 'about 7' 2 times, '1_000' once, '?' once" in ran.err
    write_lines("holes.csv", "x,y", *ROWS, ",yes", ",no", ",no", ",no")
    own = arb.load("model.arb").fingerprint()
    assert run("train", "holes.csv", "-t", "y", *QUICK, "--json").json["fingerprint"] == own
    # The model remembers that the user wanted numbers.
    run("train", "a.csv", "-t", "y", *QUICK, "--kind", "x=number")
    write_lines("new.csv", "x", "1.5", "around 8")
    new = run("predict", "model.arb", "new.csv", "-o", "p.csv")
    assert (new.code, "taken as missing: 'x': 'around 8' once" in new.err) == (0, True)


@pytest.mark.parametrize(
    ("kind", "written", "plain"),
    [
        ("bool", ["yes", "no"], ["true", "false"]),
        ("number", ["10:30", "9:05"], ["37800000000", "32700000000"]),  # microseconds
        ("date", ["13/01/2021", "02/03/2021"], ["2021-01-13", "2021-03-02"]),
    ],
)
def test_what_cannot_be_read_as_the_kind_asked_for_is_missing(
    run: Run, kind: str, written: list[str], plain: list[str]
) -> None:
    for name, values in {"a": [*written * 29, "unclear", ""], "b": [*plain * 29, "", ""]}.items():
        write_lines(f"{name}.csv", "x,y", *[f"{value},{'high' if i % 3 else 'low'}" for i, value in enumerate(values)])
    ran = run("train", "a.csv", "-t", "y", *QUICK, "--kind", f"x={kind}")
    assert (ran.code, "taken as missing: 'x': 'unclear' once" in ran.err) == (0, True), ran.err
    told = run("train", "b.csv", "-t", "y", *QUICK, "--json", "-o", "b.arb").json
    assert (told["columns"]["x"], told["fingerprint"]) == (kind, arb.load("model.arb").fingerprint())


def test_marks_of_the_user_are_remembered(run: Run) -> None:
    write_lines("a.csv", "x,n,y", *[f"{i % 9}.5,{i % 5},{'yes' if i % 2 else 'no'}" for i in range(58)], "gone,-999,no")
    pa.parquet.write_table(pa.csv.read_csv("a.csv"), "a.parquet")
    marks = ["--missing", "gone", "--missing", -999]
    prints = {}
    for name in ("a.csv", "a.parquet"):
        ran = run("train", name, "-t", "y", *QUICK, *marks, "--json")
        assert ran.code == 0, ran.err
        assert ran.json["columns"] == {"x": "number", "n": "number"}
        prints[name] = ran.json["fingerprint"]
    write_lines("b.csv", "x,n,y", *Path("a.csv").read_text().splitlines()[1:-1], ",,no")
    assert {run("train", "b.csv", "-t", "y", *QUICK, "--json").json["fingerprint"]} == set(prints.values())
    run("train", "a.csv", "-t", "y", *QUICK, *marks)
    write_lines("new.csv", "x,n", "gone,-999.0", "1.5,3")
    write_lines("empty.csv", "x,n", ",", "1.5,3")
    for name in ("new", "empty"):
        ran = run("predict", "model.arb", f"{name}.csv", "-o", f"{name}.out.csv")
        assert ran.code == 0, ran.err
    assert Path("new.out.csv").read_text() == Path("empty.out.csv").read_text()


def test_a_word_that_is_new_at_predict_is_refused(run: Run) -> None:
    write_lines("a.csv", "x,y", *ROWS)
    assert run("train", "a.csv", "-t", "y", *QUICK).code == 0
    write_lines("new.csv", "x", "1.5", "lots")
    message = "column 'x' holds 'lots', which is not a number: correct it, or --missing lots makes it missing"
    ran = run("predict", "model.arb", "new.csv", "-o", "p.csv")
    assert (ran.code, f"new.csv, line 3, {message}" in ran.err) == (3, True)
    assert not Path("p.csv").exists()
    pd.DataFrame({"x": ["1.5", "lots"]}).to_parquet("new.parquet")
    ran = run("predict", "model.arb", "new.parquet", "-o", "p.csv")
    assert (ran.code, message in ran.err) == (3, True)
    for name in ("new.csv", "new.parquet"):
        ran = run("predict", "model.arb", name, "-o", "p.csv", "--missing", "lots", "--overwrite")
        assert ran.code == 0, ran.err


def test_codes_stay_text_and_whole_numbers_in_text_columns_do(run: Run) -> None:
    rows = [f"{'07' if i % 3 else '12'},{100 + i % 4},{'yes' if i % 2 else 'no'}" for i in range(60)]
    write_lines("a.csv", "code,number,y", *rows)
    ran = run("train", "a.csv", "-t", "y", *QUICK)
    assert (
        "column 'code' stays a category, because it has codes such as '07' (--kind code=number reads numbers)"
        in ran.err
    )
    assert "2 columns: 1 number, 1 category" in ran.err
    write_lines("new.csv", "code,number", "12,007")  # no zero before a code, but one before a number
    assert run("predict", "model.arb", "new.csv", "-o", "p.csv").code == 0
    assert (
        run("train", "a.csv", "-t", "y", *QUICK, "--kind", "code=number", "--json").json["columns"]["code"] == "number"
    )
    pd.read_csv("a.csv", dtype=str).to_parquet("a.parquet")
    ran = run("train", "a.parquet", "-t", "y", *QUICK)
    assert "2 columns: 2 categories" in ran.err
    assert (
        "column 'number' is text and stays a category, though its values are whole numbers (--kind number=number"
        in ran.err
    )


def test_dates_in_either_order(run: Run) -> None:
    rows = [f"{i % 28 + 1:02d}/{i % 12 + 1:02d}/2021,{'yes' if i % 2 else 'no'}" for i in range(60)]
    write_lines("a.csv", "day,y", *rows)
    iso = [f"2021-{i % 12 + 1:02d}-{i % 28 + 1:02d},{'yes' if i % 2 else 'no'}" for i in range(60)]
    write_lines("iso.csv", "day,y", *iso)
    expected = run("train", "iso.csv", "-t", "y", *QUICK, "--json").json
    assert expected["columns"] == {"day": "date"}
    ran = run("train", "a.csv", "-t", "y", *QUICK)
    assert "column 'day' is read as day/month/year, because of values such as '13/01/2021'" in ran.err
    assert arb.load("model.arb").fingerprint() == expected["fingerprint"]
    # Few rows cannot tell the order, but the model knows it.
    write_lines("new.csv", "day", "03/04/2021")
    write_lines("new-iso.csv", "day", "2021-04-03")
    for name in ("new", "new-iso"):
        assert run("predict", "model.arb", f"{name}.csv", "-o", f"{name}.out.csv").code == 0
    assert Path("new.out.csv").read_text() == Path("new-iso.out.csv").read_text()

    write_lines(
        "b.csv", "day,then,y", *[f"01/0{i % 9 + 1}/2021,1.1.2020,{'yes' if i % 2 else 'no'}" for i in range(60)]
    )
    ran = run("train", "b.csv", "-t", "y", *QUICK)
    assert ran.code == 3
    assert (
        "column 'day' holds dates that begin with the day or the month, such as '01/01/2021': say which by" in ran.err
    )
    assert "--date-format day=%d/%m/%Y or --date-format day=%m/%d/%Y; column 'then' holds dates" in ran.err
    words = ["--date-format", "day=%m/%d/%Y", "--ignore", "then"]
    assert run("train", "b.csv", "-t", "y", *QUICK, *words, "--json").json["columns"] == {"day": "date"}
    words = ["--kind", "day=category", "--kind", "then=ignore"]
    assert run("train", "b.csv", "-t", "y", *QUICK, *words, "--json").json["columns"] == {"day": "category"}


def test_dates_of_a_given_form_are_read_from_tables_with_types(run: Run) -> None:
    days = [f"2021-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(60)]
    y = ["yes" if i % 2 else "no" for i in range(60)]
    pyarrow.parquet.write_table(pa.table({"day": days, "y": y}), "iso.parquet")
    turned = [f"{day[8:]}-{day[5:7]}-21" for day in days]
    pyarrow.parquet.write_table(pa.table({"day": turned, "y": y}), "a.parquet")
    expected = run("train", "iso.parquet", "-t", "y", *QUICK, "--json", "-o", "iso.arb").json
    form = ["--date-format", "day=%d-%m-%y"]
    told = run("train", "a.parquet", "-t", "y", *QUICK, *form, "--json").json
    assert (told["columns"], told["fingerprint"]) == (expected["columns"], expected["fingerprint"])
    pyarrow.parquet.write_table(pa.table({"day": [*turned[1:], "31-02-21"], "y": y}), "b.parquet")
    ran = run("train", "b.parquet", "-t", "y", *QUICK, *form, "-o", "b.arb")
    assert (ran.code, "taken as missing: 'day': '31-02-21' once" in ran.err) == (0, True), ran.err
    ran = run("train", "a.parquet", "-t", "y", *QUICK, "--date-format", "day=%Y/%m/%d", "-o", "c.arb")
    assert (ran.code, "'01-01-21', which is not a date of the form %Y/%m/%d" in ran.err) == (3, True), ran.err
    ran = run("train", "a.parquet", "-t", "y", *QUICK, "--date-format", "dya=%Y", "-o", "c.arb")
    assert (ran.code, "a.parquet has no column 'dya': did you mean 'day'?" in ran.err) == (3, True), ran.err


def test_amounts_are_told_of_with_a_query_that_reads_them(run: Run) -> None:
    write_lines("a.csv", "price,y", *[f'"${1000 + i:,}",{"yes" if i % 2 else "no"}' for i in range(60)])
    ran = run("train", "a.csv", "-t", "y", *QUICK, "--kind", "price=category")
    assert ran.code == 0, ran.err
    ran = run("train", "a.csv", "-t", "y", *QUICK)
    said = next(line for line in ran.err.splitlines() if "amounts such as '$1,000', not plain numbers" in line)
    query = said.partition("--sql '")[2].rpartition("' makes numbers")[0].replace("'\"'\"'", "'")
    ran = run("train", "a.csv", "-t", "y", *QUICK, "--sql", query, "--json")
    assert ran.json["columns"] == {"price": "number"}


@pytest.mark.parametrize(
    ("head", "row", "encoding", "words"),
    [
        ("x;z;y", "{},5;b;{}", "utf-8", ["--decimal", ","]),
        ("x,z,y", "{}.5,Z\u00fcrich,{}", "latin-1", ["--encoding", "latin-1"]),
        ("x,z,y", "{}.5,Z\u00fcrich,{}", "utf-16", []),
        ("x:z:y", "{}.5:b:{}", "utf-8", ["--delimiter", ":"]),
        ("x\tz,,,,\ty", "{}.5\tb\t{}", "utf-8", ["--delimiter", "tab"]),
    ],
    ids=["decimal comma", "latin-1", "UTF-16", "delimiter", "tab"],
)
def test_options_of_text_files(run: Run, head: str, row: str, encoding: str, words: list[str]) -> None:
    lines = [row.format(i, "yes" if i % 2 else "no") for i in range(60)]
    Path("a.csv").write_text("\n".join([head, *lines]), encoding=encoding)
    ran = run("train", "a.csv", "-t", "y", *QUICK, *words, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["columns"]["x"] == "number"
    again = run("evaluate", "model.arb", "a.csv", *words, "--json")
    assert again.code == 0, again.err


REFUSED: dict[str, tuple[list[str], int, str]] = {
    "decimal": (["--decimal", ";"], 2, "--decimal ;: expected . or ,"),
    "delimiter": (["--delimiter", "::"], 2, "--delimiter ::: expected one character, or tab"),
    "encoding": (["--encoding", "klingon"], 2, "--encoding klingon: unknown encoding; try latin-1, cp1252 or utf-16"),
    "format": (["--date-format", "x=day"], 2, "--date-format x=day: expected column=format, as in 'day=%d/%m/%Y"),
    "column": (["--date-format", "z=%Y"], 3, "a.csv has no column 'z'"),
    "decimal comma": ([], 0, "column 'n' stays a category: it has numbers such as '0,5' (--decimal , reads them)"),
    "no number": (["--kind", "n=date"], 3, "column 'n' holds '0,5', which is not a date: correct it, or --missing 0,5"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_cannot_be_followed(run: Run, name: str) -> None:
    words, code, message = REFUSED[name]
    write_lines("a.csv", "x;n;y", *[f"{i};{i % 3},5;{'yes' if i % 2 else 'no'}" for i in range(60)])
    ran = run("train", "a.csv", "-t", "y", *QUICK, *words)
    assert message in ran.err
    assert ran.code == code


def test_the_model_remembers_the_decimal_mark(run: Run) -> None:
    lines = [f"{i % 9},5;{i % 7},25" for i in range(60)]
    write_lines("comma.csv", "x;y", *lines)
    assert run("train", "comma.csv", "-t", "y", "--decimal", ",", *QUICK).code == 0
    assert run("evaluate", "model.arb", "comma.csv").code == 0
    write_lines("point.csv", "x;y", *(line.replace(",", ".") for line in lines))
    refused = run("evaluate", "model.arb", "point.csv")
    assert (refused.code, "which is not a number: --decimal . reads it" in refused.err) == (3, True), refused.err
    assert run("evaluate", "model.arb", "point.csv", "--decimal", ".").code == 0


def test_dictionaries_in_arrow_files_are_categories(run: Run) -> None:
    """Counting their different values failed in Arrow."""
    table = pd.DataFrame({"y": np.arange(60.0) % 7, "c": pd.Categorical(list("abc") * 20)})
    for name, write in (("a.feather", table.to_feather), ("a.parquet", table.to_parquet)):
        write(name)
        ran = run("train", name, "-t", "y", *QUICK, "--task", "regression")
        assert (ran.code, "1 category" in ran.err) == (0, True), ran.err


def test_groups_of_what_is_no_grade_stay_together(run: Run) -> None:
    write_lines("a.csv", "x,y,g", *(f"{i % 9}.5,{i % 7}.25,{i // 6}" for i in range(60)))
    ran = run("train", "a.csv", "-t", "y", "--group", "g", *QUICK)
    assert (ran.code, "task: regression" in ran.err) == (0, True), ran.err


@pytest.mark.parametrize(
    ("role", "value"),
    [("task", "x"), ("task", 3), ("kinds", [1]), ("target", 7), ("ids", "a"), ("kinds", {"a": 3}), (None, [1])],
)
def test_crafted_roles_are_a_damaged_model(run: Run, role: str | None, value: Any) -> None:
    write_lines("a.csv", "x,y", *ROWS)
    run("train", "a.csv", "-t", "y", *QUICK)
    header, arrays = model_file.load("model.arb")
    crafted = value if role is None else {**header["command"], role: value}
    model_file.save("bad.arb", {**header, "command": crafted}, arrays)
    ran = run("evaluate", "bad.arb", "a.csv")
    assert (ran.code, "bad.arb is damaged" in ran.err) == (4, True), ran.err
