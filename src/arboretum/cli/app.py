"""The commands, in the order in which a new user meets them."""

from __future__ import annotations

from typing import Annotated

import typer

from arboretum.cli.compare import compare
from arboretum.cli.convert import convert
from arboretum.cli.demo import demo
from arboretum.cli.errors import EXIT_CODES
from arboretum.cli.evaluate import evaluate
from arboretum.cli.explain import explain
from arboretum.cli.predict import predict
from arboretum.cli.report import report
from arboretum.cli.show import show
from arboretum.cli.train import train

_EXIT = "; ".join(f"{code} {words.partition(':')[0]}" for code, words in EXIT_CODES.items())

app = typer.Typer(
    name="arboretum",
    epilog=f"Exit codes: {_EXIT}.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from arboretum import __version__

        typer.echo(f"arboretum {__version__}")
        raise typer.Exit


@app.callback()
def options_of_all(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tree ensembles from the shell: train, compare, predict, explain."""


for command in (train, compare, predict, evaluate, explain, report, show, convert, demo):
    app.command()(command)
