"""The scheduler killed: a clear error soon, a checkpoint that is good, and a new cluster that goes on from it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks.table import Column, Table
from benchmarks.workloads.cluster.running import (
    CLOSING,
    QUIET,
    STARTING,
    HungError,
    Options,
    dense_files,
    many_places,
    partitions,
    say,
    table_of,
    until,
    within,
)

ROWS, PART_ROWS = 500_000, 25_000
WORKERS = 2
LATEST = 180.0  # seconds to wait for the error
NAMED = "scheduler"  # what a clear error names
COLUMNS = (
    Column("error_s", "error after s"),
    Column("clear", "names its cause", 1),
    Column("rounds", "rounds in the checkpoint"),
    Column("good", "readable", 1),
    Column("first", "next run begins with round"),
    Column("same", "right model", 1),
)
PROGRAM = "import sys; sys.path[:] = [p for p in sys.path if p]; from dask.__main__ import main; main()"


class Cluster:
    """A scheduler and workers as processes of their own."""

    def __init__(self, workers: int, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.folder, self.processes = folder, []
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", self.file)
        until(self.file.exists, STARTING, "the start of a scheduler")
        for number in range(workers):
            own = ("--local-directory", folder / f"worker{number}", "--nthreads", "1", "--host", "127.0.0.1")
            self._start("worker", "--scheduler-file", self.file, "--memory-limit", "0", "--no-dashboard", *own)

    def _start(self, command: str, *words: object) -> subprocess.Popen[bytes]:
        path = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
            "DASK_LOGGING__DISTRIBUTED": "critical",
        }
        extra = ("--no-dashboard",) if command == "scheduler" else ()
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, command, *map(str, (*words, *extra))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=self.folder,
        )
        self.processes.append(process)
        return process

    def close(self) -> None:
        """End all processes: nannies of workers end those first."""
        for process in self.processes:
            process.terminate()
        end = time.monotonic() + 10
        while time.monotonic() < end and any(process.poll() is None for process in self.processes):
            time.sleep(0.05)
        for process in self.processes:
            process.kill()


@contextmanager
def separate_cluster(workers: int) -> Iterator[tuple[Cluster, Any]]:
    """Yield a cluster and its client."""
    import dask
    import distributed

    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, dask.config.set(QUIET):
        made = Cluster(workers, Path(folder))
        try:
            client = within(
                STARTING, lambda: distributed.Client(scheduler_file=str(made.file), timeout=20), "connecting"
            )
            within(STARTING, lambda: client.wait_for_workers(workers, timeout=STARTING), "the start of workers")
            try:
                yield made, client
            finally:
                with suppress(Exception):
                    within(CLOSING, lambda: client.close(timeout=5), "closing a client")
        finally:
            made.close()


def run(options: Options) -> Iterator[Table]:
    """Kill the scheduler before the first round, and between rounds."""
    rows, workers = options.part(ROWS), min(WORKERS, options.workers)
    files = dense_files(options.folder, rows, min(PART_ROWS, rows // (4 * workers)))
    title = f"{rows:,} × 28, {options.rounds} rounds, {workers} workers; the scheduler is killed with SIGKILL"
    table = Table("cluster-scheduler", title, COLUMNS, rows_are="moment")
    alone = model_of(options).fit(table_of(files), target="y").fingerprint()
    with many_places():
        for name, after in {"before round 1": 0, "between rounds": max(2, options.rounds // 2)}.items():
            with TemporaryDirectory() as folder:
                table.rows[name] = killed_after(after, files, Path(folder) / "run.arb", str(alone), table, options)
            say("scheduler", name, table.rows[name])
    return iter([table])


def model_of(options: Options, callbacks: list[Any] | None = None) -> Any:
    import arboretum as arb

    return arb.BoostedTreesClassifier(n_estimators=options.rounds, early_stopping=False, callbacks=callbacks)


def killed_after(
    rounds: int, files: list[Path], path: Path, alone: str, table: Table, options: Options
) -> dict[str, float] | str:
    """Kill the scheduler after so many rounds; fit again on another cluster."""
    import arboretum as arb

    row: dict[str, float] = {}
    workers = min(WORKERS, options.workers)
    checkpoint = arb.Checkpoint(path, rounds=1)
    with separate_cluster(workers) as (made, _):
        killed: list[float] = []
        scheduler = made.scheduler.pid

        def kill(report: Any = None) -> None:
            if not killed and (report is None or report.number == rounds):
                os.kill(scheduler, signal.SIGKILL)
                killed.append(perf_counter())

        timer = threading.Timer(0.3, kill)
        if not rounds:
            timer.start()
        try:
            fit = model_of(options, [kill] if rounds else None).fit
            within(LATEST, lambda: fit(partitions(files), target="y", checkpoint=checkpoint), "the error")
            table.notes.append(f"after {rounds} rounds: the fit ended as if nothing had happened")
        except HungError as error:
            table.notes.append(f"after {rounds} rounds: no error: {error}")
        except BaseException as error:
            row["error_s"] = perf_counter() - killed[0]
            row["clear"] = float(NAMED in str(error).lower())
            table.notes.append(f"after {rounds} rounds: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
        timer.cancel()
    row["good"] = 1.0
    try:
        row["rounds"] = float(arb.load(path).n_iter_) if path.exists() else 0.0
    except arb.ModelFileError as error:
        row["good"] = 0.0
        table.notes.append(f"after {rounds} rounds: {error}")
    heard: list[int] = []
    with separate_cluster(workers):
        again = model_of(options, [lambda report: heard.append(report.number)])
        try:
            within(options.patience, lambda: again.fit(partitions(files), target="y", checkpoint=checkpoint), "again")
            row |= {"first": float(heard[0]) if heard else 0.0, "same": float(again.fingerprint() == alone)}
        except Exception as error:
            row["same"] = 0.0
            table.notes.append(f"the next run: {type(error).__name__}: {error}")
    return row
