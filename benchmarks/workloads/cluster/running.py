"""Clusters of processes with real connections between them, files of rows, and waits that end."""

from __future__ import annotations

import contextvars
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from benchmarks.child import resident
from benchmarks.data import NAMES, rows_of

T = TypeVar("T")
ROWS = 5_000_000  # of ``speed``; the other workloads have a part of them
PART_ROWS = 50_000  # of a file
STARTING = CLOSING = 60.0  # seconds
QUIET = {  # of Dask: no memory manager that spills or pauses, which would be measured too
    "logging.distributed": "critical",
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}


@dataclass(frozen=True)
class Options:
    """What the command was asked for; ``patience`` is how many seconds a single fit may take."""

    rows: int = ROWS
    workers: int = 4
    repeats: int = 3
    rounds: int = 100
    kills: int = 50
    threads: int = 2
    patience: float = 1_800.0
    folder: Path = Path()

    def part(self, of_full: int, least: int = 2_000) -> int:
        """Scale rows of the full-size run by ``--rows``."""
        return max(least, round(of_full * self.rows / ROWS))


class HungError(RuntimeError):
    """Something did not end in its time."""


def within(seconds: float, call: Callable[[], T], what: str) -> T:
    """Return what a call returns; an error if it has not ended after so many seconds, whatever it waits for."""
    found: list[Any] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            found.append((context.run(call), None))
        except BaseException as error:
            found.append((None, error))

    thread = threading.Thread(target=run, daemon=True, name=what)
    thread.start()
    thread.join(seconds)
    if not found:
        raise HungError(f"{what} has not ended after {seconds:.0f} s")
    value, error = found[0]
    if error is not None:
        raise error
    answer: T = value
    return answer


def until(holds: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for something; an error if it does not come."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise HungError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(0.02)


def say(*words: object) -> None:
    """Tell what is going on."""
    print(" ", *words, file=sys.stderr, flush=True)


@contextmanager
def cluster(
    workers: int, threads: int = 1, memory_limit: int = 0, settings: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[Any]:
    """Yield the client of a new cluster: a process per worker, TCP on 127.0.0.1; ``settings`` are Dask's."""
    import dask
    import distributed

    with dask.config.set(QUIET | dict(settings)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = within(STARTING, lambda: _started(workers, threads, memory_limit), "the start of a cluster")
        client = within(STARTING, lambda: distributed.Client(made), "connecting to a cluster")
        try:
            with client.as_current():  # fits take the current client, of which there may be an earlier one
                yield client
        finally:
            for one in (client, made):
                with suppress(Exception):
                    within(CLOSING, one.close, "the end of a cluster")


def _started(workers: int, threads: int, memory_limit: int) -> Any:
    import distributed

    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        processes=True,
        host="127.0.0.1",
        protocol="tcp",
        dashboard_address=None,
        memory_limit=memory_limit,
        silence_logs=logging.CRITICAL,
    )


@contextmanager
def many_places() -> Iterator[None]:
    """Let several workers fit few rows, which would go to one of them."""
    from arboretum.cluster import fitting

    before = fitting.SMALL_ROWS, fitting.LEAST_ROWS
    fitting.SMALL_ROWS, fitting.LEAST_ROWS = 100, 10
    try:
        yield
    finally:
        fitting.SMALL_ROWS, fitting.LEAST_ROWS = before


# ---- rows ------------------------------------------------------------------------------------------------------------


def dense_files(folder: Path, rows: int, part_rows: int = PART_ROWS) -> list[Path]:
    """Return files with rows of the dense workload; they are written once."""
    import pyarrow as pa

    target = folder / f"dense-{rows}-{part_rows}"
    if not target.exists():
        unfinished = target.with_suffix(f".{os.getpid()}")
        unfinished.mkdir(parents=True)
        for number, first in enumerate(range(0, rows, part_rows)):
            X, y = rows_of(number, min(part_rows, rows - first))
            _write(unfinished, number, pa.table([*X.T, y], names=[*NAMES, "y"]))
        unfinished.rename(target)
    return sorted(target.iterdir())


def files_of(folder: Path, frame: Any, sizes: Sequence[int]) -> list[Path]:
    """Write a frame in parts of these sizes; an empty one has the columns of all."""
    import pyarrow as pa

    folder.mkdir(parents=True)
    table, first = pa.Table.from_pandas(frame, preserve_index=False), 0
    for number, size in enumerate(sizes):
        _write(folder, number, table.slice(first, size))
        first += size
    return sorted(folder.iterdir())


def _write(folder: Path, number: int, table: Any) -> None:
    from pyarrow import parquet

    parquet.write_table(table, folder / f"part.{number:05d}.parquet", compression="none", use_dictionary=False)


def partitions(files: Sequence[Path]) -> list[Any]:
    """Return partitions that workers read from files when they are asked for, each time anew."""
    import pandas as pd
    from dask.delayed import delayed

    return [delayed(pd.read_parquet)(str(file)) for file in files]


def table_of(files: Sequence[Path]) -> Any:
    """Read all files here."""
    import pandas as pd

    return pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)


# ---- workers ---------------------------------------------------------------------------------------------------------


def warm_up(workers: int, folder: Path) -> None:
    """Let every worker import and use what a fit needs."""
    import arboretum as arb

    parts = partitions(dense_files(folder, 400 * workers, 200))
    with many_places():
        model = arb.BoostedTreesClassifier(n_estimators=2, early_stopping=False)
        within(120, lambda: model.fit(parts, target="y"), "the first fit of a cluster")


def idle_bytes() -> int:
    """Give back what is free, begin to watch the peak, and return the resident memory of this worker."""
    import ctypes
    import gc

    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


def peak_bytes() -> int:
    """Return the largest resident memory of this worker since ``idle_bytes``."""
    return resident("VmHWM")
