"""``python -m benchmarks cluster``: fits on a Dask cluster of processes on this machine, over TCP on 127.0.0.1.

``equal``: the model of one process, for any workers and partitions. ``limited``: the same in little memory.
``killed``: workers killed in the middle. ``scheduler``: the scheduler killed. ``speed``: beside one process, LightGBM
and XGBoost. ``exchange``: messages of a tree. ``memory``: peaks of workers. ``simulate``: a thousand workers, from
costs that are measured here.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.goals import judge
from benchmarks.table import Column, Table
from benchmarks.workloads.cluster import equal, exchange, killed, memory, scheduler, simulate, speed
from benchmarks.workloads.cluster.running import ROWS, Options

WORKLOADS: dict[str, Callable[[Options], Iterator[Table]]] = {
    "equal": equal.run,
    "limited": equal.run_limited,
    "killed": killed.run,
    "scheduler": scheduler.run,
    "speed": speed.run,
    "exchange": exchange.run,
    "memory": memory.run,
    "simulate": simulate.run,
}


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the options."""
    command.set_defaults(run=run)
    add = command.add_argument
    add("--workloads", default=",".join(WORKLOADS), help="comma-separated; default: %(default)s")
    add("--rows", type=positive, default=ROWS, help="of speed; the other workloads shrink in proportion")
    add("--workers", type=positive, default=4, help="most workers of a cluster; equal has all numbers up to it")
    add("--rounds", type=positive, default=100, help="of killed, scheduler and speed")
    add("--repeats", type=positive, default=3, help="turns of what is timed; the best one counts")
    add("--kills", type=positive, default=50, help="moments of killed")
    add("--patience", type=float, default=1_800.0, help="seconds after which a fit counts as hung")
    add("--folder", type=Path, help="where files are written, and found the next time; a temporary one by default")


def run(options: argparse.Namespace) -> int:
    """Run the chosen workloads; the exit code is 1 if one failed, whatever the goals say."""
    chosen = options.workloads.split(",")
    if unknown := [name for name in chosen if name not in WORKLOADS]:
        print(f"no workload is called {unknown[0]!r}; there are: {', '.join(WORKLOADS)}", file=sys.stderr)
        return 2
    if missing := [name for name in ("dask", "distributed", "pandas", "pyarrow") if find_spec(name) is None]:
        print(f"{missing[0]} is not installed: pip install 'dask[dataframe,distributed]'", file=sys.stderr)
        return 2
    written, failed = [], False
    with TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        names = ("rows", "workers", "repeats", "rounds", "kills", "threads", "patience")
        asked = Options(folder=folder, **{name: getattr(options, name) for name in names})
        for name in chosen:
            for table in tables(name, asked):
                verdicts = judge(table)
                failed |= any(isinstance(row, str) and row.startswith("failed") for row in table.rows.values())
                print(table.markdown() if options.markdown else table.text(), *(v.text() for v in verdicts), sep="\n")
                print(flush=True)
                goals = [{"goal": v.goal.text, "value": v.value, "reached": v.reached} for v in verdicts]
                written.append(table.as_json() | {"goals": goals})
                if options.json:
                    options.json.write_text(json.dumps({"tables": written}, indent=1, ensure_ascii=False))
    return int(failed)


def tables(name: str, options: Options) -> Iterator[Table]:
    """Run a workload; what brings it down is told in a table of its own, and the next one begins."""
    try:
        yield from WORKLOADS[name](options)
    except Exception as error:
        table = Table(f"cluster-{name}", "ended by an error", (Column("seconds", "s"),))
        table.rows["arboretum"] = f"failed: {type(error).__name__}: {error}"
        yield table
