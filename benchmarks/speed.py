"""``python -m benchmarks speed``: how many times as fast as the best rival, for every kind of work."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.table import Table
from benchmarks.workloads.speed import answers, boosted, forests, resources, starting
from benchmarks.workloads.speed.racing import COLUMNS, Options, Race, run


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the options."""
    command.set_defaults(run=run_all)
    add = command.add_argument
    add("--races", default="", help="comma-separated beginnings of names, such as small,ranking; default: all")
    add("--share", type=float, default=1.0, help="part of the full size of drawn tables")
    add("--turns", type=positive, default=5, help="of each library; the best one counts")
    add("--patience", type=float, default=60.0, help="a library whose turn takes more seconds gets no second one")
    add("--data", type=Path, help="folder with real data sets; without it, races on them are left out")
    add("--folder", type=Path, help="where the file of ten million rows (1.2 GB) is written, and found the next time")


def races(options: Options) -> Iterator[tuple[str, Callable[[], Race]]]:
    """Yield names, and what prepares each race."""
    yield from boosted.races(options)
    yield from forests.races(options)
    yield from resources.races(options)
    yield from answers.races(options)
    yield from starting.races(options)


def run_all(asked: argparse.Namespace) -> int:
    """Run the chosen races; files are written into a temporary folder if no other was named."""
    with TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        return compare(asked, Options(folder, asked.turns, asked.threads, asked.share, asked.patience, asked.data))


def compare(asked: argparse.Namespace, options: Options) -> int:
    """Print the table of the chosen races; the exit code is 1 if one failed, whatever the goals say."""
    wanted = tuple(asked.races.split(","))
    chosen = {name: prepare for name, prepare in races(options) if name.startswith(wanted)}
    if not chosen:
        print(f"no race is called {asked.races!r}; there are: {'; '.join(dict(races(options)))}", file=sys.stderr)
        return 2
    title = f"seconds where a name says nothing else, best of {options.turns} turns, {options.threads} threads"
    table = Table("speed", title, COLUMNS, rows_are="work")
    for name, prepare in chosen.items():
        try:
            table.rows[name], notes = run(name, prepare(), options)
            table.notes += notes
        except Exception as error:
            table.rows[name] = f"failed: {type(error).__name__}: {error}"
        if asked.json:
            asked.json.write_text(json.dumps(table.as_json(), indent=1, ensure_ascii=False))
    table.notes.append(f"not reached: {'; '.join(missed(table)) or 'nothing'}")
    print(table.markdown() if asked.markdown else table.text())
    return int(any(isinstance(row, str) for row in table.rows.values()))


def missed(table: Table) -> list[str]:
    """Return the names of races whose goal was not reached."""
    return [name for name, goal in table.measured("goal").items() if (table.value(name, "ratio") or 0) < goal]
