"""``python -m benchmarks boosting``: compare arboretum with its rivals."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.goals import Verdict, judge
from benchmarks.measuring import FULL_ROWS, Bench
from benchmarks.rivals import RIVALS
from benchmarks.table import Table
from benchmarks.workloads import WORKLOADS, select


def positive(text: str) -> int:
    """Read a count."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a count: give 1 or more")
    return number


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    root = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    boosting = root.add_subparsers(dest="suite", required=True).add_parser("boosting", help="boosted trees")
    add = boosting.add_argument
    add("--libraries", default=",".join(RIVALS), help="comma-separated; default: %(default)s")
    add("--workloads", default=",".join(WORKLOADS), help="comma-separated names or families such as dense")
    add(
        "--rows",
        type=positive,
        default=FULL_ROWS,
        help="rows of the dense set; other sets shrink in proportion",
    )
    add("--rounds", type=positive, default=100, help="boosting rounds")
    add("--repeat", type=positive, default=3, help="turns of each library; the best one counts")
    add("--threads", type=positive, default=2)
    add("--data", type=Path, help="folder with real data sets")
    add("--markdown", action="store_true", help="print Markdown tables")
    add("--json", type=Path, metavar="FILE", help="also write every number to FILE")
    return root


def bench_from(options: argparse.Namespace) -> Bench:
    """Check the names and collect the options of a run."""
    libraries = options.libraries.split(",")
    for name in libraries:
        if name not in RIVALS:
            raise ValueError(f"no library is called {name!r}; there are: {', '.join(RIVALS)}")
    return Bench(libraries, options.rows, options.rounds, options.repeat, options.threads, options.data)


def processor() -> str:
    """Return the processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def describe(bench: Bench) -> str:
    """Say what was measured where."""
    versions = ", ".join(f"{rival.name} {rival.version()}" for rival in bench.installed())
    machine = f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    equal = f"{bench.threads} threads, best of {bench.repeat}, learning rate 0.1, 255 bins, 20 rows a leaf, no L2"
    notes = [f"not equal: {rival.unequal}" for rival in bench.installed() if rival.unequal]
    return "\n".join([machine, versions, equal, *notes])


def show(table: Table, verdicts: Sequence[Verdict], markdown: bool) -> str:
    """Render a table with its verdicts."""
    if markdown:
        return "\n".join([table.markdown(), *(f"- {verdict.text()}" for verdict in verdicts), ""])
    return "\n".join([table.text(), *(verdict.text() for verdict in verdicts), ""])


def as_json(table: Table, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return a table with its verdicts as plain data."""
    goals = [{"goal": v.goal.text, "value": v.value, "reached": v.reached} for v in verdicts]
    return table.as_json() | {"goals": goals}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen workloads; the exit code is 1 if a library failed, whatever the goals say."""
    options = parser().parse_args(arguments)
    try:
        bench, workloads = bench_from(options), select(options.workloads.split(","))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    bench.warm_up()
    print(describe(bench), end="\n\n", flush=True)
    written = []
    for workload in workloads:
        for table in WORKLOADS[workload](bench):
            verdicts = judge(table)
            written.append(as_json(table, verdicts))
            print(show(table, verdicts, options.markdown), flush=True)
            if options.json:
                report = {"about": describe(bench).splitlines(), "tables": written}
                options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False))
    return 1 if bench.failures else 0


if __name__ == "__main__":
    sys.exit(main())
