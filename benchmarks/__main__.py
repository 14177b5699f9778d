"""``python -m benchmarks boosting``, ``forests``, ``family``, ``tasks``, ``explaining``, ``combining``: compare."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import (
    boosting_defaults,
    calibration,
    cluster,
    contestants,
    data,
    findings,
    forest_defaults,
    ranker_defaults,
    speed,
    survival_averaging,
    survival_defaults,
    uplift_defaults,
)
from benchmarks.combining import COMBINING
from benchmarks.explaining import EXPLAINING
from benchmarks.family import Family
from benchmarks.faults import memory_limits, mutated_files
from benchmarks.goals import Verdict, judge
from benchmarks.measuring import Bench
from benchmarks.real_sets import SETS
from benchmarks.rivals import UNTOUCHED, UNTOUCHED_FORESTS
from benchmarks.table import Table
from benchmarks.tasks import TASKS
from benchmarks.workloads import FAMILIES


def positive(text: str) -> int:
    """Read a count."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a count: give 1 or more")
    return number


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    root = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = root.add_subparsers(required=True)
    for name, family in {**FAMILIES, "tasks": TASKS, "explaining": EXPLAINING, "combining": COMBINING}.items():
        add_family(commands.add_parser(name, help=family.title), family)
    study = commands.add_parser("forest-defaults", help="settings of a random forest over real data sets")
    add_study(study, forest_defaults.run, folds=3)
    study.add_argument("--trees", type=positive, default=100, help="trees of a forest, in the study of settings")
    study.add_argument("--estimator", choices=forest_defaults.ESTIMATORS, default="RandomForest")
    study.add_argument("--rivals", action="store_true", help="compare libraries as they come in place of settings")
    study.add_argument("--libraries", default="all", help=f"of --rivals; default: {','.join(UNTOUCHED_FORESTS)}")
    study = commands.add_parser("boosting-defaults", help="libraries as they come, or settings, over real data sets")
    add_study(study, boosting_defaults.run, folds=5)
    add_contenders(study)
    study = commands.add_parser("ranker-defaults", help="rankers as they come, or settings, by the number of queries")
    ranker_defaults.add_options(study, positive)
    add_output(study)
    study = commands.add_parser("contestants", help="what races before a default fit, chosen over real data sets")
    contestants.add_options(study, positive)
    add_output(study)
    study = commands.add_parser("survival-averaging", help="what a survival forest averages, over real data sets")
    survival_averaging.add_options(study, positive)
    add_output(study)
    study = commands.add_parser("survival-defaults", help="survival libraries as they come, or settings, on real sets")
    survival_defaults.add_options(study, positive)
    add_output(study)
    study = commands.add_parser("uplift-defaults", help="models of effects as they come, where effects are known")
    uplift_defaults.add_options(study, positive)
    add_output(study)
    study = commands.add_parser("calibration", help="ways to calibrate probabilities over real data sets")
    calibration.add_options(study, positive)
    add_output(study)
    files = commands.add_parser("data", help="from a file to a model, in little memory")
    data.add_options(files, positive)
    add_output(files)
    places = commands.add_parser("cluster", help="fits on a Dask cluster: equal models, losses, speed, messages")
    cluster.add_options(places, positive)
    add_output(places)
    races = commands.add_parser("speed", help="how many times as fast as the best rival, for every kind of work")
    speed.add_options(races, positive)
    add_output(races)
    limits = commands.add_parser("memory-limits", help="fits of every estimator in processes that run out of memory")
    memory_limits.add_options(limits, positive)
    alarms = commands.add_parser("findings", help="false alarms of reports on clean tables; planted faults they find")
    findings.add_options(alarms, positive)
    add_output(alarms)
    files = commands.add_parser("mutated-files", help="load damaged files of every kind of model")
    mutated_files.add_options(files, positive)
    return root


def add_family(command: argparse.ArgumentParser, family: Family) -> None:
    """Describe the options of a family of workloads."""
    command.set_defaults(run=compare, family=family)
    add = command.add_argument
    first = next(iter(family.workloads))
    add("--libraries", default=",".join(family.rivals), help="comma-separated; default: %(default)s")
    add("--workloads", default=",".join(family.workloads), help="comma-separated names or groups; default: %(default)s")
    add("--rows", type=positive, default=family.rows, help=f"rows of {first}; drawn sets shrink in proportion")
    add(f"--{family.count}", dest="rounds", type=positive, default=100, help=f"{family.count} of an ensemble")
    add("--repeat", type=positive, default=3, help="turns of each library; the best one counts")
    add("--patience", type=float, default=60.0, help="a library whose turn takes more seconds gets no second one")
    add("--data", type=Path, help="folder with real data sets")
    add("--notes", type=Path, metavar="FILE", help="where long workloads note what they measure, and resume")
    add_output(command)


def add_study(command: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int], folds: int) -> None:
    """Describe the options of a study of defaults."""
    command.set_defaults(run=run)
    add = command.add_argument
    add("--data", type=Path, required=True, help="folder with real data sets")
    add("--sets", default=",".join(SETS), help="comma-separated, or all; default: %(default)s")
    add("--rows", type=positive, default=20_000, help="most rows of a set")
    add("--folds", type=positive, default=folds)
    add_output(command)


def add_contenders(command: argparse.ArgumentParser) -> None:
    """Describe who takes part in the study of boosting defaults; its ``--json`` file is resumed."""
    add = command.add_argument
    add("--libraries", default="all", help=f"comma-separated; default: {','.join(UNTOUCHED)}")
    add(
        "--settings",
        nargs="?",
        const="all",
        help="compare settings of arboretum in place of libraries; names from CANDIDATES, all by default",
    )


def add_output(command: argparse.ArgumentParser) -> None:
    """Describe the options that every command has."""
    add = command.add_argument
    add("--threads", type=positive, default=2)
    add("--markdown", action="store_true", help="print Markdown tables")
    add("--json", type=Path, metavar="FILE", help="also write every number to FILE")


def bench_from(options: argparse.Namespace) -> Bench:
    """Check the names and collect the options of a run."""
    family, libraries = options.family, options.libraries.split(",")
    for name in libraries:
        if name not in family.rivals:
            raise ValueError(f"no library is called {name!r}; there are: {', '.join(family.rivals)}")
    names = ("rows", "rounds", "repeat", "threads", "patience", "data", "notes")
    return Bench(family, libraries, **{name: getattr(options, name) for name in names})


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
    equal = f"{bench.threads} threads, best of {bench.repeat}, {bench.family.equal}"
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


def compare(options: argparse.Namespace) -> int:
    """Run the chosen workloads; the exit code is 1 if a library failed, whatever the goals say."""
    try:
        bench, workloads = bench_from(options), options.family.select(options.workloads.split(","))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    bench.warm_up()
    print(describe(bench), end="\n\n", flush=True)
    written = []
    for workload in workloads:
        for table in bench.family.workloads[workload](bench):
            verdicts = judge(table)
            written.append(as_json(table, verdicts))
            print(show(table, verdicts, options.markdown), flush=True)
            if options.json:
                report = {"about": describe(bench).splitlines(), "tables": written}
                options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False))
    return 1 if bench.failures else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks."""
    options = parser().parse_args(arguments)
    answer: int = options.run(options)
    return answer


if __name__ == "__main__":
    sys.exit(main())
