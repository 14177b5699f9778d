"""``python -m benchmarks speed``: how many times as fast as the best rival, for every kind of work."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.table import Table
from benchmarks.workloads.speed import answers, boosted, forests
from benchmarks.workloads.speed.racing import COLUMNS, Options, Race, run


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the options."""
    command.set_defaults(run=compare)
    add = command.add_argument
    add("--races", default="", help="comma-separated beginnings of names, such as small,ranking; default: all")
    add("--share", type=float, default=1.0, help="part of the full size of drawn tables")
    add("--turns", type=positive, default=5, help="of each library; the best one counts")
    add("--patience", type=float, default=60.0, help="a library whose turn takes more seconds gets no second one")
    add("--data", type=Path, help="folder with real data sets; without it, races on them are left out")


def races(options: Options) -> Iterator[tuple[str, Callable[[], Race]]]:
    """Yield names, and what prepares each race."""
    yield from boosted.races(options)
    yield from forests.races(options)
    yield from answers.races(options)


def compare(asked: argparse.Namespace) -> int:
    """Run the chosen races; the exit code is 1 if one failed, whatever the goals say."""
    options = Options(asked.turns, asked.threads, asked.share, asked.patience, asked.data)
    wanted = tuple(asked.races.split(","))
    chosen = {name: prepare for name, prepare in races(options) if name.startswith(wanted)}
    if not chosen:
        print(f"no race is called {asked.races!r}; there are: {'; '.join(dict(races(options)))}", file=sys.stderr)
        return 2
    table = Table("speed", f"best of {options.turns} turns, {options.threads} threads", COLUMNS, rows_are="work")
    for name, prepare in chosen.items():
        try:
            table.rows[name] = run(name, prepare(), options)
        except Exception as error:
            table.rows[name] = f"failed: {type(error).__name__}: {error}"
        if asked.json:
            asked.json.write_text(json.dumps(table.as_json(), indent=1, ensure_ascii=False))
    missed = [name for name, row in table.rows.items() if isinstance(row, dict) and row.get("ratio", 0) < row["goal"]]
    table.notes.append(f"not reached: {'; '.join(missed) or 'nothing'}")
    print(table.markdown() if asked.markdown else table.text())
    return int(any(isinstance(row, str) for row in table.rows.values()))
