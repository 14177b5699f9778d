from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow.parquet
from tests.cli.shop import Run

import arboretum as arb
from arboretum.cli import demo


def test_a_year_of_flights_becomes_a_board_a_model_and_a_report(run: Run) -> None:
    ran = run("demo", "--rows", 1500, "--json")
    assert ran.code == 0, ran.err
    board = ran.json["leader_board"]
    assert {line["method"] for line in board} == {*demo.METHODS, "baseline"}
    assert not {"dep_delay", "dep_time", "arr_time", "arr_delay", "air_time"} & set(ran.json["columns"])
    assert ran.json["judged_by"] == "the last 25% of the rows"
    assert Path("demo/report.html").stat().st_size < 3_000_000
    assert arb.load("demo/flights.arb").classes_.tolist() == [False, True]


def test_the_flights_are_those_that_the_page_beside_them_describes() -> None:
    page = demo.FLIGHTS.with_name("README.md").read_text(encoding="utf-8")
    digest = hashlib.sha256(demo.FLIGHTS.read_bytes()).hexdigest()
    assert digest in page
    assert "CC0" in page
    assert pyarrow.parquet.read_metadata(demo.FLIGHTS).num_rows == demo.N_FLIGHTS
    assert demo.FLIGHTS.stat().st_size < 1_500_000


def test_more_flights_than_there_are_is_an_error(run: Run) -> None:
    ran = run("demo", "--rows", demo.N_FLIGHTS + 1)
    assert (ran.code, "60000" in ran.err) == (2, True)
