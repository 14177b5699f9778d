"""The progress line: with rich, without it, and never in the way of the fit."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arboretum import BoostedTreesClassifier, BoostedTreesRegressor, RoundReport
from arboretum.running.progress import ProgressBar

X = np.random.default_rng(0).normal(size=(100, 2))
Y = X[:, 0] * X[:, 1]


@pytest.fixture
def without_rich(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == "rich":
            raise ImportError("No module named 'rich'")
        return real(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.split(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", refuse)


def report(number, n_rounds=100, seconds=1.0, training=None, validation=None):
    return RoundReport(number, n_rounds, seconds, training, validation)


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (report(1), "round 1/100  99 s left"),
        (report(50, seconds=2.0, training=0.5), "round 50/100  training loss 0.5  2 s left"),
        (
            report(100, training=1e-7, validation=2e9),
            "round 100/100  training loss 1e-07  validation loss 2e+09  0 s left",
        ),
        (report(3, validation=float("nan")), "round 3/100  validation loss nan  32 s left"),
        (replace(report(1), moved_bytes=12_600_000), "round 1/100  13 MB moved  99 s left"),
    ],
)
def test_line_says_round_losses_and_time_left(told, line):
    assert ProgressBar(100).describe(told) == line


def test_plain_lines_go_to_stderr_one_a_second_and_the_last(without_rich, capsys):
    with ProgressBar(40) as bar:
        for number in range(1, 41):
            bar(report(number, 40, seconds=number * 0.1))
    out, err = capsys.readouterr()
    assert out == ""
    rounds = [int(line.split()[1].split("/")[0]) for line in err.splitlines()]
    assert rounds[0] == 1
    assert rounds[-1] == 40
    assert 4 <= len(rounds) <= 6


@pytest.mark.parametrize("cls", [BoostedTreesRegressor, BoostedTreesClassifier])
def test_fit_without_rich_tells_the_last_round(cls, without_rich, capsys):
    y = Y if cls is BoostedTreesRegressor else Y > 0
    model = cls(n_estimators=5, verbose=1, early_stopping=False).fit(X, y, X_val=X, y_val=y)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("round 5/5  training loss ")
    assert "validation loss" in err
    assert len(model.history_.training_loss) == 5


def test_fit_with_rich_tells_the_last_round_on_stderr(capsys):
    pytest.importorskip("rich")
    BoostedTreesRegressor(n_estimators=5, verbose=1).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""  # stdout belongs to the results of a program
    assert "round 5/5  training loss " in err


def test_fit_ends_its_bar_when_it_fails(capsys):
    rich_progress = pytest.importorskip("rich.progress")

    def fail(told):
        raise RuntimeError("stop")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="stop"):
            BoostedTreesRegressor(n_estimators=5, verbose=1, callbacks=[fail]).fit(X, Y)
    with rich_progress.Progress():  # a live display that was left open would refuse this one
        pass


def test_fit_inside_a_bar_of_the_user(capsys):
    rich_progress = pytest.importorskip("rich.progress")
    with rich_progress.Progress() as mine:
        task = mine.add_task("models", total=2)
        for _ in range(2):
            assert BoostedTreesRegressor(n_estimators=3, verbose=1).fit(X, Y).n_iter_ == 3
            mine.advance(task)


def test_verbose_changes_neither_the_model_nor_what_callbacks_hear(capsys):
    heard = []
    loud = BoostedTreesRegressor(n_estimators=4, verbose=1, callbacks=[heard.append]).fit(X, Y)
    assert loud.fingerprint() == BoostedTreesRegressor(n_estimators=4).fit(X, Y).fingerprint()
    assert [told.number for told in heard] == [1, 2, 3, 4]


def test_silent_by_default(capfd):
    BoostedTreesRegressor(n_estimators=4).fit(X, Y)
    assert capfd.readouterr() == ("", "")


# ---- streams that cannot be written: services, notebooks and pipes have such ----------------------------------------

SILENCED = """
import os, sys
if sys.argv[1] == "no rich":
    sys.modules["rich"] = None
import arboretum as arb

X, y = [[0.0, i % 3] for i in range(30)], [float(i % 7) for i in range(30)]
models = [
    arb.BoostedTreesRegressor(n_estimators=3, verbose=1, callbacks=[lambda report: None]),
    arb.RandomForestRegressor(n_estimators=3, verbose=1),
    arb.BaggingRegressor(n_estimators=3, verbose=1),
    arb.AdditiveBoostingRegressor(n_estimators=3, verbose=1),
    arb.IsolationForest(n_estimators=3, max_samples=10**6),  # which warns
]
for silence in sys.argv[2:]:
    child = os.fork()
    if child == 0:
        exec(silence)
        for model in models:
            model.fit(X, y)
        os._exit(7)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 7:
        sys.exit(silence)
"""
SILENCES = [
    "sys.stdout.close(); sys.stderr.close()",
    "sys.stdout = sys.stderr = None",
    "os.close(1); os.close(2)",
    "reading, writing = os.pipe(); os.close(reading); os.dup2(writing, 1); os.dup2(writing, 2)",
    "full = os.open('/dev/full', os.O_WRONLY); os.dup2(full, 1); os.dup2(full, 2)",
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs fork and /dev/full")
@pytest.mark.parametrize("library", ["rich", "no rich", "rich on a terminal"])
def test_a_stream_that_cannot_be_written_does_not_end_the_fit(library):
    terminal = {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"} if library == "rich on a terminal" else {}
    done = subprocess.run(
        [sys.executable, "-c", SILENCED, library, *SILENCES],
        env=os.environ | terminal,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
