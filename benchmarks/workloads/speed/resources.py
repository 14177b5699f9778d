"""Races of what fits take: memory, threads, and time as the rows become more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from benchmarks.child import run_child
from benchmarks.data import ROWS, file_in, rows_of
from benchmarks.measuring import Row, timed
from benchmarks.rivals import BOOSTING, Rival
from benchmarks.table import HOME
from benchmarks.task import Task, split
from benchmarks.workloads import dense, memory, scaling
from benchmarks.workloads.speed.racing import Options, Race, Turn, fitting

OURS, LIGHTGBM = BOOSTING["arboretum"], BOOSTING["lightgbm"]
FILE_MB = 700
FEWER_ROWS = (100_000, 1_000_000)
LINEAR = 0.9  # a row among ten million costs at most 1 / 0.9 of a row among fewer
CORES = (8, 32, 64)
ONE, ITS_ONE = "1 thread", "lightgbm, 1 thread"
MILLION = 1_000_000

Races = Iterator[tuple[str, Callable[[], Race]]]


def races(options: Options) -> Races:
    """Yield names, and what prepares each race."""
    yield f"file: {ROWS:,} × 28 within {FILE_MB} MB", partial(_from_file, options)
    yield "memory: 1,000,000 × 28, MB", partial(_memory, options)
    for leaves in (31, 255) if options.threads > 1 else ():
        yield f"scaling: {leaves} leaves", partial(_scaling, options, leaves)
    yield f"rows: a million among {ROWS:,}", partial(_rows, options)


def _installed() -> list[Rival]:
    return [rival for rival in (OURS, LIGHTGBM) if rival.available()]


def _from_file(options: Options) -> Race:
    """Train from one Parquet file, each library in a process of its own; only ours is given a limit of memory."""
    path = file_in(options.folder, options.scaled(ROWS))
    given: dict[str, Any] = {"path": str(path), "settings": asdict(options.settings()), "memory_limit": f"{FILE_MB}MB"}

    def turn(library: str) -> Row:
        found = run_child("data", library=library, **given)
        return {"s": found["fit_s"], "loss": found["log_loss"], "peak_mb": found["peak_mb"]}

    def tell(best: Mapping[str, Row]) -> list[str]:
        peaks = (f"{name} {row['peak_mb']:.0f} MB" for name, row in best.items())
        return [f"peak of the whole process: {', '.join(peaks)}"]

    return Race(3.0, {rival.name: partial(turn, rival.name) for rival in _installed()}, tell=tell)


def _memory(options: Options) -> Race:
    """Ask for at most 0.8 of LightGBM's peak above the table."""
    task = dense.task(options)

    def turn(rival: Rival) -> Row:
        return {"mb": memory.peak(task, rival)["memory_mb"]}

    return Race(1 / 0.8, {rival.name: partial(turn, rival) for rival in _installed()}, unit="mb")


def _scaling(options: Options, leaves: int) -> Race:
    """Race against one thread of our own; LightGBM's threads are told in a note."""
    many = dense.task(options, leaves=leaves)
    one = many.with_settings(threads=1)
    runners = {HOME: fitting(OURS, many), ONE: fitting(OURS, one)}
    its = {LIGHTGBM.name: fitting(LIGHTGBM, many), ITS_ONE: fitting(LIGHTGBM, one)} if LIGHTGBM.available() else {}
    return Race(1.9, runners, its, tell=partial(_tell_scaling, options.threads))


def _tell_scaling(threads: int, best: Mapping[str, Row]) -> list[str]:
    one_s, many_s = best[ONE]["took_s"], best[HOME]["took_s"]
    serial = scaling.serial_share(one_s, many_s, threads)
    expected = ", ".join(f"{scaling.speed_up(serial, cores):.1f} × on {cores}" for cores in CORES)
    notes = [f"serial share {serial:.1%}; by Amdahl's law {expected} cores"]
    if ITS_ONE in best:
        its = best[ITS_ONE]["took_s"] / best[LIGHTGBM.name]["took_s"]
        notes.append(f"{threads} threads of LightGBM are {its:.2f} × as fast as one")
    return notes


def _rows(options: Options) -> Race:
    """Compare the time of a million rows among ten million with that of a million rows among fewer."""
    X, y = rows_of(0, options.scaled(ROWS))
    tasks = {rows: split("binary", X, y, options.scaled(rows), options.settings()) for rows in (*FEWER_ROWS, ROWS)}
    names = {rows: HOME if rows == ROWS else f"among {rows:,}" for rows in tasks}

    def tell(best: Mapping[str, Row]) -> list[str]:
        seconds = (f"{best[name]['took_s']:.3g} s among {len(tasks[rows].y):,}" for rows, name in names.items())
        return [f"a million rows take {', '.join(seconds)}"]

    return Race(LINEAR, {names[rows]: _by_million(task) for rows, task in tasks.items()}, tell=tell)


def _by_million(task: Task) -> Turn:
    return lambda: {"s": timed(lambda: OURS.fit(task))[0] * MILLION / len(task.y)}
