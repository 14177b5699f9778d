"""A new command in a few lines: options, data and errors are those of all others."""

from __future__ import annotations

from pathlib import Path

from tests.cli.shop import Run

from arboretum.cli import options
from arboretum.cli.app import app
from arboretum.cli.command import command
from arboretum.cli.terminal import Terminal


@command
def columns(terminal: Terminal, data: options.Reading) -> None:
    """Count the columns of DATA."""
    source = data.open()
    terminal.table(source.name, ["columns"], [(len(source.dataset.names),)])
    terminal.result |= {"columns": len(source.dataset.names)}


def test_a_command_is_a_function(run: Run, shop: Path) -> None:
    app.command("columns")(columns)
    try:
        assert run("columns", shop, "--json").json["columns"] > 3
        assert run("columns", shop, "--sql", "SELECT size FROM data", "--json").json["columns"] == 1
        assert "there is no file" in run("columns", "nothing.csv").err
        assert "Count the columns" in run("columns", "--help").out
    finally:
        app.registered_commands.pop()
