"""A new command in a few lines: options, data and errors are those of all others."""

from __future__ import annotations

from pathlib import Path

from tests.cli.shop import Run

from arboretum.cli import options
from arboretum.cli.app import app
from arboretum.cli.terminal import session


def columns(data: options.Data = None, as_json: options.Json = False) -> None:
    """Count the columns of DATA."""
    with session(as_json=as_json, quiet=False, traceback=False) as terminal:
        from arboretum.cli.sources import open_rows

        source = open_rows(data)
        terminal.table(source.name, ["columns"], [(len(source.dataset.names),)])
        terminal.result |= {"columns": len(source.dataset.names)}


def test_a_command_is_a_function(run: Run, shop: Path) -> None:
    app.command("columns")(columns)
    try:
        assert run("columns", shop, "--json").json["columns"] > 3
        assert "there is no file" in run("columns", "nothing.csv").err
        assert "Count the columns" in run("columns", "--help").out
    finally:
        app.registered_commands.pop()
