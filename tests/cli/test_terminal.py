"""What a command prints: tables for people and for pipes, and strict JSON."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable

import numpy as np
import pytest

from arboretum import cli
from arboretum.cli.terminal import Terminal


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Screen], ids=["pipe", "screen"])
def test_a_table_shows_names_and_figures_as_they_are(
    stream: Callable[[], io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")  # a screen without colours
    monkeypatch.setattr(sys, "stdout", out := stream())
    names = ["[red]", "size"]  # which rich would take for a colour
    Terminal(as_json=False, quiet=False).table("[b]scores", ["column", "gain"], [[name, 0.125] for name in names])
    lines = [line.split() for line in out.getvalue().splitlines()]
    for words in [["[b]scores"], ["column", "gain"], *([name, "0.1250"] for name in names)]:
        assert words in lines


def test_json_is_strict(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(as_json=True, quiet=False)
    terminal.result = {"rows": np.int64(3), 4: np.array([0.5, np.nan]), "day": np.datetime64("2024-01-02"), "no": None}
    terminal.finish()
    assert json.loads(capsys.readouterr().out) == {"rows": 3, "4": [0.5, None], "day": "2024-01-02", "no": None}


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (ImportError(name="typer"), 2, "the command needs its extra: pip install 'arboretum[cli]'"),
    ],
    ids=str,
)
def test_an_end_before_a_command_has_begun(
    failure: BaseException, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(app: object) -> None:
        raise failure

    monkeypatch.setattr("typer.main.get_command", fails)
    assert cli.run(["--version", "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["exit_code"] == code
    assert message in told["error"]


@pytest.mark.parametrize("failure", [ImportError(name="numpy"), AssertionError()], ids=repr)
def test_a_mistake_of_the_program_is_not_hidden(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(app: object) -> None:
        raise failure

    monkeypatch.setattr("typer.main.get_command", fails)
    with pytest.raises(type(failure)):
        cli.run(["--version"])
