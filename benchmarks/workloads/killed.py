"""A run with a checkpoint, killed at random moments and begun again each time, beside one that nobody disturbed."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.table import HOME, Column, Table

ROWS = 200_000
KILLS = 10
SCRIPT = """
import sys
import numpy as np
import arboretum as arb
path, rows, rounds, threads = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
X = rng.standard_normal((rows, 20), dtype=np.float32)
y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + rng.standard_normal(rows)
model = arb.BoostedTreesRegressor(n_estimators=rounds, early_stopping=True, random_state=0, n_jobs=threads)
print(model.fit(X, y, checkpoint=arb.Checkpoint(path, seconds=0.2)).fingerprint())
"""


def run(rows: int, rounds: int, threads: int) -> Table:
    """Kill a run ten times at most; moments are drawn over the time that an undisturbed run takes."""
    title = f"{rows:,} × 20, {rounds} rounds, checkpoint every 0.2 s, SIGKILL at random moments until it is done"
    columns = (
        Column("kills", "killed"),
        Column("unreadable", "unreadable files", 1),
        Column("same", "same fingerprint", 1),
        Column("whole_s", "undisturbed s"),
        Column("killed_s", "all runs s"),
    )
    table = Table("killed", title, columns)
    with TemporaryDirectory() as folder:
        table.rows[HOME] = _kill(Path(folder), [str(rows), str(rounds), str(threads)])
    return table


def _kill(folder: Path, options: list[str]) -> dict[str, float]:
    path, rng = folder / "run.arb", np.random.default_rng(1)
    started = time.perf_counter()
    whole = _finish([str(folder / "whole.arb"), *options])
    whole_s = time.perf_counter() - started
    kills = unreadable = 0
    started = time.perf_counter()
    for moment in rng.uniform(0.1, 0.9, KILLS) * whole_s:
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path), *options], stdout=subprocess.DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        process.kill()
        kills += process.wait() < 0
        unreadable += path.exists() and not _is_readable(path)
    same = _finish([str(path), *options]) == whole
    killed_s = time.perf_counter() - started
    return {"kills": kills, "unreadable": unreadable, "same": float(same), "whole_s": whole_s, "killed_s": killed_s}


def _is_readable(path: Path) -> bool:
    import arboretum as arb

    try:
        arb.load(path)
    except arb.ModelFileError:
        return False
    return True


def _finish(arguments: list[str]) -> str:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True)
    return done.stdout
