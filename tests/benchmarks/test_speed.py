"""The races: how they are run, and small runs of those that need processes, files or several threads."""

from __future__ import annotations

import json
from time import sleep

import pytest
from benchmarks.__main__ import main
from benchmarks.rivals import BOOSTING
from benchmarks.speed import races
from benchmarks.workloads import scaling
from benchmarks.workloads.speed import resources
from benchmarks.workloads.speed.racing import Options, Race, run, within

# Rivals warn about their own dependencies: they are not under test here.
pytestmark = pytest.mark.filterwarnings("default")


def rows_of(tmp_path, names, share="0.001"):
    """Run races of one thread, once; return rows and notes."""
    file = tmp_path / "numbers.json"
    words = ["--races", names, "--share", share, "--turns", "1", "--threads", "1", "--folder", str(tmp_path)]
    assert main(["speed", *words, "--json", str(file)]) == 0
    table = json.loads(file.read_text())
    return table["rows"], table["notes"]


def turns_of(key, *numbers):
    left = iter(numbers)
    return lambda: {key: next(left)}


def test_the_best_turn_of_each_counts_and_the_best_rival_is_compared(tmp_path):
    runners = {
        "arboretum": turns_of("s", 3.0, 2.0),
        "slow": turns_of("s", 9.0, 8.0),
        "fast": turns_of("s", 5.0, 6.0),
    }
    row, notes = run("work", Race(2.0, runners), Options(tmp_path, turns=2))
    assert row == {"ours": 2.0, "its": 5.0, "ratio": 2.5, "goal": 2.0}
    assert notes == []


def test_those_beside_are_told_but_not_compared(tmp_path):
    runners = {"arboretum": turns_of("mb", 4.0), "other": turns_of("mb", 5.0)}
    beside = {"third": turns_of("mb", 1.0)}
    race = Race(None, runners, beside, unit="mb", tell=lambda best: [f"third {best['third']['took_mb']}"])
    assert run("work", race, Options(tmp_path, turns=1)) == (
        {"ours": 4.0, "its": 5.0, "ratio": 1.25},
        ["work: third 1.0"],
    )


def test_a_turn_that_outlasts_the_patience_is_the_last_one(tmp_path):
    """Patience is in seconds, whatever the unit of the race."""
    quick, short = turns_of("mb", 900.0, 800.0), turns_of("mb", 700.0)

    def slow():
        sleep(0.3)
        return short()

    race = Race(1.0, {"arboretum": quick, "slow": slow}, unit="mb")
    row, _ = run("work", race, Options(tmp_path, turns=2, patience=0.2))
    assert (row["ours"], row["its"]) == (800.0, 700.0)


def test_a_limit_is_a_runner(tmp_path):
    row, _ = run("work", within(3.0, turns_of("s", 2.0)), Options(tmp_path, turns=1))
    assert row == {"ours": 2.0, "its": 3.0, "ratio": 1.5, "goal": 1.0}


@pytest.mark.parametrize("serial", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("threads", [2, 3, 64])
def test_the_serial_share_gives_back_the_times_that_it_was_taken_from(serial, threads):
    many_s = 7.0 / scaling.speed_up(serial, threads)
    assert scaling.serial_share(7.0, many_s, threads) == pytest.approx(serial)


def test_noise_leaves_the_serial_share_between_nothing_and_all():
    assert scaling.serial_share(10.0, 4.9, 2) == 0
    assert scaling.serial_share(10.0, 11.0, 2) == 1
    assert scaling.speed_up(0.1, 8) == pytest.approx(1 / (0.1 + 0.9 / 8))


def test_threads_are_raced_against_one_and_amdahl_is_told(tmp_path, monkeypatch, capsys):
    """Clocks are replaced: two threads take 0.6 of the time of one, those of LightGBM 0.8."""

    def fitting(rival, task):
        share = 1.0 if task.settings.threads == 1 else {"arboretum": 0.6, "lightgbm": 0.8}[rival.name]
        return lambda: {"s": task.settings.leaves * share, "loss": 0.5}

    monkeypatch.setattr(resources, "fitting", fitting)
    monkeypatch.setattr(type(BOOSTING["lightgbm"]), "available", classmethod(lambda cls: True))
    file = tmp_path / "numbers.json"
    assert main(["speed", "--races", "scaling", "--share", "0.001", "--turns", "1", "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["rows"]
    assert [row["ratio"] for row in rows.values()] == [pytest.approx(1 / 0.6)] * 2
    assert rows["scaling: 255 leaves"]["its"] == 255
    out = capsys.readouterr().out
    assert "31 leaves: serial share 20.0%; by Amdahl's law 3.3 × on 8, 4.4 × on 32, 4.7 × on 64 cores" in out
    assert "255 leaves: 2 threads of LightGBM are 1.25 × as fast as one" in out
    assert "not reached: scaling: 31 leaves; scaling: 255 leaves" in out


def test_one_thread_has_nothing_to_scale(tmp_path):
    assert not [name for name, _ in races(Options(tmp_path, threads=1)) if name.startswith("scaling")]


def test_a_file_is_written_once_and_peaks_are_told(tmp_path):
    pytest.importorskip("lightgbm")
    pytest.importorskip("pyarrow")
    rows, notes = rows_of(tmp_path, "file")
    (row,) = rows.values()
    assert row["ratio"] == row["its"] / row["ours"]
    assert row["our_loss"] == pytest.approx(row["its_loss"], rel=0.1)
    assert [path.name for path in tmp_path.glob("*.parquet")] == ["dense-10000.parquet"]
    assert "peak of the whole process: arboretum" in notes[0]


def test_memory_is_raced_in_megabytes(tmp_path):
    pytest.importorskip("lightgbm")
    rows, _ = rows_of(tmp_path, "memory", share="0.02")
    (row,) = rows.values()
    assert 0.1 < row["ours"] < 500
    assert row["ratio"] == row["its"] / row["ours"]
    assert row["goal"] == 1.25


def test_a_million_rows_are_timed_at_three_sizes(tmp_path):
    rows, (note,) = rows_of(tmp_path, "rows", share="0.0002")
    (row,) = rows.values()
    assert row["ratio"] == row["its"] / row["ours"]
    assert row["goal"] == 0.9
    assert note.count(" among 400,") == 2
    assert note.endswith(" among 2,000")


def test_models_are_raced_against_their_own_like(tmp_path):
    rows, _ = rows_of(tmp_path, "GOSS,SHAP,C4.5")
    assert all(row["ratio"] == row["its"] / row["ours"] for row in rows.values())
    assert {name: row.get("goal") for name, row in rows.items()} == {
        "GOSS against all rows": 3.0,
        "C4.5: missing values against none": 0.5,
        "SHAP values: oblique forest against plain": None,
    }


def test_starts_are_raced_against_what_is_allowed(tmp_path):
    rows, _ = rows_of(tmp_path, "start")
    assert [row["its"] for row in rows.values()] == [0.1, 0.3]
    assert all(0 < row["ours"] < 30 for row in rows.values())


def test_a_race_that_fails_is_named_and_the_others_go_on(capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.workloads.speed.starting.HELP", "raise SystemExit(3)")
    assert main(["speed", "--races", "start", "--turns", "1"]) == 1
    out = capsys.readouterr().out
    assert "start: arboretum --help failed: CalledProcessError" in out
    assert "start: import, after NumPy  0.0" in out


def test_a_race_that_nobody_knows_is_named(capsys):
    assert main(["speed", "--races", "sleep"]) == 2
    assert "no race is called 'sleep'; there are: dense: 31 leaves; " in capsys.readouterr().err
