"""The driver of a fit on a cluster: which place has which partitions, and what is done when one is lost.

::

    settle    every place gets a worker; its partitions are computed there and written to its disk; an actor
    attempt   all places run the fit; the driver hears of rounds from place 0
    lost      the others stop, and one tells what it knows: answers so far, trees so far; settle and attempt again
    crowded   a lost place first shares the worker of another; if a new worker joins, and rounds take so much longer
              than before that moving pays, the place moves there in the same way

Dask does not bring back an actor, but it tells at once that its worker is gone.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from operator import methodcaller
from statistics import median
from typing import Any

import numpy as np

from arboretum.cluster.inputs import Partitions
from arboretum.cluster.place import Place
from arboretum.cluster.program import GO, INTERRUPT, STOP, PlacedRows, Remembered, Task, fit_in_place, known_of
from arboretum.cluster.spooling import Spooled, spool
from arboretum.running.progress import Callback, ProgressBar, RoundReport
from arboretum.running.warning import warn_user

MOST_LOSSES = 3  # of one place, which end a fit
SMALL_ROWS = 50_000  # below which one place fits all
LEAST_ROWS = 1_000  # of a place
NO_WORKER_SECONDS = 30.0  # to wait for a worker if there is none
WORTH_MOVING = 2.0  # a place moves if that saves this many times the seconds that it costs
SURE_ROUNDS = 5  # of places that share a worker, before their pace is judged
LISTEN_SECONDS = 0.5
LOOK_SECONDS = 0.2  # between two looks at the workers of the cluster
ANSWER_SECONDS = 60.0
LOST_TASKS = ("KilledWorker", "FutureCancelledError", "CancelledError")  # errors of Dask whose cause is a lost worker
ACTOR_LOST = "Actor was lost"
UNANSWERED = object()


class WorkerLostError(RuntimeError):
    """Places whose workers no longer answer."""

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__(f"the workers of places {list(places)} were lost")
        self.places = places


class CrowdedError(RuntimeError):
    """Places that share a worker with others, though some workers have none."""

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__(f"places {list(places)} can move to workers of their own")
        self.places = places


@dataclass
class Pace:
    """How long rounds take, and how long a fit stands still when a place is lost or moves."""

    alone: deque[float] = field(default_factory=lambda: deque(maxlen=20))  # seconds of rounds, a worker for each place
    shared: deque[float] = field(default_factory=lambda: deque(maxlen=20))  # of places that share a worker
    last: RoundReport | None = None  # of this attempt
    left: float | None = None  # when the last attempt ended
    standstill: float = 0.0

    def start(self) -> None:
        """Begin an attempt."""
        self.last = None
        self.shared.clear()

    def hear(self, report: RoundReport, crowded: bool) -> None:
        """Take note of a round."""
        if self.last is not None:
            (self.shared if crowded else self.alone).append(report.seconds - self.last.seconds)
        elif self.left is not None:
            self.standstill = time.monotonic() - self.left
        self.last = report

    def is_worth_moving(self) -> bool:
        """Return whether workers of their own for all places save more time than moving costs."""
        if self.last is None or len(self.shared) < SURE_ROUNDS:
            return False
        shared = median(self.shared)
        saved = shared - median(self.alone) if self.alone else shared / 2
        return saved * (self.last.n_rounds - self.last.number) > WORTH_MOVING * self.standstill


@dataclass
class Home:
    """The partitions of a place, and where it is."""

    partitions: dict[bool, list[int]]  # numbers, by whether they are of validation rows
    losses: int = 0
    worker: str | None = None
    files: dict[bool, list[Spooled]] = field(default_factory=dict)
    future: Any = None  # of the actor: Dask tells by it whether its worker is there
    actor: Any = None

    @property
    def is_lost(self) -> bool:
        """Whether the worker is gone."""
        return self.future is not None and self.future.status not in ("finished", "pending")

    def leave(self) -> None:
        """Forget the worker."""
        self.worker = self.future = self.actor = None
        self.files = {}


class ClusterFit:
    """A fit on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    estimator : Estimator
        What is fitted; it is not changed.
    training, held : Partitions
        Rows; ``held`` are validation rows, if there are some.
    arguments : dict
        Other arguments of ``fit``: names of columns, and numbers.
    journal : CheckpointFile, optional
        The checkpoint that the user asked for.
    """

    def __init__(
        self,
        client: Any,
        estimator: Any,
        training: Partitions,
        held: Partitions | None,
        arguments: dict[str, Any],
        journal: Any = None,
    ) -> None:
        self.client, self.estimator, self.arguments, self.journal = client, estimator, arguments, journal
        given = estimator.get_params(deep=False)
        self.callbacks, self.verbose = given.get("callbacks") or [], given.get("verbose", 0)
        self.sent = type(estimator)(**{**given, **known_of(estimator, {"callbacks": None, "verbose": 0})})
        if journal is not None:  # callbacks stay here: they may hold what cannot be sent
            journal.model = type(estimator)(**{**given, "callbacks": None})
        self.rows = {False: training} if held is None else {False: training, True: held}
        self.token = f"arboretum-{uuid.uuid4().hex[:12]}"
        self.content: dict[tuple[bool, int], tuple[int, str]] = {}  # of each partition, when it was first read
        self.known: tuple[Any, Any] = (None, None)  # what earlier attempts have found out
        self.attempt, self.is_interrupted = 0, False
        self.gone: set[str | None] = set()  # workers that were lost
        self.pace = Pace()
        n_places = max(1, min(len(self._workers()), len(training.pieces)))
        dealt = [{held: _dealt(rows, n_places, i) for held, rows in self.rows.items()} for i in range(n_places)]
        self.homes = [Home(partitions) for partitions in dealt]

    def run(self) -> Any:
        """Return the fitted Model."""
        try:
            while True:
                with self._losses():
                    self._settle()
                    return self._fit()
        finally:
            for home in self.homes:
                if home.actor is not None and not home.is_lost:
                    home.actor.close(self.token)
                home.leave()  # so that the worker forgets the actor now

    # ---- workers -----------------------------------------------------------------------------------------------------

    def _workers(self) -> list[str]:
        """Return the addresses of all workers; wait for one if there is none."""
        end = time.monotonic() + NO_WORKER_SECONDS
        while time.monotonic() < end:
            if self.client.status != "running":
                break
            workers = [one for one in self.client.scheduler_info(n_workers=-1)["workers"] if one not in self.gone]
            if workers:
                return workers
            time.sleep(0.1)
        else:
            raise RuntimeError(f"the cluster has no worker, and none came within {NO_WORKER_SECONDS:g} s: start some")
        kept = "" if self.journal is None else "; the same fit goes on from the rounds in its checkpoint"
        raise RuntimeError(f"the scheduler of the cluster is gone, and with it the fit: start it again{kept}")

    @contextmanager
    def _losses(self) -> Iterator[None]:
        """Let places leave workers that are lost, or crowded."""
        try:
            yield
        except CrowdedError as error:
            for number in error.places:
                self.homes[number].leave()
        except WorkerLostError as error:
            for number in error.places:
                home = self.homes[number]
                home.losses += 1
                self.gone.add(home.worker)
                home.leave()
                if home.losses == MOST_LOSSES:
                    first, last = home.partitions[False][0], home.partitions[False][-1]
                    raise RuntimeError(
                        f"the worker with partitions {first} to {last} was lost {MOST_LOSSES} times, so the fit ends: "
                        "see the logs of the workers; if they lack memory, use more workers or smaller partitions"
                    ) from error

    def _settle(self) -> None:
        """Give every place a worker, its partitions and an actor."""
        self._read_partitions()
        if self.attempt == 0 and self._are_merged():
            self._read_partitions()
        homeless = [home for home in self.homes if home.actor is None]
        for home in homeless:
            where = {"workers": [home.worker], "allow_other_workers": False}
            home.future = self.client.submit(Place, fit_in_place, actor=True, pure=False, **where)
        for home in homeless:
            home.actor = self._result(home, home.future, "a worker could not begin the fit")

    def _read_partitions(self) -> None:
        """Give every place a worker, and read its partitions there."""
        homeless = [home for home in self.homes if len(home.files) < len(self.rows)]
        for home in homeless:
            taken = [one.worker for one in self.homes]
            home.worker = min(self._workers(), key=lambda worker: (taken.count(worker), worker))
        reading = [(home, held, self._read(home, held)) for home in homeless for held in self.rows]
        try:
            for home, held, futures in reading:
                home.files[held] = [self._checked(home, held, *one) for one in futures.items()]
        finally:  # a task that brings workers down must not be tried again by Dask
            self.client.cancel([future for _, _, futures in reading for future in futures.values()])

    def _are_merged(self) -> bool:
        """Put few rows into one place, and hardly any into that of their neighbours; tell whether it was done."""
        n_rows = [sum(one.n_rows for one in home.files[False]) for home in self.homes]
        if len(n_rows) == 1 or (sum(n_rows) >= SMALL_ROWS and min(n_rows) >= LEAST_ROWS):
            return False
        if sum(n_rows) < SMALL_ROWS:
            warn_user(f"one worker fits these {sum(n_rows)} rows: below {SMALL_ROWS} more workers make it no faster")
        n_places = sum(n >= LEAST_ROWS for n in n_rows) if sum(n_rows) >= SMALL_ROWS else 1
        edges = np.linspace(0, sum(n_rows), n_places + 1)[1:-1]
        counts = [one.n_rows for home in self.homes for one in home.files[False]]
        of_partition = np.searchsorted(edges, np.cumsum(counts) - np.array(counts) / 2)
        dealt = [{False: np.flatnonzero(of_partition == place).tolist()} for place in np.unique(of_partition)]
        for place, partitions in enumerate(dealt if True in self.rows else []):
            partitions[True] = _dealt(self.rows[True], len(dealt), place)
        self.homes = [Home(partitions) for partitions in dealt]
        return True

    def _read(self, home: Home, held: bool) -> dict[int, Any]:
        """Begin to read the partitions of a place."""
        from dask.delayed import delayed

        folder, pieces = f"{self.token}/{'held' if held else 'rows'}", self.rows[held].pieces
        tasks = [delayed(spool, pure=False)(folder, number, **pieces[number]) for number in home.partitions[held]]
        futures = self.client.compute(tasks, workers=[home.worker], allow_other_workers=False)
        return dict(zip(home.partitions[held], futures, strict=True))

    def _checked(self, home: Home, held: bool, number: int, future: Any) -> Spooled:
        """Wait for a partition; it must hold what it held when it was first read."""
        name = f"partition {number}{' of X_val' if held else ''}"
        found: Spooled = self._result(home, future, f"{name} could not be read")
        n_rows, digest = self.content.setdefault((held, number), (found.n_rows, found.digest))
        if (found.n_rows, found.digest) != (n_rows, digest):
            other = f"{found.n_rows}" if found.n_rows != n_rows else "other values in them"
            raise RuntimeError(
                f"{name} had {n_rows} rows when it was first read, and now has {other}: its source does not repeat "
                "itself, so a lost worker cannot be replaced; write the rows to files first"
            )
        return found

    def _result(self, home: Home, future: Any, failure: str) -> Any:
        """Wait for what a worker makes."""
        while (found := self._looked_for(home, future, failure)) is UNANSWERED:
            pass
        return found

    def _looked_for(self, home: Home, future: Any, failure: str) -> Any:
        """Wait a moment: Dask would wait for ever for a task of a worker that is gone."""
        try:
            return future.result(timeout=LOOK_SECONDS)
        except Exception as error:
            is_waiting = isinstance(error, TimeoutError | asyncio.TimeoutError) and future.status != "error"
            is_lost = type(error).__name__ in LOST_TASKS or ACTOR_LOST in str(error)
            if is_lost or (is_waiting and home.worker not in self._workers()):
                raise WorkerLostError([self.homes.index(home)]) from error
            if not is_waiting:
                raise RuntimeError(f"{failure}: {type(error).__name__}: {error}") from error
            return UNANSWERED

    # ---- the fit -----------------------------------------------------------------------------------------------------

    def _fit(self) -> Any:
        self.attempt += 1
        self.pace.start()
        actors = [home.actor for home in self.homes]
        with ProgressBar(int(self.estimator.n_estimators)) if self.verbose else nullcontext() as bar:
            callbacks = [*self.callbacks, *([] if bar is None else [bar])]
            try:
                self._ask_all(methodcaller("prepare", self.attempt, *self.known))
                self._ask_all(lambda actor: actor.start(actors, *self._task_of(actor)))
                for kind, value in self._events():
                    if kind == "done":
                        return value
                    if kind == "error":
                        raise value
                    if kind == "checkpoint":
                        self.journal.save(value)
                    if kind == "warning":
                        warn_user(*value)
                    if kind == "round":
                        self.pace.hear(value, bool(self._crowded()))
                        self._answer_round(value, callbacks)
            except BaseException:
                self.pace.left = time.monotonic()
                self._stop()
                raise

    def _answer_round(self, report: RoundReport, callbacks: Sequence[Callback]) -> None:
        """Call callbacks, and say what follows from them."""
        stop = False
        try:
            stop = any([callback(report) is True for callback in callbacks])
        except KeyboardInterrupt:
            self._interrupt()
        said = INTERRUPT if self.is_interrupted else STOP if stop else GO
        self.homes[0].actor.deliver(("said", report.number), said)

    def _interrupt(self) -> None:
        """Ask the places to stop after their round."""
        self.is_interrupted = True
        self.homes[0].actor.deliver(("interrupt",), INTERRUPT)

    def _task_of(self, actor: Any) -> tuple[int, Task]:
        """Return the number of a place, and what it is to do."""
        number, home = next((number, home) for number, home in enumerate(self.homes) if home.actor is actor)
        rows = {held: PlacedRows(files, self.rows[held].named) for held, files in home.files.items()}
        listens, tracks = bool(self.callbacks), bool(self.callbacks or self.verbose)
        return number, Task(self.sent, rows[False], rows.get(True), self.arguments, listens, tracks, self.journal)

    def _events(self) -> Iterator[tuple[str, Any]]:
        """Yield what place 0 tells; Ctrl-C asks the places to stop after their round."""
        seen = 0
        while True:
            try:
                self._require_workers()
                self._require_room()
                (events,) = self._answers(self.homes[:1], methodcaller("since", seen, LISTEN_SECONDS), self.homes)
            except KeyboardInterrupt:
                self._interrupt()
                continue
            if events is UNANSWERED:
                self._await_loss()
            for event in events:
                seen += 1
                if event[0] == "lost":
                    self._await_loss()
                yield event

    def _require_workers(self) -> None:
        lost = [number for number, home in enumerate(self.homes) if home.is_lost]
        if lost:
            raise WorkerLostError(lost)

    def _require_room(self) -> None:
        """Let places that share a worker move to new ones, if the rest of the fit is long enough."""
        crowded = self._crowded()
        if crowded and self.pace.is_worth_moving():
            n_free = len(set(self._workers()) - {home.worker for home in self.homes})
            if n_free:
                raise CrowdedError(crowded[:n_free])

    def _crowded(self) -> list[int]:
        """Return the places whose worker is that of an earlier one."""
        workers = [home.worker for home in self.homes]
        return [number for number, worker in enumerate(workers) if worker in workers[:number]]

    def _await_loss(self) -> None:
        """Find the worker because of which a place gave up."""
        end = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < end:
            self._require_workers()
            time.sleep(0.05)
        raise RuntimeError("workers lost each other, but all of them are there: look at the network between them")

    def _stop(self) -> None:
        """End the attempt at all places that answer, and ask the one that knows most what it knows."""
        stopped = self._answers(self.homes, methodcaller("stop"))
        answered = [(answer, number) for number, answer in enumerate(stopped) if answer is not UNANSWERED]
        self.known = ({}, Remembered())  # if nobody can be asked, all forget
        for _, number in sorted(answered, reverse=True):
            (known,) = self._answers([self.homes[number]], methodcaller("known"))
            if known is not UNANSWERED:
                self.known = known
                return

    def _ask_all(self, ask: Callable[[Any], Any]) -> None:
        """Ask all places; each must answer."""
        answers = self._answers(self.homes, ask)
        lost = [number for number, answer in enumerate(answers) if answer is UNANSWERED]
        if lost:
            raise WorkerLostError(lost)

    def _answers(self, homes: Sequence[Home], ask: Callable[[Any], Any], needed: Sequence[Home] = ()) -> list[Any]:
        """Ask the actors of places at once; those that are lost, or wait for one of ``needed``, are UNANSWERED."""
        asked = [(home, _tried(ask, home.actor)) for home in homes]
        return [self._waited([home, *needed], answer) for home, answer in asked]

    @staticmethod
    def _waited(homes: Sequence[Home], answer: Any) -> Any:
        """Wait for the answer of an actor as long as all workers are there; Dask would try to reach it for long."""
        end = time.monotonic() + ANSWER_SECONDS
        while answer is not UNANSWERED and not answer.done():
            if any(home.is_lost for home in homes) or time.monotonic() > end:
                return UNANSWERED
            time.sleep(0.003)
        return answer if answer is UNANSWERED else _tried(lambda one: one.result(timeout=1), answer)


def _tried(function: Callable[[Any], Any], argument: Any) -> Any:
    try:
        return function(argument)
    except (OSError, RuntimeError, TimeoutError):
        return UNANSWERED


def _dealt(rows: Partitions, n_places: int, place: int) -> list[int]:
    """Return the partitions of a place: they follow each other, so that its rows do too."""
    numbers: list[int] = np.array_split(np.arange(len(rows.pieces)), n_places)[place].tolist()
    return numbers
