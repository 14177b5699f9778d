"""``--cluster``: fits on the workers of a Dask cluster, which read the data themselves."""

from __future__ import annotations

import logging
import platform
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from arboretum.cli.columns import Examples
from arboretum.cli.errors import CommandError, UsageError
from arboretum.data.dataset import Dataset
from arboretum.running.threads import available_cores

LOCAL = "local"
CONNECT_SECONDS, WORKER_SECONDS = 10, 30  # to wait for a scheduler, and for its first worker
PARTS_OF_WORKER, MOST_PART_ROWS = 2, 500_000


@contextmanager
def opened(where: str | None) -> Iterator[Any]:
    """Connect to a cluster, or make one of processes of this machine; yield a client, None without a cluster.

    Parameters
    ----------
    where : str, optional
        As typed: the address of a scheduler, "local", or "local:4" for so many worker processes.
    """
    if where is None:
        yield None
        return
    n_workers = _local_workers(where)
    try:
        import distributed
    except ImportError:
        raise UsageError("--cluster needs Dask, which is not installed: pip install 'arboretum[dask]'") from None
    with _quiet_dask(), _cluster_of(n_workers) as cluster:
        try:
            client: Any = distributed.Client(where if cluster is None else cluster, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"--cluster {where}: no scheduler answers there ({error}); start one with 'dask scheduler' and give "
                "its address, as in tcp://host:8786, or use --cluster local"
            ) from None
        with client:
            try:
                client.wait_for_workers(1, timeout=WORKER_SECONDS)
            except TimeoutError:
                raise UsageError(
                    f"--cluster {where}: it has no workers; start some with 'dask worker {where}'"
                ) from None
            try:
                yield client
            except RuntimeError as error:  # which says what a worker could not do
                raise CommandError(str(error)) from error


def _local_workers(where: str) -> int | None:
    """Return the number of workers to start; None for an address."""
    kind, colon, count = where.partition(":")
    if kind != LOCAL:
        return None
    if not colon:
        return available_cores()
    if not count.isdecimal() or not int(count):
        raise UsageError(f"--cluster {where}: expected a number of worker processes, as in {LOCAL}:4")
    return int(count)


@contextmanager
def _cluster_of(n_workers: int | None) -> Iterator[Any]:
    """Make a cluster of so many worker processes; None makes none."""
    if n_workers is None:
        yield None
        return
    from distributed import LocalCluster

    with _without_interrupts():
        made: Any = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=max(1, available_cores() // n_workers),
            memory_limit=0,
            dashboard_address=":0",  # any free port
            silence_logs=logging.CRITICAL,
        )
    with made:
        yield made


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let processes that are started in the body ignore Ctrl-C: a terminal sends it to them as well."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _quiet_dask() -> Iterator[None]:
    """Leave out what Dask says about its own work."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        yield


def fit_arguments(client: Any, rows: Examples, model: Any) -> dict[str, Any]:
    """Return the arguments of ``fit``: rows in parts that workers read, and targets and weights that are sent."""
    from dask.delayed import delayed

    given = {"y": rows.target, **rows.fit_arguments(model)}
    if rows.offset is not None and rows.offset.ndim > 1:
        raise UsageError("--cluster: workers start from one offset per row; name one column by --offset")
    n_parts = PARTS_OF_WORKER * len(client.scheduler_info(n_workers=-1)["workers"])
    parts = rows.X.parted(max(1, min(MOST_PART_ROWS, len(rows) // n_parts)))
    ends = np.cumsum([part.n_rows for part in parts])[:-1]
    beside = {name: [delayed(part, pure=False) for part in np.split(values, ends)] for name, values in given.items()}
    return {"X": [delayed(partial(_read, part), pure=False)() for part in parts], **beside}


def _read(part: Dataset) -> Any:
    """Read rows on a worker."""
    try:
        return part.to_frame()
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{platform.node()} has no file {error.filename}; workers read the data themselves: put Parquet files into "
            "a folder that all of them share, or use --cluster local"
        ) from None
