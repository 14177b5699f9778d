"""Workers killed in the middle of fits: the same model, and how much time each loss costs.

Moments are uniform over the time that an undisturbed fit takes; some of them before its first round, while bins are
learnt. What a loss must cost is the time to read the lost partitions again and one round.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.table import Column, Table
from benchmarks.workloads.cluster.running import (
    Options,
    cluster,
    dense_files,
    many_places,
    partitions,
    say,
    table_of,
    until,
    warm_up,
    within,
)

ROWS, PART_ROWS = 500_000, 25_000
WORKERS = 3
VICTIMS = ("another place", "place 0", "two at once", "an added worker")
COLUMNS = (
    Column("kills", "kills"),
    Column("early", "before round 1"),
    Column("other", "other models", 1),
    Column("median_s", "lost s, median"),
    Column("worst_s", "lost s, worst"),
    Column("ratio", "lost / (read + round), median"),
    Column("worst_ratio", "worst"),
)


@dataclass
class Kill:
    """One fit in which workers were killed; ``early`` is whether no round was complete."""

    victims: str
    moment: float
    killed: int = 0
    early: bool = False
    same: bool = False
    seconds: float = 0.0
    problem: str = ""


@dataclass
class Undisturbed:
    """A fit that nobody disturbed: seconds in all, until its first round, of a round, and to read a place's rows."""

    fingerprint: str
    whole: float
    first: float
    round: float
    read: float


@dataclass
class Killer:
    """Kills at a moment of a fit, in a thread of its own."""

    client: Any
    kill: Kill
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.pids: dict[str, int] = self.client.run(os.getpid)
        self.thread = threading.Thread(target=self._run, daemon=True, name="killer")

    def __enter__(self) -> Killer:
        self.thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stopped.set()
        self.thread.join(30)

    def _run(self) -> None:
        with suppress(Exception):  # of a fit that ended meanwhile
            if self.kill.victims == "an added worker":
                self._kill_added()
            elif not self.stopped.wait(self.kill.moment):
                self._kill(self._chosen())

    def _kill_added(self) -> None:
        """Add a worker, and kill another so that the fit moves to it; then kill the added one."""
        if self.stopped.wait(self.kill.moment / 2):
            return
        old = set(self.pids)
        self.client.cluster.scale(len(old) + 1)
        until(lambda: len(self._addresses()) > len(old) or self.stopped.is_set(), 30, "a new worker")
        self.pids = self.client.run(os.getpid)
        added = set(self.pids) - old
        if not self.stopped.is_set():
            self._kill(self._chosen(among=old)[:1])
        if not self.stopped.wait(self.kill.moment / 2):
            self._kill(sorted(added))

    def _addresses(self) -> list[str]:
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])

    def _chosen(self, among: set[str] | None = None) -> list[str]:
        """Return the victims; before there are actors, places go to workers in the order of their addresses."""
        found = self.client.run(place_of_worker, on_error="ignore")
        self.kill.early = not any(rounds for _, rounds in found.values())
        by_place = {place: worker for worker, (place, _) in found.items() if place is not None}
        workers = [by_place[place] for place in sorted(by_place)] or self._addresses()
        workers = [worker for worker in workers if among is None or worker in among]
        order = {"place 0": workers[:1], "two at once": workers[:2]}
        return order.get(self.kill.victims, workers[-1:])

    def _kill(self, workers: Sequence[str]) -> None:
        for worker in workers:
            os.kill(self.pids[worker], signal.SIGKILL)
            self.kill.killed += 1


def place_of_worker(dask_worker: Any) -> tuple[int | None, int]:
    """Return the number of the place that fits on this worker, and how many rounds it has."""
    for actor in dask_worker.state.actors.values():
        thread = getattr(actor, "thread", None)
        if thread is not None and thread.is_alive():
            return actor.index, 0 if actor.memory is None else actor.memory.n_rounds
    return None, 0


def run(options: Options) -> Iterator[Table]:
    """Kill workers in one fit after the other."""
    rows, workers = options.part(ROWS), min(WORKERS, options.workers)
    part_rows = min(PART_ROWS, rows // (4 * workers))
    files = dense_files(options.folder, rows, part_rows)

    def fit(callbacks: list[Any] | None = None) -> str:
        import arboretum as arb

        model = arb.BoostedTreesClassifier(n_estimators=options.rounds, early_stopping=False, callbacks=callbacks)
        return str(model.fit(partitions(files), target="y").fingerprint())

    with cluster(workers) as client, many_places():
        warm_up(workers, options.folder)
        plain = undisturbed(client, fit, files[: -(-len(files) // workers)], options)
        kills = planned(options.kills, plain)
        for number, kill in enumerate(kills):
            try_kill(client, workers, kill, fit, plain, options)
            lost = kill.seconds - plain.whole
            say(f"killed {number + 1}/{len(kills)} {kill.victims} at {kill.moment:.2f} s, lost {lost:.2f} s", kill)
    is_right = plain.fingerprint == _alone(files, options)
    for kill in kills:
        kill.same &= is_right
    yield summary(kills, plain, rows, workers, options)


def _alone(files: Sequence[Any], options: Options) -> str:
    import arboretum as arb

    model = arb.BoostedTreesClassifier(n_estimators=options.rounds, early_stopping=False)
    return str(model.fit(table_of(files), target="y").fingerprint())


def undisturbed(client: Any, fit: Callable[..., str], of_place: Sequence[Any], options: Options) -> Undisturbed:
    """Measure fits that nobody disturbs, the best of several."""
    times, marks = [], set()
    for _ in range(options.repeats):
        start = perf_counter()
        marks.add(within(options.patience, fit, "an undisturbed fit"))
        times.append(perf_counter() - start)
    heard: list[float] = []
    start = perf_counter()
    within(options.patience, lambda: fit([lambda report: heard.append(perf_counter() - start)]), "a fit with reports")
    (mark,) = marks
    each = (heard[-1] - heard[0]) / max(1, len(heard) - 1)
    read = min(read_seconds(client, of_place) for _ in range(options.repeats))
    return Undisturbed(mark, min(times), heard[0], each, read)


def read_seconds(client: Any, files: Sequence[Any]) -> float:
    """Return how long one worker takes to read the partitions of a place to its disk."""
    from dask.delayed import delayed

    from arboretum.cluster.spooling import spool

    worker = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
    tasks = [delayed(spool, pure=False)("reading", i, X=part) for i, part in enumerate(partitions(files))]
    start = perf_counter()
    futures = client.compute(tasks, workers=[worker], allow_other_workers=False)
    client.gather(futures)
    return perf_counter() - start


def planned(kills: int, plain: Undisturbed) -> list[Kill]:
    """Draw moments: a fifth, and ten at least if there are so many, before the first round."""
    rng = np.random.default_rng(1)
    early = min(kills, max(10, kills // 5))
    first = min(plain.first, plain.whole)
    moments = [*rng.uniform(0.02 * first, 0.9 * first, early), *rng.uniform(first, 0.97 * plain.whole, kills - early)]
    return [Kill(VICTIMS[number % len(VICTIMS)], float(moment)) for number, moment in enumerate(moments)]


def try_kill(
    client: Any, workers: int, kill: Kill, fit: Callable[[], str], plain: Undisturbed, options: Options
) -> None:
    """Fit while workers are killed; then wait for new ones."""
    start = perf_counter()
    try:
        with Killer(client, kill):
            start = perf_counter()
            kill.same = within(options.patience, fit, "a fit with a kill") == plain.fingerprint
            kill.seconds = perf_counter() - start
            kill.problem = "" if kill.same else "another model"
    except Exception as error:
        kill.seconds, kill.problem = perf_counter() - start, f"{type(error).__name__}: {error}"
    whole(client, workers)


def whole(client: Any, workers: int) -> None:
    """Bring the cluster to its number of workers."""
    client.cluster.scale(workers)
    until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == workers, 60, "the return of workers")
    time.sleep(0.5)


def summary(kills: Sequence[Kill], plain: Undisturbed, rows: int, workers: int, options: Options) -> Table:
    """Lay out what was lost, by victims."""
    title = f"{rows:,} × 28, {options.rounds} rounds, {workers} workers; SIGKILL at {len(kills)} moments"
    table = Table("cluster-killed", title, COLUMNS, rows_are="victim")
    allowed = plain.read + plain.round
    done = [kill for kill in kills if kill.killed or kill.problem]
    groups = {"all": done, **{name: [kill for kill in done if kill.victims == name] for name in VICTIMS}}
    groups["before round 1"] = [kill for kill in done if kill.early]
    for name, group in groups.items():
        lost = [max(0.0, kill.seconds - plain.whole) for kill in group]
        if group:
            table.rows[name] = {
                "kills": sum(kill.killed for kill in group),
                "early": sum(kill.early for kill in group),
                "other": sum(not kill.same for kill in group),
                "median_s": median(lost),
                "worst_s": max(lost),
                "ratio": median(lost) / allowed,
                "worst_ratio": max(lost) / allowed,
            }
    table.notes.append(
        f"undisturbed {plain.whole:.2f} s, first round after {plain.first:.2f} s, a round {plain.round:.3f} s, "
        f"the partitions of a place read in {plain.read:.2f} s; {len(kills) - len(done)} moments came after the fit"
    )
    table.notes += [f"{kill.victims} at {kill.moment:.2f} s: {kill.problem}" for kill in done if kill.problem]
    return table
