"""What commands hold in memory under ``--memory-limit``, for files of several shapes and layouts.

Every command runs in a process of its own. Its peak is that of resident memory (Linux: VmHWM) above what the process
held when the command was loaded, but had not begun: all that reading, training and libraries loaded later take. A limit
that is too small is rejected with the least that is enough; with that one the command runs as well.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.table import Column, Table

LIMITS = (200, 500, 1000)  # MB
COMMANDS = ("train", "predict", "predict to DuckDB", "evaluate", "report")
DATABASE = "predictions.duckdb"
GROUPS = {"groups of 10⁴": 10_000, "groups of 10⁶": 1_000_000, "one group": None}
SCRIPT = """
import json, sys
from pathlib import Path
import arboretum.cli.app
from arboretum.cli import main

def resident(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024

before = resident("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
code = 0
try:
    main()
except SystemExit as end:
    code = end.code
print(json.dumps({"peak": resident("VmHWM") - before, "code": code}), file=sys.stderr)
"""


@dataclass(frozen=True)
class Shape:
    """A table: so many rows, and columns of numbers and of text."""

    name: str
    rows: int
    numbers: int
    levels: tuple[int, ...] = ()  # of each column of text
    letters: int = 0  # of a text that is different in every row

    def parts(self) -> Iterator[Any]:
        """Draw the table a few rows at a time."""
        import pyarrow as pa

        for seed, first in enumerate(range(0, self.rows, 10_000)):
            rng, n = np.random.default_rng(seed), min(10_000, self.rows - first)
            columns: dict[str, Any] = {f"x{j}": rng.standard_normal(n) for j in range(self.numbers)}
            y = columns["x0"] * columns["x1"] + rng.standard_normal(n)
            for j, levels in enumerate(self.levels):
                code = rng.integers(0, levels, n)
                columns[f"t{j}"] = pa.array([f"level number {level} of column {j}" for level in code])
                y += code % 3 == 0
            if self.letters:
                columns["long"] = pa.array([rng.bytes(self.letters // 2).hex() for _ in range(n)])
            yield pa.table(columns | {"y": y})


def shapes(rows: int) -> list[Shape]:
    """Return the tables; the second and third have as many cells as a tenth of the first and more."""
    return [
        Shape("narrow", rows, 12),
        Shape("wide", max(1_000, rows // 100), 1_500),
        Shape("text", rows // 5, 6, (4, 12, 40, 400, 4_000)),
        Shape("long texts", max(1_000, rows // 700), 2, letters=60_000),
    ]


def write(shape: Shape, group_rows: int | None, path: Path) -> None:
    """Write a table as Parquet, in row groups of one size."""
    import pyarrow as pa
    from pyarrow import parquet

    tables = list(shape.parts())
    parquet.write_table(pa.concat_tables(tables), path, row_group_size=group_rows or shape.rows)


def run(folder: Path, rows: int, rounds: int) -> Table:
    """Run all commands on all tables, with all limits and with the least one."""
    columns = [Column("least", "least MB"), Column("at_least", "peak with it")]
    columns += [Column(f"peak_{limit}", f"peak with {limit}") for limit in LIMITS]
    title = f"peak MB above the bare start of a command, {rows:,} × 12 and others, {rounds} rounds"
    table = Table("limits", title, [*columns, Column("worst", "largest / limit")], rows_are="command and file")
    table.notes.append("–: the limit is below the least one, and was rejected")
    for shape in shapes(rows):
        for layout, group_rows in GROUPS.items():
            if group_rows is not None and group_rows > 2 * shape.rows:
                continue
            path = folder / f"{shape.name}-{shape.rows}-{group_rows}.parquet"
            if not path.exists():
                write(shape, group_rows, path)
            for command in COMMANDS:
                key = f"{command} {shape.name}, {layout}"
                table.rows[key] = _measured(command, path, folder, rounds)
                print(f"  limits {key} {table.rows[key]}", file=sys.stderr, flush=True)
    return table


def _measured(command: str, path: Path, folder: Path, rounds: int) -> dict[str, float] | str:
    words = {
        "train": ["train", str(path), "-t", "y", "--set", f"n_estimators={rounds}", "-o", "model.arb", "--overwrite"],
        "predict": ["predict", "model.arb", str(path), "-o", "predictions.parquet", "--overwrite"],
        "predict to DuckDB": ["predict", "model.arb", str(path), "-o", DATABASE],
        "evaluate": ["evaluate", "model.arb", str(path)],
        "report": ["report", "model.arb", str(path), "-o", "report.html", "--overwrite"],
    }[command]
    row: dict[str, float] = {}
    limit, peak = 1.0, None
    for _ in range(4):  # a limit that passes the first check may still be too small for a later one
        peak, least = _peak(words, limit, folder)
        if least is None:
            break
        limit = least
    if peak is None:
        return f"failed: rejected again with {limit:g} MB"
    row |= {"least": limit, "at_least": peak, "worst": peak / limit}
    for larger in LIMITS:
        if larger >= limit:
            peak, _ = _peak(words, larger, folder)
            if peak is None:
                return f"failed: rejected with {larger} MB, but {limit:g} MB were enough"
            row |= {f"peak_{larger}": peak, "worst": max(row["worst"], peak / larger)}
    return row


def _peak(words: list[str], limit: float, folder: Path) -> tuple[float | None, float | None]:
    """Run a command; return its peak in MB, or the least limit if this one was rejected."""
    (folder / DATABASE).unlink(missing_ok=True)  # the command replaces no data base
    arguments = [sys.executable, "-c", SCRIPT, *words, "--quiet", "--memory-limit", f"{limit:g}MB"]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=folder)
    told = done.stderr.splitlines()
    if rejected := re.search(r"needs at least ([\d.]+)(MB|GB)", done.stderr):
        return None, float(rejected[1]) * (1000 if rejected[2] == "GB" else 1)
    ended = json.loads(told[-1]) if told and told[-1].startswith("{") else {"code": "crash"}
    if ended["code"]:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr[-300:]}")
    return ended["peak"] / 1e6, None
